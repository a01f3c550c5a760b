"""How sure scores are: the bootstrap over documents or sentences, and what runs differ by.

Shapes: N sentences, U units that are drawn, R replicates, K columns of counts.

A replicate draws as many units as there are, with replacement; its counts are the sums of theirs.
All scores of an evaluation are computed on the same replicates.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from modeling.taggers.counts import Numbers, Reals

Unit = Literal["documents", "sentences"]

MIN_DOCUMENTS = 10
"""With fewer, sentences are drawn: so few units say little about their spread."""

Z = 1.96
"""Standard deviations on both sides of the mean that hold 95 % of a normal distribution."""

_CELLS = 1 << 21  # weights that are made at once: 16 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where 95 % of the replicates lie."""

    low: float
    high: float
    replicates: int
    """In which the score is defined: in the others nothing was gold, and nothing predicted."""


@dataclass(frozen=True, slots=True)
class Units:
    """What is drawn: the unit of each sentence."""

    kind: Unit
    of: Numbers
    """(N,) from 0 to U - 1."""
    n: int

    @classmethod
    def choose(cls, document_ids: Sequence[str], kind: Unit | None = None) -> "Units":
        """Documents where there are ``MIN_DOCUMENTS`` or more, or else sentences."""
        numbers: dict[str, int] = {}
        of = [numbers.setdefault(id, len(numbers)) for id in document_ids]
        if kind is None:
            kind = "documents" if len(numbers) >= MIN_DOCUMENTS else "sentences"
        if kind == "sentences":
            return cls(kind, np.arange(len(of)), len(of))
        return cls(kind, np.array(of, np.int64), len(numbers))

    def sums(self, columns: Numbers) -> Reals:
        """(N, K) to (U, K): the counts of each unit."""
        sums = np.zeros((self.n, columns.shape[1]))
        np.add.at(sums, self.of, columns)
        return sums


def resample(columns: Numbers, units: Units, *, replicates: int = 1000, seed: int = 1) -> Reals:
    """(N, K) counts of sentences to (R, K): their sums in each replicate."""
    sums = units.sums(columns)
    drawn = [weights @ sums for weights in _draw(units.n, replicates, seed=seed)]
    return np.concatenate(drawn) if drawn else np.zeros((0, columns.shape[1]))


def _draw(n: int, replicates: int, *, seed: int) -> Iterator[Reals]:
    """(…, U): how often each unit is drawn, some replicates at a time."""
    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS // max(n, 1))
    for start in range(0, replicates if n else 0, at_once):
        rows = min(at_once, replicates - start)
        drawn = generator.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def percentiles(values: Reals) -> Interval | None:
    """The interval of (R,) replicates, NaN where the score is not defined; None: it never is."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.percentile(defined, [2.5, 97.5])
    return Interval(low=float(low), high=float(high), replicates=len(defined))


def normal_interval(f1: float, n: int) -> tuple[float, float] | None:
    """By f ± 1.96 √(f (1 − f) / n), n gold mentions (DaLUKE thesis, eq. 4.3).

    Not cut to [0, 1]. It takes F1 for a proportion and mentions for independent; given for
    comparison. None without mentions.
    """
    if not n:
        return None
    half = Z * math.sqrt(f1 * (1 - f1) / n)
    return f1 - half, f1 + half


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """By how much the first of two runs is better than the second, on the same sentences."""

    value: float
    interval: Interval | None
    p: float | None
    """Probability of a difference at least as large if there were none; None: no replicates."""
    unit: Unit
    n_units: int


def paired_difference(value: float, replicates: Reals, units: Units) -> Difference:
    """What (R,) differences of two runs, each on the same draw for both, say of ``value``.

    Two-sided: how often replicates are at least as far from ``value`` as this is from 0, the run
    itself counted once (Davison and Hinkley 1997, section 4.2.1).
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
    """Runs that differ in their seeds."""

    mean: float
    deviation: float | None
    """Of the sample, with n - 1; None for one run."""
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of at least one value."""
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return cls(mean=statistics.fmean(values), deviation=deviation, values=tuple(values))

    def __str__(self) -> str:
        sd = "" if self.deviation is None else f" ± {100 * self.deviation:.2f}"
        return f"{100 * self.mean:.2f}{sd}"
