"""The choice of versions to keep in a store: the current one, the last ones, and what models need.

The manifests of a model (``settings.json``, ``run.json``) and of a dataset (``dataset.json``) hold
hashes of what it was made from. These hashes are followed through all shelves of a store: from a
model to its examples, from the examples to the vocabulary, and from both to their documents. If
several versions of a shelf have the same needed file, such as a tokenizer, only one is kept for it.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.datasets.shards import datasets_in, read_description
from corpora.errors import CorpusError, DamagedDatasetError, UsageError
from corpora.runs.journal import has_files
from corpora.runs.plan import fingerprint_of
from corpora.store.versions import (
    check_published,
    current,
    history,
    hold,
    remove,
    sizes,
    version_names,
)
from corpora.system.files import sha256_of
from corpora.system.parsing import parse_json

MANIFESTS = ("settings.json", "run.json", "dataset.json")
_SHA256 = re.compile(r'"([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class Fate:
    """The decision about a version: whether it is kept, and why."""

    version: str
    reason: str
    """The reason why the version is kept; empty: it is removed."""
    n_bytes: int


def prune(
    shelf: Path, *, keep: int, keep_for: Sequence[Path] = (), is_dry_run: bool = False
) -> list[Fate]:
    """Remove versions of a shelf that nobody needs; return the fate of each.

    Kept are the current version, the ``keep`` versions that were published last, and versions that
    the store did not publish. Kept are also versions that a manifest below one of ``keep_for``
    names, directly or through other datasets of the store, and those that a link among the versions
    of the store leads to. Raises ``CorpusError`` before anything is removed.
    """
    if keep < 1:
        raise UsageError(f"--keep {keep}: must be at least 1.")
    check_published(shelf)
    with hold(shelf):
        there, known = sizes(shelf), set(history(shelf))
        in_use = current(shelf).name
        store = shelf.absolute().parent  # absolute, because `.` has no parent
        needed, linked, here = needed_by(keep_for, store), _linked(store), shelf.resolve()
        fates = []
        last = [name for name in there if name in known][-keep:]
        for name, n_bytes in there.items():
            why = {
                "current": name == in_use,
                "one of the last": name in last,
                needed.get((shelf / name).resolve(), ""): True,
                linked.get(here / name, ""): True,
                "not published by the store": name not in known,
            }
            reason = next((reason for reason, holds in why.items() if reason and holds), "")
            fates.append(Fate(name, reason, n_bytes))
        if not is_dry_run:
            for fate in fates:
                if not fate.reason:
                    remove(shelf, fate.version)
    return fates


def _linked(store: Path) -> dict[Path, str]:
    """Map the targets of versions of a store that are links to the reason to keep them."""
    links = [
        shelf / name
        for shelf in sorted(store.iterdir())
        if shelf.is_dir()
        for name in version_names(shelf)
        if (shelf / name).is_symlink()
    ]
    return {link.resolve(): f"{link} leads to it" for link in links}


def needed_by(runs: Sequence[Path], store: Path) -> dict[Path, str]:
    """Find the versions of all shelves of a store that runs need; map them to the reason.

    Raises ``CorpusError`` for a run without a manifest, or for a run that names neither anything in
    the store nor another of the ``runs``: its needs are unknown.
    """
    shelves = [
        [(shelf / name).resolve() for name in version_names(shelf)]
        for shelf in sorted(store.iterdir())
        if shelf.is_dir()
    ]
    hashes = {version: hashes_of(version) for versions in shelves for version in versions}
    named = {run: named_by(run) for run in runs}
    for run in runs:
        others = [*hashes.values(), *(hashes_of(other) for other in runs if other != run)]
        if not any(named[run] & other for other in others):
            raise CorpusError(
                f"{run}: names no version in {store}, so what it was made from is not known there. "
                "Give the dataset that it was trained on to --keep-for, too, or leave it out. If "
                "that dataset was removed by hand, bring it back, or remove this folder, too."
            )
    needs = _Needs(shelves, hashes)
    for run in runs:
        needs.add(run, named[run])
    return needs.followed()


class _Needs:
    """A search from needed hashes to the versions that have them, and to the hashes these name."""

    def __init__(self, shelves: Sequence[Sequence[Path]], hashes: Mapping[Path, set[str]]) -> None:
        self._shelves, self._hashes = shelves, hashes
        # Pairs of who needs a hash, and the versions of a shelf that have it, the newest last:
        # `_sure` where there is only one such version, `_any` where there are several.
        self._sure: list[tuple[Path, list[Path]]] = []
        self._any: list[tuple[Path, list[Path]]] = []

    def add(self, who: Path, wanted: set[str]) -> None:
        """Note what a run or a version needs, except for what it contains."""
        own = {who.resolve(), *who.resolve().parents}
        for hash_ in sorted(wanted):
            for versions in self._shelves:
                having = [version for version in versions if hash_ in self._hashes[version]]
                if having and own.isdisjoint(having):
                    (self._any if having[1:] else self._sure).append((who, having))

    def followed(self) -> dict[Path, str]:
        """Return all versions that are needed, directly or not, each with the reason."""
        needed: dict[Path, str] = {}
        while self._sure or self._any:
            who, having = (self._sure or self._any).pop()
            if needed.keys().isdisjoint(having):
                needed[having[-1]] = f"needed by {who}"
                self.add(having[-1], inputs_of(having[-1]))
        return needed


def named_by(run: Path) -> set[str]:
    """Collect all SHA-256 in the manifests of a run or of a folder of runs, or in one file."""
    files = [run] if run.is_file() else list(_manifests(run))
    if not files:
        raise CorpusError(
            f"{run}: has no {' nor '.join(MANIFESTS)}, so nobody knows what it needs. Check the "
            "path; nothing was removed."
        )
    return set[str]().union(*(_hashes_in(_read(file)) for file in files))


def _manifests(run: Path) -> Iterator[Path]:
    """Find the manifests below a folder, also through links: a run may lie on another disk."""

    def fail(error: OSError) -> None:
        raise error  # a run that cannot be read may need any version

    seen = set()
    for folder, inside, names in os.walk(run, followlinks=True, onerror=fail):
        if (real := os.path.realpath(folder)) in seen:
            inside.clear()
            continue
        seen.add(real)
        inside.sort()
        yield from (Path(folder, name) for name in MANIFESTS if name in names)


def hashes_of(version: Path) -> set[str]:
    """Collect the hashes by which others may name a version, its datasets and its files."""
    hashes = set()
    for folder in datasets_in(version):
        description = read_description(folder)
        shards = description["shards"]
        hashes |= {shard["sha256"] for shard in shards if shard["rows"]}
        hashes |= set(description.get("forgotten", {}).get("before", ()))
        hashes |= {
            sha256_of(folder / "dataset.json"),
            str(description["plan"].get("fingerprint")),
            fingerprint_of({shard["name"]: shard["sha256"] for shard in shards}),
        }
    if (version / "run.json").exists():
        run = _read(version / "run.json")
        if not has_files(run):
            raise DamagedDatasetError(
                f"{version / 'run.json'}: damaged (it lists no files). Nothing was removed."
            )
        files = run["files"]
        names = (name for name in files if Path(name).suffix != ".jsonl" and "shard-" not in name)
        hashes |= {files[name] for name in names}
    return hashes


def inputs_of(version: Path) -> set[str]:
    """Collect the hashes in the plans of a version: inputs, auxiliary files, vocabularies."""
    hashes: set[str] = set()
    for folder in datasets_in(version):
        plan = read_description(folder)["plan"]
        own = {"fingerprint", "code", "libraries"}
        hashes |= _hashes_in({name: plan[name] for name in plan if name not in own})
    return hashes


def _hashes_in(value: object) -> set[str]:
    """Find all strings in a JSON value that look like a SHA-256."""
    return {*_SHA256.findall(json.dumps(value))}


def _read(file: Path) -> Any:  # Any: as ``parse_json``
    try:
        return parse_json(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedDatasetError(f"{file}: damaged ({error}). Nothing was removed.") from error
