"""Attention in blocks: with dropout, with relative positions, and to a window.

Attention with dropout: on a CPU, the dropout inside torch's own attention takes as long as the rest
of it. Here, only the weights of a few sequences are computed at a time, so that they fit into the
cache, and ``transformer.draw_kept`` draws which of them are dropped.

Relative positions and windows: the backward pass computes the weights of each block again, so that
nothing as large as n x n is kept, and nothing is gathered by an n x n index. With relative
positions, the values for an offset j - i lie on a diagonal of a block of queries, and a diagonal is
a view with strides. With a window, a block is b queries and the c = b + 2ω keys around them; in row
r the window is the columns from r to r + 2ω, so that all windows form a diagonal band. A band
(b, 2ω + 1) that is padded to (b, c + 1), and read as (b, c), has each offset in its column.

Shapes: B sequences, H heads, G heads of a group of sequences, N positions, n rows of the longest
sequence of a group, K width of a head, M blocks of b queries, τ clipping distance, ω window.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from modeling.layers.compilation import AutogradContext, uncompiled
from modeling.layers.transformer import draw_kept

_BLOCK = 128
"""Queries of a block: more would not fit into a CPU's cache, fewer make more and smaller steps."""
_WEIGHTS = 1 << 18
"""Attention weights that are computed at once in attention with dropout: a megabyte."""
_WINDOW_BLOCK = 32
"""Queries of a block of window attention, or twice the window, if that is more: a larger block has
more columns outside windows, a smaller one copies more keys."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some sequences, all heads of which are processed at once."""

    sequences: slice
    n: int
    """The number of rows of the longest of the sequences."""
    hidden: Tensor | None
    """(G, 1, n) bool: True where there is no row; None: no padding."""

    def cut(self, padded: Tensor) -> Tensor:
        """Select the heads of the group: (B, H, N, K) -> (G, n, K), which may be a view."""
        return padded[self.sequences, :, : self.n].flatten(0, 1)

    def put(self, padded: Tensor, grouped: Tensor) -> None:
        """Write (G, n, K) where ``cut`` reads."""
        place = padded[self.sequences, :, : self.n]
        place.copy_(grouped.reshape(place.shape))


def groups(padded: Tensor, attend: Tensor | None) -> Iterator[Group]:
    """Group the sequences of (B, H, N, K); each row of ``attend`` (B, N) is True, then False.

    On a CPU each sequence is a group, without padding: this takes less work, and fits into the
    cache. Elsewhere all sequences are one group, and their lengths need not be known.
    """
    group = each_sequence if padded.device.type == "cpu" else all_sequences
    return group(padded, attend)


def each_sequence(padded: Tensor, attend: Tensor | None) -> Iterator[Group]:
    """Yield a group for each sequence; empty sequences are left out."""
    n_sequences, _, longest, _ = padded.shape
    lengths = [longest] * n_sequences if attend is None else attend.sum(1).tolist()
    for sequence, n in enumerate(lengths):
        if n:
            yield Group(slice(sequence, sequence + 1), n, hidden=None)


def all_sequences(padded: Tensor, attend: Tensor | None) -> Iterator[Group]:
    """Yield one group of all sequences; none if all are empty."""
    _, n_heads, longest, _ = padded.shape
    hidden = None
    if attend is not None:
        hidden = (~attend)[:, None].expand(-1, n_heads, -1).flatten(0, 1)[:, None]
    if longest:
        yield Group(slice(None), longest, hidden)


def exact_type(dtype: torch.dtype) -> torch.dtype:
    """Return the type of scores and sums: float32, or wider if the rows are wider."""
    return torch.promote_types(dtype, torch.float32)


def product(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """Multiply two tensors, both first rounded to ``dtype``, the type of the rows.

    (G, i, j), and (G, j, k) or (j, k) -> (G, i, k). The factors are rounded, as a GPU's fast
    products need it; the result is not: it has the ``exact_type`` of ``dtype``.
    """
    left, right = left.to(dtype), right.to(dtype)
    if exact_type(dtype) == dtype:
        return left @ right
    if left.is_cuda:
        right = right.expand(len(left), -1, -1)
        return torch.bmm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


def _sum_by_offset(by_offset: Tensor, rows: Tensor, dtype: torch.dtype) -> Tensor:
    """Multiply as ``product`` and sum over all rows: (G, b, o), (G, b, K) -> (o, K)."""
    return product(by_offset.flatten(0, 1).mT[None], rows.flatten(0, 1)[None], dtype)[0]


def _sums_like(table: Tensor) -> Tensor:
    """Return zeros for the gradient of a table, to which many blocks add."""
    return torch.zeros_like(table, dtype=exact_type(table.dtype))


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    attend: Tensor | None,
    dropout: float = 0.0,
    scale: float | None = None,
) -> Tensor:
    """Compute softmax(q . k · scale) v with dropout of the weights (Vaswani et al. 2017, eq. 1).

    Args:
        query: (B, H, N, K).
        key: (B, H, N, K).
        value: (B, H, N, K).
        attend: (B, N) bool, True where a key is looked at; None: all True.
        dropout: The probability with which each weight is zeroed.
        scale: 1/√K if it is None.

    Returns:
        (B, H, N, K), anything for a sequence without a True.
    """
    is_slow = query.device.type == "cpu" and query.dtype in (torch.float32, torch.float64)
    if is_slow and 0 < dropout < 1 and not torch.compiler.is_compiling():
        scale = query.shape[3] ** -0.5 if scale is None else scale
        with torch.autocast("cpu", enabled=False):
            mixed: Tensor = _DroppedAttention.apply(  # type: ignore[no-untyped-call]
                query * scale, key, value, attend, dropout
            )
        return mixed
    mask = None if attend is None else attend[:, None, None]
    return functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=dropout, scale=scale
    )


class _DroppedContext(AutogradContext, Protocol):
    size: int
    factor: float


class _DroppedAttention(torch.autograd.Function):
    """An attention that saves its weights, and which of them dropout keeps, for ``backward``."""

    @staticmethod
    def forward(  # noqa: PLR0917 - as torch calls it
        ctx: _DroppedContext,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attend: Tensor | None,
        dropout: float,
    ) -> Tensor:
        n_sequences, n_heads, n = query.shape[:3]
        ctx.size = max(1, _WEIGHTS // max(1, n_heads * n * n))
        mixed = torch.empty_like(value)
        all_weights, all_kept = [], []
        for start in range(0, n_sequences, ctx.size):
            some = slice(start, start + ctx.size)
            scores = query[some] @ key[some].mT
            if attend is not None:
                hidden = ~attend[some, None, None]
                scores.masked_fill_(hidden, torch.finfo(scores.dtype).min)
            weights = scores.softmax(3)
            kept, ctx.factor = draw_kept(weights, dropout)
            mixed[some] = (weights * _factors(kept, ctx.factor, weights)) @ value[some]
            all_weights.append(weights)
            all_kept.append(kept)
        ctx.save_for_backward(query, key, value, *all_weights, *all_kept)
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx: _DroppedContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, *saved = ctx.saved_tensors
        [d_mixed] = gradients
        d_query, d_key, d_value = (torch.empty_like(x) for x in (query, key, value))
        n_groups = len(saved) // 2
        for group in range(n_groups):
            weights, kept = saved[group], saved[n_groups + group]
            factors = _factors(kept, ctx.factor, weights)
            some = slice(group * ctx.size, (group + 1) * ctx.size)
            d_value[some] = (weights * factors).mT @ d_mixed[some]
            d_weights = (d_mixed[some] @ value[some].mT).mul_(factors)
            d_scores = _softmax_gradient(weights, d_weights)
            d_query[some] = d_scores @ key[some]
            d_key[some] = d_scores.mT @ query[some]
        return d_query, d_key, d_value, None, None


def _factors(kept: Tensor, factor: float, like: Tensor) -> Tensor:
    """Return the factors of dropout: ``factor`` where a weight is kept, else 0."""
    return kept.to(like.dtype).mul_(factor)


def _softmax_gradient(weights: Tensor, d_weights: Tensor) -> Tensor:
    """Compute the gradient of the scores: α (dα - Σ α dα)."""
    products = d_weights.mul_(weights)
    return products.addcmul_(weights, products.sum(3, keepdim=True), value=-1)


@uncompiled
def relative_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    keys: Tensor,
    values: Tensor,
    attend: Tensor | None,
) -> Tensor:
    """Compute Σ_j α_ij (v_j + values[o_ij]), where α_i = softmax_j of q_i . (k_j + keys[o_ij]).

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
    # A term that all keys of a query share cancels in the softmax, and as weights sum to 1, a term
    # that all values share can be added at the end. So the last row of each table is subtracted
    # from all its rows, and the offsets of τ or more need no computation.
    with torch.autocast(query.device.type, enabled=False):
        keys, values = (table.to(exact_type(query.dtype)) for table in (keys, values))
        mixed: Tensor = _RelativeAttention.apply(  # type: ignore[no-untyped-call]
            query, key, value, keys[:-1] - keys[-1], values[:-1] - values[-1], attend
        )
        return (mixed + values[-1]).to(query.dtype)


class _Offsets:
    """Conversion between the keys of a block of queries, and offsets -τ (and less) to τ - 1."""

    def __init__(self, like: Tensor, *, clip: int, block: int) -> None:
        """Allocate buffers for tensors (G, n, K) such as ``like``."""
        self.clip, self.block = clip, block
        self.band = slice(block, block + 2 * clip - 1)  # columns of the offsets 1 - τ .. τ - 1
        shape = (len(like), block, 2 * block + 2 * clip - 1)
        dtype = exact_type(like.dtype)
        self.spread, self.found = (like.new_zeros(shape, dtype=dtype) for _ in range(2))

    def _near(self, wide: Tensor, start: int, scores: Tensor) -> tuple[int, int, Tensor]:
        """Find the columns left .. right of (G, b, n) whose clipped offset depends on the query.

        Also return a view of ``wide`` with these columns; the columns of ``wide`` are offsets.
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
        if left == 0 or right == n:  # an earlier block may have written more columns
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
    """Compute α (G, b, n), float32 or wider, of a block of queries (G, b, K) from ``start`` on."""
    dtype = query.dtype
    scores = product(query, key.mT, dtype)
    offsets.add(product(query, keys.T, dtype), scores, start)
    if group.hidden is not None:
        scores.masked_fill_(group.hidden, torch.finfo(scores.dtype).min)
    return scores.softmax(2)


class _RelativeAttention(torch.autograd.Function):
    """An attention that saves its inputs and output; ``backward`` computes the weights again."""

    @staticmethod
    def forward(  # noqa: PLR0917 - as torch calls it
        ctx: AutogradContext,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        keys: Tensor,
        values: Tensor,
        attend: Tensor | None,
    ) -> Tensor:
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
    def backward(ctx: AutogradContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        [d_mixed] = gradients
        with torch.autocast(d_mixed.device.type, enabled=False):
            return (*_relative_gradients(ctx.saved_tensors, d_mixed), None)


def _relative_gradients(saved: tuple[Tensor, ...], d_mixed: Tensor) -> tuple[Tensor, ...]:
    """Compute the gradients of query, key, value (B, H, N, K), and both tables (2τ, K)."""
    query, key, value, keys, values, attend, mixed = saved
    clip, block, dtype = len(keys) // 2, _BLOCK, query.dtype
    d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
    d_keys, d_values = _sums_like(keys), _sums_like(values)
    # Σ_j α_ij dα_ij, which the gradient of the softmax subtracts
    shared = (d_mixed.to(exact_type(dtype)) * mixed).sum(3, keepdim=True)
    for group in groups(query, attend):
        q, k, v, dz, less = (group.cut(x) for x in (query, key, value, d_mixed, shared))
        offsets = _Offsets(q, clip=clip, block=block)
        dq, dk, dv = (q.new_zeros(q.shape, dtype=exact_type(dtype)) for _ in range(3))
        for start in range(0, group.n, block):
            here = slice(start, start + block)
            weights = _weights(q[:, here], k, keys=keys, offsets=offsets, start=start, group=group)
            dv += product(weights.mT, dz[:, here], dtype)
            d_values += _sum_by_offset(offsets.sum(weights, start), dz[:, here], dtype)
            d_scores = product(dz[:, here], v.mT, dtype)
            offsets.add(product(dz[:, here], values.T, dtype), d_scores, start)
            d_scores.sub_(less[:, here]).mul_(weights)
            dk += product(d_scores.mT, q[:, here], dtype)
            by_offset = offsets.sum(d_scores, start)
            d_keys += _sum_by_offset(by_offset, q[:, here], dtype)
            dq[:, here] = product(d_scores, k, dtype).add_(product(by_offset, keys, dtype))
        for whole, cut in ((d_query, dq), (d_key, dk), (d_value, dv)):
            group.put(whole, cut)
    return d_query, d_key, d_value, d_keys, d_values


@uncompiled
def window_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    window: int,
    tables: tuple[Tensor, Tensor] | None,
    attend: Tensor | None,
) -> Tensor:
    """Compute Σ_j α_ij (v_j + b[j-i]) over |i - j| ≤ window.

    Here α_i = softmax_j of q_i . (k_j + a[j-i]).

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
    """The blocks of queries of a group of sequences, and the keys around each block."""

    def __init__(self, group: Group, *, window: int) -> None:
        self.n, self.window = group.n, window
        self.size = max(_WINDOW_BLOCK, 2 * window)
        self.n_blocks = -(-group.n // self.size)
        self.n_columns = self.size + 2 * window
        self.hidden = group.hidden

    def queries(self, rows: Tensor) -> Tensor:
        """Cut rows into blocks, with zeros at the end: (G, n, K) -> (G * M, b, K)."""
        padded = functional.pad(rows, (0, 0, 0, self.n_blocks * self.size - self.n))
        return padded.reshape(-1, self.size, rows.shape[2])

    def rows(self, queries: Tensor) -> Tensor:
        """Join blocks to rows, the reverse of ``queries``: (G * M, b, K) -> (G, n, K)."""
        return queries.view(-1, self.n_blocks * self.size, queries.shape[2])[:, : self.n]

    def keys(self, rows: Tensor, *, fill: float = 0) -> Tensor:
        """Copy the rows around each block, ``fill`` beyond the ends: (G, n, K) -> (G * M, c, K)."""
        after = self.n_blocks * self.size - self.n + self.window
        padded = functional.pad(rows, (0, 0, self.window, after), value=fill)
        near = padded.unfold(1, self.n_columns, self.size)  # (G, M, K, c)
        return near.flatten(0, 1).mT.contiguous()

    def sum_keys(self, near: Tensor) -> Tensor:
        """Sum the copies of each row that ``keys`` made: (G * M, c, K) -> (G, n, K)."""
        size, width = self.size, near.shape[2]
        blocks = near.view(-1, self.n_blocks, self.n_columns, width)
        sums = near.new_zeros(len(blocks), (self.n_blocks + 1) * size, width)
        sums[:, :-size] = blocks[:, :, :size].flatten(1, 2)
        after = sums[:, size:].view(-1, self.n_blocks, size, width)
        after[:, :, : 2 * self.window] += blocks[:, :, size:]
        return sums[:, self.window : self.window + self.n]

    def outside(self, like: Tensor) -> Tensor:
        """Return a mask (M, b, c), or (G * M, b, c) if rows are hidden.

        It is True where a column is outside the query's window, or where no row stands.
        """
        column = torch.arange(self.n_columns, device=like.device)
        offset = column - torch.arange(self.size, device=like.device)[:, None]
        hidden = self.hidden
        if hidden is None:
            hidden = torch.zeros(1, 1, self.n, dtype=torch.bool, device=like.device)
        absent = self.keys(hidden.mT, fill=1).mT  # (M or G * M, 1, c)
        return absent | (offset < 0) | (offset > 2 * self.window)

    def to_columns(self, band: Tensor) -> Tensor:
        """Move values by offset to columns, else zeros: (G * M, b, 2ω + 1) -> (G * M, b, c)."""
        wide = functional.pad(band, (0, self.size)).flatten(1)
        columns = wide[:, : self.size * self.n_columns]
        return columns.view(len(band), self.size, self.n_columns)

    def to_offsets(self, columns: Tensor) -> Tensor:
        """Select the band of columns, by offset: (G * M, b, c) -> (G * M, b, 2ω + 1)."""
        wide = functional.pad(columns.flatten(1), (0, self.size))
        by_row = wide.view(len(wide), self.size, self.n_columns + 1)
        return by_row[:, :, : 2 * self.window + 1]

    def weights(self, query: Tensor, key: Tensor, table: Tensor | None) -> Tensor:
        """Compute α, (G * M, b, c), float32 or wider.

        It is of queries (G * M, b, K) and keys (G * M, c, K).
        """
        scores = product(query, key.mT, query.dtype)
        if table is not None:
            scores += self.to_columns(product(query, table.T, query.dtype))
        outside = self.outside(query)
        blocks = scores.view(-1, len(outside), *scores.shape[1:])
        blocks.masked_fill_(outside, torch.finfo(scores.dtype).min)
        return scores.softmax(2)


class _WindowContext(AutogradContext, Protocol):
    window: int


class _WindowAttention(torch.autograd.Function):
    """An attention that saves its inputs; ``backward`` computes the weights again."""

    @staticmethod
    def forward(  # noqa: PLR0917 - as torch calls it
        ctx: _WindowContext,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        keys: Tensor | None,
        values: Tensor | None,
        attend: Tensor | None,
        window: int,
    ) -> Tensor:
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
    def backward(ctx: _WindowContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        [d_mixed] = gradients
        with torch.autocast(d_mixed.device.type, enabled=False):
            return (*_window_gradients(ctx.saved_tensors, d_mixed, window=ctx.window), None, None)


def _window_gradients(
    saved: tuple[Tensor, ...], d_mixed: Tensor, *, window: int
) -> tuple[Tensor | None, ...]:
    """Compute the gradients of query, key, value (B, H, N, K), and both tables (2ω + 1, K)."""
    query, key, value, keys, values, attend = saved
    dtype = query.dtype
    d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
    d_keys = d_values = None
    if keys is not None:
        d_keys, d_values = _sums_like(keys), _sums_like(values)
    for group in groups(query, attend):
        blocks = _Blocks(group, window=window)
        q, dz = (blocks.queries(group.cut(x)) for x in (query, d_mixed))
        k, v = (blocks.keys(group.cut(x)) for x in (key, value))
        weights = blocks.weights(q, k, keys)
        d_weights = product(dz, v.mT, dtype)
        if d_values is not None:
            d_weights += blocks.to_columns(product(dz, values.T, dtype))
            d_values += _sum_by_offset(blocks.to_offsets(weights), dz, dtype)
        d_scores = (d_weights - (d_weights * weights).sum(2, keepdim=True)).mul_(weights)
        dq = product(d_scores, k, dtype)
        if d_keys is not None:
            by_offset = blocks.to_offsets(d_scores)
            dq += product(by_offset, keys, dtype)
            d_keys += _sum_by_offset(by_offset, q, dtype)
        group.put(d_query, blocks.rows(dq))
        group.put(d_key, blocks.sum_keys(product(d_scores.mT, q, dtype)))
        group.put(d_value, blocks.sum_keys(product(weights.mT, dz, dtype)))
    return d_query, d_key, d_value, d_keys, d_values
