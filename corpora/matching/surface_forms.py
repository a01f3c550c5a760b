"""The word boundaries between which a form may stand, and case folding that moves no offset.

A match does not begin after, or end before, a letter or digit. Where the character on either side
belongs to a script that is written without spaces (Han, Kana, Thai, Lao, Khmer, Burmese …), every
place is a boundary. In Korean, whose particles follow a word without a space, a match may also end
after any Hangul syllable. Combining marks stay with the character before them.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from corpora.hashing.marks import marks_of
from corpora.matching.arrays import Flags
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.scripts import UNSPACED

_Codes = npt.NDArray[np.uint32]

Right = Literal["word", "prefix"]
"""Where a match may end: at a word boundary, or (``prefix``) anywhere in a word, of which it covers
only the form."""

_OTHER, _WORD, _HANGUL, _UNSPACED, _EXTENDS, _UNKNOWN = range(6)
_UNSPACED_CHARACTERS = re.compile(f"[{UNSPACED}]")
WORD = re.compile(rf"[\w{marks_of(range(0x300, 0x1CD0))}]+")
"""A word with its vowel signs; in scripts without spaces, a run of letters."""
JOINERS = frozenset("\u00ad\u200c\u200d")
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


def windows(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Split a text into parts of about ``size`` at newlines, which no match spans."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + size) + 1 or len(text)
        yield begin, end
        begin = end


def can_be_found(form: str) -> bool:
    """Tell whether a form can be found: not empty, in one line, no combining mark first."""
    return bool(form) and "\n" not in form and _class_of(form[0]) != _EXTENDS


def boundaries(codes: _Codes, *, is_korean: bool) -> tuple[Flags, Flags]:
    """Compute flags, before each character and at the end of a text, shape (N + 1,) each.

    They tell whether a match may start there, and whether one may end there.
    """
    around: npt.NDArray[np.uint8] = np.zeros(len(codes) + 2, dtype=np.uint8)
    around[1:-1] = _classes_of(codes)
    extends = around == _EXTENDS
    if extends.any():
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
    return starts, ends


def may_end_inside(codes: _Codes) -> Flags:
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
        is_mark = character in JOINERS | _VOWELS or unicodedata.category(character)[0] == "M"
        return _EXTENDS if is_mark else _OTHER
    if _UNSPACED_CHARACTERS.match(character):
        return _UNSPACED
    return _HANGUL if unicodedata.name(character, "").startswith("HANGUL") else _WORD
