"""What has come of a file so far, on disk, with its hashes."""

import hashlib
import os
from pathlib import Path
from typing import IO, Self

from corpora.system.files import open_own

_CHUNK_BYTES = 1 << 20


def hashes_of(path: Path) -> tuple[str, str]:
    """SHA-1 and SHA-256 of a file, read once."""
    sha1, sha256 = hashlib.sha1(usedforsecurity=False), hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK_BYTES):
            sha1.update(data)
            sha256.update(data)
    return sha1.hexdigest(), sha256.hexdigest()


class PartialFile:
    """Bytes in order; those that an earlier process has written are hashed again.

    Use it with ``with``. What is written reaches the operating system at once, so that a kill
    loses nothing of it.
    """

    def __init__(self, path: Path) -> None:
        """Take the path; nothing is opened yet."""
        self.path = path
        self._most = 0

    def __enter__(self) -> Self:
        """Open it, and hash what is there."""
        self._file: IO[bytes] = open_own(self.path, "a+b")
        self._clear()
        self._file.seek(0)
        while data := self._file.read(_CHUNK_BYTES):
            self._count(data)
        self._most = self.size
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._file.close()

    def _clear(self) -> None:
        self.size = 0
        self.sha1, self.sha256 = hashlib.sha1(usedforsecurity=False), hashlib.sha256()

    def _count(self, data: bytes) -> None:
        self.size += len(data)
        self.sha1.update(data)
        self.sha256.update(data)

    def write(self, data: bytes) -> None:
        """Add bytes."""
        self._file.write(data)
        self._file.flush()
        self._count(data)

    def restart(self) -> None:
        """Forget what has come."""
        self._file.truncate(0)
        self._clear()

    def has_grown(self) -> bool:
        """Whether it is longer than it ever was when this was asked before."""
        grown = self.size > self._most
        self._most = max(self._most, self.size)
        return grown

    def sync(self) -> None:
        """Make it survive a power cut."""
        os.fsync(self._file.fileno())
