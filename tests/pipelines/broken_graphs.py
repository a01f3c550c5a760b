"""Graphs that cannot be done, in a module of their own: workers import them."""

import os
import sys
from dataclasses import dataclass

import apache_beam as beam

from corpora.errors import CorpusError
from pipelines.transforms.elements import ReadUnits


@dataclass(kw_only=True, eq=False)
class Raise(ReadUnits[int]):
    """Raise an error in the middle of a unit, in a function named ``broken_read``."""

    error: Exception

    def read(self, _):
        yield from broken_read(self.error)


def broken_read(error):
    os.write(2, b"a library of the worker complains\n")
    raise error


def cannot_read(units, _, run):
    return (
        units | Raise(error=CorpusError("b.xml:7: what is wrong. What to do.")) | run.write_shards()
    )


def has_a_bug(units, _, run):
    return units | Raise(error=ZeroDivisionError("in our code")) | run.write_shards()


def exits(units, _, run):
    """End the process that does it."""
    return units | beam.Map(lambda _: sys.exit(3)) | run.write_shards()
