"""Signs that a pre-trained encoder learns nothing, with the settings to change.

Shapes: T subwords, D width.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import torch
from torch.nn import functional

from modeling.config import OBJECTIVES, PretrainConfig
from modeling.data.batch import Batch
from modeling.models.text_encoder import TextEncoder, evaluating
from modeling.training.metrics import Line
from modeling.training.records import ConfigRecord

_ALIKE: Final = 0.99
"""The mean cosine of states from which an encoder counts as collapsed. Published encoders, whose
states share a direction, are below it."""
_UNIGRAM: Final = 0.99
"""The fraction of the unigram loss from which nothing counts as learned."""
_GROWTH: Final = 1_000.0
"""The factor by which the norm of the gradient may change since the first steps."""
_MORE: Final = "It needs more text, more steps (training.max_steps) or --init-from"
_COMPARED: Final = 512
"""The number of states that are compared with each other."""


@torch.no_grad()
def likeness(encoder: TextEncoder, batch: Batch) -> float:
    """Compute the mean cosine between the states of different subwords of a batch."""
    with evaluating(encoder):
        states = encoder(batch).subwords[:_COMPARED].float()
    directions, ids = functional.normalize(states, dim=1), batch.subwords[:_COMPARED]
    are_different = ids[:, None] != ids
    return float((directions @ directions.T)[are_different].mean())


def symptoms(line: Line, earlier: Sequence[Line], config: PretrainConfig) -> dict[str, str]:
    """Describe what is wrong with a model, by name of the symptom, with what to change.

    ``line`` is an evaluation with its ``likeness``; ``earlier`` are the lines of the log before it.
    """
    signs: dict[str, str] = {}
    if line["likeness"] > _ALIKE:
        signs["collapsed"] = (
            f"all subwords have nearly the same state (mean cosine {line['likeness']:.4f}): the "
            "encoder has collapsed, and no tagger can be made of it. Begin again with "
            f"{_gentler(config)}."
        )
    is_absolute = config.encoder.positions != "none"
    relative = "; relative positions (neiss_small) learn sooner" if is_absolute else ""
    for name, frequent in _losses(earlier, "unigram").items():
        loss = line["loss"].get(name)
        if OBJECTIVES[name].lookup and loss is not None and loss > _UNIGRAM * frequent:
            signs[f"unigram {name}"] = (
                f"the loss of {name} ({loss:.3f}) is that of always predicting the most frequent "
                f"({frequent:.3f}): nothing more is learned yet. {_MORE}{relative}."
            )
    norms = [one["gradient_norm"] for one in earlier if one["kind"] == "train"]
    first, last = (norms[0], norms[-1]) if norms else (0.0, 0.0)
    if not first / _GROWTH <= last <= first * _GROWTH:
        signs["gradient"] = (
            f"the gradient {'explodes' if last > first else 'has vanished'} (norm {last:.2g}, at "
            f"first {first:.2g}). Begin again with {_gentler(config)}."
        )
    return signs


def conclusions(lines: Sequence[Line], config: ConfigRecord) -> list[str]:
    """Describe what is wrong with the model of a run in the end, given its log."""
    evaluation = final_evaluation(lines, config)
    if evaluation is None:
        return []
    signs, losses = evaluation.get("symptoms", {}), evaluation["loss"]
    return [
        *signs.values(),
        *(
            f"{OBJECTIVES[name].lookup} gives the loss {loss:.3f}, the model {losses[name]:.3f}: "
            f"of {name} it knows less than a table does. {_MORE}."
            for name, loss in _losses(lines, "lookup").items()
            if (losses.get(name) or 0.0) > loss and f"unigram {name}" not in signs
        ),
    ]


def final_evaluation(lines: Sequence[Line], config: ConfigRecord) -> Line | None:
    """Return the evaluation of the final model: the last; with patience, the best.

    None if nothing was evaluated.
    """
    evaluations = [line for line in lines if line["kind"] == "evaluation"]
    weights = config["heads"]["weights"]

    def weighted(line: Line) -> float:
        losses = line["loss"].items()
        return math.fsum(weights[n] * (math.inf if loss is None else loss) for n, loss in losses)

    if config["training"]["patience"]:
        return min(evaluations, key=weighted, default=None)
    return evaluations[-1] if evaluations else None


def _losses(lines: Sequence[Line], kind: str) -> Mapping[str, float]:
    """Return the losses of a baseline by objective."""
    return next((line["loss"] for line in lines if line["kind"] == kind), {})


def _gentler(config: PretrainConfig) -> str:
    """Return the settings that make the first steps gentler."""
    optimizer = config.optimizer
    parts = [] if optimizer.bias_correction else ["optimizer.bias_correction=true"]
    parts += [] if optimizer.clip else ["optimizer.clip=1"]
    parts += [f"optimizer.lr={optimizer.lr / 3:.1g}"]
    return f"--set {' '.join(parts)}, or a longer schedule.warmup than {config.schedule.warmup:g}"
