"""Columns and fields that an earlier version of a schema lacks, filled in: lists are empty."""

from collections.abc import Iterable

import pyarrow as pa


def lacks_only_nullable(written: Iterable[pa.Field], wanted: Iterable[pa.Field]) -> bool:
    """Tell whether fields are those that are wanted, in order, without some that are nullable."""
    written, wanted = list(written), list(wanted)
    known = {field.name: field for field in written}
    present = [field for field in wanted if field.name in known]
    return [field.name for field in present] == [field.name for field in written] and all(
        _can_become(known[field.name], field) if field.name in known else field.nullable
        for field in wanted
    )


def _can_become(written: pa.Field, wanted: pa.Field) -> bool:
    if written.equals(wanted):
        return True
    old, new = written.type, wanted.type
    if written.nullable != wanted.nullable:
        return False
    if pa.types.is_list(old) and pa.types.is_list(new):
        return _can_become(old.value_field, new.value_field)
    is_struct = pa.types.is_struct(old) and pa.types.is_struct(new)
    return is_struct and lacks_only_nullable(old, new)


def filled(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the given columns; what it lacks is null, a column of lists empty."""
    if batch.schema == columns:
        return batch
    arrays = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else _nothing(len(batch), field.type)
        for field in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _nothing(n_rows: int, type: pa.DataType) -> pa.Array:
    return pa.array([[]] * n_rows, type) if pa.types.is_list(type) else pa.nulls(n_rows, type)
