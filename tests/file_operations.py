"""What this process does to the files of a folder, in order: to be read, or to end it on the way.

Operations are reported before they are done: opening to write, ``fsync``, renaming, making, linking
and removing. Operations of C libraries on files are not seen.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_MARKERS = ("dataset.json", "run.json", "current")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NAMES = {
    "os.link": "link",
    "os.mkdir": "mkdir",
    "os.remove": "remove",
    "os.rename": "rename",
    "os.rmdir": "rmdir",
    "os.symlink": "link",
    "os.truncate": "truncate",
    "os.utime": "utime",
    "fcntl.flock": "lock",
}
_TWO_PATHS = {"os.link", "os.rename", "os.symlink"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on a file or folder."""

    name: str
    path: Path
    """What is there afterwards, or was before: absolute."""
    source: Path | None = None
    """Of a rename or link: the other name."""


_observers: list[Callable[[Operation], None]] = []
_is_installed = False


@contextmanager
def watched(folder: Path, report: Callable[[Operation], None]) -> Iterator[None]:
    """Report each operation in a folder, until the end; those of other threads, too."""
    root = Path(os.path.realpath(folder))

    def report_ours(operation: Operation) -> None:
        if any(p and p.is_relative_to(root) for p in (operation.path, operation.source)):
            report(operation)

    _install()
    _observers.append(report_ours)
    try:
        yield
    finally:
        _observers.remove(report_ours)


@contextmanager
def recorded(folder: Path) -> Iterator[list[Operation]]:
    """List the operations in a folder."""
    operations: list[Operation] = []
    with watched(folder, operations.append):
        yield operations


@contextmanager
def killed_at(number: int, folder: Path, *, counter: Path) -> Iterator[None]:
    """Kill this process instead of the operation of that number in a folder, counted from 1.

    Those of processes forked in between count, too: ``counter`` is a file, empty at first, that
    has a byte for each operation.
    """
    launcher = os.getpid()
    counting = os.open(counter, os.O_WRONLY | os.O_APPEND)

    def count(_: Operation) -> None:
        os.write(counting, b".")
        if os.fstat(counting).st_size >= number:
            os.kill(launcher, signal.SIGKILL)

    try:
        with watched(folder, count):
            yield
    finally:
        os.close(counting)


def _install() -> None:
    """Install what reports operations, once; an audit hook stays as long as the process."""
    global _is_installed  # noqa: PLW0603 - there is one process
    if _is_installed:
        return
    _is_installed = True
    fsync = os.fsync

    def observed_fsync(descriptor: int) -> None:
        _notify("fsync", [_path_of(descriptor)])
        fsync(descriptor)

    os.fsync = observed_fsync
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if not _observers:
        return
    if event == "open":
        if arguments[2] and arguments[2] & _WRITING:
            _notify("open", [_path_of(arguments[0])])
    elif event in _NAMES:
        n = 2 if event in _TWO_PATHS else 1
        folders = arguments[n:] if event in _TWO_PATHS | {"os.remove", "os.rmdir"} else [-1]
        if event == "os.mkdir":
            folders = arguments[2:]
        _notify(_NAMES[event], [_path_of(p, folders[-1]) for p in arguments[:n]])


def _notify(name: str, paths: Sequence[Path]) -> None:
    if any(path is None for path in paths):
        return
    if name in {"remove", "rmdir", "mkdir"} and os.path.lexists(paths[0]) == (name == "mkdir"):
        return  # nothing will change
    source = paths[0] if len(paths) == 2 else None
    operation = Operation(name, paths[-1], source)
    for report in _observers:
        report(operation)


def _path_of(path: object, folder: object = -1) -> Path | None:
    """Return the absolute path of a name (in an open folder, too) or an open file; or ``None``."""
    if hasattr(path, "fileno"):
        path = path.fileno()
    if isinstance(path, int):
        return _path_of_descriptor(path)
    inside = _path_of_descriptor(folder) if isinstance(folder, int) and folder >= 0 else None
    name = os.path.join(inside or Path.cwd(), os.fsdecode(path))  # noqa: PTH118 - as it stands
    parent, last = os.path.split(os.path.normpath(name))
    return Path(os.path.realpath(parent), last)


def _path_of_descriptor(descriptor: int) -> Path | None:
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:
        return None


def unsafe(operations: Sequence[Operation], root: Path) -> list[str]:
    """List where a kill or a power cut could leave data that look whole and are not.

    A marker is a file that says that others are whole: ``run.json`` all below its folder,
    ``dataset.json`` shards and rejected records, ``current`` of a shelf its versions.

    - What gets its name by a rename, or is inside a folder that does, is on the disk before.
    - When a marker gets its name, so are all names in its folder and below.
    - While it has its name, nothing that it vouches for changes.
    - That it is gone is on the disk before anything else in its folder changes.
    - After the last operation everything is on the disk.

    Files with hidden names, and all in folders with one, vouch for nothing.
    """
    disk = _Disk(root)
    for operation in operations:
        disk.change(operation)
    disk.settle(root / "the end")
    return disk.found


class _Disk:
    """What of a folder is on the disk for good, after each operation."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.found: list[str] = []
        self.files: set[Path] = set()  # opened to be written, and not on the disk since
        self.folders: dict[Path, bool] = {}  # with new names; whether a marker is gone from it
        self.in_force: set[Path] = set()  # markers

    def change(self, operation: Operation) -> None:
        path, source = operation.path, operation.source
        match operation.name:
            case "fsync":
                self.files.discard(path)
                self.folders.pop(path, None)
            case "open":
                self._check_markers(path)
                self.files.add(path)
            case "rename":
                for name in (path, source):
                    self._check_markers(name)
                self._rename(source, path)
            case "remove" | "rmdir" | "mkdir" | "link":
                self._check_markers(path)
                self.in_force.discard(path)
                is_gone = operation.name == "remove" and path.name in _MARKERS
                self.folders[path.parent] = self.folders.get(path.parent, False) or is_gone

    def _rename(self, source: Path, path: Path) -> None:
        if not self._is_hidden(path):
            for other in sorted({*self.files, *self.folders}):
                if other.is_relative_to(source):
                    self._find(other, f"not on the disk before it is renamed to {path.name}")
        self.files = {file for file in self.files if not file.is_relative_to(source)}
        self.folders = {f: gone for f, gone in self.folders.items() if not f.is_relative_to(source)}
        if path.name in _MARKERS:
            self.settle(path)
            self.in_force.add(path)
        for folder in (source.parent, path.parent):
            self.folders.setdefault(folder, False)

    def _check_markers(self, path: Path) -> None:
        """Report a change of a file that a marker vouches for, or did until a moment ago."""
        if self._is_hidden(path) or path.name in _MARKERS:
            return
        if self.folders.get(path.parent):
            self._find(path, "changes before it is on the disk that the marker is gone")
        for marker in sorted(self.in_force):
            if _vouches(marker, path):
                self._find(path, f"changes while {marker.relative_to(self.root)} is there")

    def settle(self, marker: Path) -> None:
        """Report what a marker vouches for and is not on the disk."""
        if self._is_hidden(marker):
            return
        for path in sorted({*self.files, *self.folders}):
            if path.is_relative_to(marker.parent) and not self._is_hidden(path):
                self._find(path, f"not on the disk before {marker.relative_to(self.root)}")

    def _find(self, path: Path, what: str) -> None:
        self.found.append(f"{path.relative_to(self.root)}: {what}")

    def _is_hidden(self, path: Path) -> bool:
        inside = path.relative_to(self.root) if path.is_relative_to(self.root) else path
        return any(part.startswith(".") for part in inside.parts)


def _vouches(marker: Path, path: Path) -> bool:
    if marker.name == "dataset.json":
        is_data = path.name.startswith("shard-") or path.name == "rejected.jsonl"
        return path.parent == marker.parent and is_data
    return marker.name == "run.json" and path.is_relative_to(marker.parent)
