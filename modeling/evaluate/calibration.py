"""The calibration of probabilities: of spans with probability 0.9, nine in ten should be right.

Shapes: P predictions, K bins.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpora.errors import CorpusError
from modeling.data.predictions import Tagged
from modeling.evaluate.errors import plain
from modeling.taggers.counts import Reals, gold_keys, predicted_keys

N_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """A bin of predictions with ``low`` < probability ≤ ``high`` (in the first bin, 0 as well)."""

    low: float
    high: float
    n: int
    probability: float | None = None
    """The mean probability; None for an empty bin."""
    right: float | None = None
    """The fraction of right predictions; None for an empty bin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The calibration of a set of predictions."""

    n: int
    ece: float
    """The expected calibration error: the mean over bins of |fraction right - mean probability|,
    weighted by predictions (Naeini et al. 2015; Guo et al. 2017, eq. 3). 0 for no predictions."""
    brier: float
    """The mean of (probability - right)², where right is 0 or 1 (Brier 1950)."""
    bins: tuple[Bin, ...]


def calibrate(
    probabilities: Sequence[float] | Reals, is_right: Sequence[bool], *, n_bins: int = N_BINS
) -> Calibration:
    """Measure how well (P,) probabilities agree with whether each prediction is right.

    Raises ``CorpusError`` for a number that is not a probability.
    """
    values, right = np.asarray(probabilities, np.float64), np.asarray(is_right, np.float64)
    if len(wrong := values[~((values >= 0) & (values <= 1 + 1e-5))]):
        raise CorpusError(f"a prediction has the probability {wrong[0]}. Give one from 0 to 1.")
    values = values.clip(max=1)  # float32 may round above 1
    bins = np.ceil(values * n_bins).astype(np.int64).clip(1) - 1
    counts = np.bincount(bins, minlength=n_bins)
    sums = np.bincount(bins, weights=values, minlength=n_bins).astype(np.float64)
    n_right = np.bincount(bins, weights=right, minlength=n_bins).astype(np.float64)
    n = max(len(values), 1)
    return Calibration(
        n=len(values),
        ece=float(np.abs(n_right - sums).sum() / n),
        brier=float(((values - right) ** 2).sum() / n),
        bins=tuple(
            Bin(
                low=number / n_bins,
                high=(number + 1) / n_bins,
                n=size,
                probability=total / size if size else None,
                right=hits / size if size else None,
            )
            for number, (size, total, hits) in enumerate(
                zip(counts.tolist(), sums.tolist(), n_right.tolist(), strict=True)
            )
        ),
    )


def calibrate_spans(tagged: Sequence[Tagged]) -> tuple[Calibration, Mapping[str, Calibration]]:
    """Measure the calibration of predicted spans: of all spans, and by predicted label.

    A span is right if both ends and the label are.
    """
    pairs: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    for sentence in tagged:
        gold = set(gold_keys(sentence))
        for key, span in zip(predicted_keys(sentence), sentence.spans, strict=True):
            pairs[key[2]].append((span.probability, key in gold))
    return _of([pair for of_label in pairs.values() for pair in of_label]), {
        label: _of(pairs[label]) for label in sorted(pairs)
    }


def calibrate_words(tagged: Sequence[Tagged]) -> Calibration | None:
    """Measure the calibration of the most probable label of each word.

    Sentences without such labels are skipped; returns None if no sentence has them.
    """
    pairs = [
        (probability, label == plain(tag))
        for sentence in tagged
        if sentence.words
        for (label, probability), tag in zip(sentence.words, sentence.sentence.tags, strict=True)
    ]
    return _of(pairs) if pairs else None


def _of(pairs: Sequence[tuple[float, bool]]) -> Calibration:
    return calibrate([p for p, _ in pairs], [right for _, right in pairs])
