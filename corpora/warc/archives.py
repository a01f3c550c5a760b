"""Reading of web archives: the records of WARC and ARC files, packed or not, possibly damaged.

An archive is a sequence of records. In a packed archive, each record is usually a member of gzip
(or a frame of zstd), so that a reader can begin at any record. A record that cannot be read gives a
``Damaged`` with its place. Reading then continues at the next member that begins with a record or,
if the archive is not packed by records, at the next line that looks like the beginning of a record.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, takewhile
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO

from corpora.errors import CountedError
from corpora.warc.packing import GZIP, MemberStream, Packing, archives_in, packing_at

TRUNCATED = "truncated_archive"
"""The reason for a file that ends inside a gzip member; what was unpacked before is right."""
_CHUNK = 1 << 16
_PEEK = 512
MAX_RATIO = 1_000
"""The highest ratio of unpacked to packed bytes of a gzip member that unpacks to more than
``FREE_BYTES``; gzip's own limit is 1,032. A packed body has another bound (``warc.http``)."""
FREE_BYTES = 256 << 20
RECORD = re.compile(
    rb"WARC/[01]\.\d{1,2}\r{0,2}\n"
    rb"|(?:filedesc|https?|ftp|whois)://[^\n]{1,4000} \d{1,20}\r?\n"
    rb"|dns:[^\n]{1,400} \d{1,20}\r?\n"
)
"""The beginning of a WARC record, or of an ARC record: URL, address, date, type, length. Some
programs write the ends of lines in the headers of WARC as ``\\r\\r\\n``."""


class DamagedArchiveError(CountedError):
    """The error for a place of an archive that cannot be read."""


@dataclass(slots=True)
class _Member:
    """A member of gzip, or a frame of zstd, that is being read."""

    start: int
    """The offset in the file."""
    stream: MemberStream
    n_packed: int = 0
    n_unpacked: int = 0


class ArchiveBytes:
    """The unpacked bytes of an archive, from a position in the file on.

    ``buffer`` holds the unpacked bytes that were not yet taken; ``fill`` adds to it. ``fill``
    returns False at the end of the archive, and at a border, which is the beginning of a member
    that begins with a record. ``next_member`` crosses the border.
    """

    def __init__(self, file: IO[bytes], start: int, *, archive: tuple[int, int]) -> None:
        self.file = file
        begin, self.end = archive
        self.packing, first = packing_at(file, begin)
        start = max(start, first)
        file.seek(start)
        self.buffer = bytearray()
        self.taken = 0
        """Bytes taken since ``origin``: of the current member or, if not packed, of the file."""
        self.n_unpacked = 0
        """Bytes unpacked of all members, including those that were unpacked in vain."""
        self.origin = start
        """The offset in the file of the member of the first byte of ``buffer``."""
        self.at_border = False
        self._packed = b""  # read from the file, and not yet unpacked
        self._n_taken = 0  # all bytes taken; the unit of the joints
        self._joints: deque[tuple[int, int]] = deque()
        """The beginnings of later members in ``buffer``: in bytes as ``_n_taken``, and in the file.
        """
        self._member: _Member | None = None
        if self.packing:
            self._open(self.packing, start)

    @property
    def is_packed(self) -> bool:
        """Whether the archive is packed."""
        return self.packing is not None

    @property
    def position(self) -> tuple[int, int]:
        """The place of the first byte of ``buffer``: offset of its member, offset in the member."""
        return (self.origin, self.taken) if self.is_packed else (self.origin + self.taken, 0)

    @property
    def n_of_member(self) -> int:
        """The number of bytes of the buffer that belong to the member of its first byte."""
        return self._joints[0][0] - self._n_taken if self._joints else len(self.buffer)

    @property
    def unpacking(self) -> int:
        """The offset in the file of the member that is being unpacked."""
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

    def peek(self, distance: int, n: int) -> bytes:
        """Read ``n`` bytes, ``distance`` bytes behind the start of ``buffer``, without taking them.

        For files that are not packed.
        """
        if distance + n <= len(self.buffer):
            return bytes(self.buffer[distance : distance + n])
        here = self.file.tell()
        self.file.seek(here - len(self.buffer) + distance)
        data = self._read(n)
        self.file.seek(here)
        return data

    def _read(self, n: int) -> bytes:
        return self.file.read(max(0, min(n, self.end - self.file.tell())))

    def fill(self) -> bool:
        """Add bytes to the buffer; return False at a border and at the end of the file.

        Raises ``DamagedArchiveError``.
        """
        if self.at_border:
            return False
        if not self.is_packed:
            chunk = self._read(_CHUNK)
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
        """Cross a border; what the buffer has of the member before is dropped."""
        self.at_border = False
        if self._member:
            self.buffer.clear()
            self._joints.clear()
            self.origin, self.taken = self._member.start, 0

    def _open(self, packing: Packing, start: int) -> None:
        self.packing, self._member = packing, _Member(start, packing.open())

    def _unpack(self, member: _Member) -> bytes:
        """Unpack a chunk of a member; the chunk may be empty before the end of the member."""
        stream = member.stream
        if not self._packed and stream.needs_input:
            self._packed = self._read(_CHUNK)
            if not self._packed:
                raise DamagedArchiveError(TRUNCATED, "the file ends inside of a record.")
        n_given = len(self._packed)
        try:
            data = stream.decompress(self._packed, _CHUNK * 16)
        except (self.packing or GZIP).errors as error:
            raise DamagedArchiveError(
                "damaged_archive", f"cannot be unpacked ({error})."
            ) from error
        self._packed = stream.unused_data if stream.eof else b""
        member.n_packed += n_given - len(self._packed)
        member.n_unpacked += len(data)
        self.n_unpacked += len(data)
        if member.n_unpacked > max(FREE_BYTES, MAX_RATIO * member.n_packed):
            raise DamagedArchiveError("too_large", "unpacks to more than an archive holds.")
        return data

    def _end_member(self) -> bool:
        """Open the next member; return False at a border and at the end of the file."""
        while not self._packed.strip(b"\0"):  # zeros may follow a member as padding
            self._packed = self._read(_CHUNK)
            if not self._packed:
                self._member = None
                return False
        padding = len(self._packed) - len(self._packed.lstrip(b"\0"))
        self._packed = self._packed[padding:]
        start, packing = self.file.tell() - len(self._packed), self.packing or GZIP
        self._open(packing, start)
        if len(self._packed) < _PEEK:
            self._packed += self._read(_CHUNK)
        if _begins_record(self._packed, packing):
            self.at_border = True
            return False
        if not self._packed.startswith(packing.magic[:2]):
            raise DamagedArchiveError("damaged_archive", "no member of a packed file begins here.")
        self._joints.append((self._n_taken + len(self.buffer), start))
        return True

    def resume(self, after: int) -> bool:
        """Open the first member from offset ``after`` of the file on that begins with a record.

        Returns False where there is none. The buffer is cleared.
        """
        self.buffer.clear()
        self._joints.clear()
        self._packed, self._member, self.at_border = b"", None, False
        packing = self.packing or GZIP
        with mmap(self.file.fileno(), 0, access=ACCESS_READ) as data:
            position = data.find(packing.magic, after, self.end)
            while position >= 0 and not _begins_record(
                data[position : position + (_PEEK << 3)], packing
            ):
                position = data.find(packing.magic, position + 1, self.end)
        if position >= 0:
            self.file.seek(position)
            self.origin, self.taken = position, 0
            self._open(packing, position)
        return position >= 0


def _begins_record(packed: bytes, packing: Packing) -> bool:
    """Tell whether the first bytes of a member unpack to the beginning of a record."""
    if not packed.startswith(packing.magic):
        return False
    stream = packing.open()
    try:
        head = stream.decompress(packed, 32)
        if not head.startswith(b"WARC/"):  # the first line of an ARC record is longer
            head += stream.decompress(b"", _PEEK << 3)
    except packing.errors:
        return False
    return RECORD.match(head) is not None


MAX_HEADER = 1 << 16
MAX_LOST, MAX_LOST_RATIO = 64 << 20, 20
"""The bytes that may be unpacked in vain: the first number, plus the second for each byte of the
archive up to the place. Without a bound, nested members would be unpacked again with each of the
members around them."""
_END = re.compile(rb"\n(?:(\r{0,2}\n)|(?=WARC/[01]\.\d{1,2}\r{0,2}\n))")
"""The end of a header: a blank line (group 1), or, without one, the beginning of another record."""
_NEXT = re.compile(
    rb"\r?\n(?=WARC/[01]\.\d{1,2}\r{0,2}\n"
    rb"|https?://[^\s]{1,2000} [0-9a-f.:]{3,45} \d{14} [^\n]{1,100} \d{1,20}\r?\n)"
)
_KEPT = 4096
"""The last bytes that are searched again when more are read: they may be part of a beginning."""
_CUT = 16
"""The last bytes that are searched again for the end of a header when more are read."""
_BAD_LENGTH = "no record begins where Content-Length says that this one ends."
_TOO_DAMAGED = "too much was unpacked in vain: nothing more is read of this archive."
_Header = tuple[str, str, str | None, dict[str, str], tuple[int, int]]
"""The kind, URL, date and headers of a record; the lengths of its header and of its block."""
_LENGTH = re.compile("[0-9]{1,15}")
_ARC = re.compile(rb"([^\n]+?) ([^ \n]*) (\d{8,14}) ([^\n]*?) ?(\d{1,20})\r?\n")


@dataclass(frozen=True, slots=True)
class _Placed:
    """A place in an archive."""

    offset: int
    """The offset in the file at which reading can begin: of the gzip member, or of the record."""
    inside: int
    """The unpacked bytes between ``offset`` and the record; 0 for the first of a member."""

    @property
    def place(self) -> str:
        """The place as text: ``1234``, or ``1234+56`` inside a gzip member."""
        return f"{self.offset}+{self.inside}" if self.inside else str(self.offset)


@dataclass(frozen=True, slots=True)
class ArchiveRecord(_Placed):
    """A record of an archive."""

    kind: str
    """``response``, ``revisit`` …; in ARC ``filedesc`` or ``response``."""
    url: str
    date: str | None
    """The time when the URL was fetched, in the format of WARC: ``2026-11-01T12:00:00Z``."""
    headers: Mapping[str, str]
    """The headers of the record, not of HTTP; names in lower case."""
    block: bytes
    """The first ``max_block`` bytes of the block."""
    length: int
    """The number of bytes of the whole block."""


@dataclass(frozen=True, slots=True)
class Damaged(_Placed):
    """A place of an archive where a record cannot be read."""

    reason: str
    message: str
    excerpt: bytes = b""


def ranges_of(path: Path, *, range_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Find the records of each range of ``range_bytes``; yield start, end and number of records.

    A part holds the records that begin in its range, and those behind them at which reading cannot
    begin, as in an archive that is packed as a whole. So a part may be empty. Reads the headers of
    all records. Raises ``UsageError`` for a file that must be unpacked.
    """
    size = path.stat().st_size
    starts: dict[int, int] = {}
    counts: Counter[int] = Counter()
    for first, last in archives_in(path):
        number = first // range_bytes
        starts[number] = min(first, starts.get(number, first))
        for record in read_archive(path, max_block=0, start=first, end=last):
            if isinstance(record, ArchiveRecord) and not record.inside:
                number = record.offset // range_bytes
                starts[number] = min(record.offset, starts.get(number, record.offset))
            counts[number] += 1
    ends = dict(pairwise([*sorted(starts.values()), size]))
    for number in range(max(1, -(-size // range_bytes))):
        start = starts.get(number, size)
        yield start, ends.get(start, size), counts[number]


def read_archive(
    path: Path, *, max_block: int, start: int = 0, end: int | None = None
) -> Iterator[ArchiveRecord | Damaged]:
    """Read the records that begin in a part of an archive, as ``ranges_of`` cuts it."""
    if not path.stat().st_size:
        yield Damaged(0, 0, "no_record", "an empty file.")
    end = path.stat().st_size if end is None else end
    archives = [archive for archive in archives_in(path) if start < archive[1] and archive[0] < end]
    with path.open("rb") as file:
        for archive in archives:
            reader = _Reader(file, start, archive=archive, max_block=max_block)
            yield from takewhile(lambda record: record.offset < end, reader.records())


class _Reader:
    """A reader of the records of an archive, from a place on at which a record begins."""

    def __init__(
        self, file: IO[bytes], start: int, *, archive: tuple[int, int], max_block: int
    ) -> None:
        self.bytes = ArchiveBytes(file, start, archive=archive)
        self.max_block = max_block
        self.at = (start, 0)
        """The place of the record that is being read."""
        self.damaged_next: DamagedArchiveError | None = None
        """The damage of the next member, found while checking the end of a whole record."""
        self.n_before = self.n_lost = 0
        """The bytes that were unpacked before the record, and in vain for unreadable records."""

    def records(self) -> Iterator[ArchiveRecord | Damaged]:
        """Yield the records and damaged places until the end of the file."""
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
        """Go to the first byte of the next record; return False at the end of the file."""
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
        """Skip a damaged place; return False where nothing can be read behind it."""
        data = self.bytes
        offset, inside = self.at
        if data.at_border:
            data.next_member()
            return True
        if data.is_packed and not inside:  # usually a member for each record: the next is whole
            return self._resume(offset + 1)
        if not data.is_packed:  # another record may begin at any later byte
            data.take(1)
        try:
            if self._find_next():
                return True
        except DamagedArchiveError:
            return self._resume(offset + 1)
        # A packed archive looks like an unpacked one if its first bytes are damaged.
        return not data.is_packed and self._resume(offset + 1)

    def _resume(self, after: int) -> bool:
        """Continue at the first member with a record from ``after`` on.

        Returns False where there is none, or where too much was unpacked in vain.
        """
        self.n_lost += self.bytes.n_unpacked - self.n_before
        return not self._lost_too_much and self.bytes.resume(after)

    @property
    def _lost_too_much(self) -> bool:
        return self.n_lost > MAX_LOST + MAX_LOST_RATIO * self.at[0]

    def _find_next(self) -> bool:
        """Skip to the next line that begins a record, or to a border; return False at the end."""
        data = self.bytes
        while True:
            if match := _NEXT.search(data.buffer):
                data.take(match.end())
                return True
            data.take(max(0, len(data.buffer) - _KEPT))
            if not data.fill():
                is_border = data.at_border
                data.next_member()
                return is_border

    def _record(self) -> ArchiveRecord:
        """Read the header and the block of a record, and check what follows."""
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
        """Find the blank line behind a WARC header."""
        data = self.bytes
        searched = 0
        while not (match := _END.search(data.buffer, searched)):
            searched = max(0, len(data.buffer) - _CUT)
            if len(data.buffer) >= MAX_HEADER or not data.fill():
                break
        if not match or not match[1]:
            raise DamagedArchiveError("bad_header", "the header of the record has no end.")
        return match

    def _warc_header(self) -> _Header:
        end = self._end_of_header()
        headers: dict[str, str] = {}
        lines = bytes(self.bytes.buffer[: end.start()]).decode("utf-8", "replace").split("\n")
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
        match = _ARC.match(self.bytes.buffer)
        if not match:
            raise DamagedArchiveError("bad_header", "a record of ARC without date and length.")
        url, address, day, type, length = (
            part.decode("utf-8", "replace") for part in match.groups()
        )
        kind = "filedesc" if url.startswith("filedesc:") else "response"
        headers = {"warc-ip-address": address, "content-type": type.split(" ")[0]}
        return kind, url, _arc_date(day), headers, (match.end(), int(length))

    def _check_ahead(self, n_header: int, length: int) -> None:
        """Raise where the block is cut off, or no record or end follows; leave the block unread."""
        data = self.bytes
        n_there = data.end - data.position[0] - n_header
        if length > n_there:
            raise _truncated(n_there, length)
        if not _is_end(data.peek(n_header + length, 2 * _KEPT)):
            raise DamagedArchiveError("bad_length", _BAD_LENGTH)

    def _block(self, length: int) -> bytes:
        """Take the block, and return its first bytes; check that a record or nothing follows."""
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
        """Raise where neither a record nor the end of the file follows the block."""
        data = self.bytes
        try:
            while len(data.buffer) < _KEPT and not self._ends_blank() and data.fill():
                pass
        except DamagedArchiveError as error:
            if error.reason == TRUNCATED:  # this block is whole, and later records may be
                if b"\n" not in data.buffer.lstrip(b"\r\n"):
                    return
            elif data.unpacking == data.origin:
                raise
            else:
                self.damaged_next = error
        if not self._ends_blank() and not _is_end(bytes(data.buffer[: 2 * _KEPT])):
            raise DamagedArchiveError("bad_length", _BAD_LENGTH)

    def _ends_blank(self) -> bool:
        """Tell whether the buffer reaches into another member, with only line ends before it."""
        data = self.bytes
        n_left = data.n_of_member
        return n_left < len(data.buffer) and not data.buffer[:n_left].strip(b"\r\n")


def _truncated(n_there: int, length: int) -> DamagedArchiveError:
    what = f"the block has {n_there:,} bytes, and should have {length:,}."
    return DamagedArchiveError("truncated_record", what)


def _is_end(data: bytes) -> bool:
    """Tell whether nothing follows except line ends, or a record, of which a few bytes are enough.

    A file may be cut off inside the first line of a record.
    """
    rest = data.lstrip(b"\r\n")
    return RECORD.match(rest) is not None or (len(rest) < _CUT and b"WARC/1.0".startswith(rest[:7]))


def _arc_date(day: str) -> str:
    """Convert a date of ARC, ``20261101120000``, to the format of WARC."""
    return "{}{}-{}-{}T{}:{}:{}Z".format(*re.findall("..", day.ljust(14, "0")))
