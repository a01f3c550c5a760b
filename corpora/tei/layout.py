"""Text as it is laid out: white space by one rule, blocks, and where names begin and end.

Each run of XML white space becomes one space, but the end of a line between two Chinese or
Japanese characters becomes nothing; a line break in a block is a newline; blocks stand on lines of
their own; nothing begins or ends with white space. The offset of a character is final once it is
appended, except that a hyphen at a line end may be removed when the word continues.
"""

import re
from dataclasses import dataclass, field

from corpora.document import Paragraph
from corpora.segmentation.scripts import SOLID_WRAP, is_solid
from corpora.tei.languages import Language
from corpora.tei.xml import Element

LINES_JOINED = "line ends joined without a space"
"""The name of the counter of line ends between Chinese or Japanese characters."""
XML_SPACE = " \t\r\n"
WORDS = re.compile(r"[^ \t\r\n]+")
_LETTERS = re.compile(r"[^\W\d_]+")
HYPHENS = "-‐⸗=¬\u00ad"
_SOFT_HYPHENS = "¬\u00ad"  # only mark the line break
_AT_LINE_ENDS = "-‐⸗¬\u00ad"  # before a plain line end "=" is an equals sign

# What stands between the last character and the next one.
_NOTHING, _SPACE, _WRAP, _LINE_END, _LINE = range(5)


@dataclass(slots=True)
class OpenName:
    """A name whose element is open or closed; ``start`` is -1 until it has a character."""

    start: int = -1
    end: int = -1


@dataclass(slots=True)
class TextLayout:
    """A text that grows; read ``text`` when everything is added."""

    language: Language | None = None
    """The language of the text that is added next."""
    passages: list[tuple[int, Language]] = field(default_factory=list)
    """The offset at which the text of each language begins."""
    paragraphs: list[Paragraph] = field(default_factory=list)
    hyphens_removed: int = 0
    lines_joined: int = 0
    """The line ends between Chinese or Japanese characters, which are no space."""
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0
    _written: Language | None = None  # language of the last character
    _between: int = _NOTHING
    _joined: bool = False
    _touching: bool = False
    _is_indented: bool = False  # white space follows the line end
    _block_start: int = 0
    _kind: str = "p"
    _waiting: list[OpenName] = field(default_factory=list)
    _ended: list[OpenName] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole text; call ``block`` first to end the last block."""
        return "".join(self._pieces)

    @property
    def length(self) -> int:
        """The number of characters so far."""
        return self._length

    def append(self, text: str, *, preserve: bool = False) -> None:
        """Add characters; white space is normalized unless ``preserve``."""
        if preserve:
            if text:
                self._put(text)
            return
        words = _normalize(text)
        if not words:
            self.space(wraps="\n" in text)
            return
        if text[0] in XML_SPACE:
            self.space(wraps="\n" in text[: text.index(words[0])])
        self._put(words)
        if text[-1] in XML_SPACE:
            self.space(wraps="\n" in text[text.rindex(words[-1]) :])

    def append_sign(self, sign: str, element: Element) -> None:  # noqa: ARG002
        """Add characters that an empty element stands for."""
        self.append(sign, preserve=True)

    def _put(self, text: str) -> None:
        if self._touching:
            self._touching = False
            self._between = self._between if self._between == _LINE else _NOTHING
        between = self._between
        if between != _NOTHING or self._joined:
            self._between = _NOTHING
            between = self._rejoin(text, between)
            self._joined = self._is_indented = False
            if between != _NOTHING and self._length > self._block_start:
                self._add("\n" if between == _LINE else " ")
        if self._waiting:
            for name in self._waiting:
                name.start = self._length
            self._waiting.clear()
        if self.language is not self._written and self.language is not None:
            self.passages.append((self._length, self.language))
            self._written = self.language
        self._add(text)

    def _add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _rejoin(self, following: str, between: int) -> int:
        """Rejoin a word that a line end divides; returns the separator left before ``following``.

        ``between`` is the separator so far.
        """
        if self._length == self._block_start:
            return between
        if not self._joined and not (between == _LINE_END and self._is_divided(following)):
            return self._at_line_end(following) if between in {_WRAP, _LINE_END} else between
        last = self._pieces[-1][-1]
        keeps = self.language is not None and self.language.keeps_hyphens
        stays = keeps and not self._joined
        if last in _SOFT_HYPHENS or (last in HYPHENS and following[0].islower() and not stays):
            self._take_back_hyphen()
        return _NOTHING

    def _at_line_end(self, following: str) -> int:
        if not (is_solid(following[0]) and is_solid(self._pieces[-1][-1])):
            return _SPACE
        self.lines_joined += 1
        return _NOTHING

    def _is_divided(self, following: str) -> bool:
        """Tell whether a hyphen at a line end, which no markup explains, is inside a word.

        It is if it stands between a lower-case letter and a letter, unless a conjunction shows a
        suspended hyphen; before a capital on an indented line it may be a dash.
        """
        last = self._pieces[-1]
        if last[-1] not in _AT_LINE_ENDS or not following[0].isalpha():
            return False
        before = last[-2:-1] or (self._pieces[-2][-1] if len(self._pieces) > 1 else "")
        first_word = _LETTERS.match(following)
        rules = self.language.segmenter if self.language else None
        if rules and first_word and first_word[0] in rules.conjunctions:
            return False
        return before.islower() and (following[0].islower() or not self._is_indented)

    def _take_back_hyphen(self) -> None:
        self._pieces[-1] = self._pieces[-1][:-1]
        if not self._pieces[-1]:
            self._pieces.pop()
        self._length -= 1
        self.hyphens_removed += 1
        for name in reversed(self._ended):
            if name.end <= self._length:
                break
            name.end = self._length

    def space(self, *, wraps: bool = False) -> None:
        """Note white space of the file; ``wraps``: a line of the file ends in it."""
        self._is_indented |= self._between == _LINE_END
        self._between = max(self._between, _WRAP if wraps else _SPACE)

    def line_end(self) -> None:
        """Note the end of a source line, which is only white space.

        A hyphen before it may be removed.
        """
        self._between = max(self._between, _LINE_END)

    def line(self) -> None:
        """Begin a line that counts, such as one of verse: a newline."""
        self._between = max(self._between, _LINE)

    def join(self) -> None:
        """Join what follows to the word before, whatever white space is between: ``break="no"``."""
        self._joined = True

    def touch(self) -> None:
        """Drop the white space up to what follows; a hyphen before it stays."""
        self._touching = True

    def block(self, kind: str) -> None:
        """End the block, if it has text, and begin one of this kind."""
        if self._length > self._block_start:
            self.paragraphs.append(Paragraph(self._block_start, self._length, self._kind))
            self._add("\n")
            self._block_start = self._length
        self._between, self._joined, self._kind = _NOTHING, False, kind
        self._touching = self._is_indented = False

    def here(self) -> OpenName:
        """Return this place: its ``end`` stays right if a hyphen before it is removed."""
        place = OpenName(end=self._length)
        self._ended.append(place)
        return place

    def open_name(self) -> OpenName:
        """Begin a name: it starts with the next character that is no white space."""
        name = OpenName()
        self._waiting.append(name)
        return name

    def close_name(self, name: OpenName) -> None:
        """End a name at the last character; a name without text keeps ``start`` -1."""
        if name.start < 0:
            self._waiting.pop()  # names nest: this one was opened last
            return
        name.end = self._length
        self._ended.append(name)


def _normalize(text: str) -> str:
    """Replace each run of white space by one space or, by ``SOLID_WRAP``, nothing; strip ends."""
    if "\n" in text and not text.isascii():
        text = SOLID_WRAP.sub("", text)
    if "\n" in text or "  " in text or "\t" in text or "\r" in text:
        return " ".join(WORDS.findall(text))
    return text.strip(" ")  # most text is normalized already; this is three times as fast
