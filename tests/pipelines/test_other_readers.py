"""Published datasets open in other people's readers, with a pattern over their shards."""

import json

import pyarrow as pa
import pyarrow.dataset
import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from pipelines import documents_to_entity_vocab, documents_to_examples, documents_to_tokenizer
from pipelines import wikipedia_to_documents as wikipedia
from tests.corpora.wikipedia.small_wiki import SmallWiki

pytestmark = pytest.mark.usefixtures("without_runner")
KINDS = (
    "documents", "redirects", "reuse", "entities", "lexicon", "subwords", "examples", "ner",
)  # fmt: skip


def value_of(type):
    """Return something that a column of a type may hold."""
    if pa.types.is_list(type):
        return [value_of(type.value_type)]
    if pa.types.is_struct(type):
        return {field.name: value_of(field.type) for field in type}
    return "wört" if pa.types.is_string(type) else bool(1) if pa.types.is_boolean(type) else 1


def counts_of(folder, tmp_path):
    """Count the rows that each reader finds."""
    import datasets
    import polars as pl

    shards = f"{folder}/*.arrow"
    loaded = datasets.load_dataset(
        "arrow", data_files=shards, split="train", cache_dir=str(tmp_path / "cache")
    )
    arrow = pyarrow.dataset.dataset(str(folder), format="arrow", exclude_invalid_files=True)
    counts = {
        "datasets": len(loaded),
        "polars": pl.read_ipc(shards).height,
        "polars, lazily": pl.scan_ipc(shards).select(pl.len()).collect().item(),
        "pyarrow": arrow.count_rows(),
    }
    try:
        import duckdb
    except ImportError:
        return counts
    [[n]] = duckdb.sql("SELECT count(*) FROM arrow").fetchall()
    return counts | {"duckdb": n}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_dataset_opens_in_every_reader(kind, tmp_path):
    schema = SCHEMAS[kind]
    for number in range(2):
        with ShardWriter(tmp_path / f"shard-{number:05d}.arrow", schema) as writer:
            batch = [{field.name: value_of(field.type) for field in schema.columns}] * 3
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema.columns))

    assert set(counts_of(tmp_path, tmp_path).values()) == {6}


def test_what_lies_beside_shards_is_taken_for_none_of_them(tmp_path):
    dump = tmp_path / "kleinwiki-20261101.xml"
    dump.write_text(SmallWiki().dump(), "utf-8")
    wiki, vocab, tok, examples = (tmp_path / n for n in ("wiki", "vocab", "tok", "examples"))
    documents = wiki / "documents"
    assert wikipedia.main(["--input", str(dump), "--output", str(wiki)]) == 0
    of_documents = ["--input", str(documents), "--output"]
    assert documents_to_entity_vocab.main([*of_documents, str(vocab)]) == 0
    assert documents_to_tokenizer.main([*of_documents, str(tok), "--size", "300"]) == 0
    options = ["--tokenizer", str(tok), "--entity-vocab", str(vocab), "--max-length", "64"]
    assert documents_to_examples.main([*of_documents, str(examples), *options]) == 0

    for folder in (documents, wiki / "redirects", wiki / "reuse", vocab, tok, examples):
        about = json.loads((folder / "dataset.json").read_text("utf-8"))
        named = {folder / shard["name"] for shard in about["shards"]}
        assert {*folder.glob("*.arrow")} == named
    n = sum(shard["rows"] for shard in about["shards"])
    assert set(counts_of(examples, tmp_path).values()) == {n}
