import json
from dataclasses import asdict

import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Sentence
from corpora.errors import CorpusError
from modeling.data.sentences import document_numbers
from modeling.finetune.data import NerData


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

    read = NerData.open(write(tmp_path / "set", sentences), "train")

    assert list(read.sentences) == [s for s in sentences if s.split == "train"]


def test_a_split_without_sentences_is_an_error_that_names_the_others(tmp_path):
    folder = write(tmp_path / "set", [sentence(1, split="test")])

    with pytest.raises(CorpusError, match=r"no sentence of the split 'dev'; it has test"):
        NerData.open(folder, "dev")


def test_documents_keep_their_number_where_they_come_again():
    numbers = document_numbers([sentence(1, "b"), sentence(2, "a"), sentence(3, "b")])

    assert numbers.tolist() == [0, 1, 0]
