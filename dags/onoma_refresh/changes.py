"""Detection of changes of an edition since it was last published or refused."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from glob import glob
from pathlib import Path

from onoma_refresh.environment import without_airflow
from onoma_refresh.results import write_json
from onoma_refresh.settings import Edition, Settings

_PULL_S = 900


class EditionError(Exception):
    """An edition that cannot be read now, but perhaps at the next try."""


def pull(checkout: Path) -> None:
    """Update a git checkout by fast-forward; never merges."""
    done = subprocess.run(
        ["git", "-C", str(checkout), "pull", "--ff-only", "--quiet"],  # noqa: S607
        capture_output=True,
        text=True,
        timeout=_PULL_S,
        env=without_airflow(),
        check=False,
    )
    if done.returncode:
        raise EditionError(f"{checkout}: git pull --ff-only: {done.stderr.strip()}")


def state_of(settings: Settings, edition: Edition) -> str:
    """Hash all files of an edition, its description, and its options."""
    digest = hashlib.sha256(json.dumps(asdict(edition), sort_keys=True, default=str).encode())
    for file in _files(settings, edition):
        with file.open("rb") as data:
            content = hashlib.file_digest(data, "sha256").hexdigest()
        digest.update(f"{file}\0{content}\n".encode())
    return digest.hexdigest()


def _files(settings: Settings, edition: Edition) -> Iterator[Path]:
    """Find the files that the patterns of ``input`` match, as the pipeline reads them.

    Raises ``EditionError`` where there is none. The description of the edition is added.
    """
    found: set[Path] = set()
    for pattern in edition.input:
        path = Path(os.path.abspath(settings.folder / Path(pattern).expanduser()))  # noqa: PTH100
        if path.is_dir():
            found |= set(_files_below(path))
        else:
            matches = [path] if path.is_file() else map(Path, glob(str(path), recursive=True))  # noqa: PTH207
            found |= {file for file in matches if file.is_file()}
    if not found:
        raise EditionError(f"[[edition]] {edition.name}: no file is {' '.join(edition.input)}.")
    description = settings.folder / edition.edition
    yield from sorted(found | ({description} if description.is_file() else set()))


def _files_below(folder: Path) -> Iterator[Path]:
    """Find all files below a folder, also through links, but not in hidden folders (``.git``)."""
    seen = set()
    for parent, inside, names in os.walk(folder, followlinks=True):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        if (real := os.path.realpath(parent)) in seen:
            inside.clear()
            continue
        seen.add(real)
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def was_seen(settings: Settings, name: str, state: str) -> bool:
    """Tell whether this state was published or refused before."""
    file = _seen_file(settings, name)
    return file.is_file() and json.loads(file.read_text(encoding="utf-8"))["state"] == state


def mark_seen(settings: Settings, name: str, state: str, *, outcome: str) -> None:
    """Write down the outcome of a state, so that it is not tried again each hour."""
    write_json(_seen_file(settings, name), {"state": state, "outcome": outcome})


def _seen_file(settings: Settings, name: str) -> Path:
    return settings.work / "editions" / f"{name}.json"
