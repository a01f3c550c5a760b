"""TEI to documents: text, and each name as a mention that knows the byte where its element starts.

``read_tei`` is pure: bytes and an ``Edition`` in, documents out. What the edition leaves out is
not in the text; everything else is, once. A file with a ``teiCorpus`` gives several documents.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from corpora.document import Document, Mention, Paragraph, Span, without_crossing
from corpora.segmentation.sentences import segmenter
from corpora.tei.edition import Edition, Role
from corpora.tei.header import read_header
from corpora.tei.layout import XML_SPACE, Layout, OpenName
from corpora.tei.pieces import merge_pieces
from corpora.tei.xml import Element, XmlError, parse_xml

# TEI gives these no text of their own: white space in them is layout of the file.
_ELEMENT_ONLY = {"choice", "app", "rdggrp", "subst", "respstmt", "list", "table", "row"}
_INCLUDE = "{http://www.w3.org/2001/xinclude}include"
ROOTS = {"tei", "tei.2", "teicorpus", "teicorpus.2"}


@dataclass(frozen=True, slots=True)
class TeiText:
    """A document and what was counted while it was read."""

    document: Document | None
    """None where nothing of the file's text is left."""
    counters: Counter[str]


def read_tei(data: bytes, edition: Edition, *, name: str) -> list[TeiText]:
    """Read a file; raises ``XmlError`` where it is no XML that is read, or no TEI.

    ``name`` is the relative file name: the id of the document, and its source.
    """
    return read_tree(parse_xml(data, name=name), edition, name=name)


def read_tree(
    root: Element, edition: Edition, *, name: str, layout: Callable[[], Layout] = Layout
) -> list[TeiText]:
    """Read a file that was parsed; ``layout`` makes what the text of each document is put into."""
    if root.name not in ROOTS:
        raise XmlError(
            "not_tei",
            f"{name}: is no TEI (the root element is {root.written_name!r}). "
            "Leave it out with --exclude.",
        )
    roots = list(_single_texts(root, edition))
    ids = _ids(roots, name)
    lang = root.attributes.get("xml:lang", edition.lang)
    return [
        _Reader(edition, name, layout()).read(tei, document_id=document_id, default_lang=lang)
        for tei, document_id in zip(roots, ids, strict=True)
    ]


def _single_texts(root: Element, edition: Edition) -> Iterator[Element]:
    """Yield the own text of a corpus, if it has any, and its members; else the file itself."""
    members = [child for child in root.elements() if child.name in ROOTS]
    if not members or any(child.name in edition.content for child in root.elements()):
        yield root
    for member in members:
        yield from _single_texts(member, edition)


def _ids(roots: list[Element], name: str) -> list[str]:
    """Make ids: the file's name, or that and the ``xml:id`` of each text (or its index)."""
    if len(roots) == 1:
        return [name]
    own = [root.attributes.get("xml:id", "") for root in roots]
    times = Counter(own)
    return [f"{name}#{id if id and times[id] == 1 else number}" for number, id in enumerate(own, 1)]


@dataclass(slots=True)
class _Name:
    """An element that names something, and where its text came to stand."""

    element: Element
    label: str | None
    place: OpenName
    in_part: str | None


@dataclass(slots=True)
class _Reader:
    """Walks one ``TEI`` element; used once."""

    edition: Edition
    source: str
    layout: Layout
    ancestors: list[Element] = field(default_factory=list)
    names: list[_Name] = field(default_factory=list)
    parts: deque[tuple[Element, list[Element]]] = field(default_factory=deque)
    part: str | None = None
    kind: str = "p"
    preserve: bool = False
    counters: Counter[str] = field(default_factory=Counter)

    def read(self, tei: Element, *, document_id: str, default_lang: str | None) -> TeiText:
        """Read text and names, then sentences."""
        header = read_header(tei, default_lang=default_lang)
        breaker = segmenter(header.lang)
        self.layout.conjunctions = breaker.conjunctions
        hyphens = self.edition.line_end_hyphens
        self.layout.keeps_hyphens = hyphens == "keep" if hyphens else breaker.table.keeps_hyphens
        self.ancestors.append(tei)
        for child in tei.elements():
            if child.name in self.edition.content:
                self._element(child)
            elif child.name not in {"teiheader", *ROOTS} and child.text():
                self.counters[f"not read: {child.written_name}"] += 1
        self._read_parts()
        self.layout.block("p")
        text = self.layout.text.rstrip()
        if not text:
            return TeiText(None, self.counters)
        if self.layout.hyphens_removed:
            self.counters["hyphens removed at line ends"] = self.layout.hyphens_removed
        mentions = self._mentions(text)
        paragraphs = _trim_paragraphs(self.layout.paragraphs, text)
        document = Document(
            id=document_id,
            group=self.edition.name,
            source=self.source,
            text=text,
            paragraphs=paragraphs,
            mentions=tuple(mentions),
            sentences=tuple(
                sentence
                for part, inside in _join_paragraphs(paragraphs, mentions)
                for sentence in breaker.sentences(text, part, unbroken=inside)
            ),
            **header.columns(),
        )
        return TeiText(document, self.counters)

    def _read_parts(self) -> None:
        """Read notes and the like, each in blocks of its own; parts of parts come after them."""
        while self.parts:
            element, self.ancestors = self.parts.popleft()
            self.part = self.kind = element.name
            self.layout.block(self.kind)
            self._inside(element)

    def _children(self, element: Element) -> None:
        layout, preserve = self.layout, self.preserve
        self.ancestors.append(element)
        chosen = self._chosen(element) if element.name in self.edition.choose else None
        only_elements = element.name in _ELEMENT_ONLY
        for child in element.children:
            if isinstance(child, str):
                if not only_elements or child.strip(XML_SPACE):
                    layout.append(child, preserve=preserve)
            elif chosen is None or child in chosen:
                self._element(child)
            elif child.children:
                self.counters[f"not chosen: {child.written_name}"] += 1
        self.ancestors.pop()

    def _chosen(self, element: Element) -> list[Element]:
        """Choose the one child that is read of a ``choice`` and its like, or none."""
        for pattern in self.edition.choose[element.name]:
            for child in element.elements():
                if pattern.matches(child, self.ancestors):
                    return [child]
        return []

    def _element(self, element: Element) -> None:
        match self.edition.meaning(element, self.ancestors).role:
            case None:
                self._inside(element)
                if element.name == _INCLUDE:
                    self.counters["not read: xi:include"] += 1
            case Role.LEAVE_OUT:
                if element.children:
                    self.counters[f"left out: {element.written_name}"] += 1
            case Role.PART:
                self.parts.append((element, list(self.ancestors)))
            case Role.PARAGRAPH:
                self._block(element)
            case Role.LINE:
                self.layout.line()
                self._inside(element)
                self.layout.line()
            case Role.JOIN:
                self._inside(element)
                self.layout.join()
            case Role.WORD:
                self._inside(element)
                self.layout.line_end()

    def _block(self, element: Element) -> None:
        around, self.kind = self.kind, self.part or element.name
        self.layout.block(self.kind)
        self._inside(element)
        self.kind = around
        self.layout.block(around)

    def _inside(self, element: Element) -> None:
        """Read an element that is in the text: its name, its white space, its children."""
        preserve = self.preserve
        if space := element.attributes.get("xml:space"):
            self.preserve = space == "preserve"
        meaning = self.edition.meaning(element, self.ancestors)
        if meaning.is_asked_for and not meaning.is_name:
            self.counters[f"without a label: {_tag(element)}"] += 1
        place = self.layout.open_name() if meaning.is_name else None
        if element.children:
            self._children(element)
        elif character := self._character(element):
            self.layout.append_sign(character, element)
            self.counters["characters written for empty elements"] += len(character)
        if place is not None:
            self.layout.close_name(place)
            self.names.append(_Name(element, meaning.label, place, self.part))
        self.preserve = preserve

    def _character(self, element: Element) -> str:
        for pattern, character in self.edition.characters:
            if pattern.matches(element, self.ancestors):
                return character
        return ""

    def _mentions(self, text: str) -> list[Mention]:
        """Make mentions of the names that have text; link and merge the pieces of split ones."""
        made: list[Mention] = []
        for name in sorted(self.names, key=lambda name: name.element.byte):
            span = _trim(name.place, text)
            if span is None:
                self.counters[f"names without text: {name.element.written_name}"] += 1
                continue
            made.append(self._mention(name, span))
        kept, dropped = without_crossing(merge_pieces(made, text))
        if dropped:
            self.counters["names dropped because they cross another"] = len(dropped)
        self.counters.update(f"mentions: {mention.label or 'no label'}" for mention in kept)
        return kept

    def _mention(self, name: _Name, span: Span) -> Mention:
        attributes = {"element": name.element.written_name, "byte": str(name.element.byte)}
        if name.in_part:
            attributes["in"] = name.in_part
        attributes |= {f"@{key}": value for key, value in name.element.attributes.items()}
        return Mention(
            span.start,
            span.end,
            entity=entity_of(name.element, self.edition),
            label=name.label,
            attributes=attributes,
        )


def _tag(element: Element) -> str:
    kind = element.attributes.get("type")
    return f"{element.written_name}[{kind}]" if kind else element.written_name


def _trim(place: OpenName, text: str) -> Span | None:
    """Leave white space out at both ends; None where nothing is left."""
    start, end = place.start, min(place.end, len(text))
    while start < end and text[end - 1].isspace():
        end -= 1
    while 0 <= start < end and text[start].isspace():
        start += 1
    return Span(start, end) if 0 <= start < end else None


def _trim_paragraphs(paragraphs: list[Paragraph], text: str) -> tuple[Paragraph, ...]:
    spans = ((_trim(OpenName(p.start, p.end), text), p.kind) for p in paragraphs)
    return tuple(Paragraph(span.start, span.end, kind) for span, kind in spans if span)


def _join_paragraphs(
    paragraphs: tuple[Paragraph, ...], mentions: list[Mention]
) -> Iterator[tuple[Span, list[Mention]]]:
    """Paragraphs and the names in them; where a name continues in the next, both are one."""
    waiting = iter(mentions)  # in reading order
    mention = next(waiting, None)
    start, reach, inside = None, 0, list[Mention]()
    for paragraph in paragraphs:
        start = paragraph.start if start is None else start
        while mention is not None and mention.start < paragraph.end:
            inside.append(mention)
            reach = max(reach, mention.end)
            mention = next(waiting, None)
        if reach <= paragraph.end:
            yield Span(start, paragraph.end), inside
            start, inside = None, []


def entity_of(element: Element, edition: Edition) -> str | None:
    """Tell what the element refers to, with its space; several ids are one entity, their group."""
    for attribute in edition.entity:
        if value := element.attributes.get(attribute, "").strip():
            ids = value.split() if attribute == "ref" else [value]
            return " ".join(_with_space(one, edition) for one in ids)
    return None


def _with_space(reference: str, edition: Edition) -> str:
    for beginning, space in edition.spaces.items():
        if reference.startswith(beginning):
            return f"{space}:{reference.removeprefix(beginning).rstrip('/')}"
    return f"{edition.name}:{reference.removeprefix('#')}"
