"""The lines of a text as arrays: where each begins and ends, and where its columns do.

Shapes: L lines.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.ner.columns import Flags, Indices

_LF = 10


@dataclass(frozen=True)
class Lines:
    """The lines of some bytes, which end with a line feed; columns have one byte between them."""

    data: bytes
    separator: str

    @cached_property
    def raw(self) -> npt.NDArray[np.uint8]:
        """The data as numbers."""
        return np.frombuffer(self.data, np.uint8)

    @cached_property
    def ends(self) -> Indices:
        """(L,): where each line ends, before its line feed."""
        return np.flatnonzero(self.raw == _LF)

    @cached_property
    def starts(self) -> Indices:
        """(L,): where each line begins."""
        starts = np.zeros_like(self.ends)
        starts[1:] = self.ends[:-1] + 1
        return starts

    @cached_property
    def _separators(self) -> Indices:
        return np.flatnonzero(self.raw == ord(self.separator))

    @cached_property
    def _first_separators(self) -> Indices:
        """(L + 1,): which separator is the first of each line, or of one after it."""
        first = np.searchsorted(self._separators, self.starts)
        return np.append(first, len(self._separators))

    @cached_property
    def n_columns(self) -> Indices:
        """(L,): how many columns each line has; an empty one has one."""
        return np.diff(self._first_separators) + 1

    @cached_property
    def is_blank(self) -> Flags:
        """(L,): whether there is nothing in a line but blanks and tabs."""
        blank: Flags = self.starts == self.ends
        first = self.first_bytes
        for line in np.flatnonzero((first == ord(" ")) | (first == ord("\t"))).tolist():
            blank[line] = not self.data[self.starts[line] : self.ends[line]].strip(b" \t")
        return blank

    @cached_property
    def first_bytes(self) -> npt.NDArray[np.uint8]:
        """(L,): the first byte of each line; of an empty one its line feed."""
        return self.raw[self.starts]

    def column(self, number: int, lines: Indices) -> tuple[Indices, Indices]:
        """Where a column begins and ends in lines that have it."""
        first = self._first_separators[lines] + number
        starts = self._separators[first - 1] + 1 if number else self.starts[lines]
        ends = self.ends[lines].copy()
        more = number + 1 < self.n_columns[lines]
        ends[more] = self._separators[first[more]]
        return starts, ends

    def values(self, number: int, lines: Indices) -> list[bytes]:
        """The values of a column, in lines that have it."""
        starts, ends = self.column(number, lines)
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return [self.data[start:end] for start, end in pairs]

    def text(self, line: int) -> str:
        """A line, for people; what is invalid in it is marked."""
        raw = self.data[self.starts[line] : self.ends[line]]
        return raw.decode("utf-8", "replace").replace("\0", "\N{SYMBOL FOR NULL}")

    def holding(self, byte: int) -> Indices:
        """The lines that hold a byte."""
        places = np.flatnonzero(self.raw == byte)
        return np.unique(np.searchsorted(self.ends, places))

    def invalid(self) -> Indices:
        """The lines that are not UTF-8."""
        try:
            self.data.decode()
        except UnicodeDecodeError:
            lines = np.unique(np.searchsorted(self.ends, np.flatnonzero(self.raw >= 0x80)))
            return np.array([line for line in lines.tolist() if not self._is_utf8(line)], np.int64)
        return np.zeros(0, np.int64)

    def _is_utf8(self, line: int) -> bool:
        try:
            self.data[self.starts[line] : self.ends[line]].decode()
        except UnicodeDecodeError:
            return False
        return True

    def gather(self, starts: Indices, ends: Indices) -> pa.StringArray:
        """Make an array of strings of parts that are in order and do not touch; valid UTF-8."""
        steps = np.zeros(len(self.data) + 1, np.int8)
        steps[starts] = 1
        steps[ends] -= 1
        inside = np.cumsum(steps[:-1], dtype=np.int8).view(bool)
        offsets = np.zeros(len(starts) + 1, np.int32)
        np.cumsum(ends - starts, out=offsets[1:])
        taken = self.raw[inside]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(taken)]
        return pa.StringArray.from_buffers(len(starts), *buffers[1:])
