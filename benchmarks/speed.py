"""Measure pre-training beside a BERT of transformers: subwords a second, memory, MFU.

    python -m benchmarks.speed neiss                  # on the best device, in bfloat16
    python -m benchmarks.speed daluke --compile
    python -m benchmarks.speed neiss --tiny           # tries it out on a CPU, in seconds

Both models have the same shape, are trained on the same synthetic batches with the optimizer's
step, and predict the same masked subwords. All rows have full length, so SDPA of the BERT uses
flash kernels. The BERT reads no entities.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.system.writing import write_json
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import PretrainConfig
from modeling.data.batch import Batch
from modeling.data.batches import Batches
from modeling.data.entities import Scopes
from modeling.data.examples import ExampleSet
from modeling.data.texts import SubwordIds
from modeling.models.costs import batch_flops
from modeling.models.pretraining_model import PretrainingModel
from modeling.recipes import change
from modeling.recipes.pretraining_recipes import recipe
from modeling.training.loop import Conditions, train
from modeling.training.metrics import peak_flops
from modeling.training.optimizer import Optimizer
from modeling.training.schedules import build_schedule
from modeling.training.world import World, best_device

VOCABULARIES = {"neiss": (30_000, 0), "daluke": (30_000, 50_000), "entity_bert": (21_128, 10_000)}
"""The numbers of subwords and entities of each model whose speed is measured."""
TINY: dict[str, Any] = {"width": 32, "n_layers": 1, "n_heads": 2, "inner_width": 64}
N_BATCHES, WARM, ROUNDS, MENTION = 4, 4, 3, 3


def prepare(
    name: str, folder: Path, *, subwords: int, is_tiny: bool
) -> tuple[PretrainConfig, list[Batch]]:
    """Return the settings of a recipe, and masked batches of synthetic examples.

    There are ``N_BATCHES`` batches on the device, each of about ``subwords`` subwords in rows of
    full length. Nothing is frozen.
    """
    config = change(recipe(name), training={"frozen": 0.0})
    n_subwords, n_entities = VOCABULARIES[name]
    if is_tiny:
        n_subwords, n_entities = 500, 50 if n_entities else 0
        config = change(config, encoder=TINY | {"entity_width": 16}, data={"max_length": 34})
    size = max(2, subwords // config.data.max_length)
    config = change(
        config,
        encoder={"n_subwords": n_subwords, "n_entities": n_entities},
        training={"batch_size": size, "micro_batch_size": size},
    )
    write_examples(folder, config, n=N_BATCHES * size)
    words = [*SPECIALS, *map(str, range(n_subwords - len(SPECIALS)))]
    ids = SubwordIds.of(Tokenizer(wordpiece(words, cased=True), name="synthetic"))
    scopes = None
    if config.heads.entity_scope != "vocabulary":
        scopes = Scopes.read([folder], config.heads.entity_scope)
    batches = Batches(config, [ExampleSet(folder, "train")], ids, scopes=scopes)
    return config, [batch.to(best_device()) for n in range(N_BATCHES) for batch in batches.batch(n)]


def write_examples(folder: Path, config: PretrainConfig, *, n: int) -> None:
    """Write a dataset of ``n`` examples, of the full length of the recipe."""
    rng, schema = np.random.default_rng(1), SCHEMAS["examples"]
    folder.mkdir(parents=True)
    with ShardWriter(folder / "shard-00000.arrow", schema) as writer:
        for number in range(n):
            writer.write(example(rng, number, config))
    assert writer.shard is not None
    shard = {field: getattr(writer.shard, field) for field in ("rows", "bytes", "sha256")}
    description = {
        "schema": schema.name,
        "version": schema.version,
        "plan": {"parameters": {"max_length": config.data.max_length}},
        "shards": [{"name": "shard-00000.arrow", **shard}],
        "accounting": {"read": 0, "written": 0, "filtered": {}, "rejected": {}},
    }
    write_json(folder / "dataset.json", description)


def example(rng: np.random.Generator, number: int, config: PretrainConfig) -> dict[str, object]:
    """Return a row of an examples dataset.

    Subwords are random, two for each word. If the model has entities, a mention of ``MENTION``
    subwords begins at every thirtieth subword.
    """
    length, encoder = config.data.max_length - 2, config.encoder
    words = np.arange(0, length, 2, dtype=np.int32)
    starts = words[: -(MENTION - 1)][:: 5 * MENTION] if encoder.n_entities else words[:0]
    return {
        "id": f"{number}", "document_id": f"{number}", "group": "synthetic", "split": "train",
        "input_ids": rng.integers(len(SPECIALS), encoder.n_subwords, length, dtype=np.int32),
        "word_starts": words, "sentence_starts": words[::15],
        "entity_ids": rng.integers(3, max(encoder.n_entities, 4), len(starts), dtype=np.int32),
        "entity_starts": starts, "entity_ends": starts + np.int32(MENTION),
        "entity_origins": ["link"] * len(starts),
    }  # fmt: skip


def time_ours(
    config: PretrainConfig, batches: list[Batch], args: argparse.Namespace
) -> dict[str, float]:
    """Measure steps of our training loop; MFU is added if the peak of the device is known."""
    device = best_device()
    torch.manual_seed(1)
    model = PretrainingModel.from_config(config).to(device)
    if args.compile:
        model.compile(dynamic=True, backend=args.backend)
    steps = train(
        model,
        ([batch] for batch in cycle(batches)),
        Optimizer(model, config.optimizer),
        schedule=build_schedule(config),
        weights=config.heads.weights,
        conditions=Conditions(World(device=device), precision="bfloat16"),
    )
    values = timed(lambda: next(steps), batches, args)
    if peak := peak_flops(device, "bfloat16"):
        flops = statistics.fmean(batch_flops(config, batch) for batch in batches)
        values["MFU %"] = 100 * flops / (values["ms"] / 1e3) / peak
    return values


def time_theirs(
    config: PretrainConfig, batches: list[Batch], args: argparse.Namespace
) -> dict[str, float]:
    """Measure steps of a BERT of transformers with the shape of our model, by fused AdamW."""
    device, encoder = best_device(), config.encoder
    settings: dict[str, Any] = {"attn_implementation": "sdpa"}  # Any: the parameter has no type
    torch.manual_seed(1)
    model: torch.nn.Module = transformers.BertForMaskedLM(
        transformers.BertConfig(
            vocab_size=encoder.n_subwords,
            hidden_size=encoder.width,
            num_hidden_layers=encoder.n_layers,
            num_attention_heads=encoder.n_heads,
            intermediate_size=encoder.inner_width,
            hidden_act=encoder.activation,
            hidden_dropout_prob=encoder.dropout,
            attention_probs_dropout_prob=encoder.attention_dropout,
            max_position_embeddings=config.data.max_length,
            **settings,
        )
    )
    model.to(device).train()
    if args.compile:
        model.compile(backend=args.backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    inputs = cycle([as_padded(batch) for batch in batches])

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            loss = model(**next(inputs)).loss
        loss.backward()
        optimizer.step()

    return timed(step, batches, args)


def as_padded(batch: Batch) -> dict[str, torch.Tensor]:
    """Return subword ids and labels, each (B, N); a label is -100 if nothing is predicted there.

    There is no attention mask, as all rows have full length.
    """
    layout = batch.rows.subwords
    assert layout.attend is None
    masked = batch.targets["subwords"]
    labels = torch.full_like(batch.subwords, -100).index_copy(0, masked.rows, masked.labels)
    return {"input_ids": layout.pad(batch.subwords), "labels": layout.pad(labels)}


def timed(
    step: Callable[[], object], batches: list[Batch], args: argparse.Namespace
) -> dict[str, float]:
    """Return subwords a second, milliseconds a step (median), and on a GPU the peak of memory.

    Steps that compile and warm up come first, and count for nothing.
    """
    is_cuda = best_device().type == "cuda"
    seconds = []
    n_steps = 1 if args.tiny else 2 * N_BATCHES
    for n in (WARM, *[n_steps] * (1 if args.tiny else ROUNDS)):
        begin = time.perf_counter()
        for _ in range(n):
            step()
        if is_cuda:
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
        if is_cuda and len(seconds) == 1:
            torch.cuda.reset_peak_memory_stats()
    each = statistics.median(seconds[1:]) / n_steps
    n_subwords = statistics.fmean(len(batch.subwords) for batch in batches)
    values = {"subwords/s": n_subwords / each, "ms": each * 1e3}
    if is_cuda:
        values["GB"] = torch.cuda.max_memory_allocated() / 1e9
    return values


def main() -> None:
    """Measure both, and print them and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipe", choices=VOCABULARIES)
    parser.add_argument("--subwords", type=int, default=32_768, help="of a step, about")
    parser.add_argument("--compile", action="store_true", help="by torch.compile")
    parser.add_argument("--tiny", action="store_true", help="try it out with tiny shapes")
    args = parser.parse_args()
    args.backend = "eager" if args.tiny else "inductor"
    if args.tiny:
        torch.set_num_threads(1)
    subwords = 128 if args.tiny else args.subwords
    with tempfile.TemporaryDirectory() as folder:
        config, batches = prepare(
            args.recipe, Path(folder) / "examples", subwords=subwords, is_tiny=args.tiny
        )
        measured = {
            "transformers": time_theirs(config, batches, args),
            "ours": time_ours(config, batches, args),
        }
    for name, values in measured.items():
        print(f"{name:12} " + ", ".join(f"{key} {value:,.4g}" for key, value in values.items()))
    ratio = measured["ours"]["subwords/s"] / measured["transformers"]["subwords/s"]
    print(f"{args.recipe}: speed {ratio:.3f} x theirs")


if __name__ == "__main__":
    main()
