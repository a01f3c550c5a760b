"""What a command tries: each combination of settings, training sizes, folds and seeds once."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from modeling.config import ConfigError
from modeling.tagging_config import FinetuneConfig


@dataclass(frozen=True, slots=True)
class Fold:
    """One part of a cross-validation: what is tested on."""

    number: int
    """From 1."""
    of: int


@dataclass(frozen=True, slots=True)
class Trial:
    """One model that is trained."""

    setting: str
    """What was varied, as a name of a folder: ``head.kind=crf,size=500``; empty: nothing was."""
    config: FinetuneConfig
    fold: Fold | None = None

    @property
    def name(self) -> str:
        """Its folder, inside that of the run."""
        parts = [f"fold-{self.fold.number}"] if self.fold else []
        parts.append(f"seed-{self.config.training.seed}")
        return "/".join([*([self.setting] if self.setting else []), "-".join(parts)])


def plan_trials(
    config: FinetuneConfig,
    settings: Sequence[str],
    *,
    seeds: Sequence[int] = (),
    train_sizes: Sequence[int] = (),
    n_folds: int = 0,
) -> list[Trial]:
    """Every combination: ``NAME=VALUE`` is set, ``NAME=VALUE,VALUE`` is tried.

    Raises ``ConfigError`` for settings that do not exist, and for the same one twice.
    """
    varied: list[list[str]] = []
    for setting in settings:
        values = _values(setting)
        if len(values) == 1:
            config = config.override([setting])
        else:
            varied.append(values)
    if train_sizes:
        varied.append([f"training.train_size={size}" for size in train_sizes])
    folds: list[Fold | None] = [Fold(number, n_folds) for number in range(1, n_folds + 1)]
    trials = [
        Trial(_name_of(chosen), _tried(config.override(chosen), seed, fold), fold)
        for chosen in product(*varied)
        for fold in folds or [None]
        for seed in seeds or (config.training.seed,)
    ]
    names = [trial.name for trial in trials]
    if len(set(names)) < len(names):
        raise ConfigError("The same settings, sizes or seeds are asked for twice.")
    return trials


def _tried(config: FinetuneConfig, seed: int, fold: Fold | None) -> FinetuneConfig:
    """With a seed; of a fold, which has no dev, the last epoch is taken (D-E4)."""
    choose = "last" if fold else config.training.choose
    return replace(config, training=replace(config.training, seed=seed, choose=choose))


def _name_of(chosen: Sequence[str]) -> str:
    return ",".join(
        setting.replace("training.train_size=", "size=").replace("/", "_") for setting in chosen
    )


def _values(setting: str) -> list[str]:
    """``a=1,2`` as ``a=1`` and ``a=2``; commas inside brackets and quotes do not count."""
    name, equals, text = setting.partition("=")
    if not equals:
        raise ConfigError(f"--set {setting}: expected NAME=VALUE, or NAME=VALUE,VALUE to try both.")
    return [f"{name}={value.strip()}" for value in _split(text)]


def _split(text: str) -> Iterator[str]:
    try:
        json.loads(text)
    except ValueError:
        pass
    else:
        yield text
        return
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character in "[{") - (character in "]}")
        if character == "," and not depth:
            yield text[start:position]
            start = position + 1
    yield text[start:]
