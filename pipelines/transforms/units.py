"""The source of the units of a graph."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import apache_beam as beam

from corpora.runs.plan import Unit
from corpora.system.buckets import Bucket, is_url
from corpora.system.staging import stage
from corpora.system.writing import write_text


@dataclass(kw_only=True, eq=False)
class ListUnits(beam.PTransform):
    """Distribute units to workers by a file that lists them, so that the job itself stays small.

    The root of a pipeline -> ``PCollection[Unit]``.
    """

    units: Iterable[Unit]
    path: Path
    """The path of that file, which is written when the graph is made; all workers must see it."""
    bucket: Bucket | None = None
    """The bucket folder of the run, if its output is in a bucket; the file is uploaded to it."""
    after: beam.PCollection | None = None
    """A ``PCollection`` that must be complete before units are read; None: nothing to wait for."""

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection:
        """Write the file, and apply the transform."""
        path = self.path.absolute()
        write_text(path, (f"{unit.to_json()}\n" for unit in self.units))
        address = str(path)
        if self.bucket is not None:
            name = f"carried/{uuid4().hex}.jsonl"
            self.bucket.put(name, path)
            address = self.bucket.url_of(name)
        waits = [] if self.after is None else [beam.pvalue.AsList(self.after)]
        return (
            pbegin
            | "List" >> beam.Create([address])
            | "Read" >> beam.FlatMap(_read_units, *waits)
            | "Spread" >> beam.Reshuffle()  # otherwise one worker would get all units
        )


def _read_units(path: str, *_: Any) -> Iterator[Unit]:  # Any: Beam takes ``*_: X`` for a tuple
    """Read the units; the side input makes this wait until everything before is done."""
    with (stage(path) if is_url(path) else Path(path)).open(encoding="utf-8") as lines:
        yield from map(Unit.from_json, lines)
