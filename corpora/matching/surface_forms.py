"""Find the forms of a large dictionary in running text, at word boundaries; offsets never move.

Boundaries are written as marks between the characters of the text, and into the forms in the same
way. So whatever the automaton finds stands between boundaries, its leftmost-longest matches are
exact, and nothing is checked or searched again afterwards. No marks are needed if all forms begin
and end with a script that is written without spaces.

A match does not begin after, or end before, a letter or digit. Where the character on either side
belongs to a script that is written without spaces (Han, Kana, Thai, Lao, Khmer, Burmese …), every
place is a boundary. In Korean, whose particles follow a word without a space, a match may also end
after any Hangul syllable. Combining marks stay with the character before them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from corpora.matching.arrays import Numbers, code_points
from corpora.matching.automaton import Automaton, Cover
from corpora.matching.composition import find_composed
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.scripts import UNSPACED

_Codes = npt.NDArray[np.uint32]
_Flags = npt.NDArray[np.bool_]
_Spans = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]
_Matches = tuple[Numbers, Numbers, Numbers]
"""Starts, ends and form indices of matches."""

Right = Literal["word", "prefix"]
"""Where a match may end: at a word boundary, or (``prefix``) anywhere in a word, of which it covers
only the form."""

Overlap = Literal["leftmost_longest", "longest_cover"]
"""Which of overlapping matches are kept: the leftmost and there the longest, or the disjoint
matches whose squared lengths have the largest sum, which takes up to three times as long."""

WINDOW = 1 << 17
"""The number of characters that are matched at once; longer lines are not cut."""
PIECE = 1 << 13
"""The number of characters, marks included, whose overlapping matches are held at once, at 170
bytes a match."""
_OTHER, _WORD, _HANGUL, _UNSPACED, _EXTENDS, _UNKNOWN = range(6)
_START, _END, _JOINED = 2, 3, 4  # the marks: control characters, which XML forbids
_NEWLINE = ord("\n")
_UNSPACED_CHARACTERS = re.compile(f"[{UNSPACED}]")
_JOINERS = frozenset("\u00ad\u200c\u200d")
"""Soft hyphen and (non-)joiners, which belong to the word that they are in."""
_VOWELS = frozenset("\u0e33\u0eb3")
"""The vowel AM of Thai and Lao: a letter by its category, but of one cluster with the letter
before."""
_classes = np.full(0x110000, _UNKNOWN, dtype=np.uint8)  # filled as characters occur


def fold(text: str, *, lang: str | None = None) -> str:
    """Fold case character by character: ``len(fold(text)) == len(text)``, offsets stay valid.

    Lower case, except that the final sigma and the long s fold to the usual ones and ``İ`` to
    ``i``; ``ß`` stays (two letters would move offsets). In Turkish and Azerbaijani ``I`` folds to
    ``ı``.
    """
    if primary_language(lang) in {"tr", "az"}:
        text = text.replace("I", "ı")
    lowered = text.lower()
    if len(lowered) != len(text):  # İ, the only character whose lower case is longer
        lowered = text.replace("İ", "i").lower()
    return lowered if lowered.isascii() else lowered.replace("ς", "σ").replace("ſ", "s")


class SurfaceMatcher:
    """A matcher of a dictionary of forms, built once and used on much text.

    Of forms that fold to the same string, the first counts. An empty form, one with a newline, and
    one that begins with a combining mark are never found. A form of 17 characters takes 200 bytes,
    and 600 while the matcher is built, at 100,000 forms per second. It reads 35 million characters
    per second with 200 forms, 17 with 30,000, 7 with 500,000 (and a match in every 13 characters).
    """

    def __init__(
        self,
        forms: Sequence[str],
        *,
        lang: str | None,
        ignore_case: bool = True,
        right: Right = "word",
        overlap: Overlap = "leftmost_longest",
    ) -> None:
        self._lang, self._ignore_case = lang, ignore_case
        self._finds_all = overlap == "longest_cover"
        self._is_korean = primary_language(lang) == "ko"
        self._is_plain = _are_plain(forms)
        patterns = self._plain_patterns(forms) if self._is_plain else self._patterns(forms, right)
        self._forms = np.fromiter(patterns.values(), dtype=np.int64, count=len(patterns))
        self._automaton = Automaton(list(patterns), finds_all=self._finds_all)

    def find(
        self, text: str, occupied: Sequence[tuple[int, int]] = (), *, composes: bool = False
    ) -> list[tuple[int, int, int]]:
        """Return disjoint matches in order: (start, end, index into forms).

        Of overlapping matches, ``overlap`` decides which to keep. Matches that overlap a span in
        ``occupied`` are not considered. ``composes``: the forms are ``composed``; so is the text.
        """
        spans = np.array(occupied, dtype=np.int64).reshape(-1, 2)
        taken = spans[:, 0], spans[:, 1]
        found = find_composed(self.find_arrays, text, taken) if composes else None
        starts, ends, forms = found or self.find_arrays(text, *taken)
        return list(zip(starts.tolist(), ends.tolist(), forms.tolist(), strict=True))

    def find_arrays(
        self, text: str, starts: npt.NDArray[np.integer], ends: npt.NDArray[np.integer]
    ) -> _Matches:
        """Match as ``find`` does.

        Takes occupied starts and ends, returns starts, ends and form indices. A match never spans a
        newline: many texts, joined by newlines, can be searched at once.
        """
        return find_in_windows(self._find, text, (starts, ends), size=WINDOW)

    def _find(self, text: str, occupied: Iterator[tuple[int, int]]) -> _Matches:
        marked, at = (self._plain if self._is_plain else self._mark)(text, occupied)
        if self._finds_all:
            return self._cover(marked, at)
        found, starts, ends = self._automaton.find(marked)
        if not self._is_plain:
            starts, ends = np.searchsorted(at, starts), np.searchsorted(at, ends)
        return starts, ends, self._forms[found]

    def _cover(self, marked: str, at: Numbers) -> _Matches:
        """Choose the longest cover among all matches, piece by piece from right to left."""
        longest = self._automaton.longest
        piece = max(PIECE, longest)
        cover = Cover(len(marked) if self._is_plain else len(at))
        for begin in reversed(range(0, len(marked), piece)):
            found, starts, ends = self._automaton.find(marked[begin : begin + piece + longest])
            begins_here = starts < piece
            columns = (starts[begins_here] + begin, ends[begins_here] + begin)
            limit = begin + longest
            if not self._is_plain:
                columns = (np.searchsorted(at, columns[0]), np.searchsorted(at, columns[1]))
                limit = int(np.searchsorted(at, limit))
            cover.add(*columns, self._forms[found[begins_here]], limit=limit)
        return cover.chosen()

    def _plain_patterns(self, forms: Sequence[str]) -> dict[str, int]:
        """Map the patterns of forms that need no marks to their indices."""
        patterns: dict[str, int] = {}
        for index, form in enumerate(forms):
            patterns.setdefault(self._folded(form), index)
        return patterns

    def _folded(self, text: str) -> str:
        return fold(text, lang=self._lang) if self._ignore_case else text

    def _patterns(self, forms: Sequence[str], right: Right) -> dict[str, int]:
        """Map the patterns of forms, with marks, to their indices.

        Many forms are marked at once.
        """
        kept = [index for index, form in enumerate(forms) if can_be_found(form)]
        patterns: dict[str, int] = {}
        start, end = chr(_START), chr(_END)
        for begin in range(0, len(kept), 10_000):
            part = kept[begin : begin + 10_000]
            marked, _ = self._mark("\n".join([forms[index] for index in part]), iter(()))
            for index, line in zip(part, marked.split("\n"), strict=True):
                pattern = line.removeprefix(end).removesuffix(start)
                if right == "prefix":
                    pattern = pattern.removesuffix(end)
                patterns.setdefault(pattern, index)
        return patterns

    def _plain(self, text: str, occupied: Iterator[tuple[int, int]]) -> tuple[str, Numbers]:
        """Replace occupied characters by newlines, for forms that need no marks; see ``_mark``.

        A character before a combining mark is replaced too, as no such form ends there.
        """
        codes = code_points(self._folded(text))
        extended = np.flatnonzero(_classes_of(codes[1:]) == _EXTENDS)
        spans = list(occupied)
        if spans or len(extended):
            codes = codes.copy()
            codes[extended] = _NEWLINE
        for start, end in spans:
            codes[max(start, 0) : end] = _NEWLINE
        return codes.tobytes().decode("utf-32-le"), np.empty(0, np.int64)

    def _mark(self, text: str, occupied: Iterator[tuple[int, int]]) -> tuple[str, Numbers]:
        """Put marks between characters.

        Returns the marked text, and each character's offset in it.
        """
        codes = code_points(marks_replaced(self._folded(text)))
        starts, ends, joined = boundaries(codes, is_korean=self._is_korean)
        n_marks = starts.astype(np.int64) + ends + joined
        at = np.cumsum(n_marks + 1)[:-1] - 1
        marked = np.full(len(codes) + n_marks.sum(), _END, dtype=np.uint32)
        marked[at] = codes
        # Ends come first, so that adjacent matches have a mark each.
        marked[at[joined[:-1]] - 1] = _JOINED
        marked[(at - joined[:-1] - 1)[starts[:-1]]] = _START
        for start, end in occupied:
            marked[at[max(start, 0) : end]] = _NEWLINE  # no form has a newline
        return marked.tobytes().decode("utf-32-le"), at


def marks_replaced(text: str) -> str:
    """Replace the control characters that serve as marks, so that a text holds none."""
    for mark in (_START, _END, _JOINED):
        text = text.replace(chr(mark), "\x00")
    return text


def begins_word(text: str, index: int) -> bool:
    """Tell whether a match may begin before the character at ``index``."""
    after = _class_of(text[index])
    if after in (_UNSPACED, _EXTENDS):
        return after == _UNSPACED
    return _class_before(text, index) in (_OTHER, _UNSPACED)


def ends_word(text: str, index: int, *, right: Right, lang: str | None = None) -> bool:
    """Tell whether a match may end before the character at ``index``, or at the end of the text."""
    after = _class_of(text[index]) if index < len(text) else _OTHER
    if after in (_UNSPACED, _OTHER, _EXTENDS) or right == "prefix":
        return after != _EXTENDS
    before = _class_before(text, index)
    return before == _UNSPACED or (before == _HANGUL and primary_language(lang) == "ko")


def _class_before(text: str, index: int) -> int:
    """Return the class of the character before ``index``, past combining marks."""
    while index:
        index -= 1
        if (found := _class_of(text[index])) != _EXTENDS:
            return found
    return _OTHER


def windows(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Split a text into parts of about ``size`` at newlines, which no match spans."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + size) + 1 or len(text)
        yield begin, end
        begin = end


def find_in_windows(
    find: Callable[[str, Iterator[tuple[int, int]]], _Matches],
    text: str,
    occupied: _Spans,
    *,
    size: int,
) -> _Matches:
    """Find forms window by window; ``find`` takes a window, and the spans occupied in it."""
    starts, ends = occupied
    none = np.zeros(0, dtype=np.int64)
    found = [(none, none, none)]
    for begin, end in windows(text, size):
        inside = (starts < end) & (ends > begin)
        spans = ((column[inside] - begin).tolist() for column in occupied)
        firsts, lasts, forms = find(text[begin:end], zip(*spans, strict=True))
        found.append((firsts + begin, lasts + begin, forms))
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    return columns[0], columns[1], columns[2]


def can_be_found(form: str) -> bool:
    """Tell whether a form can be found: not empty, in one line, no combining mark first."""
    return bool(form) and "\n" not in form and _class_of(form[0]) != _EXTENDS


def _are_plain(forms: Sequence[str]) -> bool:
    """Tell whether all forms begin and end with an unspaced character, without combining marks."""
    if not all(forms):
        return False
    codes = code_points("\n".join(forms))
    classes = _classes_of(codes)
    ends = np.flatnonzero(codes == _NEWLINE)
    if len(ends) != max(len(forms) - 1, 0) or (classes == _EXTENDS).any():
        return False
    edges = np.concatenate([classes[:1], classes[ends - 1], classes[ends + 1], classes[-1:]])
    return bool((edges == _UNSPACED).all())


def boundaries(codes: _Codes, *, is_korean: bool) -> tuple[_Flags, _Flags, _Flags]:
    """Compute flags, before each character and at the end of a text, shape (N + 1,) each.

    They tell whether a match may start there, whether one may end there, and whether a combining
    mark follows the next character.
    """
    around: npt.NDArray[np.uint8] = np.zeros(len(codes) + 2, dtype=np.uint8)
    around[1:-1] = _classes_of(codes)
    extends = around == _EXTENDS
    joined = np.zeros(len(codes) + 1, dtype=np.bool_)
    if extends.any():
        joined[:-1] = extends[2:]
        bases = np.maximum.accumulate(np.where(extends, 0, np.arange(len(around))))
        around = around[bases]  # a combining mark has the class of its base
    before, after = around[:-1], around[1:]
    unspaced = (before == _UNSPACED) | (after == _UNSPACED)
    starts = (before == _OTHER) | unspaced
    ends = (after == _OTHER) | unspaced
    if is_korean:
        ends |= before == _HANGUL
    inside = extends[1:]
    starts, ends = starts & ~inside, ends & ~inside
    starts[-1] = ends[0] = False
    return starts, ends, joined


def may_end_inside(codes: _Codes) -> _Flags:
    """Compute flags, as ``boundaries`` does: whether a match may end there, also inside a word."""
    return np.append(_classes_of(codes) != _EXTENDS, True)


def _classes_of(codes: _Codes) -> npt.NDArray[np.uint8]:
    found = _classes[codes]
    if (unknown := found == _UNKNOWN).any():
        for code in np.unique(codes[unknown]).tolist():
            _classes[code] = _class_of(chr(code))
        found = _classes[codes]
    return found


@cache
def _class_of(character: str) -> int:
    if not character.isalnum() or character in _VOWELS:
        is_mark = character in _JOINERS | _VOWELS or unicodedata.category(character)[0] == "M"
        return _EXTENDS if is_mark else _OTHER
    if _UNSPACED_CHARACTERS.match(character):
        return _UNSPACED
    return _HANGUL if unicodedata.name(character, "").startswith("HANGUL") else _WORD
