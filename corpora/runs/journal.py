"""Records of the files in an output folder: ``run.json``, and the journal of all runs' names."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from corpora.runs.plan import fingerprint_of
from corpora.system.files import check_plain
from corpora.system.parsing import parse_json, typed


class RunRecord(TypedDict, total=False):
    """The content of ``run.json``, which is written last; empty where it is missing or damaged."""

    pipeline: str
    fingerprint: str
    plan: str
    """The fingerprint of the plan before its inputs were read, which names the work directory."""
    reused: dict[str, int]
    files: dict[str, str]
    """Path of each published file, relative to the output, to its SHA-256."""
    sha256: str


def read_run(output: Path) -> RunRecord:
    """Read ``run.json``; return an empty record where it is missing or damaged.

    Raises ``DamagedDatasetError`` where it lists a name that is no plain file name in the output.
    """
    try:
        run: RunRecord = parse_json((output / "run.json").read_text(encoding="utf-8"))
        if not has_files(run):
            return {}
    except (OSError, ValueError):
        return {}
    for name in run["files"]:
        check_plain(name, where=output / "run.json")
    return run if is_whole(run) else {}


def has_files(run: object) -> bool:
    """Tell whether parsed JSON has the form of a ``run.json``: it maps names to hashes."""
    files = run.get("files") if isinstance(run, dict) else None
    return isinstance(files, dict) and all(isinstance(sha256, str) for sha256 in files.values())


def sealed(run: Mapping[str, object]) -> dict[str, object]:
    """Add a hash of itself to the content of ``run.json``; ``reused`` is not hashed."""
    return {**run, "sha256": hash_of(run)}


def is_whole(run: RunRecord) -> bool:
    """Tell whether ``run.json`` is as it was written."""
    return run.get("sha256") == hash_of(run)


def hash_of(run: Mapping[str, object]) -> str:
    """Hash the content of ``run.json`` without ``reused`` and ``sha256``."""
    return fingerprint_of(
        {name: said for name, said in run.items() if name not in {"reused", "sha256"}}
    )


def published_files(output: Path) -> list[str]:
    """List the files of an output that a run made, relative to the output."""
    return [*read_run(output).get("files", {}), "run.json"]


def names_of_runs(output: Path, journal: Path) -> set[str]:
    """List the files that pipeline runs, also killed ones, put into an output or were about to.

    Raises ``DamagedDatasetError`` for a listed name that is no plain file name in the output.
    """
    in_force = published_files(output) if "pipeline" in read_run(output) else []
    return {*in_force, *read_journal(journal)}


def read_journal(file: Path) -> list[str]:
    """Read the names that runs noted before they touched them; raises ``DamagedDatasetError``."""
    try:
        names = typed(list[str], parse_json(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return []
    return [check_plain(name, where=file) for name in names]
