"""The articles of all units, and those of earlier datasets, compared: which are doubles."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute

from corpora.datasets.schemas import SCHEMAS, Schema
from corpora.datasets.shards import read_batch, read_batches
from corpora.hashing.shingles import fingerprint, shingles_of, signature, words_of
from corpora.news.near_doubles import Item, find_doubles
from corpora.news.page_metadata import moment
from corpora.runs.work_directory import WorkDirectory

EXACT, NEAR, REVISIT = "exact", "near", "revisit"
SIGNED = ("id", "url", "timestamp", "text", "metadata")
"""The columns that signatures are taken of."""
_SIGNATURES = SCHEMAS["news_signatures"].columns
_HELD_BATCHES = 64
Row = dict[str, Any]


def signature_row(row: Row, text: str) -> Row:
    """What is known of an article when it is compared; ``row`` is one of ``documents``."""
    metadata = {pair["key"]: pair["value"] for pair in row["metadata"] or ()}
    words = words_of(text)
    return {
        "id": row["id"],
        "url": row["url"] or "",
        "moment": " ".join(
            (
                moment_of(row["timestamp"], metadata.get("fetched")),
                moment_of(metadata.get("fetched")),
            )
        ),
        "digest": metadata.get("digest", ""),
        "exact": fingerprint(words),
        "signature": signature(shingles_of(words)),
    }


def signatures_of(documents: pa.RecordBatch) -> pa.RecordBatch:
    """The signatures of rows of ``documents``, of which it needs ``SIGNED``."""
    rows = documents.select(list(SIGNED)).to_pylist()
    return signature_batch([signature_row(row, row["text"]) for row in rows])


def compare_all(
    scratch: WorkDirectory, previous: Sequence[Path], *, threshold: float
) -> tuple[pa.RecordBatch, list[Row], list[Row]]:
    """Find doubles and revisits: a batch of ``news_doubles``, and the rows of both."""
    comparison = Comparison.of(scratch, previous=previous)
    doubles = list(comparison.doubles(threshold=threshold))
    revisits = list(comparison.revisits(scratch, gone=doubles))
    schema = SCHEMAS["news_doubles"].columns
    return pa.RecordBatch.from_pylist(doubles + revisits, schema=schema), doubles, revisits


def note_of(double: Row) -> dict[str, str]:
    """What the list of doubles says of one."""
    names = ("id", "url", "kind", "twin", "twin_url")
    said = {name: double[name] or "" for name in names}
    return said | {"similarity": f"{double['similarity']:.4f}"}


def moment_of(*dates: str | None) -> str:
    """The first of these dates that is one, to be compared; the last of all where none is."""
    for date in dates:
        try:
            if date:
                return moment(date)
        except (ValueError, OverflowError):  # of the first and the last year
            continue
    return moment(None)


def signature_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Put rows of signatures into a batch."""
    return pa.RecordBatch.from_pylist(list(rows), schema=_SIGNATURES)


@dataclass(slots=True)
class _Shard:
    """Where articles and their signatures stand, row by row."""

    texts: Path
    schema: Schema
    signatures: Path
    unit: int
    """-1 for those of earlier datasets."""


@dataclass(slots=True)
class Comparison:
    """Articles in shards; ``doubles`` and ``revisits`` give rows of ``news_doubles``."""

    shards: list[_Shard] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    """Signatures, without the columns that only ``items`` need."""
    items: list[Item] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Of the numbers of the articles of each shard."""

    @classmethod
    def of(cls, scratch: WorkDirectory, *, previous: Sequence[Path]) -> "Comparison":
        """Read the signatures of all units, and of earlier datasets."""
        comparison = cls()
        for unit, texts in enumerate(scratch.shards("articles")):
            comparison._add(
                _Shard(texts, SCHEMAS["pages"], scratch.shard("signatures", unit), unit)
            )
        for number, path in enumerate(previous):
            signatures = scratch.shard("previous", number)
            comparison._add(_Shard(path, SCHEMAS["documents"], signatures, -1))
        return comparison

    def _add(self, shard: _Shard) -> None:
        self.shards.append(shard)
        for batch in read_batches(shard.signatures, SCHEMAS["news_signatures"]):
            for row in batch.to_pylist():
                order = (shard.unit >= 0, row["moment"], row["url"], row["exact"].hex(), row["id"])
                self.items.append(Item(order, row["exact"], row["signature"]))
                self.rows.append({name: row[name] for name in ("id", "url", "digest")})
        self.ends.append(len(self.items))

    def doubles(self, *, threshold: float) -> Iterator[Row]:
        """Find the articles that go."""
        text_of = _Texts(self.shards, self.ends)
        for double in find_doubles(self.items, text_of, threshold=threshold):
            shard, row = self._place(double.number)
            yield {
                "unit": self.shards[shard].unit,
                "row": row,
                **{name: self.rows[double.number][name] for name in ("id", "url")},
                "kind": EXACT if double.is_exact else NEAR,
                "similarity": double.similarity,
                **self._twin(double.twin),
            }

    def _place(self, number: int) -> tuple[int, int]:
        """The shard of an article, and its row there."""
        shard = bisect_right(self.ends, number)
        return shard, number - (self.ends[shard - 1] if shard else 0)

    def _twin(self, number: int) -> Row:
        row = self.rows[number]
        return {"twin": row["id"], "twin_url": row["url"]}

    def revisits(self, scratch: WorkDirectory, *, gone: Sequence[Row]) -> Iterator[Row]:
        """Find the articles that records of revisits repeat: by digest, or else by address.

        A revisit of which none is there gives a row without a twin.
        """
        twins = {row["id"]: row for row in gone}
        by_digest: dict[str, int] = {}
        by_url: dict[str, int] = {}
        for number in sorted(range(len(self.items)), key=lambda n: self.items[n].order):
            if digest := self.rows[number]["digest"]:
                by_digest.setdefault(digest, number)
            by_url.setdefault(self.rows[number]["url"], number)
        for unit, path in enumerate(scratch.shards("revisits")):
            for batch in read_batches(path, SCHEMAS["news_revisits"]):
                for revisit in batch.to_pylist():
                    found = by_digest.get(revisit["digest"] or "")
                    if found is None and not revisit["digest"]:
                        found = by_url.get(revisit["refers_to"])
                    yield self._revisit(revisit, found, twins, unit=unit)

    def _revisit(self, revisit: Row, found: int | None, twins: dict[str, Row], *, unit: int) -> Row:
        twin: Row = {"twin": None, "twin_url": None}
        if found is not None:
            twin = self._twin(found)
            if kept := twins.get(twin["twin"]):
                twin = {name: kept[name] for name in twin}
        named = {"id": revisit["id"], "url": revisit["url"]}
        return {"unit": unit, "row": -1, **named, "kind": REVISIT, "similarity": 1.0, **twin}


class _Texts:
    """The text of an article by its number; keeps some batches of shards in memory."""

    def __init__(self, shards: Sequence[_Shard], ends: Sequence[int]) -> None:
        self.shards, self.ends = shards, ends
        self.batch = lru_cache(_HELD_BATCHES)(self._batch)
        self.starts = lru_cache(None)(self._starts)

    def __call__(self, number: int) -> str:
        shard = bisect_right(self.ends, number)
        row = number - (self.ends[shard - 1] if shard else 0)
        starts = self.starts(shard)
        batch = bisect_right(starts, row) - 1
        return str(self.batch(shard, batch)[row - starts[batch]])

    def _starts(self, shard: int) -> list[int]:
        """The first row of each batch of a shard."""
        batches = read_batches(self.shards[shard].texts, self.shards[shard].schema, columns=("id",))
        return list(accumulate((batch.num_rows for batch in batches), initial=0))

    def _batch(self, shard: int, number: int) -> pa.StringArray:
        """The texts of a batch."""
        path, schema = self.shards[shard].texts, self.shards[shard].schema
        column = schema.columns.names.index("text")
        options = pa.ipc.IpcReadOptions(included_fields=[column])
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source, options=options) as file:
            return read_batch(file, number).column(0)


def doubles_of(path: Path, unit: int) -> list[Row]:
    """The rows of ``news_doubles`` for a unit, by place."""
    rows = [
        row
        for batch in read_batches(path, SCHEMAS["news_doubles"])
        for row in batch.filter(pa.compute.equal(batch.column("unit"), unit)).to_pylist()
    ]
    return sorted(rows, key=lambda row: (row["row"], row["id"]))


def without_rows(batch: pa.RecordBatch, gone: set[int], *, first: int) -> pa.RecordBatch:
    """Leave out rows of a batch, by number; ``first`` is that of its first row."""
    kept = [row not in gone for row in range(first, first + batch.num_rows)]
    return batch.filter(pa.array(kept, pa.bool_()))
