"""What lies in an output folder of a run: what is in force, and what runs have put there."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from corpora.runs.plan import fingerprint_of
from corpora.system.files import check_plain
from corpora.system.parsing import parse_json


class RunRecord(TypedDict, total=False):
    """What ``run.json`` says; empty where there is none that is whole."""

    pipeline: str
    fingerprint: str
    reused: dict[str, int]
    files: dict[str, str]
    """Path relative to the output, to SHA-256."""
    sha256: str


def read_run(output: Path) -> RunRecord:
    """``run.json``, or nothing where there is none that is whole.

    Raises ``DamagedDatasetError`` where it names what is no file of the output.
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
    """Whether JSON that was read is like a ``run.json``."""
    return isinstance(run, dict) and isinstance(run.get("files"), dict)


def sealed(run: Mapping[str, object]) -> dict[str, object]:
    """``run.json`` with a hash of itself; what it says under ``reused`` makes no difference."""
    return {**run, "sha256": hash_of(run)}


def is_whole(run: RunRecord) -> bool:
    """Whether ``run.json`` is as it was written; earlier versions wrote no hash."""
    return run.get("sha256", "") in {"", hash_of(run)}


def hash_of(run: Mapping[str, object]) -> str:
    """Hash what ``run.json`` says, but for what makes no difference."""
    return fingerprint_of(
        {name: said for name, said in run.items() if name not in {"reused", "sha256"}}
    )


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
