"""What a store was asked to forget does not get into what later runs make."""

import json
from pathlib import Path

import pytest

from corpora.datasets.forgetting import hash_of
from corpora.datasets.shards import open_dataset
from corpora.store.inspection import verify
from pipelines import tei_to_ner, wikipedia_to_documents

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def forgotten(tmp_path):
    """Write a list; gives the options for it."""

    def write(**names):
        rows = [{"sha256": hash_of(kind, name)} for kind, of in names.items() for name in of]
        (tmp_path / "forgotten.json").write_text(json.dumps({"forgotten": rows}))
        return ["--forgotten", str(tmp_path / "forgotten.json")]

    return write


def test_letters_and_their_sentences_are_left_out(tmp_path, forgotten, capsys):
    output = tmp_path / "out"
    options = ["--edition", str(DATA / "letters" / "edition.toml"), "--output", str(output)]
    listed = forgotten(document=["01.xml"], entity=["letters:o2"])

    assert tei_to_ner.main(["--input", str(DATA / "letters/0[12].xml"), *options, *listed]) == 0

    assert "written 1 + filtered 1" in capsys.readouterr().out
    [document] = open_dataset(output / "documents").records()
    assert document.id == "02.xml"
    assert not any(mention.entity == "letters:o2" for mention in document.mentions)
    assert {row.document_id for row in open_dataset(output / "ner").records()} == {"02.xml"}
    verify(output)


def test_pages_of_a_wiki_and_links_to_one_are_left_out(tmp_path, forgotten, capsys):
    dump = DATA / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
    output = tmp_path / "out"
    listed = forgotten(document=["kleinwiki:5"], entity=["kleinwiki:Orbelland"])

    options = ["--input", str(dump), "--output", str(output), *listed]
    assert wikipedia_to_documents.main(options) == 0

    assert "forgotten 1" in capsys.readouterr().out
    documents = [*open_dataset(output / "documents").records()]
    assert "kleinwiki:5" not in {document.id for document in documents}
    entities = {mention.entity for document in documents for mention in document.mentions}
    assert "kleinwiki:Orbelland" not in entities
    assert len(entities) > 10
    assert len(open_dataset(output / "reuse")) == len(documents)
    verify(output)
