"""Distillation: learning from another tagger, which scores all sentences once before training.

A teacher gives for each word the probability of each tag, and for each sentence the expected number
of times that one tag follows another. A student with a CRF can learn no more of the teacher's
distribution than these (Wang et al. 2021). The sentences are the training sentences, and those of
documents without tags.

OUTPUT/teacher.safetensors    the teacher's probabilities, for all trials

Shapes: N sentences with W words, C tags of the teacher, K those of the student.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from corpora.datasets.shards import read_documents
from corpora.document import Sentence
from corpora.runs.dataset_inputs import check_hashes, find_documents
from modeling.config import ConfigError
from modeling.data.batch import ranges, starts_of
from modeling.data.sentence_batches import ExpectedSet, first_by_hash
from modeling.data.sentences import word_counts
from modeling.data.tagset import TagSet
from modeling.models.weights import write_tensors
from modeling.taggers.archive import opened
from modeling.taggers.folders import find_tagger
from modeling.taggers.tagger import Tagger, sentences_of
from modeling.training.run_folder import identify

FILE: Final = "teacher.safetensors"
_EVERY: Final = 2048  # sentences from one line of progress to the next


@dataclass(frozen=True, slots=True)
class Teacher:
    """A tagger to learn from, and sentences without tags that it scores, too."""

    folder: Path
    sentences: tuple[Sentence, ...]
    identity: dict[str, object]

    @classmethod
    def open(cls, path: Path, documents: Sequence[Path], *, n_sentences: int = 0) -> "Teacher":
        """Find a tagger, and read the sentences of datasets of documents.

        ``n_sentences`` of the sentences are chosen, by the hashes of their ids; 0: all of them.
        Raises ``CorpusError`` if there is no such tagger or dataset.
        """
        folder = find_tagger(opened(path)).path
        paths = [str(dataset) for dataset in documents]
        files = check_hashes(find_documents(paths, option="--documents") if paths else [])
        read = (document for file in files for document in read_documents(file.check()))
        found = [sentence for document in read for sentence in sentences_of(document)]
        chosen = first_by_hash(found, n_sentences).tolist()
        identity = {
            "teacher": identify(folder, path.name),
            "documents": [file.sha256 for file in files],
            "sentences": len(chosen),
        }
        return cls(folder, tuple(found[number] for number in chosen), identity)

    def teach(self, tagged: Sequence[Sentence], file: Path, stream: TextIO) -> "Lessons":
        """Let the tagger score the ``tagged`` and its own sentences; save the result in ``file``.

        If ``file`` holds the result of an earlier call with the same identity, it is read instead.
        Raises ``ConfigError`` for a tagger with a span head.
        """
        tagger = Tagger.load(self.folder)
        if tagger.model.config.head.scores_spans:
            raise ConfigError(
                f"--teacher {self.folder}: it scores spans, not the tags of words. Take a tagger "
                "with another head: softmax, cse, crf or crf_ner."
            )
        identity = {**self.identity, "tagged": [_identify(tagged)]}
        said = _read(file, identity)
        if said is None:
            said = _ask(tagger, (*tagged, *self.sentences), stream)
            tensors = {name: torch.from_numpy(getattr(said, name)) for name in ("words", "pairs")}
            write_tensors(file, tensors, metadata={"identity": json.dumps(identity)})
        return Lessons(TagSet(tagger.labels), tuple(tagged), self.sentences, said)


@dataclass(frozen=True, slots=True)
class Lessons:
    """A teacher's probabilities for tagged sentences, and then for sentences without tags."""

    tagset: TagSet
    tagged: tuple[Sentence, ...]
    others: tuple[Sentence, ...]
    said: ExpectedSet
    """The probabilities for both, in the tags of the teacher."""

    def learn(
        self, chosen: Sequence[Sentence], tagset: TagSet, *, gold_ratio: float
    ) -> ExpectedSet:
        """Return what a student learns of the ``chosen`` tagged sentences, and of all others.

        ``tagset`` is that of the student and has all labels of the teacher. ``gold_ratio``, from 0
        to 1, is the weight of the gold tags; what the teacher says has the rest.
        """
        places = {sentence.id: number for number, sentence in enumerate(self.tagged)}
        numbers = [places[sentence.id] for sentence in chosen]
        numbers += range(len(self.tagged), len(self.tagged) + len(self.others))
        sizes = word_counts((*self.tagged, *self.others))
        rows = ranges(starts_of(sizes)[numbers], sizes[numbers])
        columns = np.array([tagset.tags.index(tag) for tag in self.tagset.tags])
        words = np.zeros((len(rows), len(tagset)), np.float16)
        words[:, columns] = self.said.words[rows]
        pairs = np.zeros((len(numbers), len(tagset), len(tagset)), np.float32)
        pairs[:, columns[:, None], columns] = self.said.pairs[numbers]
        _mix_gold(words, pairs, [tagset.encode(s.tags) for s in chosen], ratio=gold_ratio)
        return ExpectedSet(words, pairs)


def _identify(sentences: Sequence[Sentence]) -> dict[str, object]:
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(repr((sentence.id, sentence.tokens, sentence.tags)).encode("utf-8"))
    return {"sentences": len(sentences), "sentences_sha256": digest.hexdigest()}


def _mix_gold(
    words: np.ndarray, pairs: np.ndarray, gold: Sequence[np.ndarray], *, ratio: float
) -> None:
    """Mix gold tags into what is said of the first sentences, with weight ``ratio``, in place."""
    tags = np.concatenate([np.zeros(0, np.int64), *gold])
    words[: len(tags)] *= 1 - ratio
    words[np.arange(len(tags)), tags] += ratio
    pairs[: len(gold)] *= 1 - ratio
    for counts, own in zip(pairs, gold, strict=False):
        np.add.at(counts, (own[:-1], own[1:]), ratio)


def _read(file: Path, identity: dict[str, object]) -> ExpectedSet | None:
    """Read what a teacher said before; None if the file is missing, broken or of another identity.

    The identity holds the teacher, the documents and the number of their sentences.
    """
    try:
        with safe_open(file, "np") as tensors:
            if json.loads((tensors.metadata() or {}).get("identity", "null")) == identity:
                return ExpectedSet(tensors.get_tensor("words"), tensors.get_tensor("pairs"))
    except (FileNotFoundError, SafetensorError):
        return None
    return None


def _ask(tagger: Tagger, sentences: Sequence[Sentence], stream: TextIO) -> ExpectedSet:
    sizes = word_counts(sentences)
    begins, n_tags = starts_of(sizes), len(TagSet(tagger.labels))
    words = np.zeros((int(sizes.sum()), n_tags), np.float16)
    pairs = np.zeros((len(sentences), n_tags, n_tags), np.float32)
    n_read = 0
    for numbers, said in tagger.expect_by_batch(sentences):
        words[ranges(begins[numbers], sizes[numbers])] = said.words.numpy()
        pairs[numbers] = said.pairs.numpy()
        if n_read // _EVERY < (n_read + len(numbers)) // _EVERY:
            stream.write(f"the teacher has read {n_read + len(numbers):,} of {len(sizes):,}\n")
        n_read += len(numbers)
    return ExpectedSet(words, pairs)
