"""Batches for training and evaluation, reproducible byte for byte from any step on.

A step is a list of micro-batches. The index of the step, the settings and the datasets alone
determine which examples it has, and how these are shown and masked: to resume at a step, ask for
it. No order is stored: within an epoch the examples follow a permutation that is computed place by
place (``rng.permuted``). The examples of a step are ordered by length before they are dealt to the
devices and cut into micro-batches, because rows of similar length need little padding in attention.

Shapes: B examples, T rows of subwords, W words, E mentions, n examples of a step, S sets.
"""

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Thread
from typing import Final, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from corpora.entities.vocabulary import MASK
from corpora.errors import CorpusError
from modeling.config import ConfigError, MaskingConfig, PretrainConfig
from modeling.data.batch import (
    Batch,
    BatchMentions,
    BatchWords,
    LayerRows,
    Layout,
    Targets,
    borders_of,
    starts_of,
)
from modeling.data.entities import Scopes, Spreader
from modeling.data.examples import ExampleSet
from modeling.data.masking import EVALUATION, Masker
from modeling.data.rng import Integers, RandomUse, Rng, as_uniform, key_of, permuted
from modeling.data.texts import ExampleView, FlatViews, SubwordIds, Viewer

BLOCK: Final = 1_000
"""Examples in a block of a mixture, in which each set has exactly its quota of examples."""
_EVALUATION_SEED: Final = 0


class ChosenExamples(NamedTuple):
    """The examples of a step."""

    sets: Integers
    """(n,) the index of the set of each."""
    numbers: Integers
    """(n,) the index of each in its set."""
    epochs: Integers
    """(n,) the number of passes through the set before."""

    def take(self, which: slice | Integers) -> "ChosenExamples":
        """Select some of the examples, in the order of ``which``."""
        return ChosenExamples(*(column[which] for column in self))


class Epochs:
    """The order of all sets as one: each example once an epoch, whose last step may be short."""

    def __init__(self, sizes: Sequence[int], *, batch_size: int, seed: int) -> None:
        self._starts = borders_of(np.array(sizes))
        self.n_examples = int(self._starts[-1])
        self.batch_size, self.seed = batch_size, seed
        self.steps = -(-self.n_examples // batch_size)
        """Steps of an epoch."""

    def step(self, number: int) -> ChosenExamples:
        """Return the examples of a step, which is counted from 0."""
        epoch, step = divmod(number, self.steps)
        first = step * self.batch_size
        places = np.arange(first, min(first + self.batch_size, self.n_examples))
        places = permuted(places, self.n_examples, key_of(self.seed, RandomUse.SHUFFLE, epoch))
        sets = np.searchsorted(self._starts, places, side="right") - 1
        return ChosenExamples(sets, places - self._starts[sets], np.full(len(places), epoch))


class Mixture:
    """The endless order of sets mixed by weight, each with its own epochs.

    Of every thousand consecutive examples, each set contributes its fraction, rounded to
    thousandths, but at least one example. A permutation decides which of the thousand these are.
    Within a thousand, the examples of a set come in the order of that permutation, so that the
    first examples of an epoch may come before the last ones of the epoch before.
    """

    def __init__(
        self, sizes: Sequence[int], weights: Sequence[float], *, batch_size: int, seed: int
    ) -> None:
        if len(weights) != len(sizes):
            raise ConfigError(
                f"data.weights: {len(weights)} for {len(sizes)} datasets; give one each."
            )
        if min(weights) <= 0 or len(weights) > BLOCK:
            raise ConfigError("data.weights: must be above 0; leave out a dataset that has none.")
        self.sizes = np.array(sizes)
        self.quotas = _thousandths(np.array(weights, np.float64))
        """(S,) how many of a thousand examples are from each set."""
        self._starts = starts_of(self.quotas)
        self.batch_size, self.seed = batch_size, seed
        self.steps = -(-int(self.sizes.sum()) // batch_size)
        """Steps that take as many examples as all sets have together."""

    def step(self, number: int) -> ChosenExamples:
        """Return the examples of a step, which is counted from 0."""
        places = np.arange(self.batch_size) + number * self.batch_size
        blocks, places = np.divmod(places, BLOCK)
        slots = permuted(places, BLOCK, key_of(self.seed, RandomUse.SET, blocks))
        sets = np.searchsorted(self._starts, slots, side="right") - 1
        turns = blocks * self.quotas[sets] + slots - self._starts[sets]
        epochs, places = np.divmod(turns, self.sizes[sets])
        numbers = np.empty_like(places)
        for of in np.unique(sets):
            here = sets == of
            keys = key_of(self.seed, RandomUse.SHUFFLE, epochs[here], int(of))
            numbers[here] = permuted(places[here], int(self.sizes[of]), keys)
        return ChosenExamples(sets, numbers, epochs)


def _thousandths(weights: NDArray[np.float64]) -> Integers:
    """Split a thousand by largest remainder; at least 1 each, taken from the largest."""
    exact = weights / weights.sum() * BLOCK
    quotas: Integers = np.floor(exact + 1e-9).astype(np.int64)
    quotas[np.argsort(quotas - exact, kind="stable")[: BLOCK - int(quotas.sum())]] += 1
    while not quotas.all():
        quotas[np.argmin(quotas)] += 1
        quotas[np.argmax(quotas)] -= 1
    return quotas


def proposal_of(
    counts: NDArray[np.int64] | NDArray[np.float64], *, power: float = 0.75
) -> NDArray[np.float64]:
    """Compute probabilities to draw entities by: counts to a power, normalized (0: all alike).

    Special and retired entities, whose count is 0, are never drawn. The power is that of Mikolov et
    al., "Distributed representations of words and phrases and their compositionality", 2013,
    section 2.2.
    """
    weights: NDArray[np.float64] = counts.astype(np.float64)
    weights[weights > 0] **= power
    weights[: MASK + 1] = 0
    weights /= weights.sum()
    return weights


class Negatives:
    """A sampler of the entity ids that a sampled softmax compares with, with replacement."""

    def __init__(self, n: int, proposal: NDArray[np.float64]) -> None:
        self.n = n
        self._ends = np.cumsum(proposal)
        self._ends /= self._ends[-1]

    def of_step(self, number: int, *, seed: int) -> Integers:
        """Draw the (n,) ids of a step, the same on every device and for every micro-batch."""
        keys = key_of(seed, RandomUse.NEGATIVE, number, np.arange(self.n))
        return np.searchsorted(self._ends, as_uniform(keys), side="right")


class Collator:
    """The function that makes batches of views.

    Args:
        masker: draws the masks.
        n_entities: rows of the model's entity vocabulary; 0: batches have no mentions.
        with_words: whether batches have the words of the pre-tokenizer.
        with_segments: whether batches tell the first text of a pair from the second.
        spread: gives entities to the subwords of mentions; None: mentions are rows of their own.
    """

    def __init__(
        self,
        masker: Masker,
        *,
        n_entities: int = 0,
        with_words: bool = False,
        with_segments: bool = False,
        spread: Spreader | None = None,
    ) -> None:
        self.masker, self.n_entities, self.spread = masker, n_entities, spread
        self.with_words, self.with_segments = with_words, with_segments
        masks_mentions = masker.config.unit == "entity"
        self._n_entities = n_entities if n_entities or masks_mentions else None

    def __call__(
        self, views: Sequence[ExampleView], rng: Rng, negatives: Integers | None = None
    ) -> Batch:
        """Make a batch of one view or more; ``rng`` has their random numbers, in this order.

        Raises ``CorpusError`` that names the example where a row is not valid.
        """
        text = FlatViews.of(views, self.masker.subwords, n_entities=self._n_entities)
        layout = Layout.of(text.lengths)
        words = BatchWords.of(text.word_starts, layout) if self.with_words else None
        rows = LayerRows(layout, together=layout, words=words)
        mentions = masked_mentions = known = None
        labelled = [(row, view.label) for row, view in enumerate(views) if view.label is not None]
        targets = {"pairs": Targets.of(*np.array(labelled, np.int64).reshape(-1, 2).T.copy())}
        if self.n_entities and len(text.entities) and self.spread is None:
            masked_mentions, entities = self.masker.replace_entities(
                text.entities, text.mention_sequences, rng, n_entities=self.n_entities
            )
            sizes = text.mention_ends - text.mention_starts
            mentions = BatchMentions.of(entities, text.positions[text.mention_starts], sizes)
            rows = LayerRows.with_mentions(layout, text.mention_sequences, words)
            labels = text.entities[masked_mentions]
            targets["entities"] = Targets.of(masked_mentions, labels, negatives)
        masked, replaced = self.masker.mask_text(text, rng, masked_mentions)
        if self.spread is not None:
            documents = [part.example.document_id for view in views for part in view.parts]
            known, asked = self.spread(text, masked, rng, documents=documents, negatives=negatives)
            targets |= {} if asked is None else {"subword_entities": asked}
        targets = {"subwords": Targets.of(masked, text.subwords[masked]), **targets}
        counts: Counter[str] = Counter()
        for view in views:
            counts.update(view.count())
        return Batch(
            ids=tuple(view.example.id for view in views),
            subwords=torch.from_numpy(replaced),
            rows=rows,
            segments=torch.from_numpy(text.segments) if self.with_segments else None,
            mentions=mentions,
            subword_entities=known,
            targets={name: target for name, target in targets.items() if len(target.labels)},
            counts=dict(counts),
        )


class _Maker(NamedTuple):
    """A maker of batches from chosen examples."""

    sets: Sequence[ExampleSet]
    viewer: Viewer
    collator: Collator
    micro_batch_size: int

    def by_length(self, chosen: ChosenExamples) -> ChosenExamples:
        """Sort the examples by length, the longest first.

        So a device with too little memory fails at once.
        """
        lengths = np.empty(len(chosen.numbers), np.int64)
        for number, examples in enumerate(self.sets):
            here = chosen.sets == number
            lengths[here] = examples.lengths[chosen.numbers[here]]
        return chosen.take(np.argsort(-lengths, kind="stable"))

    def make(
        self, chosen: ChosenExamples, *, seed: int, negatives: Integers | None = None
    ) -> Iterator[Batch]:
        """Yield the micro-batches of the examples, in this order."""
        for first in range(0, len(chosen.numbers), self.micro_batch_size):
            own = chosen.take(slice(first, first + self.micro_batch_size))
            sets = [self.sets[number] for number in own.sets.tolist()]
            examples = [of[n] for of, n in zip(sets, own.numbers.tolist(), strict=True)]
            hashes = np.array([example.hash for example in examples], np.uint64)
            rng = Rng.of(hashes, seed=seed, epochs=own.epochs)
            try:
                yield self.collator(self.viewer(examples, sets, rng), rng, negatives)
            except CorpusError as error:
                names = ", ".join(sorted({str(of.path) for of in sets}))
                raise CorpusError(f"{names}: {error}") from error


class Batches:
    """The steps of a training run, for one of its devices; steps count from 0.

    Args:
        config: all settings; those of the encoder and the heads determine what a batch has.
        sets: the datasets, of the split ``train``.
        subwords: the kinds of the tokenizer's subwords.
        proposal: (entities,) probabilities of negatives; None: uniform, without special entities.
        scopes: the scopes for ``heads.entity_scope``; None if that is ``vocabulary``.
        rank: the index of this device.
        world: how many devices there are.
    """

    def __init__(
        self,
        config: PretrainConfig,
        sets: Sequence[ExampleSet],
        subwords: SubwordIds,
        *,
        proposal: NDArray[np.float64] | None = None,
        scopes: Scopes | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self.rank, self.world = rank, world
        self.seed, self.n_workers = config.training.seed, config.data.n_workers
        self._order = _order_of(config, sets)
        data = config.data
        viewer = Viewer(data.pairs, data.max_length, swap_pairs=data.swap_pairs)
        collator = _collator_of(config, config.masking, subwords, scopes=scopes)
        self._maker = _Maker(sets, viewer, collator, config.training.micro_batch_size)
        n_negatives = config.masking.n_negatives if draws_negatives(config) else 0
        if proposal is None:
            proposal = (np.arange(config.encoder.n_entities) > MASK).astype(np.float64)
        self._negatives = Negatives(n_negatives, proposal) if n_negatives else None

    @property
    def steps_per_epoch(self) -> int:
        """Steps in which each example comes once; with weights, as many examples as there are."""
        return self._order.steps

    def without_targets(self, objectives: Iterable[str], *, steps: int) -> set[str]:
        """Find the objectives that have no target in the first steps of all devices."""
        left = set(objectives)
        for step in range(steps):
            chosen = self._maker.by_length(self._order.step(step))
            for batch in self._maker.make(chosen, seed=self.seed, negatives=self._drawn(step)):
                left -= batch.targets.keys()
                if not left:
                    return left
        return left

    def _drawn(self, step: int) -> Integers | None:
        return self._negatives.of_step(step, seed=self.seed) if self._negatives else None

    def batch(self, step: int) -> list[Batch]:
        """Return the micro-batches of a step for this device.

        There are none where a short last step leaves no example to this device.
        """
        chosen = self._maker.by_length(self._order.step(step))
        own = chosen.take(slice(self.rank, None, self.world))
        return list(self._maker.make(own, seed=self.seed, negatives=self._drawn(step)))

    def steps(self, first: int, last: int, *, pin: bool = False) -> Iterator[list[Batch]]:
        """Yield the steps from ``first`` to before ``last``, made ahead by ``n_workers`` processes.

        Args:
            first: where to begin.
            last: where to end.
            pin: put the tensors where a GPU copies them without waiting.
        """
        made = self._sent(first, last) if self.n_workers else map(self.batch, range(first, last))
        return ([batch.pin_memory() for batch in step] for step in made) if pin else iter(made)

    def _sent(self, first: int, last: int) -> Iterator[list[Batch]]:
        loader: DataLoader[list[Batch] | CorpusError] = DataLoader(
            _Sent(self),
            batch_size=None,
            sampler=range(first, last),
            num_workers=self.n_workers,
            collate_fn=_as_it_is,
            worker_init_fn=_follow_trainer,
            generator=torch.Generator(),  # by default, DataLoader draws from the run's own
        )
        with _signals_blocked():  # workers inherit the blocked signals
            steps = iter(loader)
        while True:
            try:
                step = next(steps)
            except StopIteration:
                return
            except RuntimeError as error:
                if "DataLoader worker" not in str(error):
                    raise
                raise CorpusError(
                    f"A process that makes batches has ended ({str(error).splitlines()[0]}): it "
                    "was killed, or had too little memory. The same command resumes from the last "
                    "checkpoint; --set data.n_workers=0 makes batches in the training process."
                ) from error
            if isinstance(step, CorpusError):
                raise step
            yield [batch.map(_as_tensor) for batch in step]


class ValidationBatches:
    """Validation examples in micro-batches, masked in the same way for all models and steps.

    The masking is ``EVALUATION``, whatever the masking in training, and each text is shown alone.
    For a model that is trained on pairs, batches of pairs follow, for that objective only. The
    arguments are those of ``Batches``; the sets are of the split ``validation``.

    Raises ``CorpusError`` if there are no validation examples.
    """

    def __init__(
        self,
        config: PretrainConfig,
        sets: Sequence[ExampleSet],
        subwords: SubwordIds,
        *,
        scopes: Scopes | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        _check_any(sets)
        collator = _collator_of(config, EVALUATION, subwords, scopes=scopes)
        size, data = config.training.micro_batch_size, config.data
        self._texts = _Maker(sets, Viewer("none", data.max_length), collator, size)
        self._pairs = None
        if data.pairs != "none":
            viewer = Viewer(data.pairs, data.max_length, swap_pairs=data.swap_pairs)
            self._pairs = _Maker(sets, viewer, collator, size)
        chosen = self._texts.by_length(_first_by_hash(sets, config.training.evaluate_examples))
        self.n_examples = len(chosen.numbers)
        """Validation examples of all devices together."""
        self._chosen = chosen.take(slice(rank, None, world))

    def __iter__(self) -> Iterator[Batch]:
        yield from self._texts.make(self._chosen, seed=_EVALUATION_SEED)
        if self._pairs:
            for batch in self._pairs.make(self._chosen, seed=_EVALUATION_SEED):
                targets = {n: t for n, t in batch.targets.items() if n == "pairs"}
                yield replace(batch, targets=targets)


def draws_negatives(config: PretrainConfig) -> bool:
    """Tell whether negatives of the whole entity vocabulary are drawn, once for each step.

    Where there are no more entities than negatives, the whole softmax costs less, and is exact.
    """
    weights, heads = config.heads.weights, config.heads
    is_of_subwords = "subword_entities" in weights and heads.entity_scope == "vocabulary"
    n_others = config.encoder.n_entities - 1
    return 0 < config.masking.n_negatives < n_others and ("entities" in weights or is_of_subwords)


def _collator_of(
    config: PretrainConfig, masking: MaskingConfig, subwords: SubwordIds, *, scopes: Scopes | None
) -> Collator:
    """Make the collator of a model, which masks only what the model is trained to predict."""
    encoder, weights = config.encoder, config.heads.weights
    spread = None
    if encoder.entities == "subwords":
        spread = Spreader(  # entities are hidden only if subwords are masked and predicted
            is_hiding=masking.hide_entity_when_masked and "subwords" in weights,
            is_predicting="subword_entities" in weights,
            scopes=scopes,
            n_negatives=masking.n_negatives,
        )
    masking = replace(
        masking,
        ratio=masking.ratio if "subwords" in weights else 0.0,
        entity_ratio=masking.entity_ratio if "entities" in weights else 0.0,
    )
    return Collator(
        Masker(masking, subwords),
        n_entities=encoder.n_entities,
        with_words=encoder.reads_words,
        with_segments=config.data.pairs != "none" and encoder.n_segments > 1,  # RoBERTa has 1
        spread=spread,
    )


def _order_of(config: PretrainConfig, sets: Sequence[ExampleSet]) -> Epochs | Mixture:
    _check_any(sets)
    sizes, training = [len(examples) for examples in sets], config.training
    if not config.data.weights:
        return Epochs(sizes, batch_size=training.batch_size, seed=training.seed)
    for examples in sets:
        _check_any([examples])
    return Mixture(sizes, config.data.weights, batch_size=training.batch_size, seed=training.seed)


def _check_any(sets: Sequence[ExampleSet]) -> None:
    if not any(map(len, sets)):
        names = ", ".join(str(examples.path) for examples in sets) or "no dataset"
        raise CorpusError(
            f"{names}: no example of the split {sets[0].split if sets else 'asked for'!r}. "
            "Make examples of more documents."
        )


def _first_by_hash(sets: Sequence[ExampleSet], n: int) -> ChosenExamples:
    """Select the ``n`` examples with the smallest hashes, in this order; 0: all."""
    hashes = np.concatenate([examples.hashes() for examples in sets])
    of_set = np.repeat(np.arange(len(sets)), [len(examples) for examples in sets])
    numbers = np.concatenate([np.arange(len(examples)) for examples in sets])
    order = np.argsort(key_of(RandomUse.EVALUATION, hashes), kind="stable")[: n or None]
    return ChosenExamples(of_set[order], numbers[order], np.zeros(len(order), np.int64))


class _Sent(Dataset[list[Batch] | CorpusError]):
    """Steps by index, of arrays in place of tensors; an error replaces its step.

    Arrays are sent within a message. Each tensor would take a file descriptor and a block of shared
    memory, both of which are limited, and a step may have hundreds.
    """

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __getitem__(self, step: int) -> list[Batch] | CorpusError:
        try:
            return [batch.map(_as_array) for batch in self._batches.batch(step)]
        except CorpusError as error:
            return error


def _as_array(tensor: Tensor) -> NDArray[np.generic]:
    """Return the values of a tensor, int64 in four bytes: every index and id fits them."""
    array = tensor.numpy()
    return array.astype(np.int32) if tensor.dtype == torch.int64 else array


def _as_tensor(array: NDArray[np.generic]) -> Tensor:
    tensor = torch.from_numpy(array)
    return tensor.long() if tensor.dtype == torch.int32 else tensor


_T = TypeVar("_T")


def _as_it_is(value: _T) -> _T:
    return value


_FOR_TRAINER: Final = (signal.SIGINT, signal.SIGTERM)
"""Signals that a terminal or scheduler sends to all processes; the trainer ends its workers."""


@contextmanager
def _signals_blocked() -> Iterator[None]:
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_TRAINER)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


def _follow_trainer(_: int) -> None:
    """Make this worker end when the trainer does, however the trainer ends, and not before.

    DataLoader's own watch is not enough: a worker that sees that the trainer is dead waits forever
    until somebody has read what the worker made.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_TRAINER)
    if not hasattr(signal, "sigwaitinfo"):  # macOS: the sender of a signal cannot be known
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    else:
        Thread(target=_obey_trainer, daemon=True).start()
    Thread(target=_end_with_trainer, daemon=True).start()


def _end_with_trainer() -> None:
    trainer = multiprocessing.parent_process()
    assert trainer  # noqa: S101 - a worker has one
    trainer.join()
    os._exit(1)


def _obey_trainer() -> None:
    """End this process at a SIGTERM of the trainer, and at no other."""
    trainer = multiprocessing.parent_process()
    while trainer and signal.sigwaitinfo({signal.SIGTERM}).si_pid != trainer.pid:
        pass
    os._exit(0)
