"""Commands without a folder of their own for work: killed at any file operation, they resume."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from corpora.errors import FolderInUseError, UsageError
from corpora.system.writing import appearing, output_folder, remove_leftovers, temporary_path
from tests.datasets import write_dataset
from tests.modeling.link.samples import letters
from tests.processes import PYTHONPATH

ROOT = Path(__file__).resolve().parents[1]
KILLS = 4
# Runs each command undisturbed; then it is killed at some of its file operations, from the first to
# the last, and begun again each time, and at last ends.
DRIVER = """
import importlib, json, shutil, signal, sys
from pathlib import Path
from tests.file_operations import killed_at
from tests.killing import in_a_child, spread

folder = Path(sys.argv[1])
counter, log = folder / "counter", folder / "log"

def run(number):
    def do():
        with killed_at(number, output, counter=counter):
            return main([*argv, "--output", str(output)])
    counter.write_bytes(b"")
    return in_a_child(do, log=log)

def files():
    return {p.relative_to(output).as_posix(): p.read_bytes() for p in output.rglob("*")}

for module, *argv in json.loads(sys.argv[3]):
    main, output = importlib.import_module(module).main, folder / module
    assert run(1 << 60) == 0, log.read_text()
    expected, n_operations = files(), counter.stat().st_size
    shutil.rmtree(output)
    ends = [run(number) for number in spread(n_operations, int(sys.argv[2]))]
    assert ends.count(-signal.SIGKILL) >= 3, (module, ends, log.read_text())  # the last may be done
    assert run(1 << 60) == 0, log.read_text()
    assert files() == expected, (module, files().keys() ^ expected.keys())
    shutil.rmtree(output)
"""


def test_the_same_command_ends_in_the_same_files_after_kills(tmp_path, warm_python):
    documents = write_dataset(tmp_path / "documents", letters(12))
    commands = [
        f"corpora.concordance.__main__ {documents}",
        f"corpora.ner.convert {documents} --to brat",
        f"modeling.link.__main__ train {documents} --max-wrong 0.1",
        f"modeling.link.__main__ evaluate {documents} --folds 2",
        f"modeling.predict.__main__ --tei {ROOT}/tests/data/letters/01.xml --undo",
    ]
    given = json.dumps([command.split() for command in commands])

    done = subprocess.run(
        [warm_python, "-c", DRIVER, str(tmp_path), str(KILLS), given],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": PYTHONPATH, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_two_commands_do_not_write_one_folder_at_once(tmp_path):
    with (
        output_folder(tmp_path / "out"),
        pytest.raises(FolderInUseError, match="another command"),
        output_folder(tmp_path / "out"),
    ):
        pass

    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_stays_as_it_is(tmp_path):
    (tmp_path / "mine").touch()

    with pytest.raises(UsageError, match="something else"), output_folder(tmp_path, mark="a.json"):
        pass
    with pytest.raises(UsageError, match="is no folder"), output_folder(tmp_path / "mine"):
        pass

    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_only_what_killed_processes_left_is_removed(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left, works = (temporary_path(tmp_path / "a.txt") for _ in range(2))
    left = left.with_name(f".tmp-{ended.pid:08x}{left.name[13:]}")
    elsewhere, long_ago = (
        left.with_name(f"{left.name[:13]}{n:08x}{left.name[21:]}") for n in (1, 2)
    )
    for path in (left, works, elsewhere, long_ago, tmp_path / ".tmp-mine"):
        path.touch()
    os.utime(long_ago, (0, 0))

    remove_leftovers(tmp_path, "a.txt")

    left_there = {path.name for path in tmp_path.iterdir()}
    assert left_there == {works.name, elsewhere.name, ".tmp-mine"}


def test_a_folder_appears_when_it_is_complete_and_replaces_an_earlier_one(tmp_path):
    for text in ("old", "new"):
        with appearing(tmp_path / "made") as folder:
            folder.mkdir()
            (folder / text).write_text(text)
            assert not (tmp_path / "made" / "new").exists()

    assert [path.name for path in (tmp_path / "made").iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
