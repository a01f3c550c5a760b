"""What lies in an output folder of a run: what is in force, and what runs have put there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.runs.plan import fingerprint_of
from corpora.system.files import check_plain
from corpora.system.parsing import parse_json


def read_run(output: Path) -> dict[str, Any]:
    """``run.json``, or nothing where there is none that is whole.

    Raises ``DamagedDatasetError`` where it names what is no file of the output.
    """
    try:
        run = parse_json((output / "run.json").read_text(encoding="utf-8"))
        if not isinstance(run, dict) or not isinstance(run["files"], dict):
            return {}
    except (OSError, ValueError, KeyError):
        return {}
    for name in run["files"]:
        check_plain(name, where=output / "run.json")
    return run if is_whole(run) else {}


def sealed(run: Mapping[str, Any]) -> dict[str, Any]:
    """``run.json`` with a hash of itself; what it says under ``reused`` makes no difference."""
    return {**run, "sha256": _hash_of(run)}


def is_whole(run: Mapping[str, Any]) -> bool:
    """Whether ``run.json`` is as it was written; earlier versions wrote no hash."""
    return run.get("sha256", "") in {"", _hash_of(run)}


def _hash_of(run: Mapping[str, Any]) -> str:
    return fingerprint_of({name: run[name] for name in run if name not in {"reused", "sha256"}})


def published_files(output: Path) -> list[str]:
    """Name the files of an output that a run made, relative to it."""
    return [*read_run(output).get("files", {}), "run.json"]


def names_of_runs(output: Path, journal: Path) -> set[str]:
    """Name what runs of pipelines have put into an output, killed ones too, or were about to.

    Raises ``DamagedDatasetError`` where that is said of what is no file of the output.
    """
    in_force = published_files(output) if "pipeline" in read_run(output) else []
    return {*in_force, *read_journal(journal)}


def read_journal(file: Path) -> list[str]:
    """Name what earlier runs have noted before they touched it; raises ``DamagedDatasetError``."""
    try:
        names = list(parse_json(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return []
    return [check_plain(name, where=file) for name in names]
