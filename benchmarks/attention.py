"""Measure time and memory of encoder layers with each kind of attention, forward and backward.

    python -m benchmarks.attention --threads 2 --runs 9

Layers are those of NEISS: 512 wide, 8 heads, ReLU 2,048, τ = 16, ω = 5; words have 1.5 subwords. A
ratio compares two kinds: in each run both are timed one after the other, and the median over the
runs of time / time counts. "gathered" is a simple relative layer, for comparison: it gathers from,
and scatters into, n x n offsets, and autograd keeps all of them. Memory is that of attention alone
(without feed-forward): the peak above its input, forward and backward, and what it keeps for the
backward pass.

Entity-aware attention is measured without mentions. Its ratio therefore shows what its four queries
cost in a text that has none.

On a machine that others use, --threads 1 --clock process counts only this process; with more
threads set OMP_WAIT_POLICY=PASSIVE, or threads that wait for each other take up the processors.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from modeling.data.batch import BatchWords, LayerRows, Layout
from modeling.layers.attention import (
    EntityAwareAttention,
    RelativeSelfAttention,
    SelfAttention,
    WholeWordAttention,
    from_heads,
    to_heads,
)
from modeling.layers.transformer import EncoderLayer, FeedForward

WIDTH, N_HEADS, INNER, CLIP, WINDOW = 512, 8, 2_048, 16, 5
SIZES = {"width": WIDTH, "n_heads": N_HEADS}

PAIRS = [
    # measured, baseline, target ratios at 320 and 2,048 subwords
    ("relative", "absolute", (1.8, None)),
    ("gathered", "absolute", (None, None)),
    ("whole-word absolute", "absolute", (1.4, 1.0)),
    ("whole-word relative", "relative", (0.9, 0.6)),
    ("whole-word relative", "gathered", (None, None)),
    ("entity-aware", "absolute", (None, None)),
]


class GatheredAttention(RelativeSelfAttention):
    """Relative attention that gathers from n x n offsets; autograd keeps all of them."""

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        layout = rows.subwords
        query, key, value = (
            to_heads(project(x), layout, self.n_heads)
            for project in (self.query, self.key, self.value)
        )
        place = torch.arange(layout.longest, device=x.device)
        offset = (place - place[:, None]).clamp(-CLIP, CLIP) + CLIP
        index = offset.expand(*query.shape[:2], -1, -1)  # (B, H, N, N)
        scores = query @ key.mT + (query @ self.keys.T).gather(3, index)
        weights = (scores / query.shape[3] ** 0.5).softmax(3)
        by_offset = weights.new_zeros(*query.shape[:3], 2 * CLIP + 1)
        mixed = weights @ value + by_offset.scatter_add(3, index, weights) @ self.values
        return self.output(from_heads(mixed, layout))


ATTENTIONS: dict[str, Callable[[], nn.Module]] = {
    "absolute": lambda: SelfAttention(**SIZES),
    "relative": lambda: RelativeSelfAttention(**SIZES, clip=CLIP),
    "gathered": lambda: GatheredAttention(**SIZES, clip=CLIP),
    "whole-word absolute": lambda: WholeWordAttention(**SIZES, window=WINDOW, clip=None),
    "whole-word relative": lambda: WholeWordAttention(**SIZES, window=WINDOW, clip=CLIP),
    "entity-aware": lambda: EntityAwareAttention(**SIZES),
}


def layer_of(kind: str) -> EncoderLayer:
    """Return a layer of NEISS with this kind of attention."""
    return EncoderLayer(
        attention=ATTENTIONS[kind](),
        feed_forward=FeedForward(width=WIDTH, inner_width=INNER, activation="relu"),
        width=WIDTH,
    )


def make_rows(n_sequences: int, length: int, device: str) -> LayerRows:
    """Return full sequences, of words with one subword and two subwords in turn."""
    layout = Layout.of([length] * n_sequences)
    words_of = torch.arange(length) // 3 * 2 + (torch.arange(length) % 3 > 0)
    n_words = int(words_of[-1]) + 1
    of_subword = (torch.arange(n_sequences)[:, None] * n_words + words_of).flatten()
    words = BatchWords(Layout.of([n_words] * n_sequences), of_subword, torch.bincount(of_subword))
    entities = Layout.of([0] * n_sequences)
    return LayerRows(subwords=layout, together=layout, words=words, entities=entities).to(device)


def once(layer: nn.Module, x: Tensor, rows: LayerRows, *, arguments: argparse.Namespace) -> None:
    """Run a layer forward and backward."""
    with torch.autocast(x.device.type, torch.bfloat16, enabled=arguments.bfloat16):
        y = layer(x, rows)
    y.sum().backward()


def seconds(
    layer: nn.Module, x: Tensor, rows: LayerRows, *, arguments: argparse.Namespace
) -> float:
    """Return the seconds of one run, by the clock that the arguments name."""
    clock = {"wall": time.perf_counter, "process": time.process_time}[arguments.clock]
    begin = clock()
    once(layer, x, rows, arguments=arguments)
    if x.is_cuda:
        torch.cuda.synchronize()
    return clock() - begin


def peak_bytes(
    layer: nn.Module, x: Tensor, rows: LayerRows, *, arguments: argparse.Namespace
) -> int:
    """Return the most bytes that one run allocates at a time, above what was there before."""
    layer.zero_grad(set_to_none=False)
    if x.is_cuda:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        once(layer, x, rows, arguments=arguments)
        return torch.cuda.max_memory_allocated() - before
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        once(layer, x, rows, arguments=arguments)
    events = profile.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    total = peak = 0
    for _, n_bytes in changes:
        total += n_bytes
        peak = max(peak, total)
    return peak


def kept_bytes(layer: nn.Module, x: Tensor, rows: LayerRows) -> int:
    """Return the bytes that a layer keeps for the backward pass, without weights and input."""
    known = {tensor.untyped_storage().data_ptr() for tensor in (x, *layer.parameters())}
    kept = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = layer(x, rows)
    n_bytes = sum(kept.values())
    del y
    return n_bytes


def measure(n_sequences: int, length: int, arguments: argparse.Namespace) -> None:
    """Print the ratios of all pairs, and the memory of all kinds, at one size."""
    rows = make_rows(n_sequences, length, arguments.device)
    x = torch.randn(n_sequences * length, WIDTH, device=arguments.device, requires_grad=True)
    layers = {name: layer_of(name).to(arguments.device) for name in ATTENTIONS}
    times: dict[str, list[float]] = {name: [] for name in layers}
    for run in range(arguments.runs + 1):
        for name, layer in layers.items():
            took = seconds(layer, x, rows, arguments=arguments)
            if run:  # the first run warms up
                times[name].append(took)
    print(f"\n{n_sequences} x {length} subwords")
    for name, layer in layers.items():
        peak = peak_bytes(layer.attention, x, rows, arguments=arguments) / 2**20
        kept = kept_bytes(layer.attention, x, rows) / 2**20
        middle = statistics.median(times[name]) * 1e3
        print(f"  {name:20} {middle:7.0f} ms   attention: {peak:6.0f} MiB, keeps {kept:6.0f} MiB")
    for name, other, aims in PAIRS:
        ratio = statistics.median(a / b for a, b in zip(times[name], times[other], strict=True))
        aim = aims[length > 1_000]
        print(f"  {name:20} / {other:10} {ratio:5.2f}" + (f"   aim <= {aim}" if aim else ""))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--clock", choices=["wall", "process"], default="wall")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bfloat16", action="store_true", help="autocast")
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=["8x320", "1x2048", "2x2048"],
        metavar="BxN",
        help="sequences x subwords",
    )
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    dtype = "bfloat16" if arguments.bfloat16 else "float32"
    print(f"torch {torch.__version__}, {arguments.device}, {arguments.threads} threads, {dtype}")
    for size in arguments.sizes:
        n_sequences, length = map(int, size.split("x"))
        measure(n_sequences, length, arguments)


if __name__ == "__main__":
    main()
