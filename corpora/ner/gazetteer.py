"""The tagger that looks up the mentions of train, and what it scores; by arrays.

The same as ``learn_names`` and ``score_names`` of ``corpora.matching``, which do it token by token.
Shapes: F forms, T tokens of a batch, M matches in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corpora.matching import LEVELS, Score
from corpora.ner.columns import Codes, Flags, Indices, SentenceColumns
from corpora.ner.forms import FormTable
from corpora.ner.hashing import Hashes, Runs, hash_strings, hash_windows
from corpora.ner.sentence_hashes import places_in
from corpora.ner.spans import find_spans
from corpora.ner.tally import Labels


@dataclass(frozen=True, slots=True)
class Matches:
    """Where forms stand in a batch, overlapping or not: by start, the longer first."""

    starts: Indices  # (M,)
    ends: Indices  # (M,), half-open
    forms: Indices  # (M,)


class Lookup:
    """Finds forms in sentences: single tokens by their hash, longer ones by their first two."""

    def __init__(self, hashes: Hashes, heads: Hashes, lengths: Codes) -> None:
        self._hashes = hashes  # (F,), sorted
        single = lengths == 1
        self._single = _Sieve(hashes[single])
        self._single_forms = np.flatnonzero(single)
        long_heads, long_lengths = heads[~single], lengths[~single]
        order = np.lexsort((long_lengths, long_heads))
        pairs = np.stack([long_heads[order], long_lengths[order].astype(np.uint64)], axis=1)
        keep = np.ones(len(pairs), bool)
        keep[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
        different_heads, self._begins = np.unique(pairs[keep, 0], return_index=True)
        self._begins = np.append(self._begins, np.count_nonzero(keep))
        self._lengths = pairs[keep, 1].astype(np.int64)
        self._head_sieve = _Sieve(different_heads)

    def find(self, sentences: SentenceColumns) -> Matches:
        """Find every form wherever its tokens stand in a row, within a sentence."""
        starts, ends, forms = self._find(sentences)
        order = np.lexsort((-ends, starts))
        return Matches(starts[order], ends[order], forms[order])

    def count(self, sentences: SentenceColumns) -> Indices:
        """(F,): how often each form stands somewhere."""
        _, _, forms = self._find(sentences)
        return np.bincount(forms, minlength=len(self._hashes))

    def _find(self, sentences: SentenceColumns) -> tuple[Indices, Indices, Indices]:
        """Starts, ends and forms of the matches, in no order."""
        tokens = hash_strings(sentences.tokens)
        begins = sentences.begins
        ones, single_forms = self._single.find(hash_windows(tokens, 1))
        pairs, rows = self._head_sieve.find(hash_windows(tokens, 2))
        limits = begins[np.searchsorted(begins, pairs, side="right")]  # where sentences end
        of, starts, ends = self._extend(pairs, rows)
        inside = ends <= limits[of]
        starts, ends = starts[inside], ends[inside]
        forms = places_in(Runs(tokens).hash(starts, ends), self._hashes)
        is_form = forms >= 0
        return (
            np.concatenate([ones, starts[is_form]]),
            np.concatenate([ones + 1, ends[is_form]]),
            np.concatenate([self._single_forms[single_forms], forms[is_form]]),
        )

    def _extend(self, starts: Indices, rows: Indices) -> tuple[Indices, Indices, Indices]:
        """Give each head all lengths that a form with it has: number of the head, start, end."""
        counts = self._begins[rows + 1] - self._begins[rows]
        borders = np.cumsum(counts)
        within = np.arange(borders[-1] if len(borders) else 0) - np.repeat(borders - counts, counts)
        lengths = self._lengths[np.repeat(self._begins[rows], counts) + within]
        of = np.repeat(np.arange(len(starts)), counts)
        return of, starts[of], starts[of] + lengths


class _Sieve:
    """Whether a hash is among some: a table of bits lets most others fall through."""

    def __init__(self, hashes: Hashes) -> None:
        bits = min(max(int(8 * len(hashes)).bit_length(), 10), 26)
        self._hashes = hashes
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, bool)
        self._table[hashes >> self._shift] = True

    def find(self, values: Hashes) -> tuple[Indices, Indices]:
        """Where those are that are among them, and which they are."""
        maybe = np.flatnonzero(self._table[values >> self._shift])
        rows = places_in(values[maybe], self._hashes)
        is_right = rows >= 0
        return maybe[is_right], rows[is_right]


@dataclass(frozen=True, slots=True)
class Names:
    """The forms of train, each with its most frequent label."""

    lookup: Lookup
    labels: Codes
    """(F,): ties go to the first in the alphabet."""
    levels: Codes
    """(F,): in how many twentieths of its occurrences a form is a mention, rounded down."""

    def __len__(self) -> int:
        return len(self.labels)


def learn(forms: FormTable, train: Iterable[SentenceColumns], labels: Labels) -> Names:
    """Make a gazetteer of the mentions of train.

    An occurrence of a form is every place in train where its tokens stand in a row, mention or
    not, inside another mention or not.
    """
    hashes, begins = np.unique(forms.hashes, return_index=True)
    lookup = Lookup(hashes, forms.heads[begins], forms.lengths[begins])
    occurrences = np.zeros(len(hashes), np.int64)
    for sentences in train:
        occurrences += lookup.count(sentences)
    totals = np.add.reduceat(forms.counts, begins) if len(begins) else forms.counts
    levels = LEVELS * totals // np.maximum(occurrences, totals).clip(1)
    best = _most_frequent(forms, labels)
    return Names(lookup, forms.labels[best], levels.astype(np.int32))


def _most_frequent(forms: FormTable, labels: Labels) -> Indices:
    """The row of each form's most frequent label."""
    ranks = np.argsort(np.argsort(np.array(labels.names, object)))
    order = np.lexsort(
        (ranks[forms.labels] if len(ranks) else forms.labels, -forms.counts, forms.hashes)
    )
    ordered = forms.hashes[order]
    firsts = np.ones(len(ordered), bool)
    firsts[1:] = ordered[1:] != ordered[:-1]
    return order[firsts]


def score(names: Names, source: Iterable[SentenceColumns], labels: Labels) -> list[Score]:
    """Tag sentences with the names of at least each level from 0 to ``LEVELS``, and score that.

    Among the names that are left, the leftmost and there the longest wins.
    """
    total = np.zeros((3, LEVELS + 1), np.int64)  # correct, predicted, gold
    for sentences in source:
        total += _score(names, labels, sentences)
    return [Score(correct=c, predicted=p, gold=g) for c, p, g in total.T.tolist()]


def _score(names: Names, labels: Labels, sentences: SentenceColumns) -> npt.NDArray[np.int64]:
    """(3, levels): correct, predicted and gold spans of a batch."""
    spans = find_spans(sentences)
    matches = names.lookup.find(sentences)
    is_right = _right(
        matches,
        names,
        spans_of=(spans.starts, spans.ends),
        labels=labels.number(spans.label_names)[spans.labels],
    )
    levels = names.levels[matches.forms]
    counts = np.zeros((3, LEVELS + 1), np.int64)
    counts[2] = len(spans.starts)
    before = -1
    for top in np.unique(levels).tolist():  # the levels between have the same names
        used = np.flatnonzero(levels >= top)
        kept = used[leftmost_longest(matches.starts[used], matches.ends[used])]
        counts[0, before + 1 : top + 1] = np.count_nonzero(is_right[kept])
        counts[1, before + 1 : top + 1] = len(kept)
        before = top
    return counts


def _right(
    matches: Matches, names: Names, *, spans_of: tuple[Indices, Indices], labels: Codes
) -> Flags:
    """Whether there is a span with the ends and the label of each match."""
    starts, ends = spans_of
    if not len(starts):
        return np.zeros(len(matches.starts), bool)
    rows = np.searchsorted(starts, matches.starts).clip(max=len(starts) - 1)
    return np.asarray(
        (starts[rows] == matches.starts)
        & (ends[rows] == matches.ends)
        & (labels[rows] == names.labels[matches.forms])
    )


def leftmost_longest(starts: Indices, ends: Indices) -> Indices:
    """Places of the matches that are kept, from left to right, each after the end of the last.

    In a cluster of matches that hang together the first is kept, and what overlaps it dropped;
    what is left makes new clusters.
    """
    kept: list[npt.NDArray[np.int64]] = []
    left = np.arange(len(starts))
    while len(left):
        reach = np.maximum.accumulate(ends[left])
        is_first = np.ones(len(left), bool)
        is_first[1:] = starts[left][1:] >= reach[:-1]
        firsts = np.flatnonzero(is_first)
        kept.append(left[firsts])
        of = np.repeat(ends[left[firsts]], np.diff(np.append(firsts, len(left))))
        left = left[starts[left] >= of]
    return np.sort(np.concatenate(kept)) if kept else left
