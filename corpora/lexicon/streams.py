"""Texts as streams of symbols, of which candidates for words are made, and boundaries.

A symbol is a character of a script that is written without spaces (``characters``), with all marks
that belong to it (an extended grapheme cluster, Unicode Standard Annex 29), or a word of the text
(``words``). In streams of characters, a run of other letters, with or without digits, is also a
symbol (阿Q, 5G手机), and so is a dot between letters (约翰·史密斯). Two runs with a space between
are neighbours, the second also if it is a number (iPhone 12). A number that is a word (23333) is
two symbols: the first digit, and the others.

No candidate spans a boundary. Boundaries are punctuation and line ends; in streams of words, also
the ends of sentences, and any separator of two words other than the one in forms
(``ranking.Forms``). Another number is not part of a candidate, but it is a neighbour like other
symbols: a string that always follows a number is no word.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal
from unicodedata import category

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.document import Span
from corpora.matching.arrays import code_points
from corpora.segmentation.language_tags import CHINESE, primary_language
from corpora.segmentation.scripts import UNSPACED
from corpora.segmentation.sentences import segmenter

Ids = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]
Kind = Literal["characters", "words"]

BOUNDARY = 0
"""The symbol of a boundary."""
OTHER = 1
"""The symbol of numbers and of long runs."""
LINE = 2
"""The symbol of a boundary with a line end; the symbols of words have higher numbers."""
_LINE_END = "\n"
DOTS = "·•‧・"
"""Dots that are symbols if they are between letters."""
TSHEG = "་"
"""The mark between the syllables of Tibetan, which are its words here."""
_LONGEST_RUN = 16
"""The most letters and digits of a run that is a symbol; longer runs are addresses and codes."""
_LOOKED_AT = 10_000
"""The number of characters of a text from which its kind is recognized."""
_SPOKEN = re.compile(
    r"(?<![0-9A-Za-z.,:：%/~+—-])(?!1[0-9]{3}(?![0-9]))[0-9]{0,3}([1-9])\1{2,9}(?![0-9A-Za-z.,:：%％/~+—-]|\s*[年月日时分秒点号元块万"
    r"亿千百多余个名位人岁届次倍条件只支架辆台艘套家所项种类层楼米斤吨公平天周集期章回页股朵])"
)
"""Matches a number that is a word: it ends with a digit three times or more, not 0 (23333, 666), is
no year, and no unit follows."""
SPOKEN_PARTS = (re.compile("[0-9]"), re.compile(r"[0-9]*([1-9])\1+"))
"""Match the two symbols of such a number."""
_UNKNOWN, _MARK, _LETTER, _SYMBOL = range(4)
_classes: npt.NDArray[np.uint8] = np.zeros(0x110000, np.uint8)  # by code point, filled when needed
_ALONE, _BEFORE, _AFTER = 1, 2, 3  # clusters of a character: none, with a letter after it, before
_joins: npt.NDArray[np.uint8] = np.zeros(0x110000, np.uint8)  # by code point, filled when needed
_BASE = "ก"
_RANGES = tuple(zip(UNSPACED[::3], UNSPACED[2::3], strict=True))


@dataclass(frozen=True, slots=True)
class ScopedText:
    """The text of a document, with its scope."""

    scope: str
    """The name of the scope; texts with the same scope are counted together."""
    text: str
    lang: str | None = None
    sentences: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class SymbolStream:
    """The symbols of some texts in a row; each text ends with a boundary."""

    ids: Ids
    """The numbers of the symbols, which are numbered from 1 in ``symbols``; 0 is a boundary."""
    symbols: list[str]
    """The distinct symbols; the first, which is empty, is ``OTHER``, the second ``LINE``."""
    scopes: list[str]
    """The scope of each part of the stream; a scope may have several parts."""
    ends: Ints
    """The end of each part in ``ids``."""


def kind_of(text: str) -> Kind:
    """Tell which symbols a text has: characters if most letters need no spaces, else words."""
    text = text[:_LOOKED_AT]
    codes = code_points(text)
    n_unspaced = np.count_nonzero(is_unspaced(codes))
    return "characters" if 2 * n_unspaced > sum(map(str.isalpha, text)) else "words"


def is_chinese(text: str, lang: str | None) -> bool:
    """Tell whether a text is Chinese: by its language, or without one by its letters.

    Most letters of a Chinese text are Han, and none is kana.
    """
    if lang is not None:
        return primary_language(lang) in CHINESE
    letters = [character for character in text[:_LOOKED_AT] if character.isalpha()]
    n_han = sum("\u3400" <= letter <= "\u9fff" or letter > "\U0001ffff" for letter in letters)
    return 2 * n_han > len(letters) and not any(
        "\u3041" <= letter <= "\u30ff" for letter in letters
    )


def is_unspaced(codes: Ids) -> npt.NDArray[np.bool_]:
    """Tell which code points are letters, digits and marks of scripts without spaces."""
    return np.equal(_classes_of(codes), _SYMBOL)


@lru_cache(maxsize=1 << 16)
def _separator(before: str, after: str) -> str:
    """Return what stands between words with these ends: nothing, a space, or Tibetan's tsheg."""
    codes = np.array([ord(before), ord(after)], np.uint32)
    if is_unspaced(codes).any():
        return ""
    return TSHEG if is_tibetan(codes).all() else " "


def is_tibetan(codes: Ids) -> npt.NDArray[np.bool_]:
    """Tell which code points are Tibetan letters, digits and vowels."""
    return np.greater_equal(codes, 0x0F20) & np.less_equal(codes, 0x0FBC)


def _classes_of(codes: Ids) -> npt.NDArray[np.uint8]:
    found = _classes[codes]
    if not found.all():
        for code in np.unique(codes[found == _UNKNOWN]).tolist():
            _classes[code] = _class_of(chr(code))
        found = _classes[codes]
    return found


def _class_of(character: str) -> int:
    is_letter = character.isalnum() or category(character)[0] == "M"
    if is_letter and any(first <= character <= last for first, last in _RANGES):
        return _SYMBOL
    return _LETTER if character.isalnum() else _MARK


def character_stream(texts: Sequence[ScopedText]) -> SymbolStream:
    """Make a stream whose symbols are characters."""
    scopes, ends_in_text = _parts(texts, [len(text.text) + 1 for text in texts])
    joined = "\n".join([text.text for text in texts]) + "\n"
    codes = code_points(joined)
    if (_joins_of(codes) == _ALONE).all():  # usual for Chinese
        classes = _with_dots(codes, _classes_of(codes))
        return _stream(
            joined, codes, classes, lasts=codes, scopes=scopes, ends=ends_in_text, name_of=chr
        )
    cut = clusters(joined)
    lengths = np.fromiter(map(len, cut), np.int64, len(cut))
    starts = np.cumsum(lengths) - lengths
    classes = _classes_of(codes[starts])
    classes[_joins_of(codes[starts]) == _AFTER] = _MARK  # no symbol begins with a mark
    classes = _with_dots(codes[starts], classes)
    encoded = pa.array(cut, pa.string()).dictionary_encode()
    ends = np.searchsorted(starts, ends_in_text)
    name_of = encoded.dictionary.to_pylist().__getitem__
    numbers = np.asarray(encoded.indices)
    lasts = codes[np.append(starts[1:], len(codes)) - 1]
    return _stream(cut, numbers, classes, lasts=lasts, scopes=scopes, ends=ends, name_of=name_of)


def _stream(
    pieces: Sequence[str],
    numbers: npt.NDArray[np.integer],
    classes: npt.NDArray[np.uint8],
    *,
    lasts: Ids,
    scopes: list[str],
    ends: Ints,
    name_of: Callable[[int], str],
) -> SymbolStream:
    """Make a stream of characters or clusters, ``pieces``; ``numbers`` tell them apart.

    ``lasts`` are the last code points of pieces, and ``ends`` the indices of pieces where the part
    of each scope ends.
    """
    # Of a run of other letters or marks, only the first is kept.
    kept = (classes == _SYMBOL) | (classes != np.append(_MARK, classes[:-1]))
    is_joint = _joints(pieces, classes)
    is_spoken = _spoken_numbers(pieces, classes)
    kept = (kept & ~is_joint) | is_spoken
    runs = _runs(pieces, kept, classes)
    is_part = (np.append(False, is_joint[:-1]) | is_spoken)[kept][classes[kept] == _LETTER]
    begins = np.flatnonzero(kept)
    has_line_end = np.bitwise_or.reduceat(lasts == ord(_LINE_END), begins)
    ends = np.searchsorted(np.flatnonzero(kept), ends)
    numbers, classes = numbers[kept], classes[kept]
    found = np.flatnonzero(np.bincount(numbers[classes == _SYMBOL]))
    ids_of = np.zeros(int(numbers.max(initial=0)) + 1, np.uint32)
    ids_of[found] = np.arange(LINE + 1, LINE + 1 + len(found))
    ids = np.where(has_line_end, np.uint32(LINE), np.uint32(BOUNDARY))
    ids = np.where(classes == _SYMBOL, ids_of[numbers], ids)
    symbols = ["", _LINE_END, *map(name_of, found.tolist())]
    ids[classes == _LETTER] = _numbers_of(runs, is_part.tolist(), symbols)
    return SymbolStream(ids, symbols, scopes, ends)


def _with_dots(codes: Ids, classes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Set the class of dots between letters to symbol; return the classes."""
    places = np.flatnonzero(np.isin(codes[:-1], list(map(ord, DOTS))))
    places = places[places > 0]
    is_inside = (classes[places - 1] > _MARK) & (classes[places + 1] > _MARK)
    classes[places[is_inside]] = _SYMBOL
    return classes


def _joints(pieces: Sequence[str], classes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Tell which pieces are the single space between two runs of other letters (iPhone 12)."""
    is_letter = classes == _LETTER
    found = np.zeros(len(classes), np.bool_)
    places = np.flatnonzero(is_letter[:-2] & ~is_letter[1:-1] & is_letter[2:]) + 1
    found[places] = [pieces[place] == " " for place in places.tolist()]
    return found


def _spoken_numbers(pieces: Sequence[str], classes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Flag the two parts of each number that is a word (23333): the first digit, and the others."""
    is_part = np.zeros(len(classes), np.bool_)
    text = pieces if isinstance(pieces, str) else "".join(piece[0] for piece in pieces)
    for number in _SPOKEN.finditer(text):
        is_part[number.start() : number.start() + 2] = True
    return is_part


def _runs(
    pieces: Sequence[str], kept: npt.NDArray[np.bool_], classes: npt.NDArray[np.uint8]
) -> list[str]:
    """Return the runs of other letters and digits; ``kept`` flags where runs and symbols begin."""
    begins = np.flatnonzero(kept)
    is_run = classes[begins] == _LETTER
    edges = zip(begins[is_run], np.append(begins[1:], len(kept))[is_run], strict=True)
    return ["".join(pieces[begin:end]).rstrip(" ") for begin, end in edges]


def _numbers_of(runs: Sequence[str], parts: Sequence[bool], symbols: list[str]) -> list[int]:
    """Append the runs that may be part of a word to the symbols; return the id of each run.

    Numbers are ``parts`` of one only behind another run (12 in iPhone 12), and where they are
    spoken.
    """
    pairs = [*zip(runs, parts, strict=True)]
    named = sorted({run for run, is_part in set(pairs) if _is_symbol(run, is_part=is_part)})
    numbers = {run: number for number, run in enumerate(named, len(symbols) + 1)}
    symbols += named
    return [numbers[run] if _is_symbol(run, is_part=is_part) else OTHER for run, is_part in pairs]


@lru_cache(maxsize=1 << 16)
def _is_symbol(run: str, *, is_part: bool) -> bool:
    """Tell whether a run may be part of a word."""
    has_letters = any(character.isalpha() and _class_of(character) != _SYMBOL for character in run)
    return len(run) <= _LONGEST_RUN and (has_letters or is_part)


def _joins_of(codes: Ids) -> npt.NDArray[np.uint8]:
    """Tell which code points form one cluster with a letter before them, or after them."""
    found = _joins[codes]
    if not found.all():
        for code in np.unique(codes[found == 0]).tolist():
            is_after, is_before = (
                len(clusters(pair)) == 1 for pair in (_BASE + chr(code), chr(code) + _BASE)
            )
            _joins[code] = _AFTER if is_after else _BEFORE if is_before else _ALONE
        found = _joins[codes]
    return found


def clusters(text: str) -> list[str]:
    """Split a text into extended grapheme clusters: what readers take for one character."""
    from icu4py.breakers import CharacterBreaker

    return list(CharacterBreaker(text, "root"))


def word_stream(texts: Sequence[ScopedText]) -> SymbolStream:
    """Make a stream whose symbols are words, as the segmenter of their language cuts them."""
    lengths: list[int] = []
    words: list[str | None] = []
    for text in texts:
        before = len(words)
        words += _words(text)
        lengths.append(len(words) - before)
    scopes, ends = _parts(texts, lengths)
    encoded = pa.array(["", _LINE_END, *words], pa.string()).dictionary_encode()
    ids = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)[LINE:] + 1
    return SymbolStream(ids.astype(np.uint32), encoded.dictionary.to_pylist(), scopes, ends)


def _words(text: ScopedText) -> Iterator[str | None]:
    """Yield the words of a text, and None, or a line end, between words that are no neighbours."""
    cutter = segmenter(text.lang)
    edges = cutter.edges(text.text)
    spans = text.sentences or [(0, len(text.text))][: len(text.text)]
    for (start, end), (following, _) in pairwise([*spans, (len(text.text) + 1, 0)]):
        before = None
        for first, last in cutter.words(text.text, Span(start, end), cuts=(), edges=edges):
            word = text.text[first:last]
            if word == TSHEG:  # as a space, which is no word either
                continue
            is_word = word[0].isalnum() and ":" not in word and "\n" not in word
            if before is not None:  # neighbours are separated as in a form of both
                between = _separator(text.text[before - 1], word[0])
                if not is_word or text.text[before:first] != between:
                    yield None
            if is_word:
                yield word
            before = last if is_word else None
        if before is not None:
            is_line = following > len(text.text) or _LINE_END in text.text[before:following]
            yield _LINE_END if is_line else None


def _parts(texts: Sequence[ScopedText], lengths: Sequence[int]) -> tuple[list[str], Ints]:
    """Join adjacent texts of the same scope; return the scopes, and where their parts end."""
    ends = np.cumsum(np.array(lengths, np.int64))
    scopes = [text.scope for text in texts]
    is_last = [
        scope != following for scope, following in zip(scopes, [*scopes[1:], None], strict=True)
    ]
    return [scope for scope, last in zip(scopes, is_last, strict=True) if last], ends[is_last]


def segment_lengths(ids: Ids) -> Ints:
    """Count the symbols of each segment; the stream ends with a boundary."""
    ends = np.flatnonzero(ids <= LINE)
    return np.diff(ends, prepend=-1) - 1


def n_grams_by_length(lengths: Ints, longest: int) -> list[int]:
    """Count the strings of 1, 2 … ``longest`` symbols in segments of these lengths."""
    counts = np.bincount(lengths)
    of = np.arange(len(counts))
    return [int((counts * np.maximum(of - n + 1, 0)).sum()) for n in range(1, longest + 1)]
