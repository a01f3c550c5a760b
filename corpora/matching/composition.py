"""Texts and forms with composed letters, so that both are equal however their letters are written.

``Müller`` has ``ü`` as one character, or as ``u`` and a mark; ``ড়`` of Bengali and ``é`` of Yoruba
have several spellings, too. Unicode calls them canonically equivalent, and NFC is one of them.
"""

import re
import unicodedata
from functools import lru_cache

import numpy as np

from corpora.matching.arrays import Numbers

_WORD = re.compile(r"[\x21-\x7e]*[^\s\x00-\x7f]\S*")
_SPACES = re.compile("[\u00a0\u202f]")
_JAMO = ("\u1160", "\u11ff")
"""The first and the last vowel or final consonant of Hangul, which form syllables."""


def composed(text: str) -> str:
    """Return a text in NFC, with no-break spaces as spaces."""
    text = text if text.isascii() else _SPACES.sub(" ", text)
    return unicodedata.normalize("NFC", text)


def composed_with_offsets(text: str) -> tuple[str, Numbers | None]:
    """Return the text as ``composed`` does, and where each of its characters and its end were.

    Offsets are None where they did not change. A character and its marks stay together: only the
    offsets of their first one, and of what follows them, are exact.
    """
    text = text if text.isascii() else _SPACES.sub(" ", text)
    if unicodedata.is_normalized("NFC", text):
        return text, None
    parts, offsets, done = [], [], 0
    for found in _WORD.finditer(text):
        if unicodedata.is_normalized("NFC", found[0]):
            continue
        begin, end = found.span()
        word, inside = _composed_word(found[0])
        parts += [text[done:begin], word]
        offsets += [np.arange(done, begin), begin + inside]
        done = end
    offsets.append(np.arange(done, len(text) + 1))
    return "".join([*parts, text[done:]]), np.concatenate(offsets)


@lru_cache(maxsize=1 << 14)
def _composed_word(word: str) -> tuple[str, Numbers]:
    """Return a word in NFC, and the offset of each of its characters in the word."""
    begins = [n for n, character in enumerate(word) if not n or not _continues(character)]
    clusters: list[str] = []
    offsets: list[int] = []
    for begin, end in zip(begins, [*begins[1:], len(word)], strict=True):
        clusters.append(unicodedata.normalize("NFC", word[begin:end]))
        offsets += [min(begin + n, end - 1) for n in range(len(clusters[-1]))]
    return "".join(clusters), np.array(offsets, np.int64)


def _continues(character: str) -> bool:
    """Tell whether a character may be composed with the one before."""
    return unicodedata.category(character)[0] == "M" or _JAMO[0] <= character <= _JAMO[1]
