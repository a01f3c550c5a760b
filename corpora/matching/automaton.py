"""Find many strings in a text at once, and choose among matches that overlap.

If the characters of the strings take three bytes in UTF-8, as in Chinese, the automaton works on
codes of two bytes instead. The first and second bytes of codes have different ranges, so that a
match begins and ends only between characters; all characters that are in no string share a code.
Then half a million words are found in two thirds of the time.
"""

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from corpora.matching.arrays import Numbers, code_points, first_disjoint

_LOW = 128
"""The least first byte of a code; second bytes are less."""
_MAX_CHARACTERS = _LOW * _LOW - 1
_WORTH = 2.2
"""The mean number of UTF-8 bytes per character from which on codes are used."""


class Automaton:
    """An automaton for a set of strings, built once and used to search much text.

    Args:
        strings: no duplicates, no empty string.
        finds_all: find all occurrences; else, of overlapping ones, the leftmost, then longest.
    """

    def __init__(self, strings: Sequence[str], *, finds_all: bool) -> None:
        import ahocorasick_rs

        kinds = ahocorasick_rs.MatchKind
        kind = kinds.Standard if finds_all else kinds.LeftmostLongest
        self._finds_all = finds_all
        self.longest = max(map(len, strings), default=0)
        self._table = _table_for("".join(strings))
        self._automaton: Any  # Any: an automaton on strings, or one on bytes
        if self._table is None:
            self._automaton = ahocorasick_rs.AhoCorasick(
                strings, matchkind=kind, store_patterns=False
            )
            return
        edges = np.cumsum(np.fromiter(map(len, ("", *strings)), np.int64, len(strings) + 1))
        written = self._written("".join(strings), self._table)
        parts = [written[begin:end] for begin, end in pairwise((2 * edges).tolist())]
        self._automaton = ahocorasick_rs.BytesAhoCorasick(parts, matchkind=kind)

    def find(self, text: str) -> tuple[Numbers, Numbers, Numbers]:
        """Return the string index, start and end of each occurrence.

        They are ordered by end if ``finds_all``, else by start.
        """
        searched = text if self._table is None else self._written(text, self._table)
        matches = self._automaton.find_matches_as_indexes(searched, overlapping=self._finds_all)
        flat = np.fromiter(chain.from_iterable(matches), np.int64, 3 * len(matches))
        found, starts, ends = flat.reshape(-1, 3).T
        return (found, starts, ends) if self._table is None else (found, starts // 2, ends // 2)

    @staticmethod
    def _written(text: str, table: npt.NDArray[np.uint16]) -> bytes:
        return table[code_points(text)].tobytes()


def _table_for(joined: str) -> npt.NDArray[np.uint16] | None:
    """Map each code point to a code of two bytes.

    None if UTF-8 is as short, or if there are too many characters.
    """
    if len(joined.encode()) < _WORTH * len(joined):
        return None
    used = np.unique(code_points(joined))
    if len(used) > _MAX_CHARACTERS:
        return None
    firsts, seconds = np.divmod(np.arange(1, len(used) + 1), _LOW)
    table = np.full((0x110000, 2), (_LOW, 0), np.uint8)
    table[used] = np.stack([_LOW + firsts, seconds], axis=1)
    return table.view(np.uint16)[:, 0]


class Cover:
    """A choice of disjoint matches whose squared lengths have the largest sum.

    Squares make one long match win over two that share its characters. Among equally good choices,
    at the first match where they differ, the leftmost wins, then the longest. Matches are added in
    pieces, from right to left; a cover keeps 16 bytes for each character of the text, however many
    matches there are.
    """

    def __init__(self, length: int) -> None:
        """Begin with no match in a text of ``length`` characters."""
        self._ends = np.zeros(length, np.int64)  # end of the match to take at each start, or 0
        self._forms = np.zeros(length, np.int64)
        # starts of the matches that may follow one in a piece added later
        self._starts = np.zeros(0, np.int64)
        self._best = [0]  # largest sums from each of these on, and 0

    def add(self, starts: Numbers, ends: Numbers, forms: Numbers, *, limit: int) -> None:
        """Add all matches that begin in the next piece to the left.

        Matches of later pieces end at ``limit`` at most.
        """
        order = np.lexsort((-ends, starts))
        starts, ends, forms = starts[order], ends[order], forms[order]
        self._starts = np.concatenate([starts, self._starts])
        nexts = np.searchsorted(self._starts, ends)  # the first match that may follow each
        self._best[:0] = [0] * len(starts)
        is_taken = _are_best(((ends - starts) ** 2).tolist(), nexts.tolist(), self._best)
        taken = np.flatnonzero(is_taken)
        begins, firsts = np.unique(starts[taken], return_index=True)  # the longest at each start
        self._ends[begins], self._forms[begins] = ends[taken[firsts]], forms[taken[firsts]]
        n_kept = np.searchsorted(self._starts, limit)
        self._starts = self._starts[:n_kept]
        del self._best[n_kept + 1 :]

    def chosen(self) -> tuple[Numbers, Numbers, Numbers]:
        """Return the starts, ends and forms of the chosen matches, in order."""
        starts = np.flatnonzero(self._ends)
        starts = starts[first_disjoint(starts, self._ends[starts])]
        return starts, self._ends[starts], self._forms[starts]


def _are_best(gains: Sequence[int], nexts: Sequence[int], best: list[int]) -> list[bool]:
    """Tell for each match whether to take it if no match to its left overlaps it; fills ``best``.

    ``best`` holds the largest sum from each match on.
    """
    is_taken = [False] * len(gains)
    for number in range(len(gains) - 1, -1, -1):
        gain = gains[number] + best[nexts[number]]
        is_taken[number] = gain >= best[number + 1]
        best[number] = max(gain, best[number + 1])
    return is_taken
