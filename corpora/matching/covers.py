"""Which of many matches that overlap are kept."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


class Cover:
    """Choose disjoint matches whose squared lengths have the largest sum.

    Squares, so that one long match beats two that share its characters. Of equally good choices
    the one with the leftmost match where they first differ is taken, then that with the longer one.
    Matches are added in pieces, from the right; a cover keeps 16 bytes for each character of the
    text, however many matches there are.
    """

    def __init__(self, length: int) -> None:
        """Begin with no match in a text of ``length`` characters."""
        self._ends = np.zeros(length, np.int64)  # of the match to take where one begins, or 0
        self._forms = np.zeros(length, np.int64)
        self._starts = np.zeros(0, np.int64)  # of matches that those to come may end before
        self._best = [0]  # the largest sum from each of them on

    def add(self, starts: Numbers, ends: Numbers, forms: Numbers, *, limit: int) -> None:
        """Add all matches between those before and some place; the next ones end by ``limit``."""
        order = np.lexsort((-ends, starts))
        starts, ends, forms = starts[order], ends[order], forms[order]
        self._starts = np.concatenate([starts, self._starts])
        nexts = np.searchsorted(self._starts, ends)  # the first that may come after
        self._best[:0] = [0] * len(starts)
        is_taken = _are_best(((ends - starts) ** 2).tolist(), nexts.tolist(), self._best)
        taken = np.flatnonzero(is_taken)
        begins, firsts = np.unique(starts[taken], return_index=True)  # the longest
        self._ends[begins], self._forms[begins] = ends[taken[firsts]], forms[taken[firsts]]
        n_kept = np.searchsorted(self._starts, limit)
        self._starts = self._starts[:n_kept]
        del self._best[n_kept + 1 :]

    def chosen(self) -> tuple[Numbers, Numbers, Numbers]:
        """Starts, ends and forms of those that are kept, ordered."""
        starts = np.flatnonzero(self._ends)
        nexts: list[int] = np.searchsorted(starts, self._ends[starts]).tolist()
        kept = []
        at = 0
        while at < len(nexts):
            kept.append(at)
            at = nexts[at]
        starts = starts[np.array(kept, np.int64)]
        return starts, self._ends[starts], self._forms[starts]


def _are_best(gains: Sequence[int], nexts: Sequence[int], best: list[int]) -> list[bool]:
    """Of each match, whether it is taken where none before it reaches into it; fills ``best``."""
    is_taken = [False] * len(gains)
    for number in range(len(gains) - 1, -1, -1):
        gain = gains[number] + best[nexts[number]]
        is_taken[number] = gain >= best[number + 1]
        best[number] = max(gain, best[number + 1])
    return is_taken
