"""Sentences of ``ner`` datasets, by number, and which of them belong to one document."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from corpora.datasets.shards import open_dataset, read_tagged, sha256_of
from corpora.document import Sentence
from corpora.errors import CorpusError
from modeling.data.chance import Integers


class SentenceSet(Sequence[Sentence]):
    """Sentences by number, in the order of their datasets, and which document each is of."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
        documents: Integers,
        identity: Sequence[dict[str, Any]],
    ) -> None:
        self.sentences = sentences
        self.documents = documents
        """(N,) numbers of documents, in the order in which they first come."""
        self.identity = list(identity)
        """What was read, for who wants to find the same again."""

    @classmethod
    def open(cls, path: Path | str | Sequence[Path | str], split: str) -> Self:
        """Read a split of a ``ner`` dataset, or of several.

        Raises ``CorpusError`` where there is no such dataset, or no sentence of the split in it.
        """
        paths = [path] if isinstance(path, Path | str) else path
        sentences: list[Sentence] = []
        names: list[tuple[int, str]] = []
        identity = []
        for number, folder in enumerate(map(Path, paths)):
            read = _read(folder, split)
            sentences += read
            names += [(number, sentence.document_id) for sentence in read]
            sha256 = sha256_of(folder / "dataset.json")
            identity.append({"dataset_sha256": sha256, "split": split, "sentences": len(read)})
        return cls(sentences, _numbers(names), identity)

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> Self:
        """Take sentences as they are."""
        digest = hashlib.sha256()
        for sentence in sentences:
            digest.update(repr((sentence.id, sentence.tokens, sentence.tags)).encode("utf-8"))
        identity = {"sentences": len(sentences), "sentences_sha256": digest.hexdigest()}
        names = [sentence.document_id for sentence in sentences]
        return cls(list(sentences), _numbers(names), [identity])

    def __len__(self) -> int:
        """How many sentences."""
        return len(self.sentences)

    @overload
    def __getitem__(self, number: int) -> Sentence: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Sentence]: ...
    def __getitem__(self, number: int | slice) -> Sentence | Sequence[Sentence]:
        return self.sentences[number]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)


def _read(folder: Path, split: str) -> list[Sentence]:
    dataset = open_dataset(folder, "ner")
    files = [folder / shard.name for shard in dataset.shards]
    sentences = [sentence for file in files for sentence in read_tagged(file, split=split)]
    if not sentences:
        splits = {sentence.split for file in files for sentence in read_tagged(file)}
        raise CorpusError(
            f"{folder}: no sentence of the split {split!r}; it has "
            f"{', '.join(sorted(splits)) or 'none at all'}. Name another dataset, or make this one "
            "again with other shares of the splits."
        )
    return sentences


def _numbers(names: Sequence[Any]) -> Integers:
    """A number for each name; new ones get the next."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
