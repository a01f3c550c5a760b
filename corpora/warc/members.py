"""The bytes of an archive file, and where its gzip members begin.

An archive is a file of records, one after the other; packed, each record is a gzip member as a
rule, so that a reader can begin at any of them. ``ArchiveBytes`` reads both kinds, and archives
that are packed as a whole, and goes on behind damage: at the next member that begins with a record.
"""

import os
import re
import zlib
from collections import deque
from dataclasses import dataclass
from typing import IO

from corpora.errors import CorpusError

GZIP = b"\x1f\x8b\x08"
TRUNCATED = "truncated_archive"
"""The reason where a file ends inside of a gzip member; what was unpacked before it is right."""
_CHUNK = 1 << 16
_PEEK = 512
MAX_RATIO = 1_000
"""How many times its size a member may unpack to, beyond ``FREE_BYTES``; gzip's own limit is 1,032.
A body that is packed once more is bounded where it is unpacked."""
FREE_BYTES = 256 << 20
RECORD = re.compile(
    rb"WARC/[01]\.\d{1,2}\r?\n"
    rb"|(?:filedesc|https?|ftp|whois)://[^\n]{1,4000} \d{1,20}\r?\n"
    rb"|dns:[^\n]{1,400} \d{1,20}\r?\n"
)
"""How a record of WARC begins, and one of ARC: URL, address, date, type, length."""


class DamagedArchiveError(CorpusError):
    """The bytes cannot be unpacked here; ``reason`` is what is counted."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(slots=True)
class _Member:
    """A gzip member that is being read."""

    start: int
    """Where it begins in the file."""
    stream: "zlib._Decompress"
    n_packed: int = 0
    n_unpacked: int = 0


class ArchiveBytes:
    """The unpacked bytes of an archive, from a position in the file on.

    ``buffer`` holds what was unpacked and not taken; ``fill`` adds to it, and says False at the end
    of the file or, if the next member begins with a record, at the border before it, which
    ``next_member`` crosses.
    """

    def __init__(self, file: IO[bytes], start: int = 0, *, is_packed: bool | None = None) -> None:
        self.file = file
        file.seek(start)
        self.is_packed = file.read(len(GZIP)) == GZIP if is_packed is None else is_packed
        file.seek(start)
        self.buffer = bytearray()
        self.taken = 0
        """Bytes that were taken since the member (the file, if not packed) began."""
        self.n_unpacked = 0
        """Bytes of all members, those that were unpacked in vain among them."""
        self.origin = start
        """Where the member that ``buffer`` begins in, begins in the file."""
        self.at_border = False
        self._packed = b""  # was read from the file, and not unpacked
        self._n_taken = 0  # since the buffer was empty and had no joints
        self._joints: deque[tuple[int, int]] = deque()
        """Where later members begin: counted as ``_n_taken`` is, and in the file."""
        self._member: _Member | None = None
        if self.is_packed:
            self._open(start)

    @property
    def position(self) -> tuple[int, int]:
        """Where ``buffer`` begins: in the file, and in the member that begins there."""
        return (self.origin, self.taken) if self.is_packed else (self.origin + self.taken, 0)

    @property
    def n_of_member(self) -> int:
        """How many bytes of the buffer belong to the member that it begins in."""
        return self._joints[0][0] - self._n_taken if self._joints else len(self.buffer)

    @property
    def unpacking(self) -> int:
        """Where the member begins that is unpacked now."""
        return self._member.start if self._member else self.origin

    def take(self, n: int) -> bytes:
        """Take bytes from the front of the buffer."""
        data = bytes(self.buffer[:n])
        del self.buffer[:n]
        self.taken += len(data)
        self._n_taken += len(data)
        while self._joints and self._joints[0][0] <= self._n_taken:
            place, self.origin = self._joints.popleft()
            self.taken = self._n_taken - place
        return data

    @property
    def n_left(self) -> int:
        """Bytes from the beginning of ``buffer`` to the end of a file that is not packed."""
        return os.fstat(self.file.fileno()).st_size - self.position[0]

    def peek(self, distance: int, n: int) -> bytes:
        """Look at bytes of a file that is not packed, so far behind the beginning of ``buffer``."""
        if distance + n <= len(self.buffer):
            return bytes(self.buffer[distance : distance + n])
        here = self.file.tell()
        self.file.seek(here - len(self.buffer) + distance)
        data = self.file.read(n)
        self.file.seek(here)
        return data

    def fill(self) -> bool:
        """Unpack more; raises ``DamagedArchiveError``."""
        if self.at_border:
            return False
        if not self.is_packed:
            chunk = self.file.read(_CHUNK)
            self.buffer += chunk
            return bool(chunk)
        while self._member:
            if self._member.stream.eof:
                if not self._end_member():
                    return False
            elif data := self._unpack(self._member):
                self.buffer += data
                return True
        return False

    def next_member(self) -> None:
        """Cross a border: nothing of the member before is left in the buffer."""
        self.at_border = False
        if self._member:
            self.buffer.clear()
            self._joints.clear()
            self.origin, self.taken = self._member.start, 0

    def _open(self, start: int) -> None:
        self._member = _Member(start, zlib.decompressobj(16 + zlib.MAX_WBITS))

    def _unpack(self, member: _Member) -> bytes:
        """Unpack a chunk of a member; may be empty before its end."""
        if not self._packed:
            self._packed = self.file.read(_CHUNK)
            if not self._packed:
                raise DamagedArchiveError(TRUNCATED, "the file ends inside of a record.")
        before = len(self._packed)
        try:
            data = member.stream.decompress(self._packed, _CHUNK * 16)
        except zlib.error as error:
            raise DamagedArchiveError(
                "damaged_archive", f"cannot be unpacked ({error})."
            ) from error
        stream = member.stream
        self._packed = stream.unused_data if stream.eof else stream.unconsumed_tail
        member.n_packed += before - len(self._packed)
        member.n_unpacked += len(data)
        self.n_unpacked += len(data)
        if member.n_unpacked > max(FREE_BYTES, MAX_RATIO * member.n_packed):
            raise DamagedArchiveError("too_large", "unpacks to more than an archive holds.")
        return data

    def _end_member(self) -> bool:
        """Go on to the next member; False at a border, and at the end of the file."""
        while not self._packed.strip(b"\0"):  # zeros may pad the end
            self._packed = self.file.read(_CHUNK)
            if not self._packed:
                self._member = None
                return False
        padding = len(self._packed) - len(self._packed.lstrip(b"\0"))
        self._packed = self._packed[padding:]
        start = self.file.tell() - len(self._packed)
        self._open(start)
        if _begins_record(self._packed if len(self._packed) >= _PEEK else self._more()):
            self.at_border = True
            return False
        if not self._packed.startswith(GZIP[:2]):
            raise DamagedArchiveError("damaged_archive", "this is no gzip.")
        self._joints.append((self._n_taken + len(self.buffer), start))
        return True

    def _more(self) -> bytes:
        self._packed += self.file.read(_CHUNK)
        return self._packed

    def resume(self, after: int) -> bool:
        """Find the next member behind ``after``, a position in the file, that begins a record.

        False where there is none. What is in the buffer is lost.
        """
        self.buffer.clear()
        self._joints.clear()
        self.file.seek(after)
        self._packed, self._member, self.at_border = b"", None, False
        data, start = b"", after
        while chunk := self.file.read(1 << 20):
            data += chunk
            position = data.find(GZIP)
            while position >= 0:
                head = data[position : position + (_PEEK << 3)]
                if len(head) < _PEEK << 3:
                    here = self.file.tell()
                    head += self.file.read(_PEEK << 3)
                    self.file.seek(here)
                if _begins_record(head):
                    self._restart(start + position)
                    return True
                position = data.find(GZIP, position + 1)
            keep = len(GZIP) - 1
            start += len(data) - keep
            data = data[-keep:]
        return False

    def _restart(self, start: int) -> None:
        self.file.seek(start)
        self.is_packed = True
        self.origin, self.taken = start, 0
        self._open(start)


def _begins_record(packed: bytes) -> bool:
    """Whether a gzip member whose first bytes these are begins with a record."""
    if not packed.startswith(GZIP):
        return False
    stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        head = stream.decompress(packed, 32)
        if not head.startswith(b"WARC/"):  # a line of ARC is longer
            head += stream.decompress(stream.unconsumed_tail, _PEEK << 3)
    except zlib.error:
        return False
    return RECORD.match(head) is not None
