"""A linear model that chooses among candidates, and one for the probability that it is right.

Both are fitted by Newton's method with an L2 penalty: the same data give the same weights.

Shapes: M mentions, C candidates of a mention, F features.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Features = NDArray[np.float32]
"""Columns of candidates; computed with in double precision."""
Numbers = NDArray[np.int64]
_PENALTIES: Final = (1.0, 3.0, 10.0, 30.0, 100.0)
_LEAST: Final = 1e-9  # least probability of a logarithm
_MIN_PROBABILITY: Final = 0.5  # least probability of a written link, however few links are wrong
_STEPS: Final = 30
_ENOUGH: Final = 1e-8
_ROUNDING: Final = 1e-14  # of a sum of many logarithms, as a part of it
_AT_ONCE: Final = 500  # mentions whose candidates are copied together
_ROWS_AT_ONCE: Final = 4_000
_MANY: Final = 5_000  # mentions from which on a part of them is fitted first
_EVERY: Final = 10


class LinearRecord(TypedDict):
    """The values of a ``Linear`` in JSON."""

    mean: list[float]
    deviation: list[float]
    weights: list[float]
    bias: float


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear model of features that are standardized to mean 0 and deviation 1."""

    mean: Reals  # (F,)
    deviation: Reals  # (F,)
    weights: Reals  # (F,)
    bias: float = 0.0

    def score(self, features: Features | Reals) -> Reals:
        """Score (C, F) features, shape (C,)."""
        return np.asarray((features - self.mean) / self.deviation @ self.weights + self.bias)

    def widened(self, n_columns: int) -> "Linear":
        """Return a model with further columns, of weight 0."""
        n = n_columns - len(self.weights)
        mean, weights = (np.append(values, np.zeros(n)) for values in (self.mean, self.weights))
        return Linear(mean, np.append(self.deviation, np.ones(n)), weights, self.bias)

    def as_json(self) -> LinearRecord:
        """Return the values that ``linear_from_json`` reads."""
        return {
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
            "weights": self.weights.tolist(),
            "bias": self.bias,
        }


def linear_from_json(value: LinearRecord, n_features: int) -> Linear:
    """Make a ``Linear`` of what ``Linear.as_json`` returned.

    Raises ``ValueError`` unless all are finite numbers for ``n_features``; ``KeyError`` and
    ``TypeError`` for other JSON.
    """
    mean, deviation, weights = (
        np.array(value[name], np.float64) for name in ("mean", "deviation", "weights")
    )
    bias = float(value["bias"])
    for values in (mean, deviation, weights):
        if values.shape != (n_features,) or not np.isfinite([*values, bias]).all():
            raise ValueError(f"a model is not of {n_features} finite numbers")
    if not deviation.all():
        raise ValueError("a deviation is 0")
    return Linear(mean, deviation, weights, bias)


def softmax(scores: Reals) -> Reals:
    """Convert (C,) scores of the candidates of one mention to probabilities."""
    if not len(scores):
        return scores
    raised = np.exp(scores - scores.max())
    return np.asarray(raised / raised.sum())


def fit_choice(
    features: Sequence[Features],
    gold: Sequence[int],
    *,
    used: NDArray[np.bool_],
    penalty: float = 1.0,
    start: Linear | None = None,
) -> Linear:
    """Fit a conditional logit to M arrays of features, (C, F), and the index of each right row.

    ``used`` (F,) says which columns may have a weight. Without examples all weights are 0. The
    arrays are read in blocks, so that only a block is copied. A model ``start`` of similar data
    saves steps, and changes the result by less than ``_ENOUGH``; without it, many mentions begin at
    the model of every ``_EVERY``th of them.
    """
    n_columns = len(used)
    weights = np.zeros(n_columns)
    if not features:
        return Linear(np.zeros(n_columns), np.ones(n_columns), weights)
    if start is None and len(features) > _MANY:
        start = fit_choice(features[::_EVERY], gold[::_EVERY], used=used, penalty=penalty)
    blocks = _Blocks(features, gold)
    mean, deviation = _moments(block.rows for block in blocks)
    first = features[0][0]
    differs = [(block.rows != first).any(axis=0) for block in blocks]
    varies = used & np.any(differs, axis=0)  # constant columns get no weight
    places, scales = mean[varies], deviation[varies]

    def look(weights: Reals) -> _Look:
        likelihood, gradient = -0.5 * penalty * weights @ weights, -penalty * weights
        hessian = penalty * np.eye(len(weights))
        for block in blocks:
            rows, starts = (block.rows[:, varies] - places) / scales, block.starts
            scores = rows @ weights
            highest = np.maximum.reduceat(scores, starts)
            raised = np.exp(scores - highest[block.owner])
            sums = np.add.reduceat(raised, starts)
            weighted = rows * (raised / sums[block.owner])[:, None]
            means = np.add.reduceat(weighted, starts)  # (M, F)
            likelihood += (scores[block.right] - highest - np.log(sums)).sum()
            gradient += (rows[block.right] - means).sum(axis=0)
            hessian += rows.T @ weighted - means.T @ means
        return _Look(float(likelihood), gradient, hessian)

    begin = start.weights / start.deviation * deviation if start else weights
    weights[varies] = _climb(look, begin[varies])
    return Linear(mean, deviation, weights)


class _Block(NamedTuple):
    """The candidates of some mentions, one after the other; R rows of M mentions."""

    rows: Reals  # (R, F)
    starts: Numbers
    """(M,), the first row of each mention."""
    owner: Numbers
    """(R,), the mention of each row."""
    right: Numbers
    """(M,), the right row of each mention."""


class _Blocks:
    """Features of mentions, and the right candidate of each, read as often as needed."""

    def __init__(self, features: Sequence[Features], gold: Sequence[int]) -> None:
        self._features, self._gold = features, gold

    def __iter__(self) -> Iterator[_Block]:
        """Yield the mentions, ``_AT_ONCE`` in each block."""
        for n in range(0, len(self._features), _AT_ONCE):
            some = self._features[n : n + _AT_ONCE]
            gold = np.array(self._gold[n : n + _AT_ONCE])
            sizes = np.array([len(rows) for rows in some])
            starts = np.cumsum(sizes) - sizes
            owner = np.repeat(np.arange(len(sizes)), sizes)
            yield _Block(np.concatenate(some, dtype=np.float64), starts, owner, starts + gold)


def fit_logistic(
    features: Reals, right: NDArray[np.bool_], *, penalty: float, start: Linear | None = None
) -> Linear:
    """Fit a logistic regression to (M, F) features and (M,) outcomes, right or wrong.

    The bias has a small penalty, 1e-3. Without examples all weights are 0. A model ``start`` of
    similar data saves steps, as in ``fit_choice``.
    """
    n_columns = features.shape[1]
    if not len(features):
        return Linear(np.zeros(n_columns), np.ones(n_columns), np.zeros(n_columns))
    parts = [slice(n, n + _ROWS_AT_ONCE) for n in range(0, len(features), _ROWS_AT_ONCE)]
    mean, deviation = _moments(features[part] for part in parts)
    penalties = np.array([penalty] * n_columns + [1e-3])

    def look(weights: Reals) -> _Look:
        likelihood, gradient = -0.5 * penalties @ weights**2, -penalties * weights
        hessian = np.diag(penalties)
        for part in parts:
            rows = (features[part] - mean) / deviation
            x = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
            scores = x @ weights
            p = sigmoid(scores)
            likelihood += right[part] @ scores - np.logaddexp(0, scores).sum()
            gradient += x.T @ (right[part] - p)
            hessian += (x * (p * (1 - p))[:, None]).T @ x
        return _Look(float(likelihood), gradient, hessian)

    begin = np.zeros(n_columns + 1)
    if start is not None:
        slopes = start.weights / start.deviation
        begin = np.append(slopes * deviation, start.bias + slopes @ (mean - start.mean))
    weights = _climb(look, begin)
    return Linear(mean, deviation, weights[:-1], float(weights[-1]))


class _Look(NamedTuple):
    """The log-likelihood minus the penalty at a point, and its derivatives."""

    likelihood: float
    gradient: Reals
    hessian: Reals
    """The Hessian of the negative of ``likelihood``."""


def _climb(look: Callable[[Reals], _Look], weights: Reals) -> Reals:
    """Find the maximum by Newton's method; a step that leads down is halved.

    Where a step gains less than the rounding of the likelihood, it is the last: whether it leads
    down can no longer be seen.
    """
    here = look(weights)
    for _ in range(_STEPS):
        step = np.linalg.solve(here.hessian, here.gradient)
        if here.gradient @ step <= _ROUNDING * abs(here.likelihood):
            return np.asarray(weights + step)
        there = look(weights + step)
        while there.likelihood < here.likelihood and np.abs(step).max() > _ENOUGH:
            step = step / 2
            there = look(weights + step)
        if np.abs(step).max() <= _ENOUGH:
            break
        weights, here = weights + step, there
    return weights


class Unseen(NamedTuple):
    """Choices in documents that the weights had not seen, and whether they are right."""

    rows: Reals
    """(M, F), what is known of each choice."""
    right: NDArray[np.bool_]
    """(M,), whether each choice is right."""
    parts: Numbers
    """(M,), the part of the documents that each is in."""
    documents: Numbers
    """(M,), the index of the document of each."""

    def probabilities(self, penalty: float) -> Reals:
        """Compute the probability that each choice is right, by a model of the other parts."""
        whole = fit_logistic(self.rows, self.right, penalty=penalty)
        probabilities = np.zeros(len(self.rows))
        for part in np.unique(self.parts):
            others = self.parts != part
            used = others if others.any() else ~others
            model = fit_logistic(self.rows[used], self.right[used], penalty=penalty, start=whole)
            probabilities[~others] = sigmoid(model.score(self.rows[~others]))
        return probabilities

    def choose_penalty(self) -> float:
        """Choose the penalty for a model of the probability that a choice is right.

        It is the lowest of ``_PENALTIES`` whose log-likelihood in the parts that a model has not
        seen is less than one standard error, over documents, below that of the best.
        """
        losses = []
        for penalty in _PENALTIES:
            p = self.probabilities(penalty)
            loss = -np.log(np.maximum(np.where(self.right, p, 1 - p), _LEAST))
            losses.append(np.bincount(self.documents, loss))
        worse = np.array(losses) - min(losses, key=np.sum)  # (penalties, documents)
        is_near = worse.sum(axis=1) <= np.sqrt(np.square(worse).sum(axis=1))
        return _PENALTIES[int(is_near.argmax())]


def sigmoid(scores: Reals) -> Reals:
    """Compute 1 / (1 + exp(-scores)) without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)))


def _moments(parts: Iterable[Reals]) -> tuple[Reals, Reals]:
    """Compute mean and deviation of the columns of all parts; a deviation of 0 becomes 1."""
    n, mean, squares = 0, np.zeros(0), np.zeros(0)
    for part in parts:  # parts are merged by Chan, Golub and LeVeque's formula
        own = part.mean(axis=0)
        own_squares = np.square(part - own).sum(axis=0)
        if not n:
            n, mean, squares = len(part), own, own_squares
            continue
        both = n + len(part)
        squares = squares + own_squares + np.square(own - mean) * (n * len(part) / both)
        mean, n = mean + (own - mean) * (len(part) / both), both
    deviation = np.sqrt(squares / n)
    return mean, np.where(deviation > 1e-9, deviation, 1.0)


def choose_threshold(
    probabilities: Reals, right: NDArray[np.bool_], documents: Numbers, *, max_wrong: float
) -> float:
    """Find the lowest threshold at which at most a ratio ``max_wrong`` of written links is wrong.

    ``documents`` (M,) are the indices of the documents of the links. Wrong links come several in a
    document, so the ratio must stay below by one standard error over documents. For caution, one
    more link is counted than there are, and taken to be wrong. The result is at least
    ``_MIN_PROBABILITY``, and above 1 if no link can be written.
    """
    order = np.argsort(-probabilities, kind="stable")
    wrong = ~right[order]
    excess = np.where(wrong, 1 - max_wrong, -max_wrong)
    error = np.sqrt(_squares(excess, documents[order]))
    is_safe = (np.cumsum(wrong) + 1) / (np.arange(len(order)) + 2) <= max_wrong
    is_safe &= np.cumsum(excess) + error <= 0
    p = probabilities[order]
    is_last = np.append(p[:-1] != p[1:], True)  # links of equal probability: all or none
    places = np.flatnonzero(is_safe & is_last)
    return max(float(p[places[-1]]), _MIN_PROBABILITY) if len(places) else 1.01


def _squares(values: Reals, groups: Numbers) -> Reals:
    """Sum the values so far in each group, and the squares of these sums; after each value."""
    sums = [0.0] * (int(groups.max(initial=-1)) + 1)
    squares, total = [], 0.0
    for value, group in zip(values.tolist(), groups.tolist(), strict=True):
        total += value * (2 * sums[group] + value)
        sums[group] += value
        squares.append(total)
    return np.array(squares)
