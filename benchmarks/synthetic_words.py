"""Invented words with realistic frequencies, for texts and titles of any length."""

from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

N_COMMON = 1 << 16
"""The number of words held in memory; rarer words are spelled from the digits of their rank."""
PERIOD, CAPITAL = 1, 4
AFTER = (" ", ". ", ", ", ".\n\n")
"""What may follow a word, by code; a code plus ``CAPITAL`` also gives the word a capital."""
_BITS = 20
_TAIL = 0.014  # the fraction of a text that is words of rank ``N_COMMON`` and above
_SLOPE, _SHIFT = 1.13, 2.6
"""The frequency of a common word is proportional to (rank + shift) to the power of -slope."""
_RARE_SLOPE = 1.60
_CONSONANTS = [*"bcdfghjklmnprstvwz", "br", "ch", "cl", "dr", "gr", "pl", "pr", "sh", "st", "th"]
_VOWELS = [*"aeiou", "ai", "ea", "io", "ou"]
_SCRIPTS = (0x430, 0x3B1, 0x627, 0x5D0, 0x4E00, 0x3042, 0x915)
"""Code points of first letters: Cyrillic, Greek, Arabic, Hebrew, Han, Kana, Devanagari."""
_LETTERS = (32, 17, 26, 22, 3000, 60, 35)

Ranks = NDArray[np.int64]
Strings = NDArray[np.object_]


class Vocabulary:
    """An unlimited vocabulary of words by rank, 0 for the most frequent."""

    def __init__(self, seed: int) -> None:
        rng = np.random.Generator(np.random.SFC64([seed, 0]))
        onsets = [c + v for c in _CONSONANTS for v in _VOWELS]
        self._syllables = np.array(sorted(onsets), object)
        rng.shuffle(self._syllables)
        self.common = self._common_words(rng)
        capitals = [word[:1].upper() + word[1:] for word in self.common.tolist()]
        plain = [[word[:-1] + end for word in self.common.tolist()] for end in AFTER]
        large = [[word[:-1] + end for word in capitals] for end in AFTER]
        self._table = np.array(plain + large, object).reshape(-1)

    def _common_words(self, rng: np.random.Generator) -> Strings:
        """Make distinct words, the frequent ones short, each with a space after it."""
        found: dict[str, None] = {}
        while len(found) < N_COMMON:
            rank = len(found)
            n = 1 + int(rank > 40) + int(rank > 2_000 and rng.random() < 0.7)
            word = "".join(self._syllables[rng.integers(0, len(self._syllables), n)].tolist())
            end = ("", "n", "s", "t", "r", "l", "d", "m")[int(rng.integers(0, 8))]
            found.setdefault(f"{word}{end} ", None)
        return np.array(list(found), object)

    @cached_property
    def _of_bits(self) -> NDArray[np.int32]:
        """An array from ``_BITS`` random bits to the rank of a word; -1: a rare word."""
        weights = (np.arange(N_COMMON) + _SHIFT) ** -_SLOPE
        edges = np.cumsum(weights) / weights.sum() * (1 - _TAIL)
        of = np.searchsorted(edges, (np.arange(1 << _BITS) + 0.5) / (1 << _BITS), side="right")
        return np.where(of < N_COMMON, of, -1).astype(np.int32)

    def ranks(self, rng: np.random.Generator, n: int) -> Ranks:
        """Draw the ranks of the words of a text."""
        ranks = self._of_bits[rng.integers(0, 1 << _BITS, n, dtype=np.uint32)].astype(np.int64)
        rare = np.flatnonzero(ranks < 0)
        ranks[rare] = self._rare_ranks(rng, len(rare), slope=_RARE_SLOPE, first=N_COMMON)
        return ranks

    def title_ranks(self, rng: np.random.Generator, n: int) -> Ranks:
        """Draw the words of titles: none of the most frequent, and many that are rare."""
        return self._rare_ranks(rng, n, slope=1.33, first=300)

    @staticmethod
    def _rare_ranks(rng: np.random.Generator, n: int, *, slope: float, first: int) -> Ranks:
        drawn = first * rng.random(n) ** (-1 / (slope - 1))
        return np.minimum(drawn, 2.0**46).astype(np.int64)

    def tokens(self, ranks: Ranks, after: Ranks) -> Strings:
        """Return words, each with what stands after it.

        ``after``: codes of ``AFTER``, with ``CAPITAL`` added for a word with a capital.
        """
        after = np.broadcast_to(after, ranks.shape)
        is_rare = ranks >= N_COMMON
        tokens = self._table[np.where(is_rare, 0, ranks) + after * N_COMMON]
        places = np.flatnonzero(is_rare)
        if len(places):
            made = zip(self._made(ranks[places]).tolist(), after[places].tolist(), strict=True)
            tokens[places] = [
                (word.capitalize() if code >= CAPITAL else word) + AFTER[code % CAPITAL]
                for word, code in made
            ]
        return tokens

    def capitalised(self, ranks: Ranks) -> Strings:
        """Return words with a capital, and nothing after them."""
        words = self.tokens(ranks, np.full(len(ranks), CAPITAL))
        return np.array([word[:-1] for word in words.tolist()], object)

    def rare(self, numbers: Ranks) -> Strings:
        """Return words with a capital that hardly any text has."""
        words = self._made(numbers + (1 << 44)).tolist()
        return np.array([word.capitalize() for word in words], object)

    def _made(self, ranks: Ranks) -> Strings:
        """Spell ranks as words: one syllable for each digit, to the base of how many there are."""
        base = len(self._syllables)
        words = self._syllables[ranks % base]
        rest = ranks // base
        while (left := np.flatnonzero(rest)).size:
            words[left] += self._syllables[rest[left] % base]
            rest //= base
        return words


@cache
def vocabulary(seed: int) -> Vocabulary:
    """Return the vocabulary of a seed, which takes seconds to make."""
    return Vocabulary(seed)


def transliterated(text: str, number: int) -> str:
    """Write a text in the letters of another script, each for one of ours."""
    script = number % len(_SCRIPTS)
    first, n = _SCRIPTS[script], _LETTERS[script]
    return "".join(
        chr(first + (ord(c) * 7 + 13 * (number // len(_SCRIPTS))) % n) if c.isalpha() else c
        for c in text.lower()
    )
