"""Command lines: a frozen dataclass declares the options, ``parse`` fills it, ``execute`` runs.

@option_table
class Options:
    dataset: Path = option("what is read", positional=True)
    limit: int | None = option("rows (default: all)", at_least=1)

options = parse(Options, argv, name="example", about=__doc__)
"""

import argparse
import codecs
import dataclasses
import errno
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import takewhile
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    NoReturn,
    TextIO,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from corpora.errors import CorpusError, UsageError
from corpora.system.buckets import SCHEMES
from corpora.system.copies import with_addresses
from corpora.system.extras import reason_of
from corpora.system.files import check_utf8
from corpora.system.interrupts import TERMINATED, Terminated, let_sigterm_end
from corpora.system.typed_tables import did_you_mean, out_of_bounds
from corpora.system.web import hide_password

if TYPE_CHECKING:
    from argparse import _ActionsContainer

    from _typeshed import DataclassInstance, ReadableBuffer, SupportsWrite

T = TypeVar("T", bound="DataclassInstance")
K = TypeVar("K")
_Settings = dict[str, Any]
"""Arguments of ``argparse`` functions by name. Any: each has a type of its own."""
SUMMARY = "print the summary as one JSON object, and all other lines on standard error"
"""The help text of ``--json``."""

_ADDRESSES = frozenset(
    {"input", "exclude", "html", "keep_for", "warc", "shelf", "source", "output"}
)
"""Options whose addresses in buckets are not copied here: their strings are handled elsewhere."""
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_WRITTEN = frozenset({"archive", "html", "json", "output", "shelf"})
"""Options that name files or folders to write."""
_GIVEN = "given options"
"""The attribute of a namespace that collects the options given so far."""
_ESCAPED = "onoma-escaped"
"""The name of the handler of characters that standard output cannot write."""


_is_looked_at: ContextVar[bool] = ContextVar("_is_looked_at", default=False)


class _ParserMade(BaseException):
    """An exception that carries the parser out of a command that is inspected, not run."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def parser_of(main: Callable[[Sequence[str]], int]) -> argparse.ArgumentParser:
    """Return the parser of a command, for help and completion, without running the command."""
    token = _is_looked_at.set(True)
    try:
        main([])
    except _ParserMade as made:
        return made.parser
    finally:
        _is_looked_at.reset(token)
    raise AssertionError(f"{main.__module__}: reads its arguments in another way")


class _Store(argparse.Action):
    """The action of all options with values: one value once, and lists that add up.

    The last one would count otherwise, in silence.
    """

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *rest: object
    ) -> None:
        """Store the value; end the process with an error if the option has one already."""
        values, option_string = rest
        given: set[str] = vars(namespace).setdefault(_GIVEN, set())
        if option_string and self.dest in given:  # a positional has no such string
            if not isinstance(values, list):
                parser.error(f"{option_string}: is given twice. Leave one out")
            values = getattr(namespace, self.dest) + values
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class ArgumentParser(argparse.ArgumentParser):
    """A parser that reports unknown options first, and refuses arguments that are not UTF-8.

    An option is given once; the lists of one that takes several values add up.

    An error is one ``error:`` line, as in all commands, with exit status 2. Inputs in buckets
    (``s3://…``) are copied to this machine.
    """

    def __init__(
        self,
        *,
        is_passed_on: Callable[[str], bool] = lambda _: False,
        **settings: Any,  # Any: those of argparse
    ) -> None:
        super().__init__(**settings)
        self.register("type", Path, lambda text: Path(not_empty(text)))
        self.register("type", int, _integer)
        for action in (None, "store"):
            self.register("action", action, _Store)
        self._is_passed_on = is_passed_on
        """A function that tells whether an unknown option is one of a library, and passed on."""

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        """Print the help; end the process with status 1 if that is impossible."""
        if file is not None:
            super().print_help(file)
            return
        try:
            say(self.format_help())
        except CorpusError as error:
            self.exit(end(error))

    def error(self, message: str) -> NoReturn:
        """End the process with the error, and a pointer to ``--help``."""
        said = message.removeprefix("argument ").removesuffix(".")
        self.exit(fail(f"{said}. See {self.prog} --help.", status=2))

    def parse_known_args(
        self, args: Iterable[str] | None = None, namespace: object = None
    ) -> Any:  # Any: argparse decides the type of the namespace
        """Parse; check all arguments and the current folder, and fetch inputs from buckets."""
        if _is_looked_at.get():
            raise _ParserMade(self)
        given = sys.argv[1:] if args is None else list(args)
        try:
            let_sigterm_end()
            prepare_streams()
            self._refuse_unknown(given)
            found = super().parse_known_args(given, namespace)
            vars(found[0]).pop(_GIVEN, None)
            check_utf8(given)
            for name, value in vars(found[0]).items():
                setattr(found[0], name, _brought(value, option=name))
        except ENDS as error:
            self.exit(end(error))
        return found

    def _refuse_unknown(self, given: Sequence[str]) -> None:
        """End the process if an option is unknown."""
        known = list(self._option_string_actions)
        words = [word.partition("=")[0] for word in takewhile(lambda word: word != "--", given)]
        if self._subparsers or {"-h", "--help"} & set(words):  # subcommands have own options
            return
        wrong = [w for w in words if _OPTION.fullmatch(w) and w not in known]
        if wrong := [word for word in wrong if not self._is_passed_on(word)]:
            self.error("; ".join(f"{w}: no such option{did_you_mean(w, known)}" for w in wrong))


def not_empty(text: str) -> str:
    """Return the text of a path; raise ``ArgumentTypeError`` if it is empty.

    An empty path is a shell's variable that is not set; it would be the current folder.
    """
    if not text:
        raise argparse.ArgumentTypeError("is empty (is a variable not set?)")
    return text


def _integer(text: str) -> int:
    number = int(text)
    if abs(number) > sys.maxsize:
        raise argparse.ArgumentTypeError(f"{text}: at most {sys.maxsize}")
    return number


def option(
    help: str,
    default: object = dataclasses.MISSING,
    *,
    positional: bool = False,
    group: str = "",
    one_of: str = "",
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    **settings: object,
) -> Any:  # Any: as in ``dataclasses.field``, to fit the type of any field
    """Declare a field of an ``option_table``, which says what its type decides.

    ``settings`` go to ``argparse``, and override the type. ``group`` is a heading of the help. Of
    the options with the same ``one_of``, exactly one must be given. ``at_least``, ``above``,
    ``below`` and ``at_most`` are bounds that ``check`` tests.
    """
    of = {"positional": positional, "group": group, "one_of": one_of}
    ends = {"at_least": at_least, "above": above, "below": below, "at_most": at_most}
    bounds = {name: bound for name, bound in ends.items() if bound is not None}
    own = {"bounds": bounds, "settings": {"help": help, **settings}}
    return dataclasses.field(default=default, metadata={**of, **own})


@dataclass_transform(kw_only_default=True, frozen_default=True)
def option_table(kind: type[K]) -> type[K]:
    """Make a frozen dataclass of options.

    The type of a field decides how the value is parsed: ``int``, ``float``, ``Path`` (a folder, if
    no ``metavar`` says otherwise), ``bool`` (a flag), ``Literal`` (choices), ``tuple`` (one or
    more, unless ``type`` parses all of it). An option without a default is None, (), or False where
    its type allows that, and it is not ``required``; else it must be given.
    """
    for name, hint in get_type_hints(kind).items():
        field = vars(kind).get(name)
        if not isinstance(field, dataclasses.Field) or not field.metadata:
            continue
        if field.default is dataclasses.MISSING:
            field.default = _default_of(hint, **field.metadata)
    return dataclasses.dataclass(frozen=True, kw_only=True)(kind)


def _default_of(hint: object, *, positional: bool, settings: _Settings, **_: object) -> object:
    if NoneType in get_args(hint):
        return None
    if positional or "required" in settings:
        return dataclasses.MISSING
    return () if get_origin(hint) is tuple else False if hint is bool else dataclasses.MISSING


def named_texts(facts: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Split the values of ``--facts NAME=TEXT …``; the texts that are not given are empty.

    Raises ``UsageError`` for an unknown name.
    """
    texts = dict.fromkeys(names, "")
    for fact in facts:
        name, equals, text = fact.partition("=")
        if name not in texts or not equals:
            raise UsageError(f"--facts {fact}: expected NAME=TEXT, with {', '.join(names)}.")
        texts[name] = text
    return texts


def make_parser(
    name: str, about: str | None, *, is_passed_on: Callable[[str], bool] = lambda _: False
) -> ArgumentParser:
    """Make the parser of ``onoma NAME``, or of a program of the user, ``NAME.py``.

    The first paragraph of ``about`` is the description, the rest stands at the end of the help.
    Python without docstrings has none (-OO).
    """
    description, _, epilog = (about or "").partition("\n\n")
    return ArgumentParser(
        prog=name if name.endswith(".py") else f"onoma {name}".rstrip(),
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        is_passed_on=is_passed_on,
    )


def add_options(parser: argparse.ArgumentParser, kind: "type[DataclassInstance]") -> None:
    """Add the fields of a table of options to a parser."""
    hints = get_type_hints(kind)
    groups: dict[str, _ActionsContainer] = {"": parser}
    for field in _options(kind):
        title, one_of = field.metadata["group"], field.metadata["one_of"]
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        if one_of and one_of not in groups:
            groups[one_of] = groups[title].add_mutually_exclusive_group(required=True)
        is_positional = field.metadata["positional"]
        settings = field.metadata["settings"]
        own = _settings_for(hints[field.name], settings, is_positional=is_positional)
        if field.default is dataclasses.MISSING and not is_positional and not one_of:
            own["required"] = True
        name = field.name if is_positional else _flag(field.name)
        if field.name.endswith("_"):  # for keywords of Python: from_ is --from
            own["dest"] = field.name
        groups[one_of or title].add_argument(name, **own)


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def _settings_for(kind: object, given: Mapping[str, object], *, is_positional: bool) -> _Settings:
    """Infer the ``argparse`` settings for a type; ``given`` settings come before them."""
    if get_origin(kind) in {Union, UnionType}:
        [kind] = set(get_args(kind)) - {NoneType}
    inferred: dict[str, object] = {}
    if get_origin(kind) is tuple:
        [kind, _] = get_args(kind)
        is_given = "nargs" in given or "type" in given
        inferred = {} if is_given else {"nargs": "+"}
    if get_origin(kind) is Literal:
        inferred["choices"] = get_args(kind)
    elif kind is bool:
        inferred["action"] = "store_true"
    elif kind is int:
        inferred |= {"type": int, "metavar": "N"}
    elif kind in {float, Path}:
        inferred["type"] = kind
        inferred |= {"metavar": "DIR"} if kind is Path and not is_positional else {}
    return {**inferred, **given}


def _options(
    kind: "DataclassInstance | type[DataclassInstance]",
) -> list["dataclasses.Field[object]"]:
    return [field for field in dataclasses.fields(kind) if field.metadata]


def values_of(namespace: argparse.Namespace) -> _Settings:
    """Return the parsed values; options that were not given keep the defaults of their fields."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in vars(namespace).items()
        if value is not None
    }


def parse(kind: type[T], argv: Sequence[str] | None, *, name: str, about: str | None) -> T:
    """Parse a command line; ends the process with status 2 where it is wrong."""
    parser = make_parser(name, about)
    add_options(parser, kind)
    return kind(**values_of(parser.parse_args(argv)))


class Subcommand(NamedTuple):
    """A command inside a command, such as ``publish`` of ``store``."""

    options: "type[DataclassInstance]"
    do: Callable[..., Iterable["str | Summary"]]
    help: str
    """Its line in the list of commands."""
    about: str
    """The description in its own help."""


def parse_subcommand(
    commands: Mapping[str, Subcommand], argv: Sequence[str] | None, *, name: str, about: str | None
) -> tuple[Any, Callable[[], Iterator["str | Summary"]]]:  # Any: the options of one of them
    """Parse a command line that begins with one of ``commands``; return its options and its work.

    Ends the process with status 2 where the command line is wrong. The work raises ``UsageError``
    for a number outside the bounds of its option.
    """
    parser = make_parser(name, about)
    added = parser.add_subparsers(dest="command", required=True)
    for word, one in commands.items():
        own = added.add_parser(word, help=one.help, description=one.about, allow_abbrev=False)
        add_options(own, one.options)
    values = values_of(parser.parse_args(argv))
    command = commands[values.pop("command")]
    options = command.options(**values)

    def work() -> Iterator[str | Summary]:
        check(options)
        yield from command.do(options)

    return options, work


def check(options: "DataclassInstance") -> None:
    """Raise ``UsageError`` for a number outside the bounds of its option."""
    for field in _options(options):
        value = getattr(options, field.name)
        if why := out_of_bounds(value, field):
            raise UsageError(f"{_flag(field.name)} {value}: {why}.")


def refuse(options: "DataclassInstance", *names: str, because: str) -> None:
    """Raise ``UsageError`` for the first named option that was given, and would have no effect."""
    for field in _options(options):
        if field.name in names and getattr(options, field.name) != field.default:
            raise UsageError(f"{_flag(field.name)} {because}.")


@dataclasses.dataclass(frozen=True)
class Summary:
    """The result of a command, for ``--json``."""

    values: Mapping[str, object]
    status: int = 0
    """The exit status of the command; ``execute`` ignores it."""

    def write(self) -> None:
        """Write the summary to standard output as one line of JSON."""
        say(f"{with_addresses(json.dumps(self.values, ensure_ascii=False))}\n")


def execute(
    command: Callable[[], Iterable[str | Summary]],
    *,
    path: Path | str,
    resumes: str = "",
    as_json: bool = False,
) -> int:
    """Run a command and write its lines; return the exit status, after the message of an error.

    A ``Summary`` among the lines is for programs: with ``as_json``, only the summary is written to
    standard output, and the lines to standard error. ``path`` and ``resumes`` are those of ``end``.
    """
    prepare_streams()
    try:
        for line in command():
            with _writing():
                if isinstance(line, str):
                    (sys.stderr if as_json else sys.stdout).write(f"{with_addresses(line)}\n")
                elif as_json:
                    line.write()
        with _writing():
            sys.stdout.flush()
    except ENDS as error:
        return end(error, path=path, resumes=resumes)
    return 0


ENDS = (CorpusError, ImportError, OSError, RuntimeError, MemoryError, KeyboardInterrupt)
"""The exceptions that end a command with a message, by ``end``."""


def end(error: BaseException, *, path: Path | str | None = None, resumes: str = "") -> int:
    """Write the message of an exception that ends a command; return the exit status.

    The status of a ``CorpusError`` is its ``exit_status``; 1 for ``OSError`` (of ``path``, if it
    names no file), 130 for Ctrl-C and 143 for SIGTERM, whose message ``resumes`` follows. Other
    exceptions than these, missing libraries and missing memory are raised again.
    """
    cause = error.__context__
    if (
        isinstance(error, RuntimeError)
        and isinstance(cause, OSError)
        and cause.errno == errno.ELOOP
    ):
        error = cause  # Path.resolve() before Python 3.13
    if isinstance(error, KeyboardInterrupt):
        is_asked = isinstance(error, Terminated)
        what, status = ("stopped by SIGTERM", TERMINATED) if is_asked else ("interrupted", 130)
        return fail(f"{what}. {resumes}".rstrip(), status=status)
    if isinstance(error, OSError):
        return fail(message_of(error, path=path), status=1)
    known = error if isinstance(error, CorpusError) else reason_of(error)
    if known is None:
        raise error
    return fail(str(known), status=known.exit_status)


def prepare_streams() -> None:
    """Open closed standard streams to the null device, before a file takes their number.

    A command whose reader closes the pipe (``| head``) continues, and writes to nowhere. Standard
    output escapes the characters that its encoding lacks, as JSON does, so that no text is lost;
    standard error writes question marks.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        if (stream := getattr(sys, name)) is None:
            _open_to_nowhere(number)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        elif stream is getattr(sys, f"__{name}__") and not _raises.get():  # is ours, and new
            stream.flush()
            setattr(sys, name, _to_output(number, like=stream))
    codecs.register_error(_ESCAPED, _escaped)
    for stream, errors in ((sys.stdout, _ESCAPED), (sys.stderr, "replace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _to_output(number: int, *, like: io.TextIOWrapper) -> io.TextIOWrapper:
    output = Output(number, "w", closefd=False)
    is_direct = like.write_through  # python -u: no buffer
    return (_Terminal if os.isatty(number) else io.TextIOWrapper)(
        cast("io.BufferedWriter", output) if is_direct else io.BufferedWriter(output),
        encoding=like.encoding,
        line_buffering=like.line_buffering,
        write_through=is_direct,
    )


_CONTROL = re.compile("\x1b\\[(?:0|1(?:;3[0-9])?)m|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""The styles of ``paint``, and control characters other than tab and line feed."""


class _Terminal(io.TextIOWrapper):
    """A stream to a terminal: control characters of files and servers are shown, not obeyed."""

    def write(self, text: str) -> int:
        """Write, with signs in place of control characters; colours stay."""
        super().write(_CONTROL.sub(_shown_control, text))
        return len(text)


def overwrite(stream: TextIO, text: str, *, end: str = "") -> None:
    """Write a text in place of the last line of a terminal."""
    write = super(_Terminal, stream).write if isinstance(stream, _Terminal) else stream.write
    write("\r")
    stream.write(text)
    write(f"\033[K{end}")


def _shown_control(found: re.Match[str]) -> str:
    code = ord(found[0][-1])
    if len(found[0]) > 1:
        return found[0]
    pictures = "\N{SYMBOL FOR NULL}", "\N{SYMBOL FOR DELETE}", "\N{REPLACEMENT CHARACTER}"
    return chr(ord(pictures[0]) + code) if code < ord(" ") else pictures[1 + (code > 0x7F)]


class Output(io.FileIO):
    """A file descriptor for writing; when its reader closes the pipe, it leads to nowhere."""

    def write(self, data: "ReadableBuffer") -> int:
        """Write, or pass over what nobody reads; returns the number of bytes."""
        try:
            return super().write(data)
        except BrokenPipeError:
            _open_to_nowhere(self.fileno())
            _unread.add(self.fileno())
            return memoryview(data).nbytes


_unread: set[int] = set()


def is_read() -> bool:
    """Tell whether standard output has a reader; a command that only prints can end without."""
    return 1 not in _unread


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - only streams for writing have it
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _open_to_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def say(text: str) -> None:
    """Write to standard output at once.

    Raises ``CorpusError`` that names the output, such as on a full disk.
    """
    with _writing():
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def _writing() -> Iterator[None]:
    """Name the output in an error of writing it, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        raise CorpusError(
            f"standard output: {error.strerror or error}. What was printed is not whole."
        ) from error


def message_of(error: Exception, *, path: Path | str | None = None) -> str:
    """Return the message of an error for users; an ``OSError`` names its file, or else ``path``."""
    if not isinstance(error, OSError) or not error.errno:  # without a number: a message of ours
        return str(error)
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}  # of a copy, its target is full
    where = (is_full and error.filename2) or error.filename or path
    if not where:
        return str(error)
    is_of_a_folder = error.errno in {errno.EEXIST, errno.ENOTDIR} and error.filename2 is None
    if is_of_a_folder and (found := _in_the_way(os.fsdecode(where))):
        return f"{found}: is no folder. Name another place, or move it away."
    return f"{where}: {error.strerror or error}."


def _in_the_way(path: str) -> Path | None:
    """Find what stands where a path needs a folder: a file, or a link that leads to no folder."""
    parts = (Path(path), *Path(path).parents)
    return next((part for part in parts if os.path.lexists(part) and not part.is_dir()), None)


_raises: ContextVar[bool] = ContextVar("_raises", default=False)


@contextmanager
def errors_raised() -> Iterator[None]:
    """Let commands raise their errors inside the block, for a program that calls them."""
    token = _raises.set(True)
    try:
        yield
    finally:
        _raises.reset(token)


def fail(message: str, *, status: int) -> int:
    """Write an error message; return the exit status. Inside ``errors_raised``, raise it."""
    message = hide_password(with_addresses(message))
    if _raises.get():
        kinds = {2: UsageError, 130: KeyboardInterrupt, TERMINATED: Terminated}
        raise kinds.get(status, CorpusError)(message)
    sys.stderr.write(f"{paint('error:', '1;31', sys.stderr)} {message}\n")
    return status


def paint(text: str, style: str, stream: TextIO) -> str:
    """Write a text in an ANSI style (``1;31``: bold red) on a terminal that wants colours."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{style}m{text}\033[0m"


def _brought(value: object, *, option: str) -> object:
    """Copy inputs in buckets to this machine; return the value of the option with local paths."""
    if isinstance(value, list):
        return [_brought(each, option=option) for each in value]
    is_path = isinstance(value, Path)
    if not (is_path or (isinstance(value, str) and option not in _ADDRESSES)):
        return value
    scheme, _, rest = str(value).partition(":/")
    if scheme not in SCHEMES or not rest:
        return value
    from corpora.system.staging import stage

    url = f"{scheme}://{rest.lstrip('/')}"  # a Path keeps only one slash
    if is_path and option in _WRITTEN:
        raise UsageError(
            f"--{option} {url}: must be a folder of this machine. Name one; what is finished there "
            "goes into a bucket by onoma publish DIR s3://BUCKET/STORE/NAME (models), "
            "or onoma store publish (datasets)."
        )
    path = stage(url)
    return path if is_path else str(path)
