"""Measures of steps for the log: means since the last line, and speed."""

import logging
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

import torch

from modeling.data.tagger_inputs import TooLong
from modeling.training.loop import TrainingStep

log = logging.getLogger(__name__)


class Line(TypedDict, total=False):
    """A line of ``metrics.jsonl``; each ``kind`` of line has some of these fields."""

    kind: str
    step: int
    epoch: int
    lr: float
    loss: Mapping[str, float]
    weighted: float
    gradient_norm: float
    left_out: Mapping[str, int]
    subwords_per_second: float
    seconds: float
    mfu: float
    distance: Mapping[str, float]
    accuracy: Mapping[str, Mapping[str, float]]
    targets: Mapping[str, int]
    parameters: Mapping[str, int]
    transferred: int
    steps_per_epoch: int
    examples: int
    mean_length: int
    mean_mentions: float
    flops_per_subword: float
    strict_f1: float
    predicted: int
    baseline: float
    temperature: float
    threshold: float | None
    too_long: Mapping[str, TooLong]
    likeness: float
    symptoms: dict[str, str]


# Dense peaks in bfloat16, FLOP/s, from the makers' data sheets; the longest matching name is used.
_PEAKS = {
    "A100": 312e12,
    "A40": 150e12,
    "A10": 125e12,
    "L4": 121e12,
    "L40": 181e12,
    "L40S": 362e12,
    "H100": 989e12,
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H200": 989e12,
    "GH200": 989e12,
    "B200": 2250e12,
}


def peak_flops(device: torch.device, precision: str) -> float | None:
    """Return the peak FLOP/s of a device; None if unknown, or if precision is not bfloat16."""
    if device.type != "cuda" or precision != "bfloat16":
        return None
    name = torch.cuda.get_device_name(device)
    fitting = [known for known in _PEAKS if re.search(rf"\b{known}\b", name)]  # A40 is no A4000
    return _PEAKS[max(fitting, key=len)] if fitting else None


@dataclass
class MetricsWindow:
    """The sums over the steps since the last line of the log; saved in checkpoints as JSON."""

    sums: dict[str, float] = field(default_factory=dict)
    """The summed losses by objective."""
    n_targets: Counter[str] = field(default_factory=Counter)
    n_steps: int = 0
    norms: float = 0.0
    """The sum of the norms of the gradient."""
    left_out: Counter[str] = field(default_factory=Counter)
    """``Batch.counts``, summed over the batches of this process since the start of the run."""
    waiting: list[TrainingStep] = field(default_factory=list)
    """Steps whose numbers were not read yet, because a GPU may still be computing them."""

    def __post_init__(self) -> None:
        """Convert counts that were read from JSON to counters."""
        self.n_targets, self.left_out = Counter(self.n_targets), Counter(self.left_out)

    def read(self) -> int:
        """Read the waiting steps; returns their number of subwords.

        Raises ``DivergedError`` for a step whose loss or gradient is not finite.
        """
        waiting, self.waiting = self.waiting, []
        for step in waiting:
            step.check()
            for name, value in step.sums.items():
                self.sums[name] = self.sums.get(name, 0.0) + value
            self.n_targets.update(step.n_targets)
            self.n_steps += 1
            self.norms += step.gradient_norm
        return sum(step.n_subwords for step in waiting)

    def line(self, weights: Mapping[str, float]) -> Line:
        """Return the means over the steps that were read, and reset all sums but ``left_out``."""
        losses = {n: self.sums[n] / self.n_targets[n] for n in weights if self.n_targets[n]}
        line: Line = {
            "loss": losses,
            "weighted": sum(weights[name] * loss for name, loss in losses.items()),
            "gradient_norm": self.norms / max(self.n_steps, 1),
        }
        if self.left_out:
            line["left_out"] = dict(self.left_out)
        self.sums, self.n_targets, self.n_steps, self.norms = {}, Counter(), 0, 0.0
        return line

    def to_json(self) -> dict[str, object]:
        """Convert the sums to JSON, for a checkpoint; all steps must have been read."""
        return {name: value for name, value in vars(self).items() if name != "waiting"}


@dataclass
class TrainingClock:
    """A clock of training time without pauses, with the work done in that time."""

    n_subwords: int = 0
    flops: float = 0.0
    _seconds: float = 0.0
    _since: float | None = None

    def go(self) -> None:
        """Start or resume the clock."""
        self._since = time.monotonic()

    def stop(self) -> None:
        """Pause the clock, because something other than training begins."""
        if self._since is not None:
            self._seconds += time.monotonic() - self._since
        self._since = None

    def line(self, peak: float | None) -> Line:
        """Return the speed since the last call, and reset the clock, which must be stopped."""
        seconds = max(self._seconds, 1e-9)
        line: Line = {"subwords_per_second": self.n_subwords / seconds, "seconds": seconds}
        if peak:
            line["mfu"] = self.flops / seconds / peak
        self.n_subwords, self.flops, self._seconds = 0, 0.0, 0.0
        return line
