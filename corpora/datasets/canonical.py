"""A canonical form of record batches, in which equal values have equal bytes.

Arrow does not fix what lies behind a null, whether a column without nulls has a bitmap, and where
in its buffers a slice begins; all of this shows in a written file. So rows that may be computed,
read again or taken over from another file are converted to one form before they are written.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def canonical(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with the same values whose buffers depend on the values alone.

    Every buffer has exactly the bytes that are needed and begins with the first row. There is a
    validity bitmap only where there are nulls; its unused last bits are 0, and so are the values
    behind nulls. Raises ``TypeError`` for columns of maps, large lists or dictionaries.
    """
    arrays = [_canonical(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _canonical(array: pa.Array) -> pa.Array:
    type = array.type
    is_null = array.is_null() if array.null_count else None
    if pa.types.is_struct(type):
        fields = [array.field(i) for i in range(type.num_fields)]
        if is_null is not None:  # so is each field of a null
            fields = [pc.if_else(is_null, pa.scalar(None, each.type), each) for each in fields]
        fields = [_canonical(each) for each in fields]
        return pa.StructArray.from_arrays(fields, fields=list(type), mask=is_null)
    if pa.types.is_list(type):
        ends = np.cumsum(pc.list_value_length(array).fill_null(0))
        offsets = pa.array(np.append(0, ends).astype(np.int32))
        values = _canonical(array.flatten())  # without those behind nulls
        return pa.ListArray.from_arrays(offsets, values, type=type, mask=is_null)
    if pa.types.is_nested(type) or pa.types.is_dictionary(type):
        raise TypeError(f"{type}: has no canonical form here")
    return array.take(pa.array(np.arange(len(array))))  # new buffers, with 0 behind nulls
