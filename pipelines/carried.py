"""Copies of the files of this installation that units read, for workers on other machines."""

import os
import shutil
import sysconfig
from dataclasses import replace
from functools import cache
from pathlib import Path

import corpora
from corpora.runs.plan import InputFile, Unit
from corpora.runs.work_directory import WorkDirectory
from corpora.system.buckets import Bucket, is_url
from corpora.system.staging import url_of
from corpora.system.writing import appearing


class Carrier:
    """A copier of the installation's files that units read (an edition, a dictionary).

    All machines see the output folder under one path, but not this installation. Files elsewhere
    belong to the user, who decides on which file system they lie. With an output in a bucket,
    workers on other machines see nothing else, so every local file is uploaded.
    """

    def __init__(self, work: WorkDirectory, *, is_elsewhere: bool) -> None:
        """Set up the copies; ``is_elsewhere``: workers may be on other machines."""
        self._work, self._is_elsewhere = work, is_elsewhere
        self._copies: dict[str, str] = {}

    def __call__(self, unit: Unit) -> Unit:
        """Return the unit with the paths of the copies."""
        if self._work.bucket is None:
            return unit
        return replace(unit, inputs=tuple(map(self.carried, unit.inputs)))

    def carried(self, file: InputFile) -> InputFile:
        """Return the file with the path under which workers find it; copy it if necessary."""
        bucket = self._work.bucket
        if is_url(file.path):  # workers fetch it themselves
            return file
        if not (self._is_elsewhere if bucket else _is_installed(file.path)):
            return file
        if file.path not in self._copies:
            self._copies[file.path] = (
                url_of(file.path) or _put(bucket, file)
                if bucket
                else str(_copy(file, self._work.carried))
            )
        return replace(file, path=self._copies[file.path])


def _put(bucket: Bucket, file: InputFile) -> str:
    """Upload a file of this machine beside the work of the run; return its address."""
    name = f"carried/{file.sha256}/{Path(file.path).name}"
    bucket.put(name, Path(file.path))
    return bucket.url_of(name)


def _copy(file: InputFile, carried: Path) -> Path:
    """Copy a file in one atomic step, with its time of change, which units check."""
    source, folder = Path(file.path), carried / file.sha256[:16]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source.name
    with appearing(path, is_durable=False) as temporary:
        shutil.copyfile(source, temporary)
        os.utime(temporary, ns=(file.changed, file.changed))
    return path


@cache
def _roots() -> tuple[Path, ...]:
    """Return the folders of this installation: our code and the libraries."""
    libraries = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return tuple(Path(path).resolve() for path in (*corpora.__path__, *libraries))


def _is_installed(path: str) -> bool:
    return any(Path(path).resolve().is_relative_to(root) for root in _roots())
