"""The files of NER data that we write, read in the plainest way."""

import json

from corpora.document import Sentence
from corpora.ner.columns import to_columns
from corpora.ner.health import examine_columns


def read_conll(path, *, split):
    """Return the sentences of a file of ``token tag``."""
    blocks = path.read_bytes().decode().split("\n\n")
    texts = (block.strip("\n") for block in blocks)
    return _sentences(
        ([line.split(" ") for line in text.split("\n")] for text in texts if text), path, split
    )


def read_json(path, *, split):
    """Return the sentences of an array of arrays of ``[token, tag]``."""
    return _sentences(json.loads(path.read_bytes()), path, split)


def _sentences(samples, path, split):
    return sentences_of([(path.name, rows) for rows in samples], split=split, first=1)


def sentences_of(drawn, *, split="train", first=0):
    """Return sentences of documents with their tokens and tags; numbered through."""
    return [
        Sentence(
            id=f"{document}#{number}",
            document_id=document,
            split=split,
            tokens=tuple(token for token, _ in words),
            tags=tuple(tag for _, tag in words),
        )
        for number, (document, words) in enumerate(drawn, start=first)
    ]


def examine(splits):
    """Examine sentences; a split is a function that opens them from the start."""
    return examine_columns(
        {
            split: lambda source=source: to_columns(iter(source()))
            for split, source in splits.items()
        }
    )
