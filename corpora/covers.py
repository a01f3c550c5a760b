"""Which of many matches that overlap are kept."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def longest_cover(starts: Numbers, ends: Numbers) -> Numbers:
    """Choose disjoint matches whose squared lengths have the largest sum: indices, ordered.

    Squares, so that one long match beats two that share its characters. Of equally good choices
    the one with the leftmost match where they first differ is taken, then that with the longer one.
    """
    order = np.lexsort((-ends, starts))
    starts, ends = starts[order], ends[order]
    gains: list[int] = ((ends - starts) ** 2).tolist()
    nexts: list[int] = np.searchsorted(starts, ends).tolist()  # the first that may come after
    is_taken = _are_best(gains, nexts)
    chosen = []
    at = 0
    while at < len(gains):
        if is_taken[at]:
            chosen.append(at)
        at = nexts[at] if is_taken[at] else at + 1
    return order[np.array(chosen, np.int64)]


def _are_best(gains: Sequence[int], nexts: Sequence[int]) -> list[bool]:
    """Of each match, whether it is taken where none before it reaches into it."""
    best = [0] * (len(gains) + 1)  # from each match on
    is_taken = [False] * len(gains)
    for number in range(len(gains) - 1, -1, -1):
        gain = gains[number] + best[nexts[number]]
        is_taken[number] = gain >= best[number + 1]
        best[number] = max(gain, best[number + 1])
    return is_taken
