"""Selection of validation documents: those with a ratio below a threshold.

Of several documents, at least one is selected, and at least one is not. Documents are selected
before their examples are made, and may have none: ``onoma examples`` fails if all examples
are of one split.
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
"""The columns of ``documents`` that are read."""
RatioRange = tuple[float, float]
"""The lowest and the highest ratio of documents that have sentences."""
NOBODY: RatioRange = (1.0, 0.0)


def ratio_range(batch: pa.RecordBatch, *, seed: int) -> RatioRange:
    """Find the lowest and highest ratio of documents with sentences, by their ``COLUMNS``."""
    has_any = pc.greater(pc.list_value_length(batch.column("sentences")).fill_null(0), 0)
    ids = batch.column("id").filter(has_any).to_pylist()
    return merge((at, at) for at in (ratio(id, seed=seed) for id in ids))


def merge(ranges: Iterable[RatioRange]) -> RatioRange:
    """Return the lowest and the highest ratio of all ranges."""
    lows, highs = zip(NOBODY, *ranges, strict=True)
    return min(lows), max(highs)


def read_ranges(shards: Iterable[Path]) -> Iterator[RatioRange]:
    """Read the rows of ``document_shares``."""
    for batch in read_shards(shards, SCHEMA):
        yield from ((row["lowest"], row["highest"]) for row in batch.to_pylist())


def threshold(validation: float, found: RatioRange) -> float:
    """Return the ratio below which documents are for validation: about ``validation`` of them.

    ``found`` are the lowest and the highest ratio of all documents. Of several documents, at least
    one is below the result, and one is not. A single document is trained on. Where ``validation``
    is 0, no document is for validation.
    """
    lowest, highest = found
    if lowest >= validation > 0:
        validation = math.nextafter(lowest, 1)
    return min(validation, highest)
