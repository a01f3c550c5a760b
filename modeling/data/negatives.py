"""Entities that a sampled softmax compares with: the same for all targets of a step."""

import numpy as np
from numpy.typing import NDArray

from corpora.entities.vocabulary import MASK
from modeling.data.chance import Integers, Stream, as_uniform, key_of


def proposal_of(
    counts: NDArray[np.int64] | NDArray[np.float64], *, power: float = 0.75
) -> NDArray[np.float64]:
    """Probabilities to draw entities by: their counts, flattened by a power (0: all alike).

    Special and retired entities, whose count is 0, are never drawn. The power is that of Mikolov
    et al., "Distributed representations of words and phrases and their compositionality", 2013,
    section 2.2.
    """
    weights: NDArray[np.float64] = counts.astype(np.float64)
    weights[weights > 0] **= power
    weights[: MASK + 1] = 0
    weights /= weights.sum()
    return weights


class Negatives:
    """Draws entity ids with replacement, by the seed and the number of the step."""

    def __init__(self, n: int, proposal: NDArray[np.float64]) -> None:
        self.n = n
        self._ends = np.cumsum(proposal)
        self._ends /= self._ends[-1]

    def of_step(self, number: int, *, seed: int) -> Integers:
        """(n,) ids; the same on every device and for every micro-batch."""
        keys = key_of(seed, Stream.NEGATIVE, number, np.arange(self.n))
        return np.searchsorted(self._ends, as_uniform(keys), side="right")
