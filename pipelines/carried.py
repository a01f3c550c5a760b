"""Files that travel with a run: those of this installation, which a worker may have elsewhere."""

import os
import shutil
import sysconfig
from dataclasses import replace
from functools import cache
from pathlib import Path

import corpora
from corpora.runs.plan import InputFile, Unit


class Carrier:
    """Copies what units read of this installation (an edition, a dictionary) into a folder.

    All machines see the output folder under one path, but not this installation. Files elsewhere
    are the user's, who says on which file system they lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._copies: dict[str, str] = {}

    def __call__(self, unit: Unit) -> Unit:
        """The unit, with the paths of the copies."""
        return replace(
            unit, auxiliary={name: self.carried(file) for name, file in unit.auxiliary.items()}
        )

    def carried(self, file: InputFile) -> InputFile:
        """The file, with the path of its copy where it is one of this installation."""
        if not _is_installed(file.path):
            return file
        if file.path not in self._copies:
            self._copies[file.path] = str(_copy(file, self.folder / file.sha256[:16]))
        return replace(file, path=self._copies[file.path])


def _copy(file: InputFile, folder: Path) -> Path:
    """Copy in one atomic step, with the time of the last change, which units compare."""
    source = Path(file.path)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source.name
    temporary = folder / f".tmp-{source.name}"
    shutil.copyfile(source, temporary)
    os.utime(temporary, ns=(file.changed, file.changed))
    temporary.rename(path)
    return path


@cache
def _roots() -> tuple[Path, ...]:
    """Where this installation lies: our own code, and the libraries."""
    libraries = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return tuple(Path(path).resolve() for path in (*corpora.__path__, *libraries))


def _is_installed(path: str) -> bool:
    return any(Path(path).resolve().is_relative_to(root) for root in _roots())
