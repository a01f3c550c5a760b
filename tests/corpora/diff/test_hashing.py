"""Hashes of Arrow values: equal exactly where the values are, wherever they stand."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.hashing.rows import hash_array, hash_columns

TEXTS = st.none() | st.text(alphabet="ab é😀", max_size=4) | st.just("long " * 40)
ITEMS = st.lists(
    st.none() | st.fixed_dictionaries({"key": TEXTS, "n": st.none() | st.integers(-2, 2)}),
    max_size=4,
)
STRUCTS = pa.struct([("key", pa.string()), ("n", pa.int32())])
COLUMNS = [
    (pa.string(), TEXTS),
    (pa.int32(), st.none() | st.integers(-3, 3)),
    (pa.float32(), st.none() | st.sampled_from([0.0, 0.5, -1.0])),
    (pa.bool_(), st.none() | st.booleans()),
    (pa.list_(pa.string()), st.none() | st.lists(TEXTS, max_size=3)),
    (pa.list_(STRUCTS), st.none() | ITEMS),
    (pa.list_(pa.list_(pa.int64())), st.lists(st.lists(st.integers(0, 1), max_size=2), max_size=3)),
]


@settings(max_examples=60)
@given(st.data())
@pytest.mark.parametrize(("type", "values"), COLUMNS, ids=lambda x: str(x)[:40])
def test_hashes_are_equal_exactly_where_values_are(type, values, data):
    rows = data.draw(st.lists(values, max_size=12))

    hashes = hash_array(pa.array(rows, type)).tolist()

    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            assert (hashes[i] == hashes[j]) == (row == other)


@settings(max_examples=40)
@given(st.data())
@pytest.mark.parametrize(("type", "values"), COLUMNS, ids=lambda x: str(x)[:40])
def test_a_slice_has_the_hashes_of_its_place(type, values, data):
    array = pa.array(data.draw(st.lists(values, min_size=1, max_size=9)), type)
    start = data.draw(st.integers(0, len(array)))

    of_slice = hash_array(array.slice(start, 3)).tolist()

    assert of_slice == hash_array(array).tolist()[start : start + 3]


def test_columns_do_not_run_into_each_other():
    batch = pa.RecordBatch.from_pydict({"a": ["x", "xy"], "b": ["yz", "z"]})

    first, second = hash_columns(batch, ("a", "b")).tolist()

    assert first != second


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_every_dataset_can_be_hashed(schema):
    empty = schema.columns.empty_table().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=schema.columns)
    ]

    for name in schema.columns.names:
        assert hash_columns(empty[0], (name,)).tolist() == []
