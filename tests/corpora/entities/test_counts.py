"""Counts of entities in partitions."""

import numpy as np
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.entities import counts


def test_a_partition_is_read_from_all_shards_whatever_its_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(counts, "BATCH_ROWS", 3)
    rng = np.random.default_rng(1)
    expected, paths = {part: [] for part in range(12)}, []
    for number in range(4):
        parts = rng.choice([2, 3, 5, 6, 11], size=40)  # most have several batches, some have none
        names = pa.array([f"wiki:{number}-{n}" for n in range(40)])
        text = pa.array(["form"] * 40)
        columns = {
            "entity": names,
            "form": text,
            "origin": text,
            "lang": text,
            "count": pa.array([1] * 40),
        }
        with ShardWriter(tmp_path / f"{number}.arrow", SCHEMAS["entity_counts"]) as writer:
            for batch in counts.by_partition(pa.table(columns), parts, schema="entity_counts"):
                writer.write_batch(batch)
        paths.append(tmp_path / f"{number}.arrow")
        for part, name in zip(parts.tolist(), names.to_pylist(), strict=True):
            expected[part].append(name)

    read = {
        part: [
            e for t in counts.read_partition(paths, part) for e in t.column("entity").to_pylist()
        ]
        for part in expected
    }

    assert read == expected
