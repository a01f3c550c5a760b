"""What goes into a model: the rows of all examples one after the other, without padding.

Shapes: B examples, T pieces of all examples together, W words together, E mentions together,
C pieces that know an entity, M and K targets among pieces and mentions, R = T + E rows that a layer
sees, N the longest sequence.

Layers work on rows. Only where positions meet, in attention, are they padded to (B, N), and only
as far as the longest sequence of the batch; ``Layout`` knows where each row stands.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor


class Movable:
    """A frozen dataclass of tensors, and of others like itself, that moves to a device as one."""

    __slots__ = ()

    def map(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Replace every tensor by what ``change`` makes of it, in the order of the fields."""
        return _map(self, change)  # type: ignore[no-any-return]

    def to(self, device: torch.device | str) -> Self:
        """Copy what is not there yet; pinned tensors without waiting."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Self:
        """Pin every tensor, so that a copy to the GPU need not wait; called by DataLoader."""
        return self.map(Tensor.pin_memory)


def _map(value: Any, move: Callable[[Tensor], Tensor]) -> Any:
    """The value with every tensor in it moved."""
    if isinstance(value, Tensor):
        return move(value)
    if isinstance(value, dict):
        return {name: _map(item, move) for name, item in value.items()}
    if isinstance(value, Movable):
        parts = {part.name: getattr(value, part.name) for part in fields(value)}  # type: ignore[arg-type]
        return replace(value, **{name: _map(part, move) for name, part in parts.items()})  # type: ignore[type-var]
    return value


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
    def of(cls, lengths: Sequence[int] | np.ndarray[Any, Any]) -> "Layout":
        """Lay out sequences of these lengths, row after row; a length may be 0."""
        sizes = np.asarray(lengths, np.int64)
        sequences = np.repeat(np.arange(len(sizes)), sizes)
        starts = np.cumsum(sizes) - sizes
        positions = np.arange(len(sequences)) - starts[sequences]
        return cls.placed(sequences, positions, longest=int(sizes.max(initial=0)), n=len(sizes))

    @classmethod
    def placed(
        cls,
        sequences: np.ndarray[Any, Any],
        positions: np.ndarray[Any, Any],
        *,
        longest: int,
        n: int,
    ) -> "Layout":
        """Lay out rows that are in any order; each place must be taken at most once."""
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

    def pad(self, rows: Tensor) -> Tensor:
        """(rows, ...) -> (B, N, ...), zeros where no row stands; a view if nothing is padded."""
        shape = (self.n_sequences, self.longest, *rows.shape[1:])
        if self.attend is None:
            return rows.view(shape)
        padded = rows.new_zeros((self.n_sequences * self.longest, *rows.shape[1:]))
        return padded.index_copy(0, self.index, rows).view(shape)

    def pack(self, padded: Tensor) -> Tensor:
        """(B, N, ...) -> (rows, ...); the reverse of ``pad``."""
        flat = padded.reshape(self.n_sequences * self.longest, *padded.shape[2:])
        return flat if self.attend is None else flat.index_select(0, self.index)


@dataclass(frozen=True, slots=True)
class Words(Movable):
    """The words of a batch; each special piece is a word of its own."""

    layout: Layout
    """Of W rows, one for each word."""
    of_piece: Tensor
    """(T,) int64: the row of the word that each piece belongs to."""
    n_pieces: Tensor
    """(W,) int64: pieces of each word, at least 1."""


@dataclass(frozen=True, slots=True)
class Known(Movable):
    """Pieces that know an entity, and what they know: the vectors of F numbers of its table."""

    rows: Tensor
    """(C,) int64, ascending."""
    vectors: Tensor
    """(C, F)."""


@dataclass(frozen=True, slots=True)
class Rows(Movable):
    """What a layer may know of its rows: T pieces, and then E mentions."""

    pieces: Layout
    together: Layout
    """Of the R = T + E rows: in each sequence its pieces, and then its mentions. The same as
    ``pieces`` where there are no mentions."""
    words: Words | None = None
    entities: Layout | None = None
    known: Known | None = None
    """Set by an encoder whose pieces know entities, from ``Batch.piece_entities``."""


@dataclass(frozen=True, slots=True)
class Mentions(Movable):
    """The mentions of a batch, E rows."""

    entities: Tensor
    """(E,) int64: ids of the entity vocabulary, [MASK] where masked."""
    positions: Tensor
    """(P,) int64: positions, in their sequence, of the pieces of each mention, one mention after
    the other ([CLS] is position 0)."""
    offsets: Tensor
    """(E,) int64: where the positions of each mention begin; for ``embedding_bag``."""


@dataclass(frozen=True, slots=True)
class PieceEntities(Movable):
    """The pieces of mentions, each with the entity of its mention (EntityBERT); C rows."""

    rows: Tensor
    """(C,) int64: rows of pieces, ascending; a piece has one entity, or none and is not here."""
    entities: Tensor
    """(C,) int64: ids of the entity vocabulary."""


@dataclass(frozen=True, slots=True)
class Choices(Movable):
    """Among which ids targets are told apart, where it is not the whole vocabulary.

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
    """What is to be predicted, of one objective."""

    rows: Tensor
    """(M,) int64: rows of pieces, or of mentions, or sequences; none twice."""
    labels: Tensor
    """(M,) int64: the right ids."""
    negatives: Tensor | None = None
    """(S,) int64: ids that a sampled softmax compares with; None: the whole vocabulary. Or (M, S):
    of each target ids of its own, none twice, filled up with its label (``n_others`` is set)."""
    n_others: Tensor | None = None
    """(M,) int64: of how many ids, all but the label, the negatives of each target were drawn."""
    choices: Choices | None = None


@dataclass(frozen=True, slots=True)
class Batch(Movable):
    """A batch of examples, masked or not."""

    ids: tuple[str, ...]
    """(B,) of the examples, for messages."""
    pieces: Tensor
    """(T,) int64 ids, [CLS] and [SEP] among them."""
    rows: Rows
    segments: Tensor | None = None
    """(T,) int64, 0 or 1: the first or second text of a pair; None: all 0."""
    mentions: Mentions | None = None
    piece_entities: PieceEntities | None = None
    targets: dict[str, Targets] | None = None
    """By objective: ``pieces``, ``entities``, ``piece_entities``, ``pairs``; one without a target
    is absent."""
    counts: dict[str, int] = field(default_factory=dict)
    """What was cut or left out when it was made (``modeling/data/views.py``), by name."""

    @property
    def n_targets(self) -> dict[str, int]:
        """How many predictions count, by objective."""
        return {name: len(targets.labels) for name, targets in (self.targets or {}).items()}
