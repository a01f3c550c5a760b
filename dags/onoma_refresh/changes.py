"""Detection of changes of an edition since it was last published or refused."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from glob import escape, glob
from pathlib import Path

from onoma_refresh.environment import without_airflow
from onoma_refresh.results import read_json, write_json
from onoma_refresh.settings import EditionEntry, RefreshSettings

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


def state_of(settings: RefreshSettings, edition: EditionEntry) -> str:
    """Hash all files of an edition, its description, and its options."""
    digest = hashlib.sha256(edition.model_dump_json().encode())
    for file in _files(settings, edition):
        with file.open("rb") as data:
            content = hashlib.file_digest(data, "sha256").hexdigest()
        digest.update(f"{file}\0{content}\n".encode())
    return digest.hexdigest()


def _files(settings: RefreshSettings, edition: EditionEntry) -> Iterator[Path]:
    """Find the files that the patterns of ``input`` match, but none of hidden folders (``.git``).

    Raises ``EditionError`` where there is none. The description of the edition is added.
    """
    files: set[str] = set()
    for pattern in edition.input:
        path = settings.folder / Path(pattern).expanduser()
        name = escape(str(path)) if path.exists() else str(path)
        names = glob(f"{name}/**" if path.is_dir() else name, recursive=True)  # noqa: PTH207
        files |= set(map(os.path.realpath, names))
    found = sorted(filter(os.path.isfile, files))
    if not found:
        raise EditionError(f"[[edition]] {edition.name}: no file is {' '.join(edition.input)}.")
    description = settings.folder / edition.edition
    yield from map(Path, found)
    if description.is_file():
        yield description


def was_seen(settings: RefreshSettings, name: str, state: str) -> bool:
    """Tell whether this state was published or refused before."""
    return read_json(_seen_file(settings, name)).get("state") == state


def mark_seen(settings: RefreshSettings, name: str, state: str, *, outcome: str) -> None:
    """Write down the outcome of a state, so that it is not tried again each hour."""
    write_json(_seen_file(settings, name), {"state": state, "outcome": outcome})


def _seen_file(settings: RefreshSettings, name: str) -> Path:
    return settings.work / "editions" / f"{name}.json"
