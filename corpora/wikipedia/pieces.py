"""Dumps in gzip, xz or zstd, which cannot be read from the middle, and are cut into pieces once.

The folder of pieces (of the XML, cut at any byte, in zstd) lies beside the output, and is named
after the hash of the file. Its ``index.json`` is written last; a folder without it, or with a piece
that does not have its hash, is made again. A piece is hashed again before it is read.
"""

import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import CorpusError, DamagedDatasetError, InputChangedError
from corpora.runs.plan import fingerprint_of
from corpora.system.files import sha256_of, take_away
from corpora.system.parsing import parse_json, typed
from corpora.system.threads import map_in_order
from corpora.system.writing import write_json
from corpora.wikipedia.chunks import CHUNK_BYTES, Chunk, Damage, DumpSource, chunk_bytes

if TYPE_CHECKING:
    import pyarrow as pa

_VERSION = 2


def _open_zstd(path: Path) -> "pa.NativeFile":
    import pyarrow as pa

    return pa.input_stream(str(path), compression="zstd")


_OPENERS: Mapping[str, Callable[[Path], BufferedIOBase]] = {
    "gzip": gzip.GzipFile,
    "xz": lzma.LZMAFile,
    "lzma": lzma.LZMAFile,
    "zstd": _open_zstd,
}


@dataclass(frozen=True, slots=True)
class Index:
    """The index of a folder of pieces."""

    version: int
    piece_bytes: int
    """The bytes of XML in each piece but the last."""
    size: int
    """The bytes of XML in all pieces."""
    pieces: list[str]
    """The SHA-256 of each piece's file."""
    damage: str
    """Why the file could not be read to its end; empty if it could."""
    is_cut_off: bool
    """Whether ``damage`` is that the file ends too early."""


class Pieces(DumpSource):
    """A dump cut into pieces by ``cut_pieces``; ranges count bytes of XML."""

    def __init__(self, folder: Path, index: Index) -> None:
        """Store the folder and its index."""
        self.folder, self.index = folder, index
        self.size = index.size

    def chunks(self, start: int, end: int) -> Iterator[Chunk | Damage]:
        """Read chunks that do not cross ``end``."""
        while start < self.size:
            number, skipped = divmod(start, self.index.piece_bytes)
            if not self._is_whole(number):
                raise self._damaged(number)
            with _open_zstd(self.folder / _name(number)) as piece:
                piece.read(skipped)
                while data := piece.read(chunk_bytes(start, end)):
                    yield Chunk(data, start, start < end)
                    start += len(data)
            if start != min((number + 1) * self.index.piece_bytes, self.size):
                raise self._damaged(number)
        if self.index.damage:
            yield Damage(
                position=f"byte {self.size}",
                message=f"{self.index.damage}, {self.size:,} bytes of XML into the file",
                own=end >= self.size,
                is_end=self.index.is_cut_off,
            )

    def _is_whole(self, number: int) -> bool:
        try:
            return sha256_of(self.folder / _name(number)) == self.index.pieces[number]
        except FileNotFoundError:
            return False

    def are_whole(self) -> bool:
        """Tell whether every piece has the hash of the index."""
        try:
            return all(map_in_order(self._is_whole, range(len(self.index.pieces))))
        except OSError:
            return False

    def _damaged(self, number: int) -> CorpusError:
        return DamagedDatasetError(
            f"{self.folder / _name(number)}: damaged (other bytes than were written). "
            "Run again: the dump is cut again."
        )


def cut_pieces(
    path: Path, *, container: str, work_directory: Path, piece_bytes: int, sha256: str | None = None
) -> Pieces:
    """Cut a compressed file into pieces, unless they exist; a damaged file up to the damage.

    ``sha256`` is the hash of the file, if it is known. Raises ``InputChangedError`` if newly cut
    pieces come from a file with another hash.
    """
    sha256 = sha256 or sha256_of(path)
    folder = _folder(path, work_directory, sha256)
    index = _read_index(folder)
    if index is None or not Pieces(folder, index).are_whole():
        take_away(folder)
        folder.mkdir(parents=True)
        size = 0
        pieces: list[str] = []
        with closing(_Decompressed(path, container)) as xml:
            while n_bytes := _write_piece(folder / _name(len(pieces)), xml, piece_bytes):
                pieces.append(sha256_of(folder / _name(len(pieces))))
                size += n_bytes
        index = Index(_VERSION, piece_bytes, size, pieces, xml.damage, xml.is_cut_off)
        if sha256_of(path) != sha256:
            raise InputChangedError(f"{path}: has changed meanwhile. Run again.")
        about = asdict(index)
        write_json(folder / "index.json", about | {"sha256": fingerprint_of(about)})
    return Pieces(folder, index)


def open_pieces(path: Path, *, work_directory: Path, sha256: str | None = None) -> Pieces:
    """Open the pieces that a file was cut into; raises ``CorpusError`` if they are missing.

    ``sha256`` is the hash of the file, if it is known.
    """
    folder = _folder(path, work_directory, sha256 or sha256_of(path))
    index = _read_index(folder)
    if index is None:
        raise CorpusError(
            f"{path}: its pieces in {folder} are missing, or the file has changed. "
            "Run again: it is cut again."
        )
    return Pieces(folder, index)


def _folder(path: Path, work_directory: Path, sha256: str) -> Path:
    name = re.sub(r"[^\w.-]", "_", path.name)
    return work_directory / f"{name}-{sha256[:32]}"


def _name(number: int) -> str:
    return f"piece-{number:05d}.zst"


def _read_index(folder: Path) -> Index | None:
    try:
        about = parse_json((folder / "index.json").read_text(encoding="utf-8"))
        if about.pop("sha256") != fingerprint_of(about):
            return None
        index = typed(Index, about)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return index if index.version == _VERSION else None


def _write_piece(file: Path, xml: "_Decompressed", piece_bytes: int) -> int:
    """Write at most ``piece_bytes`` bytes of XML to a file; returns how many were written.

    Writes no file if no XML is left.
    """
    import pyarrow as pa

    n_bytes = 0
    data = xml.read(min(CHUNK_BYTES, piece_bytes))
    if not data:
        return 0
    with pa.output_stream(str(file), compression="zstd") as piece:
        while data:
            piece.write(data)
            n_bytes += len(data)
            data = xml.read(min(CHUNK_BYTES, piece_bytes - n_bytes))
    with file.open("rb") as written:
        os.fsync(written.fileno())
    return n_bytes


class _Decompressed:
    """The XML in a compressed file, up to its end or to the first damage."""

    def __init__(self, path: Path, container: str) -> None:
        self.file = _OPENERS[container](path)
        self.container = container
        self.damage, self.is_cut_off = "", False

    def read(self, n_bytes: int) -> bytes:
        """Read at most ``n_bytes`` bytes; empty at the end, and after damage."""
        if not n_bytes or self.damage:
            return b""
        try:
            data: bytes = self.file.read1(n_bytes)
        except EOFError:
            self.damage, self.is_cut_off = f"its {self.container} data end too early", True
            return b""
        except (zlib.error, lzma.LZMAError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the disk, not of the data
            self.is_cut_off = "Truncated" in str(error)  # Arrow's word for an early end
            self.damage = f"its {self.container} data are damaged ({error})"
            return b""
        return data

    def close(self) -> None:
        """Close the file."""
        self.file.close()
