"""Files that users name: what is behind the name, and whose it is."""

import os
from collections.abc import Iterable
from pathlib import Path

from corpora.datasets.shards import write_text
from corpora.errors import UsageError
from corpora.runs.journal import published_files


def write_named(path: Path, lines: Iterable[str]) -> None:
    """Write a file that the user named, in one atomic step; behind a link, the file there.

    A pipe or a device gets the lines as they come: a rename would replace it (``/dev/null``).
    Raises ``UsageError`` as ``refuse_published``.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as file:
            file.writelines(lines)
        return
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    refuse_published(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, lines)


def refuse_published(path: Path) -> None:
    """Raise ``UsageError`` for a file that a run or a published version consists of."""
    for folder in path.absolute().parents[:2]:
        name = path.absolute().relative_to(folder).as_posix()
        if (folder / "run.json").is_file() and name in published_files(folder):
            raise UsageError(f"{path}: belongs to a run, as its run.json says. Name another place.")
