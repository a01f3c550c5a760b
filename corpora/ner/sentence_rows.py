"""Sentences as a reader found them, converted to rows of a ``ner`` dataset.

Tags become IOB2, labels are mapped, long sentences are cut; each change is counted. Shapes: N
sentences, R rows (more than sentences where these were cut), T tokens of all of them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.document import Rejected
from corpora.ner.columns import Flags, Indices, Tags
from corpora.ner.found import Origin, PartSentences, any_of
from corpora.ner.labels import LabelMap
from corpora.ner.layout import FileLayout
from corpora.ner.schemes import normalise

ROWS_PER_BATCH = 4096
_SCHEMA = SCHEMAS["ner"].columns
_ENDS = pa.array([*".!?…;。！？；．"])


@dataclass(frozen=True, slots=True)
class SentenceRows:
    """The rows, and the outcome of each record."""

    n_records: int
    """The number of records that became rows: sentences, or lines of a running text."""
    batches: Iterator[pa.RecordBatch]
    rejected: Sequence[Rejected] = ()
    counters: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMaker:
    """A converter of sentences to rows."""

    split: str
    illegal: str = "repair"
    """What is done to sentences whose tags their scheme does not allow: ``repair`` or
    ``reject``."""
    labels: LabelMap | None = None
    max_tokens: int = 0
    """The most tokens of a row; longer sentences are cut. 0: none is cut."""

    def make(self, found: PartSentences, layout: FileLayout, origin: Origin) -> SentenceRows:
        """Build rows of the sentences found in a file, or in a part of it."""
        rejected = list(found.rejected)
        is_running = layout.format == "europeana"
        if self.illegal == "reject":
            keep = _without_lines if is_running else _without_sentences
            found, more = keep(found, layout, origin)
            rejected += more
        counters = +found.counters
        counters["sentences"] += len(found)
        counters["tokens"] += len(found.tokens)
        # Many long sentences are a hint that empty lines are missing.
        counters["sentences.of more than 1000 tokens"] += int((np.diff(found.begins) > 1000).sum())
        level = partial(self._level, found=found, layout=layout, counters=counters)
        outer = level(found.tags, what="entities")
        inner = found.inner and level(found.inner, what="inner entities")
        begins, shifts = cut_long(found, [outer, *([inner] if inner else [])], self.max_tokens)
        counters["sentences.pieces of long ones"] += int(np.count_nonzero(shifts))
        columns = _Columns(found, outer, inner, origin.source, layout.kind.id_mark, self.split)
        batches = (
            columns.batch(begins[start : start + ROWS_PER_BATCH + 1], shifts[start:])
            for start in range(0, len(shifts), ROWS_PER_BATCH)
        )
        n_records = len(found.tokens) if is_running else len(found)
        return SentenceRows(n_records, batches, rejected, +counters)

    def _level(
        self,
        tags: Tags,
        found: PartSentences,
        layout: FileLayout,
        *,
        counters: Counter[str],
        what: str,
    ) -> Tags:
        """Convert tags to IOB2, and map their labels; count entities as the source has them."""
        normal = normalise(tags, found.begins, layout.scheme)
        counters.update(normal.problems)
        names = normal.tags.names
        for flags, kind in (
            (normal.is_source_opening, what),
            (normal.opens & ~normal.is_source_opening, f"{what} by repair"),
        ):
            counts = np.bincount(normal.tags.codes[flags], minlength=len(names)).tolist()
            counters[kind] += sum(counts)
            named = zip(names, counts, strict=True)
            counters.update({f"{kind}/{tag[2:]}": n for tag, n in named if n})
        if self.labels is None:
            return normal.tags
        return self.labels.apply(normal.tags, normal.opens, counters)


def _without_sentences(
    found: PartSentences, layout: FileLayout, origin: Origin
) -> tuple[PartSentences, list[Rejected]]:
    """Leave out the sentences with an illegal tag."""
    is_illegal = _illegal(found, layout)
    is_bad = any_of(is_illegal, found.begins)
    rejected = []
    for begin, end in zip(found.begins[:-1][is_bad], found.begins[1:][is_bad], strict=True):
        token = int(begin + np.flatnonzero(is_illegal[begin:end])[0])
        rejected.append(_reject(found, token, origin, what="The sentence is left out"))
    return found.keep(~is_bad), rejected


def _without_lines(
    found: PartSentences, layout: FileLayout, origin: Origin
) -> tuple[PartSentences, list[Rejected]]:
    """Leave out the lines with an illegal tag, and those that continue their entity."""
    rejected: list[Rejected] = []
    while (is_bad := _illegal(found, layout)).any():
        tokens = np.flatnonzero(is_bad).tolist()
        rejected += [_reject(found, t, origin, what="The line is left out") for t in tokens]
        before = np.append(0, np.cumsum(~is_bad))
        found = replace(found.keep_tokens(~is_bad), begins=np.unique(before[found.begins]))
    return found, rejected


def _illegal(found: PartSentences, layout: FileLayout) -> Flags:
    flags = normalise(found.tags, found.begins, layout.scheme).is_illegal
    if found.inner is None:
        return flags
    return flags | normalise(found.inner, found.begins, layout.scheme).is_illegal


def _reject(found: PartSentences, token: int, origin: Origin, *, what: str) -> Rejected:
    tag = found.tags.names[found.tags.codes[token]]
    inner = f", {found.inner.names[found.inner.codes[token]]}" if found.inner else ""
    text = found.tokens[token].as_py()
    return origin.reject(
        int(found.places[token]),
        "illegal_tags",
        what=f"{tag}{inner} at {text!r} is not what the tags before allow. {what}; fix it, or "
        "have it repaired with --illegal repair.",
        excerpt=f"{text} {tag}",
    )


def cut_long(
    found: PartSentences, levels: Sequence[Tags], max_tokens: int
) -> tuple[Indices, Indices]:
    """Cut long sentences: after a full stop if there is one, never inside an entity.

    Returns where rows begin, shape (R + 1,), and the number of tokens of the same sentence before
    each row, shape (R,). A row has at most ``max_tokens``, unless a single entity has more; 0 cuts
    nothing.
    """
    is_long = np.diff(found.begins) > max_tokens
    if not max_tokens or not is_long.any():
        return found.begins, np.zeros(len(found), np.int64)
    may_cut = np.ones(len(found.tokens), bool)
    for tags in levels:
        may_cut &= np.array([name[0] != "I" for name in tags.names], bool)[tags.codes]
    after_stop = np.append(False, np.asarray(pc.is_in(found.tokens, _ENDS))[:-1]) & may_cut
    begins: list[int] = []
    for begin, end, long in zip(found.begins[:-1], found.begins[1:], is_long, strict=True):
        begins.append(begin)
        if long:
            stops, places = (
                begin + np.flatnonzero(flags[begin:end]) for flags in (after_stop, may_cut)
            )
            begins += _cuts(stops, places, begin=begin, end=end, max_tokens=max_tokens)
    cut = np.array([*begins, found.begins[-1]], np.int64)
    sentences = np.searchsorted(found.begins, cut[:-1], side="right") - 1
    return cut, cut[:-1] - found.begins[sentences]


def _cuts(
    after_stop: Indices, may_cut: Indices, *, begin: int, end: int, max_tokens: int
) -> Iterator[int]:
    """Yield the tokens before which a sentence is cut."""
    while end - begin > max_tokens:
        place = _last(after_stop, begin + max_tokens // 2, begin + max_tokens)
        place = place or _last(may_cut, begin, begin + max_tokens)
        if not place:  # a single entity is longer than max_tokens
            later = may_cut[may_cut > begin]
            if not len(later):
                return
            place = int(later[0])
        yield place
        begin = place


def _last(places: Indices, after: int, until: int) -> int:
    """Return the last place above ``after`` and at most ``until``; 0 if there is none."""
    row = int(np.searchsorted(places, until, side="right")) - 1
    return int(places[row]) if row >= 0 and places[row] > after else 0


class _Columns(NamedTuple):
    """Sentences that are ready to become rows."""

    found: PartSentences
    outer: Tags
    inner: Tags | None
    source: str
    mark: str
    split: str

    def batch(self, begins: Indices, shifts: Indices) -> pa.RecordBatch:
        """Build rows; ``shifts`` are the tokens of the same sentence before each row."""
        found, n = self.found, len(begins) - 1
        sentences = np.searchsorted(found.begins, begins[:-1], side="right") - 1
        own, offsets = slice(int(begins[0]), int(begins[-1])), begins - begins[0]
        columns = {
            "id": self._ids(sentences, shifts[:n]),
            "document_id": self._documents(sentences),
            "split": pa.array([self.split] * n, pa.string()),
            "tokens": _lists(found.tokens[own], offsets),
            "tags": _lists(self.outer.where(own).strings(), offsets),
            "inner_tags": self._inner(own, offsets),
            "token_starts": self._token_starts(begins, sentences),
            "origin": pa.nulls(n, pa.string()),
        }
        arrays = [columns[name].cast(_SCHEMA.field(name).type) for name in _SCHEMA.names]
        return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    def _ids(self, sentences: Indices, shifts: Indices) -> pa.Array:
        found = self.found
        if found.ids:
            ids = [found.ids[sentence] for sentence in sentences.tolist()]
        else:
            places = found.places[found.begins[sentences]].tolist()
            ids = [f"{self.source}{self.mark}{place}" for place in places]
        pairs = zip(ids, shifts.tolist(), strict=True)
        return pa.array([f"{id}+{shift}" if shift else id for id, shift in pairs], pa.string())

    def _documents(self, sentences: Indices) -> pa.Array:
        documents = self.found.documents or [None] * len(self.found)
        return pa.array([documents[n] or self.source for n in sentences.tolist()], pa.string())

    def _inner(self, own: slice, offsets: Indices) -> pa.Array:
        """Build the second level of tags; null where a sentence has none."""
        found = self.found.inner
        if self.inner is None or found is None:
            return pa.nulls(len(offsets) - 1, _SCHEMA.field("inner_tags").type)
        is_tag = np.array([name != "_" for name in found.names], bool)[found.codes[own]]
        lists = _lists(self.inner.where(own).strings(), offsets)
        return pc.if_else(pa.array(any_of(is_tag, offsets)), lists, pa.scalar(None, lists.type))

    def _token_starts(self, begins: Indices, sentences: Indices) -> pa.Array:
        kind, starts = _SCHEMA.field("token_starts").type, self.found.token_starts
        if starts is None:
            return pa.nulls(len(sentences), kind)
        rows = starts.take(pa.array(sentences)).to_pylist()
        shifts = begins[:-1] - self.found.begins[sentences]
        cut = zip(rows, shifts.tolist(), np.diff(begins).tolist(), strict=True)
        return pa.array([row and row[shift : shift + n] for row, shift, n in cut], kind)


def _lists(values: pa.StringArray, offsets: Indices) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
