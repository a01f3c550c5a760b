"""Names written beside the text: ``standOff`` with pointers to characters, where no element fits.

The pointers follow TEI's ``string-range`` scheme (Guidelines, 17.2.4): they count characters, from
0, in the text of the nearest element with an ``xml:id``, else of ``text``. Nothing is added to the
text itself, and tags that are put there later do not change the count.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from corpora.document import Span
from corpora.tei.fragments import content_rules
from corpora.tei.layout import XML_SPACE
from corpora.tei.places import CharacterPlaces
from corpora.tei.provenance import P4_ROOTS, Responsibility
from corpora.tei.source import Edit, Node, Source
from corpora.tei.style import tag
from corpora.tei.xml import ROOTS

_POINTER = re.compile(r"#string-range\((.+?)((?:,\d+,\d+)+)\)")
_STEP = re.compile(r"/\*\[local-name\(\)='([^']+)'\]\[(\d+)\]")
_PLAIN_ID = re.compile(r"[\w.-]+")


class StandoffTarget(NamedTuple):
    """A pointer to characters, and the ``TEI`` element that they stand in."""

    pointer: str
    tei: Node


def may_hold(target: StandoffTarget, name: str) -> bool:
    """Tell whether TEI allows an element in a ``span`` of a ``standOff``; TEI P4 has none."""
    return target.tei.name not in P4_ROOTS and name.lower() in content_rules().in_span


def pointer_to(span: Span, text: str, places: CharacterPlaces) -> StandoffTarget | None:
    """Build a pointer to the characters of a name; None if it cannot point to any.

    That is if none of them is in the file, or no element around them can be an anchor.
    """
    source = places.source
    letters = [i for i in range(span.start, span.end) if not text[i].isspace()]
    offsets = [offset for i in letters if (offset := places.offset(i)) is not None]
    if not offsets:
        return None
    first, last = min(offsets), max(offsets)
    nodes = source.node_of(first).chain()
    around = next(node for node in nodes if node.first <= first and last < node.last)
    anchor = next((node for node in around.chain() if _is_anchor(node)), None)
    tei = next(node for node in around.chain() if node.name in ROOTS)
    if anchor is None:
        return None
    ranges = [f",{start - anchor.first},{end - start}" for start, end in _runs(offsets, source)]
    return StandoffTarget(f"#string-range({_name(source, anchor)}{''.join(ranges)})", tei)


def _is_anchor(node: Node) -> bool:
    id = node.attributes.get("xml:id", "")
    return node.name == "text" or bool(_PLAIN_ID.fullmatch(id) and not id.startswith("onoma-"))


def _name(source: Source, node: Node) -> str:
    """Return the name of an element in a pointer: its id, or its path."""
    if _PLAIN_ID.fullmatch(id := node.attributes.get("xml:id", "")):
        return id
    path = ""
    for above in node.chain():
        siblings = source.named[above.parent.number if above.parent else -1, above.written_name]
        index = bisect_left(siblings, above.number, key=attrgetter("number"))
        path = f"/*[local-name()='{above.written_name}'][{index + 1}]{path}"
    return path


def _runs(offsets: Sequence[int], source: Source) -> Iterator[tuple[int, int]]:
    """Yield runs of characters, as (start, end), with only white space between their characters."""
    start = end = offsets[0]
    for offset in offsets:
        if offset < end or source.stream[end:offset].strip(XML_SPACE):
            yield start, end
            start = offset
        end = offset + 1
    yield start, end


def resolve(source: Source, pointer: str) -> str:
    """Return the characters that a pointer refers to; empty if it resolves to none."""
    match = _POINTER.fullmatch(pointer)
    node = _find(source, match[1]) if match else None
    if match is None or node is None:
        return ""
    numbers = [int(number) for number in match[2].split(",")[1:]]
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    places = ((node.first + start, node.first + start + length) for start, length in pairs)
    return "".join(source.stream[start : min(end, node.last)] for start, end in places)


def _find(source: Source, name: str) -> Node | None:
    if not name.startswith("/"):
        return source.by_id.get(name)
    node: Node | None = None
    for written, number in _STEP.findall(name):
        inside = source.named.get((node.number if node else -1, written), ())
        if len(inside) < int(number):
            return None
        node = inside[int(number) - 1]
    return node


def stand_off_edits(
    source: Source, spans: Sequence[tuple[Node, str]], *, by: Responsibility
) -> Iterator[Edit]:
    """Yield edits that add a ``standOff`` with its spans after the text of each ``TEI`` element."""
    by_tei: defaultdict[int, list[str]] = defaultdict(list)
    for tei, markup in spans:
        by_tei[tei.number].append(markup)
    for number, written in by_tei.items():
        tei = source.nodes[number]
        prefix = source.prefix(tei)
        resp = [("resp", f"#{by.model.id}")]
        end = [n for n in tei.elements() if n.name not in ROOTS][-1].end
        opening = f"{tag(prefix + 'standOff', resp)}{tag(prefix + 'spanGrp', resp)}"
        yield Edit(end, end, f"{opening}{''.join(written)}</{prefix}spanGrp></{prefix}standOff>")
