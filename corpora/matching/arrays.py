"""Helpers on arrays: code points of texts, runs of equal keys, spans that do not overlap."""

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
Units = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the code points of a text, shape (N,) for N characters."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def code_units(text: str) -> Units:
    """Return the code points of an ASCII text, or the UTF-16 code units of another: fast."""
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    return np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)


def run_begins(keys: npt.NDArray[np.generic]) -> Numbers:
    """Find the index at which each run of equal keys begins."""
    if not len(keys):
        return np.empty(0, np.int64)
    return np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def first_disjoint(starts: Numbers, ends: Numbers) -> Numbers:
    """Select the indices of disjoint spans, greedily from the left.

    Spans are sorted by start. The first is kept, then each next one that starts at or after the end
    of the last kept one.
    """
    nexts: list[int] = np.searchsorted(starts, ends).tolist()
    kept = []
    at, n = 0, len(nexts)
    while at < n:
        kept.append(at)
        at = nexts[at]
    return np.array(kept, np.int64)
