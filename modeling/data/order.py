"""Which examples a step takes: computed from its number, so that a run can go on anywhere.

No order is stored. Within an epoch the examples follow a permutation that is computed place by
place (``chance.permuted``).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from modeling.config import ConfigError
from modeling.data.chance import Integers, Stream, key_of, permuted

BLOCK: Final = 1_000
"""Examples in which the weights of mixed sets are kept exactly: they count in thousandths."""


class Chosen(NamedTuple):
    """The examples of a step."""

    sets: Integers
    """(n,) which set each is of."""
    numbers: Integers
    """(n,) its number in the set."""
    epochs: Integers
    """(n,) how often the set was gone through before."""


class Order(Protocol):
    """Which examples a step takes."""

    steps: int
    """Of an epoch."""

    def step(self, number: int) -> Chosen:
        """Of a step, from 0."""


class Epochs:
    """All sets as one: each example once an epoch; the last step of an epoch may be short."""

    def __init__(self, sizes: Sequence[int], *, batch_size: int, seed: int) -> None:
        self._starts = np.cumsum([0, *sizes])
        self.n_examples = int(self._starts[-1])
        self.batch_size, self.seed = batch_size, seed
        self.steps = -(-self.n_examples // batch_size)
        """Of an epoch."""

    def step(self, number: int) -> Chosen:
        """Of a step, from 0."""
        epoch, step = divmod(number, self.steps)
        first = step * self.batch_size
        places = np.arange(first, min(first + self.batch_size, self.n_examples))
        keys = key_of(self.seed, Stream.SHUFFLE, epoch)
        places = permuted(places, self.n_examples, keys)
        sets = np.searchsorted(self._starts, places, side="right") - 1
        return Chosen(sets, places - self._starts[sets], np.full(len(places), epoch))


class Mixture:
    """Sets by weight, endless: each goes through its own epochs.

    Of each thousand examples in a row a set gives its share, in thousandths, rounded, at least
    one; which of the thousand they are is a permutation. A set hands out its examples in the order
    of that permutation, so that within a thousand an epoch's end may precede the last examples of
    the epoch before.
    """

    def __init__(
        self, sizes: Sequence[int], weights: Sequence[float], *, batch_size: int, seed: int
    ) -> None:
        if len(weights) != len(sizes):
            raise ConfigError(
                f"data.weights: {len(weights)} for {len(sizes)} datasets; give one each."
            )
        if min(weights) <= 0 or len(weights) > BLOCK:
            raise ConfigError("data.weights: must be above 0; leave out a dataset that has none.")
        self.sizes = np.array(sizes)
        self.shares = _thousandths(np.array(weights, np.float64))
        """(S,) of a thousand examples, those of each set."""
        self._starts = np.cumsum(self.shares) - self.shares
        self.batch_size, self.seed = batch_size, seed
        self.steps = -(-int(self.sizes.sum()) // batch_size)
        """In which as many examples are taken as there are."""

    def step(self, number: int) -> Chosen:
        """Of a step, from 0."""
        places = np.arange(self.batch_size) + number * self.batch_size
        blocks, places = np.divmod(places, BLOCK)
        slots = permuted(places, BLOCK, key_of(self.seed, Stream.SET, blocks))
        sets = np.searchsorted(self._starts, slots, side="right") - 1
        turns = blocks * self.shares[sets] + slots - self._starts[sets]
        epochs, places = np.divmod(turns, self.sizes[sets])
        numbers = np.empty_like(places)
        for of in np.unique(sets):
            here = sets == of
            keys = key_of(self.seed, Stream.SHUFFLE, epochs[here], int(of))
            numbers[here] = permuted(places[here], int(self.sizes[of]), keys)
        return Chosen(sets, numbers, epochs)


def _thousandths(weights: NDArray[np.float64]) -> Integers:
    """Shares of a thousand by largest remainder; at least 1 each, taken from the largest."""
    exact = weights / weights.sum() * BLOCK
    shares: Integers = np.floor(exact + 1e-9).astype(np.int64)
    shares[np.argsort(shares - exact, kind="stable")[: BLOCK - int(shares.sum())]] += 1
    while not shares.all():
        shares[np.argmin(shares)] += 1
        shares[np.argmax(shares)] -= 1
    return shares
