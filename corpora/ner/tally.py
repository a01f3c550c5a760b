"""The counts and hashes of a split for its card, from one pass over columns.

A tally holds 17 bytes for each sentence, and about 100 for each pair of mention form and label.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.hashing.tokens import Hashes, Runs, hash_strings, mix
from corpora.ner.card import SplitCounts
from corpora.ner.columns import Codes, Flags, Indices, SentenceColumns
from corpora.ner.schemes import Spans, find_spans

BUCKETS = 16
"""The number of buckets of sentences, by the highest bits of their hash; splits are compared bucket
by bucket, so that hardly more memory is needed."""
_SHIFT = np.uint64(60)
_PENDING = 1 << 18
_ARRAYS = ("hashes", "labels", "counts", "heads", "lengths")
Lengths = npt.NDArray[np.uint8]


class Labels:
    """Ids of labels, the same in all splits."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def number(self, names: Iterable[str]) -> Codes:
        """Return the id of each name; new names get the next ids."""
        return np.array([self._ids.setdefault(name, len(self._ids)) for name in names], np.int32)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels, in the order of their ids."""
        return tuple(self._ids)


@dataclass(frozen=True, slots=True)
class FormLabels:
    """Pairs of mention form and label, F of them, sorted by hash and label."""

    hashes: Hashes  # (F,), sorted
    labels: Codes  # (F,), ids of ``Labels``
    counts: Indices  # (F,)
    heads: Hashes
    """(F,): the hash of the first two tokens, or of the only one."""
    lengths: Codes  # (F,), in tokens
    texts: pa.StringArray
    """(F,): the tokens, joined by spaces."""

    @classmethod
    def merge(cls, tables: Sequence["FormLabels"]) -> "FormLabels":
        """Merge tables; counts of the same form and label are added up."""
        hashes, labels, counts, heads, lengths = (
            np.concatenate([getattr(table, name) for table in tables]) for name in _ARRAYS
        )
        order = np.lexsort((labels, hashes))
        is_first = changes(hashes[order]) | changes(labels[order])
        places = np.flatnonzero(is_first)
        chosen = order[places]
        texts = pa.concat_arrays([table.texts for table in tables]).take(pa.array(chosen))
        summed = np.add.reduceat(counts[order], places) if len(places) else counts
        return cls(hashes[chosen], labels[chosen], summed, heads[chosen], lengths[chosen], texts)

    def ambiguous(self) -> Iterator[slice]:
        """Yield the rows of each form with more than one label."""
        borders = np.append(np.flatnonzero(changes(self.hashes)), len(self.hashes))
        for row in np.flatnonzero(np.diff(borders) > 1):
            yield slice(int(borders[row]), int(borders[row + 1]))


def changes(values: Hashes | Codes) -> Flags:
    """Tell whether each value differs from the one before; the first counts as different."""
    flags = np.ones(len(values), bool)
    flags[1:] = values[1:] != values[:-1]
    return flags


class FormCounter:
    """A counter of mention forms."""

    def __init__(self) -> None:
        nothing = SentenceColumns.of_sentences([])
        self._pending = [_forms(nothing, find_spans(nothing), Runs(np.zeros(0, np.uint64)))]
        self._n_pending = 0

    def add(self, table: FormLabels) -> None:
        """Count the spans of a batch, given as one row each."""
        self._pending.append(FormLabels.merge([table]))
        self._n_pending += len(self._pending[-1].hashes)
        if self._n_pending > _PENDING + len(self._pending[0].hashes) // 2:
            self.table()

    def table(self) -> FormLabels:
        """Return the table of all counted forms."""
        self._pending, self._n_pending = [FormLabels.merge(self._pending)], 0
        return self._pending[0]


def _forms(sentences: SentenceColumns, spans: Spans, tokens: Runs) -> FormLabels:
    """Build a row for each span; labels are those of the batch."""
    starts, lengths = spans.starts, spans.ends - spans.starts
    borders = np.append(0, np.cumsum(lengths))
    within = np.arange(borders[-1]) - np.repeat(borders[:-1], lengths)
    words = sentences.tokens.take(pa.array(np.repeat(starts, lengths) + within))
    lists = pa.ListArray.from_arrays(pa.array(borders, pa.int32()), words)
    return FormLabels(
        hashes=tokens.hash(starts, spans.ends),
        labels=spans.labels,
        counts=np.ones(len(starts), np.int64),
        heads=tokens.hash(starts, np.minimum(starts + 2, spans.ends)),
        lengths=lengths.astype(np.int32),
        texts=pc.binary_join(lists, " "),
    )


class Tally:
    """The counts and hashes of a split."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self._tags: Counter[str] = Counter()
        self._runs: Counter[str] = Counter()
        self._n_orphans = self._n_adjacent = self._longest = self._n_single = 0
        self.texts: list[Hashes] = []
        """The hashes of each sentence's tokens, in reading order, an array per batch."""
        self._labelled: list[Hashes] = []  # hashes of each sentence's tokens and tags
        self._lengths: list[Lengths] = []  # in tokens, at most 255
        self.forms = FormCounter()

    def add(self, sentences: SentenceColumns) -> None:
        """Count a batch of sentences."""
        tokens, tags, begins = hash_strings(sentences.tokens), sentences.tags, sentences.begins
        runs, names = Runs(tokens), hash_strings(pa.array(tags.names, pa.string()))
        lengths = np.diff(begins)
        self.texts.append(runs.hash(begins[:-1], begins[1:]))
        labelled = Runs(mix(tokens ^ names[tags.codes]))
        self._labelled.append(labelled.hash(begins[:-1], begins[1:]))
        self._lengths.append(np.minimum(lengths, 255).astype(np.uint8))
        self._n_single += int(np.count_nonzero(lengths == 1))
        self._longest = max(self._longest, int(lengths.max(initial=0)))
        self._tags.update(_counted(tags.codes, tags.names))
        spans = find_spans(sentences)
        self._n_orphans += spans.n_orphans
        self._n_adjacent += int(np.count_nonzero(spans.is_adjacent))
        self._runs.update(_counted(spans.labels[~spans.is_adjacent], spans.label_names))
        ids = self._labels.number(spans.label_names)
        forms = _forms(sentences, spans, runs)
        self.forms.add(replace(forms, labels=ids[spans.labels]))

    @property
    def labels(self) -> set[str]:
        """The labels that occur in the split."""
        return {tag[2:] for tag, count in self._tags.items() if tag != "O" and count}

    def count(self) -> SplitCounts:
        """Return the numbers for the card."""
        labels = sorted(self.labels)
        return SplitCounts(
            sentences=sum(map(len, self.texts)),
            tokens=self._tags.total(),
            not_tagged=self._tags["O"],
            entities={label: self._tags[f"B-{label}"] for label in labels},
            runs={label: self._runs[label] for label in labels},
            adjacent=self._n_adjacent,
            orphans=self._n_orphans,
            one_token=self._n_single,
            longest=self._longest,
        )

    def bucket(self, index: int) -> tuple[Hashes, Hashes, Lengths]:
        """Return texts, labelled and lengths of the sentences of a bucket, in reading order."""
        rows = [np.flatnonzero(texts >> _SHIFT == index) for texts in self.texts]
        batches = zip(self.texts, self._labelled, self._lengths, rows, strict=True)
        own = [(texts[i], labelled[i], lengths[i]) for texts, labelled, lengths, i in batches]
        nothing = np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.uint8)
        texts, labelled, lengths = zip(nothing, *own, strict=True)
        return np.concatenate(texts), np.concatenate(labelled), np.concatenate(lengths)


def _counted(codes: Codes, names: Sequence[str]) -> dict[str, int]:
    return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))


def tally(source: Iterable[SentenceColumns], labels: Labels) -> Tally:
    """Count all batches of a split."""
    counted = Tally(labels)
    for sentences in source:
        counted.add(sentences)
    return counted


def find_leaks(
    train: Tally, other: Tally, *, min_tokens: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Count sentences, those that also occur in train, and those that do with the same tags.

    One triple for each of ``min_tokens``, over the sentences with at least that many tokens.
    """
    counts = np.zeros((len(min_tokens), 3), np.int64)
    for index in range(BUCKETS):
        texts, labelled, lengths = other.bucket(index)
        train_texts, train_labelled, _ = train.bucket(index)
        leaked = is_in(texts, np.sort(train_texts))
        with_tags = is_in(labelled, np.sort(train_labelled)) & leaked
        for row, least in enumerate(min_tokens):
            long = lengths >= least
            counts[row] += [long.sum(), (leaked & long).sum(), (with_tags & long).sum()]
    return [(int(n), int(leaked), int(tagged)) for n, leaked, tagged in counts]


def find_conflicting(splits: Sequence[Tally]) -> Hashes:
    """Return the sorted hashes of the sentences with more than one sequence of tags."""
    conflicting = []
    for index in range(BUCKETS):
        buckets = [split.bucket(index) for split in splits]
        texts, labelled = (np.concatenate([bucket[i] for bucket in buckets]) for i in (0, 1))
        order = np.argsort(texts)
        texts, labelled = texts[order], labelled[order]
        conflicting.append(np.unique(texts[~changes(texts) & changes(labelled)]))
    return np.concatenate(conflicting)


def is_in(values: Hashes, ordered: Hashes) -> Flags:
    """Tell for each value whether it occurs in a sorted array."""
    return np.asarray(places_in(values, ordered) >= 0)


def places_in(values: Hashes, ordered: Hashes) -> Indices:
    """Find the index of each value in a sorted array; -1 if it is missing."""
    if not len(ordered):
        return np.full(len(values), -1, np.int64)
    places = np.searchsorted(ordered, values)
    places[places == len(ordered)] = 0
    places[ordered[places] != values] = -1
    return places
