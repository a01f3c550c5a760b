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

    def make(self, part: PartSentences, layout: FileLayout, origin: Origin) -> SentenceRows:
        """Build rows of the sentences found in a file, or in a part of it."""
        rejected = list(part.rejected)
        is_running = layout.format == "europeana"
        if self.illegal == "reject":
            keep = _without_lines if is_running else _without_sentences
            part, more = keep(part, layout, origin)
            rejected += more
        counters = +part.counters
        counters["sentences"] += len(part)
        counters["tokens"] += len(part.tokens)
        # Many long sentences are a hint that empty lines are missing.
        counters["sentences.of more than 1000 tokens"] += int((np.diff(part.begins) > 1000).sum())
        level = partial(self._level, part=part, layout=layout, counters=counters)
        outer = level(part.tags, what="entities")
        inner = part.inner and level(part.inner, what="inner entities")
        begins, shifts = cut_long(part, [outer, *([inner] if inner else [])], self.max_tokens)
        counters["sentences.pieces of long ones"] += int(np.count_nonzero(shifts))
        columns = _Columns(part, outer, inner, origin.source, layout.kind.id_mark, self.split)
        batches = (
            columns.batch(begins[start : start + ROWS_PER_BATCH + 1], shifts[start:])
            for start in range(0, len(shifts), ROWS_PER_BATCH)
        )
        n_records = len(part.tokens) if is_running else len(part)
        return SentenceRows(n_records, batches, rejected, +counters)

    def _level(
        self,
        tags: Tags,
        part: PartSentences,
        layout: FileLayout,
        *,
        counters: Counter[str],
        what: str,
    ) -> Tags:
        """Convert tags to IOB2, and map their labels; count entities as the source has them."""
        normal = normalise(tags, part.begins, layout.scheme)
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
    part: PartSentences, layout: FileLayout, origin: Origin
) -> tuple[PartSentences, list[Rejected]]:
    """Leave out the sentences with an illegal tag."""
    is_illegal = _illegal(part, layout)
    is_bad = any_of(is_illegal, part.begins)
    rejected = []
    for begin, end in zip(part.begins[:-1][is_bad], part.begins[1:][is_bad], strict=True):
        token = int(begin + np.flatnonzero(is_illegal[begin:end])[0])
        rejected.append(_reject(part, token, origin, what="The sentence is left out"))
    return part.keep(~is_bad), rejected


def _without_lines(
    part: PartSentences, layout: FileLayout, origin: Origin
) -> tuple[PartSentences, list[Rejected]]:
    """Leave out the lines with an illegal tag, and those that continue their entity."""
    rejected: list[Rejected] = []
    while (is_bad := _illegal(part, layout)).any():
        tokens = np.flatnonzero(is_bad).tolist()
        rejected += [_reject(part, t, origin, what="The line is left out") for t in tokens]
        before = np.append(0, np.cumsum(~is_bad))
        part = replace(part.keep_tokens(~is_bad), begins=np.unique(before[part.begins]))
    return part, rejected


def _illegal(part: PartSentences, layout: FileLayout) -> Flags:
    flags = normalise(part.tags, part.begins, layout.scheme).is_illegal
    if part.inner is None:
        return flags
    return flags | normalise(part.inner, part.begins, layout.scheme).is_illegal


def _reject(part: PartSentences, token: int, origin: Origin, *, what: str) -> Rejected:
    tag = part.tags.names[part.tags.codes[token]]
    inner = f", {part.inner.names[part.inner.codes[token]]}" if part.inner else ""
    text = part.tokens[token].as_py()
    return origin.reject(
        int(part.places[token]),
        "illegal_tags",
        what=f"{tag}{inner} at {text!r} is not what the tags before allow. {what}; fix it, or "
        "have it repaired with --illegal repair.",
        excerpt=f"{text} {tag}",
    )


def cut_long(
    part: PartSentences, levels: Sequence[Tags], max_tokens: int
) -> tuple[Indices, Indices]:
    """Cut long sentences: after a full stop if there is one, never inside an entity.

    Returns where rows begin, shape (R + 1,), and the number of tokens of the same sentence before
    each row, shape (R,). A row has at most ``max_tokens``, unless a single entity has more; 0 cuts
    nothing.
    """
    is_long = np.diff(part.begins) > max_tokens
    if not max_tokens or not is_long.any():
        return part.begins, np.zeros(len(part), np.int64)
    may_cut = np.ones(len(part.tokens), bool)
    for tags in levels:
        may_cut &= np.array([name[0] != "I" for name in tags.names], bool)[tags.codes]
    after_stop = np.append(False, np.asarray(pc.is_in(part.tokens, _ENDS))[:-1]) & may_cut
    begins: list[int] = []
    for begin, end, long in zip(part.begins[:-1], part.begins[1:], is_long, strict=True):
        begins.append(begin)
        if long:
            stops, places = (
                begin + np.flatnonzero(flags[begin:end]) for flags in (after_stop, may_cut)
            )
            begins += _cuts(stops, places, begin=begin, end=end, max_tokens=max_tokens)
    cut = np.array([*begins, part.begins[-1]], np.int64)
    sentences = np.searchsorted(part.begins, cut[:-1], side="right") - 1
    return cut, cut[:-1] - part.begins[sentences]


def _cuts(
    after_stop: Indices, may_cut: Indices, *, begin: int, end: int, max_tokens: int
) -> Iterator[int]:
    """Yield the tokens before which a sentence is cut."""
    while end - begin > max_tokens:
        cut = _last(after_stop, begin + max_tokens // 2, begin + max_tokens)
        cut = cut or _last(may_cut, begin, begin + max_tokens)
        if not cut:  # a single entity is longer than max_tokens
            later = may_cut[may_cut > begin]
            if not len(later):
                return
            cut = int(later[0])
        yield cut
        begin = cut


def _last(places: Indices, after: int, until: int) -> int:
    """Return the last place above ``after`` and at most ``until``; 0 if there is none."""
    row = int(np.searchsorted(places, until, side="right")) - 1
    return int(places[row]) if row >= 0 and places[row] > after else 0


class _Columns(NamedTuple):
    """Sentences that are ready to become rows."""

    part: PartSentences
    outer: Tags
    inner: Tags | None
    source: str
    mark: str
    split: str

    def batch(self, begins: Indices, shifts: Indices) -> pa.RecordBatch:
        """Build rows; ``shifts`` are the tokens of the same sentence before each row."""
        part, n = self.part, len(begins) - 1
        sentences = np.searchsorted(part.begins, begins[:-1], side="right") - 1
        own, offsets = slice(int(begins[0]), int(begins[-1])), begins - begins[0]
        columns = {
            "id": self._ids(sentences, shifts[:n]),
            "document_id": self._documents(sentences),
            "split": pa.array([self.split] * n, pa.string()),
            "tokens": _lists(part.tokens[own], offsets),
            "tags": _lists(self.outer.where(own).strings(), offsets),
            "inner_tags": self._inner(own, offsets),
            "token_starts": self._token_starts(begins, sentences),
            "origin": pa.nulls(n, pa.string()),
        }
        arrays = [columns[name].cast(_SCHEMA.field(name).type) for name in _SCHEMA.names]
        return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    def _ids(self, sentences: Indices, shifts: Indices) -> pa.Array:
        part = self.part
        if part.ids:
            ids = [part.ids[sentence] for sentence in sentences.tolist()]
        else:
            places = part.places[part.begins[sentences]].tolist()
            ids = [f"{self.source}{self.mark}{place}" for place in places]
        pairs = zip(ids, shifts.tolist(), strict=True)
        return pa.array([f"{id}+{shift}" if shift else id for id, shift in pairs], pa.string())

    def _documents(self, sentences: Indices) -> pa.Array:
        documents = self.part.documents or [None] * len(self.part)
        return pa.array([documents[n] or self.source for n in sentences.tolist()], pa.string())

    def _inner(self, own: slice, offsets: Indices) -> pa.Array:
        """Build the second level of tags; null where a sentence has none."""
        part = self.part.inner
        if self.inner is None or part is None:
            return pa.nulls(len(offsets) - 1, _SCHEMA.field("inner_tags").type)
        is_tag = np.array([name != "_" for name in part.names], bool)[part.codes[own]]
        lists = _lists(self.inner.where(own).strings(), offsets)
        return pc.if_else(pa.array(any_of(is_tag, offsets)), lists, pa.scalar(None, lists.type))

    def _token_starts(self, begins: Indices, sentences: Indices) -> pa.Array:
        kind, starts = _SCHEMA.field("token_starts").type, self.part.token_starts
        if starts is None:
            return pa.nulls(len(sentences), kind)
        rows = starts.take(pa.array(sentences)).to_pylist()
        shifts = begins[:-1] - self.part.begins[sentences]
        cut = zip(rows, shifts.tolist(), np.diff(begins).tolist(), strict=True)
        return pa.array([row and row[shift : shift + n] for row, shift, n in cut], kind)


def _lists(values: pa.StringArray, offsets: Indices) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
