"""Texts with names in tags: HAREM, MUC's ENAMEX, ``<PER>Ada</PER>``; XML, or SGML without end tags.

An element is a name if it stands in running text: most often there is text beside it. Its label is
its attribute ``TYPE``, ``CATEG``, ``SEM`` or ``LABEL``, or else its own name. All other elements
end paragraphs, except a few inside of lines (``b``, ``w``). Nothing is resolved: no entities but
characters, no DTD.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from html import unescape
from itertools import accumulate, pairwise
from typing import NamedTuple

from corpora.document import Rejected
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import Origin, PartSentences, check_characters
from corpora.ner.layout import FileLayout
from corpora.ner.offsets import CHARACTERS, WrittenName
from corpora.text.paragraphs import is_hard_wrapped

_ATTRIBUTE = r"""([\w:.-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>]+)"""
_TAG = re.compile(
    rf"<[?!][^<>]*>|<(?P<end>/?)(?P<name>[^\W\d_][\w:.|-]*)"
    rf"(?:\s+{_ATTRIBUTE})*\s*(?P<empty>/?)>"
)
_DOCTYPE = re.compile(r"\s*(?:<\?[^<>]*>\s*)?<!DOCTYPE[^<>\[]*\[")
_PAIR = re.compile(_ATTRIBUTE)
_LABELS = ("type", "categ", "sem", "label", "category")
_DOCUMENTS = frozenset({"doc", "document", "article"})
_IDENTIFYING = frozenset({"docid", "docno", "bibliomisc"})
"""Elements whose text names the document."""
_ABOUT = _IDENTIFYING | {"genero", "origem"}
"""Elements whose text is about the document, and not part of it."""
_INLINE = frozenset({
    "a", "alt", "b", "br", "em", "font", "i", "lb", "omitido", "span", "strong", "sub", "sup",
    "tok", "u", "w",
})  # fmt: skip
_HTML = frozenset({
    "abbr", "cite", "code", "div", "h1", "h2", "h3", "h4", "h5", "h6", "iframe", "img", "li", "ol",
    "pre", "q", "small", "table", "td", "th", "tr", "ul",
})  # fmt: skip
_PARAGRAPHS = frozenset({"l", "p", "para", "s", "sent", "sentence", "seg"})
"""Elements of paragraphs: where a text has such, a line end is a blank."""
_NO_NAMES = _INLINE - {"em"} | _HTML | _PARAGRAPHS | _DOCUMENTS | _ABOUT
_MIN_BESIDE = 0.5
"""The least ratio of an element's occurrences that have text beside them, if it is a name."""
_MAX_BROKEN = 0.01
"""The most lines of a file with a line for each text that may have a name without an end."""
_FOREIGN = re.compile(r"<(?:TEI|teiCorpus|html)\b", re.IGNORECASE)


class _Piece(NamedTuple):
    """A tag, and the text before it; at the end of the file, text alone."""

    start: int
    text: str
    name: str
    is_end: bool
    label: str
    id: str
    is_line: bool = False
    """Whether it is the end of a line that is a text of its own."""


def _pieces(text: str, start: int = 0, end: int | None = None) -> Iterator[_Piece]:
    """Yield the tags between two places; the last piece has only text."""
    at, limit = start, len(text) if end is None else end
    for match in _TAG.finditer(text, start, limit):
        before, at = text[at : match.start()], match.end()
        name = match["name"] or ""
        pairs = {key.lower(): value.strip("\"'") for key, value in _PAIR.findall(match[0])}
        label = next((pairs[key] for key in _LABELS if pairs.get(key)), name)
        id = next((pairs[key] for key in ("docid", "id") if pairs.get(key)), "")
        yield _Piece(match.start(), before, name, bool(match["end"]), unescape(label), id)
        if match["empty"]:
            yield _Piece(match.end(), "", name, is_end=True, label="", id="")
    yield _Piece(limit, text[at:limit], "", is_end=False, label="", id="", is_line=end is not None)


def _without_comments(text: str) -> str:
    """Replace comments, and what a DOCTYPE declares, by their line ends."""
    parts, at = list[str](), 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end + len("-->")
    text = "".join(parts) + text[at:]
    if match := _DOCTYPE.match(text):
        end = max(text.find("]", match.end()), match.end())
        declared = "\n" * text.count("\n", match.end(), end)
        text = f"{text[: match.end() - 1]}{declared}{text[end + 1 :]}"
    return text


def names_in_text(text: str) -> frozenset[str]:
    """Find the elements that are names, of those in a text or in its beginning.

    Most of them have text inside: empty ones are milestones, or stand beside the text.
    """
    text = _without_comments(text)
    if _FOREIGN.search(text[:2000]):
        return frozenset()
    n_open, n_ends, n_beside, n_empty = (Counter[str]() for _ in range(4))
    pieces = list(_pieces(text))
    for number, piece in enumerate(pieces[:-1]):
        after = pieces[number + 1]
        beside = piece.text if not piece.is_end else after.text
        n_empty[piece.name] += (
            not piece.is_end and after.is_end and after.name == piece.name and not after.text
        )
        n_ends[piece.name] += piece.is_end
        n_open[piece.name] += not piece.is_end
        n_beside[piece.name] += bool(beside.strip())
    return frozenset(
        name
        for name, n in n_open.items()
        if name
        and name.lower() not in _NO_NAMES
        and 2 * n_ends[name] >= n
        and 2 * n_empty[name] <= n
        and n_beside[name] >= _MIN_BESIDE * (n + n_ends[name])
    )


def read_markup(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read texts; each document is cut into sentences, or else the file."""
    from corpora.ner.texts import NamedText, cut_texts

    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    text = _without_comments(text)
    names = names_in_text(text)
    texts: list[NamedText] = []
    rejected: list[Rejected] = []
    counters: Counter[str] = Counter()
    for pieces in _documents(text, names):
        own = _Document(names, pieces)
        begin = pieces[0].start - len(pieces[0].text)
        line = text.count("\n", 0, begin) + 1
        try:
            check_characters(own.text)
            if own.problem:
                raise BadRecordError("bad_span", own.problem[1])
        except BadRecordError as error:
            place = own.problem[0] if own.problem else begin
            place = text.count("\n", 0, place) + 1
            shown = _shown(own.text)
            rejected.append(origin.leave_out("document", error, place, excerpt=shown))
            continue
        counters += own.counters
        document = own.id or (origin.source if pieces[-1].is_line else "")
        texts.append(NamedText(line, own.text, own.names, document))
    return cut_texts(
        texts,
        origin,
        what="document",
        lang=layout.lang,
        rejected=rejected,
        counters=counters,
        counting=CHARACTERS,
    )


def _shown(text: str) -> str:
    return text.strip()[:80].encode("utf-8", "replace").decode().replace("\0", "")


def _documents(text: str, names: Collection[str]) -> Iterator[list[_Piece]]:
    """Yield the pieces of each document; without elements for these, of each line or of the file.

    They are those of lines if nearly all names end in their line, and lines are not wrapped.
    """
    pieces = list(_pieces(text))
    elements = {piece.name.lower() for piece in pieces}
    if not elements & (_DOCUMENTS | _PARAGRAPHS) and not is_hard_wrapped(text):
        starts = accumulate((len(line) + 1 for line in text.split("\n")), initial=0)
        lines = [list(_pieces(text, start, end)) for start, end in pairwise(starts)]
        n_broken = sum(_is_broken(line, names) for line in lines)
        if n_broken <= _MAX_BROKEN * len(lines):
            yield from (line for line in lines if len(line) > 1 or line[0].text.strip())
            return
    pieces_of: list[_Piece] = []
    for piece in pieces:
        if piece.name.lower() in _DOCUMENTS and not piece.is_end:
            if any(before.text.strip() for before in pieces_of):
                yield pieces_of
            pieces_of = [piece._replace(text="")]
        else:
            pieces_of.append(piece)
    yield pieces_of


def _is_broken(pieces: Sequence[_Piece], names: Collection[str]) -> bool:
    """Tell whether names end in another line than where they start."""
    found = [piece for piece in pieces if piece.name in names]
    return 2 * sum(piece.is_end for piece in found) != len(found)


class _Document:
    """The text of a document, and the names in it."""

    def __init__(self, names: Collection[str], pieces: Sequence[_Piece]) -> None:
        self.id = next((piece.id for piece in pieces[:1] if piece.name.lower() in _DOCUMENTS), "")
        self.names: list[WrittenName] = []
        self.counters: Counter[str] = Counter()
        self.problem: tuple[int, str] | None = None
        """What is wrong, after the place in the file."""
        self._names = names
        self._parts: list[str] = []
        self._length = 0
        self._n_full = 0  # characters that are no blanks
        self._open: list[tuple[_Piece, int, int]] = []  # tag, _length, _n_full
        self._about = ""  # the element open that describes the document
        self._is_other: bool | None = None  # whether a later alternative is open; None: none is
        self._has_paragraphs = any(piece.name.lower() in _PARAGRAPHS for piece in pieces)
        for piece in pieces:
            self._add_text(unescape(piece.text))
            self._add_tag(piece)
        if self._open and not self.problem:
            piece = self._open[-1][0]
            self.problem = piece.start, f"<{piece.name}> is never closed"
        self.text = "".join(self._parts)

    def _add_text(self, text: str) -> None:
        if self._about:
            self.id = self.id or text.strip() * (self._about in _IDENTIFYING)
            return
        if self._is_other is not None:
            first, mark, _ = text.partition("|")
            text = "" if self._is_other else first
            self._is_other = self._is_other or bool(mark)
        self._append(re.sub(r"\s+", " ", text) if self._has_paragraphs else text)

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
        self._n_full += len(text) - sum(map(str.isspace, text))

    def _add_tag(self, piece: _Piece) -> None:
        name = piece.name.lower()
        if piece.name in self._names:
            self._close(piece) if piece.is_end else self._start(piece)
        elif name == "alt":
            self._is_other = None if piece.is_end else False
        elif name in _ABOUT:
            self._about = "" if piece.is_end else name
            self._append("\n\n")
        elif name and name not in _INLINE:
            self._append("\n\n")
        elif name in {"br", "lb"}:
            self._append("\n")

    def _start(self, piece: _Piece) -> None:
        self._open.append((piece, self._length, self._n_full))

    def _close(self, piece: _Piece) -> None:
        """Make a mention of a name."""
        numbers = reversed(range(len(self._open)))
        own = next((n for n in numbers if self._open[n][0].name == piece.name), None)
        if own is None:
            self.problem = self.problem or (piece.start, f"</{piece.name}> closes nothing")
            return
        begin, start, n_full = self._open.pop(own)
        label = "_".join(begin.label.split())
        if n_full == self._n_full:
            where = "names in other alternatives" if self._is_other else "empty names"
            self.counters[f"{where} not in ner: {label}"] += 1
            return
        self.names.append(WrittenName(start, self._length, label))
