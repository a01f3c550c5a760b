"""Blocks of text of an HTML tree: paragraphs, headings, items …, each with its links."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from unicodedata import category

from corpora.hashing.marks import HAS_MARKS_BEYOND, MARKS_BEYOND, marks_of
from corpora.segmentation.scripts import n_letters

if TYPE_CHECKING:
    from lxml.html import HtmlElement

EXTRACTED = {
    "p": "p",
    "head": "head",
    "quote": "quote",
    "item": "item",
    "cell": "cell",
    "code": "code",
    "list": "p",
    "table": "p",
    "row": "p",
    "div": "p",
    "fw": "p",
}
"""The elements of trafilatura's output, with the kind of the block that each begins."""
_BOXES = (
    *("address", "article", "aside", "body", "caption", "dd", "div", "dl", "dt", "fieldset"),
    *("figcaption", "figure", "footer", "form", "header", "hr", "legend", "main", "nav", "ol"),
    *("option", "p", "section", "select", "table", "tbody", "tfoot", "thead", "tr", "ul"),
)
PAGE = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "head"),
    **dict.fromkeys(_BOXES, "p"),
    "blockquote": "quote",
    "li": "item",
    "pre": "code",
    "td": "cell",
    "th": "cell",
}
"""The HTML elements of a page that begin a block, with the kind of the block."""
_VOWELS = marks_of(range(0x780, 0x7C0), range(0x900, 0x1D00), range(0xA800, 0xAC00))
"""The marks of the scripts of India, Tibet and South-East Asia, which are vowels of words."""
_NO_KEY = re.compile(rf"[^\w{_VOWELS}]+|_+")
_NO_KEY_BEYOND = re.compile(rf"[^\w{_VOWELS}{MARKS_BEYOND}]+|_+")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_LINKS = {"ref": "target", "a": "href"}
_UNSEEN = frozenset(
    {"head", "iframe", "noscript", "script", "style", "svg", "template", "textarea"}
)
_BREAKS = frozenset({"lb", "br", "graphic", "img"})
_LINE_BREAKS = frozenset({"lb", "br"})
_PARAGRAPH_BREAKS = 2
_MIN_LOST = 0.2
"""The least ratio of letters that an extractor must have lost for them to be added."""
_MIN_KEY = 20
"""The least letters of a block that is looked for in a body."""
_INLINE = frozenset({"code", "quote"})
"""Kinds of blocks that may be words of a paragraph for the extractor: ``code``, ``q``."""
_MOST_PARTS = 20
"""The most blocks of an extractor that are joined to one of the page."""
_UNBROKEN = frozenset({"cell", "code", "head", "item"})
"""Kinds of blocks that may hold several lines: line breaks do not end them."""


@dataclass(frozen=True, slots=True)
class Hyperlink:
    """A hyperlink over the half-open span ``start`` to ``end`` of a block or text."""

    start: int
    end: int
    target: str
    """The address as written in the page; in an ``Article``, the absolute URL."""

    def moved(self, by: int) -> "Hyperlink":
        """Return the link with its offsets shifted by ``by``."""
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, item …, with single spaces and none at the ends."""

    text: str
    kind: str
    links: tuple[Hyperlink, ...] = ()

    @property
    def key(self) -> str:
        """The letters and digits of the text, by which blocks are compared (``key_of``)."""
        return key_of(self.text)

    @property
    def n_letters(self) -> int:
        """The number of letters and digits, in which a Han character counts as three."""
        return n_letters(self.key)


@dataclass(frozen=True, slots=True)
class Box:
    """An element of a page that begins a block, and the blocks that stand in it."""

    tag: str
    classes: str
    id: str
    """The ``id`` of the element; empty for a heading, whose ``id`` is often its text."""
    start: int
    """The index of the first block in the box; ``end`` is behind the last one."""
    end: int


def key_of(text: str) -> str:
    """Return the letters, vowel signs and digits of a text, case-folded."""
    no_key = _NO_KEY_BEYOND if HAS_MARKS_BEYOND.search(text) else _NO_KEY
    return no_key.sub("", text.casefold())


def link_ratio(blocks: Iterable[Block]) -> float:
    """Compute the ratio of the characters of blocks that stand in links."""
    pairs = [(len(b.text), sum(link.end - link.start for link in b.links)) for b in blocks]
    return sum(n for _, n in pairs) / max(1, sum(n for n, _ in pairs))


def is_letter(character: str) -> bool:
    """Tell whether a character is a letter, or a mark of one, such as a vowel sign."""
    return character.isalpha() or category(character)[0] == "M"


@dataclass(slots=True)
class _Writer:
    """A collector of the running text of elements into blocks."""

    blocks: list[Block] = field(default_factory=list)
    kinds: list[str] = field(default_factory=lambda: ["p"])
    """The kinds of the open elements, the innermost last."""
    parts: list[str] = field(default_factory=list)
    length: int = 0
    space: bool = False
    """Whether a space must be written before the next character."""
    n_breaks: int = 0
    """The number of line breaks since the last character; two end a paragraph."""
    open: list[tuple[int, str]] = field(default_factory=list)
    links: list[Hyperlink] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)

    def add(self, text: str | None) -> None:
        """Append running text."""
        if not text:
            return
        words = _CONTROL.sub(" ", text).split()
        if not words:
            self.space = True
            return
        self.n_breaks = 0
        joined = " ".join(words)
        if self.length and (self.space or text[0].isspace()):
            joined = f" {joined}"
        self.parts.append(joined)
        self.length += len(joined)
        self.space = text[-1].isspace()

    def break_line(self) -> None:
        """Record a line break; the second in a row ends a block that cannot hold several lines."""
        self.add(" ")
        self.n_breaks += 1
        if self.n_breaks == _PARAGRAPH_BREAKS and self.kinds[-1] not in _UNBROKEN:
            self.close()

    def begin_link(self, target: str) -> None:
        """Record that a link begins here."""
        self.open.append((self.length, target))

    def end_link(self) -> None:
        """Record that the innermost open link ends here; drop it if it has no text."""
        if not self.open:  # a nested block has already ended the link
            return
        start, target = self.open.pop()
        if start < self.length:
            self.links.append(Hyperlink(start, self.length, target))

    def close(self) -> None:
        """End the block; open links end with it, and begin again in the next block.

        A space at the start of a link belongs to the text before the link.
        """
        text = "".join(self.parts)
        going_on = [target for _, target in self.open]
        while self.open:
            self.end_link()
        if text:
            links = (_trimmed(link, text) for link in self.links)
            ordered = sorted((x for x in links if x), key=lambda x: (x.start, -x.end))
            self.blocks.append(Block(text, self.kinds[-1], tuple(ordered)))
        self.parts, self.length, self.space, self.links = [], 0, False, []
        self.open = [(0, target) for target in going_on]


def _trimmed(link: Hyperlink, text: str) -> Hyperlink | None:
    """Return a link without the space at its start; None if nothing is left."""
    start = link.start + (text[link.start] == " ")
    return replace(link, start=start) if start < link.end else None


def read_blocks(element: "HtmlElement", kinds: Mapping[str, str]) -> list[Block]:
    """Read the blocks of an lxml tree; ``kinds`` is ``EXTRACTED`` or ``PAGE``."""
    return _read(element, kinds).blocks


def read_page(tree: "HtmlElement") -> tuple[list[Block], list[Box]]:
    """Read the blocks of a page, and its boxes: inner ones stand before those around them."""
    writer = _read(tree, PAGE)
    return writer.blocks, writer.boxes


def _read(element: "HtmlElement", kinds: Mapping[str, str]) -> _Writer:
    writer = _Writer()
    _walk(element, kinds, writer)
    writer.close()
    return writer


def _walk(element: "HtmlElement", kinds: Mapping[str, str], writer: _Writer) -> None:
    """Read an element and its descendants; ``lxml`` bounds the depth of a page to 256."""
    tag = element.tag
    if not isinstance(tag, str) or (tag in _UNSEEN and tag not in kinds):
        return
    kind = kinds.get(tag)
    n_before = 0
    if kind:
        writer.close()
        n_before = len(writer.blocks)
        writer.kinds.append(kind)
    target = element.get(_LINKS[tag]) if tag in _LINKS else None
    if target:
        writer.begin_link(target)
    if tag in _LINE_BREAKS:
        writer.break_line()
    writer.add(" " if tag in _BREAKS else element.text)
    for child in element:
        _walk(child, kinds, writer)
        writer.add(child.tail)
    if target:
        writer.end_link()
    if kind:
        writer.close()
        writer.kinds.pop()
        if n_before < len(writer.blocks):
            id = "" if kind == "head" else element.get("id", "")
            classes = element.get("class", "")
            writer.boxes.append(Box(tag, classes, id, n_before, len(writer.blocks)))


def with_places(blocks: Iterable[Block], page: Iterable[Block]) -> tuple[list[Block], int]:
    """Replace blocks of an extractor by the blocks of the page with the same letters and digits.

    A plain block without links takes the kind, text and links of the page's block. Where only the
    spaces of another block differ from the page's, the extractor has joined or split words (it
    drops images between links): the block takes the page's text and links, and keeps its kind.
    A block without letters and digits (``* * *``) is looked for by its text. Blocks in a row that
    are one block of the page (the extractor ends a paragraph at ``code`` and ``q``) become it.
    Returns the blocks, and the number of blocks that are not found in the page.
    """
    known = {block.key or block.text: block for block in reversed(list(page))}
    placed = [(block, known.get(block.key or block.text)) for block in _whole(list(blocks), known)]
    n_unknown = sum(1 for _, there in placed if there is None)
    return [_placed(block, there) for block, there in placed], n_unknown


def _whole(blocks: list[Block], known: Mapping[str, Block]) -> Iterator[Block]:
    """Yield the blocks; those around ``code`` or ``q`` that are one of the page are that block."""
    i = 0
    while i < len(blocks):
        key, block, n_read, is_cut = blocks[i].key, blocks[i], 1, blocks[i].kind in _INLINE
        if key and key not in known:
            for n, part in enumerate(blocks[i + 1 : i + _MOST_PARTS], 2):
                key += part.key
                is_cut = is_cut or part.kind in _INLINE
                if is_cut and (there := known.get(key)):
                    block, n_read = there, n
        yield block
        i += n_read


def with_lost_parts(blocks: list[Block], page: Sequence[Block], body: str) -> list[Block]:
    """Add blocks of the page that are in the body that the page names, if an extractor lost much.

    ``body`` is a key (``key_of``). Each block is put behind the last found one before it. Nothing
    is added if less than a fifth is missing: bodies also hold captions and the like.
    """
    found = "\n".join(block.key for block in blocks)
    if len(body) < (1 + _MIN_LOST) * len(found):
        return blocks
    lost = {
        block.key: block
        for block in page
        if block.n_letters >= _MIN_KEY and block.key in body and block.key not in found
    }
    if sum(map(len, lost)) < _MIN_LOST * len(found):
        return blocks
    keys = {block.key for block in blocks if block.n_letters >= _MIN_KEY}
    after: dict[str, list[Block]] = {"": []}
    last = ""
    for block in page:
        if block.key in keys:
            last = block.key
        elif block.key in lost:
            after.setdefault(last, []).append(lost.pop(block.key))
    return [*after.pop(""), *(x for b in blocks for x in (b, *after.pop(b.key, ())))]


def _placed(block: Block, there: Block | None) -> Block:
    if there is None:
        return block
    if not block.links and block.kind == "p":
        return there
    has_other_spaces = block.text != there.text and _unspaced(block.text) == _unspaced(there.text)
    return replace(there, kind=block.kind) if has_other_spaces else block


def _unspaced(text: str) -> str:
    return "".join(text.split())
