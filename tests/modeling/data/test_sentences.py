import json
from dataclasses import asdict

import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Sentence
from corpora.errors import CorpusError
from modeling.data.sentences import SentenceSet


def sentence(number, document="d", split="train"):
    return Sentence(
        id=f"{document}#{number}",
        document_id=document,
        split=split,
        tokens=("Else", "schrieb", str(number)),
        tags=("B-PER", "O", "O"),
    )


def write(folder, sentences):
    """Write a ``ner`` dataset of one shard."""
    folder.mkdir(parents=True)
    with ShardWriter(folder / "shard-00000.arrow", SCHEMAS["ner"]) as writer:
        for one in sentences:
            writer.write(asdict(one))
    description = {"schema": "ner", "version": SCHEMAS["ner"].version, "plan": {}, "accounting": {}}
    description["shards"] = [asdict(writer.shard)]
    (folder / "dataset.json").write_text(json.dumps(description))
    return folder


def test_a_split_is_read_in_order(tmp_path):
    sentences = [sentence(n, split="dev" if n % 3 == 0 else "train") for n in range(9)]

    read = SentenceSet.open(write(tmp_path / "set", sentences), "train")

    assert list(read) == [s for s in sentences if s.split == "train"]


def test_documents_of_two_datasets_are_not_one(tmp_path):
    one = write(tmp_path / "one", [sentence(1, "a"), sentence(2, "b")])
    other = write(tmp_path / "other", [sentence(3, "b"), sentence(4, "c")])

    read = SentenceSet.open([one, other], "train")

    assert read.documents.tolist() == [0, 1, 2, 3]
    assert [entry["sentences"] for entry in read.identity] == [2, 2]


def test_a_split_without_sentences_is_an_error_that_names_the_others(tmp_path):
    folder = write(tmp_path / "set", [sentence(1, split="test")])

    with pytest.raises(CorpusError, match=r"no sentence of the split 'dev'; it has test"):
        SentenceSet.open(folder, "dev")


def test_identity_changes_with_the_sentences(tmp_path):
    folders = [write(tmp_path / str(n), [sentence(m) for m in range(n)]) for n in (2, 3)]

    opened = [SentenceSet.open(folder, "train").identity[0] for folder in folders]
    given = [SentenceSet.of([sentence(m) for m in range(n)]).identity[0] for n in (2, 3, 3)]

    assert opened[0]["dataset_sha256"] != opened[1]["dataset_sha256"]
    assert given[0] != given[1] == given[2]


def test_documents_keep_their_number_where_they_come_again():
    read = SentenceSet.of([sentence(1, "b"), sentence(2, "a"), sentence(3, "b")])

    assert read.documents.tolist() == [0, 1, 0]
