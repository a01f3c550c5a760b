"""Arrays of code points, of keys in a row, and of places that overlap."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Units = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The code point of each character."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def code_units(text: str) -> Units:
    """The code points of text in ASCII, the code units in UTF-16 of other text: fast to make."""
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    return np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)


def run_begins(keys: npt.NDArray[np.generic]) -> Numbers:
    """Find where each run of equal keys begins."""
    if not len(keys):
        return np.empty(0, np.int64)
    return np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def first_disjoint(starts: Numbers, ends: Numbers) -> Numbers:
    """Of places in the order of their starts: the first, and each next one that overlaps none."""
    nexts: list[int] = np.searchsorted(starts, ends).tolist()
    kept = []
    at, n = 0, len(nexts)
    while at < n:
        kept.append(at)
        at = nexts[at]
    return np.array(kept, np.int64)
