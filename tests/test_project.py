"""Projects: the recipes fit the commands, and a run does what is not up to date."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpora.errors import UsageError
from onoma.project.__main__ import KINDS, main
from onoma.project.recipe import check_order, missing_inputs, read_steps, sources_of, state_of

ROOT = Path(__file__).parents[1]
TEXT = """
[[step]]
onoma = "text"
input = ["texts/*.txt"]
lang = "de"
output = "build/texts"

[[step]]
name = "check"
onoma = "verify"
path = "build/texts"
json = true
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("Jena liegt an der Saale.\n")
    (tmp_path / "onoma.toml").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_recipe_is_a_chain_of_commands_that_there_are(kind, tmp_path):
    target = tmp_path / kind

    assert main(["new", kind, str(target)]) == 0

    steps = read_steps(target / "onoma.toml")
    check_order(steps, file=target)
    assert all(sources_of(step, steps) for step in steps[1:])
    readme = (target / "README.md").read_text("utf-8")
    assert all(f"\n{step.line}\n" in readme for step in steps)
    assert main(["new", kind, str(target)]) == 0  # nothing is lost: the files are the same
    (target / "README.md").write_text("Ours.", "utf-8")
    assert main(["new", kind, str(target)]) == 2


def test_chain_from_a_dump_to_an_encoder(tmp_path):
    main(["new", "wikipedia", str(tmp_path / "wiki")])

    steps = read_steps(tmp_path / "wiki" / "onoma.toml")

    reads = {step.name: [other.name for other in sources_of(step, steps)] for step in steps}
    assert reads == {
        "documents": [],
        "vocab": ["documents"],
        "augmented": ["documents", "vocab"],
        "tokenizer": ["augmented"],
        "examples": ["vocab", "augmented", "tokenizer"],
        "encoder": ["examples"],
    }
    assert steps[-1].line == (
        "onoma pretrain --examples build/examples --output build/encoder "
        "--set training.max_steps=100 training.evaluate_every=50 -- daluke_small"
    )


def test_a_tagger_of_an_edition_needs_nothing_but_its_files(tmp_path):
    main(["new", "tei", str(tmp_path / "mine")])

    steps = read_steps(tmp_path / "mine" / "onoma.toml")

    assert missing_inputs(steps, tmp_path / "mine") == [
        f"{tmp_path / 'mine' / 'letters/*.xml'} (input of ner)"
    ]
    assert [step.name for step in steps][-3:] == ["encoder", "tagger", "evaluate"]


def test_run_does_what_is_not_up_to_date(folder, capfd):
    def said(*more):
        status = main(["run", str(folder), *more])
        return status, capfd.readouterr()

    first, second = said(), said()
    text = folder / "texts" / "a.txt"
    text.write_bytes(bytes(range(256)) * 20)
    failed = said()
    text.write_text("Ulm.\n")
    os.utime(text, (1, 1))
    again = said("--only", "check")

    assert first[0] == 0
    assert "read 1 " in first[1].out
    assert '"schema": "documents", "rows": 1' in first[1].out
    assert second[1].out == (
        f"[1/2] texts: up to date\n[2/2] check: up to date\n{folder}: all steps are done\n"
    )
    assert failed[0] == 1
    assert "error: texts: exit status 1. Repair what it says" in failed[1].err
    assert again[1].out == f"[2/2] check: up to date\n{folder}: not up to date: texts\n"
    main(["show", str(folder), "--json"])
    assert [row["done"] for row in json.loads(capfd.readouterr().out)] == [False, True]


def test_output_of_a_step_that_failed_since_is_not_up_to_date(folder, capfd):
    recipe = folder / "onoma.toml"
    main(["run", str(folder)])
    recipe.write_text(TEXT.replace('"de"', '"de"\nlimit = 0', 1))
    assert main(["run", str(folder)]) != 0

    recipe.write_text(TEXT)
    capfd.readouterr()
    main(["show", str(folder), "--json"])

    assert [row["done"] for row in json.loads(capfd.readouterr().out)] == [False, True]


def test_tilde_is_the_home_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "onoma.toml").write_text(
        '[[step]]\nonoma = "text"\ninput = ["~/a/*.txt"]\nlang = "de"\noutput = "~/out"\n'
    )

    [step] = read_steps(tmp_path / "onoma.toml")

    home = str(tmp_path / "home")
    assert step.output == f"{home}/out"
    assert f"--input {home}/a/*.txt" in " ".join(step.command_from(tmp_path / "project"))


def test_names_that_are_no_utf8_stop_nothing(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / os.fsdecode(b"a\xff.xml")).touch()
    (tmp_path / "onoma.toml").write_text('[[step]]\nonoma = "card"\npath = "in"\n')

    [step] = read_steps(tmp_path / "onoma.toml")

    assert state_of(step, tmp_path)


def test_texts_that_are_no_paths_and_links_that_lead_nowhere_stop_nothing(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / ".#a.xml").symlink_to("somebody@host.17")  # as Emacs marks open files
    (tmp_path / "onoma.toml").write_text(
        '[[step]]\nonoma = "card"\npath = "in"\nlicense = ""\n'
        f'facts = ["title=**bold** text", "about={"long " * 60}"]\n'
    )
    [step] = read_steps(tmp_path / "onoma.toml")
    before = state_of(step, tmp_path)

    (tmp_path / "other").write_text("is read by no step")

    assert state_of(step, tmp_path) == before
    (tmp_path / "in" / "a.xml").write_text("is read")
    assert state_of(step, tmp_path) != before


SLOW = """if True:
    import signal, sys, time

    def save(*_):
        time.sleep(float(sys.argv[1]))
        sys.exit(print("saved", flush=True))

    signal.signal(signal.SIGINT, save)
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(("seconds", "said"), [(1, "saved\n"), (60, "")])
def test_an_interrupted_command_may_end_in_order_or_is_interrupted_again(seconds, said):
    code = f"""if True:
        import sys
        from onoma.project.__main__ import status_of
        status_of([sys.executable, "-c", {SLOW!r}, "{seconds}"])
    """
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        while seconds > 1 and process.poll() is None:
            time.sleep(0.5)
            os.killpg(process.pid, signal.SIGINT)

        assert process.stdout.read() == said
        assert process.stderr.read().endswith("KeyboardInterrupt\n")


def test_all_inputs_that_are_missing_are_named_before_anything_runs(tmp_path, capfd):
    main(["new", "tei", str(tmp_path / "mine")])
    capfd.readouterr()
    recipe = tmp_path / "mine" / "onoma.toml"
    recipe.write_text(recipe.read_text().replace('"build/encoder"\naug', '"models/encoder"\naug'))

    assert main(["run", str(tmp_path / "mine")]) == 2

    said = capfd.readouterr()
    letters, encoder = tmp_path / "mine/letters/*.xml", tmp_path / "mine/models/encoder"
    assert f"no {letters} (input of ner), no {encoder} (model of tagger)." in said.err
    assert said.out == ""
    main(["show", str(tmp_path / "mine")])
    assert capfd.readouterr().out.count("\nmissing  ") == 2


def test_commands_are_said_with_paths_as_the_user_stands(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder.parent)

    assert main(["run", folder.name]) == 0

    said = capfd.readouterr().out
    assert (
        f"onoma text --input '{folder.name}/texts/*.txt' --lang de --output {folder.name}/b" in said
    )
    assert f"onoma show {folder.name}/build/texts" in said
    assert f"onoma verify --json -- {folder.name}/build/texts" in said


def test_settings_and_files_that_may_be_names_are_paths_where_they_look_like_one(tmp_path):
    (tmp_path / "onoma.toml").write_text(
        '[[step]]\nonoma = "tei"\ninput = ["a/*.xml", "s3://b/c"]\nedition = "tei"\n'
        'exclude = ["a/1.xml"]\noutput = "o"\n'
        '[[step]]\nonoma = "tei"\ninput = ["a"]\nedition = "mine.toml"\noutput = "/p"\n'
        '[[step]]\nonoma = "finetune"\nrecipe = "crf"\nner = "o/ner"\nmodel = "m"\noutput = "t"\n'
        'set = { "gazetteer.path" = "g", "training.epochs" = 1 }\n'
    )

    lines = [step.line_from(tmp_path) for step in read_steps(tmp_path / "onoma.toml")]

    at = tmp_path
    assert lines == [
        (
            f"onoma tei --input '{at}/a/*.xml' s3://b/c --edition tei --exclude a/1.xml "
            f"--output {at}/o"
        ),
        f"onoma tei --input {at}/a --edition {at}/mine.toml --output /p",
        (
            f"onoma finetune --ner {at}/o/ner --model {at}/m --output {at}/t "
            f"--set gazetteer.path={at}/g training.epochs=1 -- crf"
        ),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'lang = "de"',
            'langs = "de"',
            "step 1 (text): langs: no option of this command (did you mean lang?).",
        ),
        ('onoma = "text"', 'onoma = "txt"', 'step 1: onoma = "txt": no command.'),
        ('name = "check"', 'name = "texts"', "two steps are 'texts'"),
    ],
)
def test_mistake_in_the_file_is_named(folder, capsys, old, new, message):
    file = folder / "onoma.toml"
    file.write_text(file.read_text().replace(old, new))
    assert main(["show", str(folder)]) == 2

    assert message in capsys.readouterr().err


def test_step_that_reads_what_a_later_one_makes_is_named(folder, capsys):
    later = '\n[[step]]\nonoma = "card"\npath = "build/texts"\nparquet = "texts"\n'
    (folder / "onoma.toml").write_text(TEXT.replace("build/texts", "build/a") + later)

    assert main(["show", str(folder)]) == 2

    assert "a reads texts, which a later step makes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "recipe",
    ["name = [1]\nonoma = 'tei'", "onoma = 'tei'\ninput = 'a\\u0000b'", f"x = {'[' * 5000}"],
)
def test_a_recipe_that_is_absurd_is_said(tmp_path, recipe):
    (tmp_path / "onoma.toml").write_text(f"[[step]]\n{recipe.replace(chr(39), chr(34))}\n")

    with pytest.raises(UsageError, match=r"onoma\.toml"):
        read_steps(tmp_path / "onoma.toml")
