"""Attention to a window, in blocks of queries, computed again in the backward pass.

A block is b queries and the c = b + 2ω keys around them. In row r of a block the columns from r to
r + 2ω are the window, offsets -ω to ω: a diagonal band. A band (b, 2ω + 1) padded to (b, c + 1),
and read as if it were (b, c), has each offset where it belongs.

Shapes: B sequences, H heads, N positions, K width of a head, G heads of a group, n rows of its
longest sequence, M blocks.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from modeling.layers.groups import (
    Group,
    exact_type,
    groups,
    product,
    product_by_offset,
    table_sums,
)

_BLOCK = 32
"""Queries of a block, if twice the window is not more: a larger one wastes more columns on what is
no window, a smaller one copies more keys."""


@torch.compiler.disable  # type: ignore[untyped-decorator]
def window_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    window: int,
    tables: tuple[Tensor, Tensor] | None,
    attend: Tensor | None,
) -> Tensor:
    """Σ_j α_ij (v_j + b[j-i]) of |i - j| ≤ window, where α_i = softmax_j of q_i . (k_j + a[j-i]).

    Args:
        query: (B, H, N, K), already divided by √K.
        key: (B, H, N, K).
        value: (B, H, N, K).
        window: ω, at least 0.
        tables: a and b, each (2ω + 1, K), of the offsets -ω .. ω; None: both are zero.
        attend: (B, N) bool, a run of True and then False in each sequence; None: all True.

    Returns:
        (B, H, N, K), anything where no row stands.
    """
    keys, values = tables or (None, None)
    with torch.autocast(query.device.type, enabled=False):
        if keys is not None and values is not None:
            keys, values = (table.to(exact_type(query.dtype)) for table in (keys, values))
        mixed: Tensor = _WindowAttention.apply(  # type: ignore[no-untyped-call]
            query, key, value, keys, values, attend, window
        )
        return mixed


class _Blocks:
    """The blocks of a group of sequences."""

    def __init__(self, group: Group, *, window: int) -> None:
        self.n, self.window = group.n, window
        self.size = max(_BLOCK, 2 * window)
        self.n_blocks = -(-group.n // self.size)
        self.n_columns = self.size + 2 * window
        self.hidden = group.hidden

    def queries(self, rows: Tensor) -> Tensor:
        """(G, n, K) -> (G * M, b, K), zeros at the end."""
        padded = functional.pad(rows, (0, 0, 0, self.n_blocks * self.size - self.n))
        return padded.reshape(-1, self.size, rows.shape[2])

    def rows(self, queries: Tensor) -> Tensor:
        """The reverse of ``queries``."""
        return queries.view(-1, self.n_blocks * self.size, queries.shape[2])[:, : self.n]

    def keys(self, rows: Tensor, *, fill: float = 0) -> Tensor:
        """(G, n, K) -> (G * M, c, K): the rows around each block, filled up beyond both ends."""
        after = self.n_blocks * self.size - self.n + self.window
        padded = functional.pad(rows, (0, 0, self.window, after), value=fill)
        near = padded.unfold(1, self.n_columns, self.size)  # (G, M, K, c)
        return near.flatten(0, 1).mT.contiguous()

    def sum_keys(self, near: Tensor) -> Tensor:
        """(G * M, c, K) -> (G, n, K): each row is the sum of its copies."""
        size, width = self.size, near.shape[2]
        blocks = near.view(-1, self.n_blocks, self.n_columns, width)
        sums = near.new_zeros(len(blocks), (self.n_blocks + 1) * size, width)
        sums[:, :-size] = blocks[:, :, :size].flatten(1, 2)
        after = sums[:, size:].view(-1, self.n_blocks, size, width)
        after[:, :, : 2 * self.window] += blocks[:, :, size:]
        return sums[:, self.window : self.window + self.n]

    def outside(self, like: Tensor) -> Tensor:
        """(M, b, c), or (G * M, b, c): True where a column is in no window, or no row stands."""
        column = torch.arange(self.n_columns, device=like.device)
        offset = column - torch.arange(self.size, device=like.device)[:, None]
        hidden = self.hidden
        if hidden is None:
            hidden = torch.zeros(1, 1, self.n, dtype=torch.bool, device=like.device)
        absent = self.keys(hidden.mT, fill=1).mT  # (M or G * M, 1, c)
        return absent | (offset < 0) | (offset > 2 * self.window)

    def to_columns(self, band: Tensor) -> Tensor:
        """(G * M, b, 2ω + 1) by offset -> (G * M, b, c), zeros outside the band."""
        wide = functional.pad(band, (0, self.size)).flatten(1)
        columns = wide[:, : self.size * self.n_columns]
        return columns.view(len(band), self.size, self.n_columns)

    def to_offsets(self, columns: Tensor) -> Tensor:
        """(G * M, b, c) -> (G * M, b, 2ω + 1): the band, by offset."""
        wide = functional.pad(columns.flatten(1), (0, self.size))
        by_row = wide.view(len(wide), self.size, self.n_columns + 1)
        return by_row[:, :, : 2 * self.window + 1]

    def weights(self, query: Tensor, key: Tensor, table: Tensor | None) -> Tensor:
        """α: (G * M, b, c) of queries (G * M, b, K), keys (G * M, c, K); float32 or wider."""
        scores = product(query, key.mT, query.dtype)
        if table is not None:
            scores += self.to_columns(product(query, table.T, query.dtype))
        outside = self.outside(query)
        blocks = scores.view(-1, len(outside), *scores.shape[1:])
        blocks.masked_fill_(outside, torch.finfo(scores.dtype).min)
        return scores.softmax(2)


class _WindowAttention(torch.autograd.Function):
    """Keeps what comes in and goes out; weights are computed twice."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        query, key, value, keys, values, attend, window = inputs
        mixed = torch.zeros_like(query)
        for group in groups(query, attend):
            blocks = _Blocks(group, window=window)
            k, v = (blocks.keys(group.cut(x)) for x in (key, value))
            weights = blocks.weights(blocks.queries(group.cut(query)), k, keys)
            z = product(weights, v, query.dtype)
            if values is not None:
                z += product(blocks.to_offsets(weights), values, query.dtype)
            group.put(mixed, blocks.rows(z))
        ctx.save_for_backward(query, key, value, keys, values, attend)
        ctx.window = window
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        [d_mixed] = gradients
        with torch.autocast(d_mixed.device.type, enabled=False):
            return (*_gradients(ctx.saved_tensors, d_mixed, window=ctx.window), None, None)


def _gradients(
    saved: tuple[Tensor, ...], d_mixed: Tensor, *, window: int
) -> tuple[Tensor | None, ...]:
    """Of query, key, value (B, H, N, K), and both tables (2ω + 1, K)."""
    query, key, value, keys, values, attend = saved
    dtype = query.dtype
    d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
    d_keys = d_values = None
    if keys is not None:
        d_keys, d_values = table_sums(keys), table_sums(values)
    for group in groups(query, attend):
        blocks = _Blocks(group, window=window)
        q, dz = (blocks.queries(group.cut(x)) for x in (query, d_mixed))
        k, v = (blocks.keys(group.cut(x)) for x in (key, value))
        weights = blocks.weights(q, k, keys)
        d_weights = product(dz, v.mT, dtype)
        if d_values is not None:
            d_weights += blocks.to_columns(product(dz, values.T, dtype))
            d_values += product_by_offset(blocks.to_offsets(weights), dz, dtype)
        d_scores = (d_weights - (d_weights * weights).sum(2, keepdim=True)).mul_(weights)
        dq = product(d_scores, k, dtype)
        if d_keys is not None:
            by_offset = blocks.to_offsets(d_scores)
            dq += product(by_offset, keys, dtype)
            d_keys += product_by_offset(by_offset, q, dtype)
        group.put(d_query, blocks.rows(dq))
        group.put(d_key, blocks.sum_keys(product(d_scores.mT, q, dtype)))
        group.put(d_value, blocks.sum_keys(product(weights.mT, dz, dtype)))
    return d_query, d_key, d_value, d_keys, d_values
