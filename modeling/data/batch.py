"""Batches, the input of models: the rows of all examples one after the other, without padding.

Layers work on rows. Only attention, which compares positions, pads them to (B, N), where N is the
longest sequence of the batch; ``Layout`` holds the place of each row.

A sentence to be tagged is one window of subwords if it fits, else several windows that overlap.
Each word is read in one window, the one in which it stands furthest from the edges. So heads and
decoders see whole sentences, whatever length the encoder can read.

Shapes: B examples or windows; T subwords, W words and E mentions, each counted over the whole
batch; C subwords that know an entity; M targets; R = T + E rows that a layer sees; N rows of the
longest sequence; S sentences; Q subwords of their words (each counted once); G features;
P candidate spans.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Write out ranges one after the other: starts (2, 7) and sizes (2, 3) give 2 3 7 8 9."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(total)


def starts_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the start of each of some consecutive ranges: sizes (2, 3) give 0 2."""
    return borders_of(sizes)[:-1]


def borders_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute the starts of consecutive ranges, and the last end: sizes (2, 3) give 0 2 5."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


class Movable:
    """The base of frozen dataclasses of tensors and of such dataclasses; all move at once."""

    __slots__ = ()

    def map(self, change: Callable[..., object]) -> Self:
        """Replace every tensor, or array, by what ``change`` returns for it."""
        parts = {one.name: _map(getattr(self, one.name), change) for one in fields(self)}  # type: ignore[arg-type]
        return replace(self, **parts)  # type: ignore[type-var]

    def to(self, device: torch.device | str) -> Self:
        """Copy the tensors that are not on the device yet; pinned ones without waiting."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Self:
        """Pin every tensor, so that a copy to the GPU need not wait; called by DataLoader."""
        return self.map(Tensor.pin_memory)


def _map(value: object, move: Callable[..., object]) -> object:
    """Apply ``move`` to every tensor in a value; return a value without tensors as it is."""
    if isinstance(value, Tensor | np.ndarray):
        return move(value)
    if isinstance(value, dict):
        return {name: _map(item, move) for name, item in value.items()}
    return value.map(move) if isinstance(value, Movable) else value


@dataclass(frozen=True, slots=True)
class Layout(Movable):
    """The places of the rows of B sequences in an array that is padded to (B, N)."""

    n_sequences: int
    longest: int
    index: Tensor
    """(rows,) int64: the place of each row in the flattened array (B * N)."""
    positions: Tensor
    """(rows,) int64: the place of each row in its sequence, from 0."""
    sequences: Tensor
    """(rows,) int64: the index of the sequence of each row."""
    attend: Tensor | None
    """(B, N) bool: True where there is a row; None if nothing is padded and rows are in order."""

    @classmethod
    def of(cls, lengths: Sequence[int] | NDArray[np.integer]) -> "Layout":
        """Lay out sequences of these lengths, row after row; a length may be 0."""
        sizes = np.asarray(lengths, np.int64)
        sequences = np.repeat(np.arange(len(sizes)), sizes)
        positions = np.arange(len(sequences)) - starts_of(sizes)[sequences]
        return cls.placed(sequences, positions, longest=int(sizes.max(initial=0)), n=len(sizes))

    @classmethod
    def placed(
        cls, sequences: NDArray[np.integer], positions: NDArray[np.integer], *, longest: int, n: int
    ) -> "Layout":
        """Lay out rows that are in any order; no two may have the same sequence and position."""
        index = sequences * longest + positions
        is_full = len(index) == n * longest and bool((index == np.arange(len(index))).all())
        attend = None
        if not is_full:
            stands = np.zeros(n * longest, bool)
            stands[index] = True
            attend = torch.from_numpy(stands).view(n, longest)
        return cls(
            n_sequences=n,
            longest=longest,
            index=torch.from_numpy(index),
            positions=torch.from_numpy(positions),
            sequences=torch.from_numpy(sequences),
            attend=attend,
        )

    @property
    def lengths(self) -> Tensor:
        """(B,) int64: the number of rows of each sequence."""
        if self.attend is not None:
            return self.attend.sum(1)
        return torch.full((self.n_sequences,), self.longest, device=self.index.device)

    @property
    def stands(self) -> Tensor:
        """(B, N) bool: True where there is a row; like ``attend``, but never None."""
        if self.attend is not None:
            return self.attend
        shape = (self.n_sequences, self.longest)
        return torch.ones(shape, dtype=torch.bool, device=self.index.device)

    def pad(self, rows: Tensor) -> Tensor:
        """Pad, (rows, ...) -> (B, N, ...), with zeros; return a view if nothing is padded."""
        shape = (self.n_sequences, self.longest, *rows.shape[1:])
        if self.attend is None:
            return rows.view(shape)
        padded = rows.new_zeros((self.n_sequences * self.longest, *rows.shape[1:]))
        return padded.index_copy(0, self.index, rows).view(shape)

    def pack(self, padded: Tensor) -> Tensor:
        """Remove the padding, (B, N, ...) -> (rows, ...); the reverse of ``pad``."""
        flat = padded.reshape(self.n_sequences * self.longest, *padded.shape[2:])
        return flat if self.attend is None else flat.index_select(0, self.index)


@dataclass(frozen=True, slots=True)
class BatchWords(Movable):
    """The words of a batch; each special subword is a word of its own."""

    layout: Layout
    """The layout of W rows, one for each word."""
    of_subword: Tensor
    """(T,) int64: the row of the word that each subword belongs to."""
    n_subwords: Tensor
    """(W,) int64: the number of subwords of each word, at least 1."""

    @classmethod
    def of(cls, starts: NDArray[np.int64], subwords: Layout) -> Self:
        """Build the words of a batch from the rows at which they begin, (W,) ascending."""
        n_subwords = np.diff(starts, append=len(subwords.index))
        n_words = np.bincount(subwords.sequences.numpy()[starts], minlength=subwords.n_sequences)
        return cls(
            layout=Layout.of(n_words),
            of_subword=torch.from_numpy(np.repeat(np.arange(len(starts)), n_subwords)),
            n_subwords=torch.from_numpy(n_subwords),
        )


@dataclass(frozen=True, slots=True)
class EntityVectors(Movable):
    """The subwords that know an entity, each with a vector of F numbers from the entity table."""

    rows: Tensor
    """(C,) int64: rows of subwords, ascending."""
    vectors: Tensor
    """(C, F): the vector of the entity of each."""


@dataclass(frozen=True, slots=True)
class LayerRows(Movable):
    """The layout of the rows that a layer sees: T subwords, and then E mentions."""

    subwords: Layout
    together: Layout
    """The layout of R = T + E rows: in each sequence its subwords, then its mentions. The same as
    ``subwords`` if there are no mentions."""
    words: BatchWords | None = None
    entities: Layout | None = None
    known: EntityVectors | None = None
    """The entities that subwords know; set from ``Batch.subword_entities`` by the encoder."""

    @classmethod
    def with_mentions(
        cls, subwords: Layout, sequences: NDArray[np.int64], words: BatchWords | None = None
    ) -> Self:
        """Lay out E mentions after the subwords of their sequences.

        ``sequences`` (E,), ascending, has the sequence of each mention.
        """
        n, lengths = subwords.n_sequences, subwords.lengths.numpy()
        counts = np.bincount(sequences, minlength=n)
        entities = Layout.of(counts)
        together = Layout.placed(
            np.concatenate([subwords.sequences, sequences]),
            np.concatenate([subwords.positions, lengths[sequences] + entities.positions.numpy()]),
            longest=int((lengths + counts).max()),
            n=n,
        )
        return cls(subwords, together, words=words, entities=entities)


@dataclass(frozen=True, slots=True)
class BatchMentions(Movable):
    """The mentions of a batch, E rows."""

    entities: Tensor
    """(E,) int64: ids in the entity vocabulary; that of [MASK] for masked mentions."""
    positions: Tensor
    """(subwords of all mentions,) int64: the positions, in their sequence, of the subwords of each
    mention, one mention after the other ([CLS] is position 0)."""
    offsets: Tensor
    """(E,) int64: where each mention begins in ``positions``; for ``embedding_bag``."""

    @classmethod
    def of(
        cls, entities: NDArray[np.int64], firsts: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> Self:
        """Build mentions from the position of the first subword of each, and how many it has."""
        return cls(
            entities=torch.from_numpy(entities),
            positions=torch.from_numpy(ranges(firsts, sizes)),
            offsets=torch.from_numpy(starts_of(sizes)),
        )


@dataclass(frozen=True, slots=True)
class SubwordEntities(Movable):
    """The subwords of mentions, each with the entity of its mention (EntityBERT); C rows."""

    rows: Tensor
    """(C,) int64: rows of subwords, ascending; each has one entity."""
    entities: Tensor
    """(C,) int64: ids in the entity vocabulary."""


@dataclass(frozen=True, slots=True)
class Choices(Movable):
    """The ids from which each target is chosen, if these are not the whole vocabulary.

    Each target belongs to one of G scopes (a document, a group); targets are ordered by scope.
    """

    ids: Tensor
    """Int64: the ids of one scope after the other; within a scope ascending and distinct."""
    sizes: tuple[int, ...]
    """(G,) the number of ids of each scope."""
    n_targets: tuple[int, ...]
    """(G,) the number of targets of each scope."""
    places: Tensor
    """(M,) int64: the place of each label among the ids of its scope."""


@dataclass(frozen=True, slots=True)
class Targets(Movable):
    """The targets of one objective: the rows to predict at, and the correct ids."""

    rows: Tensor
    """(M,) int64: distinct rows of subwords or of mentions, or indices of sequences."""
    labels: Tensor
    """(M,) int64: the correct ids."""
    negatives: Tensor | None = None
    """(S,) int64: ids that a sampled softmax compares all targets with. Or (M, S): own ids for each
    target, distinct, and padded with its label; then ``n_others`` is set. None: no sampling."""
    n_others: Tensor | None = None
    """(M,) int64: the number of ids, without the label, that its negatives were drawn from."""
    choices: Choices | None = None
    """None: all ids of the vocabulary."""

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        labels: NDArray[np.int64],
        negatives: NDArray[np.int64] | None = None,
        *,
        n_others: NDArray[np.int64] | None = None,
        choices: Choices | None = None,
    ) -> Self:
        """Build targets from arrays."""
        drawn, others = (None if x is None else torch.from_numpy(x) for x in (negatives, n_others))
        return cls(torch.from_numpy(rows), torch.from_numpy(labels), drawn, others, choices)


@dataclass(frozen=True, slots=True)
class Batch(Movable):
    """A batch of examples, masked or not."""

    ids: tuple[str, ...]
    """(B,) ids of the examples, for error messages."""
    subwords: Tensor
    """(T,) int64: ids of subwords, [CLS] and [SEP] included."""
    rows: LayerRows
    segments: Tensor | None = None
    """(T,) int64: 0 in the first text of a pair, 1 in the second; None: all 0."""
    mentions: BatchMentions | None = None
    subword_entities: SubwordEntities | None = None
    targets: dict[str, Targets] = field(default_factory=dict)
    """The targets by objective: ``subwords``, ``entities``, ``subword_entities``, ``pairs``. An
    objective without targets is absent."""
    counts: dict[str, int] = field(default_factory=dict)
    """How much was cut or left out of the batch, by name (see ``modeling/data/texts.py``)."""

    @property
    def n_targets(self) -> dict[str, int]:
        """The number of targets by objective."""
        return {name: len(targets.labels) for name, targets in self.targets.items()}


@dataclass(frozen=True, slots=True)
class ExpectedTags(Movable):
    """The tag probabilities of another tagger (the teacher) for the words of a batch; C tags."""

    words: Tensor
    """(W, C): the probability of each tag for each word."""
    pairs: Tensor
    """(S, C, C): how often the second tag is expected to follow the first in each sentence."""


@dataclass(frozen=True, slots=True)
class SentenceBatch(Movable):
    """A batch of sentences to be tagged, with or without gold tags."""

    ids: tuple[str, ...]
    """(S,) ids of the sentences, for error messages."""
    inputs: Batch
    """The windows; each has the id of its sentence."""
    words: Layout
    """The layout of W rows, the words of S sentences."""
    word_subwords: Tensor
    """(Q,) int64: the rows of each word in ``inputs.subwords``, one word after the other."""
    word_offsets: Tensor
    """(W,) int64: where each word begins in ``word_subwords``; each has at least one subword."""
    windows: Tensor
    """(W,) int64: the index of the sequence of ``inputs`` in which each word is read."""
    features: Tensor | None = None
    """(W, G) float32: features from a gazetteer; None: there is no gazetteer."""
    tags: Tensor | None = None
    """(W,) int64 gold tags (``TagSet``); None: unknown."""
    expected: ExpectedTags | None = None
    """Probabilities to learn instead of ``tags``; None: learn ``tags``."""
    spans: "SpanBatch | None" = None
    """Candidates for a span head; None for other heads."""

    @property
    def subwords(self) -> Tensor:
        """(T,) int64: the ids of the subwords of all windows."""
        return self.inputs.subwords

    @property
    def n_targets(self) -> dict[str, int]:
        """The number of tagged words, by which losses are divided, whatever the head."""
        return {} if self.tags is None else {"tags": len(self.tags)}


@dataclass(frozen=True, slots=True)
class SpanBatch(Movable):
    """P candidate spans, sentence by sentence; each lies in one window of ``inputs``."""

    sentences: Tensor
    """(P,) int64: the index of the sentence of each span, ascending."""
    starts: Tensor
    """(P,) int64: the index of its first word in the sentence."""
    ends: Tensor
    """(P,) int64: the index of its last word, plus one."""
    windows: Tensor
    """(P,) int64: the index of the sequence of ``inputs`` in which it is read."""
    first_subwords: Tensor
    """(P,) int64: the row of ``inputs.subwords`` of its first subword."""
    last_subwords: Tensor
    """(P,) int64: the row of its last subword; the span has all subwords from first to last."""
    labels: Tensor | None = None
    """(P,) int64: 1 + the id of the label of a gold span, 0 for no span; None: unknown."""
