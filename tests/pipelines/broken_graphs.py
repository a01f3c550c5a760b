"""Graphs that cannot finish, in a module of their own, since workers import them."""

import os
import re
import signal
import time
from contextlib import suppress

import apache_beam as beam

from corpora.errors import CorpusError
from pipelines.transforms.elements import read_units
from tests.processes import PATIENCE_S


def broken_read(_, *, error):
    with suppress(OSError):  # no room
        os.write(2, b"a library of the worker complains\n")
    raise error


def cannot_read(units, _, run):
    error = CorpusError("b.xml:7: what is wrong. What to do.")
    return units | read_units(broken_read, error=error) | run.write_shards()


def has_a_bug(units, _, run):
    return (
        units | read_units(broken_read, error=ZeroDivisionError("in our code")) | run.write_shards()
    )


def note(unit, folder):
    """Write down who does a unit; the first waits until another was done."""
    mine = folder / f"{unit.number}-{os.getpid()}"
    mine.touch()
    end = time.monotonic() + PATIENCE_S
    while unit.number == 0 and len(list(folder.iterdir())) < unit.settings["n"]:
        assert time.monotonic() < end
        time.sleep(0.01)


def noting(units, folder, _):
    """Write down, in the folder that is the settings, who does which unit."""
    return units | beam.Map(note, folder)


def saying(units, file, _):
    """Write an environment variable into the file that is the settings."""
    return units | beam.Map(lambda _: file.write_text(os.environ["ONOMA_TEST"]))


def killed(units, *_):
    return units | beam.Map(lambda _: os.kill(os.getpid(), signal.SIGKILL))


def exited(units, *_):
    return units | beam.Map(lambda _: os._exit(3))


def counting(units, *_):
    """Make a graph that computes for ever, and never waits for anything."""
    return units | beam.Map(lambda _: sum(1 for _ in iter(int, 1)))


def holding(units, *_):
    """Make a graph that never lets go of the interpreter."""
    return units | beam.Map(lambda _: re.match("(a|a)*b", "a" * 40))
