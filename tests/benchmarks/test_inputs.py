"""Paths that benchmarks read: one that is wrong ends the command with a message."""

import argparse
import re
from pathlib import Path

import pytest

from benchmarks.inputs import existing, pattern

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
WRITTEN = {
    "--folder", "--look-up-redirects", "--lookup", "--output", "--pictures", "--record",
    "--records", "--scratch", "folder",
}  # fmt: skip


@pytest.mark.parametrize("kind", [existing, pattern])
def test_a_path_that_is_not_there_is_a_message(kind, tmp_path, capsys):
    parser = argparse.ArgumentParser(prog="x")
    parser.add_argument("--input", type=kind)
    assert str(parser.parse_args(["--input", str(tmp_path)]).input) == str(tmp_path)

    for wrong in (str(tmp_path / "absent"), ""):
        with pytest.raises(SystemExit, match="2"):
            parser.parse_args(["--input", wrong])

    assert "Name what is to be read" in capsys.readouterr().err


def test_benchmarks_check_all_paths_that_they_read():
    named = re.compile(r'add_argument\(\s*"([^"]+)"[^()]*type=Path')
    files = BENCHMARKS.glob("*.py")
    unchecked = {name for file in files for name in named.findall(file.read_text("utf-8"))}

    assert unchecked <= WRITTEN
