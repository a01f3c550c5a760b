"""A linear choice among candidates, and the probability that the chosen one is right.

Shapes: M names, C candidates of all names together, F features.

Both are fitted by Newton's method with a penalty: same data, same weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
_MIN_PROBABILITY: Final = 0.5  # of a link that is written, however seldom links are wrong
_STEPS: Final = 30
_ENOUGH: Final = 1e-8


class LinearRecord(TypedDict):
    """``Linear``, in JSON."""

    mean: list[float]
    deviation: list[float]
    weights: list[float]
    bias: float


@dataclass(frozen=True, slots=True)
class Linear:
    """Weights of features that were brought to mean 0 and deviation 1."""

    mean: Reals  # (F,)
    deviation: Reals  # (F,)
    weights: Reals  # (F,)
    bias: float = 0.0

    def score(self, features: Reals) -> Reals:
        """(C, F) to (C,)."""
        return np.asarray((features - self.mean) / self.deviation @ self.weights + self.bias)

    def as_json(self) -> LinearRecord:
        """Give what ``linear_from_json`` reads."""
        return {
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
            "weights": self.weights.tolist(),
            "bias": self.bias,
        }


def linear_from_json(value: LinearRecord) -> Linear:
    """Read what ``Linear.as_json`` gave."""
    mean, deviation = np.array(value["mean"]), np.array(value["deviation"])
    return Linear(mean, deviation, np.array(value["weights"]), value["bias"])


def softmax(scores: Reals) -> Reals:
    """(C,) scores of the candidates of one name to probabilities."""
    if not len(scores):
        return scores
    raised = np.exp(scores - scores.max())
    return np.asarray(raised / raised.sum())


def fit_choice(
    features: Sequence[Reals],
    gold: Sequence[int],
    *,
    used: NDArray[np.bool_],
    penalty: float = 1.0,
) -> Linear:
    """Fit a conditional logit: M arrays (C, F), and the row of each that is right.

    ``used`` (F,) says which columns may have a weight. Without examples all weights are 0.
    """
    n_columns = len(used)
    weights = np.zeros(n_columns)
    if not features:
        return Linear(np.zeros(n_columns), np.ones(n_columns), weights)
    every = np.concatenate(features)
    mean, deviation = _moments(every)
    varies = used & (every != every[0]).any(axis=0)  # others would have no weight
    every = (every[:, varies] - mean[varies]) / deviation[varies]
    sizes = np.array([len(one) for one in features])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    owner = np.repeat(np.arange(len(sizes)), sizes)
    right = every[starts + np.array(gold)].sum(axis=0)

    def look(weights: Reals) -> _Look:
        scores = every @ weights
        highest = np.maximum.reduceat(scores, starts)
        raised = np.exp(scores - highest[owner])
        sums = np.add.reduceat(raised, starts)
        weighted = every * (raised / sums[owner])[:, None]
        means = np.add.reduceat(weighted, starts)  # (M, F)
        likelihood = right @ weights - (highest + np.log(sums)).sum()
        hessian = every.T @ weighted - means.T @ means + penalty * np.eye(len(weights))
        return _Look(
            float(likelihood - 0.5 * penalty * weights @ weights),
            right - means.sum(axis=0) - penalty * weights,
            hessian,
        )

    weights[varies] = _climb(look, np.zeros(every.shape[1]))
    return Linear(mean, deviation, weights)


def fit_logistic(features: Reals, right: NDArray[np.bool_], *, penalty: float = 1.0) -> Linear:
    """Fit a logistic regression: (M, F), and what is right; the bias has no penalty."""
    mean, deviation = _moments(features)
    x = np.concatenate([(features - mean) / deviation, np.ones((len(features), 1))], axis=1)
    penalties = np.array([penalty] * features.shape[1] + [1e-3])

    def look(weights: Reals) -> _Look:
        scores = x @ weights
        p = sigmoid(scores)
        likelihood = right @ scores - np.logaddexp(0, scores).sum()
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.diag(penalties)
        return _Look(
            float(likelihood - 0.5 * penalties @ weights**2),
            x.T @ (right - p) - penalties * weights,
            hessian,
        )

    weights = _climb(look, np.zeros(x.shape[1]))
    return Linear(mean, deviation, weights[:-1], float(weights[-1]))


class _Look(NamedTuple):
    """What there is at a point: the likelihood, less the penalty, and its derivatives."""

    likelihood: float
    gradient: Reals
    hessian: Reals
    """Of the negative likelihood."""


def _climb(look: Callable[[Reals], _Look], weights: Reals) -> Reals:
    """Find the top by Newton's method; a step that leads down is halved."""
    here = look(weights)
    for _ in range(_STEPS):
        step = np.linalg.solve(here.hessian, here.gradient)
        there = look(weights + step)
        while there.likelihood < here.likelihood and np.abs(step).max() > _ENOUGH:
            step = step / 2
            there = look(weights + step)
        if np.abs(step).max() <= _ENOUGH:
            break
        weights, here = weights + step, there
    return weights


def sigmoid(scores: Reals) -> Reals:
    """1 / (1 + exp(-scores)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)))


def _moments(features: Reals) -> tuple[Reals, Reals]:
    deviation = features.std(axis=0)
    return features.mean(axis=0), np.where(deviation > 1e-9, deviation, 1.0)


def choose_threshold(probabilities: Reals, right: NDArray[np.bool_], *, max_wrong: float) -> float:
    """Find the least probability with at most this ratio of wrong ones among those written.

    Never less than ``_MIN_PROBABILITY``; above 1 where nothing can be written. One more than there
    are is taken to be wrong, for caution.
    """
    order = np.argsort(-probabilities, kind="stable")
    wrong = np.cumsum(~right[order])
    is_safe = (wrong + 1) / (np.arange(len(order)) + 2) <= max_wrong
    p = probabilities[order]
    is_last = np.append(p[:-1] != p[1:], True)  # of those with one probability: all or none
    places = np.flatnonzero(is_safe & is_last)
    return max(float(p[places[-1]]), _MIN_PROBABILITY) if len(places) else 1.01
