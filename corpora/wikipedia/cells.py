"""The cells of blocks that were kept aside, as text with links.

All blocks of a page are read together. Cells without markup keep their text; the others are read
one after another by the reader of pages.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from corpora.wikipedia.aside import Aside, Cell, SideBlock, unplaced
from corpora.wikipedia.blocks import TitleLink
from corpora.wikipedia.structure import Simplifier
from corpora.wikipedia.templates import PIPE, split_parts

_MARKUP = re.compile("[\\[\\]<>{}\x00-\x1f]|''|__|  |&[#\\w]+;")
_SIGNS = frozenset("*#:;=|!-")
"""The characters that are markup at the beginning of a cell."""
_SEPARATOR = "\x0f"
_SPAN = re.compile(r"\b(row|col)span\s*=\s*[\"']?\s*(\d{1,5})", re.IGNORECASE)
_TAG = re.compile(r"<(/?)(tr|td|th|caption)\b([^<>]*)>", re.IGNORECASE)
_OPENING = re.compile(r"[\s:*#;]*(?:(\{\|)|<table\b[^<>]*>)", re.IGNORECASE)
_CLOSING = re.compile(r"(?:\n[ \t]*\|\}|</table\s*>)\s*\Z", re.IGNORECASE)
KINDS = {"th": "head", "td": "data", "caption": "caption"}
"""The kind of the cell that each tag makes."""
_HOLES = re.compile("\x00\\d+\x00|\x0e\\d+\x0e|[\x01\x06]")
"""The marks that show no text."""
_NO_NAME = re.compile(r"[<>\[\]{}]")
_ONE_CALL = re.compile(r"\s*\{\{([^{}|<#\n]+)\|([^{}]*)\}\}[\s.,;]*")
"""A reference that is one template and nothing else."""
_MAX_COLUMNS, _MAX_ROWS = 1000, 65_534  # the most that a cell may span, as in HTML


Read = Callable[[str], tuple[str, list[TitleLink], list[tuple[int, int]]]]
"""A reader of a piece of wikitext by itself, to its text, its links, and its place marks."""


def read_blocks(
    inside: Simplifier, aside: Aside, places: Mapping[int, int], *, read: Read
) -> list[SideBlock]:
    """Read the blocks that were kept aside; ``places`` maps place marks to offsets in the text."""
    found: list[tuple[SideBlock, list[Cell]]] = []
    for block in aside.blocks:  # the list grows in the loop, by blocks inside blocks
        aside.depth = block.depth + 1
        if block.kind == "math":
            block.text = unplaced(block.source or "").strip()
        elif block.source is not None:
            found.append((block, _CELLS[block.kind](block, inside)))
    _read_markup([cell for _, cells in found for cell in cells], inside, read)
    where: dict[int, tuple[SideBlock | None, int]] = {n: (None, at) for n, at in places.items()}
    for block, cells in found:
        for number, offset in assemble(block, cells):
            where[number] = block, offset
    return aside.settle(where)


def _read_markup(cells: Sequence[Cell], inside: Simplifier, read: Read) -> None:
    """Read the cells that hold markup; other cells keep their text as it is written."""
    marked = []
    for cell in cells:
        text = cell.text = cell.text.strip()
        if _MARKUP.search(text) or text[:1] in _SIGNS:
            marked.append(cell)
    texts = inside.tidied(_SEPARATOR.join([f"{cell.text}\n\n" for cell in marked]))
    parts = texts.split(_SEPARATOR)
    if len(parts) != len(marked):  # markup that opens in one cell and closes in another
        parts = [inside.tidied(cell.text).replace(_SEPARATOR, "") for cell in marked]
    for cell, part in zip(marked, parts, strict=True):
        cell.text, cell.links, cell.places = read(part)


def assemble(block: SideBlock, cells: list[Cell]) -> Iterator[tuple[int, int]]:
    """Join the cells of a block to one text.

    Tabs separate the cells of a row, newlines separate rows. Yields each place mark in the text
    with its offset.
    """
    block.cells = cells
    texts = [cell.text for cell in cells]
    if block.kind == "table":
        signs = ["\t" if cell.row == after.row else "\n" for cell, after in pairwise(cells)]
        block.text = "".join(chain.from_iterable(zip(texts, [*signs, ""], strict=False)))
    else:
        block.text = "\n".join(texts)
    start = 0
    for cell in cells:
        if cell.links:
            for first, end, target, section in cell.links:
                block.links.append(TitleLink(start + first, start + end, target, section))
        for number, offset in cell.places:
            yield number, start + offset
        start += len(cell.text) + 1
    block.links.sort(key=lambda link: (link.start, -link.end))


# --- infoboxes and references


def _parameters(text: str, inside: Simplifier, cells: list[Cell]) -> list[Cell]:
    """Append the parameters of a template that are not empty to ``cells``, and return ``cells``."""
    number = 0
    for part in split_parts(text):
        name, is_named, value = part.partition("=")
        if not is_named or _NO_NAME.search(name):
            number += 1
            name, value = str(number), part
        if "{" in value:
            value = inside.without_templates(f"\n{value}", depth=0)
        if value and not value.isspace():
            cells.append(Cell("parameter", value, len(cells), 0, 1, 1, name.strip()))
    return cells


def _infobox(block: SideBlock, inside: Simplifier) -> list[Cell]:
    return _parameters(block.source or "", inside, [])


def _reference(block: SideBlock, inside: Simplifier) -> list[Cell]:
    """Return the cells of a reference: its text, and parameters of templates not shown in it."""
    text = block.source or ""
    if block.has_tags and "<" in text:
        text = inside.without_tags(text)
    calls: list[tuple[str, str]] = []
    if simple := _ONE_CALL.fullmatch(text):
        action = inside.action(simple[1])
        if action.kind in ("drop", "silent"):
            text, calls = "", [(action.name, simple[2])]
    if "{" in text:
        inside.calls = calls
        text = inside.without_templates(f" {text}", depth=0)
        inside.calls = None
    cells: list[Cell] = []
    if text and any(map(str.isalnum, _HOLES.sub("", text))):
        cells.append(Cell("text", text))
    for name, parameters in calls:
        block.template = block.template or name
        _parameters(parameters, inside, cells)
    return cells


# --- tables


@dataclass(slots=True)
class Grid:
    """The positions of cells in a table."""

    row: int = -1
    column: int = 0
    is_open: bool = False
    """Whether the current row has a cell."""
    _until: dict[int, int] = field(default_factory=dict)
    """For each column, the first row that no cell from above reaches."""

    def end_row(self) -> None:
        """Let the next cell begin a row."""
        self.is_open = False

    def add(self, kind: str, attributes: str, text: str) -> Cell:
        """Place a cell in the row; a caption is a row by itself."""
        if not self.is_open or kind == "caption":
            self.row, self.column, self.is_open = self.row + 1, 0, kind != "caption"
        spans = {name.lower(): int(n) for name, n in _SPAN.findall(attributes)}
        rows = min(max(spans.get("row", 1), 1), _MAX_ROWS)
        columns = min(max(spans.get("col", 1), 1), _MAX_COLUMNS)
        while self._until.get(self.column, 0) > self.row:
            self.column += 1
        cell = Cell(kind, text, self.row, self.column, rows, columns)
        if rows > 1:
            self._until |= dict.fromkeys(range(self.column, self.column + columns), self.row + rows)
        self.column += columns
        return cell


def _table(block: SideBlock, inside: Simplifier) -> list[Cell]:
    source = block.source or ""
    opening = _OPENING.match(source)
    body = _CLOSING.sub("", source[opening.end() :] if opening else source)
    text = inside.without_templates(f"\n{body}\n", depth=0).replace(PIPE, "|")
    if opening and opening[1]:  # its attributes; a template in them may have several lines
        text = text[1:].partition("\n")[2]
    cells = list(_written_with_pipes(text)) if "|" in text or "!" in text else []
    return cells or list(_written_with_tags(text))


def _written_with_pipes(text: str) -> Iterator[Cell]:
    """Read the cells of a table as MediaWiki does: by the characters that begin its lines."""
    grid = Grid()
    cell: Cell | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        row = line.strip()
        sign = row[:1]
        if sign not in ("|", "!"):
            lines.append(line)
            continue
        if cell:
            cell.text = "\n".join((cell.text, *lines))
            yield cell
        cell, lines = None, []
        if row[:2] == "|-":
            grid.end_row()
            continue
        is_caption = row[:2] == "|+"
        row = row[1 + is_caption :]
        if sign == "!":
            row = row.replace("!!", "||")
        kind = "caption" if is_caption else "head" if sign == "!" else "data"
        for part in row.split("||"):
            if cell:
                yield cell
            attributes, bar, content = part.partition("|")
            if not bar or "[[" in attributes or "-{" in attributes:
                attributes, content = "", part
            cell = grid.add(kind, attributes, content)
    if cell:
        cell.text = "\n".join((cell.text, *lines))
        yield cell


def _written_with_tags(text: str) -> Iterator[Cell]:
    """Read the cells of a table that is written in HTML."""
    grid = Grid()
    cell: Cell | None = None
    position = 0
    for tag in _TAG.finditer(text):
        if cell:
            cell.text = text[position : tag.start()]
            yield cell
        cell, position = None, tag.end()
        name = tag[2].lower()
        if name == "tr":
            grid.end_row()
        elif not tag[1]:
            cell = grid.add(KINDS[name], tag[3], "")
    if cell:
        cell.text = text[position:]
        yield cell


_CELLS: dict[str, Callable[[SideBlock, Simplifier], list[Cell]]] = {
    "table": _table,
    "infobox": _infobox,
    "reference": _reference,
}
