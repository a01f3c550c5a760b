import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets import repeated_ids
from corpora.datasets.repeated_ids import Shared, find_repeated, find_shared
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document
from tests.datasets import document_to_row

SCHEMA = SCHEMAS["redirects"]
IDS = st.text(max_size=3) | st.text("aé", min_size=250, max_size=300)


def write(folder, shards):
    paths = [folder / f"shard-{number:05}.arrow" for number in range(len(shards))]
    for path, ids in zip(paths, shards, strict=True):
        with ShardWriter(path, SCHEMA) as writer:
            for part in (ids[:2], ids[2:]):  # batches
                rows = [{"id": id, "title": "t", "target": "u"} for id in part]
                writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=SCHEMA.columns))
    return paths


def naive(shards):
    seen = set()
    for number, ids in enumerate(shards):
        for id in ids:
            if id in seen:
                return id, number
            seen.add(id)
    return None


def check(shards):
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), shards)
        found = find_repeated(paths, SCHEMA)
        assert (found and (found[0], paths.index(found[1]))) == naive(shards)


@settings(max_examples=50)  # the time is that of the disk
@given(st.lists(st.lists(IDS, max_size=4), max_size=4))
def test_first_repeated_id_is_that_of_a_set(shards):
    check(shards)


@settings(max_examples=50)
@given(st.lists(st.lists(IDS, max_size=4), max_size=4))
def test_collisions_change_nothing(shards):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            repeated_ids,
            "long_hashes",
            lambda ids: np.array([len(i) % 2 for i in ids.to_pylist()], "u8"),
        )
        check(shards)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_however_many_are_hashed_and_held_at_once_the_answer_is_the_same(rows, monkeypatch):
    monkeypatch.setattr(repeated_ids, "_ROWS", rows)
    monkeypatch.setattr(repeated_ids, "HELD", 4 * rows)
    shards = [[f"a{number}", f"b{number}", f"c{number}"] for number in range(20)]

    check(shards)
    check([*shards, ["a7", "b3"]])


@pytest.mark.parametrize(("last", "found"), [(8, None), (1 << 30, 1 << 30), (-1, -1)])
def test_numbers_are_ids_too(tmp_path, last, found):
    schema, path = SCHEMAS["subwords"], tmp_path / "shard-00000.arrow"
    with ShardWriter(path, schema) as writer:
        for id in (-1, 0, 7, 1 << 30, last):
            row = {"id": id, "subword": "p", "count": 1}
            writer.write_batch(pa.RecordBatch.from_pylist([row], schema=schema.columns))

    assert find_repeated([path], schema) == (None if found is None else (found, path))


def write_documents(folder, datasets):
    """Write datasets of a shard for each row: (group, id) of its documents."""
    schema, paths = SCHEMAS["documents"], []
    for number, shards in enumerate(datasets):
        paths.append([folder / f"{number}-{shard}.arrow" for shard in range(len(shards))])
        for path, keys in zip(paths[-1], shards, strict=True):
            with ShardWriter(path, schema) as writer:
                for group, id in keys:
                    document = Document(id=id, group=group, source="s", text="")
                    writer.write(document_to_row(document))
    return paths


def naive_shared(datasets):
    found = [[key for keys in shards for key in keys] for shards in datasets]
    for (n, first), (m, second) in combinations(enumerate(found), 2):
        if both := [id for group, id in second if (group, id) in first]:
            return Shared(n, m, len(both), both[0])
    return None


KEYS = st.lists(
    st.tuples(st.sampled_from("gh"), st.text("abé", min_size=1, max_size=2)), max_size=3
)
SETS = st.lists(st.lists(KEYS, max_size=2), max_size=4)


@settings(max_examples=50)  # the time is that of the disk
@given(SETS, st.booleans())
def test_first_datasets_with_the_same_documents_are_those_of_sets(datasets, collide):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(repeated_ids, "long_hashes", lambda ids: np.zeros(len(ids), "u8"))
        paths = write_documents(Path(folder), datasets)

        assert find_shared(paths) == naive_shared(datasets)
