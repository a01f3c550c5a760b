"""Estimates of what a pre-training run takes: weights, memory, subwords, hours.

Sizes are counted. Hours are computed from the operations of a subword and from what a GPU has been
measured to make in a second; with examples, steps are also timed on this machine.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Final

import torch

from corpora.reports import counted
from modeling.config import OF_ENTITIES, PretrainConfig
from modeling.models.costs import flops_per_subword
from modeling.models.pretraining_model import PretrainingModel
from modeling.training.feeding import Feed
from modeling.training.loop import Conditions, train
from modeling.training.optimizer import Optimizer
from modeling.training.schedules import build_schedule
from modeling.training.sources import Sources, complete
from modeling.training.world import World, best_device

_N_SUBWORDS: Final = 30_000
_N_ENTITIES: Final = 100_000
_GPU: Final = "NVIDIA H200"
_MEASURED: Final = {"relative": 61e12, "other": 130e12}
"""FLOP/s of training in bfloat16 on an H200, with relative or whole-word attention (435,000
subwords a second of NEISS) and with any other (2.2 times as many): docs/benchmarks.md."""
_PLAIN: Final = {"plain", "entity_aware", "char_entity"}
_ACTIVATIONS: Final = 160
"""The bytes of activations in float32, for each subword, layer and unit of width."""
_WIDE: Final = 512
"""The width from which a GPU is busy; narrower encoders take as long as their steps are many."""
_TIMED: Final = 4
_GB: Final = 1e9


def estimate(config: PretrainConfig, sources: Sources | None) -> dict[str, object]:
    """Estimate a run: sizes in numbers and bytes, and times in hours.

    Without examples, sizes of vocabularies that are not set are assumed, and sequences are full.
    """
    config = complete(config, sources) if sources else _assumed(config)
    feed = Feed(config, sources, World(device=best_device())) if sources else None
    costs = feed.costs() if feed else {"mean_length": config.data.max_length}
    length, training = costs["mean_length"], config.training
    flops = costs.get("flops_per_subword") or flops_per_subword(config, length)
    uncounted = replace(config.encoder, init="normal")  # values of weights, of which there are none
    with torch.device("meta"):
        model = PretrainingModel.from_config(replace(config, encoder=uncounted))
    n_weights = sum(parameter.numel() for parameter in model.parameters())
    n_subwords = training.max_steps * training.batch_size * length
    kind = "relative" if config.encoder.attention not in _PLAIN else "other"
    values: dict[str, object] = {
        "parameters": n_weights,
        "bytes_of_weights_and_optimizer": 4 * n_weights * (5 if config.optimizer.ema else 4),
        "bytes_of_activations": _activations(config, length),
        "examples": costs.get("examples"),
        "steps": training.max_steps,
        "steps_per_epoch": feed.batches.steps_per_epoch if feed else None,
        "subwords": n_subwords,
    }
    if config.encoder.width >= _WIDE:
        values["hours_h200"] = n_subwords * flops / _MEASURED[kind] / 3600
    if feed:
        values["hours_here"] = _time_step(config, feed) * training.max_steps / 3600
    return values


def _assumed(config: PretrainConfig) -> PretrainConfig:
    encoder = config.encoder
    reads_entities = encoder.entities == "subwords" or OF_ENTITIES & config.heads.weights.keys()
    encoder = replace(
        encoder,
        n_subwords=encoder.n_subwords or _N_SUBWORDS,
        n_entities=encoder.n_entities or (_N_ENTITIES if reads_entities else 0),
    )
    return replace(config, encoder=encoder)


def _activations(config: PretrainConfig, length: int) -> int:
    """Compute the bytes of activations of a micro-batch, in float32, and of its predictions."""
    encoder, training = config.encoder, config.training
    rows = min(training.micro_batch_size, training.batch_size) * length
    inside = _ACTIVATIONS * encoder.width * rows
    layers = inside * encoder.n_layers
    if training.recompute:
        layers = inside + 4 * encoder.width * rows * encoder.n_layers
    predicted = config.masking.ratio * rows * encoder.n_subwords * 8
    return int(layers + predicted)


def _time_step(config: PretrainConfig, feed: Feed) -> float:
    """Return the seconds of a step on this machine; the first of some is left out."""
    torch.manual_seed(config.training.seed)
    model = PretrainingModel.from_config(config).to(feed.world.device)
    conditions = Conditions(feed.world, precision=config.training.precision)
    steps = train(
        model,
        feed.steps(0),
        Optimizer(model, config.optimizer, precision=config.training.precision),
        schedule=build_schedule(config),
        weights=config.heads.weights,
        conditions=conditions,
    )
    with closing(steps):
        next(steps)
        begin = time.monotonic()
        made = [step.loss for step in islice(steps, _TIMED)]  # reading waits for a GPU
        return (time.monotonic() - begin) / max(len(made), 1)


def lines_of(values: dict[str, object], config: PretrainConfig) -> Iterator[str]:
    """Write an estimate for the terminal."""
    number = {name: value for name, value in values.items() if isinstance(value, int | float)}
    yield f"parameters   {values['parameters']:,}"
    yield (
        f"memory       {number['bytes_of_weights_and_optimizer'] / _GB:.2f} GB of weights, "
        f"gradients and Adam, and about {number['bytes_of_activations'] / _GB:.2f} GB of "
        f"activations (micro-batches of {config.training.micro_batch_size}, float32)"
    )
    if values["examples"]:
        epochs = number["steps"] / number["steps_per_epoch"]
        yield f"examples     {counted(int(number['examples']), 'example')}, read {epochs:.1f} times"
    else:
        yield "examples     none named: 30,000 subwords, 100,000 entities and full rows are assumed"
    yield f"steps        {int(number['steps']):,}, {number['subwords']:,.0f} subwords"
    if "hours_here" in number:
        yield f"time here    {_duration(number['hours_here'])} (measured: {_TIMED} steps)"
    if "hours_h200" not in number:
        return
    yield (
        f"{_GPU}  {_duration(number['hours_h200'])} in bfloat16 (computed: as many operations a "
        "second as NEISS made there)"
    )


def _duration(hours: float) -> str:
    return f"{hours:,.1f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"
