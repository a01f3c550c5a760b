"""Data of another version of a schema: messages say so, and what they say is true."""

import json
from importlib import import_module

import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset
from corpora.errors import ShardSchemaError
from tests.corpora.diff.two_versions import write_rows


@pytest.mark.parametrize(
    ("schema", "version", "says"),
    [
        ("ner", 1, "ner version 1, but this code has version 2. Run again: benchmark_to_ner."),
        ("ner", 99, "ner version 99, but this code has version 2. Update Onoma."),
        ("pieces", 1, "no such schema. Run benchmark_to_ner again, or update Onoma."),
    ],
)
def test_data_of_another_version_says_what_to_run(tmp_path, schema, version, says):
    file = write_rows(tmp_path / "data", "ner", []) / "dataset.json"
    plan = {"plan": {"pipeline": "benchmark_to_ner"}}
    description = json.loads(file.read_text()) | {"schema": schema, "version": version} | plan
    file.write_text(json.dumps(description))

    with pytest.raises(ShardSchemaError, match=says):
        open_dataset(file.parent)


def test_what_is_named_for_data_of_an_earlier_version_makes_it():
    changed = [schema for schema in SCHEMAS.values() if schema.version > 1]

    assert {schema.name for schema in changed} == {"reuse", "entities", "ner"}
    for schema in changed:
        for name in schema.made_by.split(", "):
            assert schema.name in import_module(f"pipelines.{name}").DATASETS.values()
