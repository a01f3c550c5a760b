"""Tables, infoboxes, references and formulas of a rendered page, kept beside its text."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from corpora.system.parsing import ParseError, parse_json
from corpora.wikipedia.aside import Cell, SideBlock
from corpora.wikipedia.blocks import TitleLink
from corpora.wikipedia.cells import KINDS, Grid, assemble

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_ID = re.compile(r"#(cite_note-.+)")
_NAMED = re.compile(r"cite_note-(.*\D.*)[-_]\d+(?:-\d+)?$")
_SECTIONS = frozenset({"tbody", "thead", "tfoot"})
_TEMPLATE = re.compile(r'"target":\{"wt":("(?:[^"\\]|\\.)*")')


ReadAlone = Callable[["LexborNode"], tuple[str, list[TitleLink], "SideBlocks"]]
"""A reader of an element by itself: to its text, its links, and the blocks in it."""


class SideBlocks:
    """The blocks of a page, or of a part of it; offsets count characters of its text."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds
        self.blocks: list[SideBlock] = []
        self.uses: list[tuple[str, int]] = []
        """The id and the offset of each citation mark."""

    def formula(self, tex: str, offset: int) -> None:
        """Keep a formula."""
        if "math" in self.kinds:
            self.blocks.append(SideBlock("math", "math", text=tex, offset=offset))

    def keep(self, node: "LexborNode", reason: str, offset: int, *, read: ReadAlone) -> None:
        """Keep an element that is left out of the text for a reason."""
        if reason == "references" and "reference" in self.kinds:
            self._references(node, offset, read)
        elif reason in ("table", "infobox") and reason in self.kinds:
            block = SideBlock(reason, offset=offset)
            self.blocks.append(block)
            rows = _infobox if reason == "infobox" else _table
            if reason == "infobox":
                block.template = _template(node)
            self._fill(block, [*rows(node)], read)
        elif "reference" in self.kinds:
            self.uses += ((id, offset) for id in _cited(node))

    def _fill(
        self, block: SideBlock, cells: "list[tuple[Cell, LexborNode]]", read: ReadAlone
    ) -> None:
        """Read the cells of a block, and the blocks in them."""
        inside: list[SideBlocks] = []
        for cell, node in cells:
            cell.text, cell.links, side = read(node)
            inside.append(side)
        for _ in assemble(block, [cell for cell, _ in cells]):
            pass
        start = 0
        for (cell, _), side in zip(cells, inside, strict=True):
            for child in side.blocks:
                if child.parent is None:
                    child.parent, child.parent_offset = block, start + child.offset
                child.offset = block.offset
            self.blocks += side.blocks
            self.uses += ((id, block.offset) for id, _ in side.uses)
            start += len(cell.text) + 1

    def _references(self, node: "LexborNode", offset: int, read: ReadAlone) -> None:
        """Keep the references of a list."""
        for item in node.css("li[id]"):
            id = item.attributes.get("id") or ""
            name = _NAMED.match(id)
            block = SideBlock("reference", name[1] if name else None, offset=offset)
            block.template = id  # until ``finished``
            text = item.css_first(".mw-reference-text, .reference-text") or item
            self.blocks.append(block)
            self._fill(block, [(Cell("text", ""), text)], read)

    def finished(self, length: int) -> tuple[list[SideBlock], int]:
        """Set the places of references.

        Returns the blocks by their offsets, and the number of references that no list defines.
        ``length`` is that of the text.
        """
        uses: dict[str, list[int]] = {}
        for id, offset in self.uses:
            uses.setdefault(id, []).append(offset)
        for block in self.blocks:
            if block.kind == "reference" and block.template is not None:
                block.offset, *block.reused_at = uses.pop(block.template, []) or [block.offset]
                block.template = None
            block.offset = min(block.offset, length)
        return sorted(self.blocks, key=lambda block: block.offset), len(uses)


def _cited(node: "LexborNode") -> Iterator[str]:
    """Yield the ids of the references that an element cites."""
    anchors = [node] if node.tag == "a" else node.css("a[href*='#cite_note-']")
    for anchor in anchors:
        if link := _ID.search(anchor.attributes.get("href") or ""):
            yield link[1]


def _template(node: "LexborNode") -> str | None:
    """Return the name of the template that made an element, as Parsoid notes it."""
    target = _TEMPLATE.search(node.attributes.get("data-mw") or "")
    if target is None:
        return None
    try:
        return str(parse_json(target[1])).strip() or None
    except ParseError:
        return None


def _rows(node: "LexborNode") -> "Iterator[LexborNode]":
    """Yield the rows and captions of a table, without those of tables in it."""
    for child in node.iter():
        if child.tag in _SECTIONS:
            yield from _rows(child)
        elif child.tag in ("tr", "caption"):
            yield child


def _table(node: "LexborNode") -> "Iterator[tuple[Cell, LexborNode]]":
    grid = Grid()
    for row in _rows(node):
        grid.end_row()
        for cell in [row] if row.tag == "caption" else row.iter():
            if kind := KINDS.get(cell.tag or ""):
                rows, columns = (cell.attributes.get(f"{way}span") for way in ("row", "col"))
                spans = f"rowspan={rows or 1} colspan={columns or 1}"
                yield grid.add(kind, spans, ""), cell


def _infobox(node: "LexborNode") -> "Iterator[tuple[Cell, LexborNode]]":
    """Yield the values of an infobox, each with its label as the name."""
    for number, row in enumerate(node.css("tr, caption")):
        label = row.css_first("th")
        value = row.css_first("td") or label or (row if row.tag == "caption" else None)
        if value is not None:
            name = label.text(deep=True, separator=" ", strip=True) if label else ""
            is_named = label is not None and value.mem_id != label.mem_id and name
            yield Cell("parameter", "", number, name=name if is_named else None), value
