"""What came of a run: the score of each trial on dev, the mean of each setting, the best one."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corpora.datasets.shards import write_json
from corpora.errors import CorpusError
from corpora.system.parsing import parse_json
from modeling.config import ConfigError
from modeling.finetune.trials import Trial
from modeling.models.tagging import TAGGER_FILE
from modeling.tagging_config import TaggerConfig

SUMMARY: Final = "summary.json"
MANIFEST: Final = "run.json"


@dataclass(frozen=True, slots=True)
class TaggerFolder:
    """A tagger that a run made."""

    path: Path
    name: str
    """Of its trial: ``seed-1``; empty for a tagger that stands alone."""
    setting: str = ""


def write_summary(output: Path, trials: Sequence[Trial]) -> tuple[Path, list[str]]:
    """Write ``summary.json``; returns its path, and what a person wants to know in lines."""
    rows = [_row(output, trial) for trial in trials]
    settings = [_sum_up(setting, rows) for setting in dict.fromkeys(row["setting"] for row in rows)]
    best = _best(settings)
    chosen = max(
        (row for row in rows if row["setting"] == best),
        key=lambda row: row["strict_f1"] or 0.0,
        default={"name": None},
    )
    path = output / SUMMARY
    write_json(
        path,
        {"trials": rows, "settings": settings, "best": best, "tagger": chosen["name"]},
    )
    return path, list(_lines(settings, best))


def _best(settings: Sequence[dict[str, Any]]) -> str | None:
    """The setting with the best mean; None where there are several without scores."""
    if len(settings) > 1 and any(row["mean"] is None for row in settings):
        return None
    best = max(settings, key=lambda row: row["mean"] or 0.0)
    return str(best["setting"])


def _row(output: Path, trial: Trial) -> dict[str, Any]:
    made = read_manifest(output / trial.name / "final")
    return {
        "name": trial.name,
        "setting": trial.setting,
        "seed": trial.config.training.seed,
        "fold": trial.fold.number if trial.fold else None,
        "epoch": made["dev"].get("epoch"),
        "strict_f1": made["dev"].get("strict_f1"),
    }


def _sum_up(setting: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    own = [row["strict_f1"] for row in rows if row["setting"] == setting]
    scores = [score for score in own if score is not None]
    return {
        "setting": setting,
        "n": len(own),
        "mean": statistics.fmean(scores) if scores else None,
        "deviation": statistics.stdev(scores) if len(scores) > 1 else None,
    }


def _lines(settings: Sequence[dict[str, Any]], best: str | None) -> Iterator[str]:
    for row in settings:
        if row["mean"] is None:
            yield f"{row['setting'] or 'made'}: {row['n']} trained; there is no dev to score on"
            continue
        spread = f" ± {row['deviation']:.4f}" if row["deviation"] is not None else ""
        star = " (best)" if len(settings) > 1 and row["setting"] == best else ""
        what = f"{row['setting']}: " if row["setting"] else ""
        yield f"{what}strict F1 on dev {row['mean']:.4f}{spread} ({row['n']} trained){star}"


def has_tagger(path: Path) -> bool:
    """Whether there is a tagger, or a finished run of some."""
    folders = (path, path / "final")
    return (path / SUMMARY).is_file() or any((f / TAGGER_FILE).is_file() for f in folders)


def find_taggers(path: Path) -> list[TaggerFolder]:
    """The taggers of a run, of all settings, in the order of ``summary.json``; or the one there is.

    Raises ``CorpusError`` where there is none, or one of them is not finished.
    """
    for folder in (path, path / "final"):
        if (folder / TAGGER_FILE).is_file():
            read_settings(folder)
            return [TaggerFolder(folder, "")]
    taggers = [
        TaggerFolder(path / row["name"] / "final", row["name"], row["setting"])
        for row in _read(path)["trials"]
    ]
    for tagger in taggers:
        if not (tagger.path / TAGGER_FILE).is_file():
            raise CorpusError(
                f"{tagger.path}: no tagger ({TAGGER_FILE}), though {path / SUMMARY} names it. It "
                "is being trained anew: run the command of modeling.finetune again."
            )
        read_settings(tagger.path)
    return taggers


def read_settings(folder: Path) -> TaggerConfig:
    """Those of a tagger; ``CorpusError`` where they are damaged."""
    try:
        return TaggerConfig.load(folder / TAGGER_FILE)
    except ConfigError:
        raise
    except (OSError, ValueError, AttributeError) as error:
        raise _damaged(folder / TAGGER_FILE, error) from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """From what and how a tagger was made; ``CorpusError`` where that is missing or damaged."""
    path = folder / MANIFEST
    try:
        read = dict(parse_json(path.read_text(encoding="utf-8")))
        if lacking := {"config", "examples"} - read.keys():
            raise ValueError(f"without {', '.join(sorted(lacking))}")
        return read
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(f"{path}: missing or damaged ({error}). Copy the whole tagger again.")


def best_taggers(path: Path) -> list[TaggerFolder]:
    """Those of the setting that is best on dev: one for each seed or fold.

    Raises ``CorpusError`` where there are several settings, and no dev has told which is the best.
    """
    taggers = find_taggers(path)
    if len(taggers) == 1:
        return taggers
    best = _read(path)["best"]
    if best is None:
        raise CorpusError(
            f"{path}: several settings were tried, and none is the best, for there was no dev to "
            "score on. Evaluate them all (--every-setting), or name one of the folders in it."
        )
    return [tagger for tagger in taggers if tagger.setting == best]


def find_tagger(path: Path) -> TaggerFolder:
    """The one tagger to use: of the best setting, the best on dev."""
    taggers = find_taggers(path)
    if len(taggers) == 1:
        return taggers[0]
    best_taggers(path)
    name = _read(path)["tagger"]
    return next(tagger for tagger in taggers if tagger.name == name)


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(parse_json((path / SUMMARY).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise CorpusError(
            f"{path}: no tagger ({TAGGER_FILE}), nor a finished run of modeling.finetune "
            f"({SUMMARY}). Name the --output of one."
        ) from None
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path / SUMMARY}: not readable ({error}).") from error
