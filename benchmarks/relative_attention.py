"""Check and time the kernels for relative positions on a GPU, within a minute.

    python -m benchmarks.relative_attention --record build/relative.jsonl
    python -m benchmarks.relative_attention --only 'bfloat16*' --seconds 20
    python -m benchmarks.relative_attention --tiny

Differences are relative ones: the norm of the difference from ``attention_blocks`` in float64,
over the norm of that. Each is listed twice: of the kernels, and of the blocks in the same type.
"worst ×" is the largest quotient of the two. Then a layer of NEISS is timed, forward and
backward in bfloat16 with autocast: with absolute positions, with the blocks, and with
the kernels, the work of which is divided in several ways. Medians count. A part that fails becomes
a line with its error; the others still run. No part begins after --seconds.

--tiny runs the kernels with Triton's interpreter on a CPU, with tiny shapes: in float16 for
bfloat16, which the interpreter does not multiply.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks import attention
from modeling.data.batch import Layout
from modeling.layers import attention_blocks, fused
from modeling.layers.fused import Blocks, Tiling

Values = dict[str, Any]
Part = tuple[str, Callable[[], Values]]
Attend = Callable[..., Tensor]
WARM, ROUNDS, WINDOW = 3, 10, attention.WINDOW
NAMES = ("output", "query", "key", "value", "keys", "values")
"""The output, and gradients of what it depends on."""


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
    Shape((1, 17, 0, 33), n_heads=2, width=16, window=2),
    Shape((18, 1), n_heads=1, width=24, clip=100),
)
TINY_PLAIN = Shape((50,), n_heads=2, width=16, clip=3)
SIZES = ((102, 320), (16, 2_048), (4, 8_192))
TILINGS = {
    "64": Tiling(Blocks(64, 64, 4, 2), Blocks(64, 64, 4, 2), Blocks(32, 64, 4, 2)),
    "128": Tiling(Blocks(128, 64, 8, 2), Blocks(128, 64, 8, 2), Blocks(32, 128, 8, 2)),
    "64, narrow": Tiling(Blocks(64, 32, 4, 3), Blocks(64, 32, 4, 3), Blocks(32, 64, 4, 3)),
    "128, narrow": Tiling(Blocks(128, 32, 8, 3), Blocks(128, 32, 8, 3), Blocks(64, 64, 8, 2)),
}
EXACT_TILINGS = {
    "32": Tiling(Blocks(32, 32, 4, 1), Blocks(32, 32, 4, 1), Blocks(32, 32, 4, 1)),
    "16": Tiling(Blocks(32, 16, 4, 1), Blocks(16, 32, 4, 1), Blocks(32, 16, 4, 1)),
}
"""For float32."""
TINY_TILING = Tiling(Blocks(16, 16, 4, 1), Blocks(32, 16, 4, 1), Blocks(16, 32, 4, 1))
DEFAULTS = {torch.float32: EXACT_TILINGS["32"], **fused.TILINGS}


# --- differences


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


# --- times


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


@contextmanager
def timed_kernels(device: str) -> Iterator[dict[str, list[Callable[[], float]]]]:
    """Collect functions that return the milliseconds of each run of each kernel on a GPU."""
    run = fused._Kernels.run  # noqa: SLF001
    times: dict[str, list[Callable[[], float]]] = {}

    def timed(kernels: Any, name: str, *tensors: Tensor) -> None:  # Any: replaces a method
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run(kernels, name, *tensors)
        end.record()
        name += ", window" if kernels.constants["windowed"] else ""
        times.setdefault(name, []).append(lambda: begin.elapsed_time(end))

    with patch.object(fused._Kernels, "run", run if device == "cpu" else timed):  # noqa: SLF001
        yield times


def time_layer(
    kind: str,
    size: tuple[int, int],
    *,
    device: str,
    dtype: torch.dtype,
    tiling: Tiling | None = None,
) -> Values:
    """Measure forward and backward of a layer on sequences of one length; None: no kernels."""
    used = "never" if tiling is None else "where possible"
    if tiling is not None and not fused.can_run(torch.device(device)):
        raise RuntimeError("Triton runs no kernel here.")
    warm, rounds = (0, 1) if device == "cpu" else (WARM, ROUNDS)
    n, length = size
    asked = argparse.Namespace(clock="wall", bfloat16=dtype == torch.bfloat16)
    rows, layer = attention.make_rows(n, length, device), attention.layer_of(kind).to(device)
    x = torch.randn(n * length, attention.WIDTH, device=device, requires_grad=True)
    with settings(dtype, tiling or TINY_TILING, used=used), timed_kernels(device) as of_kernels:
        times = [attention.seconds(layer, x, rows, arguments=asked) for _ in range(warm + rounds)]
        values = {"ms": 1e3 * statistics.median(times[warm:])}
        for name, each in of_kernels.items():
            values[f"{name} ms"] = statistics.median(run() for run in each[warm:])
        if device != "cpu":
            peak = attention.peak_bytes(layer.attention, x, rows, arguments=asked)
            values["peak MiB"] = peak / 2**20
    return values


# --- parts


def parts(device: str, *, is_tiny: bool) -> Iterator[Part]:
    """Yield what is measured, the most important first."""
    types = (torch.float32, torch.float16) if is_tiny else (torch.bfloat16, torch.float32)
    defaults = dict.fromkeys(types, TINY_TILING) if is_tiny else DEFAULTS
    shapes = TINY_SHAPES if is_tiny else SHAPES
    first, rest = shapes[:3], shapes[3:]
    for dtype in types:
        for shape in first:
            yield difference(shape, device=device, dtype=dtype, tiling=defaults[dtype])
    half = types[1 if is_tiny else 0]
    equal = TINY_PLAIN if is_tiny else SHAPES[0]
    tiling = defaults[half]
    yield (
        f"{name_of(half)}: beside torch's own, with tables of zeros: {equal}",
        partial(differences, equal, device=device, dtype=half, tiling=tiling, other=by_torch),
    )
    layer = partial(layer_differences, device=device, tiling=defaults[torch.float32])
    yield "float32: whole-word attention, a layer", layer
    if is_tiny:
        yield from layers((1, 20), device=device, dtype=torch.float32, tilings={"": TINY_TILING})
        return
    for size in SIZES:
        yield from layers(size, device=device, dtype=torch.bfloat16, tilings=TILINGS)
    for dtype in types:
        for shape in rest:
            yield difference(shape, device=device, dtype=dtype, tiling=defaults[dtype])
    for dtype, tilings in ((torch.bfloat16, TILINGS), (torch.float32, EXACT_TILINGS)):
        for name, tiling in tilings.items():
            part, run = difference(SHAPES[1], device=device, dtype=dtype, tiling=tiling)
            yield f"{part}, kernels {name}", run
    for size in SIZES[:2]:
        yield from layers(size, device=device, dtype=torch.float32, tilings=EXACT_TILINGS)


def difference(shape: Shape, *, device: str, dtype: torch.dtype, tiling: Tiling) -> Part:
    """Return a part that compares one shape."""
    run = partial(differences, shape, device=device, dtype=dtype, tiling=tiling)
    return f"{name_of(dtype)}: {shape}", run


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def layers(
    size: tuple[int, int], *, device: str, dtype: torch.dtype, tilings: dict[str, Tiling]
) -> Iterator[Part]:
    """Yield the layers that are timed at one size."""
    measure = partial(time_layer, size=size, device=device, dtype=dtype)
    end = f"{size[0]} x {size[1]}, {name_of(dtype)}"
    yield f"absolute, {end}", partial(measure, "absolute")
    for kind in ("relative", "whole-word relative"):
        yield f"{kind}, blocks, {end}", partial(measure, kind)
        for name, tiling in tilings.items():
            part = f"{kind}, kernels {name}, {end}"
            yield part, partial(measure, kind, tiling=tiling)


def compile_ahead(device: str) -> None:
    """Compile all kernels in several processes, so that each part finds them compiled.

    An error is left to the part that meets it again.
    """
    jobs: dict[tuple[torch.dtype, Shape, Tiling], None] = {}  # in order, each once
    for dtype in (torch.float32, torch.bfloat16):
        for shape in reversed(SHAPES):
            jobs[dtype, replace(shape, lengths=(5,)), DEFAULTS[dtype]] = None
    for dtype, tilings in ((torch.float32, EXACT_TILINGS), (torch.bfloat16, TILINGS)):
        for tiling in tilings.values():
            for window in (None, WINDOW):
                jobs[dtype, Shape((5,), window=window), tiling] = None
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count() or 1, 12), get_context("spawn")) as pool:
        for future in [pool.submit(compile_one, *job, device=device) for job in jobs]:
            if error := future.exception():
                print(f"compile ahead: {type(error).__name__}: {str(error)[:300]}", flush=True)


def compile_one(dtype: torch.dtype, shape: Shape, tiling: Tiling, *, device: str) -> None:
    """Compile the kernels for one type, shape and tiling, by running them."""
    with settings(dtype, tiling, used="where possible"):
        results(by_kernels, shape, inputs_of(shape, device, dtype), dtype=dtype)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print, and keep lines of JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="no part begins later")
    parser.add_argument("--only", default="*", help="parts, by the beginning of their lines")
    parser.add_argument("--record", type=Path, help="a file to which lines of JSON are added")
    parser.add_argument("--tiny", action="store_true", help="the interpreter, with tiny shapes")
    args = parser.parse_args(argv)
    begin = time.monotonic()
    device = "cpu" if args.tiny else "cuda"
    if args.tiny:
        os.environ["TRITON_INTERPRET"] = "1"  # before triton is loaded
    else:
        compile_ahead(device)
        print(f"compiled after {time.monotonic() - begin:.0f} s", flush=True)
    name = "cpu" if args.tiny else torch.cuda.get_device_name()
    versions = {"device": name, "torch": torch.__version__, "triton": version("triton")}
    print(", ".join(versions.values()), flush=True)
    for part, run in parts(device, is_tiny=args.tiny):
        if not fnmatch(part, args.only):
            continue
        if time.monotonic() - begin > args.seconds and not args.tiny:
            print(f"left out, its time is over: {part}", flush=True)
            continue
        values = tried(run)
        print(f"{part}: {shown(values)}", flush=True)
        if args.record:
            line = {"step": "relative-attention", "part": part, "values": values} | versions
            with args.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{time.monotonic() - begin:.0f} s")


def tried(run: Callable[[], Values]) -> Values:
    """Run a part; return its values, or its error."""
    try:
        return run()
    except Exception as error:  # noqa: BLE001 - the others are still worth their time
        return {"error": f"{type(error).__name__}: {error}"[:4_000]}
    finally:
        gc.collect()


def shown(values: Values) -> str:
    return ", ".join(f"{name} {as_text(value)}" for name, value in values.items())


def as_text(value: object) -> str:
    if isinstance(value, list):
        return " / ".join(map(as_text, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main(sys.argv[1:])
