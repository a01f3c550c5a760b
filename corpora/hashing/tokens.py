"""64 bits for each token, and for each run of tokens, by arrays.

The hash of ``x[0] … x[n-1]`` is ``sum(x[i] * R**i)`` modulo ``2**64``, mixed with ``n``: the sums
of all runs follow from the sums from the start, since ``R`` is odd and has an inverse. The same
run has the same hash in every process.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]

_BASE = 0x9E3779B97F4A7C15  # odd; of the golden ratio
_BASE_INVERSE = pow(_BASE, -1, 1 << 64)
_FACTORS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)  # SplitMix64's
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


_BYTES = mix(np.arange(1, 257, dtype=np.uint64))


class _Powers:
    """Powers of the base, and of its inverse, as many as were ever asked for."""

    def __init__(self) -> None:
        self._up = self._down = np.ones(1, np.uint64)

    def up(self, n: int) -> Hashes:
        self._grow(n)
        return self._up[:n]

    def down(self, n: int) -> Hashes:
        self._grow(n)
        return self._down[:n]

    def _grow(self, n: int) -> None:
        if n > len(self._up):
            size = 1 << (n - 1).bit_length()
            self._up, self._down = _powers(_BASE, size), _powers(_BASE_INVERSE, size)


def _powers(base: int, n: int) -> Hashes:
    factors = np.full(n, base, np.uint64)
    factors[0] = 1
    return np.cumprod(factors)


_POWERS = _Powers()


class Runs:
    """A sequence, any run of which can be hashed."""

    def __init__(self, values: Hashes) -> None:
        self._sums = np.zeros(len(values) + 1, np.uint64)
        np.cumsum(values * _POWERS.up(len(values)), out=self._sums[1:])
        self._down = _POWERS.down(len(values) + 1)

    def hash(self, starts: Indices, ends: Indices) -> Hashes:
        """Hash the runs from ``starts`` to ``ends``, half-open."""
        sums = self._sums[ends]
        sums -= self._sums[starts]
        sums *= self._down[starts]
        sums += (ends - starts).astype(np.uint64) * _LENGTH
        return mix(sums)


def hash_windows(values: Hashes, n: int) -> Hashes:
    """Hash every run of one or two, in order: what ``Runs`` does, without looking sums up."""
    if n == 1:
        return mix(values + _LENGTH)
    sums = values[1:] * np.uint64(_BASE)
    sums += values[:-1]
    sums += _TWICE
    return mix(sums)


def hash_strings(strings: pa.StringArray) -> Hashes:
    """Hash each string of an array, by its UTF-8 bytes."""
    if not len(strings):
        return np.zeros(0, np.uint64)
    _, offsets, data = strings.buffers()
    ends = np.frombuffer(offsets, np.int32)[strings.offset : strings.offset + len(strings) + 1]
    first, last = int(ends[0]), int(ends[-1])
    if data is None or first == last:
        values = np.zeros(0, np.uint64)
    else:
        values = _BYTES[np.frombuffer(data, np.uint8)[first:last]]
    borders = (ends - first).astype(np.int64)
    return Runs(values).hash(borders[:-1], borders[1:])
