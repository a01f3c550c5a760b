"""Fragments of a name: the well-formed places around its characters where tags can stand.

A name inside one element is one fragment. If it begins or ends in an inner element, its tags move
outwards over markup without text; if that is not possible, it becomes several fragments.
"""

import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby, pairwise, takewhile
from operator import itemgetter
from typing import NamedTuple

from corpora.document import Span
from corpora.tei.edition import APART, Edition, ElementMeaning, Role
from corpora.tei.layout import XML_SPACE
from corpora.tei.places import CharacterPlace, CharacterPlaces
from corpora.tei.source import Node, Source


class AllowedElements(NamedTuple):
    """The elements that TEI allows around and in a name, and beside the text.

    See ``content.toml``.
    """

    no_name_in: frozenset[str]
    no_text_in: frozenset[str]
    blocks: frozenset[str]
    one_of: frozenset[str]
    in_span: frozenset[str]


@cache
def content_rules() -> AllowedElements:
    """Read from ``content.toml`` what TEI P5 allows around and in a name."""
    table = tomllib.loads((files("corpora.tei") / "content.toml").read_text(encoding="utf-8"))
    return AllowedElements(*(frozenset(table[key]) for key in AllowedElements._fields))


class Unplaceable(Exception):  # noqa: N818 - it is an answer, and never leaves the writer
    """A name has no well-formed place; the message is the reason to count."""


class Fragment(NamedTuple):
    """A range of characters of the file that tags can enclose, and the element it is in."""

    start: int
    end: int
    around: Node


class _Letter(NamedTuple):
    """A character of a name that is no white space: its index in the text, and its place."""

    number: int
    place: CharacterPlace


class Fragmenter:
    """A finder of the places of names in one document."""

    def __init__(
        self,
        source: Source,
        places: CharacterPlaces,
        edition: Edition,
        *,
        without: Sequence[Node] = (),
    ) -> None:
        self.source, self.places, self.edition = source, places, edition
        self._without = {node.number for node in without}
        """Elements whose tags will be taken out: a name may cross them."""
        self._meanings: dict[int, ElementMeaning] = {}
        self._with_text: dict[int, bool] = {}

    def fragments(self, span: Span, text: str) -> list[Fragment]:
        """Return the fragments of a name in the order of the text; raises ``Unplaceable``."""
        if text[span.start].isspace() or text[span.end - 1].isspace():
            raise Unplaceable("begins or ends with white space")
        letters = list(self._letters(span, text))
        self._check_whole(letters[0].place, span)
        self._check_whole(letters[-1].place, span)
        if any(a.place.start > b.place.start for a, b in pairwise(letters)):
            raise Unplaceable("goes on in a part that stands elsewhere in the file")
        pieces = list(self._cover(letters))
        return pieces if len(pieces) == 1 else [self._around_names(piece) for piece in pieces]

    def is_one(self, span: Span, text: str) -> bool:
        """Tell whether one element can hold a name."""
        try:
            return len(self.fragments(span, text)) == 1
        except Unplaceable:
            return False

    def _letters(self, span: Span, text: str) -> Iterator[_Letter]:
        for index in range(span.start, span.end):
            place = self.places[index]
            if place is not None and not text[index].isspace():
                yield _Letter(index, place._replace(node=self._staying(place.node)))

    def _staying(self, node: Node) -> Node:
        """Find the innermost element around a node, or itself, whose tags stay."""
        while node.number in self._without and node.parent is not None:
            node = node.parent
        return node

    def _check_whole(self, place: CharacterPlace, span: Span) -> None:
        """Raise ``Unplaceable`` if a name begins or ends within one reference's characters."""
        first, last = self.places.atoms.get(place.start, (span.start, span.start))
        if first < span.start or last >= span.end:
            raise Unplaceable("cuts what one entity reference or element stands for")

    def _cover(self, letters: list[_Letter]) -> Iterator[Fragment]:
        """Cover letters, in ascending places, with as few fragments as possible."""
        waiting = [letters]
        while waiting:
            group = waiting.pop()
            first, last = group[0].place, group[-1].place
            around = self._staying(_common(first.node, last.node))
            fragment = self._whole(around, first, last)
            if fragment is not None:
                yield fragment
                continue
            parts = self._split(around, group)
            if len(parts) == 1:
                name = around.written_name or "a CDATA section"
                raise Unplaceable(f"no name may stand inside {name}")
            waiting += reversed(parts)

    def _whole(self, around: Node, first: CharacterPlace, last: CharacterPlace) -> Fragment | None:
        """Return one fragment for all letters, or None.

        It is in the element ``around`` or, where that allows no names, outside it.
        """
        start, end = self._start_in(around, first), self._end_in(around, last)
        if start is None or end is None or self._blocks(around, start, end):
            return None
        while not self._allows_names(around):
            if around.parent is None or around.parent.is_expanded:
                return None
            if not (self._opens(around, start) and self._closes(around, end)):
                return None
            if self._is_block(around):
                return None
            start, end, around = around.start, around.end, around.parent
        return Fragment(start, end, around)

    def _around_names(self, fragment: Fragment) -> Fragment:
        """Widen a fragment to enclose the names whose whole text it holds.

        Other fragments of the name are outside these names, too; the reader only merges pieces that
        are inside the same name.
        """
        start, end, around = fragment
        is_name = False
        while around.parent and not around.parent.is_expanded and not self._is_block(around):
            if not (self._opens(around, start) and self._closes(around, end)):
                break
            is_name = is_name or self._is_name(around)
            start, end, around = around.start, around.end, around.parent
            if is_name and self._allows_names(around):
                fragment, is_name = Fragment(start, end, around), False
        return fragment

    def _start_in(self, around: Node, place: CharacterPlace) -> int | None:
        """Move the start out of inner elements, up to ``around``; None if text is in the way."""
        start = place.start
        for node in _below(place.node, around):
            if node.number in self._without:
                continue
            if not self._opens(node, start):
                return None
            start = node.start
        return start

    def _end_in(self, around: Node, place: CharacterPlace) -> int | None:
        end = place.end
        for node in _below(place.node, around):
            if node.number in self._without:
                continue
            if not self._closes(node, end):
                return None
            end = node.end
        return end

    def _opens(self, node: Node, position: int) -> bool:
        """Tell whether only markup is between a start tag and a position in its element."""
        return self._is_free(node, node.content_start, position)

    def _closes(self, node: Node, position: int) -> bool:
        return self._is_free(node, position, node.content_end)

    def _is_free(self, node: Node, start: int, end: int) -> bool:
        """Tell whether a range holds no text.

        Text that is not read of a ``choice``, or of a name, does not count: a name may enclose it.
        The end of a note is never crossed: what surrounds a note in the file does not surround it
        in the text.
        """
        if self._role(node) in APART or self.places.any_between(start, end):
            return False
        if node.name in content_rules().one_of or self._is_name(node):
            return True
        source = self.source
        text = source.stream[source.offset_at(start) : source.offset_at(end)]
        return not text.strip(XML_SPACE)

    def _split(self, around: Node, letters: Sequence[_Letter]) -> list[list[_Letter]]:
        """Split letters that one fragment cannot hold, at the children that prevent it."""
        children = [_child(around, letter.place.node) for letter in letters]
        first, last = children[0], children[-1]
        start = letters[0].place.start if first is around else first.start
        blocks = self._blocks(around, start, letters[-1].place.end)
        if not self._allows_names(around):
            return _grouped(letters, [child.start for child in children])
        if blocks:
            walls = sorted({_child(around, block).start for block in blocks})
            sections = [
                (bisect_right(walls, letter.place.start), child.start in walls)
                for letter, child in zip(letters, children, strict=True)
            ]
            return _grouped(letters, sections)
        if first is not around and self._start_in(around, letters[0].place) is None:
            cut = sum(1 for _ in takewhile(lambda child: child is first, children))
        elif last is not around:
            cut = -sum(1 for _ in takewhile(lambda child: child is last, reversed(children)))
        else:
            return [list(letters)]
        return [list(letters[:cut]), list(letters[cut:])]

    def _allows_names(self, node: Node) -> bool:
        """Tell whether names may stand directly in an element: by TEI, or because text does."""
        name, rules = node.name, content_rules()
        if not name or name[0] == "{":
            return False
        return name not in rules.no_name_in or (name in rules.no_text_in and self._has_text(node))

    def _has_text(self, node: Node) -> bool:
        """Tell whether text stands directly in an element."""
        if node.number not in self._with_text:
            texts = (child for child in node.children if isinstance(child, str))
            self._with_text[node.number] = any(text.strip(XML_SPACE) for text in texts)
        return self._with_text[node.number]

    def _blocks(self, around: Node, start: int, end: int) -> list[Node]:
        """Find the blocks between two positions of an element, except in notes and the like."""
        first = bisect_left(self.source.node_starts, start)
        last = bisect_left(self.source.node_starts, end)
        return [
            node
            for node in self.source.nodes[first:last]
            if self._is_block(node) and not self._is_apart(node, around)
        ]

    def _is_apart(self, node: Node, around: Node) -> bool:
        """Tell whether an element, or one around it, is not read at its place."""
        return any(
            self._role(n) in {*APART, Role.LEAVE_OUT} for n in [node, *_below(node.parent, around)]
        )

    def _is_block(self, node: Node) -> bool:
        return (
            self._role(node) in {Role.PARAGRAPH, Role.LINE} or node.name in content_rules().blocks
        )

    def _is_name(self, node: Node) -> bool:
        return self._meaning(node).is_name

    def _role(self, node: Node) -> Role | None:
        return self._meaning(node).role

    def _meaning(self, node: Node) -> ElementMeaning:
        if not node.name:
            return ElementMeaning()
        if node.number not in self._meanings:
            self._meanings[node.number] = self.edition.meaning(node)
        return self._meanings[node.number]


def _below(node: Node | None, around: Node) -> Iterator[Node]:
    """Yield a node and its ancestors, up to but without ``around``."""
    while node is not None and node is not around:
        yield node
        node = node.parent


def _grouped(letters: Sequence[_Letter], keys: Sequence[object]) -> list[list[_Letter]]:
    """Group adjacent letters with the same key."""
    pairs = groupby(zip(keys, letters, strict=True), itemgetter(0))
    return [[letter for _, letter in group] for _, group in pairs]


def _common(first: Node, second: Node) -> Node:
    """Find the innermost element around both nodes."""
    around = set(map(id, first.chain()))
    return next(node for node in second.chain() if id(node) in around)


def _child(around: Node, node: Node) -> Node:
    """Return the child of ``around`` that a node is in; ``around`` itself for its own text."""
    return [around, *_below(node, around)][-1]
