"""Segments of a dump, cut at the tags of its pages.

A segment extends from one tag (``<page>`` or ``</page>``) to the next, and belongs to the range in
which the ``<`` of its first tag stands: so ranges of any size give each segment once. From an
opening tag to a closing one it is a page, from a closing tag to an opening one the gap between two
pages; every other sequence of tags is damage.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from corpora.wikipedia.chunks import Chunk, Damage

_TAG = re.compile(rb"<page(?=[\s/>])|</page>")
_UNFINISHED = 6  # a tag that begins in so many last bytes of a chunk may end in the next
HASH_DIGITS = 32
_EXCERPT = 400  # bytes kept of a segment that is too large


class Edge(Enum):
    """The beginning or end of a segment."""

    OPENING = "<page>"
    CLOSING = "</page>"
    FILE = "file"
    DAMAGE = "damage"


@dataclass
class Segment:
    """The bytes from one tag to the next; a page has both of its tags."""

    first: Edge
    position: str
    last: Edge = Edge.FILE
    size: int = 0
    """The size in bytes, also if not all of them are kept."""
    is_too_large: bool = False
    _parts: list[bytes] = field(default_factory=list)

    @property
    def is_page(self) -> bool:
        """Whether the segment is a page with both of its tags, and is kept whole."""
        whole = (self.first, self.last) == (Edge.OPENING, Edge.CLOSING)
        return whole and not self.is_too_large

    @property
    def data(self) -> bytes:
        """The bytes of the segment; only the first if it is too large."""
        return b"".join(self._parts)

    @cached_property
    def hash(self) -> str:
        """The hash of a page's XML, all of it: 32 digits, the first 128 bits of SHA-256."""
        return hash_of(self.data)

    def add(self, data: bytes, *, max_bytes: int) -> None:
        """Append bytes; beyond ``max_bytes`` only the beginning is kept."""
        self.size += len(data)
        if self.is_too_large:
            return
        self._parts.append(data)
        if self.size > max_bytes:
            self.is_too_large = True
            self._parts = [self.data[:_EXCERPT]]


def hash_of(xml: bytes) -> str:
    """Hash the XML of a page."""
    return hashlib.sha256(xml).hexdigest()[:HASH_DIGITS]


def cut(
    items: Iterable[Chunk | Damage], *, from_start: bool, max_bytes: int
) -> Iterator[Segment | Damage]:
    """Cut a range into the segments that belong to it.

    ``from_start``: the range is the first of the file. Damage in the range is yielded too. Memory
    is bounded by a chunk and ``max_bytes``.
    """
    cutter = _Cutter(max_bytes)
    if from_start:
        cutter.segment = Segment(Edge.FILE, "byte 0")
    for item in items:
        if isinstance(item, Chunk):
            yield from cutter.add(item)
        else:
            yield from cutter.finish(Edge.FILE if item.is_end else Edge.DAMAGE)
            if item.own:
                yield item
        if not item.own and cutter.is_done:
            return
    yield from cutter.finish(Edge.FILE)


class _Cutter:
    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.segment: Segment | None = None
        self.rest = b""  # the end of the last chunk, from a "<" that may begin a tag
        self.rest_position, self.rest_is_own = "", False

    @property
    def is_done(self) -> bool:
        """Whether no segment of the range is open."""
        return self.segment is None and not (self.rest and self.rest_is_own)

    def add(self, chunk: Chunk) -> Iterator[Segment]:
        data = self.rest + chunk.data
        written = searched = 0
        for tag in _TAG.finditer(data):
            is_closing = tag[0] == b"</page>"
            yield from self._end(
                data[written : tag.end() if is_closing else tag.start()],
                Edge.CLOSING if is_closing else Edge.OPENING,
            )
            position, is_own = self._place(chunk, tag.start())
            if not is_own:
                self.rest = b""
                return
            self.segment = Segment(Edge.CLOSING if is_closing else Edge.OPENING, position)
            written, searched = tag.start(), tag.end()
        self._keep(chunk, data, written=written, searched=searched)

    def finish(self, last: Edge) -> Iterator[Segment]:
        """End the open segment, at damage or the end: the bytes after it are unknown."""
        yield from self._end(self.rest, last)
        self.rest = b""

    def _place(self, chunk: Chunk, offset: int) -> tuple[str, bool]:
        if self.rest and offset == 0:
            return self.rest_position, self.rest_is_own
        return chunk.position(offset - len(self.rest)), chunk.own

    def _end(self, data: bytes, last: Edge) -> Iterator[Segment]:
        if self.segment is not None:
            self.segment.add(data, max_bytes=self.max_bytes)
            self.segment.last = last
            yield self.segment
        self.segment = None

    def _keep(self, chunk: Chunk, data: bytes, *, written: int, searched: int) -> None:
        unfinished = data.rfind(b"<", max(searched, len(data) - _UNFINISHED))
        end = len(data) if unfinished < 0 else unfinished
        if self.segment is not None:
            self.segment.add(data[written:end], max_bytes=self.max_bytes)
        if unfinished >= 0:
            self.rest_position, self.rest_is_own = self._place(chunk, unfinished)
        self.rest = data[end:]
