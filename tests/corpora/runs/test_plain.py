"""Datasets that a program of the user writes."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import onoma
from corpora.document import Document, Sentence
from corpora.errors import CorpusError, UsageError
from corpora.runs import plain
from corpora.store.inspection import verify


def make_document(id, text="Ein Satz."):
    return Document(id=id, group="mine", source="a program", text=text)


def make_sentence(id):
    return Sentence(id=id, document_id="d", split="train", tokens=("Ada",), tags=("B-person",))


def documents(n):
    return [make_document(f"d{i}") for i in range(n)]


def test_documents_are_read_as_they_were_written(tmp_path):
    dataset = onoma.write_dataset(iter(documents(3)), tmp_path / "mine")

    assert list(dataset) == documents(3)
    assert verify(tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_program_that_another_was_faster_than_is_told_so(tmp_path):
    def slow():
        yield make_document("slow")
        onoma.write_dataset(documents(1), tmp_path / "mine")

    with pytest.raises(UsageError, match="mine: is there already"):
        onoma.write_dataset(slow(), tmp_path / "mine")

    assert list(onoma.open_dataset(tmp_path / "mine")) == documents(1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_sentences_are_a_dataset_of_their_own(tmp_path):
    sentences = [make_sentence(f"s{i}") for i in range(3)]

    dataset = onoma.write_dataset(sentences, tmp_path / "ner")

    assert (dataset.schema.name, list(dataset)) == ("ner", sentences)


def test_no_record_makes_an_empty_dataset(tmp_path):
    assert list(onoma.write_dataset([], tmp_path / "mine")) == []


@pytest.mark.parametrize("n_characters", [10, plain.SHARD_CHARACTERS])
def test_a_shard_ends_after_so_many_characters(n_characters, monkeypatch, tmp_path):
    monkeypatch.setattr(plain, "SHARD_CHARACTERS", n_characters)
    lengths = [n_characters // 2, -(-n_characters // 2), 1]
    some = [make_document(f"d{i}", text="a" * n) for i, n in enumerate(lengths)]

    dataset = onoma.write_dataset(some, tmp_path / "mine")

    assert [shard.rows for shard in dataset.shards] == [2, 1]
    assert [len(document.text) for document in dataset] == lengths


@pytest.mark.parametrize(
    ("some", "error", "message"),
    [
        ([*documents(2), *documents(1)], CorpusError, "mine: the id 'd0' is met twice"),
        ([*documents(1), make_sentence("s")], UsageError, "'s': documents and sentences make two"),
        ([*documents(1), "text"], UsageError, "record 1: is of type str, no Document"),
        (["text"], UsageError, "record 0: is of type str, no Document"),
        ([*documents(1), make_document("d1", "\ud800")], CorpusError, "'d1': cannot .* surrogates"),
        ([replace(make_document("d0"), metadata={"year": 1897})], CorpusError, "'d0': cannot be"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(some, error, message, tmp_path):
    with pytest.raises(error, match=message):
        onoma.write_dataset(some, tmp_path / "mine")

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "put",
    [Path.mkdir, Path.touch, lambda path: path.symlink_to("nowhere")],
    ids=["folder", "file", "link"],
)
def test_nothing_is_replaced(put, tmp_path):
    put(tmp_path / "mine")

    with pytest.raises(UsageError, match="mine: is there already"):
        onoma.write_dataset(documents(1), tmp_path / "mine")


def test_a_bucket_is_refused(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=r"s3://bucket/mine: .* onoma store publish"):
        onoma.write_dataset(documents(1), "s3://bucket/mine")

    assert not list(tmp_path.iterdir())


def test_an_unfinished_dataset_that_goes_is_an_error(tmp_path):
    def removing():
        yield from documents(1)
        for path in tmp_path.glob(".tmp-*"):
            shutil.rmtree(path)

    with pytest.raises(FileNotFoundError):
        onoma.write_dataset(removing(), tmp_path / "mine")


def test_a_folder_that_somebody_made_meanwhile_is_not_replaced(tmp_path):
    def slowly():
        yield from documents(1)
        (tmp_path / "mine").mkdir()

    with pytest.raises(UsageError, match="mine: is there already"):
        onoma.write_dataset(slowly(), tmp_path / "mine")

    assert not list((tmp_path / "mine").iterdir())
