"""Rows with the same values have the same bytes, however they were made."""

import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets.canonical import canonical

NESTED = pa.list_(pa.struct([("key", pa.string()), ("n", pa.int32()), ("x", pa.float32())]))
SCHEMA = pa.schema([("text", pa.string()), ("hash", pa.binary()), ("pairs", NESTED)])
PAIR = st.none() | st.fixed_dictionaries(
    {
        "key": st.none() | st.text(max_size=3),
        "n": st.none() | st.integers(-9, 9),
        "x": st.none() | st.floats(width=32, allow_nan=False),
    }
)
ROW = st.fixed_dictionaries(
    {
        "text": st.none() | st.text(max_size=4),
        "hash": st.none() | st.binary(max_size=3),
        "pairs": st.none() | st.lists(PAIR, max_size=3),
    }
)


def written(batch):
    """Return the bytes of a file with one batch."""
    file = io.BytesIO()
    with pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)
    return file.getvalue()


def spoilt(array):
    """Copy an array, with other bytes behind nulls, and at an offset in other lists.

    The values stay the same.
    """
    if pa.types.is_list(array.type):
        values = spoilt(pa.concat_arrays([array.values, array.values]))
        offsets = np.asarray(array.offsets) + len(array.values)
        mask = np.append(np.asarray(array.is_null()), False)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32(), mask=mask), values)
    if pa.types.is_struct(array.type):
        fields = [spoilt(array.field(i)) for i in range(array.type.num_fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(fields, fields=list(array.type), mask=mask)
    fill = {pa.string(): "??", pa.binary(): b"??"}.get(array.type, 7)
    full = array.fill_null(fill)
    bits = np.packbits(~np.asarray(array.is_null()), bitorder="little")
    bits[-1:] |= np.uint8(0xFF << (len(array) % 8 or 8) & 0xFF)
    buffers = [pa.py_buffer(bits), *full.buffers()[1:]]
    return pa.Array.from_buffers(array.type, len(array), buffers)


@given(st.lists(ROW, min_size=1, max_size=12), st.data())
@settings(max_examples=100)
def test_equal_rows_have_equal_bytes_however_they_were_made(rows, data):
    batch = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    expected = written(canonical(batch))
    cut = data.draw(st.integers(0, len(rows)))
    twice = pa.concat_batches([batch, batch, batch])
    others = {
        "slice": twice.slice(len(rows), len(rows)),
        "parts": pa.concat_batches([batch.slice(0, cut), batch.slice(cut)]),
        "taken": twice.take(pa.array(range(len(rows)))),
        "spoilt": pa.RecordBatch.from_arrays([spoilt(c) for c in batch.columns], schema=SCHEMA),
    }

    for name, other in others.items():
        assert other.to_pylist() == rows, name
        assert written(canonical(other)) == expected, name
    canonical(batch).validate(full=True)
    assert canonical(batch).to_pylist() == rows


def test_column_without_a_form_is_an_error():
    with pytest.raises(TypeError, match="no canonical form"):
        canonical(
            pa.RecordBatch.from_pydict({"x": pa.array([{"a": 1}], pa.map_("str", pa.int8()))})
        )
