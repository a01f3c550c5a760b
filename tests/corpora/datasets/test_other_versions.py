"""Data of another version of a schema: messages say so, and what they say is true."""

import json
from importlib import import_module

import pyarrow as pa
import pytest

import onoma
from corpora.concordance.__main__ import main as concordance
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset
from corpora.diff.__main__ import compare_all
from corpora.document import Paragraph
from corpora.errors import ShardSchemaError
from corpora.runs.plan import fingerprint_of
from corpora.store.inspection import show, verify
from corpora.system.files import sha256_of
from tests.corpora.diff.two_versions import document, write_documents, write_rows
from tests.datasets import document_to_row


@pytest.mark.parametrize(
    ("schema", "version", "says"),
    [
        (
            "ner",
            1,
            "ner version 1, but this code has version 2. Run again: onoma tei, onoma benchmark.",
        ),
        ("ner", 99, "ner version 99, but this code has version 2. Update Onoma."),
        ("pieces", 1, "no such schema. Update Onoma."),
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

    assert {schema.name for schema in changed} == {"documents", "reuse", "entities", "ner"}
    modules = {f"onoma {command.name}": command.module for command in onoma.commands()}
    for schema in changed:
        for name in schema.made_by.split(", "):
            assert schema.name in import_module(modules[name]).DATASETS.values()


@pytest.fixture
def earlier(tmp_path):
    """Write documents of the first version: without categories, and levels of headings."""
    paragraphs = (Paragraph(0, 4, "head"), Paragraph(5, 9))
    rows = [document_to_row(document(n, paragraphs=paragraphs)) for n in range(3)]
    folder = write_rows(tmp_path / "earlier", "documents", rows)
    description = json.loads((folder / "dataset.json").read_text())
    for shard in description["shards"]:
        path = folder / shard["name"]
        with pa.ipc.open_file(path) as reader:
            table = reader.read_all().drop_columns(["categories"])
        at = table.schema.get_field_index("paragraphs")
        type = pa.list_(pa.struct(list(table.schema.field(at).type.value_type)[:3]))
        blocks = [[(b["start"], b["end"], b["kind"]) for b in row] for row in table[at].to_pylist()]
        table = table.set_column(at, pa.field("paragraphs", type), pa.array(blocks, type))
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
        shard["bytes"], shard["sha256"] = path.stat().st_size, sha256_of(path)
    description["plan"]["fingerprint"] = fingerprint_of({})
    (folder / "dataset.json").write_text(json.dumps(description | {"version": 1}))
    (folder / "rejected.jsonl").touch()
    return folder


def test_documents_of_an_earlier_version_are_read_by_all(earlier, tmp_path):
    dataset = open_dataset(earlier, "documents")
    now = write_documents(tmp_path / "now", list(dataset))

    assert [d.categories for d in dataset] == [()] * 3
    assert [(p.kind, p.level) for p in dataset["klwiki:2"].paragraphs] == [
        ("head", None),
        ("p", None),
    ]
    assert [b.column_names for b in dataset.batches(("id", "categories"))] == [
        ["id", "categories"]
    ] * 2
    assert "documents version 1, 3 rows in 2 shards" in verify(earlier, rows=True)[0]
    assert len([*show(earlier)]) == 3
    assert compare_all(earlier, now)[0].counts["changed"] == 0
    assert concordance([str(earlier), "--output", str(tmp_path / "pages")]) == 0


def test_what_lacks_a_column_that_is_never_null_is_refused(earlier):
    path = earlier / "shard-00000.arrow"
    with pa.ipc.open_file(path) as reader:
        table = reader.read_all().drop_columns(["text"])
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)

    with pytest.raises(ShardSchemaError, match="Run again"):
        list(open_dataset(earlier))
