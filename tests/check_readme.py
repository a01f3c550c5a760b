"""The commands of the front page and of the tutorials, as printed there. Some train models.

`make readme-test` runs all of them, `make tutorials` the tutorials alone. Both also run the recipes
of `onoma project new` with the samples.
"""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from corpora.project.__main__ import KINDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"front": ROOT / "README.md"}
PAGES |= {page.stem: page for page in sorted((ROOT / "docs" / "tutorials").glob("*.md"))}
BLOCK = re.compile(r"^```\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"(onoma|cat|head|echo) ")
SECONDS = re.compile(r"\d+\.\d s\)")


def steps(page):
    """Yield each block of commands of a section with the output that the next block shows.

    The output is empty where the next block has commands, too.
    """
    found = [match[1] for match in BLOCK.finditer(page.read_text("utf-8"))]
    for commands, after in zip(found, [*found[1:], ""], strict=True):
        if COMMANDS.match(commands):
            yield commands, "" if COMMANDS.match(after) else after


def comparable(line):
    """Return a line without what differs: seconds, spaces, and all that follows an ellipsis."""
    return " ".join(SECONDS.sub("s)", line.partition("…")[0]).split())


@pytest.fixture(scope="module")
def place_of(tmp_path_factory):
    """Give the folder of a page: with the samples, and the command in PATH."""

    @cache
    def make(name):
        folder = tmp_path_factory.mktemp(name)
        (folder / "tests").symlink_to(ROOT / "tests")
        (folder / "bin").mkdir()
        script = folder / "bin" / "onoma"
        script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m onoma "$@"\n')
        script.chmod(0o755)
        return folder

    return make


def run(commands, place):
    """Run commands in a shell in a folder; give what they print."""
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", commands],
        cwd=place,
        env={**os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "commands", "shown"),
    [(name, *step) for name, page in PAGES.items() for step in steps(page)],
    ids=lambda value: value.split("\n")[0][:40],
)
def test_commands_of_a_page_do_what_it_says(place_of, name, commands, shown):
    printed = run(commands, place_of(name))

    said = "\n".join(map(comparable, printed.splitlines()))
    missing = [line for line in map(comparable, shown.splitlines()) if line not in said]
    assert not missing, printed


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_project_does_all_its_steps_with_the_sample_alone(place_of, kind):
    place = place_of("projects")
    said = run(f"onoma project new {kind} mine/{kind}", place)
    [sample] = re.findall("^next .* or: (onoma sample .*)", said, re.MULTILINE)

    said = run(f"{sample} && onoma project run mine/{kind}", place)

    assert f"mine/{kind}: all steps are done" in said


def test_front_page_takes_names_out_again_to_the_same_bytes(place_of):
    original = place_of("front") / "build" / "original" / "09.xml"

    assert original.read_bytes() == (ROOT / "tests" / "data" / "enrich" / "09.xml").read_bytes()
