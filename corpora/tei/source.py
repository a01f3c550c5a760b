"""A file's characters, and the place of each element and each character of text among them.

The tree of ``corpora.tei.xml`` tells what a file means; this module tells where it is written, so
that a writer can edit the bytes and leave all others as they are. Positions count the characters of
the decoded file, without a byte order mark; ``splice`` turns them into bytes.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from corpora.tei.xml import Element, TreeParser, XmlError, check_is_xml, encoding_of, parse_xml

_TAG = re.compile(r"<[^\"'>]*(?:(?:\"[^\"]*\"|'[^']*')[^\"'>]*)*>")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"


class Edit(NamedTuple):
    """A replacement of characters ``start`` to ``end`` by a text.

    An insertion if both are equal.
    """

    start: int
    end: int
    text: str


class PlacedText(str):
    """A text of the tree that knows its offset in the stream of all text."""

    __slots__ = ("offset",)
    offset: int


class Node(Element):
    """An element, or a CDATA section (without a name), with the places of its tags."""

    __slots__ = (
        "content_end", "content_start", "end", "first", "is_expanded", "last", "number", "start",
    )  # fmt: skip

    number: int
    """The index among the elements of the file; -1 for CDATA."""
    first: int
    """``first`` and ``last`` are the half-open range of its text in the stream."""
    last: int
    is_expanded: bool
    """Whether it stands in the expansion of an entity; its place is then that of the reference."""

    def begin(self, start: int, content_start: int) -> None:
        """Set the place of the start tag; until an end tag comes, the element ends there."""
        self.start = start
        self.content_start = self.content_end = self.end = content_start

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written ``<a/>``, so that nothing can be put into it."""
        return self.content_start == self.end


class Source:
    """A file parsed both for its meaning and for the places of its markup.

    Raises ``XmlError`` if it is malformed.
    """

    def __init__(self, data: bytes, *, name: str) -> None:
        check_is_xml(data, name=name)
        self.data, self.name = data, name
        try:
            self.encoding, self.n_mark = encoding_of(data)
            self.text = data[self.n_mark :].decode(self.encoding)
        except (LookupError, UnicodeError) as error:
            parse_xml(data, name=name)  # raises the better message
            message = f"{name}: unreadable encoding ({error}). Save the file as UTF-8."
            raise XmlError("encoding", message) from error
        parser = _PlacingParser(self)
        self.root = parser.parse()
        self.nodes = parser.nodes
        """The elements in the order of their start tags."""
        self.stream = "".join(parser.pieces)
        """All character data of the file."""
        self.starts, self.ends = parser.starts, parser.ends
        """The positions in the file of each character of the stream; several may come from one
        reference."""
        self._runs, self._run_nodes = parser.runs, parser.run_nodes

    @cached_property
    def named(self) -> Mapping[tuple[int, str], Sequence[Node]]:
        """The elements by the index of their parent (-1: the root has none) and their name."""
        nodes: defaultdict[tuple[int, str], list[Node]] = defaultdict(list)
        for node in self.nodes:
            nodes[node.parent.number if node.parent else -1, node.written_name].append(node)
        return nodes

    @cached_property
    def by_byte(self) -> dict[int, Node]:
        """The first element that begins at each byte."""
        return {node.byte: node for node in reversed(self.nodes)}

    @cached_property
    def by_id(self) -> dict[str, Node]:
        """The first element with each ``xml:id``."""
        nodes = reversed(self.nodes)
        return {node.attributes["xml:id"]: node for node in nodes if "xml:id" in node.attributes}

    @cached_property
    def node_starts(self) -> list[int]:
        """The position of each element's start tag, in order."""
        return [node.start for node in self.nodes]

    def node_of(self, offset: int) -> Node:
        """Find the innermost node, with tags in the file, around a character of the stream."""
        return self._run_nodes[bisect_right(self._runs, offset) - 1]

    def offset_at(self, position: int) -> int:
        """Find the first character of the stream that is written at a position or after it."""
        return bisect_left(self.starts, position)

    def bytes_at(self, positions: Iterable[int]) -> Iterator[int]:
        """Yield the byte of each character position; positions ascend."""
        before, byte = 0, self.n_mark
        for position in positions:
            byte += len(self.text[before:position].encode(self.encoding))
            before = position
            yield byte

    def prefix(self, node: Node) -> str:
        """Return the namespace prefix of an element as written, with its colon, or nothing."""
        match = re.match(r"<([^\s:/>]+:)?", self.text[node.start : node.content_start])
        return (match and match[1]) or ""

    def splice(self, edits: Iterable[Edit]) -> bytes:
        """Apply edits, which are in order and do not overlap; all other bytes stay."""
        edits = list(edits)
        places = list(self.bytes_at(offset for start, end, _ in edits for offset in (start, end)))
        pieces: list[bytes] = []
        position = 0
        for (_, _, text), start, end in zip(edits, places[::2], places[1::2], strict=True):
            pieces += [self.data[position:start], self.encode(text)]
            position = end
        return b"".join([*pieces, self.data[position:]])

    def encode(self, markup: str) -> bytes:
        """Encode markup as the file is; missing characters become character references."""
        return markup.encode(self.encoding, "xmlcharrefreplace")


class _PlacingParser(TreeParser[Node]):
    """A parser that builds the tree of a file and records where it is written."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.data, source.name, Node)
        self.text, self.encoding = source.text, source.encoding
        self.nodes: list[Node] = []
        self.pieces: list[str] = []
        self.starts, self.ends = array("q"), array("q")
        self.runs: list[int] = []  # offsets in the stream where the text of another node begins
        self.run_nodes: list[Node] = []
        self._length = self._n_in_tree = 0  # characters of the stream; pieces already in the tree
        self._written: list[Node] = []  # open nodes with tags in the file
        self._byte, self._position = source.n_mark, 0
        self._is_fixed_width = len(source.text) == len(source.data) - source.n_mark
        self.expat.buffer_text = False
        self.expat.StartCdataSectionHandler = self._start_cdata
        self.expat.EndCdataSectionHandler = self._end_cdata

    def _here(self) -> int:
        """Return the position of the event; inside an entity's expansion, that of its reference."""
        byte = self.expat.CurrentByteIndex
        passed = self.data[self._byte : byte]
        self._position += len(passed if self._is_fixed_width else passed.decode(self.encoding))
        self._byte = byte
        return self._position

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        self._put_text()
        super()._start(qualified, attributes)
        node, here = self.stack[-1], self._here()
        node.number, node.first = len(self.nodes), self._length
        self.nodes.append(node)
        node.is_expanded = self.text[here] == "&"
        if node.is_expanded:
            node.begin(here, self._reference_end(here))
        else:
            tag = _TAG.match(self.text, here)
            assert tag is not None  # noqa: S101 - expat found a tag here
            node.begin(here, tag.end())
            self._written.append(node)

    def _end(self, qualified: str) -> None:
        self._put_text()
        node, here = self.stack[-1], self._here()
        super()._end(qualified)
        node.last = self._length
        if not node.is_expanded:
            self._written.pop()
            # no empty tag: the element ends at its end tag
            if self.text[node.content_start - 2] != "/":
                node.content_end, node.end = here, self.text.index(">", here) + 1

    def _start_cdata(self) -> None:
        here = self._here()
        if self.text[here] == "<":
            node = Node("", {})
            node.parent, node.number, node.is_expanded = self._written[-1], -1, False
            node.first = self._length
            node.begin(here, here + len(_CDATA))
            self._written.append(node)

    def _end_cdata(self) -> None:
        if not self._written[-1].name:
            node = self._written.pop()
            node.last, node.content_end = self._length, self._here()
            node.end = node.content_end + len(_CDATA_END)

    def _characters(self, text: str) -> None:
        self._count(len(text))
        here, size = self._here(), len(text)
        if not self.runs or self.run_nodes[-1] is not self._written[-1]:
            self.runs.append(self._length)
            self.run_nodes.append(self._written[-1])
        if self.text[here] == "&" and self._written[-1].name:
            self.starts.extend([here] * size)
            self.ends.extend([self._reference_end(here)] * size)
        elif self.text[here] == "\r":  # a line end
            self.starts.append(here)
            self.ends.append(here + (2 if self.text.startswith("\r\n", here) else 1))
        else:
            self.starts.extend(range(here, here + size))
            self.ends.extend(range(here + 1, here + size + 1))
        self.pieces.append(text)
        self._length += size

    def _put_text(self) -> None:
        """Add the text since the last tag to the tree."""
        if self._n_in_tree < len(self.pieces):
            text = PlacedText("".join(self.pieces[self._n_in_tree :]))
            text.offset = self._length - len(text)
            self.stack[-1].children.append(text)
            self._n_in_tree = len(self.pieces)

    def _reference_end(self, here: int) -> int:
        return self.text.index(";", here) + 1
