"""A sample edition, and the command that serves it."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from modeling.workbench.__main__ import Options
from modeling.workbench.running import make_desk
from tests.modeling.workbench.sample import make_sample
from tests.processes import PATIENCE_S

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def sample_once(tmp_path_factory):
    return make_sample(tmp_path_factory.mktemp("edition") / "sample")


@pytest.fixture
def sample(sample_once, tmp_path):
    """Copy the sample, so that a test may change it."""
    folder = tmp_path / "sample"
    return shutil.copytree(sample_once, folder)


def options_of(folder, **more):
    given = {
        "tei": (str(folder / "letters" / "*.xml"),),
        "edition": str(folder / "letters.toml"),
        "candidates": folder / "list.tsv",
        "register": (str(folder / "register" / "*.xml"),),
        "output": folder / "reviewed",
        "reviewer": "kb",
    }
    return Options(**given | more)


@pytest.fixture
def desk(sample):
    """Open a desk on the sample, with all letters read."""
    return open_desk(sample)


def open_desk(folder, **more):
    made = make_desk(options_of(folder, **more))
    for letter in made.letters.all:
        made.look(letter)
    return made


class Served:
    """The command in a process of its own, and the address of its page."""

    def __init__(self, python, *options):
        command = [python, "-m", "modeling.workbench", "--no-open", *options]
        self.process = subprocess.Popen(
            [*map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        line = self.process.stdout.readline()
        self.address = re.match(r"open\s+(\S+)", line)[1]

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode


def options_to_serve(folder):
    options = options_of(folder)
    return (
        *("--tei", *options.tei, "--edition", options.edition, "--reviewer", "kb"),
        *("--candidates", options.candidates, "--register", *options.register),
        *("--encoder", folder),  # which is opened once somebody trains
        *("--output", options.output),
    )


@pytest.fixture
def serve(sample, warm_python):
    """Start the command, on the sample or with other options, any number of times; all end."""
    started = []

    def start(*options, python=warm_python):
        started.append(Served(python, *(options or options_to_serve(sample))))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)
