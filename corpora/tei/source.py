"""A file's characters, and where each element and each character of its text stands among them.

``parse_xml`` says what a file means; this says where it is written, so that a writer can edit the
bytes and leave all others as they are. Positions count the characters of the decoded file, without
a byte order mark; ``splice`` turns them into bytes.
"""

import codecs
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.parsers import expat

from corpora.tei.xml import Element, XmlError, parse_xml

_DECLARED = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([\w.:-]+)[\"']")
_TAG = re.compile(r"<[^\"'>]*(?:(?:\"[^\"]*\"|'[^']*')[^\"'>]*)*>")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_VARIABLE_WIDTH = {"utf-8", "utf-16-le", "utf-16-be"}


class Edit(NamedTuple):
    """Characters ``start`` to ``end`` of the file are replaced by a text; equal: it is inserted."""

    start: int
    end: int
    text: str


class PlacedText(str):
    """A text of the tree that knows its place in the stream of all text."""

    __slots__ = ("offset",)
    offset: int


class Node:
    """An element (or a CDATA section, without an ``element``) and where its tags stand."""

    __slots__ = (
        "content_end",
        "content_start",
        "depth",
        "element",
        "end",
        "first",
        "is_expanded",
        "last",
        "number",
        "parent",
        "start",
    )

    def __init__(self, parent: "Node | None", start: int, content_start: int) -> None:
        self.element: Element | None = None
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.number = -1
        """Among the elements of the file."""
        self.start, self.content_start = start, content_start
        self.content_end = self.end = content_start
        self.first = self.last = 0
        """Its text in the stream, half-open."""
        self.is_expanded = False
        """Whether it stands in the expansion of an entity: its place is the reference then."""

    @property
    def name(self) -> str:
        """Local name in lower case; that of other namespaces in braces, empty for CDATA."""
        return self.element.name if self.element else ""

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written ``<a/>``: nothing can be put into it."""
        return self.content_start == self.end

    def chain(self) -> "Iterator[Node]":
        """The node and its ancestors, the root last."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent


class Source:
    """A file that was parsed twice: for what it means, and for where it is written."""

    def __init__(self, data: bytes, *, name: str) -> None:
        self.root = parse_xml(data, name=name)
        self.data, self.name = data, name
        self.encoding, self.n_mark = _encoding(data)
        try:
            self.text = data[self.n_mark :].decode(self.encoding)
        except (LookupError, UnicodeError) as error:  # expat read it: cannot be
            message = f"{name}: unreadable encoding ({error}). Save the file as UTF-8."
            raise XmlError("encoding", message) from error
        scan = _Scan(self.text)
        self.nodes: list[Node] = scan.nodes
        """Elements in the order of their start tags."""
        self.stream = "".join(scan.pieces)
        """All character data."""
        self.starts, self.ends = scan.starts, scan.ends
        """Where each character of the stream is written; several may come from one reference."""
        self._runs, self._run_nodes = scan.runs, scan.run_nodes
        self._attach()

    def _attach(self) -> None:
        """Tell the nodes their elements, and the tree its places."""
        self.number_of: dict[int, int] = {}  # by the identity of the element
        offset = 0
        waiting = iter(self.nodes)

        def walk(element: Element) -> None:
            nonlocal offset
            node = next(waiting)
            node.element = element
            self.number_of[id(element)] = node.number
            for position, child in enumerate(element.children):
                if isinstance(child, Element):
                    walk(child)
                else:
                    text = PlacedText(child)
                    text.offset = offset
                    element.children[position] = text
                    offset += len(child)

        walk(self.root)
        assert offset == len(self.stream), "two parses of the same bytes differ"  # noqa: S101

    def node_of(self, offset: int) -> Node:
        """The innermost node around a character of the stream whose tags are in the file."""
        return self._run_nodes[bisect_right(self._runs, offset) - 1]

    def offset_at(self, position: int) -> int:
        """The first character of the stream that is written at this position or after it."""
        return bisect_left(self.starts, position)

    def byte_at(self, position: int) -> int:
        """The byte of the file at which a character begins."""
        return next(self.bytes_at([position]))

    def bytes_at(self, positions: Iterable[int]) -> Iterator[int]:
        """The bytes at which characters begin; the positions ascend."""
        before, byte = 0, self.n_mark
        for position in positions:
            byte += self._width(before, position)
            before = position
            yield byte

    def _width(self, start: int, end: int) -> int:
        if self.encoding not in _VARIABLE_WIDTH:
            return end - start
        return len(self.text[start:end].encode(self.encoding))

    def prefix(self, node: Node) -> str:
        """The namespace prefix of an element as it is written, with its colon, or nothing."""
        found = re.match(r"<([^\s:/>]+:)?", self.text[node.start : node.content_start])
        return (found and found[1]) or ""

    def splice(self, edits: Iterable[Edit]) -> bytes:
        """The file with edits, which are in order and do not overlap; all other bytes stay."""
        edits = list(edits)
        places = list(self.bytes_at(place for start, end, _ in edits for place in (start, end)))
        pieces: list[bytes] = []
        position = 0
        for (_, _, text), start, end in zip(edits, places[::2], places[1::2], strict=True):
            pieces += [self.data[position:start], self.encode(text)]
            position = end
        return b"".join([*pieces, self.data[position:]])

    def encode(self, markup: str) -> bytes:
        """Markup in the encoding of the file; what that lacks becomes character references."""
        return markup.encode(self.encoding, "xmlcharrefreplace")


def _encoding(data: bytes) -> tuple[str, int]:
    """The encoding that expat reads the file in, and the length of its byte order mark."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return encoding, len(mark)
    if data[:2] in {b"<\0", b"\0<"}:
        return ("utf-16-le" if data[0] else "utf-16-be"), 0
    declared = _DECLARED.match(data)
    name = declared[1].decode("ascii") if declared else "utf-8"
    return codecs.lookup(name).name, 0


class _Scan:
    """One pass of expat for places alone; ``parse_xml`` has read the file and its bounds hold."""

    def __init__(self, text: str) -> None:
        self.text, self.utf8 = text, text.encode("utf-8", "surrogatepass")
        self.nodes: list[Node] = []
        self.pieces: list[str] = []
        self.starts, self.ends = array("q"), array("q")
        self.runs, self.run_nodes = array("q"), list[Node]()
        self._length = 0
        self._open: list[Node] = []  # elements and CDATA sections
        self._written: list[Node] = []  # those of them that have tags in the file
        self._byte = self._position = 0
        self._is_ascii = len(self.utf8) == len(text)
        self._in_cdata = False
        parser = self._expat = expat.ParserCreate("utf-8")
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartCdataSectionHandler = self._start_cdata
        parser.EndCdataSectionHandler = self._end_cdata
        parser.Parse(self.utf8, True)  # noqa: FBT003 - expat knows no keywords
        del self._expat  # its handlers refer to this object

    def _here(self) -> int:
        """The position of the event; within the expansion of an entity, that of its reference."""
        byte = self._expat.CurrentByteIndex
        if self._is_ascii:
            return byte
        self._position += len(self.utf8[self._byte : byte].decode("utf-8", "surrogatepass"))
        self._byte = byte
        return self._position

    def _start(self, _: str, __: dict[str, str]) -> None:
        here = self._here()
        parent = self._open[-1] if self._open else None
        if self.text[here] == "&":
            node = Node(parent, here, self._reference_end(here))
            node.is_expanded = True
        else:
            tag = _TAG.match(self.text, here)
            assert tag is not None  # noqa: S101 - expat found a tag here
            node = Node(parent, here, tag.end())
        node.number = len(self.nodes)
        self.nodes.append(node)
        self._push(node)

    def _push(self, node: Node) -> None:
        node.first = self._length
        self._open.append(node)
        if not node.is_expanded:
            self._written.append(node)

    def _pop(self) -> Node:
        node = self._open.pop()
        node.last = self._length
        if not node.is_expanded:
            self._written.pop()
        return node

    def _end(self, _: str) -> None:
        here = self._here()
        node = self._pop()
        if node.is_expanded or self.text[node.content_start - 2] == "/":
            return  # an empty tag, whose end is that of its start
        node.content_end, node.end = here, self.text.index(">", here) + 1

    def _start_cdata(self) -> None:
        here = self._here()
        if self.text[here] == "<":
            self._push(Node(self._written[-1], here, here + len(_CDATA)))
            self._in_cdata = True

    def _end_cdata(self) -> None:
        if self._in_cdata:
            node = self._pop()
            node.content_end = self._here()
            node.end = node.content_end + len(_CDATA_END)
            self._in_cdata = False

    def _characters(self, text: str) -> None:
        here = self._here()
        size = len(text)
        if not self.runs or self.run_nodes[-1] is not self._written[-1]:
            self.runs.append(self._length)
            self.run_nodes.append(self._written[-1])
        if self.text[here] == "&" and not self._in_cdata:
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

    def _reference_end(self, here: int) -> int:
        return self.text.index(";", here) + 1
