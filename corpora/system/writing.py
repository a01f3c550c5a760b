"""Writing of files and folders: atomic, by temporary names and renaming; locks on folders; fsync.

A file or folder appears under its name when it is complete. By then it is on the disk, and outlives
a power cut, unless ``is_durable`` is False.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.files import locked, take_away

KEPT = 50
"""How many of the last characters of a file's name its temporary name keeps."""
_TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{32}-.+", re.DOTALL)
_LOCK = ".lock"
_HOUR = 3600
_NO_LINK = {
    *(errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK),
    *(errno.ENOTSUP, errno.ENOSYS),  # file systems without links, such as mounted buckets
}


def temporary_path(path: Path) -> Path:
    """Make a unique name for a file until it is renamed, from the process and the machine.

    Files ``.tmp-*`` may be deleted when no run works. No other attempt has this name: a runner may
    try a unit again while the first attempt still works on another machine, where processes have
    the same numbers.
    """
    unique = f"{os.getpid():08x}{_machine()}{uuid.uuid4().hex[16:]}"
    return path.with_name(f".tmp-{unique}-{path.name[-KEPT:]}")


def is_temporary(path: Path) -> bool:
    """Tell whether the name is that of a temporary file or folder, in work or left behind."""
    return bool(_TEMPORARY.fullmatch(path.name))


def remove_leftovers(folder: Path, name: str = "", *, of_all: bool = False) -> None:
    """Remove what killed processes left in a folder, of a file's name or of all.

    Files that another machine wrote within the last hour stay. ``of_all``: all go, also those that
    others write at this moment.
    """
    for path in filter(is_temporary, folder.glob(".tmp-*")):
        if (not name or path.name[38:] == name[-KEPT:]) and (of_all or not _is_in_work(path)):
            take_away(path)


@cache
def _machine() -> str:
    return hashlib.sha256(os.uname().nodename.encode()).hexdigest()[:8]


def _is_in_work(path: Path) -> bool:
    """Tell whether a process may still write a temporary file; see ``temporary_path``."""
    if path.name[13:21] == _machine():
        return _is_running(int(path.name[5:13], 16))
    with suppress(FileNotFoundError):
        return time.time() - path.lstat().st_mtime < _HOUR
    return False


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # of another user
        return True
    return True


@contextmanager
def appearing(path: Path, *, is_durable: bool = True) -> Iterator[Path]:
    """Yield the path of a temporary file or folder, which becomes ``path`` when the block ends.

    After an error the temporary one is gone, and what stood at ``path`` is unchanged. A folder that
    is there is removed before the new one gets its name; what killed processes left of the folder
    goes, too.
    """
    temporary = temporary_path(path)
    try:
        yield temporary
        is_folder = temporary.is_dir()
        if is_durable:
            for written in (temporary, *(temporary.rglob("*") if is_folder else ())):
                (sync_folder if written.is_dir() else sync_file)(written)
        if is_folder:
            take_away(path)
        temporary.rename(path)
        if is_folder:
            sync_folder(path.parent)
            remove_leftovers(path.parent, path.name)
    except BaseException as error:
        with suppress(OSError):
            take_away(temporary)
        name_file(error, path, instead_of=temporary)
        raise


def write_text(path: Path, lines: Iterable[str]) -> None:
    """Write text in one atomic step."""
    with appearing(path) as temporary, temporary.open("x", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)


def write_json(path: Path, value: object) -> None:
    """Write indented JSON in one atomic step."""
    write_text(path, [json.dumps(value, ensure_ascii=False, indent=1), "\n"])


def write_whole(path: Path, data: bytes, *, is_durable: bool = False) -> None:
    """Write bytes in one atomic step, into a folder that is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with appearing(path, is_durable=is_durable) as temporary:
        temporary.write_bytes(data)


def name_file(error: BaseException, path: Path, *, instead_of: Path) -> None:
    """Let an ``OSError`` name a file where it names none (a full disk), or its temporary one."""
    if isinstance(error, OSError) and error.errno and error.filename in {None, str(instead_of)}:
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


@contextmanager
def output_folder(folder: Path, *, mark: str = "", others: str = "*") -> Iterator[None]:
    """Hold a folder, made if it is missing, into which a command writes files.

    Raises ``UsageError`` unless the folder is empty, or was made by the same command: ``mark`` is
    the file that the command writes first, and without it the folder holds nothing that matches
    ``others``. Raises ``FolderInUseError`` while another command holds it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--output {folder}: is no folder. Choose a new folder.")

    def busy(process: str) -> str:
        return f"{folder}: another command (process {process}) writes here. Wait for it."

    with locked(folder / _LOCK, busy=busy):
        try:
            remove_leftovers(folder)
            found = (path for path in folder.glob(others) if path.name != _LOCK)
            if mark and not (folder / mark).is_file() and any(found):
                raise UsageError(f"--output {folder}: holds something else. Choose a new folder.")
            yield
        finally:
            (folder / _LOCK).unlink(missing_ok=True)
            with suppress(OSError):  # it holds files
                folder.rmdir()
