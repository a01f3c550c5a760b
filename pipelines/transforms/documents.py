"""Reading datasets of documents batch by batch."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.shards import read_batches
from corpora.errors import CorpusError
from corpora.runs.plan import Unit
from corpora.runs.receipts import read_receipt
from corpora.runs.work_directory import WorkDirectory
from pipelines.transforms.elements import InUnit


def read_documents(unit: Unit, *, columns: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    """Read the shards of datasets of documents, batch by batch; if the part names some, only those.

    ``columns``: those that are read; empty: all. Raises ``InputChangedError`` where a shard has
    changed.
    """
    for file in unit.inputs:
        batches = read_batches(file.check(), "documents", columns=columns)
        yield from islice(batches, unit.part.get("start"), unit.part.get("end"))


def drop_rejected(
    batch: InUnit[pa.RecordBatch], *, work: WorkDirectory, stage: str
) -> Iterator[pa.RecordBatch]:
    """Leave out documents that an earlier phase, which read the same units, has rejected.

    ``stage``: that of the earlier phase, which must not have read the column ``source``, so that
    the ``source`` of its rejections is the id of a document. Batches have the column ``id``.
    """
    ids = _rejected_in(work.receipt(stage, batch.unit.number))
    is_rejected = pc.is_in(batch.value.column("id"), ids)
    yield batch.value.filter(pc.invert(is_rejected)) if len(ids) else batch.value


@lru_cache(maxsize=1)
def _rejected_in(path: Path) -> pa.Array:
    receipt = read_receipt(path)
    if receipt is None:
        raise CorpusError(f"{path}: is missing or damaged. Run the same command again.")
    return pa.array([row["source"] for row in receipt.rejected], pa.string())
