"""Runs of a dump: whether they are complete, and the files that they consist of.

A mirror has a folder ``WIKI/DATE/`` for each run. ``dumpstatus.json`` in it tells for each job
whether it is done, and the size and hashes of its files. ``WIKI/latest/`` is never read: while a
run is under way, its files are replaced one by one. ``WIKI-DATE.lock.json`` records which files of
a run were fetched, from where, and with which hashes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from corpora.errors import CorpusError, DamagedDatasetError, UsageError
from corpora.system.files import is_one_plain_name
from corpora.system.parsing import parse_json, typed

DONE = "done"
_DATE = re.compile(r"""href=["']?(?:[^"'<>\s]*/)?(\d{8})/?["'\s>]""", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MAX_BYTES = 2**63 - 1  # no file on any disk is larger
_SHA1 = re.compile(r"[0-9a-f]{40}")
Sizes = Callable[[str], int]
"""A function that asks a server for the size of a file."""


class NotCompleteError(CorpusError):
    """A run cannot be used, or not yet: a job is not done, or a file has no hash."""


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file of a run."""

    name: str
    job: str
    url: str
    size: int
    """The size in bytes."""
    sha1: str
    """Empty for a file of rendered pages, for which servers promise no hash: it is whole if it has
    the size, and its archive ends."""


@dataclass(frozen=True, slots=True)
class DumpRun:
    """A run whose jobs are done."""

    wiki: str
    date: str
    jobs: Mapping[str, str]
    """The time of each job's last change, as the run gives it, by job."""
    parts: tuple[DumpFile, ...]
    excluded: tuple[str, ...]
    """The names of the jobs' files that are left out on purpose."""


def find_dates(listing: str) -> list[str]:
    """Find the dates of the runs in a mirror's HTML page of a wiki; the newest first."""
    return sorted(set(_DATE.findall(listing)), reverse=True)


def read_status(
    data: bytes, wiki: str, date: str, *, mirror: str, jobs: Sequence[str], exclude: Sequence[str]
) -> DumpRun:
    """Read a ``dumpstatus.json``.

    Raises ``NotCompleteError`` where a job is not done or a file has no size or SHA-1. Raises
    ``UsageError`` for a job that the run does not have, and where ``exclude`` (patterns over names)
    leaves no file. Raises ``CorpusError`` where the data cannot be read.
    """
    where = f"{mirror}/{wiki}/{date}/dumpstatus.json"
    known = _jobs(data, where)
    for name in jobs:
        if name not in known:
            raise UsageError(f"{where}: has no job {name}. It has: {', '.join(sorted(known))}.")
        if (status := known[name].get("status")) != DONE:
            raise NotCompleteError(f"{where}: {name} is not done ({status}).")
    parts = [
        part
        for job in jobs
        for part in _parts(known[job], job, where=where, folder=f"{mirror}/{wiki}/{date}")
    ]
    for part in parts:
        if not part.name.startswith(f"{wiki}-{date}-"):
            raise CorpusError(f"{where}: {part.name!r} is not a name of this run.")
    excluded = _matching([part.name for part in parts], exclude)
    kept = {part.name: part for part in parts if part.name not in excluded}
    if not kept:
        raise UsageError(f"--jobs {' '.join(jobs)}: has no file but those left out by --exclude.")
    updated = {job: str(known[job].get("updated", "")) for job in jobs}
    ordered = tuple(kept[name] for name in sorted(kept))
    return DumpRun(wiki, date, updated, ordered, tuple(sorted(excluded)))


def read_listing(
    listing: str, wiki: str, date: str, *, folder: str, jobs: Sequence[str], size_of: Sizes
) -> DumpRun:
    """Read the listing of a run of rendered pages; ``jobs`` are namespaces: ``NS0``.

    Raises ``NotCompleteError`` where a namespace of the wiki is not there.
    """
    parts = []
    for job in jobs:
        name = f"{wiki}-{job}-{date}-ENTERPRISE-HTML.json.tar.gz"
        if name not in listing:
            raise NotCompleteError(f"{folder}/: has no {name}.")
        parts.append(DumpFile(name, job, f"{folder}/{name}", size_of(f"{folder}/{name}"), ""))
    return DumpRun(wiki, date, dict.fromkeys(jobs, ""), tuple(parts), ())


def _matching(names: Iterable[str], patterns: Sequence[str]) -> set[str]:
    """Select the names that match a pattern."""
    return {name for name in names if any(fnmatchcase(name, each) for each in patterns)}


def _jobs(data: bytes, where: str) -> dict[str, Mapping[str, object]]:
    try:
        jobs = parse_json(data)["jobs"]
        return {str(name): dict(job) for name, job in jobs.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorpusError(
            f"{where}: is not a status of a run ({error}). Choose another --mirror or --date."
        ) from error


def _parts(job: Mapping[str, object], name: str, *, where: str, folder: str) -> Iterator[DumpFile]:
    files = job.get("files")
    if not isinstance(files, dict) or not files:
        raise NotCompleteError(f"{where}: {name} is done, but lists no files.")
    for file, about in files.items():
        if not _NAME.fullmatch(file):
            raise CorpusError(f"{where}: {file!r} is no name of a file. Choose another --mirror.")
        size = about.get("size") if isinstance(about, dict) else None
        sha1 = about.get("sha1") if isinstance(about, dict) else None
        if type(size) is not int or size <= 0 or not _SHA1.fullmatch(str(sha1)):
            raise NotCompleteError(f"{where}: {file} has no size or no SHA-1 yet.")
        if size > _MAX_BYTES:
            raise CorpusError(
                f"{where}: {file} has a size that no file has. Choose another --mirror."
            )
        yield DumpFile(file, name, f"{folder}/{file}", size, str(sha1))


def lock_path(folder: Path, *, wiki: str, date: str) -> Path:
    """Return the path of a run's lock."""
    return folder / f"{wiki}-{date}.lock.json"


def write_lock(path: Path, run: DumpRun, sha256: Mapping[str, str], *, mirror: str) -> None:
    """Write the lock of a run; its content does not depend on the time of the download."""
    files = [asdict(part) | {"sha256": sha256[part.name]} for part in run.parts]
    about = {"wiki": run.wiki, "date": run.date, "mirror": mirror, "jobs": dict(run.jobs)}
    from corpora.system.writing import sync_folder, write_json

    write_json(path, about | {"files": files, "excluded": list(run.excluded)})
    sync_folder(path.parent)


def read_lock(path: Path, *, jobs: Sequence[str], exclude: Sequence[str]) -> DumpRun | None:
    """Read a lock; None if there is none, or if it lists other jobs or other files of them.

    Raises ``DamagedDatasetError`` for a file that ``write_lock`` did not write.
    """
    try:
        about = parse_json(path.read_text(encoding="utf-8"))
        parts = typed(tuple[DumpFile, ...], about["files"])
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
    excluded = _matching([*run.excluded, *(part.name for part in parts)], exclude)
    is_same = list(run.jobs) == list(jobs) and set(run.excluded) == excluded
    return run if is_same else None
