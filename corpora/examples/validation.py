"""Which documents are held out: those below a share, but never none or all of several.

This looks at documents, before their examples are made. Whether those that are chosen yield any is
known later: ``documents_to_examples`` fails where all examples are of one split.
"""

import math
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.hashing.sampling import share

_SCHEMA = SCHEMAS["document_shares"]
COLUMNS = ("id", "sentences")
"""Of documents: what decides."""
_NOBODY: tuple[float, float] = (1.0, 0.0)


class ShareRange:
    """The lowest and the highest share of documents that have sentences; 1 and 0 for none."""

    def __init__(self, *, seed: int) -> None:
        self._seed = seed
        self._lowest, self._highest = _NOBODY

    def add(self, batch: pa.RecordBatch) -> None:
        """Look at documents; the batch has the columns ``COLUMNS``."""
        has_any = pc.greater(pc.list_value_length(batch.column("sentences")).fill_null(0), 0)
        for id in batch.column("id").filter(has_any).to_pylist():
            at = share(id, seed=self._seed)
            self._lowest, self._highest = min(self._lowest, at), max(self._highest, at)

    def batch(self) -> pa.RecordBatch:
        """A row of ``document_shares``."""
        row = {"lowest": self._lowest, "highest": self._highest}
        return pa.RecordBatch.from_pylist([row], schema=_SCHEMA.columns)


def merge(shards: Iterable[Path]) -> tuple[float, float]:
    """The lowest and the highest share of all, of shards of ``document_shares``."""
    rows = [
        row for path in shards for batch in read_batches(path, _SCHEMA) for row in batch.to_pylist()
    ]
    lowest = min((row["lowest"] for row in rows), default=_NOBODY[0])
    return lowest, max((row["highest"] for row in rows), default=_NOBODY[1])


def threshold(held_out: float, found: tuple[float, float]) -> float:
    """Below which share a document is held out, if about ``held_out`` of all shall be.

    ``found`` are the lowest and the highest share of all documents: of several, at least one is
    below, and one is not. A single document is not held out. Where nothing shall be held out,
    nothing is.
    """
    lowest, highest = found
    if lowest >= held_out > 0:
        held_out = math.nextafter(lowest, 1)
    return min(held_out, highest)
