"""The surroundings of spans in text: sentence starts, capitals and words on either side, as arrays.

In scripts without spaces, each character counts as a word.
"""

import re
import unicodedata

import numpy as np

from corpora.hashing.tokens import Runs, mix
from corpora.matching.arrays import Flags, Numbers, code_points
from corpora.matching.surface_forms import JOINERS, fold
from corpora.segmentation.scripts import UNSPACED

N_WORDS = 1 << 16
"""The number of values that words are hashed to; 0: no word."""
NOUNS_HAVE_CAPITALS = frozenset(
    ["als", "bar", "de", "frr", "gsw", "ksh", "lb", "nds", "pdc", "pfl", "stq"]
)
"""Languages whose common nouns have a capital, as in German."""
_STEM = 5  # first characters by which inflected forms of a word are one
_SMALL = 4  # the most characters of a small word between words of a name: *of the*, *von*
_MOST_SMALL = 2
_CLOSING = code_points(" \u00a0\"'“”«»„‘’‚‹›([{–—•*-")
_ENDS = code_points("\n.!?…:;。！？।։؟۔")
_JOINTS = code_points(" \u00a0-‐–")
_HYPHENS = code_points("-‐‑")
_NO_SPACES = re.compile(f"[{UNSPACED}]")
_UNKNOWN, _UPPER, _WORD, _UNSPACED_WORD = 128, 1, 2, 4
_kinds = np.full(0x110000, _UNKNOWN, np.uint8)  # filled as characters occur


def _kind(character: str) -> int:
    """Describe a character; vowel signs and other marks are parts of words."""
    kind = _UPPER if character.isupper() else 0
    if _NO_SPACES.match(character):
        return kind | (_UNSPACED_WORD if character.isalnum() else 0)
    is_inside = character in JOINERS or unicodedata.category(character)[0] == "M"
    return kind | (_WORD if is_inside or character.isalnum() else 0)


class SpanContexts:
    """The surroundings of spans of a text."""

    def __init__(self, text: str, sentences: Numbers, *, lang: str | None) -> None:
        """Describe a text; ``sentences`` are where its sentences start, if known."""
        codes = code_points(f"\n{text}\n\n")
        runs = code_points(fold(f"\n{text}\n\n", lang=lang))
        unknown = np.unique(codes[_kinds[codes] == _UNKNOWN])
        _kinds[unknown] = [_kind(chr(code)) for code in unknown.tolist()]
        self._codes, self._kinds = codes, _kinds[codes]
        self._runs = Runs(mix(runs.astype(np.uint64) + np.uint64(1)))
        in_word = (self._kinds & _WORD) > 0
        positions = np.arange(len(codes))
        begins = in_word & ~np.append(False, in_word[:-1])
        self._word_begins = np.maximum.accumulate(np.where(begins, positions, 0))
        self._begins = np.flatnonzero(begins | ((self._kinds & _UNSPACED_WORD) > 0)) - 1
        after = np.where(in_word, len(codes), positions)
        self._word_ends = np.minimum.accumulate(after[::-1])[::-1]
        self._starts = np.zeros(len(codes), np.bool_)
        self._starts[sentences + 1] = True
        is_closing = np.isin(codes, _CLOSING)
        before = np.maximum.accumulate(np.where(is_closing, 0, positions))
        self._starts |= np.isin(codes[np.append(0, before[:-1])], _ENDS)

    def starts_sentence(self, starts: Numbers) -> Flags:
        """Tell which spans begin a sentence, a line, or follow a full stop or colon."""
        return self._starts[starts + 1]

    def words_inside(self, starts: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
        """Find the words that begin in spans: the index of the span, and the offset, of each."""
        firsts, lasts = np.searchsorted(self._begins, [starts, ends])
        counts = np.maximum(lasts - firsts, 0)
        spans = np.repeat(np.arange(len(starts)), counts)
        numbers = np.arange(len(spans)) - np.repeat(np.cumsum(counts) - counts, counts)
        return spans, self._begins[firsts[spans] + numbers]

    def words_at(self, starts: Numbers) -> Numbers:
        """Hash the word that begins at each offset."""
        return self._hash(starts + 1)

    def words_after(self, ends: Numbers) -> tuple[Numbers, Flags]:
        """Hash the word after each span, and tell whether it has a capital first letter."""
        at = self._after(ends)
        return self._hash(at), self._is_upper(at)

    def words_before(self, starts: Numbers) -> tuple[Numbers, Flags]:
        """Hash the word before each span, and tell whether it has a capital inside a sentence."""
        at = self._before(starts)
        return self._hash(at), self._is_upper(at) & ~self._starts[at]

    def names_before(self, starts: Numbers) -> tuple[Numbers, Flags, Numbers]:
        """Hash the word with a capital that only small words part from a span: *Battle of the*.

        Tells also whether it stands inside a sentence, and at which offset.
        """
        at = first = self._before(starts)
        for _ in range(_MOST_SMALL):
            at = np.where(self._is_small(at), self._before(at - 1), at)
        is_name = (at < first) & self._is_upper(at)
        return np.where(is_name, self._hash(at), 0), is_name & ~self._starts[at], at - 1

    def has_name_after(self, ends: Numbers) -> Flags:
        """Tell which spans only a small word parts from a word with a capital: *of Vienna*."""
        at = self._after(ends)
        beyond = self._after(np.minimum(self._end_of_word(at), len(self._codes) - 2) - 1)
        return self._is_small(at) & self._is_upper(beyond)

    def are_joined(self, starts: Numbers, ends: Numbers) -> Flags:
        """Tell which spans a hyphen joins to a word."""
        before = np.isin(self._codes[starts], _HYPHENS) & (self._kinds[starts - 1] & _WORD > 0)
        after = np.isin(self._codes[ends + 1], _HYPHENS) & (self._kinds[ends + 2] & _WORD > 0)
        return np.asarray(before | after)

    def _after(self, ends: Numbers) -> Numbers:
        """Find the first character of the word after each offset of the text."""
        at = ends + 1
        return np.where(np.isin(self._codes[at], _JOINTS), at + 1, at)

    def _before(self, starts: Numbers) -> Numbers:
        """Find the first character of the word before each offset of the text."""
        at = np.where(np.isin(self._codes[starts], _JOINTS), starts - 1, starts)
        return np.where((self._kinds[at] & _WORD) > 0, self._word_begins[at], at)

    def _is_upper(self, at: Numbers) -> Flags:
        return np.asarray((self._kinds[at] & _UPPER) > 0)

    def _is_small(self, at: Numbers) -> Flags:
        """Tell where a short word without a capital begins."""
        is_word = (self._kinds[at] & (_WORD | _UPPER)) == _WORD
        return np.asarray(is_word & (self._word_ends[at] - at <= _SMALL))

    def _hash(self, at: Numbers) -> Numbers:
        """Hash the beginnings of words at places of the padded text."""
        kinds, ends = self._kinds[at], np.minimum(self._end_of_word(at), at + _STEM)
        hashes = (self._runs.hash(at, ends) % np.uint64(N_WORDS - 1)).astype(np.int64) + 1
        return np.where((kinds & (_WORD | _UNSPACED_WORD)) > 0, hashes, 0)

    def _end_of_word(self, at: Numbers) -> Numbers:
        return np.where((self._kinds[at] & _WORD) > 0, self._word_ends[at], at + 1)
