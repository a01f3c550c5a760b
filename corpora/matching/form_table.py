"""A table of forms, in memory or on disk, by which they are found in text; offsets never move.

A table on disk is shared by all processes of a run, so that none holds a dictionary of ten million
forms. It has an entry for each form, and for each prefix of a form that ends where a word may end:

- ``keys.npy``: the 64-bit hashes of the entries, sorted, and after them the largest hash possible;
- ``values.npy``: twice the number of the form, from 1 on (0: only a prefix), plus 1 if the entry is
  a prefix of a longer form;
- ``firsts.npy``: the range of hashes is cut into as many equal parts as there are keys; for each
  part, the index of its first key. So a hash is found in the first or second place looked at.

A search starts wherever a word may begin and goes from one possible end to the next, for all starts
of a text at once, as long as something is found. Forms that may end inside a word are looked for at
each character of the next word. Hashes are not compared with the forms: in 10^10 places that are
looked at, among 10^7 forms, a form is found where it is not with a probability of 1 : 100.

Forms of several groups may lie in one table: the hash of a form is combined with that of its group,
so that a search finds the forms of one group.

A form of two words takes 47 bytes on disk (16 for each word end), mapped and shared by all
processes, and about 100 while the table is built, by one process. In scripts without spaces, where
a word may end after each character, each prefix takes 16.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.hashing.strings import long_hashes
from corpora.hashing.tokens import Runs, mix
from corpora.matching.arrays import Numbers, code_points, first_disjoint, run_begins
from corpora.matching.composition import find_composed
from corpora.matching.surface_forms import (
    Right,
    boundaries,
    can_be_found,
    fold,
    may_end_inside,
    windows,
)
from corpora.segmentation.language_tags import primary_language

FILES = "keys.npy", "values.npy", "firsts.npy"
WINDOW = 1 << 16
"""The number of characters that are searched at once; longer lines are not cut."""
_FORMS_AT_ONCE = 1 << 16
_NEWLINE = ord("\n")
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)  # a key that ends every search

_NONE: Numbers = np.zeros(0, np.int64)
_Keys = npt.NDArray[np.uint64]


def build_form_table(
    folder: Path, forms: Iterable[Sequence[str]], *, groups: Sequence[tuple[str, int]] = ()
) -> None:
    """Write the table of forms, numbered from 0 in the order in which they come.

    ``groups``: the groups of the forms in this order, each with the number of forms up to its end;
    none: the forms belong to no group.
    """
    folder.mkdir(parents=True, exist_ok=True)
    columns: Sequence[npt.NDArray[np.generic]] = _columns(forms, groups)
    for name, column in zip(FILES, columns, strict=True):
        np.save(folder / name, column)


def _columns(
    forms: Iterable[Sequence[str]], groups: Sequence[tuple[str, int]]
) -> tuple[_Keys, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Build the three arrays of a table."""
    salts = _salts_of([name for name, _ in groups])
    borders = np.array([end for _, end in groups], np.int64)
    keys, values = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
    n_before = 0
    for some in forms:
        for start in range(0, len(some), _FORMS_AT_ONCE):
            part = some[start : start + _FORMS_AT_ONCE]
            of_keys, of_values, of_forms = _entries(part, first=n_before + start)
            if groups:
                of_keys ^= salts[np.searchsorted(borders, of_forms, side="right")]
            keys.append(of_keys)
            values.append(of_values)
        n_before += len(some)
    every, of_every = np.concatenate(keys), np.concatenate(values)
    del keys, values
    order = np.argsort(every, kind="stable")
    every, of_every = every[order], of_every[order]
    del order
    begins = run_begins(every)
    merged = np.append(_merged(of_every, begins), np.uint32(0))
    every = np.append(every[begins], _LAST)
    return every, merged, _firsts(every)


def _firsts(keys: _Keys) -> npt.NDArray[np.uint32]:
    """Find the first key of each range, for as many equal ranges of hashes as there are keys.

    Keys are sorted; an empty range gets the first key after it.
    """
    n = np.uint64(len(keys))
    firsts = np.empty(len(keys), np.uint32)
    for start in range(0, len(keys), _FORMS_AT_ONCE):
        ranges = np.arange(start, min(start + _FORMS_AT_ONCE, len(keys)), dtype=np.uint64)
        least = ((ranges << np.uint64(32)) + n - np.uint64(1)) // n << np.uint64(32)
        firsts[start : start + len(least)] = np.searchsorted(keys, least)
    return firsts


def _ranges(keys: _Keys, n: int) -> _Keys:
    """Return the range of each key, of ``n`` ranges of equal size."""
    return (keys >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)


def _salts_of(groups: Sequence[str | None]) -> _Keys:
    """Return what the hashes of the forms of each group are combined with; 0 for None."""
    return long_hashes(pa.array([group or "" for group in groups], pa.string()))


def _entries(forms: Sequence[str], *, first: int) -> tuple[_Keys, npt.NDArray[np.uint32], Numbers]:
    """Return keys and values of some forms and of their beginnings, up to each end of a word.

    Also returns the number of the form of each. ``first`` is that of the first of these forms.
    """
    numbers = np.array([n for n, form in enumerate(forms) if can_be_found(form)], np.int64)
    codes = code_points("\n".join([*(forms[n] for n in numbers.tolist()), ""]))
    if not len(codes):
        return np.empty(0, np.uint64), np.empty(0, np.uint32), _NONE
    stops = np.flatnonzero(codes == _NEWLINE)
    begins = np.append(0, stops[:-1] + 1)
    _, may_end = boundaries(codes, is_korean=True)  # Korean has all word ends of other languages
    ends = np.flatnonzero(may_end)
    of = np.searchsorted(stops, ends)
    inside = of < len(stops)
    inside[inside] &= ends[inside] > begins[of[inside]]
    ends, of = ends[inside], of[inside]
    is_whole = ends == stops[of]
    of_forms = first + numbers[of]
    values = np.where(is_whole, (of_forms + 1) << 1, 1).astype(np.uint32)
    return _runs(codes).hash(begins[of], ends), values, of_forms


def _merged(values: npt.NDArray[np.uint32], begins: Numbers) -> npt.NDArray[np.uint32]:
    """Merge the values that have the same key.

    The result names the first form, and tells whether a longer form begins so.
    """
    if not len(begins):
        return values
    is_longer = np.bitwise_or.reduceat(values & 1, begins)
    none = np.uint32(0xFFFFFFFE)
    whole = values & none
    first = np.minimum.reduceat(np.where(whole, whole, none), begins)
    return (np.where(first == none, 0, first) | is_longer).astype(np.uint32)


class FormTable:
    """A finished table: that of a folder, mapped, or one that is made of forms in memory."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        forms: Iterable[Sequence[str]] = (),
        groups: Sequence[tuple[str, int]] = (),
    ) -> None:
        if folder is None:
            self._keys, self._values, self._firsts = _columns(forms, groups)
            return
        mapped = [np.asarray(np.load(folder / name, mmap_mode="r")) for name in FILES]
        self._keys, self._values, self._firsts = mapped

    def find(
        self,
        text: str,
        starts: npt.NDArray[np.integer] = _NONE,
        ends: npt.NDArray[np.integer] = _NONE,
        *,
        lang: str | None,
        ignore_case: bool = False,
        right: Right = "word",
        groups: Sequence[str | None] = (None,),
        borders: Numbers = _NONE,
        without: Numbers | None = None,
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return starts, ends and numbers of the forms of a group in a text: disjoint, in order.

        Of overlapping matches, the leftmost is kept, and there the longest. A match overlaps none
        of the occupied spans, given by ``starts`` and ``ends``, and no line end: many texts, joined
        by newlines, can be searched at once. At each of ``borders`` the text of the next of
        ``groups`` begins. Where case is ignored, forms must be folded already. ``without``: the
        numbers of forms that count as missing.
        """
        text = fold(text, lang=lang) if ignore_case else text
        salts = _salts_of(groups)
        found = [(_NONE, _NONE, _NONE)]
        for begin, end in windows(text, WINDOW):
            inside = (starts < end) & (ends > begin)
            spans = ((column[inside] - begin).tolist() for column in (starts, ends))
            codes = code_points(text[begin:end]).copy()  # spans are written over
            firsts, lasts, numbers = self._find(
                codes,
                zip(*spans, strict=True),
                is_korean=primary_language(lang) == "ko",
                right=right,
                salts=salts,
                borders=borders - begin,
                without=without,
            )
            found.append((firsts + begin, lasts + begin, numbers))
        firsts, lasts, numbers = (np.concatenate(column) for column in zip(*found, strict=True))
        return firsts, lasts, numbers

    def _find(
        self,
        codes: npt.NDArray[np.uint32],
        occupied: Iterable[tuple[int, int]],
        *,
        is_korean: bool,
        right: Right,
        salts: _Keys,
        borders: Numbers,
        without: Numbers | None,
    ) -> tuple[Numbers, Numbers, Numbers]:
        may_start, may_end = boundaries(codes, is_korean=is_korean)
        may_end_in_word = may_end_inside(codes) if right == "prefix" else None
        for begin, end in occupied:
            codes[max(begin, 0) : end] = _NEWLINE  # no form has a newline
        starts, stops = np.flatnonzero(may_start), np.flatnonzero(may_end)
        runs = _runs(codes)
        salt_of = salts[np.searchsorted(borders, starts, side="right")] if len(borders) else None
        longest, form_of = np.zeros((2, len(starts)), np.int64)  # by start: the end, or 0; the form
        active, next_stop = np.arange(len(starts)), np.cumsum(may_end, dtype=np.int64)[starts]
        begins = starts  # the place after which the search continues
        while True:
            n_inside = np.searchsorted(next_stop, len(stops))  # ascending, as starts are
            active, next_stop, begins = active[:n_inside], next_stop[:n_inside], begins[:n_inside]
            if not len(active):
                break
            at = stops[next_stop]
            of, ends, lasts = np.arange(len(at)), at, np.arange(len(at))
            if may_end_in_word is not None:
                of, ends, lasts = _between(begins, at, may_end_in_word)
            hashes = runs.hash(starts[active[of]], ends)
            hashes ^= salts[0] if salt_of is None else salt_of[active[of]]
            values = self._look_up(hashes)
            places = np.flatnonzero(values > 1)
            if without is not None:
                places = places[~np.isin((values[places] >> 1) - 1, without)]
            which, numbers = active[of[places]], (values[places] >> 1) - 1
            longest[which], form_of[which] = ends[places], numbers  # the last, as ends ascend
            goes_on = np.flatnonzero(values[lasts] & 1)
            begins, active, next_stop = at[goes_on], active[goes_on], next_stop[goes_on] + 1
        kept = np.flatnonzero(longest)
        kept = kept[first_disjoint(starts[kept], longest[kept])]
        return starts[kept], longest[kept], form_of[kept]

    def _look_up(self, hashes: _Keys) -> Numbers:
        """Look up the value of each hash; 0 where the table has none."""
        at = self._firsts[_ranges(hashes, len(self._firsts))].astype(np.int64)
        keys = self._keys[at]
        later = np.flatnonzero(keys < hashes)
        while len(later):
            at[later] += 1
            keys[later] = self._keys[at[later]]
            later = later[keys[later] < hashes[later]]
        values = np.zeros(len(at), np.int64)
        known = np.flatnonzero(keys == hashes)
        values[known] = self._values[at[known]]
        return values


class SurfaceMatcher:
    """A matcher of a dictionary of forms in memory, built once and used on much text.

    If several forms fold to the same string, the first counts. An empty form, one with a newline,
    and one that begins with a combining mark are never found.
    """

    def __init__(
        self,
        forms: Sequence[str],
        *,
        lang: str | None,
        ignore_case: bool = True,
        right: Right = "word",
    ) -> None:
        folded = [fold(form, lang=lang) for form in forms] if ignore_case else forms
        table = FormTable(forms=[folded])
        self._find = partial(table.find, lang=lang, ignore_case=ignore_case, right=right)

    def find(
        self, text: str, occupied: Sequence[tuple[int, int]] = (), *, composes: bool = False
    ) -> list[tuple[int, int, int]]:
        """Return disjoint matches in order: (start, end, index into forms).

        Of overlapping matches, the leftmost is kept, and there the longest. Matches that overlap a
        span in ``occupied`` are not considered. ``composes``: the forms are ``composed``; so is the
        text.
        """
        spans = np.array(occupied, dtype=np.int64).reshape(-1, 2)
        taken = spans[:, 0], spans[:, 1]
        found = find_composed(self._find, text, taken) if composes else self._find(text, *taken)
        return list(zip(*(column.tolist() for column in found), strict=True))


def _runs(codes: npt.NDArray[np.uint32]) -> Runs:
    """Build hashes of all spans of a text; equal spans have equal hashes wherever they are."""
    return Runs(mix(codes.astype(np.uint64) + np.uint64(1)))


def _between(
    begins: Numbers, ends: Numbers, may_end: npt.NDArray[np.bool_]
) -> tuple[Numbers, Numbers, Numbers]:
    """List the places where a match may end from after each of ``begins`` to each of ``ends``.

    Returns the index of the span of each place, the places, and the index of the last place of each
    span, which is its end.
    """
    lengths = ends - begins
    borders = np.cumsum(lengths)
    of = np.repeat(np.arange(len(ends)), lengths)
    places = np.arange(borders[-1]) - np.repeat(borders - ends, lengths) + 1
    kept = np.flatnonzero(may_end[places])
    return of[kept], places[kept], np.searchsorted(kept, borders - 1)
