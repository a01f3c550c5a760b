"""The bytes of a file as a stream; gzip, bzip2 and xz, found by their first bytes, are unpacked."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

from corpora.errors import CorpusError

CHUNK = 1 << 20
_PACKED = 1 << 14  # bytes that are unpacked at once; small, as the end of a stream copies the rest
MAX_RATIO = 200
"""The highest ratio of unpacked to packed bytes of an archive that unpacks to more than
``FREE_BYTES``; text is below 20."""
FREE_BYTES = 64 << 20
_AGAIN = "Fetch or pack it again, or leave it out."


class TextError(CorpusError):
    """The error for a file that cannot be read; ``reason`` is counted, ``position`` says where."""

    def __init__(self, reason: str, message: str, *, position: str = "") -> None:
        super().__init__(message)
        self.reason, self.position = reason, position


class _Unpacker(Protocol):
    """An unpacker of one stream of an archive, as in ``bz2`` and ``lzma``."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class _Gzip:
    """An unpacker of one stream of gzip."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._tail = b""

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._tail

    def decompress(self, data: bytes, max_length: int = CHUNK) -> bytes:
        unpacked = self._stream.decompress(self._tail + data, max_length)
        self._tail = self._stream.unconsumed_tail
        return unpacked


_KINDS: tuple[tuple[bytes, str, Callable[[], _Unpacker]], ...] = (
    (b"\x1f\x8b", "gzip", _Gzip),
    (b"BZh", "bzip2", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\x00", "xz", lzma.LZMADecompressor),
)


def archive_kind(path: Path) -> str:
    """Tell how a file is packed: ``gzip``, ``bzip2``, ``xz``, or empty."""
    with path.open("rb") as file:
        head = file.read(6)
    return next((kind for magic, kind, _ in _KINDS if head.startswith(magic)), "")


def read_chunks(
    path: Path, *, name: str, max_bytes: int, span: tuple[int, int] | None = None
) -> Iterator[bytes]:
    """Read a file, unpacked, in chunks of at most ``CHUNK`` bytes; ``span`` is a part of it.

    Raises ``TextError`` where an archive is damaged or ends too early, and where there is more than
    ``max_bytes``, or more than an archive of text can hold.
    """
    kind = archive_kind(path)
    with path.open("rb") as file:
        if kind and span is None:
            yield from _unpacked(file, kind, name=name, max_bytes=max_bytes)
            return
        start, end = span or (0, path.stat().st_size)
        if end - start > max_bytes:
            raise _too_large(name, end - start, max_bytes)
        file.seek(start)
        while start < end and (chunk := file.read(min(CHUNK, end - start))):
            start += len(chunk)
            yield chunk


def _too_large(name: str, size: int, max_bytes: int) -> TextError:
    return TextError(
        "too_large",
        f"{name}: {size / 1e6:,.0f} MB, over the bound of {max_bytes / 1e6:g} MB. Divide it.",
    )


def _unpacked(file: IO[bytes], kind: str, *, name: str, max_bytes: int) -> Iterator[bytes]:
    """Unpack all streams of an archive, and keep it below the bounds."""
    size = 0
    try:
        for chunk in _streams(file, next(make for _, known, make in _KINDS if known == kind)):
            size += len(chunk)
            if size > max_bytes:
                raise _too_large(name, size, max_bytes)
            if size > FREE_BYTES and size > MAX_RATIO * file.tell():
                raise TextError(
                    "too_large",
                    f"{name}: unpacks to more than {MAX_RATIO} times its size, which no text does. "
                    "Unpack it yourself if it is right.",
                )
            yield chunk
    except EOFError as error:
        raise _bad(
            "truncated_archive", name, what=f"the {kind} archive ends here", size=size
        ) from error
    except (OSError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the disk, not of the archive
        raise _bad(
            "damaged_archive", name, what=f"damaged {kind} archive ({error})", size=size
        ) from error


def _bad(reason: str, name: str, *, what: str, size: int) -> TextError:
    position = f"byte {size} unpacked"
    return TextError(reason, f"{name}: {position}: {what}. {_AGAIN}", position=position)


def _streams(file: IO[bytes], make: Callable[[], _Unpacker]) -> Iterator[bytes]:
    """Unpack the streams of an archive, one after the other; zeros may pad its end."""
    data = file.read(_PACKED)
    while data:
        stream = make()
        while not stream.eof:
            if stream.needs_input and not data and not (data := file.read(_PACKED)):
                if left := stream.decompress(b"", CHUNK):
                    yield left
                    continue
                raise EOFError
            given, data = (data, b"") if stream.needs_input else (b"", data)
            if unpacked := stream.decompress(given, CHUNK):
                yield unpacked
        data = (stream.unused_data + data).lstrip(b"\0")
        while not data and (more := file.read(_PACKED)):
            data = more.lstrip(b"\0")
