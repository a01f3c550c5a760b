"""Many strings found in a text at once: by an automaton that is fast for the script they are in.

For strings whose characters take three bytes in UTF-8, as those of Chinese, it works on codes of
two bytes instead. The two bytes are of different ranges, so a match can begin and end nowhere but
between characters; all characters that stand in no string share a code. Half a million words are
found in two thirds of the time.
"""

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]
Numbers = npt.NDArray[np.int64]

_LOW = 128
"""First bytes are from here on, second bytes below."""
_MAX_CHARACTERS = _LOW * _LOW - 1
_WORTH = 2.2
"""Bytes of UTF-8 for a character, in the mean, from which on codes are shorter and pay."""


class Automaton:
    """Strings, made once and searched for in much text.

    Args:
        strings: none twice, none empty.
        finds_all: all places, or of those that overlap the leftmost, and there the longest.
    """

    def __init__(self, strings: Sequence[str], *, finds_all: bool) -> None:
        import ahocorasick_rs

        kinds = ahocorasick_rs.MatchKind
        kind = kinds.Standard if finds_all else kinds.LeftmostLongest
        self._finds_all = finds_all
        self.longest = max(map(len, strings), default=0)
        self._table = _table_for("".join(strings))
        self._automaton: Any
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
        """Number of the string, start and end of each place, ordered as they end or begin."""
        searched = text if self._table is None else self._written(text, self._table)
        matches = self._automaton.find_matches_as_indexes(searched, overlapping=self._finds_all)
        flat = np.fromiter(chain.from_iterable(matches), np.int64, 3 * len(matches))
        found, starts, ends = flat.reshape(-1, 3).T
        return (found, starts, ends) if self._table is None else (found, starts // 2, ends // 2)

    @staticmethod
    def _written(text: str, table: npt.NDArray[np.uint16]) -> bytes:
        return table[_codes(text)].tobytes()


def _table_for(joined: str) -> npt.NDArray[np.uint16] | None:
    """The two bytes of each character; None where UTF-8 is as short, or there are too many."""
    if len(joined.encode()) < _WORTH * len(joined):
        return None
    used = np.unique(_codes(joined))
    if len(used) > _MAX_CHARACTERS:
        return None
    firsts, seconds = np.divmod(np.arange(1, len(used) + 1), _LOW)
    table = np.full((0x110000, 2), (_LOW, 0), np.uint8)
    table[used] = np.stack([_LOW + firsts, seconds], axis=1)
    return table.view(np.uint16)[:, 0]


def _codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)
