"""Atomic writing of files: temporary names, renaming, fsync, hard links.

A file appears under its name when it is complete. What ``write_text`` and ``write_json`` wrote is
on the disk by then, and outlives a power cut; ``write_whole`` waits for the disk only if asked to.
"""

import errno
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

KEPT = 50
"""The number of characters at the end of a name that a temporary name has, which is longer."""
_TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{32}-.+", re.DOTALL)
_NO_LINK = {
    *(errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK),
    *(errno.ENOTSUP, errno.ENOSYS),  # file systems without links, such as mounted buckets
}


def temporary_path(path: Path) -> Path:
    """Make a unique name for a file until it is renamed.

    Files ``.tmp-*`` may be deleted when no run works. No other attempt has this name: a runner may
    try a unit again while the first attempt still works on another machine, where processes have
    the same numbers.
    """
    return path.with_name(f".tmp-{uuid.uuid4().hex}-{path.name[-KEPT:]}")


def is_temporary(path: Path) -> bool:
    """Tell by its name whether a file or folder was left half written by a killed process."""
    return bool(_TEMPORARY.fullmatch(path.name))


def write_text(path: Path, lines: Iterable[str]) -> None:
    """Write text in one atomic step: temporary name, fsync, rename; an error leaves no file."""
    temporary = temporary_path(path)
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        name_file(error, path, instead_of=temporary)
        raise


def write_json(path: Path, value: object) -> None:
    """Write indented JSON in one atomic step."""
    write_text(path, [json.dumps(value, ensure_ascii=False, indent=1), "\n"])


def write_whole(path: Path, data: bytes, *, is_durable: bool = False) -> None:
    """Write a file, which appears when it is complete; ``is_durable``: when it is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[-KEPT:]}.partial")
    temporary.unlink(missing_ok=True)  # left by a process that was killed
    try:
        with temporary.open("xb") as file:
            file.write(data)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        name_file(error, path, instead_of=temporary)
        raise


def name_file(error: BaseException, path: Path, *, instead_of: Path) -> None:
    """Let an ``OSError`` name a file where it names none (a full disk), or its temporary one."""
    if isinstance(error, OSError) and error.filename in {None, str(instead_of)}:
        error.filename = str(path)


def link_or_copy(source: Path, target: Path) -> bool:
    """Link a file, or copy it where links are impossible; return whether it was copied."""
    try:
        target.hardlink_to(source.resolve())  # a hard link to a relative symlink would lead nowhere
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copyfile(source, target)
        with target.open("rb") as file:
            os.fsync(file.fileno())
        return True
    return False


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power cut."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Make what was written to a file survive a power cut."""
    _sync(path, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
