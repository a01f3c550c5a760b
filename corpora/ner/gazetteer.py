"""The gazetteer, a tagger that looks up the mentions of train, and its scores; computed on arrays.

Shapes: F forms, T tokens of a batch, M matches in it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from corpora.hashing.tokens import Hashes, Runs, hash_strings, hash_windows
from corpora.matching.arrays import first_disjoint
from corpora.ner.columns import Codes, Flags, Indices, SentenceColumns
from corpora.ner.schemes import find_spans
from corpora.ner.tally import FormLabels, Labels, changes, places_in
from corpora.tagging import Score

LEVELS = 20
"""Thresholds are the multiples of 1/20 from 0 to 1."""
AT_ONCE = 1 << 20
"""The number of candidates that are looked up at once, of some 170 bytes each."""


class Matches(NamedTuple):
    """The matches of forms in a batch, which may overlap; by start, the longer first."""

    starts: Indices  # (M,)
    ends: Indices  # (M,), half-open
    forms: Indices  # (M,)


class Lookup:
    """A finder of forms: single tokens by their hash, longer forms by their first two tokens."""

    def __init__(self, hashes: Hashes, heads: Hashes, lengths: Codes) -> None:
        self._hashes = hashes  # (F,), sorted
        self._single_forms = np.flatnonzero(lengths == 1)
        self._single = _Sieve(hashes[self._single_forms])
        order = np.lexsort((lengths, heads))
        order = order[lengths[order] > 1]
        heads, lengths = heads[order], lengths[order]
        is_new = changes(heads) | changes(lengths)
        heads, self._lengths = heads[is_new], lengths[is_new].astype(np.int64)
        begins = np.flatnonzero(changes(heads))
        self._begins = np.append(begins, len(heads))  # where the lengths of each head begin
        self._head_sieve = _Sieve(heads[begins])

    def find(self, sentences: SentenceColumns) -> Matches:
        """Find every occurrence of a form within a sentence."""
        return Matches(*map(np.concatenate, zip(*self.find_parts(sentences), strict=True)))

    def find_parts(self, sentences: SentenceColumns) -> Iterator[Matches]:
        """Find the same matches in parts, at least one: nested forms may outnumber the tokens.

        All matches of a part begin before those of the next.
        """
        for matches in self._find(sentences):
            order = np.lexsort((-matches.ends, matches.starts))
            yield Matches(*(column[order] for column in matches))

    def count(self, sentences: SentenceColumns) -> Indices:
        """Count the occurrences of each form, shape (F,)."""
        counts = np.zeros(len(self._hashes), np.int64)
        for matches in self._find(sentences):
            counts += np.bincount(matches.forms, minlength=len(counts))
        return counts

    def _find(self, sentences: SentenceColumns) -> Iterator[Matches]:
        """Find the matches in parts; within a part they are in no order."""
        tokens = hash_strings(sentences.tokens)
        runs, begins = Runs(tokens), sentences.begins
        ones, single_forms = self._single.find(hash_windows(tokens, 1))
        pairs, rows = self._head_sieve.find(hash_windows(tokens, 2))
        limits = begins[np.searchsorted(begins, pairs, side="right")]  # ends of sentences
        n_done = 0
        for heads in _parts(self._begins[rows + 1] - self._begins[rows]):
            starts, ends = self._extend(pairs[heads], rows[heads], limits[heads])
            forms = places_in(runs.hash(starts, ends), self._hashes)
            is_form = forms >= 0
            stop = pairs[heads.stop] if heads.stop < len(pairs) else len(tokens)
            single = slice(n_done, int(np.searchsorted(ones, stop)))
            yield Matches(
                np.concatenate([ones[single], starts[is_form]]),
                np.concatenate([ones[single] + 1, ends[is_form]]),
                np.concatenate([self._single_forms[single_forms[single]], forms[is_form]]),
            )
            n_done = single.stop

    def _extend(self, starts: Indices, rows: Indices, limits: Indices) -> tuple[Indices, Indices]:
        """Extend each head to every length of a form that begins with it, within its sentence.

        Returns starts and ends.
        """
        counts = self._begins[rows + 1] - self._begins[rows]
        borders = np.cumsum(counts)
        within = np.arange(borders[-1] if len(borders) else 0) - np.repeat(borders - counts, counts)
        ends = self._lengths[np.repeat(self._begins[rows], counts) + within]
        ends += np.repeat(starts, counts)
        inside = ends <= np.repeat(limits, counts)
        return np.repeat(starts, counts)[inside], ends[inside]


def _parts(counts: Indices) -> Iterator[slice]:
    """Split heads into parts with about ``AT_ONCE`` lengths each; there is always one part."""
    cuts = np.flatnonzero(np.diff((np.cumsum(counts) - counts) // AT_ONCE)) + 1
    for begin, end in pairwise([0, *cuts.tolist(), len(counts)]):
        yield slice(begin, end)


class _Sieve:
    """A set of hashes; a table of bits rejects most values that are not in it."""

    def __init__(self, hashes: Hashes) -> None:
        bits = min(max(int(8 * len(hashes)).bit_length(), 10), 26)
        self._hashes = hashes
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, bool)
        self._table[hashes >> self._shift] = True

    def find(self, values: Hashes) -> tuple[Indices, Indices]:
        """Find the values that are in the set: their indices, and their rows in the set."""
        maybe = np.flatnonzero(self._table[values >> self._shift])
        rows = places_in(values[maybe], self._hashes)
        is_right = rows >= 0
        return maybe[is_right], rows[is_right]


@dataclass(frozen=True, slots=True)
class TrainForms:
    """The forms of train, each with its most frequent label."""

    lookup: Lookup
    labels: Codes
    """(F,): the id of each form's most frequent label; of equals, the first in the alphabet."""
    levels: Codes
    """(F,): how many twentieths of a form's occurrences are mentions, rounded down."""

    def __len__(self) -> int:
        return len(self.labels)


def learn(forms: FormLabels, train: Iterable[SentenceColumns], labels: Labels) -> TrainForms:
    """Build a gazetteer from the mentions of train.

    An occurrence of a form is every place in train where its tokens are adjacent, mention or not,
    inside another mention or not.
    """
    hashes, begins = np.unique(forms.hashes, return_index=True)
    lookup = Lookup(hashes, forms.heads[begins], forms.lengths[begins])
    occurrences = np.zeros(len(hashes), np.int64)
    for sentences in train:
        occurrences += lookup.count(sentences)
    totals = np.add.reduceat(forms.counts, begins) if len(begins) else forms.counts
    levels = LEVELS * totals // np.maximum(occurrences, totals).clip(1)
    ranks = np.argsort(np.argsort(np.array(labels.names, object)))
    order = np.lexsort(
        (ranks[forms.labels] if len(ranks) else forms.labels, -forms.counts, forms.hashes)
    )
    best = order[changes(forms.hashes[order])]
    return TrainForms(lookup, forms.labels[best], levels.astype(np.int32))


def score(names: TrainForms, source: Iterable[SentenceColumns], labels: Labels) -> list[Score]:
    """Score the tagging of sentences by the names of each minimum level from 0 to ``LEVELS``.

    Among overlapping matches of these names, the leftmost and there the longest wins.
    """
    total = np.zeros((3, LEVELS + 1), np.int64)  # correct, predicted, gold
    for sentences in source:
        total += _score(names, labels, sentences)
    return [Score(correct=c, predicted=p, gold=g) for c, p, g in total.T.tolist()]


def _score(names: TrainForms, labels: Labels, sentences: SentenceColumns) -> npt.NDArray[np.int64]:
    """Count correct, predicted and gold spans of a batch, shape (3, ``LEVELS`` + 1)."""
    spans = find_spans(sentences)
    span_labels = labels.number(spans.label_names)[spans.labels]
    counts = np.zeros((3, LEVELS + 1), np.int64)
    counts[2] = len(spans.starts)
    reached = [0] * (LEVELS + 1)  # for each level, the end of the last match kept
    for matches in names.lookup.find_parts(sentences):
        is_right = _right(matches, names, spans_of=(spans.starts, spans.ends), labels=span_labels)
        levels = names.levels[matches.forms]
        tops = np.unique(levels)
        # levels with the same names and the same end share their matches
        kept_of: dict[tuple[int, int], Indices] = {}
        for level in range(int(tops[-1]) + 1 if len(tops) else 0):
            key = (int(np.searchsorted(tops, level)), reached[level])
            if key not in kept_of:
                used = np.flatnonzero((levels >= level) & (matches.starts >= reached[level]))
                kept_of[key] = used[first_disjoint(matches.starts[used], matches.ends[used])]
            kept = kept_of[key]
            counts[0, level] += np.count_nonzero(is_right[kept])
            counts[1, level] += len(kept)
            reached[level] = int(matches.ends[kept].max(initial=reached[level]))
    return counts


def _right(
    matches: Matches, names: TrainForms, *, spans_of: tuple[Indices, Indices], labels: Codes
) -> Flags:
    """Tell for each match whether a span has the same bounds and label."""
    starts, ends = spans_of
    if not len(starts):
        return np.zeros(len(matches.starts), bool)
    rows = np.searchsorted(starts, matches.starts).clip(max=len(starts) - 1)
    return np.asarray(
        (starts[rows] == matches.starts)
        & (ends[rows] == matches.ends)
        & (labels[rows] == names.labels[matches.forms])
    )
