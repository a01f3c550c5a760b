"""Logistic regression with a ridge penalty, by Newton's method: the same places, the same model.

A feature may also be described by the steps that its value has passed (``Stepped``): a sum of
curves, one for each feature, as in generalized additive models (Hastie and Tibshirani 1986).

Shapes: N places, F features, S steps of all features.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from corpora.evidence.places import Floats, TruthPlaces

RIDGE = 1.0
"""The penalty of the squared weight of a standardised feature, in places."""
RIDGE_OF_STEPS = 10.0
"""The same where features have steps, which are many."""
_RELATIVE = 0.01  # of its mean: a feature that varies less tells next to nothing
_MAX_STEPS = 50
_CONVERGED = 1e-8
_DECIMALS = 9  # of stored numbers: threads may add up in another order, which moves later digits
_FAR = 30.0  # log-odds beyond which a probability is 0 or 1 for all purposes


@dataclass(frozen=True)
class Logistic:
    """A fitted model: the log-odds of a place are ``intercept + features @ weights``."""

    names: tuple[str, ...]
    """The names of the features, in order."""
    weights: tuple[float, ...]
    intercept: float

    def log_odds(self, features: Floats) -> Floats:
        """Compute the log-odds of places, shape (N,), from their features, shape (N, F)."""
        # A sum of products, not of BLAS: its order does not depend on the number of threads.
        products: Floats = (features * np.array(self.weights)).sum(axis=1)
        return products + self.intercept


@dataclass(frozen=True)
class Stepped:
    """A fitted model of features and of the steps that they pass."""

    cuts: tuple[tuple[float, ...], ...]
    """For each feature, the values at which it has a step, ascending."""
    model: Logistic
    """The model of the F features and S steps, in this order."""

    @classmethod
    def fit(cls, places: TruthPlaces, *, n_parts: int = 1) -> "Stepped":
        """Fit a model to places; a feature has its steps between ``n_parts`` equal parts of them.

        With one part there are no steps.
        """
        ranks = np.linspace(0, 1, n_parts + 1)[1:-1]
        columns = places.features.T if len(places) else np.zeros((len(places.names), 1))
        cuts = tuple(
            tuple(float(value) for value in np.unique(np.quantile(column, ranks)) if value > low)
            for column, low in zip(columns, columns.min(axis=1), strict=True)
        )
        names = [
            f"{name} from {cut:g}"
            for name, of in zip(places.names, cuts, strict=True)
            for cut in of
        ]
        described = replace(
            places, names=(*places.names, *names), features=_described(places.features, cuts)
        )
        return cls(cuts, fit(described, ridge=RIDGE if n_parts == 1 else RIDGE_OF_STEPS))

    def log_odds(self, features: Floats) -> Floats:
        """Compute the log-odds of places, shape (N,), from their features, shape (N, F)."""
        return self.model.log_odds(_described(features, self.cuts))


def _described(features: Floats, cuts: Sequence[Sequence[float]]) -> Floats:
    """Put a flag for each step beside the features, shape (N, F + S)."""
    flags = [column[:, None] >= np.array(of) for column, of in zip(features.T, cuts, strict=True)]
    return np.concatenate([features, *flags], axis=1)


def sigmoid(log_odds: Floats) -> Floats:
    """Turn log-odds into probabilities."""
    chances: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -_FAR, _FAR)))
    return chances


def fit(places: TruthPlaces, *, ridge: float = RIDGE) -> Logistic:
    """Fit a model to places.

    Its weights are those of the features as they are; the penalty is that of standardised ones, so
    that units do not matter. A feature that never varies gets no weight, and one that hardly does
    little.
    """
    features, counts = places.features, places.weights
    total = max(counts.sum(), 1e-9)
    means = counts @ features / total
    variances = counts @ (features - means) ** 2 / total
    scales = np.sqrt(variances + (_RELATIVE * means) ** 2)
    scales[variances < 1e-18] = np.inf
    design = np.column_stack([(features - means) / scales, np.ones(len(places))])
    penalty = np.append(np.full(len(places.names), ridge), 1e-3)  # keeps the intercept finite
    standard = _Problem(design, places, penalty).solve()
    slopes = standard[:-1] / scales
    return Logistic(
        places.names,
        tuple(np.round(slopes, _DECIMALS).tolist()),
        round(float(standard[-1] - slopes @ means), _DECIMALS),
    )


@dataclass(frozen=True, eq=False)
class _Problem:
    """The penalised loss of a design matrix with a column of ones, shape (N, F + 1)."""

    design: Floats
    places: TruthPlaces
    penalty: Floats

    def solve(self) -> Floats:
        """Minimise the loss; a step that does not lower it is halved."""
        values = np.zeros(self.design.shape[1])
        loss = self._loss(values)
        for _ in range(_MAX_STEPS):
            step = self._step(values)
            new = self._loss(values - step)
            while new > loss and np.abs(step).max() > _CONVERGED:
                step /= 2
                new = self._loss(values - step)
            values, loss = values - step, new
            if np.abs(step).max() <= _CONVERGED:
                break
        return values

    def _step(self, values: Floats) -> Floats:
        design, counts = self.design, self.places.weights
        chances = sigmoid(design @ values)
        gradient = design.T @ (counts * (chances - self.places.truth)) + self.penalty * values
        curvature = (design.T * (counts * chances * (1 - chances))) @ design
        curvature[np.diag_indices_from(curvature)] += self.penalty
        return np.linalg.solve(curvature, gradient).astype(np.float64)

    def _loss(self, values: Floats) -> float:
        log_odds = self.design @ values
        losses = np.logaddexp(0, log_odds) - self.places.truth * log_odds
        return float(self.places.weights @ losses + self.penalty @ values**2 / 2)
