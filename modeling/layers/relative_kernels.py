"""Kernels of fused attention with offsets, in Triton; loaded only where a GPU runs them.

Each program has a block of queries (or of keys) of one head of one sequence, and goes over the
blocks of keys (or of queries). What depends on the offset o = j - i of key j and query i comes as a
table by offset, (T, H, 2τ): column 0 is for offsets of -τ and less, column c for the offset c - τ.
Offsets of τ and more have zero. So a block that lies wholly before or after the nearest 2τ - 1
offsets needs one number for each query, or none, and only the blocks between gather. Each of the
near pairs has a place of its own in such a table, so what is summed by offset is stored, not added.

``windowed``: only the pairs whose offset is nearer than τ count; column 0 is not used.

Scores are in bits: natural ones times log2(e), as the hardware has exp2.

Shapes: T rows, the sequences one after the other; H heads, K width of a head, ``padded`` to a power
of two; m, n a block of queries, of keys; τ = ``clip``.
"""

import triton
import triton.language as tl

# The many arguments of kernels stand several in a line.
# fmt: off

_BITS = tl.constexpr(1.4426950408889634)  # log2(e)
_HIDDEN = tl.constexpr(-1.0e30)
"""The score of a pair that does not count; finite, as a block may have none that counts."""


@triton.jit
def answer(found):
    """Write 1: a trial whether a device runs what is compiled."""
    tl.store(found, 1)


@triton.jit
def _load(base, rows, n, stride: tl.constexpr, width: tl.constexpr, padded: tl.constexpr):
    """Load rows (m, ``padded``), with zeros from row ``n`` on and beyond ``width``."""
    columns = tl.arange(0, padded)
    places = base + rows[:, None] * stride + columns[None, :]
    if width == padded:
        return tl.load(places, mask=rows[:, None] < n, other=0.0)
    return tl.load(places, mask=(rows[:, None] < n) & (columns[None, :] < width), other=0.0)


@triton.jit
def _store(base, rows, n, block, stride: tl.constexpr, width: tl.constexpr, padded: tl.constexpr):
    """Store rows (m, ``padded``) where ``_load`` reads."""
    columns = tl.arange(0, padded)
    places = base + rows[:, None] * stride + columns[None, :]
    block = block.to(base.dtype.element_ty)
    tl.store(places, block, mask=(rows[:, None] < n) & (columns[None, :] < width))


@triton.jit
def _load_near(table, rows, offsets, n, n_heads: tl.constexpr, clip: tl.constexpr):
    """Load what a table by offset has for each pair of a block."""
    places = rows * (n_heads * 2 * clip) + tl.maximum(offsets + clip, 0)
    return tl.load(table + places, mask=(rows < n) & (offsets < clip), other=0.0)


@triton.jit
def _store_near(table, rows, columns, n, block, n_heads: tl.constexpr, clip: tl.constexpr):
    """Store the near pairs of a block (m, n) in a table by offset."""
    offsets = columns[None, :] - rows[:, None]
    places = rows[:, None] * (n_heads * 2 * clip) + (offsets + clip)
    stands = (rows[:, None] < n) & (columns[None, :] < n)
    is_near = (offsets > -clip) & (offsets < clip)
    tl.store(table + places, block.to(table.dtype.element_ty), mask=is_near & stands)


@triton.jit
def _begin(
    starts, n_blocks, n_rows, n_heads: tl.constexpr, clip: tl.constexpr, width: tl.constexpr,
):
    """Find the block of this program, and the length of its sequence.

    Then the places of the sequence's first row: in (T, H, K), in (T, H, 2τ) and in (H, T).
    """
    program = tl.program_id(0)
    block = program % n_blocks
    cell = program // n_blocks
    sequence, head = cell // n_heads, cell % n_heads
    start = tl.load(starts + sequence)
    n = (tl.load(starts + sequence + 1) - start).to(tl.int32)
    at = start * (n_heads * width) + head * width
    return block, n, at, (start * n_heads + head) * (2 * clip), head * n_rows + start


@triton.jit
def _reach(
    place: tl.constexpr, block, n, clip: tl.constexpr, own: tl.constexpr, size: tl.constexpr,
):
    """Find the blocks of ``size`` rows before (-1), near (0) or after (1) a block of ``own`` rows.

    Returns the first, and the one after the last.
    """
    end = tl.cdiv(n, size)
    low = tl.maximum(block * own - clip + 1, 0) // size
    high = tl.minimum(tl.cdiv(block * own + own - 1 + clip, size), end)
    if place < 0:
        return 0, low
    if place == 0:
        return low, high
    return high, end


@triton.jit
def _mix(
    mixed, top, total, far, query, left, first, last, key, value, by_offset, near, rows, n,
    side: tl.constexpr, n_heads: tl.constexpr, clip: tl.constexpr, width: tl.constexpr,
    padded: tl.constexpr, block_n: tl.constexpr, windowed: tl.constexpr, precision: tl.constexpr,
):
    """Add the blocks of keys from ``first`` to ``last`` to what one block of queries has mixed.

    ``side``: -1 for keys that are all τ or more before the queries, 1 for those after, 0 for the
    others.
    """
    for block in range(first, last):
        columns = block * block_n + tl.arange(0, block_n)
        keys = _load(key, columns, n, n_heads * width, width, padded)
        scores = tl.dot(query, tl.trans(keys), input_precision=precision)
        offsets = columns[None, :] - rows[:, None]
        if side < 0:
            scores += left[:, None]
        if side == 0:
            scores += _load_near(by_offset, rows[:, None], offsets, n, n_heads, clip)
        scores *= _BITS
        if side >= 0:
            scores = tl.where(columns[None, :] < n, scores, _HIDDEN)
        if side == 0:
            if windowed:
                scores = tl.where((offsets > -clip) & (offsets < clip), scores, _HIDDEN)
            _store_near(near, rows, columns, n, scores, n_heads, clip)
        new_top = tl.maximum(top, tl.max(scores, 1))
        fade = tl.exp2(top - new_top)
        weights = tl.exp2(scores - new_top[:, None])
        total = total * fade + tl.sum(weights, 1)
        if side >= 0:
            far = far * fade
        if side == 0:
            far += tl.sum(tl.where(offsets <= -clip, weights, 0.0), 1)
        values = _load(value, columns, n, n_heads * width, width, padded)
        mixed = mixed * fade[:, None]
        mixed = tl.dot(weights.to(values.dtype), values, mixed, input_precision=precision)
        top = new_top
    return mixed, top, total, far


@triton.jit(do_not_specialize=["n_blocks", "n_rows"])
def forward(
    query, key, value, by_offset, shared, starts, mixed, near, log_sums, n_blocks, n_rows,
    n_heads: tl.constexpr, clip: tl.constexpr, width: tl.constexpr, padded: tl.constexpr,
    block_m: tl.constexpr, block_n: tl.constexpr, windowed: tl.constexpr, precision: tl.constexpr,
):
    """Mix values for a block of queries.

    Tensors:
        query, key, value: (T, H, K).
        by_offset: (T, H, 2τ) float32, what is added to the natural scores.
        shared: (K,) float32, what all values share.
        starts: (B + 1,) int64, the row at which each sequence begins, and T.
        mixed: (T, H, K), written.
        near: (T, H, 2τ) float32, written where a key stands: the score by offset; in column 0 the
            logarithm of the sum over keys of offset -τ and less.
        log_sums: (H, T) float32, written: the logarithm of the sum over all keys.
    """
    block, n, at, at_table, at_rows = _begin(starts, n_blocks, n_rows, n_heads, clip, width)
    if block * block_m >= n:
        return
    stride: tl.constexpr = n_heads * width
    by_offset += at_table
    near += at_table
    rows = block * block_m + tl.arange(0, block_m)
    q = _load(query + at, rows, n, stride, width, padded)
    left = tl.load(by_offset + rows * (n_heads * 2 * clip), mask=rows < n, other=0.0)
    z = tl.zeros([block_m, padded], dtype=tl.float32)
    top = tl.full([block_m], _HIDDEN, dtype=tl.float32)
    total = tl.zeros([block_m], dtype=tl.float32)
    far = total
    for side in tl.static_range(-1, 2):
        if side == 0 or not windowed:
            first, last = _reach(side, block, n, clip, block_m, block_n)
            far = total if side == 0 else far
            z, top, total, far = _mix(
                z, top, total, far, q, left, first, last, key + at, value + at, by_offset, near,
                rows, n, side, n_heads, clip, width, padded, block_n, windowed, precision,
            )
    if not windowed:
        of_far = tl.where(far > 0, top + tl.log2(tl.maximum(far, 1e-37)), _HIDDEN)
        tl.store(near + rows * (n_heads * 2 * clip), of_far, mask=rows < n)
    columns = tl.arange(0, padded)
    all_share = tl.load(shared + columns, mask=columns < width, other=0.0)
    z = z / total[:, None] + all_share[None, :]
    _store(mixed + at, rows, n, z, stride, width, padded)
    tl.store(log_sums + at_rows + rows, top + tl.log2(total), mask=rows < n)


@triton.jit
def _turn_queries(
    d_query, far, query, d_mixed, log_sums, less, left, d_left, first, last, key, value, by_offset,
    d_by_offset, near, rows, n, side: tl.constexpr, n_heads: tl.constexpr, clip: tl.constexpr,
    width: tl.constexpr, padded: tl.constexpr, block_n: tl.constexpr, windowed: tl.constexpr,
    precision: tl.constexpr,
):
    """Add what the blocks of keys from ``first`` to ``last`` give to the gradient of queries."""
    for block in range(first, last):
        columns = block * block_n + tl.arange(0, block_n)
        keys = _load(key, columns, n, n_heads * width, width, padded)
        values = _load(value, columns, n, n_heads * width, width, padded)
        scores = tl.dot(query, tl.trans(keys), input_precision=precision)
        d_weights = tl.dot(d_mixed, tl.trans(values), input_precision=precision)
        offsets = columns[None, :] - rows[:, None]
        if side < 0:
            scores += left[:, None]
            d_weights += d_left[:, None]
        if side == 0:
            scores += _load_near(by_offset, rows[:, None], offsets, n, n_heads, clip)
            d_weights += _load_near(d_by_offset, rows[:, None], offsets, n, n_heads, clip)
        scores *= _BITS
        if side >= 0:
            scores = tl.where(columns[None, :] < n, scores, _HIDDEN)
        if windowed:
            scores = tl.where((offsets > -clip) & (offsets < clip), scores, _HIDDEN)
        weights = tl.exp2(scores - log_sums[:, None])
        d_scores = weights * (d_weights - less[:, None])
        if side < 0:
            far += tl.sum(d_scores, 1)
        if side == 0:
            _store_near(near, rows, columns, n, d_scores, n_heads, clip)
            far += tl.sum(tl.where(offsets <= -clip, d_scores, 0.0), 1)
        d_scores = d_scores.to(keys.dtype)
        d_query = tl.dot(d_scores, keys, d_query, input_precision=precision)
    return d_query, far


@triton.jit(do_not_specialize=["n_blocks", "n_rows"])
def backward_of_queries(
    query, key, value, by_offset, shared, starts, mixed, log_sums, d_mixed, d_by_offset, d_query,
    near, less, n_blocks, n_rows, n_heads: tl.constexpr, clip: tl.constexpr, width: tl.constexpr,
    padded: tl.constexpr, block_m: tl.constexpr, block_n: tl.constexpr, windowed: tl.constexpr,
    precision: tl.constexpr,
):
    """Compute the gradient of a block of queries, without what comes by offset.

    Tensors (others as in ``forward``):
        d_mixed: (T, H, K), the gradient of ``mixed``.
        d_by_offset: (T, H, 2τ) float32, what is added to the gradient of the weights.
        d_query: (T, H, K), written.
        near: (T, H, 2τ), written where a key stands: the gradient of ``by_offset``.
        less: (H, T) float32, written: Σ_j α_ij dα_ij, which the gradient of a softmax subtracts.
    """
    block, n, at, at_table, at_rows = _begin(starts, n_blocks, n_rows, n_heads, clip, width)
    if block * block_m >= n:
        return
    stride: tl.constexpr = n_heads * width
    by_offset += at_table
    d_by_offset += at_table
    near += at_table
    rows = block * block_m + tl.arange(0, block_m)
    columns = tl.arange(0, padded)
    q = _load(query + at, rows, n, stride, width, padded)
    dz = _load(d_mixed + at, rows, n, stride, width, padded)
    z = _load(mixed + at, rows, n, stride, width, padded).to(tl.float32)
    all_share = tl.load(shared + columns, mask=columns < width, other=0.0)
    of_rows = at_rows + rows
    subtracted = tl.sum(dz.to(tl.float32) * (z - all_share[None, :]), 1)
    tl.store(less + of_rows, subtracted, mask=rows < n)
    sums = tl.load(log_sums + of_rows, mask=rows < n, other=0.0)
    left = tl.load(by_offset + rows * (n_heads * 2 * clip), mask=rows < n, other=0.0)
    d_left = tl.load(d_by_offset + rows * (n_heads * 2 * clip), mask=rows < n, other=0.0)
    dq = tl.zeros([block_m, padded], dtype=tl.float32)
    far = tl.zeros([block_m], dtype=tl.float32)
    for side in tl.static_range(-1, 2):
        if side == 0 or not windowed:
            first, last = _reach(side, block, n, clip, block_m, block_n)
            dq, far = _turn_queries(
                dq, far, q, dz, sums, subtracted, left, d_left, first, last, key + at, value + at,
                by_offset, d_by_offset, near, rows, n, side, n_heads, clip, width, padded, block_n,
                windowed, precision,
            )
    if not windowed:
        places = near + rows * (n_heads * 2 * clip)
        tl.store(places, far.to(near.dtype.element_ty), mask=rows < n)
    _store(d_query + at, rows, n, dq, stride, width, padded)


@triton.jit
def _turn_keys(
    d_key, d_value, keys, values, first, last, query, d_mixed, log_sums, less, by_offset,
    d_by_offset, columns, n, side: tl.constexpr, n_heads: tl.constexpr, clip: tl.constexpr,
    width: tl.constexpr, padded: tl.constexpr, block_m: tl.constexpr, windowed: tl.constexpr,
    precision: tl.constexpr,
):
    """Add what the blocks of queries from ``first`` to ``last`` give to gradients of keys, values.

    Scores are turned: (n, m). ``side``: -1 for queries that are all τ or more after the keys.
    """
    for block in range(first, last):
        rows = block * block_m + tl.arange(0, block_m)
        q = _load(query, rows, n, n_heads * width, width, padded)
        dz = _load(d_mixed, rows, n, n_heads * width, width, padded)
        sums = tl.load(log_sums + rows, mask=rows < n, other=0.0)
        subtracted = tl.load(less + rows, mask=rows < n, other=0.0)
        scores = tl.dot(keys, tl.trans(q), input_precision=precision)
        d_weights = tl.dot(values, tl.trans(dz), input_precision=precision)
        offsets = columns[:, None] - rows[None, :]
        if side < 0:
            at_left = rows * (n_heads * 2 * clip)
            left = tl.load(by_offset + at_left, mask=rows < n, other=0.0)
            d_left = tl.load(d_by_offset + at_left, mask=rows < n, other=0.0)
            scores += left[None, :]
            d_weights += d_left[None, :]
        if side == 0:
            scores += _load_near(by_offset, rows[None, :], offsets, n, n_heads, clip)
            d_weights += _load_near(d_by_offset, rows[None, :], offsets, n, n_heads, clip)
        scores *= _BITS
        if windowed:
            scores = tl.where((offsets > -clip) & (offsets < clip), scores, _HIDDEN)
        weights = tl.exp2(scores - sums[None, :])
        d_value = tl.dot(weights.to(dz.dtype), dz, d_value, input_precision=precision)
        d_scores = weights * (d_weights - subtracted[None, :])
        d_key = tl.dot(d_scores.to(q.dtype), q, d_key, input_precision=precision)
    return d_key, d_value


@triton.jit(do_not_specialize=["n_blocks", "n_rows"])
def backward_of_keys(
    query, key, value, by_offset, starts, log_sums, d_mixed, d_by_offset, less, d_key, d_value,
    n_blocks, n_rows, n_heads: tl.constexpr, clip: tl.constexpr, width: tl.constexpr,
    padded: tl.constexpr, block_m: tl.constexpr, block_n: tl.constexpr, windowed: tl.constexpr,
    precision: tl.constexpr,
):
    """Compute the gradients of a block of keys and of their values, (T, H, K) each."""
    block, n, at, at_table, at_rows = _begin(starts, n_blocks, n_rows, n_heads, clip, width)
    if block * block_n >= n:
        return
    stride: tl.constexpr = n_heads * width
    by_offset += at_table
    d_by_offset += at_table
    log_sums += at_rows
    less += at_rows
    columns = block * block_n + tl.arange(0, block_n)
    k = _load(key + at, columns, n, stride, width, padded)
    v = _load(value + at, columns, n, stride, width, padded)
    dk = tl.zeros([block_n, padded], dtype=tl.float32)
    dv = tl.zeros([block_n, padded], dtype=tl.float32)
    for side in tl.static_range(-1, 2):
        if side == 0 or not windowed:
            first, last = _reach(side, block, n, clip, block_n, block_m)
            dk, dv = _turn_keys(
                dk, dv, k, v, first, last, query + at, d_mixed + at, log_sums, less, by_offset,
                d_by_offset, columns, n, -side, n_heads, clip, width, padded, block_m, windowed,
                precision,
            )
    _store(d_key + at, columns, n, dk, stride, width, padded)
    _store(d_value + at, columns, n, dv, stride, width, padded)
