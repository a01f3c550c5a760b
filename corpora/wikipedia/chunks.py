"""The XML of a dump as chunks of bytes, read from any offset: the interface of all containers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpora.errors import CorpusError

CHUNK_BYTES = 1 << 20
_FURTHER_BYTES = 1 << 16  # bytes to read at once beyond the end of a range, where few are needed


class DumpError(CorpusError):
    """A dump cannot be read at all: it is no dump, is not in UTF-8, or its head is damaged."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the XML, directly after the chunk before it."""

    data: bytes
    start: int
    """The offset of the first byte, in the whole XML or in the part that ``place`` names."""
    own: bool
    """Whether the chunk is in the range that was asked for, not beyond its end."""
    place: str = ""
    """The part in which ``start`` counts (``of the bzip2 block at byte 4``); empty for the whole
    XML."""

    def position(self, offset: int) -> str:
        """Describe the position of a byte; the same for every division into ranges."""
        return f"byte {self.start + offset} {self.place}".rstrip()


@dataclass(frozen=True, slots=True)
class Damage:
    """A gap in the XML, where bytes cannot be read."""

    position: str
    """The place of the gap, as text: a byte of the compressed file or of its XML."""
    message: str
    """What is wrong, as a clause."""
    own: bool
    is_end: bool = False
    """Whether nothing follows the gap, as the file is cut off."""


class DumpSource:
    """A file of a dump in one of the containers."""

    def __init__(self, path: Path) -> None:
        """Measure the file; ``size`` is in the unit in which ranges are counted."""
        self.path = path
        self.size = path.stat().st_size

    def chunks(self, start: int, end: int) -> Iterator[Chunk | Damage]:
        """Read from ``start``, and beyond ``end`` for as long as the caller consumes chunks."""
        raise NotImplementedError

    def ending(self) -> Iterator[Chunk | Damage]:
        """Read the last part: enough to see how the file ends."""
        return self.chunks(max(0, self.size - _FURTHER_BYTES), self.size)


class PlainFile(DumpSource):
    """XML that is not compressed; ranges count its bytes."""

    def chunks(self, start: int, end: int) -> Iterator[Chunk | Damage]:
        """Read chunks that do not cross ``end``."""
        with self.path.open("rb") as file:
            file.seek(start)
            while data := file.read(chunk_bytes(start, end)):
                yield Chunk(data, start, start < end)
                start += len(data)


def chunk_bytes(start: int, end: int) -> int:
    """Return the number of bytes to read at once at ``start``, of a range that ends at ``end``."""
    return min(CHUNK_BYTES, end - start) if start < end else _FURTHER_BYTES
