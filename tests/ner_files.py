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
    return [
        Sentence(
            id=f"{path.name}#{number}",
            document_id=path.name,
            split=split,
            tokens=tuple(token for token, _ in rows),
            tags=tuple(tag for _, tag in rows),
        )
        for number, rows in enumerate(samples, start=1)
    ]


def examine(splits):
    """Examine sentences; a split is a function that opens them from the start."""
    return examine_columns(
        {
            split: lambda source=source: to_columns(iter(source()))
            for split, source in splits.items()
        }
    )
