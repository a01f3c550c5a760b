"""Views of documents for the page: blocks, lines, pages, notes, styles and names.

All offsets count characters (code points) of the document's text.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corpora.document import Document, Paragraph
from corpora.tei.edition import Edition, Role
from corpora.tei.places import CharacterPlaces
from corpora.tei.source import Node, Source
from modeling.workbench.facsimiles import image_of
from modeling.workbench.messages import (
    BlockTei,
    BreakMark,
    DocumentTei,
    DocumentView,
    Note,
    ParagraphView,
    StyledSpan,
)

_BREAKS = {"pb": "page", "lb": "line", "cb": "column"}
_STYLES = {
    "hi": "italic", "emph": "italic", "del": "strike", "add": "added", "unclear": "unclear",
    "supplied": "supplied", "foreign": "italic",
}  # fmt: skip
_RENDERED = (
    ("bold", re.compile(r"bold|fett", re.IGNORECASE)),
    ("underline", re.compile(r"underl|unterstr|ul\b", re.IGNORECASE)),
    ("strike", re.compile(r"strike|through|durchgestr", re.IGNORECASE)),
    ("super", re.compile(r"super|sup\b|hoch", re.IGNORECASE)),
    ("sub", re.compile(r"subscript|sub\b|tief", re.IGNORECASE)),
    ("spaced", re.compile(r"spac|gesperrt|letter", re.IGNORECASE)),
    ("caps", re.compile(r"caps|kapit", re.IGNORECASE)),
)
"""Styles, and how the values of ``@rend``, ``@style`` and ``@rendition`` name them in editions."""
_WEB = re.compile(r"https?://[^\s\"'<>]+")
_NO_PART = -1
_NOWHERE = np.empty(0, np.int64)


def plain_view(document: Document) -> DocumentView:
    """Build the view of a document that comes from no TEI file: its blocks and names."""
    return {
        "id": document.id,
        "title": document.title or document.id,
        "lang": document.lang or "",
        "text": document.text,
        "blocks": [_block(paragraph) for paragraph in document.paragraphs],
        "marks": [],
        "styles": [],
        "notes": [],
    }


def tei_view(document: Document, places: CharacterPlaces, edition: Edition) -> DocumentView:
    """Build the view of a document of a TEI file, with its lines, pages, notes and styles."""
    return _Tei(document, places, edition).view()


def _block(paragraph: Paragraph) -> ParagraphView:
    return {"start": paragraph.start, "end": paragraph.end, "kind": paragraph.kind}


@dataclass
class _Tei:
    """A finder of the places of a file's elements in the text of one of its documents."""

    document: Document
    places: CharacterPlaces
    edition: Edition

    @property
    def source(self) -> Source:
        return self.places.source

    def view(self) -> DocumentView:
        blocks = [self._block(paragraph) for paragraph in self.document.paragraphs]
        return {
            **plain_view(self.document),
            "blocks": blocks,
            "marks": list(self._marks()),
            "styles": list(self._styles()),
            "notes": list(self._notes(blocks)),
        }

    @cached_property
    def _written(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The stream offsets of written characters, ascending, and their indexes in the text."""
        origins = np.frombuffer(self.places.origins, dtype=np.int64)
        indexes = np.flatnonzero(origins >= 0)
        order = np.argsort(origins[indexes], kind="stable")
        return origins[indexes][order], indexes[order]

    @cached_property
    def _part_of(self) -> list[int]:
        """For each element, the index of the part (such as a note) that it is or is in, or -1."""
        part: list[int] = []
        for node in self.source.nodes:
            around = part[node.parent.number] if node.parent else _NO_PART
            is_part = self.edition.meaning(node).role is Role.PART
            part.append(node.number if is_part else around)
        return part

    def _part_at(self, index: int) -> int:
        place = self.places[index]
        node = next((n for n in place.node.chain() if n.number >= 0), None) if place else None
        return self._part_of[node.number] if node else _NO_PART

    def _block(self, paragraph: Paragraph) -> ParagraphView:
        block = _block(paragraph)
        if (part := self._part_at(paragraph.start)) >= 0:
            block["part"] = part
        if paragraph.kind == "cell" and (place := self.places[paragraph.start]):
            block["row"] = next((n.number for n in place.node.chain() if n.name == "row"), -1)
        return block

    def _at(self, offset: int, part: int) -> int | None:
        """Find the first character of a part that is written at or after an offset of the stream.

        None where there is none, or where the text outside all parts goes on before it.
        """
        n_before = int(np.searchsorted(self._written[0], offset))
        position, around = self._next(n_before, part), self._next(n_before, _NO_PART)
        if position is None or (part >= 0 and around is not None and around < position):
            return None  # the note has ended
        return int(self._written[1][position])

    def _next(self, position: int, part: int) -> int | None:
        positions = self._positions.get(part, _NOWHERE)
        index = int(np.searchsorted(positions, position))
        return int(positions[index]) if index < len(positions) else None

    @cached_property
    def _positions(self) -> dict[int, NDArray[np.int64]]:
        """For each part, the positions of its characters in ``_written``, without nested parts."""
        offsets = self._written[0]
        part_at = np.full(len(offsets), _NO_PART)
        for node in self.source.nodes:
            if self._part_of[node.number] == node.number:
                first, last = np.searchsorted(offsets, (node.first, node.last))
                part_at[first:last] = node.number
        order = np.argsort(part_at, kind="stable")
        parts, starts = np.unique(part_at[order], return_index=True)
        return dict(zip(parts.tolist(), np.split(order, starts[1:]), strict=True))

    def _marks(self) -> Iterator[BreakMark]:
        """Yield the beginnings of lines, columns and pages."""
        for node in self.source.nodes:
            if node.name in _BREAKS and not node.is_expanded:
                at = self._at(node.first, self._part_of[node.number])
                if at is not None:
                    yield _mark(node, at, image_of(self.source, node))

    def _styles(self) -> Iterator[StyledSpan]:
        offsets, indexes = self._written
        for node in self.source.nodes:
            if node.name in _STYLES and node.last > node.first:
                first = int(np.searchsorted(offsets, node.first))
                last = int(np.searchsorted(offsets, node.last)) - 1
                if first <= last and indexes[first] <= indexes[last]:
                    start, end = int(indexes[first]), int(indexes[last]) + 1
                    yield {"start": start, "end": end, "style": _style(node)}

    def _notes(self, blocks: Sequence[ParagraphView]) -> Iterator[Note]:
        """Yield the notes that have blocks, each with the offset in the text where it stands."""
        for part in sorted({block["part"] for block in blocks if "part" in block}):
            node = self.source.nodes[part]
            mark, place = node.attributes.get("n", ""), node.attributes.get("place", "")
            yield {"part": part, "at": self._end_before(node), "n": mark, "place": place}

    def _end_before(self, note: Node) -> int:
        """Find the end of the last character written before a note, in the part around the note.

        0 where there is none.
        """
        around = self._part_of[note.parent.number] if note.parent else _NO_PART
        positions = self._positions.get(around, _NOWHERE)
        n_before = np.searchsorted(self._written[0], note.first)
        index = int(np.searchsorted(positions, n_before)) - 1
        return int(self._written[1][positions[index]]) + 1 if index >= 0 else 0


def _mark(node: Node, at: int, image: str) -> BreakMark:
    mark: BreakMark = {"at": at, "kind": _BREAKS[node.name]}
    if number := node.attributes.get("n"):
        mark["n"] = number
    if node.attributes.get("break") == "no":
        mark["inside"] = True
    if image:
        mark["image"] = image
    if _WEB.fullmatch(image):
        mark["facs"] = image
    return mark


def _style(node: Node) -> str:
    said = " ".join(node.attributes.get(name, "") for name in ("rend", "style", "rendition"))
    return next((style for style, known in _RENDERED if known.search(said)), _STYLES[node.name])


def element_of_block(document: Document, places: CharacterPlaces, block: int) -> Node | None:
    """Find the element that holds all of a block: that of its kind, or else the innermost.

    None where nothing of the block is written.
    """
    paragraph = document.paragraphs[block]
    written = [i for i in range(paragraph.start, paragraph.end) if places.offset(i) is not None]
    place = places[written[0]] if written else None
    if place is None:
        return None
    offsets = [places.origins[index] for index in written]
    first, last = min(offsets), max(offsets)
    around = (n for n in place.node.chain() if n.name and not n.is_expanded)
    holding = [n for n in around if n.first <= first and last < n.last]
    named = (node for node in holding if node.name == paragraph.kind.lower())
    return next(named, holding[0] if holding else None)


def tei_of_blocks(document: Document, places: CharacterPlaces) -> DocumentTei:
    """Return the TEI of each block, and where the characters of the block stand in it.

    ``elements`` has each element around a block once. ``blocks`` has, for each block, the index of
    its element and the ``runs`` of consecutive characters: index in the block, offset in the TEI,
    length. A single character that is not written as one (``&amp;``) is a run with a fourth value,
    the end in the TEI. A block of which nothing is written is None.
    """
    source, numbers = places.source, dict[int, int]()
    elements: list[dict[str, str]] = []
    blocks: list[BlockTei | None] = []
    for number, paragraph in enumerate(document.paragraphs):
        node = element_of_block(document, places, number)
        if node is None:
            blocks.append(None)
            continue
        if node.number not in numbers:
            numbers[node.number] = len(elements)
            tei = source.text[node.start : node.end]
            elements.append({"tei": tei, "prefix": source.prefix(node)})
        runs = list(_runs(places, paragraph, node))
        blocks.append({"element": numbers[node.number], "runs": runs})
    return {"elements": elements, "blocks": blocks}


def _runs(places: CharacterPlaces, paragraph: Paragraph, node: Node) -> Iterator[list[int]]:
    run: list[int] = []
    for index in range(paragraph.start, paragraph.end):
        place = places[index]
        if place is None or not node.start <= place.start < place.end <= node.end:
            continue
        at, start, end = index - paragraph.start, place.start - node.start, place.end - node.start
        is_one = end - start == 1
        if run and is_one and len(run) == 3 and at - run[0] == start - run[1]:
            run[2] = at - run[0] + 1  # a space between may stand for a line end
            continue
        if run:
            yield run
        run = [at, start, 1, *([] if is_one else [end])]
    if run:
        yield run
