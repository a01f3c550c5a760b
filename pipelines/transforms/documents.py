"""Datasets of documents: read batch by batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from corpora.plan import Unit
from corpora.schemas import SCHEMAS
from corpora.shards import read_batches
from pipelines.transforms.elements import ReadUnits


@dataclass(kw_only=True, eq=False)
class ReadDocuments(ReadUnits[pa.RecordBatch]):
    """Read the shards of datasets of documents, batch by batch.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[pa.RecordBatch]]``
    """

    columns: Sequence[str] = ()
    """Those that are read; empty: all."""

    def read(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        """Read the shards of a unit; of each the batches that its part names, if it names some.

        Raises ``InputChangedError`` where a shard has changed.
        """
        for file in unit.inputs:
            batches = read_batches(file.check(), SCHEMAS["documents"], columns=self.columns)
            yield from islice(batches, unit.part.get("start"), unit.part.get("end"))
