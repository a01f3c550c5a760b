"""Attention with relative positions, or to a window, by kernels for a GPU (``relative_kernels``).

They compute the same as ``scores.relative_attention`` and ``scores.window_attention``, on rows
without padding. No scores are in memory but those that belong to an offset: for each query those of
the nearest keys, and the sum over all keys before these. The tables add products with such
arrays, by offset.

Shapes: T rows, the sequences one after the other; B sequences, H heads, K width of a head, τ
clipping distance, ω window; C = 2τ columns by offset: that of -τ and all before, and those of
1 - τ .. τ - 1. Offsets of τ and more have none: what they have is subtracted from all others.
"""

import importlib.util
import logging
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from modeling.data.batch import Layout
from modeling.layers.attention_blocks import product
from modeling.layers.compilation import AutogradContext, uncompiled

log = logging.getLogger(__name__)

USED: Literal["where checked", "where possible", "never"] = "where checked"
"""Where layers use the kernels. They were checked on GPUs of the generation Hopper, in bfloat16."""
WIDEST, LARGEST_CLIP = 128, 128
"""The widest head and the largest clipping distance that the kernels are made for."""
_CHUNK = 4_096
"""Rows of each part of a sum over all rows: a GPU adds up many parts at a time."""


@dataclass(frozen=True, slots=True)
class KernelBlocks:
    """How the work of a kernel is divided."""

    queries: int
    keys: int
    warps: int
    stages: int
    """Blocks that are being loaded at a time."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """The blocks of each kernel: the fastest of four tilings on an H200."""

    forward: KernelBlocks
    backward_of_queries: KernelBlocks
    backward_of_keys: KernelBlocks


TILINGS = {
    torch.bfloat16: Tiling(
        KernelBlocks(64, 64, 4, 2), KernelBlocks(64, 64, 4, 2), KernelBlocks(32, 64, 4, 2)
    )
}
"""The types of rows that layers leave to the kernels."""
_HOPPER, _AMPERE = 9, 8


@uncompiled
def covers(query: Tensor, *, clip: int) -> bool:
    """Return whether the kernels serve queries (T, H, K) with this clipping distance."""
    return (
        USED != "never"
        and query.dtype in TILINGS
        and len(query) > 0
        and query.shape[2] <= WIDEST
        and clip <= LARGEST_CLIP
        and (USED == "where possible" or _generation(query.device) == _HOPPER)
        and can_run(query.device)
    )


def _generation(device: torch.device) -> int:
    """Return the major compute capability of a GPU; 0 for other devices."""
    return torch.cuda.get_device_capability(device)[0] if device.type == "cuda" else 0


@cache
def can_run(device: torch.device) -> bool:
    """Return whether Triton is there and runs kernels on a device; warn if it fails to.

    On a CPU, only Triton's interpreter runs them, for tests: TRITON_INTERPRET=1.
    """
    if importlib.util.find_spec("triton") is None:
        return False
    if device.type == "cpu":
        return os.environ.get("TRITON_INTERPRET") == "1"
    if _generation(device) < _AMPERE:
        return False
    from modeling.layers import relative_kernels  # noqa: PLC0415 - only where it is used

    found = torch.zeros(1, dtype=torch.int32, device=device)
    try:
        with torch.cuda.device(device):
            relative_kernels.answer[(1,)](found)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        log.warning(
            "Triton cannot compile for this GPU, so relative positions are slow (%s). "
            "It needs a C compiler and the header files of Python.",
            error,
        )
        return False
    return found.item() == 1


@uncompiled
def relative_attention(
    query: Tensor, key: Tensor, value: Tensor, *, keys: Tensor, values: Tensor, layout: Layout
) -> Tensor:
    """Compute the same as ``scores.relative_attention``, (T, H, K) each.

    Args:
        query: (T, H, K), already divided by √K.
        key: (T, H, K).
        value: (T, H, K).
        keys: (2τ + 1, K), of the offsets -τ .. τ.
        values: the same for values.
        layout: of the T rows, which stand in the order of their sequences and positions.
    """
    with torch.autocast(query.device.type, enabled=False):
        keys, values = keys.float(), values.float()
        less = keys[:-1] - keys[-1], values[:-1] - values[-1]
        return _apply((query, key, value), less, values[-1], layout=layout, is_windowed=False)


@uncompiled
def window_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    window: int,
    tables: tuple[Tensor, Tensor] | None,
    layout: Layout,
) -> Tensor:
    """Compute the same as ``scores.window_attention``, (T, H, K) each.

    Args:
        query: (T, H, K), already divided by √K.
        key: (T, H, K).
        value: (T, H, K).
        window: ω.
        tables: of keys and of values, (2ω + 1, K) each, of the offsets -ω .. ω; None: all zero.
        layout: of the T rows, which stand in the order of their sequences and positions.
    """
    width = query.shape[2]
    with torch.autocast(query.device.type, enabled=False):
        none = query.new_zeros(2 * window + 1, width, dtype=torch.float32)
        # as if clipped at ω + 1, where the column of all before has no key
        keys, values = (functional.pad(x.float(), (0, 0, 1, 0)) for x in tables or (none, none))
        rows = (query, key, value)
        return _apply(rows, (keys, values), none[0], layout=layout, is_windowed=True)


def _apply(
    rows: tuple[Tensor, Tensor, Tensor],
    tables: tuple[Tensor, Tensor],
    shared: Tensor,
    *,
    layout: Layout,
    is_windowed: bool,
) -> Tensor:
    starts = functional.pad(layout.lengths.cumsum(0), (1, 0))
    mixed: Tensor = _FusedAttention.apply(  # type: ignore[no-untyped-call]
        *(x.contiguous() for x in rows), *tables, shared, starts, layout.longest, is_windowed
    )
    return mixed


class _FusedContext(AutogradContext, Protocol):
    longest: int
    is_windowed: bool


class _FusedAttention(torch.autograd.Function):
    """An attention that saves its inputs, output, and weights by offset."""

    @staticmethod
    def forward(  # noqa: PLR0917 - as torch calls it
        ctx: _FusedContext,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        keys: Tensor,
        values: Tensor,
        shared: Tensor,
        starts: Tensor,
        longest: int,
        is_windowed: bool,  # noqa: FBT001
    ) -> Tensor:
        n_rows, n_heads, _ = query.shape
        by_offset = _by_offset(query, keys)
        mixed = torch.empty_like(query)
        near = torch.full_like(by_offset, float("-inf"))
        log_sums = by_offset.new_empty(n_heads, n_rows)
        kernels = _Kernels(
            query, starts, clip=len(keys) // 2, longest=longest, is_windowed=is_windowed
        )
        inputs = (query, key, value, by_offset, shared, starts)
        kernels.run("forward", *inputs, mixed, near, log_sums)
        weights = near.sub_(log_sums.mT[:, :, None]).exp2_().to(query.dtype)
        _add_product(mixed, weights, values)
        ctx.save_for_backward(
            query, key, value, keys, values, shared, starts, mixed, weights, log_sums
        )
        ctx.longest, ctx.is_windowed = longest, is_windowed
        return mixed

    @staticmethod
    @once_differentiable
    def backward(ctx: _FusedContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, keys, values, shared, starts, mixed, weights, log_sums = (
            ctx.saved_tensors
        )
        d_mixed = gradients[0].contiguous()
        kernels = _Kernels(
            query, starts, clip=len(keys) // 2, longest=ctx.longest, is_windowed=ctx.is_windowed
        )
        with torch.autocast(query.device.type, enabled=False):
            by_offset, d_weights = _by_offset(query, keys), _by_offset(d_mixed, values)
            d_query, d_key, d_value = (torch.empty_like(x) for x in (query, key, value))
            near, less = torch.zeros_like(weights), torch.empty_like(log_sums)
            inputs = (query, key, value, by_offset)
            of_rows = (log_sums, d_mixed, d_weights)
            kernels.run(
                "backward_of_queries",
                *(*inputs, shared, starts, mixed, *of_rows),
                *(d_query, near, less),
            )
            kernels.run("backward_of_keys", *inputs, starts, *of_rows, less, d_key, d_value)
            _add_product(d_query, near, keys)
            d_keys, d_values = _sums(near, query), _sums(weights, d_mixed)
            d_shared = d_mixed.sum((0, 1), dtype=torch.float32)
        return d_query, d_key, d_value, d_keys, d_values, d_shared, None, None, None


class _Kernels:
    """The kernels for rows of one shape."""

    def __init__(
        self, like: Tensor, starts: Tensor, *, clip: int, longest: int, is_windowed: bool
    ) -> None:
        """Choose how the work on rows such as ``like`` (T, H, K) is divided."""
        self.n_rows, n_heads, width = like.shape
        self.n_parts = (len(starts) - 1) * n_heads
        self.longest, self.tiling = longest, TILINGS[like.dtype]
        exact = like.dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"
        self.constants = {
            "n_heads": n_heads,
            "clip": clip,
            "width": width,
            "padded": max(16, 1 << (width - 1).bit_length()),
            "windowed": is_windowed,
            "precision": "ieee" if exact else "tf32",
        }

    def run(self, name: str, *tensors: Tensor) -> None:
        """Run the kernel of this name on tensors, some of which it writes."""
        from modeling.layers import relative_kernels  # noqa: PLC0415 - only where it is used

        blocks: KernelBlocks = getattr(self.tiling, name)
        size = blocks.keys if name == "backward_of_keys" else blocks.queries
        n_blocks = -(-self.longest // size)
        with torch.cuda.device_of(tensors[0]):  # type: ignore[no-untyped-call]
            getattr(relative_kernels, name)[(n_blocks * self.n_parts,)](
                *tensors,
                n_blocks,
                self.n_rows,
                **self.constants,
                block_m=blocks.queries,
                block_n=blocks.keys,
                num_warps=blocks.warps,
                num_stages=blocks.stages,
            )


def _by_offset(rows: Tensor, table: Tensor) -> Tensor:
    """Multiply rows with the vectors of all offsets: (T, H, K), (C, K) -> (T, H, C), float32."""
    return product(rows.flatten(0, 1)[None], table.mT, rows.dtype).view(*rows.shape[:2], -1)


def _add_product(rows: Tensor, by_offset: Tensor, table: Tensor) -> None:
    """Add Σ_c by_offset[c] table[c] to rows (T, H, K)."""
    rows.flatten(0, 1).addmm_(by_offset.flatten(0, 1), table.to(rows.dtype))


def _sums(by_offset: Tensor, rows: Tensor) -> Tensor:
    """Sum the products with rows over all of them: (T, H, C), (T, H, K) -> (C, K), float32."""
    left, right = by_offset.flatten(0, 1), rows.flatten(0, 1)
    whole = len(left) // _CHUNK * _CHUNK
    sums = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float32, device=rows.device)
    for part, size in ((slice(whole), _CHUNK), (slice(whole, None), len(left) - whole)):
        if len(left[part]):
            of_offsets, of_rows = (x[part].view(-1, size, x.shape[1]) for x in (left, right))
            sums += product(of_offsets.mT, of_rows, rows.dtype).sum(0)
    return sums
