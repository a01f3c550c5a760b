"""Reading datasets of documents batch by batch."""

from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.shards import read_batches
from corpora.errors import CorpusError
from corpora.runs.plan import Unit
from corpora.runs.receipts import read_receipt
from corpora.runs.work_directory import WorkDirectory


def read_documents(unit: Unit, *, columns: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    """Read the shards of datasets of documents, batch by batch; if the part names some, only those.

    ``columns``: those that are read; empty: all. Raises ``InputChangedError`` where a shard has
    changed.
    """
    for file in unit.inputs:
        batches = read_batches(file.check(), "documents", columns=columns)
        yield from islice(batches, unit.part.get("start"), unit.part.get("end"))


def read_remaining(
    unit: Unit, *, work: WorkDirectory, stage: str, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Read the documents that an earlier phase, which read the same units, has not rejected.

    ``stage``: that of the earlier phase, which must not have read the column ``source``, so that
    the ``source`` of its rejections is the id of a document.
    """
    path = work.receipt(stage, unit.number)
    receipt = read_receipt(path)
    if receipt is None:
        raise CorpusError(f"{path}: is missing or damaged. Run the same command again.")
    ids = pa.array([row["source"] for row in receipt.rejected], pa.string())
    for batch in read_documents(unit, columns=columns):
        is_rejected = pc.is_in(batch.column("id"), ids)
        yield batch.filter(pc.invert(is_rejected)) if len(ids) else batch
