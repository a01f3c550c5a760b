"""Rows cut into heads, and heads into groups that are worked on at once.

Shapes: B sequences, N positions, H heads, K width of a head, D = H * K, G heads of a group, n keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from modeling.batch import Layout


def checked_heads(width: int, n_heads: int) -> int:
    """The number of heads; ``ValueError`` if the width is no multiple of it."""
    if n_heads < 1 or width % n_heads:
        raise ValueError(
            f"Attention {width} wide cannot have {n_heads} heads: "
            "the width must be a multiple of the number of heads."
        )
    return n_heads


def to_heads(rows: Tensor, layout: Layout, n_heads: int) -> Tensor:
    """(rows, D) -> (B, H, N, K), zeros where no row stands."""
    shape = (layout.n_sequences, layout.longest, n_heads, rows.shape[1] // n_heads)
    return layout.pad(rows).view(shape).transpose(1, 2)


def from_heads(padded: Tensor, layout: Layout) -> Tensor:
    """(B, H, N, K) -> (rows, D); the reverse of ``to_heads``."""
    return layout.pack(padded.transpose(1, 2).flatten(2))


@dataclass(frozen=True, slots=True)
class Group:
    """The heads of some sequences, which are worked on at once."""

    sequences: slice
    n: int
    """Longest of the sequences."""
    hidden: Tensor | None
    """(G, 1, n), True where no row stands; None: nowhere."""

    def cut(self, padded: Tensor) -> Tensor:
        """(B, H, N, K) -> (G, n, K), which may be a view."""
        return padded[self.sequences, :, : self.n].flatten(0, 1)

    def put(self, padded: Tensor, grouped: Tensor) -> None:
        """Write (G, n, K) where ``cut`` reads."""
        place = padded[self.sequences, :, : self.n]
        place.copy_(grouped.reshape(place.shape))


def groups(padded: Tensor, attend: Tensor | None) -> Iterator[Group]:
    """Group (B, H, N, K); ``attend`` (B, N) is True, and from some place on False.

    On a CPU each sequence is a group and as long as it is: this takes less work, and fits into
    the cache. Elsewhere all sequences are one, and it need not be known how long they are.
    """
    group = each_sequence if padded.device.type == "cpu" else all_sequences
    return group(padded, attend)


def each_sequence(padded: Tensor, attend: Tensor | None) -> Iterator[Group]:
    """One group a sequence; empty ones are left out."""
    n_sequences, _, longest, _ = padded.shape
    lengths = [longest] * n_sequences if attend is None else attend.sum(1).tolist()
    for sequence, n in enumerate(lengths):
        if n:
            yield Group(slice(sequence, sequence + 1), n, hidden=None)


def all_sequences(padded: Tensor, attend: Tensor | None) -> Iterator[Group]:
    """One group."""
    _, n_heads, longest, _ = padded.shape
    hidden = None
    if attend is not None:
        hidden = (~attend)[:, None].expand(-1, n_heads, -1).flatten(0, 1)[:, None]
    if longest:
        yield Group(slice(None), longest, hidden)


def table_sums(table: Tensor) -> Tensor:
    """Zeros for the gradient of a table, to which many blocks add: at least float32."""
    return torch.zeros_like(table, dtype=torch.promote_types(table.dtype, torch.float32))
