"""Rows cut into heads, and heads into groups that are worked on at once.

Shapes: B sequences, N positions, H heads, K width of a head, D = H * K, G heads of a group, n keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from modeling.data.batch import Layout


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


def exact_type(dtype: torch.dtype) -> torch.dtype:
    """What scores and sums are kept in: float32, or wider where the rows are."""
    return torch.promote_types(dtype, torch.float32)


def product(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """Multiply two tensors, rounded to the type of the rows before, in ``exact_type`` of it.

    (G, i, j), and (G, j, k) or (j, k) -> (G, i, k). What is rounded is what goes into a product,
    as a GPU's fast products need it; what comes out is not.
    """
    left, right = left.to(dtype), right.to(dtype)
    if exact_type(dtype) == dtype:
        return left @ right
    if left.is_cuda:
        right = right.expand(len(left), -1, -1)
        return torch.bmm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


def add_product(total: Tensor, left: Tensor, right: Tensor, *, dtype: torch.dtype) -> None:
    """Add ``product`` to (G, i, k)."""
    if exact_type(dtype) == dtype:
        total.baddbmm_(left, right)
    else:
        total += product(left, right, dtype)


def product_by_offset(by_offset: Tensor, rows: Tensor, dtype: torch.dtype) -> Tensor:
    """(G, b, o), (G, b, K) -> (o, K): the ``product`` that sums over rows, too."""
    if exact_type(dtype) == dtype:
        return torch.einsum("gbo,gbk->ok", by_offset, rows)
    left, right = by_offset.flatten(0, 1).mT[None], rows.flatten(0, 1)[None]
    return product(left, right, dtype)[0]


def table_sums(table: Tensor) -> Tensor:
    """Zeros for the gradient of a table, to which many blocks add: at least float32."""
    return torch.zeros_like(table, dtype=torch.promote_types(table.dtype, torch.float32))
