"""Patterns of datasets, and shards whose bytes were changed."""

import os

import pytest

from corpora.errors import CorpusError, DamagedDatasetError, UsageError
from corpora.runs.dataset_inputs import check_hashes, find_shards
from corpora.runs.work_directory import fetch
from corpora.system.buckets import Bucket
from tests.corpora.diff.two_versions import document
from tests.datasets import write_dataset


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "a pattern is empty"),
        ("nowhere/*", "matches nothing"),
        ("s3://onoma/nowhere", "matches no dataset"),
    ],
)
def test_a_pattern_without_a_dataset_is_an_error(pattern, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=message):
        find_shards([pattern], "documents", option="--input")


def test_a_shard_with_other_bytes_than_its_dataset_says_is_an_error(tmp_path):
    write_dataset(tmp_path / "a", [document(1, text="Ulm")])
    [shard] = find_shards([str(tmp_path / "a")], "documents", option="--input")
    path = tmp_path / "a" / "shard-00000.arrow"
    state = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    with pytest.raises(DamagedDatasetError, match="other bytes than were written"):
        check_hashes([shard])


@pytest.mark.usefixtures("bucket")
def test_an_object_of_a_run_that_is_missing_or_damaged_is_not_used(tmp_path):
    folder = Bucket("s3://onoma/run")
    folder.put("table", b"1")

    with pytest.raises(DamagedDatasetError, match="table: damaged"):
        fetch(folder, "table", tmp_path / "table", sha256="f" * 64)
    assert not (tmp_path / "table").exists()
    with pytest.raises(CorpusError, match="another: is missing"):
        fetch(folder, "another", tmp_path / "table")
