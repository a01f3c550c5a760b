"""Scores from counts, with intervals by the bootstrap, and differences between runs.

Shapes: N sentences, U units that are drawn, R replicates, K sets of counts, L labels.

The counts are of ``modeling/taggers/counts.py``. All scores of an evaluation are computed on the
same replicates (``modeling/bootstrap.py``).
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpora.tagging import Score
from modeling.bootstrap import DrawnUnits, Interval, Unit, percentiles, ratios, resample
from modeling.taggers.counts import CORRECT, GOLD, PREDICTED, Numbers, Reals, f1_of

Z = 1.96
"""The number of standard deviations around the mean that hold 95 % of a normal distribution."""


def normal_interval(f1: float, n: int) -> tuple[float, float] | None:
    """Return the 95 % interval f ± 1.96 √(f (1 − f) / n), n gold mentions (DaLUKE thesis, eq. 4.3).

    The interval is not cut to [0, 1]. It treats F1 as a proportion and mentions as independent, and
    is given for comparison only. None without mentions.
    """
    if not n:
        return None
    half = Z * math.sqrt(f1 * (1 - f1) / n)
    return f1 - half, f1 + half


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The score of the first of two runs minus that of the second, on the same sentences."""

    value: float
    interval: Interval | None
    p: float | None
    """The p value: the probability of such a difference by chance; None: no replicates."""
    unit: Unit
    n_units: int


def paired_difference(value: float, replicates: Reals, units: DrawnUnits) -> Difference:
    """Compute the interval and p value of a difference from its (R,) bootstrap replicates.

    Each replicate is the difference of the two runs on one draw; NaN replicates are left out. The
    test is two-sided: p is the fraction of replicates that are at least as far from ``value`` as
    ``value`` is from 0, with ``value`` itself counted once (Davison and Hinkley 1997, section
    4.2.1).
    """
    defined = replicates[~np.isnan(replicates)]
    n_far = int(np.count_nonzero(np.abs(defined - value) >= abs(value) - 1e-12))
    return Difference(
        value=value,
        interval=percentiles(replicates),
        p=(1 + n_far) / (1 + len(defined)) if len(defined) else None,
        unit=units.kind,
        n_units=units.n,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The mean and deviation of a score over runs that differ in their seeds."""

    mean: float
    deviation: float | None
    """The sample standard deviation (n - 1); None for one run."""
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Compute the spread of at least one value."""
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return cls(mean=statistics.fmean(values), deviation=deviation, values=tuple(values))

    def __str__(self) -> str:
        sd = "" if self.deviation is None else f" ± {100 * self.deviation:.2f}"
        return f"{100 * self.mean:.2f}{sd}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated(Score):
    """A score (counts, precision, recall, F1) with an interval of F1."""

    interval: Interval | None = None
    """The bootstrap interval of F1; None: no replicates."""

    @property
    def normal(self) -> tuple[float, float] | None:
        """The interval of F1 by the normal approximation; None without gold mentions."""
        return normal_interval(self.f1, self.gold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of all sentences by one way of counting: strict, lenient or by word."""

    micro: Rated
    without: Rated | None
    """The micro score without the labels to be left out; None: no label is left out."""
    macro_f1: float
    """The mean F1 of the labels that are gold or predicted in any sentence."""
    macro_interval: Interval | None
    by_label: Mapping[str, Rated]
    """The score of each label, in the order of ids, also of those neither gold nor predicted."""


@dataclass(frozen=True, slots=True)
class DrawnCounts:
    """K sets of counts (correct, predicted, gold), summed over all sentences and each replicate."""

    totals: Reals  # (K, 3)
    replicates: Reals  # (R, K, 3)

    def sum(self, chosen: NDArray[np.bool_] | None = None) -> "DrawnCounts":
        """Add up all K sets of counts, or the ``chosen`` (K,) ones, to one set."""
        rows = slice(None) if chosen is None else chosen
        return DrawnCounts(
            self.totals[rows].sum(axis=0, keepdims=True),
            self.replicates[:, rows].sum(axis=1, keepdims=True),
        )


def draw(
    columns: Mapping[str, Numbers], units: DrawnUnits, *, replicates: int = 1000, seed: int = 1
) -> dict[str, DrawnCounts]:
    """Sum named (N, K, 3) arrays of counts over all sentences, and over each bootstrap replicate.

    K may differ between the arrays. The replicates are the same for all of them.
    """
    flat = np.concatenate([rows.reshape(len(rows), -1) for rows in columns.values()], axis=1)
    totals = flat.sum(axis=0).astype(np.float64)
    sums = resample(flat, units, replicates=replicates, seed=seed)
    drawn, start = {}, 0
    for name, rows in columns.items():
        end = start + rows.shape[1] * 3
        shape = rows.shape[1:]
        drawn[name] = DrawnCounts(
            totals[start:end].reshape(shape), sums[:, start:end].reshape(len(sums), *shape)
        )
        start = end
    return drawn


def to_ratings(drawn: DrawnCounts) -> list[Rated]:
    """Convert K sets of counts to a list of K scores with intervals."""
    f1 = _defined_f1(drawn.replicates)
    return [
        Rated(correct=int(c), predicted=int(p), gold=int(g), interval=percentiles(column))
        for (c, p, g), column in zip(drawn.totals, f1.T, strict=True)
    ]


def rate_labels(
    drawn: DrawnCounts, labels: Sequence[str], *, without: Sequence[str] = ()
) -> Scores:
    """Score the counts of L labels: micro, macro, and each label alone.

    The labels in ``without`` are left out of the second micro score.
    """
    counts_in = np.array([label not in without for label in labels], np.bool_)
    value = _macro(drawn.totals[None])[0]
    return Scores(
        micro=to_ratings(drawn.sum())[0],
        without=to_ratings(drawn.sum(counts_in))[0] if without else None,
        macro_f1=0.0 if np.isnan(value) else float(value),
        macro_interval=percentiles(_macro(drawn.replicates)),
        by_label=dict(zip(labels, to_ratings(drawn), strict=True)),
    )


def subtract(
    drawn: DrawnCounts, other: DrawnCounts, units: DrawnUnits, *, place: int = 0
) -> Difference:
    """Compute F1 of one set of counts minus F1 of another, with its interval and p value.

    Both are of the same sentences and replicates; ``place`` is the index of the set in each.
    """
    value = f1_of(drawn.totals[place]) - f1_of(other.totals[place])
    replicates = f1_of(drawn.replicates[:, place]) - f1_of(other.replicates[:, place])
    return paired_difference(float(value), replicates, units)


def _defined_f1(counts: Reals) -> Reals:
    """Compute F1 of (…, 3) counts, shape (…); NaN where nothing is gold or predicted."""
    return ratios(2 * counts[..., CORRECT], counts[..., PREDICTED] + counts[..., GOLD])


def _macro(counts: Reals) -> Reals:
    """Average F1 over labels: (R, L, 3) counts to (R,) means of the defined F1; NaN without any."""
    f1 = _defined_f1(counts)
    n_defined = np.count_nonzero(~np.isnan(f1), axis=1)
    return np.where(n_defined, np.nansum(f1, axis=1) / np.maximum(n_defined, 1), np.nan)
