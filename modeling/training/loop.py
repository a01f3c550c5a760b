"""The training loop: a generator of steps; evaluation, logs and checkpoints are left to the caller.

A step is one update of the weights. Its loss is Σ weight · (summed loss ÷ targets) over objectives,
where sums and targets are those of all its micro-batches on all processes. So the gradient does not
depend on how a step is cut into micro-batches. Dropout depends on the seed, the index of the step
and the rank of the process.

Shapes: M micro-batches of this process, J objectives.
"""

import ctypes
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from corpora.errors import CorpusError
from modeling.command import Termination
from modeling.data.batch import Batch
from modeling.training.optimizer import Optimizer
from modeling.training.schedules import Schedule
from modeling.training.world import World

_TRIM_EVERY = 50
"""Steps after which freed memory is returned; batches of many sizes fragment it."""


class DivergedError(CorpusError):
    """The error for a loss or gradient that is not finite; ``ids`` are the examples to look at."""

    def __init__(self, message: str, *, step: int, ids: Sequence[str]) -> None:
        super().__init__(message)
        self.step, self.ids = step, tuple(ids)


class _Reading:
    """Numbers that are copied from the device in the background; only ``values`` waits for them."""

    def __init__(self, numbers: Tensor) -> None:
        self._numbers = numbers.to("cpu", non_blocking=True)
        self._arrival: torch.cuda.Event | None = torch.cuda.Event() if numbers.is_cuda else None  # type: ignore[no-untyped-call]
        if self._arrival is not None:
            self._arrival.record()

    @cached_property
    def values(self) -> list[float]:
        if self._arrival is not None:
            self._arrival.synchronize()
        return self._numbers.tolist()


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """A completed step; its measures are read from the device on first access."""

    number: int
    """The index of the step, from 1."""
    lr: float
    """The learning rate of the step."""
    weights: Mapping[str, float]
    """The weights of the objectives."""
    ids: tuple[tuple[str, ...], ...]
    """The ids of the examples of each micro-batch of this process."""
    _sums: _Reading
    """(M * J) the summed losses of this process, by micro-batch and objective."""
    _totals: _Reading
    """(2 * J + 3) over all processes: summed losses and numbers of targets by objective; the number
    of subwords; the number of processes that were asked to end; the norm of the gradient."""
    _known: _Reading
    """The newest totals that can be read without waiting: on a GPU, those of the step before."""

    @property
    def sums(self) -> dict[str, float]:
        """The summed losses by objective, over all processes."""
        return dict(zip(self.weights, self._totals.values, strict=False))

    @property
    def n_targets(self) -> dict[str, int]:
        """The number of targets by objective, over all processes."""
        counts = self._totals.values[len(self.weights) :]
        return dict(zip(self.weights, map(int, counts), strict=False))

    @property
    def n_subwords(self) -> int:
        """The number of subwords over all processes, special subwords included."""
        return int(self._totals.values[-3])

    @property
    def is_end_asked(self) -> bool:
        """Whether SIGTERM or Ctrl-C has reached any process; all see it at the same step."""
        return self._known.values[-2] > 0

    @property
    def gradient_norm(self) -> float:
        """The norm of the gradient before it was clipped."""
        return self._totals.values[-1]

    @property
    def loss(self) -> float:
        """The sum of the mean losses of the objectives, times their weights."""
        n_targets = self.n_targets
        return sum(self.weights[n] * s / max(n_targets[n], 1) for n, s in self.sums.items())

    def check(self) -> None:
        """Raise ``DivergedError`` unless loss and gradient are finite."""
        if np.isfinite(self._totals.values).all():
            return
        sums = np.array(self._sums.values).reshape(len(self.ids), -1)
        broken = np.flatnonzero(~np.isfinite(sums).all(axis=1))
        ids = [id for number in broken for id in self.ids[number]]
        what = "the loss" if ids else "the gradient, or another process's loss,"
        ids = ids or [id for micro_batch in self.ids for id in micro_batch]
        raise DivergedError(
            f"Step {self.number}: {what} is not a finite number (learning rate {self.lr:.3g}, "
            f"gradient norm {self.gradient_norm:.3g}). The examples: {_some(ids)}. Look at them, "
            "lower optimizer.lr, lengthen schedule.warmup, or set optimizer.clip.",
            step=self.number,
            ids=ids,
        )


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
    return ", ".join(ids[:8]) + more


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions under which a step is computed."""

    world: World
    seed: int = 1
    precision: str = "float32"
    """``float32``, or ``bfloat16`` or ``float16`` for autocast."""
    termination: Termination = field(default_factory=Termination)

    def autocast(self) -> AbstractContextManager[object]:
        """Return a context in which models compute in ``precision``."""
        is_mixed, type = self.precision != "float32", getattr(torch, self.precision)
        return torch.autocast(
            self.world.device.type, type if is_mixed else torch.bfloat16, enabled=is_mixed
        )


def train(
    model: nn.Module,
    batches: Iterable[Sequence[Batch]],
    optimizer: Optimizer,
    *,
    schedule: Schedule,
    weights: Mapping[str, float],
    conditions: Conditions,
    first_step: int = 1,
) -> Generator[TrainingStep, None, None]:
    """Make a step for each list of micro-batches, and yield it; the first is ``first_step``.

    ``model(batch)`` returns summed losses by objective. Raises ``DivergedError`` if a loss or a
    gradient is not finite: on the CPU at once, before the weights are updated; on a GPU, whose
    results are not waited for, one step later, or when the numbers of the step are read. A step
    whose gradients overflow in float16 does not update the weights, and its norm counts as 0.
    """
    before: TrainingStep | None = None
    waits = conditions.world.device.type == "cpu"
    of_one = torch.tensor(list(weights.values()), device=conditions.world.device)
    for number, micro_batches in enumerate(batches, first_step):
        if number == schedule.unlock_after + 1 and schedule.unlock_after:
            optimizer.unlock(resets=schedule.resets)
        model.train()
        _seed(conditions, number)
        sums, totals = _gradients(
            model,
            micro_batches,
            optimizer,
            names=list(weights),
            weights=of_one,
            conditions=conditions,
        )
        if before is not None:
            before.check()
        lr = schedule.lr(number)
        norm = optimizer.gradients.norm()
        is_left_out = optimizer.loss_scale.overflows(norm)
        norm = torch.zeros_like(norm) if is_left_out else norm
        reading = _Reading(torch.cat([totals, norm.double()[None]]))
        step = TrainingStep(
            number=number,
            lr=lr,
            weights=weights,
            ids=tuple(batch.ids for batch in micro_batches),
            _sums=_Reading(sums.flatten()),
            _totals=reading,
            _known=reading if waits or before is None else before._totals,  # noqa: SLF001
        )
        if waits:
            step.check()
        if not is_left_out:
            optimizer.step(lr, norm)
        if waits and number % _TRIM_EVERY == 0:
            _return_memory()
        yield step
        before = step


def _return_memory() -> None:
    """Let glibc return what is freed to the system; other allocators do so by themselves."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _seed(conditions: Conditions, number: int) -> None:
    """Seed torch for a step, so that a checkpoint needs no state of an rng."""
    entropy = (conditions.seed, number, conditions.world.rank)
    torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1))


def _gradients(
    model: nn.Module,
    micro_batches: Sequence[Batch],
    optimizer: Optimizer,
    *,
    names: Sequence[str],
    weights: Tensor,
    conditions: Conditions,
) -> tuple[Tensor, Tensor]:
    """Sum the gradients of a step; returns (M, J) summed losses, and the totals without norm.

    The totals, shape (2 * J + 2,), are those of ``TrainingStep``, over all processes. ``names``:
    those of the objectives; ``weights``: their weights on the device, shape (J,).
    """
    world = conditions.world
    totals = world.sum(_counts(micro_batches, names, conditions))
    scale = (weights / totals[:-2].clamp(min=1)).float()
    optimizer.gradients.flat.zero_()
    loss_scale = optimizer.loss_scale.value
    rows = []
    for batch in micro_batches:
        with conditions.autocast():
            losses = model(batch.to(world.device))
        row = torch.stack([losses.get(name, scale.new_zeros(())) for name in names])
        if row.requires_grad:
            ((row * scale).sum() * loss_scale).backward()  # type: ignore[no-untyped-call]
        rows.append(row.detach())
    world.sum(optimizer.gradients.flat)
    if loss_scale != 1:
        optimizer.gradients.flat.div_(loss_scale)
    sums = torch.stack(rows) if rows else scale.new_zeros((0, len(names)))
    return sums, torch.cat([world.sum(sums.double().sum(dim=0)), totals])


def _counts(micro_batches: Sequence[Batch], names: Sequence[str], conditions: Conditions) -> Tensor:
    """Count targets by objective, and subwords, of this process, shape (J + 2,).

    The last number is 1 if the process was asked to end, or else 0.
    """
    device = conditions.world.device
    rows = [[batch.n_targets.get(name, 0) for name in names] for batch in micro_batches]
    n_targets = np.array(rows).reshape(-1, len(names)).sum(axis=0)
    n_subwords = sum(len(batch.subwords) for batch in micro_batches)
    is_end_asked = conditions.termination.is_asked
    counts = torch.tensor([*n_targets, n_subwords, is_end_asked], dtype=torch.float64)
    if device.type == "cuda":  # a copy from pinned memory does not wait for the GPU
        counts = counts.pin_memory()
    return counts.to(device, non_blocking=True)
