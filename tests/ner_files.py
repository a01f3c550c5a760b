"""The files of NER data that we write, read in the plainest way."""

import json

from corpora.document import Sentence


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
