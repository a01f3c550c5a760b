"""Which sentences are read together: shuffled to learn from, by length to be tagged."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from corpora.document import Sentence
from modeling.config import ConfigError
from modeling.data.chance import Integers, Stream, hash64, key_of, permuted
from modeling.data.sentence_batch import SentenceBatch
from modeling.data.sentence_collator import SentenceCollator


class SentenceBatches:
    """The batches of training: each step's follows from its number and the seed alone.

    The sentences follow one permutation after the other, each of all of them. An epoch is one
    permutation, or so many ``samples``: then the next epoch goes on where it ended.

    Args:
        collator: makes the batches.
        batch_size: sentences of a step; the last step of an epoch may have fewer.
        seed: of the permutations.
        samples: sentences of an epoch; 0: all.
        numbers: the sentences to learn from; None: all.
    """

    def __init__(
        self,
        collator: SentenceCollator,
        *,
        batch_size: int,
        seed: int,
        samples: int = 0,
        numbers: Integers | None = None,
    ) -> None:
        self.collator, self.batch_size, self.seed = collator, batch_size, seed
        self._numbers = np.arange(len(collator)) if numbers is None else np.asarray(numbers)
        if not len(self._numbers):
            raise ConfigError("No sentence to learn from: the training set is empty.")
        self.samples = samples or len(self._numbers)
        """Sentences of an epoch."""
        self.steps_per_epoch = -(-self.samples // batch_size)

    def numbers(self, epoch: int) -> Integers:
        """The sentences of an epoch (from 0), in the order in which they are learned from."""
        n = len(self._numbers)
        laps, places = np.divmod(np.arange(self.samples) + epoch * self.samples, n)
        return self._numbers[permuted(places, n, key_of(self.seed, Stream.SHUFFLE, laps))]

    def epoch(self, epoch: int, first: int = 0) -> Iterator[SentenceBatch]:
        """The batches of an epoch (from 0), from step ``first`` (from 0) on."""
        numbers = self.numbers(epoch)
        for start in range(first * self.batch_size, len(numbers), self.batch_size):
            yield self.collator(numbers[start : start + self.batch_size])


class NumberedBatch(NamedTuple):
    """A batch, and which sentences are in it."""

    numbers: Integers
    """(S,)"""
    batch: SentenceBatch


def batches_by_length(
    collator: SentenceCollator, *, batch_size: int = 32, max_pieces: int = 4096
) -> Iterator[NumberedBatch]:
    """All sentences, the longest first, so that little is padded; each once.

    Args:
        collator: makes the batches.
        batch_size: sentences of a batch, at most.
        max_pieces: of a batch, at most, padding included; but a sentence whose windows have more
            is a batch of its own.
    """
    longest, n_windows = collator.encoded.longest, collator.encoded.n_windows
    order = np.lexsort((np.arange(len(longest)), n_windows, longest))[::-1]
    ends = _ends(longest[order], n_windows[order], batch_size=batch_size, max_pieces=max_pieces)
    start = 0
    for end in ends:
        numbers = order[start:end]
        yield NumberedBatch(numbers, collator(numbers))
        start = end


def _ends(
    longest: Integers, n_windows: Integers, *, batch_size: int, max_pieces: int
) -> Iterator[int]:
    """Where batches end; the first sentence of each has its longest window."""
    start, windows = 0, 0
    for place, (length, more) in enumerate(zip(longest.tolist(), n_windows.tolist(), strict=True)):
        if place == start:
            width, windows = length, 0
        windows += more
        is_full = place - start == batch_size or windows * width > max_pieces
        if is_full and place > start:
            yield place
            start, width, windows = place, length, more
    if len(longest):
        yield len(longest)


def first_by_hash(sentences: Sequence[Sentence], n: int) -> Integers:
    """The numbers of the ``n`` sentences whose ids have the smallest hashes, ascending; 0: all.

    With a larger ``n`` the same sentences are among them.
    """
    hashes = np.fromiter((hash64(s.id) for s in sentences), np.uint64, len(sentences))
    order = np.argsort(key_of(Stream.EVALUATION, hashes), kind="stable")
    return np.sort(order[: n or None])
