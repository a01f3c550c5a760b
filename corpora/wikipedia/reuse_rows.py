"""The rows of a range of a dump in order: pages that are read, and rows that are taken over.

Batches are cut where they would be cut if every page were read: by the characters of their texts.
A row that is taken over is only a place between the stages; ``TakenRows`` replaces the place by the
row.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.datasets.columns import DocumentColumns, list_array
from corpora.datasets.schemas import SCHEMAS
from corpora.errors import DamagedDatasetError
from corpora.runs.receipts import sorted_counts
from corpora.wikipedia.articles import WikiArticle
from corpora.wikipedia.block_rows import block_column
from corpora.wikipedia.reuse import TAKEN
from corpora.wikipedia.reuse_places import RowPlace, name_of, open_earlier
from corpora.wikipedia.reuse_shards import ROWS, KeptShards

_PAGES = SCHEMAS["wiki_pages"].columns
_PLACE = _PAGES.field("place").type
_SOURCE = ROWS.names.index("source")


class PageRows:
    """A collector of the rows of a range; ``batch`` returns them."""

    def __init__(self, source: str, earlier: str = "") -> None:
        """Begin a range; ``source`` names the dump's file, and replaces the name in taken rows.

        ``earlier`` is the name (``name_of``) of the dataset that rows are taken from, if any are.
        """
        self.source, self.earlier = source, earlier
        self.n_taken = self.n_characters = 0
        """The number of rows taken over so far, and the characters of the texts of the waiting
        rows."""
        self._documents = DocumentColumns()
        self._order: list[RowPlace | WikiArticle] = []
        """The rows that wait for ``batch``."""

    @property
    def reused(self) -> dict[str, int]:
        """The number of rows that were taken over, by the name of its counter."""
        return {TAKEN: self.n_taken} if self.earlier else {}

    def take(self, place: RowPlace) -> None:
        """Add a row that is taken over."""
        self._order.append(place)
        self.n_characters += place.characters

    def add(self, article: WikiArticle) -> None:
        """Add the row of an article; raises ``UnicodeEncodeError`` for a lone surrogate."""
        self._documents.add(
            {**article.scalars, "source": self.source},
            blocks=article.text.blocks,
            sentences=article.sentences,
            links=article.text.links,
            metadata=article.metadata,
            categories=article.text.categories,
        )
        self._order.append(article)
        self.n_characters += len(article.text.text)

    def batch(self) -> pa.RecordBatch:
        """Return the waiting rows in order, as ``wiki_pages``, and clear them."""
        batch = self._read([row for row in self._order if isinstance(row, WikiArticle)])
        places = [row for row in self._order if isinstance(row, RowPlace)]
        if places:
            is_taken = np.array([isinstance(row, RowPlace) for row in self._order])
            rows = np.where(is_taken, len(batch) + is_taken.cumsum(), (~is_taken).cumsum()) - 1
            batch = pa.concat_batches([batch, self._taken(places)])
            batch = batch.take(pa.array(rows))
        self.n_taken += len(places)
        self._order.clear()
        self.n_characters = 0
        return batch

    def _taken(self, places: Sequence[RowPlace]) -> pa.RecordBatch:
        """Build the rows that are taken over: id, source, hash and place."""
        n = len(places)
        fields = [
            pa.array([self.earlier] * n, pa.string()),
            *(pa.array([p[i] for p in places], _PLACE.field(i + 1).type) for i in range(2)),
        ]
        columns = {
            "id": pa.array([place.id for place in places], pa.string()),
            "source": pa.array([self.source] * n, pa.string()),
            "xml": pa.array([place.hash for place in places], pa.string()),
            "place": pa.StructArray.from_arrays(fields, fields=list(_PLACE)),
        }
        arrays = [columns.get(field.name, pa.nulls(n, field.type)) for field in _PAGES]
        return pa.RecordBatch.from_arrays(arrays, schema=_PAGES)

    def _read(self, articles: Sequence[WikiArticle]) -> pa.RecordBatch:
        """Build the rows that were read; columns that only the end of the run can fill are null."""
        counts = [sorted_counts(article.counters) for article in articles]
        ends = list(accumulate(map(len, counts), initial=0))
        pairs = [[name for of in counts for name in of], [n for of in counts for n in of.values()]]
        known = {
            "xml": [article.hash for article in articles],
            "characters": [len(article.text.text) for article in articles],
            "counters": list_array(ends, pairs, _PAGES.field("counters").type),
            "meaning": [article.meaning for article in articles],
            "templates": [article.templates for article in articles],
            "definitions": [article.definitions for article in articles],
        }
        if any(article.text.aside for article in articles):
            known["blocks"] = block_column([article.text.aside for article in articles])
        documents = self._documents.batch()
        columns = [
            known[field.name]
            if isinstance(known.get(field.name), pa.Array)
            else pa.array(known.get(field.name, [None] * len(articles)), field.type)
            for field in list(_PAGES)[len(documents.schema) :]
        ]
        return pa.RecordBatch.from_arrays(documents.columns + columns, schema=_PAGES)


class TakenRows:
    """A reader of the kept shards that replaces places by the rows they name."""

    def __init__(self, kept: Path, *, folder: Path | str = "", fingerprint: str = "") -> None:
        """Store the folder ``kept``, in which the run keeps shards of earlier datasets.

        Shards of the dataset in ``folder`` that this machine lacks are fetched when they are
        needed.
        """
        self.kept, self._name = kept, name_of(fingerprint)
        self._open = partial(open_earlier, folder, fingerprint)
        self._earlier: dict[str, KeptShards] = {}

    def fill(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Replace places by the rows they name, with the ``source`` of these pages.

        Raises ``DamagedDatasetError`` if the shards that the run keeps are missing or damaged.
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
        """Yield the rows in order, in runs: rows that were read, or rows adjacent in a shard."""
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
            opens = self._open if name == self._name else None
            self._earlier[name] = KeptShards(self.kept / name, opens)
        return self._earlier[name]


def _whole(pages: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows that were read, without the column of places."""
    return pa.RecordBatch.from_arrays(pages.select(ROWS.names).columns, schema=ROWS)
