"""What goes into a model: the rows of all examples one after the other, without padding.

Layers work on rows. Only where positions meet, in attention, are they padded to (B, N), and only
as far as the longest sequence of the batch; ``Layout`` says where each row stands.

A sentence to be tagged is one window of subwords if it fits; a longer one is several that overlap.
Each word is read in one window, the one in which it stands furthest from the edges, so that heads
and decoders see whole sentences, whatever the encoder's length.

Shapes: B examples or windows, T subwords of all together, W words together, E mentions together,
C subwords that know an entity, M and K targets among subwords and mentions, R = T + E rows that a
layer sees, N the longest sequence; S sentences, Q subwords of their words (each counted once),
G features, P candidate spans.
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
    """A frozen dataclass of tensors, and of others like itself, that moves to a device as one."""

    __slots__ = ()

    def map(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Replace every tensor by what ``change`` returns for it, in the order of the fields."""
        parts = {one.name: _map(getattr(self, one.name), change) for one in fields(self)}  # type: ignore[arg-type]
        return replace(self, **parts)  # type: ignore[type-var]

    def to(self, device: torch.device | str) -> Self:
        """Copy the tensors that are not on the device yet; pinned ones without waiting."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Self:
        """Pin every tensor, so that a copy to the GPU need not wait; called by DataLoader."""
        return self.map(Tensor.pin_memory)


def _map(value: object, move: Callable[[Tensor], Tensor]) -> object:
    """Apply ``move`` to every tensor in a value; return a value without tensors as it is."""
    if isinstance(value, Tensor):
        return move(value)
    if isinstance(value, dict):
        return {name: _map(item, move) for name, item in value.items()}
    return value.map(move) if isinstance(value, Movable) else value


@dataclass(frozen=True, slots=True)
class Layout(Movable):
    """Where the rows of B sequences stand once they are padded to (B, N)."""

    n_sequences: int
    longest: int
    index: Tensor
    """(rows,) int64: place of each row in the flattened (B * N)."""
    positions: Tensor
    """(rows,) int64: place of each row in its sequence, from 0."""
    sequences: Tensor
    """(rows,) int64: the sequence of each row."""
    attend: Tensor | None
    """(B, N) bool, True where a row stands; None if that is everywhere and rows are in order."""

    @classmethod
    def of(cls, lengths: Sequence[int] | NDArray[np.integer]) -> "Layout":
        """Lay out sequences of these lengths, row after row; a length may be 0."""
        sizes = np.asarray(lengths, np.int64)
        sequences = np.repeat(np.arange(len(sizes)), sizes)
        positions = np.arange(len(sequences)) - starts_of(sizes)[sequences]
        return cls.placed(sequences, positions, longest=int(sizes.max(initial=0)), n=len(sizes))

    @classmethod
    def placed(
        cls,
        sequences: NDArray[np.integer],
        positions: NDArray[np.integer],
        *,
        longest: int,
        n: int,
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
        """(B,) int64: rows of each sequence."""
        if self.attend is not None:
            return self.attend.sum(1)
        return torch.full((self.n_sequences,), self.longest, device=self.index.device)

    @property
    def stands(self) -> Tensor:
        """(B, N) bool: True where a row stands; ``attend``, but never None."""
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
class Words(Movable):
    """The words of a batch; each special subword is a word of its own."""

    layout: Layout
    """Of W rows, one for each word."""
    of_subword: Tensor
    """(T,) int64: the row of the word that each subword belongs to."""
    n_subwords: Tensor
    """(W,) int64: subwords of each word, at least 1."""

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
class Known(Movable):
    """The subwords that know an entity, each with its vector of F numbers from the entity table."""

    rows: Tensor
    """(C,) int64, ascending."""
    vectors: Tensor
    """(C, F)."""


@dataclass(frozen=True, slots=True)
class Rows(Movable):
    """The layout of the rows that a layer sees: T subwords, and then E mentions."""

    subwords: Layout
    together: Layout
    """Of the R = T + E rows: in each sequence its subwords, and then its mentions. The same as
    ``subwords`` where there are no mentions."""
    words: Words | None = None
    entities: Layout | None = None
    known: Known | None = None
    """Set by an encoder whose subwords know entities, from ``Batch.subword_entities``."""

    @classmethod
    def with_mentions(
        cls, subwords: Layout, sequences: NDArray[np.int64], words: Words | None = None
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
class Mentions(Movable):
    """The mentions of a batch, E rows."""

    entities: Tensor
    """(E,) int64: ids of the entity vocabulary, [MASK] where masked."""
    positions: Tensor
    """(P,) int64: positions, in their sequence, of the subwords of each mention, one mention after
    the other ([CLS] is position 0)."""
    offsets: Tensor
    """(E,) int64: where the positions of each mention begin; for ``embedding_bag``."""

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
    """(C,) int64: ids of the entity vocabulary."""


@dataclass(frozen=True, slots=True)
class Choices(Movable):
    """The ids that targets are distinguished among, where these are not the whole vocabulary.

    Each target belongs to one of G scopes (a document, a group); targets are ordered by scope.
    """

    ids: Tensor
    """Int64: the ids of one scope after the other; in each ascending, none twice."""
    sizes: tuple[int, ...]
    """(G,) how many ids each scope has."""
    n_targets: tuple[int, ...]
    """(G,) how many targets are of each scope."""
    places: Tensor
    """(M,) int64: the place of each label among the ids of its scope."""


@dataclass(frozen=True, slots=True)
class Targets(Movable):
    """The targets of one objective: where something is to be predicted, and the right ids."""

    rows: Tensor
    """(M,) int64: rows of subwords, or of mentions, or sequences; none twice."""
    labels: Tensor
    """(M,) int64: the right ids."""
    negatives: Tensor | None = None
    """(S,) int64: ids that a sampled softmax compares with; None: the whole vocabulary. Or (M, S):
    of each target ids of its own, none twice, filled up with its label (``n_others`` is set)."""
    n_others: Tensor | None = None
    """(M,) int64: of how many ids, all but the label, the negatives of each target were drawn."""
    choices: Choices | None = None

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
    """(B,) of the examples, for messages."""
    subwords: Tensor
    """(T,) int64 ids, [CLS] and [SEP] among them."""
    rows: Rows
    segments: Tensor | None = None
    """(T,) int64, 0 or 1: the first or second text of a pair; None: all 0."""
    mentions: Mentions | None = None
    subword_entities: SubwordEntities | None = None
    targets: dict[str, Targets] = field(default_factory=dict)
    """By objective: ``subwords``, ``entities``, ``subword_entities``, ``pairs``; one without a
    target is absent."""
    counts: dict[str, int] = field(default_factory=dict)
    """What was cut or left out when it was made (``modeling/data/texts.py``), by name."""

    @property
    def n_targets(self) -> dict[str, int]:
        """How many predictions count, by objective."""
        return {name: len(targets.labels) for name, targets in self.targets.items()}


@dataclass(frozen=True, slots=True)
class ExpectedTags(Movable):
    """The tag probabilities of another tagger for the words of a batch, by C tags."""

    words: Tensor
    """(W, C): how likely each word has each tag."""
    pairs: Tensor
    """(S, C, C): how often, on average, the second tag follows the first in a sentence."""


@dataclass(frozen=True, slots=True)
class SentenceBatch(Movable):
    """Sentences to be tagged, with gold tags or without; the training loop takes it as a batch."""

    ids: tuple[str, ...]
    """(S,) of the sentences, for messages."""
    inputs: Batch
    """The windows; its ``ids`` are those of their sentences."""
    words: Layout
    """Of W rows: the words of S sentences."""
    word_subwords: Tensor
    """(Q,) int64: the rows of ``inputs.subwords`` of each word, one word after the other."""
    word_offsets: Tensor
    """(W,) int64: where the rows of each word begin in ``word_subwords``; each has at least one."""
    windows: Tensor
    """(W,) int64: the sequence of ``inputs`` in which each word is read."""
    features: Tensor | None = None
    """(W, G) float32, of a gazetteer; None: there is none."""
    tags: Tensor | None = None
    """(W,) int64 gold tags (``TagSet``); None: unknown."""
    expected: ExpectedTags | None = None
    """Learned from instead of ``tags``."""
    spans: "SpanBatch | None" = None
    """Candidates, for a span head."""

    @property
    def subwords(self) -> Tensor:
        """(T,) of all windows."""
        return self.inputs.subwords

    @property
    def n_targets(self) -> dict[str, int]:
        """Words that are tagged: what losses are divided by, whatever the head."""
        return {} if self.tags is None else {"tags": len(self.tags)}


@dataclass(frozen=True, slots=True)
class SpanBatch(Movable):
    """P candidate spans, sentence by sentence; each lies in one window (of ``inputs``)."""

    sentences: Tensor
    """(P,) int64: the sentence of each, ascending."""
    starts: Tensor
    """(P,) int64: its first word, counted in the sentence."""
    ends: Tensor
    """(P,) int64: after its last word."""
    windows: Tensor
    """(P,) int64: the sequence of ``inputs`` that it is read in."""
    first_subwords: Tensor
    """(P,) int64: the row of ``inputs.subwords`` of its first subword."""
    last_subwords: Tensor
    """(P,) int64: of its last subword; all subwords between belong to it."""
    labels: Tensor | None = None
    """(P,) int64: 0 for no span, 1 + the id of its label; None: unknown."""


_EMPTY = torch.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Batches of int64 and bool tensors on their way to another process, as one array.

    A step may be hundreds of tensors. Sent one by one, each would take a file descriptor and a
    piece of shared memory, of which there may be few. Every index and id of a batch fits 32 bits.
    """

    numbers: NDArray[np.int32]
    """All values, one tensor after the other."""
    kinds: tuple[tuple[bool, torch.Size], ...]
    """Of each tensor: whether it is bool, and its shape."""
    batches: tuple[Batch, ...]
    """With empty tensors."""

    @classmethod
    def pack(cls, batches: Sequence[Batch]) -> Self:
        """Pack batches into one array; the batches stay as they are."""
        tensors: list[Tensor] = []

        def take(tensor: Tensor) -> Tensor:
            tensors.append(tensor)
            return _EMPTY

        empty = tuple(batch.map(take) for batch in batches)
        kinds = tuple((tensor.dtype == torch.bool, tensor.shape) for tensor in tensors)
        arrays = [tensor.flatten().numpy().astype(np.int32) for tensor in tensors]
        return cls(np.concatenate([np.zeros(0, np.int32), *arrays]), kinds, empty)

    def unpack(self, *, pin: bool = False) -> list[Batch]:
        """Unpack the batches; their int64 tensors are views of one tensor.

        ``pin``: pin the tensors, so that a GPU copies them without waiting.
        """
        numbers = torch.from_numpy(self.numbers).long()
        numbers = numbers.pin_memory() if pin else numbers
        values = iter(torch.split(numbers, [shape.numel() for _, shape in self.kinds]))
        kinds = iter(self.kinds)

        def take(_: Tensor) -> Tensor:
            value, (is_bool, shape) = next(values), next(kinds)
            value = value.bool() if is_bool else value
            return (value.pin_memory() if pin and is_bool else value).view(shape)

        return [batch.map(take) for batch in self.batches]
