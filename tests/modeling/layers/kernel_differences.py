"""How far the kernels of attention with offsets differ from float64, and what serves elsewhere.

``python -m tests.modeling.layers.kernel_differences`` runs them with Triton's interpreter on a CPU,
with tiny shapes, and prints a line of JSON for each. The interpreter does not multiply bfloat16, so
half precision is float16 there.

Differences are relative ones: the norm of the difference from ``attention_blocks`` in float64,
over the norm of that; of the kernels, and of the blocks in the same type. "worst ×" is the largest
quotient of the two.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks import attention
from modeling.data.batch import Layout
from modeling.layers import attention_blocks, fused
from modeling.layers.fused import KernelBlocks, Tiling

Values = dict[str, Any]
Attend = Callable[..., Tensor]
WINDOW = attention.WINDOW
NAMES = ("output", "query", "key", "value", "keys", "values")
"""The output, and gradients of what it depends on."""
TINY_TILING = Tiling(
    KernelBlocks(16, 16, 4, 1), KernelBlocks(32, 16, 4, 1), KernelBlocks(16, 32, 4, 1)
)


@dataclass(frozen=True)
class Shape:
    """The sequences of a batch, and their heads; ``window``: in place of relative positions."""

    lengths: tuple[int, ...]
    n_heads: int = 8
    width: int = 64
    clip: int = 16
    window: int | None = None

    def __str__(self) -> str:
        lengths = " ".join(map(str, self.lengths))
        which = f"τ {self.clip}" if self.window is None else f"ω {self.window}"
        return f"{lengths}; {self.n_heads} heads of {self.width}, {which}"


SHAPES = (
    Shape((320,) * 6),
    Shape((1, 17, 0, 64, 65, 129, 300, 511)),
    Shape((1, 17, 0, 64, 65, 129, 300, 511), window=WINDOW),
    Shape((5,)),
    Shape((8_192, 3_000)),
    Shape((700, 257), n_heads=4, width=128),
    Shape((50, 300, 1), n_heads=3, width=24, clip=100),
)
TINY_SHAPES = (
    Shape((1, 17, 0, 33), n_heads=2, width=16, clip=3),
    Shape((1, 17, 0, 33), n_heads=1, width=16, window=2),
    Shape((18, 1), n_heads=1, width=24, clip=100),
)
TINY_PLAIN = Shape((34,), n_heads=1, width=16, clip=3)


@contextmanager
def settings(dtype: torch.dtype, tiling: Tiling, *, used: str) -> Iterator[None]:
    """Use the kernels in layers or not, and divide their work in this way.

    Products of float32 are exact, whatever the environment says.
    """
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    with patch.object(fused, "USED", used), patch.dict(fused.TILINGS, {dtype: tiling}):
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(precision)


def inputs_of(shape: Shape, device: str, dtype: torch.dtype) -> list[Tensor]:
    """Draw queries, keys and values (T, H, K), both tables, and weights of the output (T, H, K)."""
    generator = torch.Generator().manual_seed(1)
    n_offsets = 2 * (shape.clip if shape.window is None else shape.window) + 1
    rows, table = (sum(shape.lengths), shape.n_heads, shape.width), (n_offsets, shape.width)
    drawn = [torch.randn(size, generator=generator) for size in (*[rows] * 3, *[table] * 2, rows)]
    drawn[0] *= 2 * shape.width**-0.5
    return [x.to(dtype).to(device) for x in drawn]


def by_kernels(shape: Shape, layout: Layout, *inputs: Tensor) -> Tensor:
    query, key, value, keys, values = inputs
    if shape.window is None:
        return fused.relative_attention(query, key, value, keys=keys, values=values, layout=layout)
    return fused.window_attention(
        query, key, value, window=shape.window, tables=(keys, values), layout=layout
    )


def by_blocks(shape: Shape, layout: Layout, *inputs: Tensor) -> Tensor:
    """Compute as without the kernels, on padded rows."""
    *rows, keys, values = inputs
    query, key, value = (layout.pad(x).transpose(1, 2) for x in rows)
    if shape.window is None:
        mixed = attention_blocks.relative_attention(
            query, key, value, keys=keys, values=values, attend=layout.attend
        )
    else:
        mixed = attention_blocks.window_attention(
            query, key, value, window=shape.window, tables=(keys, values), attend=layout.attend
        )
    return layout.pack(mixed.transpose(1, 2))


def by_torch(_: Shape, layout: Layout, *inputs: Tensor) -> Tensor:
    """Compute plain attention, without the tables, of sequences of one length."""
    query, key, value = (layout.pad(x).transpose(1, 2) for x in inputs[:3])
    mixed = functional.scaled_dot_product_attention(query, key, value, scale=1.0)
    return layout.pack(mixed.transpose(1, 2)) + 0 * (inputs[3].sum() + inputs[4].sum()).to(mixed)


def results(
    attend: Attend, shape: Shape, inputs: Sequence[Tensor], *, dtype: torch.dtype
) -> list[Tensor]:
    """Return the output and the gradients, in the order of ``NAMES``.

    Rows have this type; tables are float32, as autocast has them, or wider.
    """
    table_type = torch.promote_types(dtype, torch.float32)
    *arguments, weights = inputs
    types = [dtype] * 3 + [table_type] * 2
    arguments = [
        x.detach().to(type).requires_grad_() for x, type in zip(arguments, types, strict=True)
    ]
    layout = Layout.of(shape.lengths).to(weights.device)
    output = attend(shape, layout, *arguments)
    return [output, *torch.autograd.grad((output * weights.to(dtype)).sum(), arguments)]


def differences(
    shape: Shape, *, device: str, dtype: torch.dtype, tiling: Tiling, other: Attend = by_blocks
) -> Values:
    """Compare kernels and another implementation with float64."""
    inputs = inputs_of(shape, device, dtype)
    if other is by_torch:
        inputs[3].zero_(), inputs[4].zero_()
    expected = results(by_blocks, shape, inputs, dtype=torch.float64)
    with settings(dtype, tiling, used="where possible"):
        made = [results(attend, shape, inputs, dtype=dtype) for attend in (by_kernels, other)]
    values: Values = {}
    for name, right, *both in zip(NAMES, expected, *made, strict=True):
        size = right.norm().clamp(min=1e-6 * right.numel() ** 0.5)  # of a gradient that is zero
        values[name] = [((x.double() - right).norm() / size).item() for x in both]
    least = torch.finfo(dtype).eps / 8
    return values | {"worst ×": max(ours / max(least, other) for ours, other in values.values())}


def layer_differences(*, device: str, tiling: Tiling) -> Values:
    """Compare whole-word attention in float32 as a layer, with and without the kernels."""
    torch.manual_seed(1)
    layer = attention.ATTENTIONS["whole-word relative"]().to(device)
    rows = attention.make_rows(1, 21, device)
    x = torch.randn(21, attention.WIDTH, device=device, requires_grad=True)
    weights = torch.randn_like(x)
    made = []
    for used in ("where possible", "never"):
        with settings(torch.float32, tiling, used=used):
            y = layer(x, rows)
            made.append([y, *torch.autograd.grad((y * weights).sum(), [x, *layer.parameters()])])
    pairs = zip(*made, strict=True)
    return {"largest": max((a - b).norm().item() / (1 + b.norm().item()) for a, b in pairs)}


def main() -> None:
    """Run the tiny shapes, and print their differences."""
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is loaded
    asked = {"device": "cpu", "tiling": TINY_TILING}
    for shape in TINY_SHAPES:
        report("float32", differences(shape, dtype=torch.float32, **asked))
    for shape in TINY_SHAPES[:2]:
        report("float16", differences(replace(shape, n_heads=1), dtype=torch.float16, **asked))
    beside = differences(TINY_PLAIN, dtype=torch.float16, other=by_torch, **asked)
    report("beside torch", beside)
    report("a layer", layer_differences(**asked))


def report(part: str, values: Values) -> None:
    sys.stdout.write(json.dumps({"part": part, "values": values}) + "\n")


if __name__ == "__main__":
    main()
