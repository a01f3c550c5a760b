"""The commands of the front page, tutorials and other pages, as printed there. Some train models.

`make readme-test` runs all of them, `make tutorials` all but the front page. Both also run the
recipes of `onoma project new` with the samples.
"""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from onoma.project.__main__ import KINDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"front": ROOT / "README.md"}
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES |= {f"tutorial-{page.stem}": page for page in TUTORIALS}
MORE = (
    *("chinese", "commands", "datasets", "editions", "enriching", "entities", "examples"),
    *("exporting", "forgetting", "lexicon", "library", "linking", "ner", "news", "pipelines"),
    *(
        "pretraining",
        "projects",
        "refresh",
        "registers",
        "serving",
        "sharing",
        "spacy",
        "tagging",
        "text",
    ),
    *("tokenizers", "wikipedia", "workbench"),
)
WITH_A_MODEL = {"exporting", "pretraining", "serving", "spacy", "tagging"}
"""Pages that go on in the folder of the tutorial ``model``, and need its steps before them."""
PAGES |= {name: ROOT / "docs" / f"{name}.md" for name in MORE}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"(onoma|cat|head|echo|grep) ")
NOT_RUN = re.compile(r"(hf|pip) ")
SECONDS = re.compile(r"\d+\.\d s\)")


def steps(page):
    """Yield each block of commands, or of Python, with the output that the next block shows.

    The output is empty where the next block is none. Blocks of another language are not run: `sh`
    and `py` are commands and Python on what is not there.
    """
    found = [as_commands(*match.groups()) for match in BLOCK.finditer(page.read_text("utf-8"))]
    for (commands, _), (_, output) in zip(found, [*found[1:], ("", "")], strict=True):
        if commands:
            yield commands, output


def as_commands(language, block):
    """Return the commands of a block, or else what it shows as output."""
    if language == "python":
        return f"python - <<'END'\n{block}END\n", ""
    if language or NOT_RUN.match(block):
        return "", ""
    return (block, "") if COMMANDS.match(block) else ("", block)


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
        for command, module in (("onoma", "-m onoma"), ("python", "")):
            script = folder / "bin" / command
            script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} {module} "$@"\n')
            script.chmod(0o755)
        return folder

    return make


def run(commands, place):
    """Run commands in a shell in a folder; give what they print."""
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", commands],
        cwd=place,
        env={
            **os.environ,
            "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HF_HOME": str(place / "cache"),
            "HF_HUB_OFFLINE": "1",
        },
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
    printed = run(commands, place_of("tutorial-model" if name in WITH_A_MODEL else name))

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


def test_python_of_the_front_page_runs_after_its_commands(place_of):
    [program] = re.findall(
        r"^```py\n(.*?)^```$", PAGES["front"].read_text("utf-8"), re.MULTILINE | re.DOTALL
    )

    printed = run(f"python - <<'END'\n{program}END\n", place_of("front"))

    assert printed.startswith("Jena place letters:o1\n")
    assert "label='place'" in printed


def test_front_page_takes_names_out_again_to_the_same_bytes(place_of):
    original = place_of("front") / "build" / "original" / "09.xml"

    assert original.read_bytes() == (ROOT / "tests" / "data" / "enrich" / "09.xml").read_bytes()
