"""64-bit hashes of tokens and of runs of tokens, on arrays.

The hash of ``x[0] … x[n-1]`` is ``sum(x[i] * R**i)`` modulo ``2**64``, mixed with ``n``. The sum of
any run follows from two prefix sums, since ``R`` is odd and has an inverse. The same run has the
same hash in every process.
"""

from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.hashing.strings import buffers_of, long_hashes

Hashes = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]

_BASE = 0x9E3779B97F4A7C15  # odd; from the golden ratio
_BASE_INVERSE = pow(_BASE, -1, 1 << 64)
_FACTORS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)  # of SplitMix64
_LENGTH = np.uint64(0xD6E8FEB86659FD93)
_TWICE = np.uint64(2 * 0xD6E8FEB86659FD93 % (1 << 64))


def mix(values: Hashes) -> Hashes:
    """Spread every bit over all bits: the finalizer of SplitMix64 (Steele et al. 2014)."""
    mixed = values >> np.uint64(30)
    mixed ^= values
    mixed *= _FACTORS[0]
    mixed ^= mixed >> np.uint64(27)
    mixed *= _FACTORS[1]
    mixed ^= mixed >> np.uint64(31)
    return mixed


@cache
def _powers(base: int, bits: int) -> Hashes:
    """Compute the first ``2**bits`` powers of a number, modulo ``2**64``."""
    factors = np.full(1 << bits, base, np.uint64)
    factors[0] = 1
    return np.cumprod(factors)


class Runs:
    """A sequence of values, any run of which can be hashed."""

    def __init__(self, values: Hashes) -> None:
        n, bits = len(values), len(values).bit_length()
        self._sums = np.zeros(n + 1, np.uint64)
        np.cumsum(values * _powers(_BASE, bits)[:n], out=self._sums[1:])
        self._down = _powers(_BASE_INVERSE, bits)

    def hash(self, starts: Indices, ends: Indices) -> Hashes:
        """Hash the runs from ``starts`` to ``ends``, half-open."""
        sums = self._sums[ends]
        sums -= self._sums[starts]
        sums *= self._down[starts]
        sums += (ends - starts).astype(np.uint64) * _LENGTH
        return mix(sums)


def hash_windows(values: Hashes, n: int) -> Hashes:
    """Hash every run of ``n`` = 1 or 2 values, in order: equal to ``Runs``, but faster."""
    if n == 1:
        return mix(values + _LENGTH)
    sums = values[1:] * np.uint64(_BASE)
    sums += values[:-1]
    sums += _TWICE
    return mix(sums)


def hash_strings(strings: pa.StringArray) -> Hashes:
    """Hash each string of an array to 64 bits, for use as values of ``Runs``."""
    lengths = np.diff(buffers_of(strings)[0]).astype(np.uint64)  # else "" would be as "\x01"
    return mix(long_hashes(strings) ^ lengths * np.uint64(_BASE))
