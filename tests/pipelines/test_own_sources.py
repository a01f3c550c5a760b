"""A pipeline of somebody else, as docs/pipelines.md shows it, run as it stands there."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"
FILM = (
    "1\n00:00:01,000 --> 00:00:02,500\nWer da?\n\n2\n00:00:03,000 --> 00:00:04,000\nIch,\nKarl.\n"
)


@pytest.fixture
def folder(tmp_path):
    [program] = re.findall(
        r'^```py\n("""Convert subtitles.*?)^```', PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len([line for line in program.splitlines() if line]) <= 60
    (tmp_path / "subtitles.py").write_text(program, "utf-8")
    (tmp_path / "films").mkdir()
    for name in "ab":
        (tmp_path / "films" / f"{name}.srt").write_text(FILM, "utf-8")
    return tmp_path


def make(folder, *options):
    command = [sys.executable, "subtitles.py", "--input", "films", "--output", "out", *options]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_a_source_of_ones_own_is_a_command_like_ours_and_a_change_of_its_code_a_new_plan(folder):
    said = json.loads(make(folder, "--lang", "de", "--json", "--workers", "2"))

    documents = list(open_dataset(folder / "out"))
    assert [document.id for document in documents] == ["a.srt", "b.srt"]
    assert documents[0].text == "Wer da?\nIch, Karl.\n"
    assert [said["written"], said["counters"]] == [2, {"captions": 4}]
    assert "already complete" in make(folder, "--lang", "de")

    program = folder / "subtitles.py"
    program.write_text(program.read_text("utf-8").replace('"films"', '"movies"'), "utf-8")
    make(folder, "--lang", "de")

    assert {document.group for document in open_dataset(folder / "out")} == {"movies"}
