"""The commands of the front page, as printed there: `make readme-test`. It trains models."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks():
    """Pairs of a section's commands and the block that follows: what comes out, in part."""
    text = (ROOT / "README.md").read_text("utf-8")
    found = [match[1] for match in BLOCK.finditer(text)]
    for commands, after in zip(found, [*found[1:], ""], strict=True):
        if commands.startswith("onoma "):
            yield commands, "" if after.startswith("onoma ") else after


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the samples, and the command in PATH."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "tests").symlink_to(ROOT / "tests")
    (folder / "bin").mkdir()
    script = folder / "bin" / "onoma"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "onoma.py"} "$@"\n')
    script.chmod(0o755)
    return folder


@pytest.mark.parametrize(("commands", "shown"), [*blocks()])
def test_commands_of_the_front_page_do_what_it_says(place, commands, shown):
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["/bin/bash", "-e", "-c", commands],
        cwd=place,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    for line in shown.splitlines():
        expected = line.partition("…")[0].strip()
        if expected and not re.search(r"\d+\.\d s", expected):  # seconds differ
            assert expected in done.stdout


def test_names_are_taken_out_again_to_the_same_bytes(place):
    original = place / "build" / "original" / "09.xml"

    assert original.read_bytes() == (ROOT / "tests" / "data" / "enrich" / "09.xml").read_bytes()
