r"""Tables, infoboxes, references and formulas, taken out of a page while its text is read.

In place of each block, ``structure.py`` leaves a place mark, ``\x0eN\x0e``. ``wikitext.py`` takes
the marks from a line before it reads it, so that the text is the same with and without them.
``cells.py`` reads the blocks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile

from corpora.wikipedia.blocks import TitleLink
from corpora.wikipedia.nesting import ClosingTags
from corpora.wikipedia.templates import Call, split_call, split_parts

KINDS = {"tables": "table", "infoboxes": "infobox", "references": "reference", "math": "math"}
"""The values of ``--blocks``, each with the kind of its rows."""
PLACE = "\x0e"
PLACES = re.compile(f"{PLACE}(\\d+){PLACE}")
FORMULAS = frozenset({"math", "chem", "ce"})
"""The tags that hold TeX."""
_SHORT = "\x00"
"""The group of short footnotes; no group is called so."""
_LEAST_NAMED = 3
"""The fewest named parameters of an infobox; a template with fewer, alone on its lines, is none."""
_MAX_DEPTH = 20  # levels of tables and infoboxes inside others
_MAX_PARENTS = 2 * _MAX_DEPTH  # of a block; a bound because references may use each other
_ATTRIBUTE = re.compile(
    r"""\b(name|group)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/>]+))""", re.IGNORECASE
)
_LISTED = re.compile(r"<ref\b([^<>]*)(?<!/)>", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class Cell:
    """A cell of a table, a parameter of a template, or the text of a reference."""

    kind: str
    """``head``, ``data``, ``caption``, ``parameter`` or ``text``."""
    text: str
    """The wikitext of the cell; once it is read, its plain text."""
    row: int = 0
    column: int = 0
    rows: int = 1
    """The number of rows that the cell spans."""
    columns: int = 1
    name: str | None = None
    """The name of a parameter; None for other cells."""
    links: Sequence[TitleLink] = ()
    places: Sequence[tuple[int, int]] = ()
    """(index of the place mark, offset in the cell's plain text) of each place mark in the cell."""


@dataclass(slots=True, eq=False)
class SideBlock:
    """A table, infobox, reference or formula of a page; offsets count code points."""

    kind: str
    name: str | None = None
    """The name of a reference, if it has one; the tag of a formula."""
    template: str | None = None
    """The name of an infobox's template, or of the first template in a reference that is not
    shown."""
    source: str | None = None
    """The wikitext; None for a reference that is used but never defined."""
    has_tags: bool = False
    """Whether ``source`` still holds comments and tags."""
    offset: int = 0
    """The offset in the document's text at which the block stood."""
    reused_at: list[int] = field(default_factory=list)
    """The offsets in the document's text at which a reference is used again."""
    depth: int = 0
    """The nesting depth of the place where the block stood (0: the page itself); 0 for
    references."""
    parent: "SideBlock | None" = None
    """The block in which this block stood; None for the page itself."""
    parent_offset: int = 0
    text: str = ""
    """The texts of the cells, joined by one character."""
    cells: list[Cell] = field(default_factory=list)
    links: list[TitleLink] = field(default_factory=list)


class Aside:
    """A collector of the blocks of a page, for some kinds of blocks."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds
        self.blocks: list[SideBlock] = []
        self.marks: list[SideBlock] = []
        """The block of each place mark, by the index in the mark."""
        self.depth = 0
        """The nesting depth of the text that is being read: 0 for the page, 1 for a block of the
        page."""
        self.n_undefined = 0
        """The number of references that are used but never defined."""
        self._named: dict[tuple[str, str], SideBlock] = {}

    def add(self, block: SideBlock) -> str:
        """Add a block at the current place; returns its place mark."""
        block.depth = self.depth
        self.blocks.append(block)
        return self._mark(block)

    def _mark(self, block: SideBlock) -> str:
        self.marks.append(block)
        return f"{PLACE}{len(self.marks) - 1}{PLACE}"

    def formula(self, tag: str, tex: str) -> str:
        """Add a formula."""
        if "math" not in self.kinds or tag not in FORMULAS:
            return ""
        return self.add(SideBlock("math", tag, source=tex))

    def table(self, source: str) -> str:
        """Add a table."""
        if "table" not in self.kinds or self.depth > _MAX_DEPTH:
            return ""
        return self.add(SideBlock("table", source=source))

    def infobox(self, name: str, inside: str) -> str:
        """Add a template that stands on lines of its own, if it has enough named parameters."""
        if "infobox" not in self.kinds or self.depth > _MAX_DEPTH:
            return ""
        if inside.count("=") < _LEAST_NAMED:
            return ""
        if len(split_call(inside).named) < _LEAST_NAMED:
            return ""
        return self.add(SideBlock("infobox", None, name, inside))

    def reference(self, tag: str, attributes: str, content: str) -> str:
        """Add a reference, or another use of it, or the references listed in ``<references>``."""
        if "reference" not in self.kinds:
            return ""
        if tag == "ref":
            return self._reference(_name(attributes), content, has_tags=True)
        return "".join(self._listed(content))

    def called_reference(self, inside: str) -> str:
        """Add a reference that is written ``{{#tag:ref|…|name=…}}``."""
        if "reference" not in self.kinds:
            return ""
        call = split_call(inside)
        name = call.get("group"), call.get("name").strip("\"'")
        return self._reference(name, split_parts(inside)[0], has_tags=False)

    def footnote(self, kind: str, inside: str) -> str:
        """Add the footnote of a template, or further uses of footnotes that it names.

        ``kind`` is ``text`` (its first parameter is the footnote), ``short`` (authors, year and
        page), ``several`` (those of several sources), or ``named``; ``inside`` has the parameters.
        Returns the place marks.
        """
        if "reference" not in self.kinds:
            return ""
        call = split_call(inside)
        group = call.get("group")
        if kind == "named":
            names = [(group, name.strip()) for name in call.positional if name.strip()]
            return "".join(self._reference(name, "", has_tags=False) for name in names)
        if kind == "text":
            name = group, call.get("name").strip("\"'")
            return self._reference(name, call.get("1"), has_tags=False)
        text = _short_footnote(call) if kind == "short" else _several_sources(call)
        return self._reference((_SHORT, text), text, has_tags=False)

    def _listed(self, content: str) -> Iterator[str]:
        """Add the references that a list defines; yield the marks of references not used before.

        A reference that was used before the list stands at its first use.
        """
        ends, position = ClosingTags(content), 0
        while tag := _LISTED.search(content, position):
            end, position = ends.find("ref", tag.end())
            if end < 0:
                return
            name = _name(tag[1])
            is_used = name in self._named
            mark = self._reference(name, content[tag.end() : end], has_tags=True)
            if is_used:
                self.marks.pop()
            else:
                yield mark

    def _reference(self, name: tuple[str, str], content: str, *, has_tags: bool) -> str:
        block = self._named.get(name) if name[1] else None
        if block is None:
            block = SideBlock("reference", None if name[0] == _SHORT else name[1] or None)
            if name[1]:
                self._named[name] = block
            self.blocks.append(block)
        if block.source is None and content.strip():
            block.source, block.has_tags = content, has_tags
        return self._mark(block)

    def settle(self, places: Mapping[int, tuple[SideBlock | None, int]]) -> list[SideBlock]:
        """Set the place of each block; returns the blocks in the order of their offsets.

        ``places`` maps a place mark to the block that it is in (None: the document) and an offset.
        A mark that was lost with text that is not shown gets the place of the mark before it.
        References that are used but never defined are left out, and counted in ``n_undefined``.
        """
        first: dict[int, tuple[SideBlock | None, int]] = {}
        again: list[tuple[SideBlock, tuple[SideBlock | None, int]]] = []
        last: tuple[SideBlock | None, int] = (None, 0)
        for number, block in enumerate(self.marks):
            last = places.get(number, last)
            if id(block) in first:
                again.append((block, last))
            else:
                first[id(block)] = last
        for block in self.blocks:
            parent, offset = first.get(id(block), last)
            block.offset, is_inside = _in_document((parent, offset), first)
            if is_inside:
                block.parent, block.parent_offset = parent, offset
        for block, place in again:
            block.reused_at.append(_in_document(place, first)[0])
        found = [block for block in self.blocks if block.source is not None]
        self.n_undefined = len(self.blocks) - len(found)
        return sorted(found, key=lambda block: block.offset)


def _short_footnote(call: Call) -> str:
    """Build the text that a short footnote shows: *Klee & Marc 1912, p. 3*."""
    *authors, year = [part.strip() for part in call.positional if part.strip()] or [""]
    return _source(authors, year, call)


def _several_sources(call: Call) -> str:
    """Build the text of a footnote with several sources: *Klee & Marc 1912, p. 3; Kant 1781*.

    The parameters of the second source are ``2a1``, ``2a2`` …, ``2y``, ``2p`` …; a source without
    ``2a1`` takes the next two positional parameters, which are an author and a year.
    """
    sources: list[str] = []
    positional = iter(call.positional)
    for n in count(1):
        if call.given(f"{n}a1") is not None:
            names = (call.get(f"{n}a{i}") for i in count(1))
            source = _source([*takewhile(bool, names)], call.get(f"{n}y"), call, prefix=str(n))
        elif (author := next(positional, None)) is not None:
            year = next(positional, "").strip()
            source = _source([author.strip()], year, call, prefix=str(n))
        else:
            break
        sources.append(source)
    return "; ".join(filter(None, sources)) + _postscript(call)


def _source(authors: Sequence[str], year: str, call: Call, *, prefix: str = "") -> str:
    """Build the text of a source; ``prefix`` begins the names of its parameters."""
    names = " & ".join(filter(None, [", ".join(authors[:-1]), *authors[-1:]]))
    text = f"{names} {year}".strip()
    for signs, keys in (("p. ", ("p", "page")), ("pp. ", ("pp", "pages")), ("", ("loc", "at"))):
        values = (call.get(prefix + key) for key in keys)
        text += "".join(f", {signs}{value}" for value in values if value)
    return text + _postscript(call, prefix=prefix)


def _postscript(call: Call, *, prefix: str = "") -> str:
    """Return the text after a source, or after all; empty if it is only a full stop."""
    text = call.get(f"{prefix}ps") or call.get(f"{prefix}postscript")
    return "" if text in (".", "none") else text


def _in_document(
    place: tuple[SideBlock | None, int], first: Mapping[int, tuple[SideBlock | None, int]]
) -> tuple[int, bool]:
    """Return the document offset of a place, and whether it is inside another block.

    A place in references that use each other gets offset 0.
    """
    parent, offset = place
    for _ in range(_MAX_PARENTS):
        if parent is None:
            return offset, place[0] is not None
        parent, offset = first.get(id(parent), (None, 0))
    return 0, False


def _name(attributes: str) -> tuple[str, str]:
    """Return the group and the name of a reference."""
    values = {key.lower(): a or b or c for key, a, b, c in _ATTRIBUTE.findall(attributes)}
    return values.get("group", "").strip(), values.get("name", "").strip()


def unplaced(text: str) -> str:
    """Remove the place marks from a text."""
    return PLACES.sub("", text) if PLACE in text else text


def places_in(text: str) -> str:
    """Return only the place marks of a text, joined."""
    return "".join(mark[0] for mark in PLACES.finditer(text)) if PLACE in text else ""
