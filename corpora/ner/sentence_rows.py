"""From sentences as they were found to rows of a ``ner`` dataset.

Tags become IOB2, labels are mapped, long sentences cut; what was done is counted. Shapes: N
sentences, T tokens of all of them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.document import Rejected
from corpora.ner.columns import Flags, Indices, Tags
from corpora.ner.cutting import cut_long
from corpora.ner.found import Found, Origin, any_of
from corpora.ner.labels import LabelMap
from corpora.ner.layout import Layout
from corpora.ner.schemes import Normal, normalise

ROWS_PER_BATCH = 4096
_SCHEMA = SCHEMAS["ner"].columns


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMaker:
    """How sentences become rows."""

    split: str
    illegal: str = "repair"
    """``repair`` or ``reject`` sentences whose tags their scheme does not allow."""
    labels: LabelMap | None = None
    max_tokens: int = 0
    """Longer sentences are cut; 0: none is."""

    def make(self, found: Found, layout: Layout, origin: Origin) -> "Made":
        """Make rows of what was found in a file, or a part of it."""
        rejected = list(found.rejected)
        if self.illegal == "reject":
            keep = _without_lines if layout.format == "europeana" else _without_sentences
            found, more = keep(found, layout, origin)
            rejected += more
        counters = +found.counters
        n_records = len(found.tokens) if layout.format == "europeana" else len(found)
        counters.update({"sentences": len(found), "tokens": len(found.tokens)})
        counters["sentences.of more than 1000 tokens"] += _count_long(found)
        outer, inner = self._levels(found, layout, counters)
        begins, shifts = cut_long(found, [outer, *([inner] if inner else [])], self.max_tokens)
        if cut := int(np.count_nonzero(shifts)):
            counters["sentences.pieces of long ones"] += cut
        rows = _Rows(
            found=found,
            begins=begins,
            shifts=shifts,
            tags=outer,
            inner=inner,
            split=self.split,
            prefix=f"{origin.source}{layout.mark}",
            source=origin.source,
        )
        return Made(n_records, rows.batches(), rejected, +counters)

    def _levels(
        self, found: Found, layout: Layout, counters: Counter[str]
    ) -> tuple[Tags, Tags | None]:
        normal = normalise(found.tags, found.begins, layout.scheme)
        _count(normal, counters, level="entities")
        outer = self._mapped(normal, counters)
        if found.inner is None:
            return outer, None
        second = normalise(found.inner, found.begins, layout.scheme)
        _count(second, counters, level="inner entities")
        return outer, self._mapped(second, counters)

    def _mapped(self, normal: Normal, counters: Counter[str]) -> Tags:
        if self.labels is None:
            return normal.tags
        return self.labels.apply(normal.tags, normal.opens, counters)


@dataclass(frozen=True, slots=True)
class Made:
    """Rows, and what became of each record."""

    n_records: int
    """Records that became rows: sentences, or lines of a running text."""
    batches: Iterator[pa.RecordBatch]
    rejected: Sequence[Rejected] = ()
    counters: Counter[str] = field(default_factory=Counter)


def _count_long(found: Found) -> int:
    """Sentences that are hardly sentences: are empty lines missing?"""
    return int(np.count_nonzero(np.diff(found.begins) > 1000))


def _count(normal: Normal, counters: Counter[str], *, level: str) -> None:
    """Count entities as the source has them, and those that a repair made."""
    counters.update(normal.problems)
    for flags, what in (
        (normal.is_source_opening, level),
        (normal.opens & ~normal.is_source_opening, f"{level} by repair"),
    ):
        counts = np.bincount(normal.tags.codes[flags], minlength=len(normal.tags.names))
        for name, n in zip(normal.tags.names, counts.tolist(), strict=True):
            if n:
                counters[what] += n
                counters[f"{what}/{name[2:]}"] += n


def _without_sentences(
    found: Found, layout: Layout, origin: Origin
) -> tuple[Found, list[Rejected]]:
    """Leave out the sentences that have an illegal tag."""
    is_illegal = _illegal(found, layout)
    bad = any_of(is_illegal, found.begins)
    rejected = []
    for number in np.flatnonzero(bad).tolist():
        begin, end = found.begins[number : number + 2]
        token = int(begin + np.flatnonzero(is_illegal[begin:end])[0])
        rejected.append(_reject(found, token, origin, what="The sentence is left out"))
    return (found, []) if not rejected else (_keep(found, ~bad), rejected)


def _without_lines(found: Found, layout: Layout, origin: Origin) -> tuple[Found, list[Rejected]]:
    """Leave out the lines that have an illegal tag, and those that go on with them."""
    rejected: list[Rejected] = []
    while (bad := _illegal(found, layout)).any():
        tokens = np.flatnonzero(bad).tolist()
        rejected += [_reject(found, t, origin, what="The line is left out") for t in tokens]
        before = np.concatenate([[0], np.cumsum(~bad)])
        found = replace(_filtered(found, ~bad), begins=np.unique(before[found.begins]))
    return found, rejected


def _illegal(found: Found, layout: Layout) -> Flags:
    flags = normalise(found.tags, found.begins, layout.scheme).is_illegal
    if found.inner is None:
        return flags
    return flags | normalise(found.inner, found.begins, layout.scheme).is_illegal


def _reject(found: Found, token: int, origin: Origin, *, what: str) -> Rejected:
    tag = found.tags.names[found.tags.codes[token]]
    inner = f", {found.inner.names[found.inner.codes[token]]}" if found.inner else ""
    text = found.tokens[token].as_py()
    return origin.reject(
        int(found.places[token]),
        "illegal_tags",
        what=f"{tag}{inner} at {text!r} is not what the tags before allow. {what}; mend it, or "
        "have it repaired with --illegal repair.",
        excerpt=f"{text} {tag}",
    )


def _keep(found: Found, kept: Flags) -> Found:
    """The sentences with a flag."""
    lengths = np.diff(found.begins)
    rows = np.flatnonzero(kept).tolist()
    starts = None if found.token_starts is None else found.token_starts.take(pa.array(rows))
    return replace(
        _filtered(found, np.repeat(kept, lengths)),
        begins=np.concatenate([[0], np.cumsum(lengths[kept])]),
        documents=[found.documents[row] for row in rows] if found.documents else (),
        ids=[found.ids[row] for row in rows] if found.ids else (),
        token_starts=starts,
    )


def _filtered(found: Found, kept: Flags) -> Found:
    """The tokens with a flag; sentences are left to the caller."""
    return replace(
        found,
        tokens=found.tokens.filter(pa.array(kept)),
        tags=found.tags.where(kept),
        inner=None if found.inner is None else found.inner.where(kept),
        places=found.places[kept],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows that are ready but for their names."""

    found: Found
    begins: Indices  # (R + 1,): rows; more than sentences where these were cut
    shifts: Indices  # (R,): tokens of the same sentence before the row
    tags: Tags
    inner: Tags | None
    split: str
    prefix: str
    """Of ids, before the line or the number."""
    source: str

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Make batches of rows."""
        n = len(self.begins) - 1
        for start in range(0, n, ROWS_PER_BATCH):
            yield self._batch(start, min(start + ROWS_PER_BATCH, n))

    def _batch(self, start: int, end: int) -> pa.RecordBatch:
        begins = self.begins[start : end + 1]
        sentences = np.searchsorted(self.found.begins, begins[:-1], side="right") - 1
        columns = {
            "id": self._ids(sentences, self.shifts[start:end]),
            "document_id": self._documents(sentences),
            "split": pa.array([self.split] * (end - start), pa.string()),
            "tokens": _lists(self.found.tokens, begins),
            "tags": _lists(_strings(self.tags, begins), begins),
            "inner_tags": self._inner(begins),
            "token_starts": self._starts(begins, sentences),
        }
        arrays = [columns[name].cast(_SCHEMA.field(name).type) for name in _SCHEMA.names]
        return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    def _ids(self, sentences: Indices, shifts: Indices) -> pa.Array:
        if self.found.ids:
            ids = [self.found.ids[sentence] for sentence in sentences.tolist()]
        else:
            first = self.found.begins[sentences]
            ids = [f"{self.prefix}{n}" for n in self.found.places[first].tolist()]
        pairs = zip(ids, shifts.tolist(), strict=True)
        return pa.array([f"{id}+{shift}" if shift else id for id, shift in pairs], pa.string())

    def _documents(self, sentences: Indices) -> pa.Array:
        if not self.found.documents:
            return pa.array([self.source] * len(sentences), pa.string())
        names = [self.found.documents[sentence] for sentence in sentences.tolist()]
        return pa.array([name or self.source for name in names], pa.string())

    def _inner(self, begins: Indices) -> pa.Array:
        """The second level; null where a sentence has none."""
        n = len(begins) - 1
        found = self.found.inner
        if self.inner is None or found is None:
            return pa.nulls(n, _SCHEMA.field("inner_tags").type)
        part = slice(begins[0], begins[-1])
        is_blank = np.array([name == "_" for name in found.names], bool)[found.codes[part]]
        has_some = any_of(~is_blank, begins - begins[0])
        lists = _lists(_strings(self.inner, begins), begins)
        return pa.compute.if_else(pa.array(has_some), lists, pa.scalar(None, lists.type))

    def _starts(self, begins: Indices, sentences: Indices) -> pa.Array:
        starts = self.found.token_starts
        if starts is None:
            return pa.nulls(len(begins) - 1, _SCHEMA.field("token_starts").type)
        rows = starts.take(pa.array(sentences)).to_pylist()
        places = begins[:-1] - self.found.begins[sentences]
        cut = zip(rows, places.tolist(), np.diff(begins).tolist(), strict=True)
        parts = [None if row is None else row[place : place + n] for row, place, n in cut]
        return pa.array(parts, _SCHEMA.field("token_starts").type)


def _strings(tags: Tags, begins: Indices) -> pa.StringArray:
    return Tags(tags.codes[begins[0] : begins[-1]], tags.names).strings()


def _lists(values: pa.StringArray, begins: Indices) -> pa.ListArray:
    """Cut values into lists; they begin where the first list does, or hold what is before, too."""
    if len(values) != begins[-1] - begins[0]:
        values = values[int(begins[0]) : int(begins[-1])]
    offsets = pa.array((begins - begins[0]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values)
