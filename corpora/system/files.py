"""Safe use of folders that may come from strangers: file names in manifests, links, locks, hashes.

Nothing outside of such a folder is deleted, overwritten or hashed because a manifest names it or a
link leads there.
"""

import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from filecmp import cmp
from pathlib import Path
from typing import IO, Any

from corpora.errors import CorpusError, DamagedDatasetError, FolderInUseError, UsageError

_MAX_PART_BYTES = 255  # the longest file name on common file systems
_HOLDER = re.compile(r"\d{0,20}\n?", re.ASCII)


def is_plain(name: object) -> bool:
    """Tell whether a name is plain: ``a`` or ``a/b``, relative, printable, not hidden."""
    return (
        isinstance(name, str)
        and name.isprintable()
        and "\\" not in name
        and all(_is_plain_part(part) for part in name.split("/"))
    )


def _is_plain_part(part: str) -> bool:
    return bool(part) and not part.startswith(".") and len(part.encode()) <= _MAX_PART_BYTES


def is_one_plain_name(name: object) -> bool:
    """Tell whether a name is plain and names a file in the folder itself."""
    return is_plain(name) and "/" not in str(name)


def check_plain(name: object, *, where: Path) -> str:
    """Return a name from a file; raises ``DamagedDatasetError`` unless it is plain."""
    if not is_plain(name):
        raise DamagedDatasetError(
            f"{where}: names {name!r}, which is no plain name of a file in its folder. Somebody "
            "else made or changed it: take it away, or choose another folder."
        )
    return str(name)


def inside(folder: Path, name: str) -> Path:
    """Return the path of a plain name; raises ``CorpusError`` where a folder above it is a link."""
    path = folder
    for part in name.split("/")[:-1]:
        path /= part
        if path.is_symlink():
            raise _link(path)
    return folder / name


def check_utf8(arguments: Sequence[str]) -> None:
    """Raise ``UsageError`` for an argument, or a current folder, that is no UTF-8, or is gone.

    Also raises it where Python takes file names for another encoding: names would become others.
    """
    if (encoding := sys.getfilesystemencoding()) != "utf-8":
        raise UsageError(
            f"file names are read as {encoding}, not UTF-8 (LC_ALL or LANG). Set PYTHONUTF8=1, and "
            "run the same command again."
        )
    try:
        here = str(Path.cwd())
    except FileNotFoundError as error:
        raise UsageError(
            "the current folder was removed, or made again. Change to one that is there (cd)."
        ) from error
    for path in (*arguments, here):
        if any("\ud800" <= character <= "\udfff" for character in path):
            raise UsageError(f"{path!r}: no UTF-8. Rename it, or work in another folder.")


def refuse_links(folder: Path) -> None:
    """Raise ``CorpusError`` where a folder, or anything below it, is a link."""
    if folder.is_symlink():
        raise _link(folder)
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise _link(Path(entry.path))
            if entry.is_dir():
                refuse_links(Path(entry.path))


def _link(path: Path) -> CorpusError:
    return CorpusError(
        f"{path}: is a link, which no run makes there. Take it away, or choose another folder."
    )


def open_own(
    path: Path,
    mode: str,
    *,
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
) -> IO[Any]:  # Any: text or bytes, as ``mode`` says
    """Open a file of ours for writing; raises ``CorpusError`` for links and special files."""
    return open(path, mode, buffering, encoding, errors, opener=_open_no_link)


def _open_no_link(path: str, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:  # a link, or a pipe without a reader
            raise _no_file(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(path)
    return descriptor


def _no_file(path: object) -> CorpusError:
    return CorpusError(
        f"{path}: is a link, or no file, and would be written to. Take it away, or choose another "
        "folder."
    )


@contextmanager
def locked(
    path: Path, *, busy: Callable[[str], str], take: Callable[[int, int], object] = fcntl.flock
) -> Iterator[None]:
    """Hold a lock file, which is created with its folder; write the id of this process to it.

    Raises ``FolderInUseError`` with the message of ``busy`` for the holding process, and
    ``CorpusError`` for a file that is no lock, which stays as it is, or a file system without any.
    """
    with _taken(path, busy=busy, take=take) as lock:
        if os.fstat(lock.fileno()).st_nlink == 1:  # another link may be somebody's file
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
        yield


def _taken(
    path: Path, *, busy: Callable[[str], str], take: Callable[[int, int], object]
) -> IO[str]:
    """Open a lock file and take the lock."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock: IO[str] = open_own(path, "a+", encoding="ascii", errors="replace")
        try:
            lock.seek(0)
            holder = lock.read(32)
            if not _HOLDER.fullmatch(holder):
                raise CorpusError(
                    f"{path}: is no lock of ours. Move it away, or choose another folder."
                )
            try:
                take(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in {errno.EAGAIN, errno.EACCES}:
                    raise CorpusError(
                        f"{path}: the file system has no locks ({error.strerror}). Choose a folder "
                        "on another, or mount it with locks."
                    ) from error
                raise FolderInUseError(busy(holder.strip() or "unknown")) from None
            if os.fstat(lock.fileno()).st_nlink:
                return lock
            lock.close()  # its last holder has removed the file
        except BaseException:
            lock.close()
            raise


def home() -> Path:
    """Return the home folder of the user; raises ``UsageError`` where none is known."""
    try:
        return Path.home()
    except RuntimeError as error:  # an id without a name, as in a container
        raise UsageError(
            f"user {os.getuid()} has no home folder. Set HOME to a folder of yours."
        ) from error


def check_new(path: Path, data: bytes | Path) -> None:
    """Raise ``UsageError`` for a file that exists with other bytes, or others than a file has."""
    if not path.exists():
        return
    same = cmp(path, data, shallow=False) if isinstance(data, Path) else path.read_bytes() == data
    if not same:
        raise UsageError(
            f"{path}: is there already, and is not what this command writes: somebody may have "
            "worked on it. Name another place, or take it away."
        )


def take_away(path: Path) -> None:
    """Remove a file or a folder, if it exists; of a link, only the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Hash a regular file; raises ``OSError`` for others, because a pipe or a device has no end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a file", str(path))
        return hashlib.file_digest(file, "sha256").hexdigest()
