"""The forms of a vocabulary as a table on disk: searched in text by all processes of a run.

A dictionary of ten million forms fits into no process as an automaton (600 bytes a form while it is
made, 200 after that). Here the folder of a table holds, for each form and for each beginning of one
that ends where a word may end,

- ``keys.npy``: its 64-bit hash, sorted;
- ``values.npy``: twice the number of the form, from 1 on (0: only a beginning), and 1 more if a
  longer form begins so.

A search starts wherever a word may begin and goes from one possible end to the next, for all starts
of a text at once, as long as something is found. Hashes are not compared with the forms: of 10^10
places that are looked at in text, among 10^7 forms, one is taken for a form that it is not with a
probability of 1 : 100.

Bytes a form, of names of two words: 35 on disk (12 for each word end), mapped and shared by all
processes; about 100 while the table is built, by one process.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from corpora.hashing.tokens import Runs, mix
from corpora.matching.surface_forms import boundaries, can_be_found, marks_replaced, windows
from corpora.segmentation.language_tags import primary_language

KEYS, VALUES = "keys.npy", "values.npy"
WINDOW = 1 << 18
"""Characters that are searched at once; longer lines are not cut."""
_FORMS_AT_ONCE = 1 << 16
_NEWLINE = ord("\n")

Numbers = npt.NDArray[np.int64]
_Keys = npt.NDArray[np.uint64]


def build_form_table(folder: Path, forms: Iterable[Sequence[str]]) -> None:
    """Write the table of forms, which have their numbers from 0 in the order in which they come."""
    keys, values = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
    n_before = 0
    for some in forms:
        for start in range(0, len(some), _FORMS_AT_ONCE):
            part = some[start : start + _FORMS_AT_ONCE]
            of_keys, of_values = _entries(part, first=n_before + start)
            keys.append(of_keys)
            values.append(of_values)
        n_before += len(some)
    every, of_every = np.concatenate(keys), np.concatenate(values)
    del keys, values
    order = np.argsort(every, kind="stable")
    every, of_every = every[order], of_every[order]
    del order
    begins = np.flatnonzero(np.append(True, every[1:] != every[:-1])[: len(every)])
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / KEYS, every[begins])
    np.save(folder / VALUES, _merged(of_every, begins))


def _entries(forms: Sequence[str], *, first: int) -> tuple[_Keys, npt.NDArray[np.uint32]]:
    """Keys and values of some forms and of their beginnings; ``first`` is the number of one."""
    numbers = np.array([n for n, form in enumerate(forms) if can_be_found(form)], np.int64)
    codes = _codes("\n".join([*(forms[n] for n in numbers.tolist()), ""]))
    if not len(codes):
        return np.empty(0, np.uint64), np.empty(0, np.uint32)
    stops = np.flatnonzero(codes == _NEWLINE)
    begins = np.append(0, stops[:-1] + 1)
    _, may_end, _ = boundaries(codes, is_korean=True)  # there, words end wherever they do elsewhere
    ends = np.flatnonzero(may_end)
    of = np.searchsorted(stops, ends)
    inside = of < len(stops)
    inside[inside] &= ends[inside] > begins[of[inside]]
    ends, of = ends[inside], of[inside]
    is_whole = ends == stops[of]
    values = np.where(is_whole, (first + numbers[of] + 1) << 1, 1).astype(np.uint32)
    return _runs(codes).hash(begins[of], ends), values


def _merged(values: npt.NDArray[np.uint32], begins: Numbers) -> npt.NDArray[np.uint32]:
    """One value of all those with the same key: the first form, and whether there is a longer."""
    if not len(begins):
        return values
    is_longer = np.bitwise_or.reduceat(values & 1, begins)
    none = np.uint32(0xFFFFFFFE)
    whole = values & none
    first = np.minimum.reduceat(np.where(whole, whole, none), begins)
    return (np.where(first == none, 0, first) | is_longer).astype(np.uint32)


class FormTable:
    """A finished table, mapped: open it in any number of processes."""

    def __init__(self, folder: Path) -> None:
        self._keys = np.load(folder / KEYS, mmap_mode="r")
        self._values = np.load(folder / VALUES, mmap_mode="r")

    def find(self, text: str, *, lang: str | None) -> tuple[Numbers, Numbers, Numbers]:
        """Starts, ends and numbers of the forms in a text: disjoint, the leftmost, the longest.

        They are those that a ``SurfaceMatcher`` finds that does not ignore case.
        """
        is_korean = primary_language(lang) == "ko"
        none = np.zeros(0, np.int64)
        found = [(none, none, none)]
        for begin, end in windows(text, WINDOW):
            starts, ends, numbers = self._find(text[begin:end], is_korean=is_korean)
            found.append((starts + begin, ends + begin, numbers))
        starts, ends, numbers = (np.concatenate(column) for column in zip(*found, strict=True))
        return starts, ends, numbers

    def _find(self, text: str, *, is_korean: bool) -> tuple[Numbers, Numbers, Numbers]:
        codes = _codes(text)
        may_start, may_end, _ = boundaries(codes, is_korean=is_korean)
        starts, stops = np.flatnonzero(may_start), np.flatnonzero(may_end)
        runs = _runs(codes)
        ends, numbers = np.zeros_like(starts), np.full_like(starts, -1)
        active, next_stop = np.arange(len(starts)), np.searchsorted(stops, starts, side="right")
        while True:
            is_inside = next_stop < len(stops)
            active, next_stop = active[is_inside], next_stop[is_inside]
            if not len(active):
                break
            at = stops[next_stop]
            values = self._look_up(runs.hash(starts[active], at))
            is_form = values > 1
            ends[active[is_form]] = at[is_form]
            numbers[active[is_form]] = (values[is_form] >> 1) - 1
            goes_on = (values & 1).astype(np.bool_)
            active, next_stop = active[goes_on], next_stop[goes_on] + 1
        kept = _leftmost(starts, ends, np.flatnonzero(numbers >= 0))
        return starts[kept], ends[kept], numbers[kept]

    def _look_up(self, hashes: _Keys) -> Numbers:
        """The value of each hash; 0 where the table has none."""
        asked, which = np.unique(hashes, return_inverse=True)  # sorted, for the sake of the cache
        places = np.searchsorted(self._keys, asked)
        values = np.zeros(len(asked), np.int64)
        inside = np.flatnonzero(places < len(self._keys))
        known = inside[self._keys[places[inside]] == asked[inside]]
        values[known] = self._values[places[known]]
        return values[which]


def _leftmost(starts: Numbers, ends: Numbers, found: Numbers) -> Numbers:
    """Of places that overlap, the first."""
    kept, last = [], 0
    columns = (found.tolist(), starts[found].tolist(), ends[found].tolist())
    for place, start, end in zip(*columns, strict=True):
        if start >= last:
            kept.append(place)
            last = end
    return np.array(kept, np.int64)


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(marks_replaced(text).encode("utf-32-le", "surrogatepass"), np.uint32)


def _runs(codes: npt.NDArray[np.uint32]) -> Runs:
    """Make what stands between two places a hash, the same wherever that is."""
    return Runs(mix(codes.astype(np.uint64) + np.uint64(1)))
