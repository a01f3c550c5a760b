"""Reading datasets of documents batch by batch."""

from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.shards import read_batches
from corpora.errors import CorpusError
from corpora.runs.plan import Unit
from corpora.runs.receipts import read_receipt
from pipelines.transforms.elements import OfRun, PerUnit, ReadUnits


class ReadDocuments(ReadUnits[pa.RecordBatch]):
    """Read the shards of datasets of documents, batch by batch.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[pa.RecordBatch]]``
    """

    columns: Sequence[str] = ()
    """The columns that are read; empty: all."""

    def read(self, unit: Unit) -> Iterator[pa.RecordBatch]:
        """Read the shards of a unit; if its part names batches, only those.

        Raises ``InputChangedError`` where a shard has changed.
        """
        for file in unit.inputs:
            batches = read_batches(file.check(), "documents", columns=self.columns)
            yield from islice(batches, unit.part.get("start"), unit.part.get("end"))


class DropRejected(OfRun, PerUnit[pa.RecordBatch, pa.RecordBatch]):
    """Leave out documents that an earlier phase, which read the same units, has rejected.

    ``PCollection[InUnit[pa.RecordBatch]]`` -> ``PCollection[InUnit[pa.RecordBatch]]``; batches have
    the column ``id``.
    """

    stage: str
    """The stage of the earlier phase, which must not have read the column ``source``, so that the
    ``source`` of its rejections is the id of a document."""

    def start(self) -> None:
        """Read which documents were rejected."""
        path = self.work.receipt(self.stage, self.unit.number)
        receipt = read_receipt(path)
        if receipt is None:
            raise CorpusError(f"{path}: is missing or damaged. Run the same command again.")
        self._ids = pa.array([row["source"] for row in receipt.rejected], pa.string())

    def process(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Leave out the rejected documents."""
        is_rejected = pc.is_in(batch.column("id"), self._ids)
        yield batch.filter(pc.invert(is_rejected)) if len(self._ids) else batch
