"""Search for words of similar spelling among very many.

The similarity of two words depends on how many letters must be deleted and inserted to turn one
into the other (``rapidfuzz.fuzz.ratio``). Each letter that only one of them has is such an edit. So
64 bits for each word, one or more for its letters, rule out most words without a comparison.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corpora.system.extras import MissingExtraError

_CUTOFF: Final = 75  # least similarity, in percent
_MAX_SIMILAR: Final = 8  # most words that are returned
_N_BITS: Final = 64
_SECOND: Final = 29  # distance of the bit of a letter from the bit of its repetition
_N_KEPT: Final = 1 << 16

_Bits = NDArray[np.uint64]
_Numbers = NDArray[np.int64]


class Spellings:
    """Known words, searchable by similar spelling."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self.alike = lru_cache(_N_KEPT)(self._alike)
        """The function that finds the most similar words, with the similarity of each in percent,
        at least ``_CUTOFF``; its results are cached."""

    def __reduce__(self) -> tuple[type["Spellings"], tuple[Sequence[str]]]:
        """Describe it for pickling by its words; what is cached stays behind."""
        return type(self), (self._words,)

    def _alike(self, word: str) -> tuple[tuple[str, float], ...]:
        near = [self._words[number] for number in self.near(word)]
        if not near:
            return ()
        try:
            from rapidfuzz import fuzz, process  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError(
                "Names that are spelled otherwise are found by rapidfuzz, which is not installed: "
                "pip install 'onoma[linking]'."
            ) from error
        matches = process.extract(
            word, near, scorer=fuzz.ratio, score_cutoff=_CUTOFF, limit=_MAX_SIMILAR
        )
        return tuple((other, score) for other, score, _ in matches)

    def near(self, word: str) -> list[int]:
        """Find the indices of all known words that may be similar, and of some that are not."""
        bits, found = _bits_of(word), list[_Numbers]()
        for length, (numbers, known) in self._by_length.items():
            steps = (100 - _CUTOFF) * (length + len(word)) // 100
            if abs(length - len(word)) <= steps:
                found.append(numbers[np.bitwise_count(known ^ bits) <= steps])
        return sorted(np.concatenate(found).tolist()) if found else []

    @cached_property
    def _by_length(self) -> dict[int, tuple[_Numbers, _Bits]]:
        """The indices and the bits (``_bits_of``) of the words of each length."""
        of_length: dict[int, list[int]] = defaultdict(list)
        for number, word in enumerate(self._words):
            of_length[len(word)].append(number)
        return {
            length: (
                np.array(numbers, np.int64),
                np.array([_bits_of(self._words[number]) for number in numbers], np.uint64),
            )
            for length, numbers in of_length.items()
        }


def _bits_of(word: str) -> np.uint64:
    """Set a bit for each letter of a word, and another one for each time that it is repeated."""
    seen: Counter[str] = Counter()
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) + _SECOND * seen[letter]) % _N_BITS
        seen[letter] += 1
    return np.uint64(bits)
