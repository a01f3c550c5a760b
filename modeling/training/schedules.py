"""Schedules of the learning rate.

Steps count from 1. The last step of warm-up is at the peak. The descent begins at the peak in the
step after it, and would reach its end one step after the last step, so no step has learning rate 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from modeling.config import ConfigError, PretrainConfig, ScheduleConfig


@dataclass(frozen=True, slots=True)
class Schedule:
    """The learning rates of a run, and the step after which transferred weights are unlocked."""

    lr: Callable[[int], float]
    """A function from the index of a step, from 1, to its learning rate."""
    unlock_after: int = 0
    """The number of steps in which transferred weights are frozen; 0: they never are."""
    resets: bool = False
    """Whether the optimizer's state is reset when they are unlocked (LUKE)."""


def build_schedule(config: PretrainConfig) -> Schedule:
    """Build the schedule of the settings; ``ConfigError`` for ratios that do not fit together."""
    n_steps, optimizer = config.training.max_steps, config.optimizer
    unlock_after = round(config.training.frozen * n_steps)
    check_schedule(config.schedule)
    if optimizer.unlocked_lr is None:
        return Schedule(learning_rates(config.schedule, optimizer.lr, n_steps), unlock_after)
    if not 0 < unlock_after < n_steps:
        raise ConfigError(
            "optimizer.unlocked_lr: is for weights that are unlocked; set training.frozen, as 0.5."
        )
    first = learning_rates(config.schedule, optimizer.lr, unlock_after)
    second = learning_rates(config.schedule, optimizer.unlocked_lr, n_steps - unlock_after)

    def lr(step: int) -> float:
        return first(step) if step <= unlock_after else second(step - unlock_after)

    return Schedule(lr, unlock_after, resets=True)


def check_schedule(config: ScheduleConfig) -> None:
    """Raise ``ConfigError`` for ratios that do not fit together."""
    if config.shape == "constant_cosine" and config.warmup + config.constant + config.cosine > 1:
        raise ConfigError("schedule: warmup, constant and cosine together are more than the run.")


def learning_rates(config: ScheduleConfig, peak: float, n_steps: int) -> Callable[[int], float]:
    """Return a function that maps each of ``n_steps`` steps, counted from 1, to a learning rate."""
    warmup = round(config.warmup * n_steps)
    left = max(n_steps - warmup, 1)

    def lr(step: int) -> float:
        if step <= warmup:
            return peak * (config.start + (1 - config.start) * step / warmup)
        done = step - 1 - warmup
        match config.shape:
            case "constant":
                return peak
            case "constant_cosine":
                return peak * _constant_cosine(config, done, left=left, n_steps=n_steps)
            case "linear" | "polynomial":
                power = config.power if config.shape == "polynomial" else 1.0
                rest = math.pow(1 - min(done / left, 1.0), power)  # DaLUKE: √3, with end 1/10
                return peak * (config.end + (1 - config.end) * rest)

    return lr


def _constant_cosine(config: ScheduleConfig, done: int, *, left: int, n_steps: int) -> float:
    """Compute the fraction of the peak: 1, then a staircase, then a cosine.

    The cosine falls to ``end`` times the value at which it begins. ``done`` is the number of steps
    made after warm-up, of which ``left`` were left; ratios in the settings are of all ``n_steps``.
    """
    constant, cosine = config.constant * n_steps, config.cosine * n_steps
    stair = max(config.stair * n_steps, 1.0)
    begin = left - cosine
    value: float = config.decay ** max(0, math.floor((min(done, begin) - constant) / stair))
    if done <= begin:
        return value
    progress = min((done - begin) / cosine, 1.0)
    return value * (config.end + (1 - config.end) * (1 + math.cos(math.pi * progress)) / 2)
