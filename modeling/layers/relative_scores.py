"""Attention with relative positions, computed in blocks of queries and again in the backward pass.

Nothing as large as n x n is kept, and nothing is gathered from an n x n index: in a block of
queries, what belongs to an offset j - i lies on a diagonal, and a diagonal is a view with strides.

Shapes: B sequences, H heads, G heads of the sequences done at once, N positions, K width of a head,
b queries of a block, n keys, τ clipping distance.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from modeling.layers.groups import (
    Group,
    add_product,
    exact_type,
    groups,
    product,
    product_by_offset,
    table_sums,
)

_BLOCK = 128
"""Queries of a block: more make a CPU's cache too small, fewer make more and smaller steps."""


@torch.compiler.disable  # type: ignore[untyped-decorator]
def relative_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    keys: Tensor,
    values: Tensor,
    attend: Tensor | None,
) -> Tensor:
    """Σ_j α_ij (v_j + values[o_ij]), where α_i = softmax_j of q_i . (k_j + keys[o_ij]).

    Args:
        query: (B, H, N, K), already divided by √K.
        key: (B, H, N, K).
        value: (B, H, N, K).
        keys: (2τ + 1, K), of the offsets o_ij = j - i clipped to -τ .. τ.
        values: the same for values.
        attend: (B, N) bool, a run of True and then False in each sequence; None: all True.

    Returns:
        (B, H, N, K), anything where no row stands.
    """
    # What all keys of a query share cancels in the softmax, and as weights sum to 1, what all
    # values share can be added at the end. So offsets from τ on, to the right, need no work.
    with torch.autocast(query.device.type, enabled=False):
        keys, values = (table.to(exact_type(query.dtype)) for table in (keys, values))
        mixed: Tensor = _RelativeAttention.apply(  # type: ignore[no-untyped-call]
            query, key, value, keys[:-1] - keys[-1], values[:-1] - values[-1], attend
        )
        return (mixed + values[-1]).to(query.dtype)


class _Offsets:
    """Moves between the keys of a block of queries, and offsets from -τ (and less) to τ - 1."""

    def __init__(self, like: Tensor, *, clip: int, block: int) -> None:
        """For tensors (G, n, K) like this one."""
        self.clip, self.block = clip, block
        self.band = slice(block, block + 2 * clip - 1)  # offsets 1 - τ .. τ - 1
        shape = (len(like), block, 2 * block + 2 * clip - 1)
        dtype = exact_type(like.dtype)
        self.spread, self.found = (like.new_zeros(shape, dtype=dtype) for _ in range(2))

    def _near(self, wide: Tensor, start: int, scores: Tensor) -> tuple[int, int, Tensor]:
        """Columns left .. right of (G, b, n) that not all queries have at the same clipped offset.

        The third is ``wide``, whose columns are offsets, seen with those columns instead.
        """
        _, b, n = scores.shape
        first = start - self.clip + 1
        left, right = max(0, first), min(n, start + b + self.clip - 1)
        size, stride = (len(wide), b, right - left), (wide.stride(0), wide.stride(1) - 1, 1)
        return left, right, wide.as_strided(size, stride, self.block + left - first)

    def add(self, by_offset: Tensor, scores: Tensor, start: int) -> None:
        """Add (G, b, 2τ) to the scores (G, b, n) of the keys that have these offsets."""
        b = scores.shape[1]
        far = by_offset[:, :, :1]
        self.spread[:, :b, : self.block] = far
        self.spread[:, :b, self.band] = by_offset[:, :, 1:]
        left, right, near = self._near(self.spread, start, scores)
        scores[:, :, :left] += far
        scores[:, :, left:right] += near

    def sum(self, weights: Tensor, start: int) -> Tensor:
        """Sum weights (G, b, n) over the keys that have the same offset: (G, b, 2τ)."""
        b, n = weights.shape[1:]
        left, right, near = self._near(self.found, start, weights)
        if left == 0 or right == n:  # Another block has written where this one does not.
            self.found.zero_()
        near.copy_(weights[:, :, left:right])
        found = self.found[:, :b]
        sums = weights.new_empty(len(weights), b, 2 * self.clip)
        sums[:, :, 0] = found[:, :, : self.block].sum(2).add_(weights[:, :, :left].sum(2))
        sums[:, :, 1:] = found[:, :, self.band]
        return sums


def _weights(
    query: Tensor, key: Tensor, *, keys: Tensor, offsets: _Offsets, start: int, group: Group
) -> Tensor:
    """α (G, b, n) of a block of queries (G, b, K) that begins at ``start``; float32 or wider."""
    dtype = query.dtype
    scores = product(query, key.mT, dtype)
    offsets.add(product(query, keys.T, dtype), scores, start)
    if group.hidden is not None:
        scores.masked_fill_(group.hidden, torch.finfo(scores.dtype).min)
    return scores.softmax(2)


class _RelativeAttention(torch.autograd.Function):
    """Keeps what comes in and goes out; weights are computed twice."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        query, key, value, keys, values, attend = inputs
        clip, block, dtype = len(keys) // 2, _BLOCK, query.dtype
        mixed = torch.zeros_like(query)
        for group in groups(query, attend):
            q, k, v = (group.cut(whole) for whole in (query, key, value))
            z = q.new_empty(q.shape, dtype=exact_type(dtype))
            offsets = _Offsets(q, clip=clip, block=block)
            for start in range(0, group.n, block):
                here = slice(start, start + block)
                weights = _weights(
                    q[:, here], k, keys=keys, offsets=offsets, start=start, group=group
                )
                of_offsets = product(offsets.sum(weights, start), values, dtype)
                z[:, here] = product(weights, v, dtype).add_(of_offsets)
            group.put(mixed, z)
        ctx.save_for_backward(query, key, value, keys, values, attend, mixed)
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        [d_mixed] = gradients
        with torch.autocast(d_mixed.device.type, enabled=False):
            return (*_gradients(ctx.saved_tensors, d_mixed), None)


def _gradients(saved: tuple[Tensor, ...], d_mixed: Tensor) -> tuple[Tensor, ...]:
    """Of query, key, value (B, H, N, K), and both tables (2τ, K)."""
    query, key, value, keys, values, attend, mixed = saved
    clip, block, dtype = len(keys) // 2, _BLOCK, query.dtype
    d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
    d_keys, d_values = table_sums(keys), table_sums(values)
    # Σ_j α_ij dα_ij, which softmax takes off
    shared = (d_mixed.to(exact_type(dtype)) * mixed).sum(3, keepdim=True)
    for group in groups(query, attend):
        q, k, v, dz, less = (group.cut(x) for x in (query, key, value, d_mixed, shared))
        offsets = _Offsets(q, clip=clip, block=block)
        dq, dk, dv = (q.new_zeros(q.shape, dtype=exact_type(dtype)) for _ in range(3))
        for start in range(0, group.n, block):
            here = slice(start, start + block)
            weights = _weights(q[:, here], k, keys=keys, offsets=offsets, start=start, group=group)
            add_product(dv, weights.mT, dz[:, here], dtype=dtype)
            d_values += product_by_offset(offsets.sum(weights, start), dz[:, here], dtype)
            d_scores = product(dz[:, here], v.mT, dtype)
            offsets.add(product(dz[:, here], values.T, dtype), d_scores, start)
            d_scores.sub_(less[:, here]).mul_(weights)
            add_product(dk, d_scores.mT, q[:, here], dtype=dtype)
            by_offset = offsets.sum(d_scores, start)
            d_keys += product_by_offset(by_offset, q[:, here], dtype)
            dq[:, here] = product(d_scores, k, dtype).add_(product(by_offset, keys, dtype))
        for whole, cut in ((d_query, dq), (d_key, dk), (d_value, dv)):
            group.put(whole, cut)
    return d_query, d_key, d_value, d_keys, d_values
