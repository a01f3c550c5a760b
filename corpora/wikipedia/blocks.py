"""The text of a page, which grows block by block; offsets are final once text is appended."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from corpora.errors import CorpusError

if TYPE_CHECKING:
    from corpora.wikipedia.aside import SideBlock

_WHITE = "".join(filter(str.isspace, map(chr, range(0x3001))))
_BLANK = _WHITE.replace("\n", "")
_SIGNS = 8  # a block of at most so many characters may say nothing: a full stop, brackets


class ExtractorError(CorpusError):
    """The error for a page that cannot be read; the next one can be."""


class PageBlock(NamedTuple):
    """A paragraph, heading, list item, caption or verse."""

    start: int
    end: int
    kind: str
    level: int | None = None
    """The level of a heading, 1 to 6."""


class TitleLink(NamedTuple):
    """A link from the characters ``start`` to ``end`` of the text to a title."""

    start: int
    end: int
    target: str
    section: str


@dataclass(slots=True)
class PageText:
    """The text of a page, and what was dropped; offsets count code points of ``text``."""

    text: str = ""
    blocks: list[PageBlock] = field(default_factory=list)
    links: list[TitleLink] = field(default_factory=list)
    """The links in reading order."""
    categories: list[str] = field(default_factory=list)
    """The titles of the page's categories, without their namespace, in reading order."""
    is_disambiguation: bool = False
    holes: list[int] = field(default_factory=list)
    """The offsets in ``text`` at which something with a value dropped out of a line."""
    hole_names: list[str] = field(default_factory=list)
    """The name of what dropped out at each of ``holes``; several at one offset are joined by
    ``|``."""
    hole_templates: Counter[str] = field(default_factory=Counter)
    """The number of times that each template or tag dropped out of a line with other text."""
    simplified: str = ""
    """The wikitext without templates, tables, references and files."""
    marked: str = ""
    """``simplified`` with place marks where the blocks that are kept aside stood."""
    names: list[str] = field(default_factory=list)
    """The templates and tags that may leave a hole (``Infobox``, ``<math>``), by the index in the
    mark."""
    silent: Counter[str] = field(default_factory=Counter)
    """The number of times that each template dropped out without leaving a hole."""
    expanded: Counter[str] = field(default_factory=Counter)
    """The number of times that each template was shown by its definition in the dump."""
    asked: set[str] = field(default_factory=set)
    """The names of the templates that were looked up in the dump's definitions."""
    n_not_expanded: int = 0
    """The number of templates not shown by their definition, as the page would become too long."""
    literals: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    """The number of links in the source that are no links in the text, by reason; ``created``
    counts the reverse: links that the source does not have."""
    n_tables: int = 0
    """The number of dropped tables, without those inside other tables or dropped templates."""
    n_table_lines: int = 0
    """The number of lines of tables that never open or never close."""
    in_templates: list[tuple[str, str]] = field(default_factory=list)
    """Name and parameters of each template that is dropped though it may have a value."""
    in_notes: list[str] = field(default_factory=list)
    """Parameters of the templates left out on purpose: references, maintenance, navigation."""
    in_tables: list[str] = field(default_factory=list)
    """The wikitext, or text, of the dropped tables."""
    left_out: Counter[str] = field(default_factory=Counter)
    """The words of the parts of a rendered page that are no text, by reason."""
    n_links: int | None = None
    """The links of a rendered page; None for wikitext, where they are counted in the source."""
    foreign: list[tuple[int, int, str]] = field(default_factory=list)
    """The spans of a rendered page in other languages than the page's: start, end, tag."""
    n_errors: int = 0
    """The error messages of templates that a rendered page shows."""

    aside: "list[SideBlock]" = field(default_factory=list)
    """The blocks that are kept aside; empty unless that is asked for."""
    n_undefined: int = 0
    """The number of references that are used but never defined."""

    @property
    def templates(self) -> Counter[str]:
        """The number of times that each template or tag dropped out, anywhere on the page."""
        return Counter(self.names) + self.silent


class PageBlocks:
    """The text so far, its finished blocks, and the block that is open."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.start = -1
        """The offset at which the open block starts; -1 if none is open."""
        self.kind = "p"
        self.level: int | None = None
        self.loose = True
        """Whether a space added now is left out: at the start of a block or line, and after a
        space."""
        self.blocks: list[PageBlock] = []
        self.holes: list[tuple[int, str]] = []
        """(offset, name) of what dropped out; an empty name only bounds the offsets of the holes
        before it."""
        self._first_hole = 0
        self.has_gap = self.has_link = False
        """Whether something dropped out of the open block, and whether it has a link."""

    def open(self, kind: str, level: int | None = None) -> None:
        """Begin a block on a line of its own; ``level`` is that of a heading."""
        if self.length:
            self.parts.append("\n")
            self.length += 1
        self.kind, self.level, self.start, self.loose = kind, level, self.length, True
        self._first_hole, self.has_gap, self.has_link = len(self.holes), False, False

    def close(self) -> None:
        """End the open block, if there is one; an empty one leaves nothing."""
        start = self.start
        if start < 0:
            return
        if self.parts and self.parts[-1][-1].isspace():
            self.trim(_WHITE)
        if self.has_gap and not self.has_link and not any(map(str.isalnum, self._shown())):
            while self.length > start:
                self.length -= len(self.parts.pop())
        if len(self.holes) > self._first_hole:
            # move holes to the left that stood in brackets which were removed
            limit = self.length
            settled = []
            for offset, name in reversed(self.holes[self._first_hole :]):
                limit = min(limit, offset)
                if name:
                    settled.append((limit, name))
            self.holes[self._first_hole :] = reversed(settled)
        if self.length > start:
            self.blocks.append(PageBlock(start, self.length, self.kind, self.level))
        else:
            del self.holes[self._first_hole :]
            if start:
                self.parts.pop()
                self.length -= 1
        self.start = -1

    def _shown(self) -> str:
        """Return the text of the open block if it is short, else ``"text"``.

        At most ``_SIGNS`` characters may be too few to say anything; a longer block always says
        something.
        """
        shown, left = [], self.length - self.start
        for piece in reversed(self.parts):
            if left <= 0 or left > _SIGNS:
                break
            shown.append(piece)
            left -= len(piece)
        return "".join(shown) if left <= 0 else "text"

    def add(self, piece: str) -> None:
        """Append text; a space after a space or at the start of a block is left out."""
        if self.loose:
            if self.length == self.start or self.parts[-1][-1] == "\n":
                piece = piece.lstrip()
            else:
                piece = piece.lstrip(" ")
        if piece:
            self.parts.append(piece)
            self.length += len(piece)
            self.loose = piece[-1] == " "

    def append(self, piece: str) -> int:
        """Append text with no space at its ends; returns the offset of its end."""
        self.parts.append(piece)
        self.length += len(piece)
        self.loose = False
        return self.length

    def trim(self, characters: str, floor: int = -1) -> None:
        """Remove these characters from the end of the open block, back to ``floor`` at most."""
        floor = max(floor, self.start)
        while self.length > floor and self.parts[-1][-1] in characters:
            piece = self.parts.pop()
            kept = piece.rstrip(characters)
            self.length -= len(piece) - len(kept)
            if kept:
                self.parts.append(kept)
        self.loose = self.length == self.start or self.parts[-1][-1] in " \n"

    def drop_last(self) -> None:
        """Remove the last character of the open block."""
        piece = self.parts.pop()
        self.length -= 1
        if len(piece) > 1:
            self.parts.append(piece[:-1])
        self.loose = self.length == self.start or self.parts[-1][-1] in " \n"
        if len(self.holes) > self._first_hole:
            self.holes.append((self.length, ""))  # the holes before get no greater offset

    def tail(self) -> str:
        """Return the last character of the open block that is no space; empty if there is none."""
        left = self.length - self.start
        for piece in reversed(self.parts):
            if left <= 0:
                break
            if kept := piece.rstrip(" "):
                return kept[-1]
            left -= len(piece)
        return ""

    def break_line(self) -> None:
        """Begin another line in the open block, unless one was begun."""
        self.trim(_BLANK)
        if self.length > self.start and self.parts[-1][-1] != "\n":
            self.parts.append("\n")
            self.length += 1
        self.loose = True
