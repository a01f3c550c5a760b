"""Compare the time of our training step with that of transformers.

    python -m benchmarks.encoder --size 256x6 --batch 8 --threads 2
    python -m benchmarks.encoder --size 768x12 --batch 2 --rounds 3
    python -m benchmarks.encoder --device cuda --bf16 --size 768x12 --batch 32

Forward and backward of LUKE with entity-aware attention, masked subwords and masked entities (15 %
each), on the same weights and batch: our step against ``LukeForMaskedLM`` (eager attention, all
logits, its own loss). The losses without dropout are compared first, so that both do the same work.

Both are run in turn; medians are printed. On a shared machine only the ratios mean something, and
that of processor time is the most reliable.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor

from modeling.data.batch import Batch, BatchMentions, LayerRows, Layout, Targets
from modeling.huggingface.importing import read_pretrained
from modeling.models.costs import batch_flops
from modeling.models.pretraining_model import PretrainingModel

MASK, RATIO, MENTION = 4, 0.15, 3


def build_batch(lengths: np.ndarray, arguments: argparse.Namespace) -> Batch:
    """Make a batch of random subwords and mentions of three subwords, some of them masked."""
    generator = np.random.default_rng(arguments.seed)
    n_mentions = np.minimum(arguments.mentions, lengths // (2 * MENTION))
    subwords, entities = Layout.of(lengths), Layout.of(n_mentions)
    of_entities = entities.sequences.numpy()
    together = Layout.placed(
        np.concatenate([subwords.sequences.numpy(), of_entities]),
        np.concatenate(
            [subwords.positions.numpy(), lengths[of_entities] + entities.positions.numpy()]
        ),
        longest=int((lengths + n_mentions).max()),
        n=len(lengths),
    )
    ids = torch.from_numpy(generator.integers(5, arguments.subwords, lengths.sum()))
    names = torch.from_numpy(generator.integers(3, arguments.entities, n_mentions.sum()))
    targets = {"subwords": choose(ids, generator), "entities": choose(names, generator)}
    ids[targets["subwords"].rows] = MASK
    names[targets["entities"].rows] = 2
    starts = 1 + generator.integers(0, lengths[of_entities] - 1 - MENTION)
    mentions = BatchMentions(
        entities=names,
        positions=torch.from_numpy((starts[:, None] + np.arange(MENTION)).ravel()),
        offsets=torch.arange(len(starts)) * MENTION,
    )
    names_of_texts = tuple(map(str, range(len(lengths))))
    rows = LayerRows(subwords, together, entities=entities)
    return Batch(names_of_texts, ids, rows, mentions=mentions, targets=targets)


def choose(ids: Tensor, generator: np.random.Generator) -> Targets:
    """Draw 15 % of the rows, at least one, as targets: their indices and their ids."""
    n_targets = max(1, round(RATIO * len(ids)))
    rows = torch.from_numpy(np.sort(generator.choice(len(ids), n_targets, replace=False)))
    return Targets(rows, ids[rows])


def as_padded(batch: Batch) -> dict[str, Tensor]:
    """Return a batch as transformers takes it: padded, with −100 where nothing is predicted."""
    rows, mentions = batch.rows, batch.mentions
    assert batch.targets is not None
    inputs = {"input_ids": rows.subwords.pad(batch.subwords)}
    inputs["attention_mask"] = rows.subwords.pad(torch.ones_like(batch.subwords))
    inputs["entity_ids"] = rows.entities.pad(mentions.entities)
    inputs["entity_attention_mask"] = rows.entities.pad(torch.ones_like(mentions.entities))
    inputs["entity_position_ids"] = rows.entities.pad(mentions.positions.view(-1, MENTION))
    for name, layout, n_rows in (
        ("labels", rows.subwords, len(batch.subwords)),
        ("entity_labels", rows.entities, len(mentions.entities)),
    ):
        targets = batch.targets["subwords" if name == "labels" else "entities"]
        labels = torch.full((n_rows,), -100, device=batch.subwords.device)
        inputs[name] = layout.pad(labels.index_copy(0, targets.rows, targets.labels))
    return inputs


def build_theirs(arguments: argparse.Namespace) -> transformers.LukeForMaskedLM:
    """Build LUKE whose subword head equals the embedding; transformers cannot tie them here."""
    width, n_layers = arguments.size
    settings: dict[str, Any] = {"attn_implementation": "eager"}  # Any: the parameter has no type
    config = transformers.LukeConfig(
        vocab_size=arguments.subwords,
        entity_vocab_size=arguments.entities,
        hidden_size=width,
        num_hidden_layers=n_layers,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        max_position_embeddings=arguments.length + 1,
        type_vocab_size=1,
        pad_token_id=0,
        hidden_dropout_prob=arguments.dropout,
        attention_probs_dropout_prob=arguments.dropout,
        **settings,
    )
    torch.manual_seed(arguments.seed)
    model = transformers.LukeForMaskedLM(config)
    with torch.no_grad():
        model.lm_head.decoder.weight.copy_(model.luke.embeddings.word_embeddings.weight)
    return model


def build_same(theirs: transformers.LukeForMaskedLM) -> PretrainingModel:
    """Build our model with the same weights."""
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        found = read_pretrained(Path(folder))
    assert found.config.heads.tied
    return found.build()


def step_of_ours(model: PretrainingModel, batch: Batch) -> Tensor:
    """Return the sum of the mean losses."""
    losses = model(batch)
    return sum(losses[name] / n for name, n in batch.n_targets.items())


def backward(model: torch.nn.Module, loss: Callable[[], Tensor], bf16: bool) -> None:  # noqa: FBT001
    """Run forward and backward, from gradients that are not there."""
    model.zero_grad(set_to_none=True)
    device = next(model.parameters()).device.type
    with torch.autocast(device, torch.bfloat16) if bf16 else nullcontext():
        value = loss()
    value.backward()
    if device == "cuda":
        torch.cuda.synchronize()


@dataclass(frozen=True)
class Medians:
    """Median seconds of two functions: of wall-clock time and of processor time."""

    wall: tuple[float, float]
    processor: tuple[float, float]

    def __str__(self) -> str:
        """Show both times, and the second as a fraction of the first."""
        (first, second), (more, less) = self.wall, self.processor
        return (
            f"{first * 1e3:.0f} ms, {second * 1e3:.0f} ms, ratio {second / first:.3f} "
            f"(of processor time {less / more:.3f})"
        )


def alternate(first: Callable[[], Any], second: Callable[[], Any], *, rounds: int) -> Medians:
    """Run the two in turn; the first round warms up."""
    seconds = []
    for _ in range(rounds + 1):
        for run in (first, second):
            begin = time.perf_counter(), time.process_time()
            run()
            seconds.append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    of_each = np.array(seconds[2:]).reshape(rounds, 2, 2)  # axes: round, function, clock
    wall, processor = np.median(of_each, axis=0).T.tolist()
    return Medians(tuple(wall), tuple(processor))


def against_transformers(arguments: argparse.Namespace) -> None:
    """Print both times, their ratio, and how far the losses are apart."""
    lengths = np.full(arguments.batch, arguments.length)
    batch = build_batch(lengths, arguments).to(arguments.device)
    theirs = build_theirs(arguments)
    ours = build_same(theirs).to(arguments.device)
    theirs.to(arguments.device)
    inputs = as_padded(batch)
    with torch.no_grad():
        difference = theirs.eval()(**inputs).loss - step_of_ours(ours.eval(), batch)
    theirs.train()
    ours.train()
    medians = alternate(
        lambda: backward(theirs, lambda: theirs(**inputs).loss, arguments.bf16),
        lambda: backward(ours, lambda: step_of_ours(ours, batch), arguments.bf16),
        rounds=arguments.rounds,
    )
    flops = batch_flops(ours.config, batch)
    width, n_layers = arguments.size
    print(
        f"transformers  {width}x{n_layers}, batch {arguments.batch}: theirs, ours {medians}; ours "
        f"{flops / medians.wall[1] / 1e9:.0f} GFLOP/s; losses differ by {abs(difference):.1e}"
    )


def size_of(text: str) -> tuple[int, int]:
    """Read ``256x6`` as width and number of layers."""
    width, _, n_layers = text.partition("x")
    return int(width), int(n_layers)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=size_of, default=(256, 6), metavar="WIDTHxLAYERS")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=256, help="subwords")
    parser.add_argument("--mentions", type=int, default=16)
    parser.add_argument("--subwords", type=int, default=30_000, help="size of the tokenizer")
    parser.add_argument("--entities", type=int, default=50_000)
    parser.add_argument("--dropout", type=float, default=0.1, help="of both, attention included")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    precision = "bfloat16" if arguments.bf16 else "float32"
    print(
        f"{arguments.device}, {precision}, {arguments.threads} threads, torch {torch.__version__}"
    )
    against_transformers(arguments)


if __name__ == "__main__":
    main()
