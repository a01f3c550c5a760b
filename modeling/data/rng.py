"""Random numbers that depend on names and counters alone.

There is no state: the number for (seed, epoch, example, stream, counter) is the same in every
process and every batch, in whatever order numbers are drawn. Each is an output of SplitMix64
(Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014, with the constants
of Stafford's Mix13), computed for whole arrays at once. Not for cryptography.
"""

import hashlib
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from corpora.hashing.tokens import mix as finalize

Numbers = NDArray[np.uint64]
Integers = NDArray[np.int64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = 6
_ALL_BITS = (1 << 64) - 1


class RandomUse(IntEnum):
    """The uses of random numbers; each has independent numbers."""

    SHUFFLE = 0
    SET = 1
    EVALUATION = 2
    WINDOW = 3
    PAIR = 4
    PARTNER = 5
    UNIT = 6
    REPLACEMENT = 7
    SUBWORD = 8
    ENTITY = 9
    NEGATIVE = 10
    ENTITY_REPLACEMENT = 11
    RANDOM_ENTITY = 12
    SUBWORD_NEGATIVE = 13


def hash64(name: str) -> int:
    """Hash a name to 64 bits, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())


def mix(numbers: Numbers) -> Numbers:
    """Apply SplitMix64's output function, a permutation of the 64-bit numbers."""
    return finalize(numbers + _GAMMA)


def key_of(*parts: int | Numbers | Integers) -> Numbers:
    """Combine numbers, or arrays of numbers, into 64-bit keys; the order counts."""
    keys = np.zeros(1, np.uint64)
    for part in parts:
        number = part & _ALL_BITS if isinstance(part, int) else part
        keys = mix(keys ^ mix(np.atleast_1d(np.asarray(number)).astype(np.uint64)))
    return keys


def as_uniform(bits: Numbers) -> NDArray[np.float64]:
    """Map 64 random bits to [0, 1), evenly: 53 of the bits are used."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def as_below(bits: Numbers, n: int | Integers) -> Integers:
    """Map 64 random bits to 0 … n - 1, n ≤ 2^32; none is preferred by more than n / 2^32."""
    scaled = (bits >> np.uint64(32)) * np.asarray(n, np.uint64)
    return (scaled >> np.uint64(32)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Rng:
    """The random numbers of the examples of a batch, by the index of the example in it."""

    keys: Numbers
    """(B,) the key of each example, a hash of the seed, the epoch and its id."""

    @classmethod
    def of(cls, hashes: Numbers, *, seed: int, epochs: int | Integers) -> "Rng":
        """Make the rng of examples whose ids have these hashes."""
        return cls(np.broadcast_to(key_of(seed, epochs, hashes), hashes.shape))

    def bits(self, stream: RandomUse, examples: Integers, counters: Integers) -> Numbers:
        """Draw 64 bits for each pair of an example and a counter."""
        keys = mix(self.keys ^ mix(np.array([stream], np.uint64)))
        return mix(keys[examples] + counters.astype(np.uint64) * _GAMMA)

    def uniform(
        self, stream: RandomUse, examples: Integers, counters: Integers
    ) -> NDArray[np.float64]:
        """Draw a number in [0, 1) for each pair of an example and a counter."""
        return as_uniform(self.bits(stream, examples, counters))

    def one(self, example: int) -> "Rng":
        """Return the rng of one example alone."""
        return Rng(self.keys[example : example + 1])

    def table(self, stream: RandomUse, n: int) -> Numbers:
        """Draw the first ``n`` numbers of each example, shape (B, n)."""
        examples, counters = np.indices((len(self.keys), n))
        return self.bits(stream, examples, counters)


def permuted(places: Integers, n: int, keys: Numbers) -> Integers:
    """Map places by a permutation of 0 … n - 1; it needs no table, so n may be large.

    A Feistel network over the smallest even number of bits that holds n, applied again to what
    falls outside (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).

    Args:
        places: (k,) of 0 … n - 1.
        n: how many are permuted.
        keys: (1,), or (k,) for places of different permutations.
    """
    half = np.uint64(max(1, -(-(n - 1).bit_length() // 2)))
    low = np.uint64((1 << int(half)) - 1)
    keys = np.broadcast_to(keys, places.shape)
    rounds = [mix(keys + np.uint64(number)) for number in range(_ROUNDS)]
    images = places.astype(np.uint64)
    outside = np.arange(len(images))
    while len(outside):
        left, right = images[outside] >> half, images[outside] & low
        for key in rounds:
            left, right = right, left ^ (mix(right + key[outside]) & low)
        images[outside] = (left << half) | right
        outside = outside[images[outside] >= n]
    return images.astype(np.int64)
