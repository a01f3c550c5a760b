"""Scores of models on validation documents.

Shapes: M targets of a batch, J objectives.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch

from modeling.config import OBJECTIVES, OF_ENTITIES
from modeling.data.batch import Batch, LayerRows
from modeling.heads.cross_entropy import LabelRanks
from modeling.training.loop import Conditions
from modeling.training.metrics import Line

TOP = (1, 3, 5, 10, 25, 50)
"""The values of k of top-k accuracies."""


class Scored(Protocol):
    """The interface of models that score batches."""

    def scores(self, batch: Batch) -> Mapping[str, LabelRanks]:
        """Score a batch by objective: ``loss_sum``, shape (), and ``ranks``, shape (M,).

        A rank is the number of ids that score above the label of a target.
        """


@dataclass(frozen=True, slots=True)
class Validation:
    """The scores of each objective that had targets."""

    loss: dict[str, float]
    """The mean loss over targets, by objective."""
    accuracy: dict[str, dict[int, float]]
    """The fraction of targets whose label is among the k best ids, by objective and k."""
    n_targets: dict[str, int]
    left_out: dict[str, int] = field(default_factory=dict)
    """``Batch.counts``, summed over the batches of this process."""

    def weighted(self, weights: Mapping[str, float]) -> float:
        """Sum the losses, weighted by objective, as training does."""
        return sum(weights[name] * loss for name, loss in self.loss.items())

    def to_json(self) -> Line:
        """Convert the scores to a line of ``metrics.jsonl``."""
        line: Line = {
            "loss": self.loss,
            "accuracy": {
                name: {str(k): ratio for k, ratio in ratios.items()}
                for name, ratios in self.accuracy.items()
            },
            "targets": self.n_targets,
        }
        if self.left_out:
            line["left_out"] = self.left_out
        return line


def validate(
    model: Scored, batches: Iterable[Batch], *, objectives: Sequence[str], conditions: Conditions
) -> Validation:
    """Score the batches of each process, and combine the scores of all processes."""
    world = conditions.world
    zeros = torch.zeros((len(objectives), 2 + len(TOP)), dtype=torch.float64, device=world.device)
    sums = dict(zip(objectives, zeros, strict=True))  # targets, summed loss, hits by k
    left_out: Counter[str] = Counter()
    for batch in batches:
        left_out.update(batch.counts)
        with torch.no_grad(), conditions.autocast():
            scores = model.scores(batch.to(world.device))
        for name, score in scores.items():
            hits = [(score.ranks < k).sum() for k in TOP]
            n = torch.tensor(float(len(score.ranks)), device=world.device)
            sums[name] += torch.stack([n, score.loss_sum, *hits]).to(zeros)
    rows = dict(zip(objectives, world.sum(zeros).tolist(), strict=True))
    validation = divided({name: row for name, row in rows.items() if row[0]})
    return replace(validation, left_out=dict(left_out))


def divided(sums: Mapping[str, Sequence[float]]) -> Validation:
    """Divide summed losses and hits by the number of targets, by objective."""
    accuracy = {
        name: {k: h / n for k, h in zip(TOP[: OBJECTIVES[name].n_accuracies], hits, strict=False)}
        for name, (n, _, *hits) in sums.items()
    }
    return Validation(
        loss={name: loss / n for name, (n, loss, *_) in sums.items()},
        accuracy=accuracy,
        n_targets={name: int(n) for name, (n, *_) in sums.items()},
    )


def without_mentions(batch: Batch) -> Batch:
    """Remove the entities of a batch, so that an encoder without entities reads it."""
    targets = {name: t for name, t in batch.targets.items() if name not in OF_ENTITIES}
    rows = LayerRows(
        subwords=batch.rows.subwords, together=batch.rows.subwords, words=batch.rows.words
    )
    return replace(batch, rows=rows, mentions=None, subword_entities=None, targets=targets)
