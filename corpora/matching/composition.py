"""Texts and forms with composed letters, so that both are equal however their letters are written.

``Müller`` has ``ü`` as one character, or as ``u`` and a mark; ``ড়`` of Bengali and ``é`` of Yoruba
have several spellings, too. Unicode calls them canonically equivalent, and NFC is one of them.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from corpora.matching.arrays import Numbers

Find = Callable[
    [str, npt.NDArray[np.integer], npt.NDArray[np.integer]], tuple[Numbers, Numbers, Numbers]
]
"""A function from a text, and the starts and ends of occupied spans, to the starts, the ends and
the form indices of matches."""

_WORD = re.compile(r"[\x21-\x7e]*[^\s\x00-\x7f]\S*")
_OTHER_SPACE = re.compile(r"[^\S \n]")
_REMEMBERED = 64
"""Characters of the longest word that is remembered: Chinese has no spaces between words."""
_JAMO = ("\u1160", "\u11ff")
"""The first and the last vowel or final consonant of Hangul, which form syllables."""


def with_spaces(text: str) -> str:
    """Replace each no-break space and other white space, but no line feed, by a space."""
    return _OTHER_SPACE.sub(" ", text)


def composed(text: str) -> str:
    """Return a text in NFC, with white space as ``with_spaces`` has it."""
    return unicodedata.normalize("NFC", with_spaces(text))


def composed_with_offsets(text: str) -> tuple[str, Numbers | None]:
    """Return the text as ``composed`` does, and where each of its characters and its end were.

    Offsets are None where they did not change. A character and its marks stay together: only the
    offsets of their first one, and of what follows them, are exact.
    """
    text = with_spaces(text)
    if unicodedata.is_normalized("NFC", text):
        return text, None
    parts: list[str] = []
    offsets: list[int] = []
    done = 0
    for match in _WORD.finditer(text):
        word = match[0]
        if unicodedata.is_normalized("NFC", word):
            continue
        begin = match.start()
        compose = _remembered if len(word) <= _REMEMBERED else _composed_word
        composed_word, inside = compose(word)
        parts += (text[done:begin], composed_word)
        offsets += range(done, begin)
        offsets += [begin + offset for offset in inside]
        done = begin + len(word)
    offsets += range(done, len(text) + 1)
    return "".join([*parts, text[done:]]), np.array(offsets, np.int64)


def find_composed(
    find: Find, text: str, occupied: tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]
) -> tuple[Numbers, Numbers, Numbers]:
    """Find composed forms in a text, composed or not; takes and returns offsets of this text."""
    text, at = composed_with_offsets(text)
    if at is None:
        return find(text, *occupied)
    taken = np.searchsorted(at, occupied[0], "right") - 1, np.searchsorted(at, occupied[1])
    starts, ends, forms = find(text, *taken)
    return at[starts], at[ends], forms


def _composed_word(word: str) -> tuple[str, list[int]]:
    """Return a word in NFC, and the offset of each of its characters in the word."""
    begins = [n for n, character in enumerate(word) if not n or not _continues(character)]
    clusters: list[str] = []
    offsets: list[int] = []
    for begin, end in zip(begins, [*begins[1:], len(word)], strict=True):
        clusters.append(unicodedata.normalize("NFC", word[begin:end]))
        offsets += [min(begin + n, end - 1) for n in range(len(clusters[-1]))]
    return "".join(clusters), offsets


_remembered = lru_cache(maxsize=1 << 14)(_composed_word)


def _continues(character: str) -> bool:
    """Tell whether a character may be composed with the one before."""
    return unicodedata.category(character)[0] == "M" or _JAMO[0] <= character <= _JAMO[1]
