"""How a command starts: it holds its folder first, and ends in order while it still loads."""

import fcntl
import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import pipelines.tei_to_ner as pipeline
from corpora.errors import CorpusError
from corpora.runs.build import hold
from pipelines.run import main
from tests.pipelines.test_tei_to_ner import run

pytestmark = pytest.mark.usefixtures("without_runner")

ROOT = Path(__file__).resolve().parents[2]


def test_a_second_run_plans_nothing(tmp_path, monkeypatch, capsys):
    planned = []
    monkeypatch.setattr(pipeline, "plan", planned.append)
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert run(tmp_path / "out") == 1

    assert "another run" in capsys.readouterr().err
    assert planned == []


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_for_which_no_plan_can_be_made_is_as_it_was(is_there, tmp_path):
    def fail():
        assert (tmp_path / "out" / ".lock").exists()
        raise CorpusError("no plan")

    if is_there:
        (tmp_path / "out").mkdir()

    with pytest.raises(CorpusError, match="no plan"), hold(tmp_path / "out", fail):
        pass

    assert (tmp_path / "out").exists() is is_there


@pytest.mark.parametrize(
    "command",
    [["pipelines.tei_to_ner"], ["corpora.shards", "verify"], ["onoma", "tei"], ["onoma", "verify"]],
)
def test_an_interrupt_while_modules_load_is_no_traceback(command, tmp_path):
    (tmp_path / "uuid.py").write_text("import time; print('loads', flush=True); time.sleep(60)")
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        loads = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()

    assert loads == "loads\n"
    assert (process.returncode, errors) == (130, "error: interrupted.\n")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("pipelines.tei_to_ner", "--input letters --output \udcff"),
        ("pipelines.tei_to_ner", "--input \udcff/*.xml --output out"),
        ("corpora.store.inspection", "verify \udcff"),
        ("corpora.store.__main__", "publish \udcff store/x"),
        ("corpora.diff.__main__", "\udcff new"),
        ("corpora.ner.convert", "\udcff --to conll"),
        ("corpora.wikipedia.download", "nl --output \udcff --contact a@b.example"),
        ("corpora.crawl.__main__", "\udcff --archive archive"),
        ("modeling.report.__main__", "\udcff"),
    ],
)
def test_a_path_that_is_no_utf8_is_named(module, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    try:
        status = import_module(module).main(words.split())
    except SystemExit as end:
        status = end.code

    assert status == 2
    said = capsys.readouterr().err
    assert "\\udcff" in said
    assert "no UTF-8" in said.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_an_empty_output_is_no_current_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("Ein Satz.")

    with pytest.raises(SystemExit, match="2"):
        main("pipelines.text_to_documents", "text", ["--input", "a.txt", "--output", ""])

    assert "--output: is empty (is a variable not set?). See" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_current_folder_that_is_no_utf8_is_named(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)  # noqa: PTH102 - no Path of bytes
    done = subprocess.run(
        [sys.executable, "-m", "corpora.shards", "verify", "."],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, "no UTF-8" in done.stderr) == (2, True)


def test_every_command_has_the_parser_that_looks_at_its_arguments():
    makes = re.compile(r"^ *parser = argparse\.ArgumentParser\((?!add_help=False)", re.MULTILINE)
    folders = [ROOT / name for name in ("corpora", "pipelines", "modeling")]
    sources = [path for folder in folders for path in folder.rglob("*.py")]

    assert not [str(path) for path in sources if makes.search(path.read_text("utf-8"))]


@pytest.mark.parametrize("options", [[], ["--workers", "2"]])
def test_a_command_loads_no_library_that_beam_and_pyarrow_need_not(options, tmp_path):
    (tmp_path / "text").mkdir()
    for name in ("a", "b"):
        (tmp_path / "text" / f"{name}.txt").write_text("Ein Satz.\n", encoding="utf-8")
    code = """if True:
        import os, sys
        from pipelines import text_to_documents
        status = text_to_documents.main()
        print(sorted({"boto3", "bson", "pandas"} & sys.modules.keys()))
        sys.exit(status)
    """
    words = ["--input", tmp_path / "text", "--lang", "de", "--output", tmp_path / "out", *options]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"
