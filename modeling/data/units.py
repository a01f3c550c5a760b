"""What is masked as one, and in which order and to what number it is drawn.

Shapes: B examples, U units.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from modeling.data.chance import Integers

_RANDOM_BITS: Final = np.uint64(43)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is drawn as one, in the order of the text."""

    sequences: Integers
    """(U,)"""
    starts: Integers
    """(U,) the first row of each."""
    sizes: Integers
    """(U,) rows of each."""
    are_first: NDArray[np.bool_]
    """(U,) drawn before the others of their example."""

    def __getitem__(self, which: NDArray[np.bool_] | Integers) -> "Units":
        return Units(
            self.sequences[which], self.starts[which], self.sizes[which], self.are_first[which]
        )

    def __len__(self) -> int:
        """How many."""
        return len(self.starts)


def places_in_groups(sequences: Integers) -> Integers:
    """The place of each in its group, from 0; groups stand together."""
    return np.arange(len(sequences)) - np.searchsorted(sequences, sequences)


def budgets(n: Integers, share: float) -> Integers:
    """``max(1, round(share · n))`` of n, none of none, and none at all of no share."""
    if not share:
        return np.zeros_like(n)
    return np.where(n > 0, np.maximum(1, np.rint(share * n)), 0).astype(np.int64)


def visiting_order(units: Units, bits: NDArray[np.uint64]) -> Integers:
    """The units by example, in random order in each, those that go first before the others."""
    groups = units.sequences.astype(np.uint64) * np.uint64(2) + ~units.are_first
    return np.argsort(
        (groups << _RANDOM_BITS) | (bits >> (np.uint64(64) - _RANDOM_BITS)), kind="stable"
    )


def within_count(units: Units, order: Integers, limits: Integers) -> NDArray[np.bool_]:
    """The first units of each example, as many as its budget says."""
    sequences = units.sequences[order]
    chosen = np.zeros(len(units), np.bool_)
    chosen[order[places_in_groups(sequences) < limits[sequences]]] = True
    return chosen


def within_pieces(
    units: Units, order: Integers, limits: Integers, *, used: Integers
) -> NDArray[np.bool_]:
    """Units as they come, one that is longer than what is left being skipped (LUKE).

    Where not one fits, and nothing was ``used``, the shortest is chosen. Each turn of the loop
    takes units up to the first that is too long, and leaves out all that are: no more turns than
    there are lengths.

    Args:
        units: what is drawn.
        order: in which they are visited; those that it has not are never chosen.
        limits: (B,) pieces.
        used: (B,) of them, before.
    """
    chosen = np.zeros(len(units), np.bool_)
    left = np.maximum(limits - used, 0)
    waiting = order[units.sizes[order] <= left[units.sequences[order]]]
    while len(waiting):
        sequences, sizes = units.sequences[waiting], units.sizes[waiting]
        before = np.cumsum(sizes) - sizes
        reached = before - before[np.searchsorted(sequences, sequences)] + sizes
        fits = reached <= left[sequences]
        chosen[waiting[fits]] = True
        taken = np.bincount(sequences[fits], weights=sizes[fits], minlength=len(left))
        left -= taken.astype(np.int64)
        waiting = waiting[~fits]
        waiting = waiting[units.sizes[waiting] <= left[units.sequences[waiting]]]
    is_without = (limits > 0) & (used == 0)
    is_without[units.sequences[chosen]] = False
    candidates = order[is_without[units.sequences[order]]]
    candidates = candidates[np.lexsort((units.sizes[candidates], units.sequences[candidates]))]
    chosen[candidates[places_in_groups(units.sequences[candidates]) == 0]] = True
    return chosen
