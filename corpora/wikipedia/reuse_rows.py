"""The rows of a range of a dump, in its order: pages that are read, and rows that are taken over.

Batches are cut where they would be cut if every page were read: when the texts have so many
characters.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, groupby

import numpy as np
import pyarrow as pa

from corpora.columns import DocumentColumns, list_array
from corpora.receipts import sorted_counts
from corpora.schemas import EXAMPLE_COUNTS, SCHEMAS
from corpora.wikipedia.reuse import DAMAGED, TAKEN
from corpora.wikipedia.reuse_places import Earlier, Place

_ROWS = SCHEMAS["wiki_pages"].columns
_SOURCE = _ROWS.names.index("source")


@dataclass(slots=True)
class PageRows:
    """Collects the rows of a range; ``batch`` hands them over."""

    documents: DocumentColumns
    """Where the pages that are read go."""
    source: str
    """The file of the dump: rows that are taken over have the name of another."""
    earlier: Earlier | None = None
    n_taken: int = 0
    """Rows that were taken over so far."""
    counters: Counter[str] = field(default_factory=Counter)
    """What became of the links, numbers and templates of all pages."""
    _order: list[Place | None] = field(default_factory=list)
    """Of each row that waits: where it lies, or None for one that was read."""
    _taken_characters: int = 0
    _read_characters: int = 0
    _hashes: list[str] = field(default_factory=list)
    _lengths: list[int] = field(default_factory=list)
    _counts: list[Mapping[str, int]] = field(default_factory=list)

    @property
    def n_characters(self) -> int:
        """Characters of the texts that wait."""
        return self._taken_characters + self.documents.n_characters

    @property
    def reused(self) -> dict[str, int]:
        """How many rows were taken over, and which shards of the earlier dataset are damaged."""
        if self.earlier is None:
            return {}
        return {TAKEN: self.n_taken} | {f"{DAMAGED}{n}": 1 for n in self.earlier.damaged}

    def find(self, hash: str) -> Place | None:
        """Where the row of a page lies that is as it was; None where it must be read."""
        return self.earlier.find(hash) if self.earlier else None

    def take(self, place: Place) -> None:
        """Take a row over."""
        self._order.append(place)
        self._taken_characters += place.characters

    def add(self, hash: str, counters: Mapping[str, int]) -> None:
        """Note the page whose document was just added to ``documents``: its hash and counters."""
        self._order.append(None)
        self._hashes.append(hash)
        self._lengths.append(self.documents.n_characters - self._read_characters)
        self._read_characters = self.documents.n_characters
        self._counts.append(sorted_counts(counters))

    def batch(self) -> pa.RecordBatch:
        """Hand over the rows that wait, in order, and begin anew."""
        read = self._read()
        parts = list(self._parts(read))
        self.n_taken += sum(place is not None for place in self._order)
        self._order.clear()
        self._taken_characters = self._read_characters = 0
        batch = pa.concat_batches(parts) if parts else read
        _add_up(batch.column("counters"), self.counters)
        return batch

    def _parts(self, read: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Runs of rows that were read, and of rows that lie beside each other."""
        n_read = 0
        for _, run in groupby(enumerate(self._order), _beside):
            places = [place for _, place in run]
            if places[0] is None or self.earlier is None:
                yield read.slice(n_read, len(places))
                n_read += len(places)
                continue
            start = places[0].row
            for rows in self.earlier.rows(places[0].shard, start, start + len(places)):
                source = pa.array([self.source] * len(rows), pa.string())
                yield rows.set_column(_SOURCE, _ROWS.field(_SOURCE), source)

    def _read(self) -> pa.RecordBatch:
        """The rows that were read; what only the end of the work finds out is null."""
        n = len(self._hashes)
        ends = list(accumulate(map(len, self._counts), initial=0))
        keys = [name for counts in self._counts for name in counts]
        values = [value for counts in self._counts for value in counts.values()]
        columns = [
            pa.array(self._hashes, pa.string()),
            pa.array(self._lengths, pa.int32()),
            list_array(ends, [keys, values], _ROWS.field("counters").type),
            *(pa.nulls(n, _ROWS.field(name).type) for name in ("led_on", *EXAMPLE_COUNTS)),
        ]
        for waiting in (self._hashes, self._lengths, self._counts):
            waiting.clear()
        return pa.RecordBatch.from_arrays(self.documents.batch().columns + columns, schema=_ROWS)


def _beside(item: tuple[int, Place | None]) -> tuple[int, int] | None:
    """What rows have in common that lie beside each other in a shard, and wait so, too."""
    number, place = item
    return (place.shard, place.row - number) if place else None


def _add_up(counters: pa.ListArray, into: Counter[str]) -> None:
    """Add the counters of pages to those of all; one that is 0 is there nevertheless."""
    pairs = counters.flatten()
    names = pairs.field("key").dictionary_encode()
    sums = np.bincount(
        names.indices.to_numpy(),
        weights=pairs.field("value").to_numpy(),
        minlength=len(names.dictionary),
    )  # exact: below 2^53
    for name, n in zip(names.dictionary.to_pylist(), sums.astype(np.int64).tolist(), strict=True):
        into[name] += n
