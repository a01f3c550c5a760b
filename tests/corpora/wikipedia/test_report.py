"""The report of a run: entities are counted as sets of names would count them."""

import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.wikipedia import report

SCHEMA = SCHEMAS["documents"]
MENTIONS = st.lists(
    st.tuples(st.sampled_from("ABCDEFÄ"), st.sampled_from(["link", "title_match", "self_title"])),
    max_size=5,
)


def write(folder, shards):
    """Write shards of batches of one document each."""
    paths = [folder / f"shard-{number:05}.arrow" for number in range(len(shards))]
    for path, documents in zip(paths, shards, strict=True):
        with ShardWriter(path, SCHEMA) as writer:
            for mentions in documents:
                row = dict.fromkeys(("id", "group", "source", "text"), "x")
                row["mentions"] = [{"entity": name, "origin": origin} for name, origin in mentions]
                writer.write_batch(pa.RecordBatch.from_pylist([row], schema=SCHEMA.columns))
    return paths


def naive(shards):
    every = [mention for documents in shards for mentions in documents for mention in mentions]
    return len({name for name, origin in every if origin == "link"}), len({n for n, _ in every})


@settings(max_examples=50)  # the time is that of the disk
@given(st.lists(st.lists(MENTIONS, max_size=3), max_size=4))
def test_entities_are_counted_as_sets_count_them(shards):
    with tempfile.TemporaryDirectory() as folder:
        assert report.count_entities(write(Path(folder), shards)) == naive(shards)


def test_entities_of_many_shards_are_counted_once(tmp_path):
    shards = [
        [[(f"{number}", "link"), (f"{number // 2}", "title_match"), ("all", "link")]]
        for number in range(20)
    ]

    assert report.count_entities(write(tmp_path, shards)) == naive(shards) == (21, 21)


@pytest.mark.parametrize("n_shards", [0, 1])
def test_no_mentions_are_no_entities(tmp_path, n_shards):
    assert report.count_entities(write(tmp_path, [[[]]] * n_shards)) == (0, 0)


def test_names_are_held_once_however_often_they_come():
    names = report.Distinct()

    for start in range(0, 200_000, 20_000):
        names.add(np.arange(start, start + 40_000, dtype=np.uint64))

    assert names.hashes().tolist() == list(range(220_000))
    assert names._n_new == 0


def test_memory_of_distinct_names_is_a_few_bytes_of_each():
    rng, names, n = np.random.default_rng(1), report.Distinct(), 1_000_000
    tracemalloc.start()

    for _ in range(20):
        names.add(rng.integers(0, 2**63, n // 20).astype(np.uint64))
    n_names = len(names.hashes())

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_names == n
    assert peak < 36 * n
