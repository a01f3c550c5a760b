"""Files that commands write: what a full disk is said to be, and what it leaves."""

import errno
import resource
from pathlib import Path

import pyarrow as pa
import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, read_tagged
from corpora.system.writing import write_text, write_whole
from tests.file_operations import recorded

WAYS = [lambda path: write_text(path, ["a"]), lambda path: write_whole(path, b"a")]


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("name", ["a" * 255, "三" * 85])
def test_name_may_be_as_long_as_the_file_system_allows(write, name, tmp_path):
    write(tmp_path / name)

    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("write", WAYS)
def test_full_disk_is_said_of_the_file_and_leaves_nothing(write, tmp_path, monkeypatch):
    def full(path, _):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "rename", full)
    (tmp_path / "a.txt").write_text("earlier")

    with pytest.raises(OSError, match="No space left") as error:
        write(tmp_path / "a.txt")

    assert error.value.filename == str(tmp_path / "a.txt")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["earlier"]


def test_shard_that_is_abandoned_on_a_full_disk_leaves_no_file_and_hides_no_error(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    schema = SCHEMAS["redirects"]
    shard = ShardWriter(tmp_path / "a.arrow", schema).__enter__()
    shard.write_batch(pa.RecordBatch.from_pylist([{"title": "Jena"}], schema=schema.columns))

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        shard.__exit__(InterruptedError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert not list(tmp_path.iterdir())


def test_equal_strings_of_a_dataset_are_read_as_one_object(tmp_path):
    schema, file = SCHEMAS["ner"], tmp_path / "a.arrow"
    words = ["Fräulein", "Else"]
    row = {"document_id": "letter-1", "split": "train", "tokens": words, "tags": ["O", "B-PER"]}
    with ShardWriter(file, schema) as shard:
        for number in range(2):
            rows = [{"id": f"letter-1#{number}", **row}]
            shard.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema.columns))

    one, other = read_tagged(file)

    assert (one.id, other.id) == ("letter-1#0", "letter-1#1")
    assert list(one.tokens) == list(other.tokens) == words
    assert one.document_id is other.document_id
    assert one.tokens[0] is other.tokens[0]


def test_a_durable_file_is_on_the_disk_before_it_has_its_name(tmp_path):
    with recorded(tmp_path) as operations:
        write_whole(tmp_path / "a", b"a", is_durable=True)

    names = [operation.name for operation in operations]
    assert names.index("fsync") < names.index("rename")
