"""Batches for training and evaluation: the same bytes whoever makes them, and wherever one begins.

A step is a list of micro-batches. Which examples it has, how they are shown and masked, follows
from the number of the step, the settings and the datasets alone: to go on at a step, ask for it.
The examples of a step are ordered by length before they are dealt to the devices and cut into
micro-batches, for rows of like length need little padding in attention.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from corpora.entities.vocabulary import MASK
from corpora.errors import CorpusError
from modeling.config import MaskingConfig, PretrainConfig
from modeling.data.batch import Batch
from modeling.data.chance import Chance, Integers, Stream, key_of
from modeling.data.collator import Collator
from modeling.data.examples import ExampleSet
from modeling.data.masking import EVALUATION, Masker, PieceIds
from modeling.data.negatives import Negatives
from modeling.data.order import Chosen, Epochs, Mixture, Order
from modeling.data.pairs import Viewer, viewer_of
from modeling.data.parcels import Parcel
from modeling.data.piece_entities import Spreader
from modeling.data.scopes import Scopes

_EVALUATION_SEED: Final = 0


class Batches:
    """The steps of a training run, for one of its devices; steps count from 0.

    Args:
        config: all settings; those of the encoder and the heads say what a batch must have.
        sets: of the split ``train``.
        pieces: of the tokenizer.
        proposal: (entities,) probabilities of negatives; None: all alike but the special ones.
        scopes: for ``heads.entity_scope``, unless that is ``vocabulary``.
        rank: the number of this device.
        world: how many devices there are.
    """

    def __init__(
        self,
        config: PretrainConfig,
        sets: Sequence[ExampleSet],
        pieces: PieceIds,
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
        viewer = viewer_of(data.pairs, data.max_length, swap_pairs=data.swap_pairs)
        collator = collator_of(config, config.masking, pieces, scopes=scopes)
        self._maker = _Maker(sets, viewer, collator, config.training.micro_batch_size)
        n_negatives = config.masking.n_negatives if draws_negatives(config) else 0
        if proposal is None:
            proposal = (np.arange(config.encoder.n_entities) > MASK).astype(np.float64)
        self._negatives = Negatives(n_negatives, proposal) if n_negatives else None

    @property
    def steps_per_epoch(self) -> int:
        """In which each example is seen once; of weighted sets: as many as there are examples."""
        return self._order.steps

    def batch(self, step: int) -> list[Batch]:
        """The micro-batches of a step; none where a short last step leaves none to this device."""
        chosen = self._maker.by_length(self._order.step(step))
        own = Chosen(*(column[self.rank :: self.world] for column in chosen))
        negatives = self._negatives.of_step(step, seed=self.seed) if self._negatives else None
        return list(self._maker.make(own, seed=self.seed, negatives=negatives))

    def steps(self, first: int, last: int, *, pin: bool = False) -> Iterator[list[Batch]]:
        """The steps from ``first`` to before ``last``, made ahead by ``n_workers`` processes.

        Args:
            first: where to begin.
            last: where to end.
            pin: put the tensors where a GPU copies them without waiting.
        """
        if not self.n_workers:
            made = map(self.batch, range(first, last))
            yield from ([b.pin_memory() for b in step] for step in made) if pin else made
            return
        loader: DataLoader[Parcel | CorpusError] = DataLoader(
            _Parcels(self),
            batch_size=None,
            sampler=range(first, last),
            num_workers=self.n_workers,
            collate_fn=_as_it_is,
            worker_init_fn=_follow_trainer,
            generator=torch.Generator(),  # or else the run's own generator would be drawn from
        )
        with _signals_blocked():  # as they stay in a worker
            parcels = iter(loader)
        for parcel in parcels:
            if isinstance(parcel, CorpusError):
                raise parcel
            yield parcel.unpack(pin=pin)


class Evaluation:
    """Held-out examples in micro-batches, masked alike for every model and every time.

    The masking is ``EVALUATION``, whatever the model is trained with, and texts are single ones.
    A model that is trained on pairs is given pairs besides, for that objective alone. The
    arguments are those of ``Batches``; the sets are of the split ``held_out``.

    Raises ``CorpusError`` where there are none.
    """

    def __init__(
        self,
        config: PretrainConfig,
        sets: Sequence[ExampleSet],
        pieces: PieceIds,
        *,
        scopes: Scopes | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        _check_any(sets)
        collator = collator_of(config, EVALUATION, pieces, scopes=scopes)
        size, max_length = config.training.micro_batch_size, config.data.max_length
        self._texts = _Maker(sets, viewer_of("none", max_length), collator, size)
        self._pairs = None
        if config.data.pairs != "none":
            swap_pairs = config.data.swap_pairs
            viewer = viewer_of(config.data.pairs, max_length, swap_pairs=swap_pairs)
            self._pairs = _Maker(sets, viewer, collator, size)
        chosen = self._texts.by_length(_first_by_hash(sets, config.training.evaluate_examples))
        self.n_examples = len(chosen.numbers)
        """Of all devices."""
        self._chosen = Chosen(*(column[rank::world] for column in chosen))

    def __iter__(self) -> Iterator[Batch]:
        yield from self._texts.make(self._chosen, seed=_EVALUATION_SEED)
        if self._pairs:
            for batch in self._pairs.make(self._chosen, seed=_EVALUATION_SEED):
                targets = {n: t for n, t in (batch.targets or {}).items() if n == "pairs"}
                yield replace(batch, targets=targets)


def draws_negatives(config: PretrainConfig) -> bool:
    """Whether negatives are drawn from the whole vocabulary, for a step together."""
    weights, heads = config.heads.weights, config.heads
    is_of_pieces = "piece_entities" in weights and heads.entity_scope == "vocabulary"
    return config.masking.n_negatives > 0 and ("entities" in weights or is_of_pieces)


def collator_of(
    config: PretrainConfig,
    masking: MaskingConfig,
    pieces: PieceIds,
    *,
    scopes: Scopes | None = None,
) -> Collator:
    """The collator for a model: nothing is masked that it is not trained to predict."""
    encoder, weights = config.encoder, config.heads.weights
    masking = replace(
        masking,
        share=masking.share if "pieces" in weights else 0.0,
        entity_share=masking.entity_share if "entities" in weights else 0.0,
    )
    return Collator(
        Masker(masking, pieces),
        n_entities=encoder.n_entities,
        with_words=encoder.attention.startswith("whole_word"),
        with_segments=config.data.pairs != "none" and encoder.n_segments > 0,
        spread=_spreader_of(config, masking, scopes) if encoder.entities == "pieces" else None,
    )


def _spreader_of(config: PretrainConfig, masking: MaskingConfig, scopes: Scopes | None) -> Spreader:
    """Entities are hidden only where pieces are masked: where these are predicted, too."""
    weights = config.heads.weights
    return Spreader(
        is_hiding=masking.hide_entity_when_masked and "pieces" in weights,
        is_predicting="piece_entities" in weights,
        scopes=scopes,
        n_negatives=masking.n_negatives,
    )


def _order_of(config: PretrainConfig, sets: Sequence[ExampleSet]) -> Order:
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


def _first_by_hash(sets: Sequence[ExampleSet], n: int) -> Chosen:
    """The examples with the smallest hashes, as many as asked for; 0: all."""
    hashes = np.concatenate([examples.hashes() for examples in sets])
    of_set = np.repeat(np.arange(len(sets)), [len(examples) for examples in sets])
    numbers = np.concatenate([np.arange(len(examples)) for examples in sets])
    order = np.argsort(key_of(Stream.EVALUATION, hashes), kind="stable")[: n or None]
    return Chosen(of_set[order], numbers[order], np.zeros(len(order), np.int64))


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes batches of examples that were chosen."""

    sets: Sequence[ExampleSet]
    viewer: Viewer
    collator: Collator
    micro_batch_size: int

    def by_length(self, chosen: Chosen) -> Chosen:
        """The longest first: a device that cannot hold them says so at once."""
        lengths = np.empty(len(chosen.numbers), np.int64)
        for number, examples in enumerate(self.sets):
            here = chosen.sets == number
            lengths[here] = examples.lengths[chosen.numbers[here]]
        order = np.argsort(-lengths, kind="stable")
        return Chosen(*(column[order] for column in chosen))

    def make(
        self, chosen: Chosen, *, seed: int, negatives: Integers | None = None
    ) -> Iterator[Batch]:
        """Cut into micro-batches, in this order."""
        for first in range(0, len(chosen.numbers), self.micro_batch_size):
            part = slice(first, first + self.micro_batch_size)
            yield self._batch(Chosen(*(column[part] for column in chosen)), seed, negatives)

    def _batch(self, chosen: Chosen, seed: int, negatives: Integers | None) -> Batch:
        sets = [self.sets[number] for number in chosen.sets.tolist()]
        examples = [of[number] for of, number in zip(sets, chosen.numbers.tolist(), strict=True)]
        hashes = np.array([example.hash for example in examples], np.uint64)
        chance = Chance.of(hashes, seed=seed, epochs=chosen.epochs)
        try:
            return self.collator(self.viewer(examples, sets, chance), chance, negatives)
        except CorpusError as error:
            names = ", ".join(sorted({str(of.path) for of in sets}))
            raise CorpusError(f"{names}: {error}") from error


class _Parcels(Dataset[Parcel | CorpusError]):
    """Steps by number, packed for the way between processes; an error is sent like a step."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __getitem__(self, step: int) -> Parcel | CorpusError:
        try:
            return Parcel.pack(self._batches.batch(step))
        except CorpusError as error:
            return error


def _as_it_is(value: Any) -> Any:
    return value


_FOR_TRAINER: Final = (signal.SIGINT, signal.SIGTERM)
"""A terminal or a scheduler sends them to all processes; the trainer ends its workers."""


@contextmanager
def _signals_blocked() -> Iterator[None]:
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_TRAINER)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


def _follow_trainer(_: int) -> None:
    """Let this worker end when the trainer does, however that ends, and not before.

    DataLoader's own watch is not enough: a worker that sees that the trainer is dead waits for ever
    until somebody has read what it made.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_TRAINER)
    if not hasattr(signal, "sigwaitinfo"):  # macOS: who sends a signal cannot be known
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
    """End at a SIGTERM of the trainer."""
    trainer = multiprocessing.parent_process()
    while trainer and signal.sigwaitinfo({signal.SIGTERM}).si_pid != trainer.pid:
        pass
    os._exit(0)
