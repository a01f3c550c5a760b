"""One model of how probable a mention is, with what held-out places say about its precision.

A source holds back truth of its own: links, tagged names, the names of a list. Each place where a
form stands is described by named features; the model gives the probability that it is a mention. It
is learned on all places; its calibration and its threshold come from models that have not seen the
document of the place (cross-fitting).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from corpora.evidence.logistic import Stepped, fit, sigmoid
from corpora.evidence.places import Floats, TruthPlaces
from corpora.evidence.precision import MeasuredThreshold, lowest_threshold, measure
from corpora.system.parsing import parse_json, typed

N_FOLDS = 5


@dataclass(frozen=True)
class Evidence:
    """A model of places, and the threshold that reaches the precision that was asked for."""

    model: Stepped
    calibration: tuple[float, float]
    """Intercept and slope by which the model's log-odds become calibrated ones."""
    min_precision: float
    measured: MeasuredThreshold | None = None
    """The threshold and what it reaches on held-out places; None: no threshold reaches it."""
    expected: float | None = None
    """The mean probability of the places of unknown truth above the threshold, if there are any."""

    def probabilities(self, features: Floats) -> Floats:
        """Compute the probability of a mention at places, shape (N,), from features (N, F)."""
        return self.calibrated(self.model.log_odds(features))

    def calibrated(self, log_odds: Floats) -> Floats:
        """Turn log-odds of the model into probabilities."""
        intercept, slope = self.calibration
        return sigmoid(intercept + slope * log_odds)

    def accepts(self, probabilities: Floats) -> npt.NDArray[np.bool_]:
        """Tell which places are sure enough, shape (N,)."""
        return probabilities >= (2.0 if self.measured is None else self.measured.threshold)

    def to_json(self) -> str:
        """Write the JSON text to store beside the output."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Evidence":
        """Rebuild what ``to_json`` wrote; raises ``ParseError``."""
        return typed(cls, parse_json(text))


def learn(
    places: TruthPlaces,
    *,
    min_precision: float,
    n_missed: float = 0,
    is_cautious: bool = False,
    unknown: Floats | None = None,
    n_parts: Sequence[int] = (1,),
    added: int | None = None,
) -> Evidence:
    """Learn from places, and find the lowest threshold that reaches a precision.

    ``n_missed`` mentions had no place, and lower the recall. ``is_cautious``: the lower end of the
    interval must reach the precision. ``unknown``: features of places of unknown truth, whose mean
    probability above the threshold must reach it, too: they are not as the others are. ``n_parts``:
    tries for the steps of features (``Stepped.fit``); the one that finds most of the held-out
    mentions is taken. ``added``: the index of the feature without which no place is added; what is
    measured, and expected, is of places that have it.
    """
    fits = (_fitted(places, n, min_precision, is_cautious=is_cautious) for n in n_parts)
    evidence, chances, threshold = max(fits, key=lambda fitted: _recall(places, *fitted[1:]))
    expected = None
    if unknown is not None and threshold is not None:
        there = evidence.probabilities(unknown)
        groups, weights = np.zeros(len(there), np.int64), np.ones(len(there))
        as_expected = TruthPlaces(places.names, unknown, there, groups, weights)
        lowest = lowest_threshold(min_precision, there, as_expected)
        threshold = None if lowest is None else max(threshold, lowest)
        is_sure = np.zeros(len(there), np.bool_) if threshold is None else there >= threshold
        is_sure &= True if added is None else unknown[:, added] > 0
        expected = float(there[is_sure].mean()) if is_sure.any() else None
    if threshold is None:
        return evidence
    if added is not None:
        is_added = places.features[:, added] > 0
        n_missed += float(places.truth[~is_added] @ places.weights[~is_added])
        places, chances = places.part(is_added), chances[is_added]
    measured = measure(threshold, chances, places, n_missed=n_missed)
    return replace(evidence, measured=measured, expected=expected)


def _fitted(
    places: TruthPlaces, n_parts: int, min_precision: float, *, is_cautious: bool
) -> tuple[Evidence, Floats, float | None]:
    """Return a model, the probabilities of held-out places, and the lowest threshold."""
    held_out = cross_fit(places, n_parts=n_parts)
    line = fit(replace(places, names=("log_odds",), features=held_out[:, None]), ridge=1e-3)
    calibration = (line.intercept, max(line.weights[0], 0.0))
    evidence = Evidence(Stepped.fit(places, n_parts=n_parts), calibration, min_precision)
    chances = evidence.calibrated(held_out)
    threshold = lowest_threshold(min_precision, chances, places, is_cautious=is_cautious)
    return evidence, chances, threshold


def _recall(places: TruthPlaces, chances: Floats, threshold: float | None) -> float:
    """Add up the mentions at held-out places above a threshold."""
    above = chances >= (2.0 if threshold is None else threshold)
    return float(places.weights[above] @ places.truth[above])


def cross_fit(places: TruthPlaces, *, n_parts: int = 1) -> Floats:
    """Compute the log-odds of each place by a model that has seen no place of its document.

    Where all places are of one document, they are dealt out one by one.
    """
    groups = places.groups
    if not groups.any():
        groups = np.arange(len(places))
    n_folds = min(N_FOLDS, int(groups.max(initial=0)) + 1)
    log_odds = np.zeros(len(places))
    for fold in range(n_folds):
        is_held = groups % n_folds == fold
        model = Stepped.fit(places.part(~is_held), n_parts=n_parts)
        log_odds[is_held] = model.log_odds(places.features[is_held])
    return log_odds
