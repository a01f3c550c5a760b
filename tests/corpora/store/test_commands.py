"""The commands of a store, and what is left of one that is killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from corpora.store.__main__ import main
from corpora.store.inspection import main as shards
from corpora.store.versions import publish
from tests.corpora.store.stored_runs import make

ROOT = Path(__file__).resolve().parents[3]


def test_the_commands_publish_name_switch_and_prune(tmp_path, capsys):
    shelf = str(tmp_path / "store" / "klwiki")
    for n in "123":
        source = make(tmp_path / n, f"Text {n}.")
        assert main(["publish", str(source), shelf, "--version", n]) == 0
    capsys.readouterr()

    assert main(["current", shelf]) == 0
    assert capsys.readouterr().out == f"{shelf}/3\n"
    assert main(["switch", shelf, "2"]) == 0
    assert main(["prune", shelf, "--keep", "1"]) == 0
    capsys.readouterr()
    assert main(["list", shelf]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["2"]
    assert main(["switch", shelf, "3"]) == 2
    assert main(["current", str(tmp_path)]) == 1


@pytest.mark.parametrize("arguments", [["switch", "NAME", "v1"], ["prune", "NAME"]])
@pytest.mark.parametrize(
    ("name", "said"),
    [("klwik", "did you mean klwiki"), ("../stor/klwiki", "nothing"), (".", "is a store")],
)
def test_a_mistyped_name_is_an_error_that_leaves_nothing(arguments, name, said, published, capsys):
    place = str(published.parent / name)
    before = sorted(published.parents[1].rglob("*"))

    assert main([place if word == "NAME" else word for word in arguments]) == 2

    assert said in capsys.readouterr().err
    assert sorted(published.parents[1].rglob("*")) == before


@pytest.mark.parametrize("limit", ["abc", "-1", "1.5", "", "9" * 20])
def test_a_limit_that_is_no_number_of_rows_is_named(limit, tmp_path, capsys):
    try:
        status = shards(["show", str(tmp_path), f"--limit={limit}"])
    except SystemExit as end:
        status = end.code

    assert status == 2
    assert capsys.readouterr().err.startswith("error: --limit")


# Runs the command given as Python, killed at the file operation of that number; prints the number
# of operations when none is left to be killed at.
DRIVER = """
import shutil, signal, sys
from pathlib import Path
import corpora.runs.build, corpora.store.inspection, corpora.store.retention
import corpora.datasets.shards, corpora.store.versions
from corpora.store.versions import current, publish, version_names
from corpora.store.inspection import verify
from corpora.store.forgetting import forget
from corpora.store.versions import hold
from corpora.datasets.shards import open_dataset
from tests.file_operations import killed_at
from tests.killing import in_a_child

code, step, pristine, store, source = sys.argv[1], int(sys.argv[2]), *map(Path, sys.argv[3:])
shelf, counter = store / "klwiki", store.with_name("counter")

def run(number):
    counter.write_bytes(b"")
    with killed_at(number, store, counter=counter):
        exec(code)
    return 0

kind = next((word for word in ("publish", "forget") if word in code), "prune")
number, is_killed = 0, True
while is_killed:
    number += step
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(pristine, store)
    is_killed = in_a_child(lambda: run(number)) == -signal.SIGKILL
    if "forget" in code:  # between two renames there is no version: the next command ends it
        with hold(shelf):
            pass
    name = current(shelf).name
    verify(current(shelf))
    for version in version_names(shelf):
        verify(shelf / version)
    assert name == "v2" or (name == "v3" and "publish" in code), name
    assert in_a_child(lambda: run(1 << 60)) == 0
    left = {path.name for path in shelf.iterdir()} - {"current", "history.json", ".lock"}
    assert left == {"publish": {"v1", "v2", "v3"}, "forget": {"v1", "v2"}}.get(kind, {"v2"}), left
    verify(current(shelf))
    if "forget" in code:
        datasets = [open_dataset(shelf / version / "documents") for version in left]
        assert not any(row["mentions"] for dataset in datasets for row in dataset.rows())
        assert '"done": null' not in (store / "forgotten.json").read_text()
print(number)
"""


@pytest.mark.parametrize(
    ("code", "step"),
    [
        ('publish(source, shelf, version="v3")', 1),
        ("corpora.store.retention.prune(shelf, keep=1)", 1),
        ('[*forget(store, entities=["klwiki:0"], today="2026-11-23")]', 16),
    ],
    ids=["publish", "prune", "forget"],
)
def test_killed_at_any_file_operation_there_is_always_a_whole_current_version(
    code, step, five, tmp_path
):
    pristine = tmp_path / "pristine"
    for n in (1, 2):
        publish(five / f"run{n}", pristine / "klwiki", version=f"v{n}")
    command = [sys.executable, "-c", DRIVER, code, str(step)]

    done = subprocess.run(
        [*command, pristine, tmp_path / "store", five / "run3"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


@pytest.mark.parametrize("inside", [".", "a/shelf"])
def test_a_store_in_what_is_published_is_refused(inside, published, capsys):
    before = sorted(published.rglob("*"))

    assert main(["publish", str(published), str(published / inside)]) == 2

    assert "lies in, what is published" in capsys.readouterr().err
    assert sorted(published.rglob("*")) == before
