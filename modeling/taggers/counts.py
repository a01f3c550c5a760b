"""Counts of correct, predicted and gold spans of each sentence; all scores come from their sums.

Shapes: N sentences, L labels, 3 counts: correct, predicted, gold.

Strict: a span is correct if its start, end and label are; an orphan ``I-`` is no part of a span.
Lenient: tags are read as the ``conlleval`` script does, and ``seqeval`` by default: an orphan
``I-`` opens a span. Words: each word with a label counts, without the prefixes B- and I- (token F1
as for LER: micro over all words, O left out). F1 is 0 where it is 0/0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from corpora.document import TokenSpan
from corpora.errors import InvalidDocumentError
from corpora.tagging import Score, from_iob2, to_iob2
from modeling.data.predictions import Tagged, outermost

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]
Key = tuple[int, int, str]
"""A span: the index of its first word, the index after its last word, and its label."""

CORRECT, PREDICTED, GOLD = range(3)
PRECISION = 0.9
"""The precision wanted of names that are written into an edition; it determines their threshold."""
MIN_SPANS = 20


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """The counts (correct, predicted, gold) of each sentence and label."""

    labels: tuple[str, ...]  # (L,)
    rows: Numbers  # (N, L, 3)

    def micro(self) -> Numbers:
        """Sum the counts of all labels, shape (N, 3)."""
        return np.asarray(self.rows.sum(axis=1))


def strict_f1(tagged: Sequence[Tagged]) -> float:
    """Compute the strict micro F1 of all labels, which an epoch is chosen by."""
    return score(count_strict(tagged).micro().sum(axis=0)).f1


def score(counts: Numbers) -> Score:
    """Convert (3,) counts to a ``Score``."""
    correct, predicted, gold = map(int, counts)
    return Score(correct=correct, predicted=predicted, gold=gold)


def f1_of(counts: NDArray[np.int64] | Reals) -> Reals:
    """Compute F1 from (…, 3) counts, shape (…).

    F1 is 2 correct / (predicted + gold), and 0 where nothing is predicted or gold.
    """
    total = counts[..., PREDICTED] + counts[..., GOLD]
    return np.asarray(2 * counts[..., CORRECT] / np.where(total == 0, 1, total), np.float64)


def all_labels(tagged: Sequence[Tagged], labels: Sequence[str]) -> tuple[str, ...]:
    """Return the given labels, then other gold or predicted labels in alphabetical order."""
    read = chain.from_iterable(
        (*one.sentence.tags, *(one.sentence.inner_tags or ()), *one.tags) for one in tagged
    )
    found = {tag[2:] for tag in read if tag != "O"}
    found |= {span.label for one in tagged for span in one.spans}
    return (*dict.fromkeys(labels), *sorted(found.difference(labels)))


def count_strict(tagged: Sequence[Tagged], labels: Sequence[str] = ()) -> SpanCounts:
    """Count spans, correct if both ends and the label are right.

    The labels of the sentences that are not in ``labels`` are appended to them.
    """
    pairs = ((gold_keys(one), predicted_keys(one)) for one in tagged)
    return _count(pairs, tagged, labels)


def count_lenient(tagged: Sequence[Tagged], labels: Sequence[str] = ()) -> SpanCounts:
    """Count spans as ``count_strict`` does, with gold and predicted tags read leniently."""
    read = partial(from_iob2, strict=False)
    pairs = ((_keys(read(one.sentence.tags)), _keys(read(predicted_tags(one)))) for one in tagged)
    return _count(pairs, tagged, labels)


def count_words(tagged: Sequence[Tagged], labels: Sequence[str] = ()) -> SpanCounts:
    """Count words that have a label, B- and I- taken off."""
    pairs = ((_word_keys(one.sentence.tags), _word_keys(predicted_tags(one))) for one in tagged)
    return _count(pairs, tagged, labels)


def gold_keys(one: Tagged) -> list[Key]:
    """Return the gold spans of a sentence in their order, read strictly; outer ones come first.

    If the sentence has inner tags, these are scored, too; a name that both levels have counts once.
    """
    spans = [*from_iob2(one.sentence.tags), *from_iob2(one.sentence.inner_tags or ())]
    return list(dict.fromkeys(_keys(spans)))


def predicted_keys(one: Tagged) -> list[Key]:
    """Return the predicted spans of a sentence.

    Raises ``InvalidDocumentError`` unless they are in order, disjoint and inside the sentence. If
    the sentence has inner tags, they may nest.
    """
    end = 0
    for span in one.spans:
        is_inside = span.end <= end and one.sentence.inner_tags is not None
        if (span.start < end and not is_inside) or span.end > len(one.sentence.tokens):
            raise InvalidDocumentError(
                f"{one.sentence.id}: the predicted span {span.start}:{span.end} ({span.label}) "
                f"overlaps the one before or leaves the {len(one.sentence.tokens)} words. Decode "
                "to disjoint spans, in order."
            )
        end = max(end, span.end)
    return _keys(one.spans)


def predicted_tags(one: Tagged) -> Sequence[str]:
    """Return the tags that were decoded, valid or not, or else those of the outermost spans.

    Raises ``InvalidDocumentError`` if the number of tags is not that of the words.
    """
    if one.tags and len(one.tags) != len(one.sentence.tokens):
        raise InvalidDocumentError(
            f"{one.sentence.id}: {len(one.tags)} predicted tags for "
            f"{len(one.sentence.tokens)} words. Decode one tag for each."
        )
    return one.tags or to_iob2(outermost(one.spans), len(one.sentence.tokens))


def threshold_for(tagged: Sequence[Tagged], precision: float) -> float | None:
    """Find the lowest threshold of probability at which a ratio ``precision`` of spans is right.

    Only spans with at least this probability count. Returns None if there is no such threshold, or
    if fewer than ``MIN_SPANS`` spans reach it, which are too few to say anything.
    """
    pairs: list[tuple[float, bool]] = []
    for one in tagged:
        gold = set(gold_keys(one))
        keys = zip(one.spans, predicted_keys(one), strict=True)
        pairs += [(span.probability, key in gold) for span, key in keys]
    pairs.sort(reverse=True)
    found, n_right = None, 0
    for n, (probability, is_right) in enumerate(pairs, 1):
        n_right += is_right
        is_last = n == len(pairs) or pairs[n][0] < probability
        if is_last and n >= MIN_SPANS and n_right >= precision * n:
            found = probability
    return found


def _keys(spans: Iterable[TokenSpan]) -> list[Key]:
    return [(span.start, span.end, span.label) for span in spans]


def _word_keys(tags: Sequence[str]) -> list[Key]:
    return [(n, n + 1, tag[2:]) for n, tag in enumerate(tags) if tag != "O"]


def _count(
    pairs: Iterable[tuple[list[Key], list[Key]]], tagged: Sequence[Tagged], labels: Sequence[str]
) -> SpanCounts:
    names = all_labels(tagged, labels)
    rows = np.zeros((len(tagged), len(names), 3), np.int64)
    ids = {label: id for id, label in enumerate(names)}
    for row, (gold, predicted) in zip(rows, pairs, strict=True):
        right = set(gold)
        for key in gold:
            row[ids[key[2]], GOLD] += 1
        for key in predicted:
            row[ids[key[2]], PREDICTED] += 1
            row[ids[key[2]], CORRECT] += key in right
    return SpanCounts(names, rows)
