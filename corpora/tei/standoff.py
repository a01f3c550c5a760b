"""Names beside the text: ``standOff`` with pointers to characters, for those no element can hold.

The pointers are TEI's ``string-range`` scheme (Guidelines, 17.2.4): the text of an element, counted
in characters from 0, of the nearest element with an ``xml:id``, else of ``text``. Nothing is
added to the text itself, and tags that are put there later do not change the count.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from corpora.document import Span
from corpora.tei.layout import XML_SPACE
from corpora.tei.places import Places
from corpora.tei.provenance import Model
from corpora.tei.reader import ROOTS
from corpora.tei.source import Edit, Node, Source
from corpora.tei.style import tag

_POINTER = re.compile(r"#string-range\((.+?)((?:,\d+,\d+)+)\)")
_STEP = re.compile(r"/\*\[local-name\(\)='([^']+)'\]\[(\d+)\]")
_PLAIN_ID = re.compile(r"[\w.-]+")


class Target(NamedTuple):
    """A pointer to characters, and the ``TEI`` element that they stand in."""

    pointer: str
    tei: Node


def pointer_to(span: Span, text: str, places: Places) -> Target | None:
    """Point to the characters of a name; None where no character of it is written as such."""
    source = places.source
    letters = [i for i in range(span.start, span.end) if not text[i].isspace()]
    offsets = [offset for i in letters if (offset := places.offset(i)) is not None]
    if not offsets:
        return None
    around = _around(source, offsets)
    anchor = next((node for node in around.chain() if _is_anchor(node)), None)
    tei = next(node for node in around.chain() if node.name in ROOTS)
    if anchor is None:
        return None
    ranges = [f",{start - anchor.first},{end - start}" for start, end in _runs(offsets, source)]
    return Target(f"#string-range({_name(source, anchor)}{''.join(ranges)})", tei)


def _around(source: Source, offsets: Sequence[int]) -> Node:
    """The innermost element around characters of the stream."""
    first, last = min(offsets), max(offsets)
    return next(n for n in source.node_of(first).chain() if n.first <= first and last < n.last)


def _is_anchor(node: Node) -> bool:
    if node.element is None:
        return False
    id = node.element.attributes.get("xml:id", "")
    is_known = _PLAIN_ID.fullmatch(id) and not id.startswith("onoma-")
    return node.name == "text" or bool(is_known)


def _name(source: Source, node: Node) -> str:
    """An element as a pointer names it: by its id, or by its path."""
    element = node.element
    id = element.attributes.get("xml:id", "") if element else ""
    if _PLAIN_ID.fullmatch(id):
        return id
    steps = []
    for one in node.chain():
        written = one.element.written_name if one.element else ""
        before = [
            n
            for n in source.nodes[: one.number]
            if n.parent is one.parent and n.element and n.element.written_name == written
        ]
        steps.append(f"/*[local-name()='{written}'][{len(before) + 1}]")
    return "".join(reversed(steps))


def _runs(offsets: Sequence[int], source: Source) -> Iterator[tuple[int, int]]:
    """Characters that follow each other with nothing but white space between."""
    start = end = offsets[0]
    for offset in offsets:
        if offset < end or source.stream[end:offset].strip(XML_SPACE):
            yield start, end
            start = offset
        end = offset + 1
    yield start, end


def resolve(source: Source, pointer: str) -> str:
    """The characters that a pointer means; nothing where it points nowhere."""
    found = _POINTER.fullmatch(pointer)
    node = _find(source, found[1]) if found else None
    if found is None or node is None:
        return ""
    text = source.stream[node.first : node.last]
    numbers = [int(number) for number in found[2].split(",")[1:]]
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    return "".join(text[start : start + length] for start, length in pairs)


def _find(source: Source, name: str) -> Node | None:
    if not name.startswith("/"):
        with_id = (
            n for n in source.nodes if n.element and n.element.attributes.get("xml:id") == name
        )
        return next(with_id, None)
    node: Node | None = None
    for written, number in _STEP.findall(name):
        inside = [
            n
            for n in source.nodes
            if n.parent is node and n.element and n.element.written_name == written
        ]
        if len(inside) < int(number):
            return None
        node = inside[int(number) - 1]
    return node


def stand_off_edits(
    source: Source, spans: Sequence[tuple[Node, str]], *, model: Model
) -> Iterator[Edit]:
    """Put the spans of each ``TEI`` element into a ``standOff`` of their own, after its text."""
    for tei in dict.fromkeys(tei for tei, _ in spans):
        prefix = source.prefix(tei)
        resp = [("resp", f"#{model.id}")]
        children = [n for n in source.nodes if n.parent is tei and n.name not in ROOTS]
        inside = "".join(markup for node, markup in spans if node is tei)
        markup = (
            f"{tag(prefix + 'standOff', resp)}{tag(prefix + 'spanGrp', resp)}{inside}"
            f"</{prefix}spanGrp></{prefix}standOff>"
        )
        yield Edit(children[-1].end, children[-1].end, markup)
