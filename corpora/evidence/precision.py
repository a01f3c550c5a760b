"""Precision and recall of the places above a threshold, with intervals that respect documents.

Places of one document are alike, and some count more than others; an interval is that of as many
independent places as would vary as much.
"""

from dataclasses import dataclass

import numpy as np

from corpora.evidence.places import Floats, TruthPlaces

MIN_PLACES = 20
"""The fewest held-out places above a threshold by which its precision counts as known."""
_Z = 1.959963984540054  # normal quantile of a 95 % interval


@dataclass(frozen=True)
class WilsonRatio:
    """A fraction with its 95 % interval (Wilson), and the number of places behind it."""

    value: float
    low: float
    high: float
    n_places: int

    def __str__(self) -> str:
        """Show percentages."""
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%}, {self.n_places:,} places)"


@dataclass(frozen=True)
class MeasuredThreshold:
    """The precision and recall of a threshold on places that took no part in learning."""

    threshold: float
    precision: WilsonRatio
    recall: WilsonRatio


def measure(
    threshold: float, probabilities: Floats, places: TruthPlaces, *, n_missed: float = 0
) -> MeasuredThreshold:
    """Measure a threshold; ``n_missed`` mentions had no place to judge, and count as not found."""
    chosen = probabilities >= threshold
    precision = ratio_of(places.part(chosen))
    found = TruthPlaces(
        places.names,
        places.features,
        chosen.astype(np.float64),
        places.groups,
        places.weights * places.truth,
    )
    recall = ratio_of(found.part(found.weights > 0))
    n_mentions = found.weights.sum()
    share = n_mentions / max(n_mentions + n_missed, 1e-9)
    ends = (recall.value * share, recall.low * share, recall.high * share)
    return MeasuredThreshold(threshold, precision, WilsonRatio(*ends, recall.n_places))


def ratio_of(places: TruthPlaces) -> WilsonRatio:
    """Estimate the fraction that is true, with its interval; without places it may be anything."""
    total = float(places.weights.sum())
    if not total:
        return WilsonRatio(0.0, 0.0, 1.0, 0)
    value = float(places.weights @ places.truth) / total
    low, high = wilson(value, _independent(places, value))
    return WilsonRatio(value, low, high, len(places))


def wilson(value: float, n: float) -> tuple[float, float]:
    """Compute the 95 % interval of a fraction of ``n`` independent places."""
    low, high = (_wilson_end(np.array([value]), np.array([n]), sign=sign) for sign in (-1, 1))
    return max(0.0, float(low[0])), min(1.0, float(high[0]))


def _wilson_end(values: Floats, n: Floats, *, sign: int) -> Floats:
    margins = _Z * np.sqrt(values * (1 - values) / n + _Z**2 / (4 * n * n))
    ends: Floats = (values + _Z**2 / (2 * n) + sign * margins) / (1 + _Z**2 / n)
    return ends


def _independent(places: TruthPlaces, value: float) -> float:
    """Estimate how many independent places of equal weight would vary as much as these."""
    total = places.weights.sum()
    by_weight = float(total**2 / (places.weights**2).sum())
    of_group = np.bincount(places.groups, weights=places.weights * (places.truth - value))
    variance = float((of_group**2).sum() / total**2)
    by_group = value * (1 - value) / variance if variance > 0 else by_weight
    return max(1.0, min(by_weight, by_group))


def lowest_threshold(
    min_precision: float, probabilities: Floats, places: TruthPlaces, *, is_cautious: bool = False
) -> float | None:
    """Find the lowest threshold above which places are right as often as ``min_precision`` says.

    ``is_cautious``: not only the precision must be so high, but the lower end of its interval.
    None: no threshold with at least ``MIN_PLACES`` above it is high enough.
    """
    order = np.argsort(-probabilities, kind="stable")
    ranked, values = places.part(order), probabilities[order]
    weights = np.maximum(ranked.weights, 1e-12)
    right, total = np.cumsum(weights * ranked.truth), np.cumsum(weights)
    precision = right / total
    if is_cautious:
        precision = _wilson_end(precision, total**2 / np.cumsum(weights**2), sign=-1)
    is_last = np.append(values[1:] < values[:-1], True)[: len(values)]  # of equal probabilities
    is_known = np.arange(1, len(values) + 1) >= MIN_PLACES
    reached = np.flatnonzero(is_last & is_known & (precision >= min_precision - 1e-9))
    return float(values[reached[-1]]) if len(reached) else None
