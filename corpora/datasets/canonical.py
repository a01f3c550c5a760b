"""A canonical form of record batches, in which equal values have equal bytes.

Arrow does not fix what lies behind a null, whether a column without nulls has a bitmap, and where
in its buffers a slice begins; all of this shows in a written file. So rows that may be computed,
read again or taken over from another file are converted to one form before they are written.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def canonical(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with the same values whose buffers depend on the values alone.

    Every buffer has exactly the bytes that are needed and begins with the first row. There is a
    validity bitmap only where there are nulls; its unused last bits are 0, and so are the values
    behind nulls. Raises ``TypeError`` for columns that are not of strings, bytes, numbers, lists or
    structs.
    """
    arrays = [_canonical(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _canonical(array: pa.Array) -> pa.Array:
    type = array.type
    bitmap = _bitmap(array) if array.null_count else None
    if pa.types.is_struct(type):
        fields = [_canonical(_under(array, array.field(i))) for i in range(type.num_fields)]
        return pa.Array.from_buffers(type, len(array), [bitmap], children=fields)
    if pa.types.is_list(type):
        starts, kept, first = _starts(array)
        values = _canonical(kept.values.slice(first, starts[-1]))
        return pa.Array.from_buffers(
            type, len(array), [bitmap, pa.py_buffer(starts)], children=[values]
        )
    if pa.types.is_string(type) or pa.types.is_binary(type):
        starts, kept, first = _starts(array)
        data = (kept.buffers()[2] or pa.py_buffer(b"")).slice(first, starts[-1])
        return pa.Array.from_buffers(type, len(array), [bitmap, pa.py_buffer(starts), data])
    if pa.types.is_integer(type) or pa.types.is_floating(type):
        filled = array.fill_null(0) if array.null_count else array
        values = np.ascontiguousarray(filled.to_numpy(zero_copy_only=False))
        return pa.Array.from_buffers(type, len(array), [bitmap, pa.py_buffer(values)])
    raise TypeError(f"{type}: has no canonical form here")


def _bitmap(array: pa.Array) -> pa.Buffer:
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def _under(structs: pa.Array, field: pa.Array) -> pa.Array:
    """Make a field null wherever the struct around it is null."""
    if not structs.null_count:
        return field
    return pc.if_else(structs.is_valid(), field, pa.scalar(None, field.type))


def _starts(array: pa.Array) -> tuple[npt.NDArray[np.int32], pa.Array, int]:
    """Compute the offsets of the strings or lists, from 0; a null has length 0.

    Returns these offsets (one more than rows), the array without nulls, and the position in the
    values of that array where its first string or list begins.
    """
    if not array.null_count:
        offsets = _offsets(array)
        return offsets - offsets[0], array, int(offsets[0])
    kept = array.drop_null()
    offsets = _offsets(kept)
    lengths = np.zeros(len(array), np.int32)
    lengths[array.is_valid().to_numpy(zero_copy_only=False)] = np.diff(offsets)
    starts = np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])
    return starts, kept, int(offsets[0])


def _offsets(array: pa.Array) -> npt.NDArray[np.int32]:
    """Return the offsets of the strings or lists in the buffers, one more than rows."""
    if not len(array):  # an empty array need not have buffers
        return np.zeros(1, np.int32)
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1]
