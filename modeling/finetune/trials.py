"""The trials of a command: one for each combination of settings, sizes, folds and seeds."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final

from corpora.system.parsing import parse_json
from corpora.system.writing import write_json
from modeling.config import ConfigError
from modeling.taggers.folders import SUMMARY, SettingRow, TrainingSummary, TrialRow, read_manifest
from modeling.tagging_config import FinetuneConfig, check_head
from modeling.training.records import shortfall
from modeling.training.schedules import check_schedule

_SEED: Final = "training.seed"
_SIZE: Final = "training.train_size"


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold of a cross-validation, whose sentences are for testing."""

    number: int
    """The index of the fold, from 1."""
    of: int
    """The number of folds."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The settings of one model to be trained."""

    setting: str
    """The varied values, as the name of a folder (``head.kind=crf,size=500``); empty: none vary."""
    config: FinetuneConfig
    fold: Fold | None = None

    @property
    def name(self) -> str:
        """The path of the trial's folder inside the folder of the run."""
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
    """Build a trial for each combination of settings, training sizes, folds and seeds.

    Of ``settings``, ``NAME=VALUE`` is set in all trials, ``NAME=VALUE,VALUE`` is tried with each
    value. Raises ``ConfigError`` for unknown settings, impossible values, a setting given again
    after several values, equal trials, and a single fold.
    """
    if n_folds < 0 or n_folds == 1:
        raise ConfigError(f"--folds {n_folds}: cross-validation needs two or more.")
    named = [_values(setting) for setting in settings]
    _check_once(named, has_seeds=bool(seeds), has_sizes=bool(train_sizes))
    varied: list[list[str]] = []
    for values in named:
        if len(values) == 1:
            config = config.override(values)
        else:
            varied.append(values)
    if train_sizes:
        varied.append([f"{_SIZE}={size}" for size in train_sizes])
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
    for trial in trials:
        _check_learning(trial.config)
        check_head(trial.config.head)
        check_schedule(trial.config.schedule)
    return trials


def check_students(trials: Sequence[Trial]) -> None:
    """Raise ``ConfigError`` for trials that cannot learn from another tagger."""
    for trial in trials:
        if trial.fold:
            raise ConfigError(
                "--teacher with --folds: the teacher has learned from what a fold is tested on. "
                "Train a teacher for each fold."
            )
        head = trial.config.head
        if head.scores_spans or head.class_weights != "none":
            raise ConfigError(
                "--teacher says how likely the tags of words are, which head.kind=span and "
                "head.class_weights do not learn from. Take softmax, cse, crf or crf_ner, without "
                "class weights."
            )


def _check_once(named: Sequence[Sequence[str]], *, has_seeds: bool, has_sizes: bool) -> None:
    """Raise ``ConfigError`` for a setting given again after several values, and for several seeds.

    A setting may be given again after a single value, which it replaces. After several values, or
    after ``--seeds`` or ``--train-sizes``, it may not.
    """
    taken = {name for name, has in ((_SEED, has_seeds), (_SIZE, has_sizes)) if has}
    for values in named:
        name = values[0].partition("=")[0].strip()
        if name in taken:
            raise ConfigError(f"{name}: given twice. Give all its values at once.")
        if len(values) > 1 and name == _SEED:
            raise ConfigError(
                f"{name}: seeds are no settings of which the best is chosen. Give --seeds 1,2,3."
            )
        if len(values) > 1:
            taken.add(name)


def _tried(config: FinetuneConfig, seed: int, fold: Fold | None) -> FinetuneConfig:
    """Set the seed and, for a fold, which has no dev, the choice of the last epoch."""
    choose = "last" if fold else config.training.choose
    return replace(config, training=replace(config.training, seed=seed, choose=choose))


def _name_of(chosen: Sequence[str]) -> str:
    return ",".join(setting.replace(f"{_SIZE}=", "size=").replace("/", "_") for setting in chosen)


def _values(setting: str) -> list[str]:
    """Split ``a=1,2`` into ``a=1`` and ``a=2``.

    Commas inside brackets do not count, and a value that is JSON as a whole is not split.
    """
    name, equals, text = setting.partition("=")
    if not equals:
        raise ConfigError(f"--set {setting}: expected NAME=VALUE, or NAME=VALUE,VALUE to try both.")
    return [f"{name}={value.strip()}" for value in _split(text)]


def _split(text: str) -> Iterator[str]:
    try:
        parse_json(text)
    except ValueError:
        pass
    else:
        yield text
        return
    depth, start, is_quoted = 0, 0, False
    for position, character in enumerate(text):
        is_quoted ^= character == '"' and text[position - 1 : position] != "\\"
        if not is_quoted:
            depth += (character in "[{") - (character in "]}")
        if character == "," and not depth and not is_quoted:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def _check_learning(config: FinetuneConfig) -> None:
    """Raise ``ConfigError`` for settings without effect on an encoder that does not learn."""
    training = config.training
    if not training.freeze_encoder:
        return
    others = {
        "frozen_layers": training.frozen_layers,
        "freeze_embeddings": training.freeze_embeddings,
        "lora_rank": training.lora_rank,
        "layer_decay": training.layer_decay < 1,
    }
    if given := [f"training.{name}" for name, value in others.items() if value]:
        raise ConfigError(
            f"training.freeze_encoder: nothing of the encoder learns, so that {', '.join(given)} "
            "would do nothing. Leave out one or the other."
        )


def write_summary(output: Path, trials: Sequence[Trial]) -> tuple[Path, list[str]]:
    """Write ``summary.json``; returns its path, and lines for the terminal."""
    rows = [_row(output, trial) for trial in trials]
    settings = [_sum_up(setting, rows) for setting in dict.fromkeys(row["setting"] for row in rows)]
    best = _best(settings)
    of_best = [row for row in rows if row["setting"] == best]
    chosen = max(of_best, key=lambda row: row["strict_f1"] or 0.0, default=None)
    summary: TrainingSummary = {
        "trials": rows,
        "settings": settings,
        "best": best,
        "tagger": chosen["name"] if chosen else None,
    }
    path = output / SUMMARY
    write_json(path, summary)
    return path, [*_lines(settings, best), *_shortfalls(rows)]


def _best(settings: Sequence[SettingRow]) -> str | None:
    """Find the setting with the best mean; None if one of several settings has no scores."""
    if len(settings) > 1 and any(row["mean"] is None for row in settings):
        return None
    best = max(settings, key=lambda row: row["mean"] or 0.0)
    return best["setting"]


def _row(output: Path, trial: Trial) -> TrialRow:
    dev = read_manifest(output / trial.name / "final")["dev"]
    return {
        "name": trial.name,
        "setting": trial.setting,
        "seed": trial.config.training.seed,
        "fold": trial.fold.number if trial.fold else None,
        "epoch": dev.get("epoch"),
        "strict_f1": dev.get("strict_f1"),
        "shortfall": shortfall(dev) if "strict_f1" in dev else "",
    }


def _sum_up(setting: str, rows: Sequence[TrialRow]) -> SettingRow:
    own = [row["strict_f1"] for row in rows if row["setting"] == setting]
    scores = [score for score in own if score is not None]
    return {
        "setting": setting,
        "n": len(own),
        "mean": statistics.fmean(scores) if scores else None,
        "deviation": statistics.stdev(scores) if len(scores) > 1 else None,
    }


def _shortfalls(rows: Sequence[TrialRow]) -> Iterator[str]:
    """Say of each tagger what it cannot do on dev, and then what to try."""
    for row in rows:
        if row["shortfall"]:
            yield f"warning: {row['name']}: on dev: {row['shortfall']}"
    if any(row["shortfall"] for row in rows):
        yield (
            "Try more epochs (training.epochs), a published encoder (--model hub:NAME), the names "
            "of train as input (--augment-lexicon train), or more sentences. If the encoder was "
            "pre-trained here, read the warnings of its run: onoma report RUN."
        )


def _lines(settings: Sequence[SettingRow], best: str | None) -> Iterator[str]:
    for row in settings:
        if row["mean"] is None:
            yield f"{row['setting'] or 'made'}: {row['n']} trained; there is no dev to score on"
            continue
        spread = f" ± {row['deviation']:.4f}" if row["deviation"] is not None else ""
        star = " (best)" if len(settings) > 1 and row["setting"] == best else ""
        what = f"{row['setting']}: " if row["setting"] else ""
        yield f"{what}strict F1 on dev {row['mean']:.4f}{spread} ({row['n']} trained){star}"
