"""Documents to an entity vocabulary: several wikis as one, and the files for others."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from corpora.datasets.shards import open_dataset
from corpora.document import Paragraph, Span
from corpora.entities.vocabulary import EntityVocab
from corpora.system.files import sha256_of
from tests.datasets import write_dataset
from tests.pipelines.entity_vocab.made_vocabularies import (
    ARTICLES,
    build,
    document,
    entities_of,
    luke_of,
    rows_of,
)

# --- several wikis ---


GERMAN = [
    document(51, "Berlin", "Berlin liegt", ("Berlin", "dewiki:Berlin"), wiki="dewiki"),
    document(52, "Deutschland", "Das Land", ("Land", "dewiki:Deutschland"), wiki="dewiki"),
    document(53, "Bonn", "In Bonn", ("Bonn", "dewiki:Bonn"), wiki="dewiki"),
]
EQUIVALENTS = "# a table\ndawiki:Berlin\tdewiki:Berlin\n\ndawiki:Tyskland\tdewiki:Deutschland\r\n"


@pytest.fixture(scope="module")
def family(articles, tmp_path_factory):
    """Build a vocabulary of two wikis."""
    folder = tmp_path_factory.mktemp("family")
    german = write_dataset(folder / "german" / "documents", GERMAN)
    (folder / "equivalents.tsv").write_bytes(EQUIVALENTS.encode())
    return build(folder / "out", articles, german.parent, equivalents=folder / "equivalents.tsv")


def test_equivalents_are_one_entity(family):
    [berlin] = [row for row in rows_of(family) if row["title"] == "Berlin"]

    assert (berlin["entity"], berlin["page_id"], berlin["count"]) == (
        "dawiki:Berlin",
        "dawiki:1",
        2,
    )
    assert entities_of(family) == {
        "dawiki:Tyskland": 3,
        "dawiki:Berlin": 4,
        "dewiki:Bonn": 5,
        "dawiki:Ulm": 6,
    }


def test_exports_of_several_wikis_name_the_language(family):
    keys = json.loads((family / "entity_vocab.json").read_text())
    lines = luke_of(family)

    assert keys["de:Deutschland"] == keys["da:Tyskland"] == 3
    assert keys["de:Bonn"] == 5
    assert lines[3]["entities"] == [["Tyskland", "da"], ["Deutschland", "de"]]
    assert lines[0]["entities"] == [["[PAD]", "da"], ["[PAD]", "de"]]


def test_entity_whose_own_page_is_not_there_has_that_of_an_equivalent(articles, tmp_path):
    (tmp_path / "equivalents.tsv").write_text("frwiki:Allemagne\tdawiki:Tyskland\n")

    out = build(tmp_path / "out", articles, equivalents=tmp_path / "equivalents.tsv")

    [row] = [row for row in rows_of(out) if row["title"] == "Allemagne"]
    assert (row["entity"], row["page_id"]) == ("frwiki:Allemagne", "dawiki:2")


# --- exports ---


def test_exports_hold_every_id(vocab):
    lines = luke_of(vocab)

    assert lines[2] == {"id": 2, "entities": [["[MASK]", "da"]], "count": 0}
    assert lines[3] == {"id": 3, "entities": [["Tyskland", "da"]], "count": 2}
    assert (vocab / "entity_vocab.tsv").read_text().split("\n")[3:6] == [
        "Tyskland\t2",
        "Berlin\t1",
        "Ulm\t1",
    ]


def test_tokenizer_json_has_the_second_mask_past_the_end(vocab):
    assert json.loads((vocab / "entity_vocab.json").read_text()) == {
        "[PAD]": 0,
        "[UNK]": 1,
        "[MASK]": 2,
        "Tyskland": 3,
        "Berlin": 4,
        "Ulm": 5,
        "[MASK2]": 6,
    }


@pytest.mark.parametrize("other", ["dawikisource", "dawiktionary"])
def test_of_entities_that_share_a_name_the_most_frequent_has_it(tmp_path, other):
    title = document(9, "Berlin", "Berlin, Berlins", ("Berlins", f"{other}:Berlin"), wiki=other)
    more = document(8, "Jena", "Om Berlin", ("Berlin", "dawiki:Berlin"))
    documents = write_dataset(tmp_path / "docs", [title, more], ARTICLES[0])

    vocab = build(tmp_path / "vocab", documents)

    pairs = json.loads((vocab / "entity_vocab.json").read_text(), object_pairs_hook=list)
    assert ("Berlin", entities_of(vocab)["dawiki:Berlin"]) in pairs
    assert len(dict(pairs)) == len(pairs)
    assert luke_of(vocab)[entities_of(vocab)[f"{other}:Berlin"]]["entities"] == [["Berlin", "da"]]


def test_transformers_loads_the_entities(vocab):
    luke = pytest.importorskip("transformers").LukeTokenizer
    words = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, "U": 5, "l": 6, "m": 7}

    tokenizer = luke(vocab=words, merges=[], entity_vocab_file=str(vocab / "entity_vocab.json"))
    encoded = tokenizer("Ulm", entities=["Ulm", "Atlantis"], entity_spans=[(0, 3), (0, 3)])

    assert encoded["entity_ids"] == [5, 1]
    assert (tokenizer.entity_mask_token_id, tokenizer.entity_mask2_token_id) == (2, 6)


def test_coverage_says_what_each_limit_keeps(vocab):
    lines = [line.split("\t") for line in (vocab / "coverage.tsv").read_text().splitlines()]

    table = {(rule, value): rest for rule, value, *rest in lines}

    assert table["size", "all"] == table["min_count", "1"] == ["3", "4", "0.800000"]
    assert table["min_count", "2"] == ["1", "2", "0.400000"]
    assert table["min_count", "50"] == ["0", "0", "0.000000"]
    assert "| min_count 2 | 1 | 2 | 40.0% |" in (vocab / "report.md").read_text()


def test_ids_and_descriptions_of_pages_are_columns_and_exported(tmp_path):
    first, *rest = ARTICLES[0]
    about = {"wikidata": "Q64", "ids": "gnd:4005728-8", "type": "place"}
    first = replace(first, paragraphs=(Paragraph(0, 30),), sentences=(Span(0, 30),), metadata=about)
    documents = write_dataset(tmp_path / "docs", [first, *rest], ARTICLES[1])

    vocab = build(tmp_path / "vocab", documents)

    rows = {row["entity"]: row for row in rows_of(vocab)}
    berlin, rom = rows["dawiki:Berlin"], rows["dawiki:Ulm"]
    assert [(pair["key"], pair["value"]) for pair in berlin["ids"]] == [
        ("wikidata", "Q64"),
        ("gnd", "4005728-8"),
    ]
    assert berlin["type"] == "place"
    assert berlin["description"] == "Berlin er Tysklands hovedstad."
    assert (rom["ids"], rom["type"], rom["description"]) == (None, None, None)
    [line] = (vocab / "entity_ids.tsv").read_text().splitlines()[1:]
    assert line.split("\t")[1:] == [
        *("dawiki:Berlin", "place", "wikidata:Q64 gnd:4005728-8"),
        "Berlin er Tysklands hovedstad.",
    ]
    [listed] = [each for each in luke_of(vocab) if "ids" in each]
    assert listed["ids"] == {"wikidata": "Q64", "gnd": "4005728-8"}
    assert "| an id in wikidata | 1 | 33.3% |" in (vocab / "report.md").read_text()


def test_a_vocabulary_of_the_version_before_keeps_its_ids(tmp_path):
    documents = write_dataset(tmp_path / "docs", *ARTICLES)
    first = build(tmp_path / "first", documents)
    description = json.loads((first / "dataset.json").read_text())
    for shard in description["shards"]:
        with pa.ipc.open_file(first / shard["name"]) as reader:
            table = reader.read_all().drop_columns(["ids", "type", "description"])
        with pa.ipc.new_file(first / shard["name"], table.schema) as writer:
            writer.write_table(table)
        shard["bytes"] = (first / shard["name"]).stat().st_size
        shard["sha256"] = sha256_of(first / shard["name"])
    (first / "dataset.json").write_text(json.dumps(description | {"version": 1}))

    second = build(tmp_path / "second", documents, previous=first)

    assert EntityVocab(first).entity_of(3) == EntityVocab(second).entity_of(3)
    assert all(row["ids"] == [] for row in open_dataset(first, "entities").rows())
