"""Bootstrap intervals of scores, by resampling units (documents or sentences).

Shapes: N rows, U units, R replicates, K counts.

A replicate draws U units with replacement; its counts are the sums of the counts of these units.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

Unit = Literal["documents", "sentences"]

MIN_DOCUMENTS = 10
"""With fewer documents, sentences are drawn: so few documents say little about their spread."""

_CELLS = 1 << 21  # counts of draws in memory at once: 16 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A 95 % interval of a score: its 2.5th and 97.5th percentile over the replicates."""

    low: float
    high: float
    replicates: int
    """The number of replicates in which the score is defined, as something is gold or predicted."""


@dataclass(frozen=True, slots=True)
class DrawnUnits:
    """The units (documents or sentences) that are drawn, and the unit of each sentence."""

    kind: Unit
    of: Numbers
    """(N,) the index of the unit of each sentence, from 0 to U - 1."""
    n: int
    """U, the number of units."""

    @classmethod
    def choose(cls, document_ids: Sequence[str]) -> "DrawnUnits":
        """Choose documents as units if there are at least ``MIN_DOCUMENTS``, else sentences."""
        ids: dict[str, int] = {}
        of = [ids.setdefault(id, len(ids)) for id in document_ids]
        if len(ids) < MIN_DOCUMENTS:
            return cls("sentences", np.arange(len(of)), len(of))
        return cls("documents", np.array(of, np.int64), len(ids))


def resample(
    columns: Numbers, units: DrawnUnits, *, replicates: int = 1000, seed: int = 1
) -> Reals:
    """Sum the (N, K) counts of sentences over the units of each replicate, shape (R, K)."""
    sums = np.zeros((units.n, columns.shape[1]))
    np.add.at(sums, units.of, columns)
    drawn = [weights @ sums for weights in _draw(units.n, replicates, seed=seed)]
    return np.concatenate(drawn) if drawn else np.zeros((0, columns.shape[1]))


def _draw(n: int, replicates: int, *, seed: int) -> Iterator[Reals]:
    """Yield (…, U) arrays: how often each unit is drawn in each of some replicates."""
    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS // max(n, 1))
    for start in range(0, replicates if n else 0, at_once):
        rows = min(at_once, replicates - start)
        drawn = generator.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def ratios(part: Reals, whole: Reals) -> Reals:
    """Divide; NaN where the whole is 0, so that this replicate counts in no interval."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)


def percentiles(values: Reals) -> Interval | None:
    """Compute the interval of (R,) replicates of a score; None if it is defined in none of them.

    The score is NaN in replicates in which it is not defined.
    """
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    low, high = np.percentile(defined, [2.5, 97.5])
    return Interval(low=float(low), high=float(high), replicates=len(defined))
