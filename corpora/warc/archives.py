"""Records of web archives: WARC and ARC, packed or not, damaged ones reported.

A record that cannot be read is a ``Damaged`` with its place, and reading goes on behind it: at the
next gzip member that begins with a record, or, in what is not packed member by member, at the next
line that looks like the beginning of one.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from corpora.warc.members import RECORD, TRUNCATED, ArchiveBytes, DamagedArchiveError

MAX_HEADER = 1 << 16
MAX_LOST, MAX_LOST_RATIO = 64 << 20, 20
"""Bytes that may be unpacked in vain, and as many times the bytes of the archive up to there: a
member that lies in the bytes of another would be unpacked with each of those around it."""
_END = re.compile(rb"\r?\n(?:(\r?\n)|(?=WARC/[01]\.\d{1,2}\r?\n))")
"""Of a header: the blank line behind it, or, without the group, the beginning of another."""
_NEXT = re.compile(
    rb"\r?\n(?=WARC/[01]\.\d{1,2}\r?\n"
    rb"|https?://[^\s]{1,2000} [0-9a-f.:]{3,45} \d{14} [^\n]{1,100} \d{1,20}\r?\n)"
)
_KEPT = 4096
"""Bytes that are looked at again when more come: the beginning of a record may be cut."""
_CUT = 16
"""Bytes of the end of a header that may be cut."""
_BAD_LENGTH = "no record begins where Content-Length says that this one ends."
_TOO_DAMAGED = "too much was unpacked in vain: nothing more is read of this archive."
_Header = tuple[str, str, str | None, dict[str, str], tuple[int, int]]
"""Kind, URL, date, headers; how long the header is, and the block."""
_LENGTH = re.compile("[0-9]{1,15}")
_ARC = re.compile(rb"([^\n]+?) ([^ \n]*) (\d{8,14}) ([^\n]*?) ?(\d{1,20})\r?\n")


@dataclass(frozen=True, slots=True)
class _Placed:
    """What stands in an archive."""

    offset: int
    """Where the file can be entered to read it: that of its gzip member, or its own."""
    inside: int
    """Bytes, unpacked, between there and the record: 0 if it is the first of its member."""

    @property
    def place(self) -> str:
        """Where it is, to say so: ``1234``, or ``1234+56`` inside of a gzip member."""
        return f"{self.offset}+{self.inside}" if self.inside else str(self.offset)


@dataclass(frozen=True, slots=True)
class ArchiveRecord(_Placed):
    """A record as it stands in an archive."""

    kind: str
    """``response``, ``revisit`` …; of ARC ``filedesc`` and ``response``."""
    url: str
    date: str | None
    """When it was fetched, as WARC writes it: ``2026-11-01T12:00:00Z``."""
    headers: Mapping[str, str]
    """Of the record; names without case."""
    block: bytes
    """At most ``max_block`` bytes of it."""
    length: int
    """Of the whole block, in bytes."""


@dataclass(frozen=True, slots=True)
class Damaged(_Placed):
    """A place of an archive where a record cannot be read."""

    reason: str
    message: str
    excerpt: bytes = b""


def cut(path: Path, *, range_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Cut an archive at records: start and end of each part in the file, and how many records.

    All parts but the last are at least ``range_bytes`` long. Reads the headers of all records; an
    archive that is packed as a whole is one part.
    """
    start = n_records = 0
    for record in read_archive(path, max_block=0):
        is_border = isinstance(record, ArchiveRecord) and not record.inside
        if is_border and record.offset >= start + range_bytes:
            yield start, record.offset, n_records
            start, n_records = record.offset, 0
        n_records += 1
    yield start, path.stat().st_size, n_records


def read_archive(
    path: Path, *, max_block: int, start: int = 0, end: int | None = None
) -> Iterator[ArchiveRecord | Damaged]:
    """Read the records that begin in a part of an archive which ``cut`` gave."""
    if not path.stat().st_size:
        yield Damaged(0, 0, "no_record", "an empty file.")
    with path.open("rb") as file:
        for record in _Reader(file, start, max_block=max_block).records():
            if end is not None and record.offset >= end:
                return
            yield record


class _Reader:
    """Reads the records of an archive from a border on."""

    def __init__(self, file: IO[bytes], start: int, *, max_block: int) -> None:
        self.bytes = ArchiveBytes(file, start)
        self.max_block = max_block
        self.at = (start, 0)
        """Where the record begins that is being read."""
        self.damaged_next: DamagedArchiveError | None = None
        """What was found while looking whether a whole record ends where it should."""
        self.n_before = self.n_lost = 0
        """Bytes that were unpacked before the record, and for records that could not be read."""

    def records(self) -> Iterator[ArchiveRecord | Damaged]:
        """Read until the end of the file."""
        while True:
            try:
                if self.damaged_next:
                    raise self.damaged_next
                if not self._begin():
                    return
                yield self._record()
            except DamagedArchiveError as error:
                if self.damaged_next:
                    self.at, self.damaged_next = (self.bytes.unpacking, 0), None
                    self.bytes.buffer.clear()
                excerpt = bytes(self.bytes.buffer[:200])
                yield Damaged(*self.at, error.reason, str(error), excerpt)
                if not self._go_on():
                    if self._lost_too_much:
                        yield Damaged(*self.at, "too_damaged", _TOO_DAMAGED)
                    return

    def _begin(self) -> bool:
        """Go to the first byte of the next record; False at the end."""
        data = self.bytes
        self.at = data.position
        while True:
            while data.buffer.startswith((b"\r", b"\n")):
                data.take(1)
            self.at = data.position
            self.n_before = data.n_unpacked - len(data.buffer)
            if data.buffer:
                return True
            if not data.fill():
                if not data.at_border:
                    return False
                data.next_member()
                self.at = data.position

    def _go_on(self) -> bool:
        """Go behind damage; False where nothing can be read there."""
        data = self.bytes
        offset, inside = self.at
        if data.at_border:
            data.next_member()
            return True
        if data.is_packed and not inside:  # a member for each record: the next one is whole
            return self._resume(offset + 1)
        if not data.is_packed:  # the next record may begin anywhere behind its first byte
            data.take(1)
        try:
            if self._find_next():
                return True
        except DamagedArchiveError:
            return self._resume(offset + 1)
        return not data.is_packed and self._resume(offset + 1)  # its first byte may be wrong

    def _resume(self, after: int) -> bool:
        """Go back to the first member behind ``after``; False where there is none."""
        self.n_lost += self.bytes.n_unpacked - self.n_before
        return not self._lost_too_much and self.bytes.resume(after)

    @property
    def _lost_too_much(self) -> bool:
        return self.n_lost > MAX_LOST + MAX_LOST_RATIO * self.at[0]

    def _find_next(self) -> bool:
        """Skip to the next line that begins a record, or to the border of a member."""
        data = self.bytes
        while True:
            if found := _NEXT.search(data.buffer):
                data.take(found.end())
                return True
            data.take(max(0, len(data.buffer) - _KEPT))
            if not data.fill():
                is_border = data.at_border
                data.next_member()
                return is_border

    def _record(self) -> ArchiveRecord:
        """Read a record: its header, its block, and what must follow."""
        data = self.bytes
        while len(data.buffer) < _KEPT and b"\n" not in data.buffer and data.fill():
            pass
        if not RECORD.match(data.buffer):
            raise DamagedArchiveError("bad_header", "no record of WARC or ARC begins here.")
        header = self._warc_header if data.buffer.startswith(b"WARC/") else self._arc_header
        kind, url, date, headers, (n_header, length) = header()
        if not data.is_packed:
            self._check_ahead(n_header, length)
        data.take(n_header)
        block = self._block(length)
        return ArchiveRecord(*self.at, kind, url, date, headers, block, length)

    def _end_of_header(self) -> re.Match[bytes]:
        """Find the blank line behind a header of WARC."""
        data = self.bytes
        searched = 0
        while not (found := _END.search(data.buffer, searched)):
            searched = max(0, len(data.buffer) - _CUT)
            if len(data.buffer) >= MAX_HEADER or not data.fill():
                break
        if not found or not found[1]:
            raise DamagedArchiveError("bad_header", "the header of the record has no end.")
        return found

    def _warc_header(self) -> _Header:
        end = self._end_of_header()
        headers: dict[str, str] = {}
        lines = bytes(self.bytes.buffer[: end.start()]).decode("utf-8", "replace").splitlines()
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        length = headers.get("content-length", "")
        if not _LENGTH.fullmatch(length):
            raise DamagedArchiveError("bad_header", f"Content-Length is {length!r}.")
        url = headers.get("warc-target-uri", "").strip("<>")
        kind = headers.get("warc-type", "")
        return kind, url, headers.get("warc-date"), headers, (end.end(), int(length))

    def _arc_header(self) -> _Header:
        found = _ARC.match(self.bytes.buffer)
        if not found:
            raise DamagedArchiveError("bad_header", "a record of ARC without date and length.")
        url, address, day, type, length = (
            part.decode("utf-8", "replace") for part in found.groups()
        )
        kind = "filedesc" if url.startswith("filedesc:") else "response"
        headers = {"warc-ip-address": address, "content-type": type.split(" ")[0]}
        return kind, url, _arc_date(day), headers, (found.end(), int(length))

    def _check_ahead(self, n_header: int, length: int) -> None:
        """Raise where the file has no end of the block, before its bytes are read."""
        data = self.bytes
        n_there = data.n_left - n_header
        if length > n_there:
            raise _truncated(n_there, length)
        if not _is_end(data.peek(n_header + length, 2 * _KEPT)):
            raise DamagedArchiveError("bad_length", _BAD_LENGTH)

    def _block(self, length: int) -> bytes:
        """Take the block, and keep its first bytes; check that a record or nothing follows."""
        kept = bytearray()
        left = length
        data = self.bytes
        while left:
            if not data.buffer and not data.fill():
                raise _truncated(length - left, length)
            chunk = data.take(min(left, len(data.buffer)))
            left -= len(chunk)
            kept += chunk[: self.max_block - len(kept)]
        self._check_end()
        return bytes(kept)

    def _check_end(self) -> None:
        """Raise where neither a record nor the end comes after the block."""
        data = self.bytes
        try:
            while len(data.buffer) < _KEPT and not self._ends_blank() and data.fill():
                pass
        except DamagedArchiveError as error:
            if error.reason == TRUNCATED:  # the block is whole, and so may be records behind it
                if b"\n" not in data.buffer.lstrip(b"\r\n"):
                    return
            elif data.unpacking == data.origin:
                raise
            else:
                self.damaged_next = error
        if not self._ends_blank() and not _is_end(bytes(data.buffer[: 2 * _KEPT])):
            raise DamagedArchiveError("bad_length", _BAD_LENGTH)

    def _ends_blank(self) -> bool:
        """Whether another member follows, and nothing but line ends stands before it."""
        data = self.bytes
        n_left = data.n_of_member
        return n_left < len(data.buffer) and not data.buffer[:n_left].strip(b"\r\n")


def _truncated(n_there: int, length: int) -> DamagedArchiveError:
    what = f"the block has {n_there:,} bytes, and should have {length:,}."
    return DamagedArchiveError("truncated_record", what)


def _is_end(data: bytes) -> bool:
    """Whether nothing follows but line ends, or a record."""
    rest = data.lstrip(b"\r\n")
    return not rest or RECORD.match(rest) is not None


def _arc_date(day: str) -> str:
    """A date of ARC, ``20261101120000``, as WARC writes it."""
    return "{}{}-{}-{}T{}:{}:{}Z".format(*re.findall("..", day.ljust(14, "0")))
