"""The data of a trial: sentences, tags, the features of a gazetteer, and their batches.

Shapes: L labels.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from corpora.datasets.shards import open_dataset, read_tagged
from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.hashing.sampling import ratio
from corpora.hashing.splits import SPLITS
from corpora.reports import counted
from corpora.system.files import sha256_of
from corpora.tagging import from_iob2
from modeling.config import ConfigError, EncoderConfig
from modeling.data import tagger_inputs
from modeling.data.batch import SentenceBatch
from modeling.data.gazetteer import Gazetteer, LookedUp, learn_gazetteer, with_best_level
from modeling.data.sentence_batches import (
    ExpectedSet,
    NumberedBatch,
    SentenceBatches,
    SentenceCollator,
    batches_by_length,
    first_by_hash,
)
from modeling.data.sentences import EncodedSentences, SentenceEncoder, UsedSubwords
from modeling.data.tagset import TagSet
from modeling.finetune.teaching import Lessons
from modeling.finetune.trials import Fold, Trial
from modeling.taggers.baseline import find_baseline
from modeling.taggers.counts import strict_f1
from modeling.taggers.entities import WordEntities
from modeling.taggers.folders import Base
from modeling.tagging_config import FinetuneConfig, GazetteerConfig, TaggerConfig
from modeling.training.records import DataRecord

OUTER: Final = "outer"
"""The level of names that are not inside other names."""
BOTH: Final = "both"
"""Names inside others, too, which a tagger of spans learns together."""
_PRODUCTS: Final = 64


@dataclass(frozen=True)
class NerData:
    """A ``ner`` dataset in memory."""

    path: Path
    sentences: tuple[Sentence, ...]
    identity: dict[str, object]
    n_inner: int = 0
    """The number of inner names, which are not among the tags of the sentences."""
    n_hidden: int = 0
    """Of both levels, the number of inner names with the words of the outer one."""

    @classmethod
    def open(cls, path: Path, split: str | None = None, *, level: str = OUTER) -> "NerData":
        """Read all sentences of a dataset, or those of a split, with the names of a level.

        If ``path`` holds no dataset, the folder ``ner`` in it is read, or, if ``path`` is itself
        called ``ner``, the folder around it. Raises ``CorpusError`` if none of these is a dataset,
        or if there is no sentence of the split.
        """
        inner, outer = path / "ner", path.parent
        if not (path / "dataset.json").is_file():
            if (inner / "dataset.json").is_file():
                path = inner
            elif path.name == "ner" and (outer / "dataset.json").is_file():
                path = outer
        dataset = open_dataset(path, "ner")
        files = [path / shard.name for shard in dataset.shards]
        tags = "inner_tags" if level == "inner" else "tags"
        sentences = [s for file in files for s in read_tagged(file, split=split, tags=tags)]
        nested = (s for file in files for s in read_tagged(file, split=split, tags="inner_tags"))
        if level == BOTH:
            sentences = list(_with_inner(sentences, nested))
        if level == "inner" and not sentences:
            raise CorpusError(
                f"{path}: --level {level}: no sentence has inner names. Leave it out."
            )
        if split and not sentences:
            splits = {sentence.split for file in files for sentence in read_tagged(file)}
            raise CorpusError(
                f"{path}: no sentence of the split {split!r}; it has "
                f"{', '.join(sorted(splits)) or 'none at all'}. Name another dataset, or make this "
                "one again with other ratios of the splits."
            )
        identity: dict[str, object] = {"dataset": sha256_of(path / "dataset.json")}
        if level != OUTER:
            n_hidden = sum(map(_n_hidden, sentences)) if level == BOTH else 0
            return cls(path, tuple(sentences), identity | {"level": level}, n_hidden=n_hidden)
        n_inner = sum(tag.startswith("B-") for sentence in nested for tag in sentence.tags)
        return cls(path, tuple(sentences), identity, n_inner)

    @property
    def left_out(self) -> str:
        """A note on inner names that are left out; empty if there are none."""
        if self.n_hidden:
            return (
                f"note  {counted(self.n_hidden, 'inner name')} of {self.path} have the words of "
                "their outer name and another label: a span has one, so these are missed"
            )
        if not self.n_inner:
            return ""
        return (
            f"note  {counted(self.n_inner, 'inner name')} of {self.path} are neither learned nor "
            "scored: give --level both (recipes of spans) or inner"
        )

    @property
    def name(self) -> str:
        """The name of the folder, or, if that is ``ner``, of the folder around it."""
        path = self.path.resolve()
        return path.parent.name if path.name == "ner" else path.name

    def split(self, name: str) -> list[Sentence]:
        """Select the sentences of a split, in order; there may be none."""
        return [sentence for sentence in self.sentences if sentence.split == name]

    def fold(self, fold: Fold) -> tuple[list[Sentence], list[Sentence]]:
        """Split all sentences into those outside a fold (train) and those in the fold (test).

        The units are documents, if there are two or more for each fold, or else sentences. They are
        dealt to the folds in the order of their hashes, so that all folds have nearly the same
        number of units. Raises ``CorpusError`` if there are fewer sentences than folds.
        """
        train: list[Sentence] = []
        test: list[Sentence] = []
        units = self._units(fold.of)
        names = {unit: ratio(unit, seed=fold.of) for unit in units}
        folds = {name: n % fold.of for n, name in enumerate(sorted(names, key=names.__getitem__))}
        for sentence, unit in zip(self.sentences, units, strict=True):
            (test if folds[unit] + 1 == fold.number else train).append(sentence)
        return train, test

    def _units(self, n_folds: int) -> list[str]:
        """Return for each sentence the id of its unit: its document, or the sentence itself.

        Raises ``CorpusError`` if there are fewer units than folds.
        """
        units = [sentence.document_id for sentence in self.sentences]
        if len(set(units)) < 2 * n_folds:
            units = [sentence.id for sentence in self.sentences]
        if len(set(units)) < n_folds:
            raise CorpusError(
                f"{self.path}: {len(set(units))} sentences make no {n_folds} folds. Take fewer."
            )
        return units


def looked_up(config: FinetuneConfig) -> list[dict[str, str]]:
    """Return the hashes of the files and datasets in which names and entities are looked up."""
    paths = {"gazetteer": config.gazetteer.path, "entities": config.data.entities}
    if config.gazetteer.source not in {"file", "entities"}:
        del paths["gazetteer"]
    found = []
    for name, path in paths.items():
        file = Path(path) / "dataset.json" if Path(path).is_dir() else Path(path)
        if path and file.is_file():
            found.append({name: sha256_of(file)})
    return found


def look_up_names(
    config: GazetteerConfig, train: Sequence[Sentence], tagset: TagSet
) -> tuple[Gazetteer | None, LookedUp | None]:
    """Make or read the gazetteer of the settings, and look up the training sentences in it.

    If the names are learned from these sentences, the look-up is cross-fitted. Returns None and
    None without a gazetteer.
    """
    if config.source == "none":
        return None, None
    if config.source == "train":
        return learn_gazetteer(train, tagset, folds=config.folds)
    if not config.path:
        raise ConfigError(f"gazetteer.source={config.source} needs gazetteer.path.")
    read = Gazetteer.from_file if config.source == "file" else Gazetteer.from_entities
    gazetteer = with_best_level(read(config.path), train, tagset)
    return gazetteer, tagger_inputs.features_of(train, gazetteer)


class TrialData:
    """The data of one trial, whose sentences ``check_sentences`` must have checked before.

    Args:
        data: all sentences.
        base: the model whose tokenizer cuts the sentences.
        encoder: the settings of the encoder, as the tagger needs it.
        trial: the settings that determine the sentences and how they are read.
        entities: the entities that words know; None: words know none.
        labels: labels that are added to those of train; a teacher's are added in any case.
        lessons: a teacher's probabilities; its sentences without tags are learned from, too.
    """

    def __init__(
        self,
        data: NerData,
        base: Base,
        encoder: EncoderConfig,
        *,
        trial: Trial,
        entities: WordEntities | None,
        labels: Iterable[str],
        lessons: Lessons | None,
    ) -> None:
        config, (train, dev) = trial.config, _divide(data, trial)
        tagset = TagSet.of(chain.from_iterable(map(_levels, train))).with_labels(labels)
        self.expected: ExpectedSet | None = None
        """A teacher's probabilities for train; None: there is no teacher."""
        self.n_untagged = 0
        """The number of sentences at the end of train that only a teacher has tagged."""
        if lessons:
            tagset = tagset.with_labels(lessons.tagset.labels)
            self.expected = lessons.learn(train, tagset, gold_ratio=config.training.gold_ratio)
            train, self.n_untagged = [*train, *lessons.others], len(lessons.others)
        self.config, self.tokenizer, self.tagset = config, base.tokenizer, tagset
        self.entities, self.origin = entities, data.name
        self.train = train
        head = tagger_inputs.span_settings(
            config.head,
            config.data,
            lambda windows: SentenceEncoder(base.tokenizer, windows).encode(self.train),
            encoder=encoder,
            tagset=tagset,
        )
        self.dev = dev or None
        of_dev = Counter(
            span.label for one in dev for tags in _levels(one) for span in from_iob2(tags)
        )
        self.unknown = {label: n for label, n in of_dev.items() if label not in tagset.labels}
        """The number of names of dev by label, for labels that the tagger lacks."""
        self.gazetteer, self._of_train = look_up_names(config.gazetteer, self.train, tagset)
        self.tagger = TaggerConfig(
            labels=tagset.labels,
            encoder=encoder,
            head=head,
            data=tagger_inputs.window_settings(config.data, head, encoder),
            gazetteer=config.gazetteer,
            n_features=self.gazetteer.n_features if self.gazetteer else 0,
        )
        """The settings of the tagger, with the resolved lengths of windows and of spans."""

    @cached_property
    def _encoded(self) -> dict[str, EncodedSentences]:
        encoder = SentenceEncoder(self.tokenizer, self.tagger.data)
        splits = {"train": self.train, "dev": self.dev}
        return {name: encoder.encode(part) for name, part in splits.items() if part is not None}

    @cached_property
    def subwords(self) -> UsedSubwords | None:
        """The subwords of train and dev, which batches renumber; None: batches keep all ids."""
        is_foreign = self.tagger.encoder.foreign
        return None if is_foreign else UsedSubwords.of(self._encoded.values())

    @cached_property
    def names_f1(self) -> float:
        """The strict F1 on dev of a list of the names of train, used as is best for dev."""
        dev = self.dev or ()
        train = self.train[: len(self.train) - self.n_untagged]
        return strict_f1(find_baseline(dev, train=train, dev=dev).tagged)

    def _collator(
        self, split: str, features: LookedUp | None, expected: ExpectedSet | None = None
    ) -> SentenceCollator:
        encoded = self._encoded[split]
        return SentenceCollator(
            encoded if self.subwords is None else self.subwords.renumber(encoded),
            tagset=self.tagset,
            features=features,
            with_words=self.tagger.encoder.reads_words,
            max_span_subwords=self.tagger.head.longest_span,
            entities=self.entities.lookup if self.entities else None,
            expected=expected,
        )

    @cached_property
    def _batches(self) -> SentenceBatches:
        training = self.config.training
        return SentenceBatches(
            self._collator("train", self._of_train, self.expected),
            batch_size=training.batch_size,
            micro_batch_size=training.micro_batch_size,
            seed=training.seed,
            samples=training.samples,
        )

    @property
    def steps_per_epoch(self) -> int:
        """The number of training steps in an epoch."""
        return self._batches.steps_per_epoch

    def epoch(self, number: int, left: int) -> Iterator[list[SentenceBatch]]:
        """Iterate over the micro-batches of the steps of an epoch (from 0), at most ``left``."""
        return islice(self._batches.epoch(number), left)

    @cached_property
    def _dev_collator(self) -> SentenceCollator:
        assert self.dev is not None  # noqa: S101 - asked for only where there is one
        return self._collator("dev", tagger_inputs.features_of(self.dev, self.gazetteer))

    def dev_batches(self) -> Iterator[NumberedBatch]:
        """Iterate over batches of all sentences of dev, the longest first."""
        return batches_by_length(
            self._dev_collator, batch_size=self.config.training.evaluate_batch_size
        )

    def class_weights(self) -> Tensor | None:
        """Compute the (1 + L,) class weights of the loss: 1 / count in train.

        Words are counted, or, for a span head, gold spans; the candidates that are no gold span (O)
        are then estimated from the batches of an epoch. A count of 0 is taken for 1. None if the
        settings ask for no weights.
        """
        if self.config.head.class_weights == "none":
            return None
        counts = Counter(dict.fromkeys(("O", *self.tagset.labels), 0))
        for sentence in self.train:
            if self.config.head.scores_spans:
                counts.update(span.label for span in from_iob2(sentence.tags))
            else:
                counts.update(tag[2:] or "O" for tag in sentence.tags)
        if self.config.head.scores_spans:
            encoded = self._batches.collator.encoded
            n_spans = sum(
                len(batch.spans.starts)
                for step in self.epoch(0, self.steps_per_epoch)
                for batch in step
                if batch.spans
            )
            counts["O"] = max(n_spans * len(encoded) // self._batches.samples - counts.total(), 1)
        return 1 / torch.tensor([max(counts[n], 1) for n in ("O", *self.tagset.labels)])

    def too_long(self) -> dict[str, tagger_inputs.TooLong]:
        """Find gold spans that a span head cannot find, by split: how many, and some by name."""
        if not self.config.head.scores_spans:
            return {}
        return {
            split: tagger_inputs.name_too_long(self.tagger, part)
            for split, part in self._encoded.items()
        }

    def describe(self) -> DataRecord:
        """Return sizes and counts of the data, for the manifest."""
        return {
            "ner": self.origin,
            "labels": list(self.tagset.labels),
            "entities": self.entities.counts if self.entities else None,
            "untagged": self.n_untagged,
            "train": {"sentences": len(self.train)} | self._batches.collator.encoded.counts,
            "dev": {"sentences": len(self.dev)} | self._dev_collator.encoded.counts
            if self.dev
            else None,
        }

    def save(self, folder: Path) -> None:
        """Write the tokenizer, the gazetteer and the forms of entities into a tagger's folder."""
        self.tokenizer.save(folder)
        if self.gazetteer:
            self.gazetteer.save(folder / tagger_inputs.GAZETTEER)
        if self.entities:
            self.entities.lookup.save(folder / tagger_inputs.ENTITIES)


def _divide(data: NerData, trial: Trial) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
    """Select the sentences of train and of dev; a fold has no dev."""
    if trial.fold:
        train, _ = data.fold(trial.fold)
        dev: list[Sentence] = []
    else:
        train, dev = data.split("train"), data.split("dev")
    return chosen_for_training(train, trial.config.training.train_size, where=data.path), dev


def chosen_for_training(sentences: Sequence[Sentence], size: int, *, where: Path) -> list[Sentence]:
    """Choose ``size`` (``training.train_size``) of the training sentences by hash; 0: all.

    They stay in order. Raises ``CorpusError`` if there are fewer sentences.
    """
    if size > len(sentences):
        raise CorpusError(
            f"{where}: training.train_size={size}, but there are {len(sentences)} training "
            "sentences. Take a smaller number, or 0 for all."
        )
    return [sentences[number] for number in first_by_hash(sentences, size).tolist()]


def _levels(sentence: Sentence) -> Iterator[Sequence[str]]:
    """Iterate over the tags of the levels of names that are learned."""
    yield sentence.tags
    if sentence.inner_tags:
        yield sentence.inner_tags


def _with_inner(outer: Iterable[Sentence], nested: Iterable[Sentence]) -> Iterator[Sentence]:
    """Add to each sentence the tags of its inner names, all O where none are annotated."""
    inner = {(sentence.document_id, sentence.id): sentence.tags for sentence in nested}
    for one in outer:
        tags = inner.get((one.document_id, one.id), ("O",) * len(one.tokens))
        yield replace(one, inner_tags=tags)


def _n_hidden(sentence: Sentence) -> int:
    """Count the inner names that have the words of an outer name, but another label."""
    outer, inner = map(from_iob2, (sentence.tags, sentence.inner_tags or ()))
    labels = {(span.start, span.end): span.label for span in outer}
    return sum(labels.get((s.start, s.end), s.label) != s.label for s in inner)


def nesting(trial: Trial) -> Trial:
    """Return the trial of a tagger of both levels; ``ConfigError`` if its head tags words."""
    head = trial.config.head
    if not head.scores_spans or head.decoder not in {None, "nest"}:
        raise ConfigError(
            f"--level both: head.kind={head.kind} with head.decoder={head.decoder} finds no names "
            "inside others. Take a recipe of spans (span, luke), with head.decoder=nest; or train "
            "two taggers, --level outer and --level inner."
        )
    head = replace(head, decoder="nest", span_products=head.span_products or _PRODUCTS)
    return replace(trial, config=replace(trial.config, head=head))


def check_sentences(data: NerData, trials: Sequence[Trial]) -> None:
    """Raise ``CorpusError`` or ``ConfigError`` for a trial that lacks the names it needs.

    Train needs a name, and so does dev if it chooses the best epoch. Call this before the first
    trial is trained: hours may pass until the last one begins.
    """
    for trial in trials:
        train, dev = _divide(data, trial)
        if not any(from_iob2(sentence.tags) for sentence in train):
            splits = ", ".join(f"{len(data.split(name)):,} of {name}" for name in SPLITS)
            raise CorpusError(
                f"{data.path}: no name among {len(train):,} training sentences (it has {splits}). "
                "Make the dataset with names in train."
            )
        if trial.config.training.choose == "best" and not any(from_iob2(s.tags) for s in dev):
            has = "has no name in it" if dev else "is missing"
            raise ConfigError(
                f"{data.path}: training.choose=best needs a split dev, which {has}: make the "
                "dataset with one, or --set training.choose=last."
            )
