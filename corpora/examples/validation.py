"""Choose documents of validation: those below a share, but never none or all of several.

This looks at documents, before their examples are made. Whether those that are chosen yield any is
known later: ``documents_to_examples`` fails where all examples are of one split.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.hashing.sampling import ratio

SCHEMA = SCHEMAS["document_shares"]
COLUMNS = ("id", "sentences")
"""Of documents: what decides."""
ShareRange = tuple[float, float]
"""The lowest and the highest share of documents that have sentences."""
NOBODY: ShareRange = (1.0, 0.0)


def share_range(batch: pa.RecordBatch, *, seed: int) -> ShareRange:
    """Look at documents; the batch has the columns ``COLUMNS``."""
    has_any = pc.greater(pc.list_value_length(batch.column("sentences")).fill_null(0), 0)
    ids = batch.column("id").filter(has_any).to_pylist()
    return merge((at, at) for at in (ratio(id, seed=seed) for id in ids))


def merge(ranges: Iterable[ShareRange]) -> ShareRange:
    """The lowest and the highest of all."""
    lows, highs = zip(NOBODY, *ranges, strict=True)
    return min(lows), max(highs)


def read_ranges(shards: Iterable[Path]) -> Iterator[ShareRange]:
    """Read the rows of ``document_shares``."""
    for batch in read_shards(shards, SCHEMA):
        yield from ((row["lowest"], row["highest"]) for row in batch.to_pylist())


def threshold(validation: float, found: ShareRange) -> float:
    """Below which share a document is held out, if about ``validation`` of all shall be.

    ``found`` are the lowest and the highest share of all documents: of several, at least one is
    below, and one is not. A single document is not held out. Where nothing shall be held out,
    nothing is.
    """
    lowest, highest = found
    if lowest >= validation > 0:
        validation = math.nextafter(lowest, 1)
    return min(validation, highest)
