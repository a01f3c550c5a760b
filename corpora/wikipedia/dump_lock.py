"""``WIKI-DATE.lock.json``: which files of a dump were fetched, from where, with which hashes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from pathlib import Path

from corpora.datasets.shards import write_json
from corpora.errors import DamagedDatasetError
from corpora.runs.build import sync_folder
from corpora.system.files import is_one_plain_name
from corpora.system.parsing import parse_json
from corpora.wikipedia.dump_status import DumpRun, Part

_PART = tuple(field.name for field in fields(Part))


def lock_path(folder: Path, *, wiki: str, date: str) -> Path:
    """Where the lock of a run lies."""
    return folder / f"{wiki}-{date}.lock.json"


def write_lock(path: Path, run: DumpRun, sha256: Mapping[str, str], *, mirror: str) -> None:
    """Write down what was fetched: the same for the same run, whenever it is fetched."""
    files = [
        {name: getattr(part, name) for name in _PART} | {"sha256": sha256[part.name]}
        for part in run.parts
    ]
    about = {"wiki": run.wiki, "date": run.date, "mirror": mirror, "jobs": dict(run.jobs)}
    write_json(path, about | {"files": files, "excluded": list(run.excluded)})
    sync_folder(path.parent)


def read_lock(path: Path, *, jobs: Sequence[str], exclude: Sequence[str]) -> DumpRun | None:
    """Read a lock; None where there is none, or one of other jobs or other files of them.

    Raises ``DamagedDatasetError`` where it is not what ``write_lock`` writes.
    """
    try:
        about = parse_json(path.read_text(encoding="utf-8"))
        parts = tuple(Part(**{name: file[name] for name in _PART}) for file in about["files"])
        run = DumpRun(about["wiki"], about["date"], about["jobs"], parts, tuple(about["excluded"]))
        for part in parts:
            if not is_one_plain_name(part.name):
                raise ValueError(f"{part.name!r} is no name of a file")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedDatasetError(
            f"{path}: damaged ({error!r}). Take it away; the files are checked again."
        ) from error
    names = {*run.excluded, *(part.name for part in run.parts)}
    excluded = {name for name in names if any(fnmatchcase(name, e) for e in exclude)}
    is_same = list(run.jobs) == list(jobs) and set(run.excluded) == excluded
    return run if is_same else None
