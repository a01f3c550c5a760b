"""Hashes of many strings at once, eight bytes at a time; the same on every machine."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

HASHED_BYTES = 256  # MediaWiki allows 255 in a title; longer ones are still compared as a whole

_Hashes = npt.NDArray[np.uint64]
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads bits upwards
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
_HALF = np.uint64(32)


def hashes(strings: pa.StringArray | pa.LargeStringArray, *, skip: int = 0) -> _Hashes:
    """Hash the first ``HASHED_BYTES`` of each string, and its length, to 32 bits.

    The first ``skip`` bytes are ignored; each string must have at least that many.
    """
    return (_mix(strings, HASHED_BYTES, skip=skip) * _MULTIPLIER) >> _HALF


def long_hashes(strings: pa.StringArray | pa.LargeStringArray) -> _Hashes:
    """Hash each string, of any length, to 64 bits.

    Different strings of the same length up to 8 bytes have different hashes.
    """
    return _mix(strings, None)


def _mix(strings: pa.Array, n_bytes: int | None, *, skip: int = 0) -> _Hashes:
    offsets, text = buffers_of(strings)
    starts, lengths = offsets[:-1] + skip, np.diff(offsets) - skip
    padded = np.append(text, np.zeros(8, np.uint8))
    # eight bytes from every byte on
    words = np.ndarray(len(text) + 1, "<u8", buffer=padded, strides=(1,))
    state = lengths.astype(np.uint64)
    active = np.arange(len(lengths))
    longest = int(lengths.max(initial=0))
    for position in range(0, longest if n_bytes is None else min(n_bytes, longest), 8):
        active = active[lengths[active] > position]
        n_left = np.minimum(lengths[active] - position, 8)
        word = words[starts[active] + position] & _FIRST_BYTES[n_left]
        mixed = (state[active] ^ word) * _MULTIPLIER
        state[active] = mixed ^ (mixed >> _HALF)
    return state


def buffers_of(strings: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return the offsets, from 0, and the bytes of an array of strings, which may be a slice."""
    strings = strings.cast(pa.large_string())
    _, offsets, text = strings.buffers()
    offsets = np.frombuffer(offsets or bytes(8), np.int64)[strings.offset :][: len(strings) + 1]
    return offsets - offsets[0], np.frombuffer(text or b"", np.uint8)[offsets[0] : offsets[-1]]
