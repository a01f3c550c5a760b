import pickle

import numpy as np
import pytest

from corpora.errors import CorpusError, DamagedDatasetError, ShardSchemaError
from modeling.data.examples import ExampleSet


def same(example, other):
    return example[:2] == other[:2] and all(map(np.array_equal, example[2:], other[2:]))


@pytest.mark.parametrize("split", ["train", "validation"])
def test_the_rows_of_a_split_are_read_as_they_were_written(tmp_path, samples, split):
    rows = samples.rows(2500, longest=5)  # more than a record batch in each of three shards
    samples.write(tmp_path / "x", rows, n_shards=3)

    examples = ExampleSet(tmp_path / "x", split)

    expected = [samples.example(row) for row in rows if row["split"] == split]
    assert len(examples) == len(expected)
    assert all(map(same, examples, expected))
    assert examples.lengths.tolist() == [len(example.subwords) for example in expected]
    assert examples.document_id(7) == expected[7].document_id
    assert examples.hashes().tolist() == [example.hash for example in expected]


def test_an_example_is_a_view_of_the_file(dataset):
    example = ExampleSet(dataset, "train")[3]

    assert not any(array.flags.owndata or array.flags.writeable for array in example[2:])


def test_an_example_set_is_pickled_as_its_path(dataset):
    examples = ExampleSet(dataset, "validation")

    pickled = pickle.dumps(examples)

    assert len(pickled) < 500
    assert all(map(same, pickle.loads(pickled), examples))  # noqa: S301 - our own


def test_a_split_without_rows_is_empty(tmp_path, samples):
    samples.write(tmp_path / "x", [samples.row("a#0", 4)])

    assert len(ExampleSet(tmp_path / "x", "validation")) == 0


SHARD = "shard-00000.arrow"


@pytest.mark.parametrize(
    ("name", "change", "error", "message"),
    [
        (SHARD, None, DamagedDatasetError, f"{SHARD}: not readable"),
        (SHARD, lambda data: data[:-1], DamagedDatasetError, rf"{SHARD}: \d+ bytes, but"),
        (
            SHARD,
            lambda data: b"?" * len(data),
            CorpusError,
            f"{SHARD}: not readable as an Arrow file",
        ),
        (
            "dataset.json",
            lambda data: data.replace(b'"rows": 9', b'"rows": 10'),
            DamagedDatasetError,
            f"{SHARD}: 9 rows, but .* 10",
        ),
        (
            "dataset.json",
            lambda data: data.replace(b'"examples"', b'"documents"'),
            ShardSchemaError,
            "not 'examples'",
        ),
    ],
)
def test_a_dataset_that_is_damaged_or_of_something_else_is_named(
    tmp_path, samples, name, change, error, message
):
    path = samples.write(tmp_path / "x", samples.rows(9), n_shards=1)
    if change is None:
        (path / name).unlink()
    else:
        (path / name).write_bytes(change((path / name).read_bytes()))

    with pytest.raises(error, match=message):
        ExampleSet(path, "train")
