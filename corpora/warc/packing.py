"""Packing of archives: record by record, in members of gzip or frames of zstd, or not at all.

The frames of ``.warc.zst`` may need a dictionary, which the first frame of the file holds
(https://iipc.github.io/warc-specifications/specifications/warc-zstd/). The archives in a WACZ, a
zip archive, are stored in it as they are.
"""

import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import unpack
from typing import IO, Protocol
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from corpora.errors import UsageError

_ZIP = b"PK\x03\x04"
_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""The first bytes of the frame that holds a dictionary."""
_MAX_DICTIONARY = 100 << 20
_LOCAL_HEADER = 30
_ARCHIVES = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz")
_UNREAD = {
    b"\xfd7zXZ\0": "is packed by xz, which is not read here. Unpack it: xz -d",
    b"BZh": "is packed by bzip2, which is not read here. Unpack it: bzip2 -d",
}
"""First bytes of files that hold archives, and what to do with the file."""


class MemberStream(Protocol):
    """A member that is being unpacked; it keeps what it was given and has not unpacked yet."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether it has nothing more to unpack."""

    @property
    def unused_data(self) -> bytes:
        """The bytes behind the end of the member."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Unpack at most ``max_length`` bytes."""


class _Member:
    """A member of gzip."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


@dataclass(frozen=True, slots=True)
class Packing:
    """A way in which an archive is packed."""

    magic: bytes
    """The first bytes of each member."""
    open: Callable[[], MemberStream]
    errors: tuple[type[Exception], ...]
    """The errors of a damaged member."""


GZIP = Packing(b"\x1f\x8b\x08", _Member, (zlib.error,))
_ZSTD = b"\x28\xb5\x2f\xfd"


def packing_at(file: IO[bytes], start: int) -> tuple[Packing | None, int]:
    """Find how an archive is packed, None for not at all, and the offset of its first record.

    ``start`` is where the archive begins in the file.
    """
    file.seek(start)
    head = file.read(8)
    if head.startswith(_DICTIONARY):
        [size] = unpack("<I", head[4:])
        dictionary = file.read(min(size, _MAX_DICTIONARY))
        return _zstd(dictionary), start + len(head) + size
    if head.startswith(GZIP.magic):
        return GZIP, start
    return (_zstd(b"") if head.startswith(_ZSTD) else None), start


def _zstd(dictionary: bytes) -> Packing:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    if dictionary.startswith(_ZSTD):
        dictionary = zstd.decompress(dictionary)
    trained = zstd.ZstdDict(dictionary) if dictionary else None
    return Packing(_ZSTD, lambda: zstd.ZstdDecompressor(trained), (zstd.ZstdError, EOFError))


def archives_in(path: Path) -> Sequence[tuple[int, int]]:
    """Find the archives in a file: the whole file, or those of a WACZ in their order.

    Raises ``UsageError`` for a file that must be unpacked.
    """
    with path.open("rb") as file:
        first = file.read(16)
        if what := next((what for magic, what in _UNREAD.items() if first.startswith(magic)), ""):
            raise UsageError(f"{path}: {what} {path.name}")
        if not first.startswith(_ZIP):
            return [(0, path.stat().st_size)]
        return list(_stored(path, file))


def _stored(path: Path, file: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where the archives in a zip archive begin and end."""
    advice = f"Take the archives out of it: unzip {path.name}"
    try:
        with ZipFile(path) as package:
            entries = sorted(package.infolist(), key=lambda entry: entry.header_offset)
    except BadZipFile as error:
        raise UsageError(f"{path}: is a damaged zip archive ({error}). {advice}") from error
    archives = [entry for entry in entries if entry.filename.lower().endswith(_ARCHIVES)]
    if not archives:
        raise UsageError(f"{path}: a zip archive without web archives ({', '.join(_ARCHIVES)}).")
    for entry in archives:
        if entry.compress_type != ZIP_STORED:
            raise UsageError(f"{path}: {entry.filename} is packed again. {advice}")
        file.seek(entry.header_offset)
        header = file.read(_LOCAL_HEADER)
        n_name, n_extra = unpack("<HH", header[26:])
        start = entry.header_offset + _LOCAL_HEADER + n_name + n_extra
        yield start, start + entry.compress_size
