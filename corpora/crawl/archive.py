"""The archive of a crawl: WARC files with all answers, and a table of their records.

A record is on the disk before its answer is returned. Opening an archive cuts off the incomplete
record that a killed process may have left, and brings the table ``index.sqlite`` up to date, or
makes it again if it is missing or damaged. The table has nothing that is not in the files.
"""

import os
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO, Self

from corpora.crawl.archive_index import NAME, ArchiveIndex, IndexedRequest, entry_of
from corpora.crawl.urls import parse_url
from corpora.errors import CorpusError, DamagedDatasetError
from corpora.system.files import is_one_plain_name, locked, open_own
from corpora.system.writing import sync_folder
from corpora.warc.archives import ArchiveRecord, read_archive
from corpora.warc.http import Answer, parse_answer
from corpora.warc.writer import WarcRecord, info_record

ROLL_BYTES = 1_000_000_000
"""The size from which on a file is closed and a new one begun."""
_HEADERS = 1 << 17
_LOCK = ".lock"
_PATTERN = "crawl-*.warc.gz"


@dataclass(frozen=True, slots=True)
class Repair:
    """The repairs that were made when an archive was opened."""

    indexed: int = 0
    """The number of records that were missing in the table."""
    is_rebuilt: bool = False
    """Whether the whole table was made again."""
    cut_bytes: int = 0
    """The bytes of incomplete records that were cut off."""
    cut_files: tuple[str, ...] = ()
    """The names of the files that were cut."""
    damaged: int = 0
    """The number of places that cannot be read and have records behind them."""


class Archive:
    """A folder of WARC files, to be used with ``with``; safe for threads.

    Raises ``FolderInUseError`` if another process has opened it.
    """

    def __init__(self, folder: Path, *, roll_bytes: int = ROLL_BYTES) -> None:
        self.folder = folder
        self.roll_bytes = roll_bytes
        self.session = ""
        self.repaired = Repair()
        self._about: dict[str, str] = {}
        self._file: IO[bytes] | None = None
        self._lock = Lock()

    def __enter__(self) -> Self:
        """Lock the folder, repair its files, and bring its table up to date."""
        self.folder.mkdir(parents=True, exist_ok=True)
        busy = f"{self.folder}: another crawl works here. Wait for it, or name another folder."
        with ExitStack() as stack:
            stack.enter_context(locked(self.folder / _LOCK, busy=lambda _: busy))
            self._open_index()
            self._held = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files and the table, and release the folder."""
        with self._lock:
            self._close_file()
            self.index.close()
        self._held.close()

    def _close_file(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def begin(self, session: str, about: Mapping[str, str]) -> None:
        """Write into a session from now on; ``about`` goes into the first record of each file."""
        if not session or set(session) & set("/\\. *?["):
            raise CorpusError(f"{session!r}: is no name of a session.")
        self.session, self._about = session, dict(about)

    def describe(self, about: Mapping[str, str]) -> None:
        """Add fields to the first record of files begun from now on; fields that are set stay."""
        with self._lock:
            self._about = {**about, **self._about}

    @property
    def is_resumed(self) -> bool:
        """Whether the session has records already."""
        return next(self.index.of_session(self.session), None) is not None

    def files(self) -> list[Path]:
        """List the WARC files, in order."""
        return sorted(self.folder.glob(_PATTERN), key=_place_of)

    def find_body(self, entry: IndexedRequest) -> IndexedRequest:
        """Find the answer that has the body: for a revisit, an earlier record."""
        body = self.index.body_of(entry) if entry.type == "revisit" else entry
        if body is None:
            raise self._damaged(entry, "says that nothing has changed since an answer that is gone")
        return body

    def read(self, entry: IndexedRequest) -> Answer:
        """Read the answer of an entry; raise ``DamagedDatasetError``."""
        if not is_one_plain_name(entry.file):
            raise self._damaged(entry, "is no name of a file there")
        path = self.folder / entry.file
        try:
            with self._lock:  # no other thread may write behind the record meanwhile
                record = next(read_archive(path, max_block=1 << 40, start=entry.offset), None)
        except OSError as error:
            raise self._damaged(entry, f"cannot be read ({error})") from error
        answer = None
        if isinstance(record, ArchiveRecord) and parse_url(record.url).url == entry.url:
            answer = parse_answer(record.block)
        if answer is None:
            raise self._damaged(entry, f"holds no answer of {entry.url}")
        return answer

    def _damaged(self, entry: IndexedRequest, what: str) -> DamagedDatasetError:
        return DamagedDatasetError(
            f"{self.folder / entry.file}: byte {entry.offset}: {what}. Take away "
            f"{self.folder / NAME}: it is made again from the archive."
        )

    def add(self, record: WarcRecord) -> IndexedRequest:
        """Write a record; it is on the disk when this returns."""
        packed = record.packed()
        with self._lock:
            file = self._writing()
            offset = self._append(file, packed)
            name = Path(file.name).name
            entry = entry_of(record.lowered, record.block[:_HEADERS], file=name, offset=offset)
            if entry is None:
                raise AssertionError("a record of ours that we do not read")
            try:
                self.index.add([entry], file=name, size=offset + len(packed))
            except sqlite3.Error as error:
                file.truncate(offset)  # the table must know all records up to the size it has
                raise CorpusError(
                    f"{self.folder / NAME}: cannot be written ({error}). Is the disk full? "
                    "The same command resumes."
                ) from error
        return entry

    def _append(self, file: IO[bytes], packed: bytes) -> int:
        """Append bytes to a file, wholly or not at all; return the offset where they begin."""
        offset = file.seek(0, os.SEEK_END)
        try:
            left = memoryview(packed)
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except BaseException:  # such as a full disk: leave no incomplete record
            file.truncate(offset)
            raise
        return offset

    def _writing(self) -> IO[bytes]:
        """Return the file for the next record: the session's last if it has room, or a new one."""
        if self._file and self._file.tell() < self.roll_bytes:
            return self._file
        self._close_file()
        there = [path for path in self.files() if _place_of(path)[0] == f"crawl-{self.session}"]
        if there and there[-1].stat().st_size < self.roll_bytes:
            self._file = open_own(there[-1], "ab", buffering=0)
            return self._file
        number = _place_of(there[-1])[1] + 1 if there else 1
        path = self.folder / f"crawl-{self.session}-{number:05d}.warc.gz"
        self._file = path.open("xb", buffering=0)
        info = info_record(filename=path.name, about=self._about)
        self._append(self._file, packed := info.packed())
        self.index.add([], file=path.name, size=len(packed))
        sync_folder(self.folder)
        return self._file

    def _open_index(self) -> None:
        """Open the table, bring it up to date, or make it again."""
        path = self.folder / NAME
        is_missing = not path.exists() and bool(self.files())
        try:
            self._open_table(path, is_rebuilt=is_missing)
        except sqlite3.DatabaseError:
            for name in (NAME, f"{NAME}-journal", f"{NAME}-wal", f"{NAME}-shm"):
                (self.folder / name).unlink(missing_ok=True)
            try:
                self._open_table(path, is_rebuilt=True)
            except sqlite3.DatabaseError as error:
                raise CorpusError(f"{path}: cannot be made ({error}). Is the disk full?") from error

    def _open_table(self, path: Path, *, is_rebuilt: bool) -> None:
        """Open the table and bring it up to date; close it if that fails."""
        self.index = ArchiveIndex(path)
        try:
            if self._is_of_others():
                raise sqlite3.DatabaseError("another archive")
            self.repaired = self._catch_up(is_rebuilt=is_rebuilt)
        except BaseException:
            self.index.close()
            raise

    def _is_of_others(self) -> bool:
        """Tell whether files are missing, or shorter than the table says."""
        sizes = {file.name: file.stat().st_size for file in self.files()}
        return any(size > sizes.get(name, -1) for name, size in self.index.sizes().items())

    def _catch_up(self, *, is_rebuilt: bool) -> Repair:
        """Add the records that the table lacks; cut off half records at the ends of files."""
        indexed = n_cut = damaged = 0
        cut_files = []
        known = self.index.sizes()
        for path in self.files():
            start, size = known.get(path.name, 0), path.stat().st_size
            if start == size and size:
                continue
            entries, end, n_damaged = _scan(path, start)
            indexed, damaged = indexed + len(entries), damaged + n_damaged
            if end < size or not size:
                n_cut += size - end
                cut_files.append(path.name)
                _cut(path, end)
            if end:
                self.index.add(entries, file=path.name, size=end)
        return Repair(indexed, is_rebuilt, n_cut, tuple(cut_files), damaged)


def _place_of(path: Path) -> tuple[str, int]:
    """Return session and number of a file; beyond five digits, names do not sort by number."""
    session, _, number = path.name.removesuffix(".warc.gz").rpartition("-")
    return session, int(number) if number.isdecimal() else 0


def _scan(path: Path, start: int) -> tuple[list[IndexedRequest], int, int]:
    """Read a file from an offset on: its entries, end of the last whole record, damaged places.

    Damage behind the last record comes from a process that was killed, and is not counted.
    """
    entries, end, damaged, since = [], start, 0, 0
    for record in read_archive(path, max_block=_HEADERS, start=start):
        if not isinstance(record, ArchiveRecord):
            since += 1
            continue
        end_of_member = _end_of_member(path, record.offset)
        if end_of_member is None:  # the record is whole, but the end of its gzip member is missing
            since += 1
            continue
        damaged, since, end = damaged + since, 0, end_of_member
        entry = entry_of(record.headers, record.block, file=path.name, offset=record.offset)
        entries += [entry] if entry else []
    return entries, end, damaged


def _end_of_member(path: Path, offset: int) -> int | None:
    """Find the end of the gzip member that begins at an offset; None if the file ends first."""
    stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
    with path.open("rb") as file:
        file.seek(offset)
        while not stream.eof and (chunk := file.read(1 << 16)):
            stream.decompress(chunk)
        return file.tell() - len(stream.unused_data) if stream.eof else None


def _cut(path: Path, end: int) -> None:
    """Truncate a file at an offset; delete the file at offset 0."""
    if not end:
        path.unlink()
        return
    with open_own(path, "r+b") as file:
        file.truncate(end)
        os.fsync(file.fileno())
