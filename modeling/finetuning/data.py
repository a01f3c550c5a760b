"""What a trial learns from: sentences, tags, the features of a gazetteer, and their batches.

Shapes: L labels.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.sampling import share
from corpora.shards import open_dataset, read_tagged, sha256_of
from corpora.splits import SPLITS
from corpora.tagging import from_iob2
from corpora.tokenizers import Tokenizer
from modeling.config import EncoderConfig
from modeling.data.candidates import too_long
from modeling.data.sentence_collator import SentenceCollator, WordFeatures
from modeling.data.sentence_encoder import SentenceEncoder
from modeling.data.sentence_order import (
    NumberedBatch,
    SentenceBatches,
    batches_by_length,
    first_by_hash,
)
from modeling.data.sentences import SentenceSet
from modeling.data.tagger_inputs import (
    GAZETTEER,
    features_of,
    sentence_encoder,
    window_settings,
)
from modeling.finetuning.base import Base
from modeling.finetuning.lookup import Lookup, look_up_names
from modeling.finetuning.trials import Fold, Trial
from modeling.sentence_batch import SentenceBatch
from modeling.tagging_config import FinetuneConfig, SentencesConfig
from modeling.tagset import TagSet

_NAMED: Final = 20  # gold spans in a message or a manifest


@dataclass(frozen=True)
class NerData:
    """A ``ner`` dataset, in memory."""

    path: Path
    sentences: tuple[Sentence, ...]
    identity: dict[str, Any]

    @classmethod
    def open(cls, path: Path) -> "NerData":
        """Read all sentences; ``CorpusError`` where there is no such dataset."""
        dataset = open_dataset(path, "ner")
        sentences = [s for shard in dataset.shards for s in read_tagged(path / shard.name)]
        return cls(path, tuple(sentences), {"dataset": sha256_of(path / "dataset.json")})

    @property
    def name(self) -> str:
        """Of the folder, or of the one around it, where it is called ``ner``."""
        path = self.path.resolve()
        return path.parent.name if path.name == "ner" else path.name

    def split(self, name: str) -> list[Sentence]:
        """The sentences of a split; may be none."""
        return [sentence for sentence in self.sentences if sentence.split == name]

    def fold(self, fold: Fold) -> tuple[list[Sentence], list[Sentence]]:
        """All sentences but those of a fold, and those: whole documents, where there are enough."""
        documents = {sentence.document_id for sentence in self.sentences}
        by_document = len(documents) >= 2 * fold.of
        train: list[Sentence] = []
        test: list[Sentence] = []
        for sentence in self.sentences:
            point = share(sentence.document_id if by_document else sentence.id, seed=fold.of)
            (test if int(point * fold.of) + 1 == fold.number else train).append(sentence)
        return train, test


@dataclass(frozen=True)
class TrialData:
    """The data of one trial."""

    config: FinetuneConfig
    tokenizer: Tokenizer
    tagset: TagSet
    window_config: SentencesConfig
    """With the length that was chosen."""
    train: SentenceSet
    dev: SentenceSet | None
    lookup: Lookup | None
    with_words: bool
    origin: str

    @classmethod
    def of(cls, data: NerData, base: Base, encoder: EncoderConfig, *, trial: Trial) -> "TrialData":
        """Choose the sentences; ``CorpusError`` where there are none to learn from."""
        train, dev = _divide(data, trial)
        if not any(tag != "O" for sentence in train for tag in sentence.tags):
            splits = {s: len(data.split(s)) for s in SPLITS}
            raise CorpusError(
                f"{data.path}: no name among {len(train)} training sentences (splits: {splits})."
            )
        tagset = TagSet.of(sentence.tags for sentence in train)
        config = trial.config
        return cls(
            config=config,
            tokenizer=base.tokenizer,
            tagset=tagset,
            window_config=window_settings(config.data, config.head, encoder),
            train=SentenceSet.of(train),
            dev=SentenceSet.of(dev) if dev else None,
            lookup=look_up_names(config.gazetteer, train, tagset),
            with_words=encoder.attention.startswith("whole_word"),
            origin=data.name,
        )

    @property
    def n_features(self) -> int:
        """Of the gazetteer; 0: there is none."""
        return self.lookup.gazetteer.n_features if self.lookup else 0

    @cached_property
    def _encoder(self) -> SentenceEncoder:
        return sentence_encoder(self.tokenizer, self.window_config)

    def _collator(self, sentences: SentenceSet, features: WordFeatures | None) -> SentenceCollator:
        head = self.config.head
        return SentenceCollator(
            self._encoder.encode(sentences),
            tagset=self.tagset,
            features=features,
            with_words=self.with_words,
            max_span_pieces=head.max_span_pieces if head.kind == "span" else 0,
        )

    @cached_property
    def _batches(self) -> SentenceBatches:
        training = self.config.training
        return SentenceBatches(
            self._collator(self.train, None if self.lookup is None else self.lookup.of_train),
            batch_size=training.batch_size,
            seed=training.seed,
            samples=training.samples,
        )

    @property
    def steps_per_epoch(self) -> int:
        """Of training."""
        return self._batches.steps_per_epoch

    def epoch(self, number: int, left: int) -> Iterator[SentenceBatch]:
        """The batches of an epoch (from 0), at most so many."""
        return islice(self._batches.epoch(number), left)

    @cached_property
    def _dev_collator(self) -> SentenceCollator:
        assert self.dev is not None  # noqa: S101 - asked for only where there is one
        gazetteer = None if self.lookup is None else self.lookup.gazetteer
        return self._collator(self.dev, features_of(self.dev, gazetteer))

    def dev_batches(self) -> Iterator[NumberedBatch]:
        """All sentences of dev, by length."""
        return batches_by_length(
            self._dev_collator, batch_size=self.config.training.evaluate_batch_size
        )

    def class_weights(self) -> Tensor | None:
        """(1 + L,) of the loss: 1 / count among the words (spans) of train (D-F6), or None."""
        if self.config.head.class_weights == "none":
            return None
        counts = Counter(dict.fromkeys(("O", *self.tagset.labels), 0))
        for sentence in self.train:
            if self.config.head.kind == "span":
                counts.update(span.label for span in from_iob2(sentence.tags))
            else:
                counts.update(tag[2:] or "O" for tag in sentence.tags)
        if self.config.head.kind == "span":
            encoded = self._batches.collator.encoded
            n_spans = sum(
                len(batch.spans.starts)
                for batch in self.epoch(0, self.steps_per_epoch)
                if batch.spans
            )
            counts["O"] = max(n_spans * len(encoded) // self._batches.samples - counts.total(), 1)
        return 1 / torch.tensor([max(counts[n], 1) for n in ("O", *self.tagset.labels)])

    def too_long(self) -> dict[str, Any]:
        """The gold spans that a span head cannot find: how many, and some of them by name."""
        if self.config.head.kind != "span":
            return {}
        found = {}
        for split, sentences in (("train", self.train), ("dev", self.dev)):
            if sentences is None:
                continue
            missed = too_long(
                self._encoder.encode(sentences),
                self.tagset,
                max_pieces=self.config.head.max_span_pieces,
            )
            named = [f"{m.sentence_id}: {m.text} ({m.n_pieces} pieces)" for m in missed[:_NAMED]]
            found[split] = {"spans": len(missed), "some": named}
        return found

    def describe(self) -> dict[str, Any]:
        """Sizes and what was counted, for the manifest."""
        return {
            "ner": self.origin,
            "labels": list(self.tagset.labels),
            "train": {"sentences": len(self.train)} | self._batches.collator.encoded.counts,
            "dev": {"sentences": len(self.dev)} | self._dev_collator.encoded.counts
            if self.dev
            else None,
        }

    def save(self, folder: Path) -> None:
        """Write the tokenizer and the gazetteer beside a tagger."""
        self.tokenizer.save(folder)
        if self.lookup:
            self.lookup.gazetteer.save(folder / GAZETTEER)


def _divide(data: NerData, trial: Trial) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
    """The training sentences and those of dev; of a fold, the latter are none."""
    if trial.fold:
        train, _ = data.fold(trial.fold)
        dev: list[Sentence] = []
    else:
        train, dev = data.split("train"), data.split("dev")
    size = trial.config.training.train_size
    return [train[number] for number in first_by_hash(train, size).tolist()], dev
