"""Command lines as tables: what a type means, what is refused, and how a command ends."""

import errno
import io
import json
import os
import sys
import tty
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import pytest

from corpora.errors import CorpusError, UsageError
from corpora.store import inspection
from corpora.system import arguments
from corpora.system.arguments import (
    Subcommand,
    Summary,
    add_options,
    check,
    errors_raised,
    execute,
    fail,
    make_parser,
    message_of,
    named_texts,
    option,
    option_table,
    parse,
    parse_subcommand,
    parser_of,
    prepare_streams,
    refuse,
    values_of,
)
from corpora.system.extras import reason_of


@option_table
class Options:
    source: Path = option("what is read", positional=True)
    names: tuple[str, ...] = option("some")
    form: Literal["a", "b"] = option("one of two", "a")
    n: int | None = option("how many", at_least=1)
    ratio: float = option("of all", 0.5, above=0, at_most=1)
    is_dry: bool = option("only say so")
    this: str | None = option("either", one_of="what", group="Either")
    that: str | None = option("or", one_of="what", group="Either")


def read(*argv):
    return parse(Options, ["x", *argv], name="example", about="What.\n\nexample")


def test_types_say_how_options_are_read():
    found = read("--names", "p", "q", "--names", "r", "--is-dry", "--n", "3", "--that", "t")

    expected = Options(source=Path("x"), names=("p", "q", "r"), is_dry=True, n=3, that="t")
    assert found == expected


@pytest.mark.parametrize(
    "argv", [["--form", "c", "--this", "t"], [], ["--this", "t", "--that", "t"], ["--na", "p"]]
)
def test_what_is_no_option_ends_with_status_2(argv):
    with pytest.raises(SystemExit, match="2"):
        read(*argv)


@pytest.mark.parametrize("option", ["--form", "--n", "--this"])
def test_option_with_one_value_is_given_once(option, capsys):
    value = "1" if option == "--n" else "a"

    with pytest.raises(SystemExit, match="2"):
        read("--this", "t", option, value, f"{option}={value}")

    assert f"error: {option}: is given twice. Leave one out. See" in capsys.readouterr().err


def test_flag_may_be_given_twice_and_a_parser_may_be_used_twice():
    parser = make_parser("example", "What.")
    add_options(parser, Options)
    argv = ["x", "--is-dry", "--is-dry", "--names", "p", "--this", "t"]

    first, second = (values_of(parser.parse_args(argv)) for _ in range(2))

    assert first == second
    assert first == {"source": Path("x"), "is_dry": True, "names": ("p",), "this": "t"}


def test_empty_path_is_refused_because_it_would_be_the_current_folder(capsys):
    with pytest.raises(SystemExit, match="2"):
        parse(Options, ["", "--this", "t"], name="example", about="What.")

    assert "source: is empty (is a variable not set?). See" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ["--nmaes", "p", "--zzz"],
            "--nmaes: no such option (did you mean --names?); --zzz: no su",
        ),
        (["--n", "x", "--this", "t"], "--n: invalid int value: 'x'. See onoma example"),
        (["--n", "9" * 20, "--this", "t"], f"--n: {'9' * 20}: at most 9223372036854775807. See"),
        ([], "one of the arguments --this --that is required. See onoma example --h"),
    ],
)
def test_what_is_wrong_is_one_line_and_an_unknown_option_comes_before_a_missing_one(
    capsys, argv, said
):
    with pytest.raises(SystemExit, match="2"):
        read(*argv)

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--n", "0", "--n 0: must be at least 1."),
        ("--ratio", "0", "--ratio 0.0: must be above 0 and at most 1."),
        ("--ratio", "1.1", "--ratio 1.1: must be above 0 and at most 1."),
        ("--ratio", "nan", "--ratio nan: must be above 0 and at most 1."),
    ],
)
def test_number_out_of_its_bounds_is_refused(option, value, said):
    with pytest.raises(UsageError) as error:
        check(read(option, value, "--this", "t"))

    assert str(error.value) == said


def test_number_at_its_bound_is_taken():
    options = read("--n", "1", "--ratio", "1", "--this", "t")

    check(options)
    assert (options.n, options.ratio) == (1, 1.0)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (CorpusError("a: b. Do c."), 1, "error: a: b. Do c.\n"),
        (UsageError("a: b. Do c."), 2, "error: a: b. Do c.\n"),
        (OSError(28, "No space left"), 1, "error: out: No space left.\n"),
        (OSError("a: not written. Do c."), 1, "error: a: not written. Do c.\n"),
        (KeyboardInterrupt(), 130, "error: interrupted.\n"),
    ],
)
def test_error_of_a_command_is_a_message_and_an_exit_status(error, status, message, capsys):
    def command():
        yield "begun"
        raise error

    assert execute(command, path=Path("out")) == status
    assert capsys.readouterr() == ("begun\n", message)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "error: interrupted.\n"),
        (OSError(28, "No space left", "cache/x"), 1, "error: cache/x: No space left.\n"),
        (ModuleNotFoundError("x", name="obstore"), 2, "error: obstore is not installed, and"),
    ],
)
def test_copy_of_an_input_that_ends_early_is_a_message(error, status, message, monkeypatch, capsys):
    def stage(_):
        raise error

    monkeypatch.setattr("corpora.system.staging.stage", stage)

    with pytest.raises(SystemExit, match=str(status)):
        parse(Options, ["s3://x/y", "--that", "t"], name="example", about="What.")
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize("path", ["file", "file/inside", "link"])
def test_what_stands_where_a_folder_is_needed_is_named(path, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")

    with pytest.raises((FileExistsError, NotADirectoryError)) as error:
        (tmp_path / path).mkdir(parents=True, exist_ok=True)

    found = tmp_path / path.partition("/")[0]
    error_of_link = FileExistsError(17, "File exists", str(tmp_path / "file"), None, "b")
    assert message_of(error_of_link) == f"{tmp_path}/file: File exists."
    assert message_of(error.value) == f"{found}: is no folder. Name another place, or move it away."


def test_loop_of_links_is_an_error_for_users_in_each_version_of_python(tmp_path, capsys):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    status = execute(lambda: [loop.resolve().read_text()], path="x")

    assert status == 1
    assert capsys.readouterr().err == f"error: {loop}: {os.strerror(errno.ELOOP)}.\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "there is not enough memory. Close"),
        (ImportError("libtorch.so: failed to map segment from shared object"), "memory (libtorch"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB."), "(CUDA out of memory)."),
    ],
)
def test_memory_that_does_not_suffice_is_an_error_for_users(error, said):
    assert said in str(reason_of(error))
    assert reason_of(ImportError("x: undefined symbol: y")) is None


def test_characters_that_standard_output_lacks_are_escaped_as_in_json(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="latin-1"))

    prepare_streams()
    Summary({"title": "März 三 𝄞"}).write()

    assert b"\\u4e09" in written.getvalue()
    assert json.loads(written.getvalue().decode("latin-1")) == {"title": "März 三 𝄞"}


@contextmanager
def unread_output():
    """Let standard output lead into a pipe that its reader has closed."""
    reads, writes = os.pipe()
    earlier = os.dup(1)
    os.close(reads)
    os.dup2(writes, 1)
    stream = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - no path
    try:
        with (
            patch("sys.stdout", stream),
            patch("sys.__stdout__", stream),
            patch.object(arguments, "_unread", set()),
        ):
            yield
    finally:
        os.dup2(earlier, 1)
        os.close(earlier)
        os.close(writes)


def test_command_whose_output_nobody_reads_makes_its_files(tmp_path):
    def command():
        yield "x" * 100_000
        assert not arguments.is_read()
        (tmp_path / "made").touch()
        yield "made"
        raise UsageError("and its error counts")

    with unread_output():
        status = execute(command, path=tmp_path)

    assert status == 2
    assert (tmp_path / "made").exists()


def test_program_that_calls_commands_keeps_its_streams():
    with unread_output(), errors_raised():
        stream = sys.stdout
        prepare_streams()

        assert sys.stdout is stream


def test_pipe_of_the_command_itself_that_is_closed_is_an_error(tmp_path, capsys):
    def command():
        yield "asked"
        raise BrokenPipeError(errno.EPIPE, "Broken pipe", "answer")

    assert execute(command, path=tmp_path) == 1
    assert capsys.readouterr().err == "error: answer: Broken pipe.\n"


def test_rows_that_nobody_reads_are_not_printed(monkeypatch):
    rows = iter("x" * 100_000 for _ in range(9))
    monkeypatch.setattr(inspection, "show", lambda *_, **__: rows)

    with unread_output():
        status = inspection.main(["show", "dataset"])

    assert status == 0
    assert len([*rows]) == 7  # the second finds out


SUBCOMMANDS = {
    "count": Subcommand(
        Options, lambda options: [f"{options.source} {options.n}"], "count", "Count."
    ),
    "list": Subcommand(Options, lambda _: ["listed"], "list", "List."),
}


def test_subcommand_has_options_and_work_of_its_own():
    argv = ["count", "x", "--n", "3", "--this", "t"]

    options, work = parse_subcommand(SUBCOMMANDS, argv, name="example", about="What.")

    assert options == Options(source=Path("x"), n=3, this="t")
    assert list(work()) == ["x 3"]


def test_number_of_a_subcommand_out_of_its_bounds_is_refused():
    argv = ["list", "x", "--n", "0", "--this", "t"]

    _, work = parse_subcommand(SUBCOMMANDS, argv, name="example", about="What.")

    with pytest.raises(UsageError, match="--n 0: must be at least 1"):
        list(work())


def test_a_command_needs_no_docstring(capsys):
    with pytest.raises(SystemExit) as ended:
        make_parser("example", None).parse_args(["--help"])

    assert ended.value.code == 0
    assert "usage: onoma example" in capsys.readouterr().out


def test_a_terminal_is_sent_no_control_characters_of_files():
    reader, terminal = os.openpty()
    tty.setraw(terminal)
    like = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", line_buffering=True)

    stream = arguments._to_output(terminal, like=like)
    stream.write("Ada\x1b]0;x\x07\t\x1b[2J\x1b[1;31mrot\x1b[0m\r\x9b\x7f\n")

    assert os.read(reader, 200).decode() == "Ada␛]0;x␇\t␛[2J\x1b[1;31mrot\x1b[0m␍\ufffd␡\n"


def test_what_no_terminal_reads_is_as_it_is(tmp_path):
    like = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", line_buffering=True)
    with (tmp_path / "a").open("wb") as file:
        arguments._to_output(file.fileno(), like=like).write("\x1b[2J\n")

    assert (tmp_path / "a").read_bytes() == b"\x1b[2J\n"


@pytest.mark.parametrize("fact", ["licens=CC0", "licence"])
def test_a_fact_without_a_known_name_is_refused_with_the_names(fact):
    with pytest.raises(UsageError, match=f"--facts {fact}: expected NAME=TEXT, with licence"):
        named_texts([fact], ["licence"])


def test_option_that_would_have_no_effect_is_refused_if_it_was_given():
    options = Options(source=Path("x"), n=3)

    refuse(options, "ratio", because="is for another form")
    with pytest.raises(UsageError, match="--n is for another form"):
        refuse(options, "ratio", "n", because="is for another form")


def test_parser_of_a_command_is_found_without_running_it():
    def command(argv):
        parse(Options, argv, name="example", about="What.")
        raise AssertionError

    assert "--is-dry" in parser_of(command).format_help()
    with pytest.raises(AssertionError, match="in another way"):
        parser_of(lambda _: 0)


def test_program_that_calls_commands_gets_their_errors(capsys):
    for status, error in ((1, CorpusError), (2, UsageError), (130, KeyboardInterrupt)):
        with errors_raised(), pytest.raises(error, match="why"):
            fail("why", status=status)

    assert not capsys.readouterr().err


def test_output_that_cannot_be_written_is_named(capsys, monkeypatch):
    def write(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stdout.write", write)

    assert execute(lambda: ["line"], path="elsewhere") == 1
    assert "error: standard output: No space left" in capsys.readouterr().err


def test_module_of_ours_that_cannot_be_imported_is_no_missing_package(monkeypatch):
    def command():
        raise ImportError("of ours")

    with pytest.raises(ImportError, match="of ours"):
        execute(command, path="x")
    monkeypatch.setattr(arguments, "check_utf8", lambda _: command())
    with pytest.raises(ImportError, match="of ours"):
        read("--this", "t")
