"""The rows of a range of a dump, in its order: pages that are read, and rows that are taken over.

Batches are cut where they would be cut if every page were read: when the texts have so many
characters. Of a row that is taken over only the place is written between the stages; ``TakenRows``
puts the row there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.datasets.columns import DocumentColumns, list_array
from corpora.datasets.schemas import EXAMPLE_COUNTS, SCHEMAS
from corpora.errors import DamagedDatasetError
from corpora.runs.receipts import sorted_counts
from corpora.wikipedia.reuse import TAKEN
from corpora.wikipedia.reuse_places import Earlier, Place
from corpora.wikipedia.reuse_shards import ROWS, KeptShards

_PAGES = SCHEMAS["wiki_pages"].columns
_PLACE = _PAGES.field("place").type
_SOURCE = ROWS.names.index("source")


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
    meanings: list[str] = field(default_factory=list)
    """Titles of those that only list meanings."""
    _order: list[Place | None] = field(default_factory=list)
    """Of each row that waits: where it lies, or None for one that was read."""
    _taken_characters: int = 0
    _read_characters: int = 0
    _hashes: list[str] = field(default_factory=list)
    _lengths: list[int] = field(default_factory=list)
    _counts: list[Mapping[str, int]] = field(default_factory=list)
    _meanings: list[str | None] = field(default_factory=list)

    @property
    def n_characters(self) -> int:
        """Characters of the texts that wait."""
        return self._taken_characters + self.documents.n_characters

    @property
    def reused(self) -> dict[str, int]:
        """How many rows were taken over."""
        return {} if self.earlier is None else {TAKEN: self.n_taken}

    def find(self, hash: str) -> Place | None:
        """Where the row of a page lies that is as it was; None where it must be read."""
        return self.earlier.find(hash) if self.earlier else None

    def take(self, place: Place) -> None:
        """Take a row over."""
        self._order.append(place)
        self._taken_characters += place.characters

    def add(self, hash: str, counters: Mapping[str, int], *, meaning: str | None = None) -> None:
        """Note the page whose document was just added to ``documents``: its hash and counters.

        ``meaning`` is its title if it only lists meanings.
        """
        self._order.append(None)
        self._hashes.append(hash)
        self._lengths.append(self.documents.n_characters - self._read_characters)
        self._read_characters = self.documents.n_characters
        self._counts.append(sorted_counts(counters))
        self._meanings.append(meaning)

    def batch(self) -> pa.RecordBatch:
        """Hand over the rows that wait, in order, as ``wiki_pages``, and begin anew."""
        read = self._read()
        is_taken = np.array([place is not None for place in self._order], bool)
        batch = read
        if self.earlier is not None and is_taken.any():
            taken = self._taken(self.earlier)
            numbers = np.where(is_taken, len(read) + is_taken.cumsum(), (~is_taken).cumsum()) - 1
            batch = pa.concat_batches([read, taken]).take(pa.array(numbers))
        self.n_taken += int(is_taken.sum())
        self._order.clear()
        self._taken_characters = self._read_characters = 0
        return batch

    def _taken(self, earlier: Earlier) -> pa.RecordBatch:
        """The rows that are taken over: id, source, hash and place."""
        places = [place for place in self._order if place is not None]
        n = len(places)
        ids = earlier.ids(places)
        self.meanings += ids.column("meaning").drop_null().to_pylist()
        fields = [
            pa.array([earlier.name] * n, pa.string()),
            *(pa.array([p[i] for p in places], _PLACE.field(i + 1).type) for i in range(2)),
        ]
        columns = {
            "id": ids.column("id"),
            "source": pa.array([self.source] * n, pa.string()),
            "xml": pa.array([place.hash for place in places], pa.string()),
            "place": pa.StructArray.from_arrays(fields, fields=list(_PLACE)),
        }
        arrays = [columns.get(field.name, pa.nulls(n, field.type)) for field in _PAGES]
        return pa.RecordBatch.from_arrays(arrays, schema=_PAGES)

    def _read(self) -> pa.RecordBatch:
        """The rows that were read; what only the end of the work finds out is null."""
        n = len(self._hashes)
        ends = list(accumulate(map(len, self._counts), initial=0))
        keys = [name for counts in self._counts for name in counts]
        values = [value for counts in self._counts for value in counts.values()]
        columns = [
            pa.array(self._hashes, pa.string()),
            pa.array(self._lengths, pa.int32()),
            list_array(ends, [keys, values], _PAGES.field("counters").type),
            *(pa.nulls(n, _PAGES.field(name).type) for name in ("led_on", "unmatched")),
            pa.array(self._meanings, pa.string()),
            *(pa.nulls(n, _PAGES.field(name).type) for name in (*EXAMPLE_COUNTS, "place")),
        ]
        for waiting in (self._hashes, self._lengths, self._counts, self._meanings):
            waiting.clear()
        return pa.RecordBatch.from_arrays(self.documents.batch().columns + columns, schema=_PAGES)


class TakenRows:
    """Puts the rows that are taken over into the places where they are only named."""

    def __init__(self, kept: Path) -> None:
        """``kept``: the folder for what the run keeps of earlier datasets."""
        self.kept = kept
        self._earlier: dict[str, KeptShards] = {}

    def fill(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Of ``wiki_pages`` make whole rows, with the source of these pages.

        Raises ``DamagedDatasetError`` where what the run has kept was taken away.
        """
        if pages.column("place").null_count == len(pages):
            return _whole(pages)
        rows = pa.concat_batches(list(self._parts(pages)))
        if not all(rows.column(name).equals(pages.column(name)) for name in ("id", "xml")):
            raise DamagedDatasetError(
                f"{self.kept}: damaged: a table there names other rows than it should. Delete "
                f"{self.kept.parent}, and run the same command again."
            )
        return rows.set_column(_SOURCE, ROWS.field(_SOURCE), pages.column("source"))

    def _parts(self, pages: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Runs of rows that were read, and of rows that lie beside each other."""
        place = pages.column("place")
        is_taken = place.is_valid().to_numpy(zero_copy_only=False)
        shard, row = (
            np.where(is_taken, place.field(name).fill_null(-1).to_numpy(), -1)
            for name in ("shard", "row")
        )
        is_next = (shard[1:] == shard[:-1]) & (row[1:] == row[:-1] + is_taken[1:])
        edges = [0, *(np.flatnonzero(~is_next) + 1).tolist(), len(pages)]
        for start, end in pairwise(edges):
            if not is_taken[start]:
                yield _whole(pages.slice(start, end - start))
                continue
            kept = self._kept(place[start]["earlier"].as_py())
            first = int(row[start])
            yield from kept.rows(int(shard[start]), first, first + end - start)

    def _kept(self, name: str) -> KeptShards:
        if name not in self._earlier:
            self._earlier[name] = KeptShards(self.kept / name)
        return self._earlier[name]


def _whole(pages: pa.RecordBatch) -> pa.RecordBatch:
    """Rows that were read, without the column for those that were not."""
    return pa.RecordBatch.from_arrays(pages.select(ROWS.names).columns, schema=ROWS)
