"""``onoma predict`` on datasets of documents."""

import json
from dataclasses import replace

import pytest

from corpora.datasets.document_batches import documents_of
from corpora.datasets.rows import document_from_row
from corpora.datasets.shards import ShardWriter, open_dataset
from corpora.document import Document, Mention, Span
from corpora.store.inspection import main as shards
from modeling.taggers.tagger import Tagger
from tests.datasets import write_dataset
from tests.modeling.test_predict import predict


@pytest.fixture
def documents(tmp_path):
    text = "ich war in Ulm . und bei Ida Berg ."
    document = Document(
        id="d",
        group="g",
        source="s",
        text=text,
        sentences=(Span(0, 16), Span(17, len(text))),
        mentions=(
            Mention(0, 3, label="x", origin="prediction"),
            Mention(21, 28, entity="w:Ida", origin="link"),
        ),
    )
    return write_dataset(tmp_path / "documents", [document])


def test_documents_get_predictions_beside_what_is_there(tagger_run, documents, tmp_path):
    out = tmp_path / "out"
    assert predict(tagger_run, "--documents", documents, "--output", out) == 0

    assert shards(["verify", str(out), "--rows"]) == 0
    [document] = [document_from_row(row) for row in open_dataset(out, "documents").rows()]
    found = [(document.text[m.start : m.end], m.origin) for m in document.mentions]
    assert found == [("Ulm", "prediction"), ("bei Ida", "link")]  # "Ida Berg" would cross it
    counters = json.loads((out / "dataset.json").read_text())["counters"]
    assert counters["predictions.crossing"] == 1
    assert counters["predictions.replaced"] == 1


def test_the_same_command_makes_nothing_anew(tagger_run, documents, tmp_path, monkeypatch):
    out = tmp_path / "out"
    predict(tagger_run, "--documents", documents, "--output", out)
    monkeypatch.setattr(Tagger, "annotate_all", None)

    assert predict(tagger_run, "--documents", documents, "--output", out) == 0


def test_other_labels_make_the_dataset_anew(tagger_run, documents, tmp_path):
    names = tmp_path / "map.toml"
    out = tmp_path / "out"
    predict(tagger_run, "--documents", documents, "--output", out)
    for target in ("PLACE", "LOC"):
        names.write_text(f'[labels]\nplace = "{target}"\n')

        assert (
            predict(tagger_run, "--documents", documents, "--output", out, "--labels", names) == 0
        )

        [row] = open_dataset(out, "documents").rows()
        labels = {m.label for m in document_from_row(row).mentions if m.origin == "prediction"}
        assert labels == {target}


def test_documents_that_are_not_cut_into_sentences_are_counted(tagger_run, documents, tmp_path):
    [row] = open_dataset(documents, "documents").rows()
    bare = [replace(document_from_row(row), id=id, sentences=()) for id in ("a", "b")]
    write_dataset(tmp_path / "bare", bare)

    out = tmp_path / "out"
    assert predict(tagger_run, "--documents", tmp_path / "bare", "--output", out) == 0

    counters = json.loads((out / "dataset.json").read_text())["counters"]
    assert counters["documents.without_sentences"] == 2


def test_a_dataset_without_documents_gives_one(tagger_run, tmp_path):
    write_dataset(tmp_path / "none", [])

    out = tmp_path / "out"
    assert predict(tagger_run, "--documents", tmp_path / "none", "--output", out) == 0

    assert list(open_dataset(out, "documents").rows()) == []


def test_documents_are_written_while_a_shard_is_read(tagger_run, tmp_path, monkeypatch):
    texts = [Document(id=f"{n}", group="g", source="s", text="Ulm") for n in range(3)]
    monkeypatch.setattr("corpora.datasets.shards.ROWS_PER_BATCH", 1)
    write_dataset(tmp_path / "documents", texts)
    seen = []

    def converted(batch):
        seen.append("read")
        return documents_of(batch)

    def written(writer, document, write=ShardWriter.write):
        seen.append("written")
        return write(writer, document)

    monkeypatch.setattr("corpora.datasets.shards.documents_of", converted)
    monkeypatch.setattr(ShardWriter, "write", written)
    monkeypatch.setattr(Tagger, "annotate_all", lambda _, documents, **__: iter(documents))

    out = tmp_path / "out"
    assert predict(tagger_run, "--documents", tmp_path / "documents", "--output", out) == 0

    assert seen == 3 * ["read", "written"]
    assert json.loads((out / "dataset.json").read_text())["accounting"]["written"] == 3
