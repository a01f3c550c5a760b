"""A 64-bit hash for each value of an Arrow array, lists and structs included.

Equal values have equal hashes, in whatever array, slice or process they stand; two different values
have the same hash with a probability of 2⁻⁶⁴.
"""

from collections.abc import Iterable
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.hashing.tokens import mix

Hashes = npt.NDArray[np.uint64]
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
_NULL = np.uint64(0x6E756C6C)
_SHORT_BYTES = 64
"""The mean length below which strings mostly repeat, so that each distinct one is hashed once."""


def hash_array(array: pa.Array) -> Hashes:
    """Hash each value; raises ``TypeError`` for types that no dataset has."""
    hashes = _hash_values(array)
    if array.null_count:
        hashes = np.where(np.asarray(array.is_null()), _NULL, hashes)
    return hashes


def hash_columns(batch: pa.RecordBatch, names: Iterable[str]) -> Hashes:
    """Hash some columns of each row together; ``NOTHING`` for a single null column."""
    return _fold((hash_array(batch.column(name)) for name in names), len(batch))


def _hash_values(array: pa.Array) -> Hashes:
    type = array.type
    if pa.types.is_null(type):
        return np.full(len(array), _NULL)
    if pa.types.is_struct(type):
        return _fold(map(hash_array, array.flatten()), len(array))
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return _hash_lists(array)
    if pa.types.is_floating(type):
        values = array.fill_null(0.0).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return _mix(values.view(np.uint64))
    if pa.types.is_integer(type) or pa.types.is_boolean(type):
        values = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return _mix(values.view(np.uint64))
    return _hash_strings(array.cast(pa.large_binary()))


def _hash_lists(array: pa.ListArray) -> Hashes:
    """Sum the hashes of each list's elements, each mixed with its index."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    elements = hash_array(array.flatten())
    places = (np.arange(len(elements)) - np.repeat(starts, lengths)).astype(np.uint64)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mix(elements + places * _FACTOR))])
    return _mix(total[ends] - total[starts] + _mix(lengths.view(np.uint64)))


def _hash_strings(array: pa.LargeBinaryArray) -> Hashes:
    if len(array) and array.nbytes / len(array) < _SHORT_BYTES:
        encoded = array.dictionary_encode()
        if not len(encoded.dictionary):  # all values are null
            return np.full(len(array), _NULL)
        indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        hashes: Hashes = _digests(encoded.dictionary)[indices]
        return hashes
    return _digests(array)


def _digests(array: pa.LargeBinaryArray) -> Hashes:
    _, offsets, text = array.buffers()
    ends = np.frombuffer(offsets or bytes(8), np.int64)[array.offset :][: len(array) + 1].tolist()
    data = memoryview(text or b"")
    digests = (blake2b(data[start:end], digest_size=8).digest() for start, end in pairwise(ends))
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _fold(columns: Iterable[Hashes], n_rows: int) -> Hashes:
    hashes = np.zeros(n_rows, np.uint64)
    for column in columns:
        hashes = _mix(hashes * _FACTOR + column)
    return hashes


def _mix(values: Hashes) -> Hashes:
    """Spread every bit over all bits; 0 is changed, too."""
    return mix(values + _FACTOR)


NOTHING = _mix(np.array([_NULL]))
