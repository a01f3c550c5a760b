"""What lies in an output folder of a run: what is in force, and what runs have put there."""

import json
from pathlib import Path
from typing import Any


def read_run(output: Path) -> dict[str, Any]:
    """``run.json``, or nothing where there is none that is whole."""
    try:
        run = json.loads((output / "run.json").read_text(encoding="utf-8"))
        return run if isinstance(run, dict) and isinstance(run["files"], dict) else {}
    except (OSError, ValueError, KeyError):
        return {}


def published_files(output: Path) -> list[str]:
    """Name the files of an output that a run made, relative to it."""
    return [*read_run(output).get("files", {}), "run.json"]


def names_in_force(output: Path) -> list[str]:
    """Name what ``run.json`` lists and a new run must take away: all but the data itself.

    Shards stay where they are, for those that are right are kept.
    """
    names = map(Path, read_run(output).get("files", {}))
    return [name.as_posix() for name in names if not name.name.startswith("shard-")]


def read_journal(file: Path) -> list[str]:
    """Name what earlier runs, killed ones too, have put in place or were about to."""
    try:
        return list(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return []
