"""TEI to documents: text, and each name as a mention that knows the byte where its element starts.

``read_tei`` is pure: bytes and an ``Edition`` in, documents out. What the edition leaves out is
not in the text; everything else is in it once. A file with a ``teiCorpus`` gives several documents.
"""

import sys
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from corpora.document import Document, Mention, Paragraph, Span, part_of_text, without_crossing
from corpora.runs.plan import InputFile
from corpora.tei.edition import APART, SIGNS, Edition, ElementMeaning, Role
from corpora.tei.include import INCLUDE, IncludedPart, with_included
from corpora.tei.languages import Segmenters, count_languages, said_language
from corpora.tei.layout import LINES_JOINED, XML_SPACE, OpenName, TextLayout
from corpora.tei.marks import (
    Mark,
    MarkContext,
    NameMark,
    divide,
    join_paragraphs,
    starting_in,
    to_mention,
    trim,
    trim_all,
    trim_paragraphs,
)
from corpora.tei.pointers import count_prefixes
from corpora.tei.prefixes import Prefixes
from corpora.tei.split_names import merge_pieces
from corpora.tei.starts import (
    SPACE,
    File,
    StandOff,
    Start,
    ids_of_texts,
    prefixes_of,
    start_of_file,
    texts_in,
    with_metadata,
    with_place,
)
from corpora.tei.xml import PARTS, ROOTS, Element, XmlError, parse_xml

# TEI allows no text directly in these: white space in them is layout of the file.
_ELEMENT_ONLY = {"choice", "app", "rdggrp", "subst", "list", "table", "row"}
# No white space stands between a word or sign with this @join and the next one, or the last one.
_TOUCHES_NEXT, _TOUCHES_LAST = {"right", "both"}, {"left", "both"}
_SPEECHES = {"sp", "u"}
# These hold blocks: white space between them is layout of the file, whatever @xml:space says.
_HOLDS_BLOCKS = {
    "text", "group", "front", "body", "back", "div", "div0", "div1", "div2", "div3", "div4", "div5",
    "div6", "div7", "lg", "sp", "list", "table", "row", "castlist", "castgroup", "titlepage",
    "figure", "floatingtext", "argument", "epigraph", "postscript",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TeiText:
    """A document, and the counters of its reading."""

    document: Document | None
    """None if no text is left."""
    counters: Counter[str]
    segmenters: Segmenters = Segmenters()
    """The segmenters of the text, by the languages of its passages."""
    split_with: str = ""
    """The id of the document whose split it shares: its own, or for a note that of its document."""
    prefixes: Prefixes = Prefixes()
    """The prefixes that its file declares for pointers."""


def read_tei(
    data: bytes,
    edition: Edition,
    *,
    name: str,
    included: Mapping[str, InputFile] | None = None,
    repeated: Collection[IncludedPart] = (),
    max_bytes: int = sys.maxsize,
    with_lemmas: bool = False,
) -> list[TeiText]:
    """Read a file; raises ``XmlError`` if it is malformed or no TEI.

    ``name`` is the relative file name: the id of the document, and its source. ``included`` has the
    files that it includes, by name; without it, ``xi:include`` is counted and left out; so is what
    is ``repeated``. The file with all inclusions may have ``max_bytes`` at most. ``with_lemmas``:
    see ``read_tree``.
    """
    root = parse_xml(data, name=name)
    counters = Counter[str]()
    if included:
        room = max_bytes - len(data)
        counters = with_included(root, included, name=name, room=room, repeated=repeated)
    first, *others = read_tree(root, edition, name=name, with_lemmas=with_lemmas)
    return [replace(first, counters=first.counters + counters), *others]


def read_tree(
    root: Element,
    edition: Edition,
    *,
    name: str,
    layout: Callable[[], TextLayout] = TextLayout,
    may_be_part: bool = False,
    with_lemmas: bool = False,
) -> list[TeiText]:
    """Read a parsed file; ``layout`` creates the layout for the text of each document.

    ``may_be_part``: the root may also be what other files include, such as a ``div``.
    ``with_lemmas``: the metadata of documents has ``lemmas``, a line ``start end lemma`` for each
    ``w`` with ``@lemma``.
    """
    if root.name not in ROOTS and not (may_be_part and root.name in PARTS):
        raise XmlError(
            "not_tei",
            f"{name}: is no TEI (the root element is {root.written_name!r}). Leave it out.",
        )
    roots = list(texts_in(root, edition))
    ids = ids_of_texts(roots, name)
    taken, numbers = set(ids), Counter[str]()
    texts: list[TeiText] = []
    for tei, document_id in zip(roots, ids, strict=True):
        file = File(name, tei, taken, numbers)
        extended = edition.with_prefixes(prefixes_of(tei, edition))
        whole = start_of_file(tei, document_id, extended, lang=said_language(root))
        starts, n_before = deque([whole]), len(texts)
        while starts:
            reader = _Reader(extended, file, layout(), starts.popleft(), with_lemmas=with_lemmas)
            text, apart = reader.read()
            texts.append(text)
            starts.extend(apart)
        for name_beside in whole.stand_off:
            if name_beside.element not in file.beside_found:
                texts[n_before].counters[_points_nowhere(name_beside.element)] += 1
    return texts


@dataclass(slots=True)
class _Reader:
    """A reader of one ``TEI`` element, or of a part of it that is a document; used once."""

    edition: Edition
    file: File
    layout: TextLayout
    start: Start
    with_lemmas: bool = False
    lemmas: list[tuple[OpenName, str]] = field(default_factory=list)
    apart: list[tuple[Start, OpenName]] = field(default_factory=list)
    """The parts that become documents of their own, and where they stand."""
    names: list[NameMark] = field(default_factory=list)
    parts: deque[tuple[Element, MarkContext, bool]] = field(default_factory=deque)
    """Notes and the like, which are read at the end of the document: with their places, and whether
    white space is kept there."""
    part: str | None = None
    kind: str = "p"
    preserve: bool = False
    context: MarkContext = MarkContext()
    abbreviations: list[OpenName] = field(default_factory=list)
    marked: list[OpenName] = field(default_factory=list)
    """The sentences that the file marks."""
    marks: dict[str, Mark | None] = field(default_factory=dict)
    """The place of each id that something points to; None until it is met."""
    reaching: list[tuple[StandOff, Mark]] = field(default_factory=list)
    """The names with ``@spanTo``, and where they begin."""
    skipped_to: int = 0
    """The byte of the file ``skipped_in`` before which no text is read; 0: none is skipped."""
    skipped_in: str = ""
    counters: Counter[str] = field(default_factory=Counter)

    def read(self) -> tuple[TeiText, list[Start]]:
        """Read text and names, then sentences; also return the parts that become documents."""
        start = self.start
        self._go_to(start.context)
        self.part, self.preserve = start.part, start.preserve
        self.marks = {id: None for each in start.stand_off for id in each.ids}
        if start.element.name in ROOTS:
            for child in start.element.elements():
                if child.name in self.edition.content:
                    self._element(child)
                elif child.name not in {"teiheader", *ROOTS} and child.text():
                    self._pass_over(child, f"not read: {child.written_name}")
        else:
            self.kind = start.part or start.element.name
            self.layout.block(self.kind)
            self._inside(start.element)
        text = self._finish()
        return text, [with_place(start, text.document, here.end) for start, here in self.apart]

    def _finish(self) -> TeiText:
        self._read_parts()
        self.layout.block("p")
        text = self.layout.text.rstrip()
        if not text:
            return TeiText(None, self.counters, prefixes=self.edition.prefixes)
        if self.layout.hyphens_removed:
            self.counters["hyphens removed at line ends"] = self.layout.hyphens_removed
        if self.layout.lines_joined:
            self.counters[LINES_JOINED] = self.layout.lines_joined
        mentions = self._mentions(text)
        paragraphs = trim_paragraphs(self.layout.paragraphs, text)
        segmenters = Segmenters.of(self.layout.passages)
        for lang, n in count_languages(self.layout.passages, text).items():
            self.counters[f"language/{lang}"] += n
        document = Document(
            id=self.start.document_id,
            group=self.edition.name,
            source=self.file.name,
            text=text,
            paragraphs=paragraphs,
            mentions=tuple(mentions),
            sentences=tuple(self._sentences(text, paragraphs, mentions, segmenters=segmenters)),
            **self.start.columns,
        )
        if self.lemmas:
            metadata = {**document.metadata, "lemmas": "\n".join(self._lines_of_lemmas(text))}
            document = replace(document, metadata=metadata)
        prefixes = self.edition.prefixes
        return TeiText(document, self.counters, segmenters, self.start.split_with, prefixes)

    def _lines_of_lemmas(self, text: str) -> Iterator[str]:
        for word, lemma in sorted(self.lemmas, key=lambda word: word[0].start):
            if span := trim(word, text):
                yield f"{span.start} {span.end} {lemma}"

    def _sentences(
        self,
        text: str,
        paragraphs: tuple[Paragraph, ...],
        mentions: list[Mention],
        *,
        segmenters: Segmenters,
    ) -> Iterator[Span]:
        """Yield the sentences that the file marks; others are cut by the languages of passages."""
        abbreviations, marked = trim_all(self.abbreviations, text), trim_all(self.marked, text)
        for part, inside in join_paragraphs(paragraphs, mentions):
            for span, is_marked in divide(part, starting_in(part, marked), inside):
                piece = trim(span, text)
                if piece is None:
                    continue
                if is_marked:
                    yield piece
                else:
                    yield from segmenters.sentences(
                        text,
                        piece,
                        names=starting_in(piece, inside),
                        abbreviations=starting_in(piece, abbreviations),
                    )

    def _read_parts(self) -> None:
        """Read notes and the like, each in its own blocks; parts inside parts follow them."""
        while self.parts:
            element, context, self.preserve = self.parts.popleft()
            self._go_to(context)
            self.part = self.kind = element.name
            self.layout.block(self.kind)
            self._inside(element)

    def _go_to(self, context: MarkContext) -> None:
        self.context, self.layout.language = context, context.language

    def _children(self, element: Element) -> None:
        layout = self.layout
        preserve = self.preserve and element.name not in _HOLDS_BLOCKS
        chosen = self._chosen(element) if element.name in self.edition.choose else None
        only_elements = element.name in _ELEMENT_ONLY
        for child in element.children:
            if isinstance(child, str):
                if self.skipped_to:
                    self.counters["left out: delSpan (characters)"] += len(child.strip(XML_SPACE))
                elif not only_elements or child.strip(XML_SPACE):
                    layout.append(child, preserve=preserve)
            elif chosen is None or child in chosen:
                self._element(child)
            elif child.children:
                self._pass_over(child, f"not chosen: {child.written_name}")

    def _chosen(self, element: Element) -> list[Element] | None:
        """Choose the children of a ``choice`` and its like to read; count the matching patterns."""
        children = element.elements()
        for key, pattern in self.edition.own:
            is_for_it = key.lower().startswith(f"choose.{element.name}: ")
            if is_for_it and (n := sum(map(pattern.matches, children))):
                self.counters[f"pattern/{key}"] += n
        return self.edition.chosen(element)

    def _role_of(self, element: Element) -> Role | None:
        """Return an element's role.

        First updates the page, and ends a skipped range if it is over.
        """
        if element.name == "pb":
            self.context = self.context._replace(
                page=element.attributes.get("n", ""), facs=element.attributes.get("facs", "")
            )
        if self.skipped_to and element.file == self.skipped_in and element.byte >= self.skipped_to:
            self.skipped_to = 0
        role = self.edition.meaning(element).role
        if self.skipped_to and role in APART:
            return Role.LEAVE_OUT
        return role

    def _element(self, element: Element) -> None:
        match role := self._role_of(element):
            case None:
                self._inside(element)
                if element.name == INCLUDE:
                    self.counters["not read: xi:include"] += 1
            case Role.LEAVE_OUT:
                self._leave_out(element)
            case Role.DOCUMENT | Role.NOTE_DOCUMENT:
                start = self._document_of(element, is_note=role is Role.NOTE_DOCUMENT)
                self.apart.append((start, self.layout.here()))
            case Role.PART:
                self.parts.append((element, self.context, self.preserve))
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
            case Role.SENTENCE:
                name = self.layout.open_name()
                self._inside(element)
                self.layout.close_name(name)
                self.marked.append(name)

    def _leave_out(self, element: Element) -> None:
        if element.children:
            self._pass_over(element, f"left out: {element.written_name}")
        else:
            self._count_fits(element)
        if "spanTo" in element.attributes:
            self._skip(element)

    def _skip(self, element: Element) -> None:
        """Skip text up to the target of ``@spanTo``, if the target comes later."""
        target = element.attributes["spanTo"].removeprefix("#")
        file, end = self.file.places.get(target, ("", -1))
        if file == element.file and end > element.byte:
            if not self.skipped_to:
                self.skipped_to, self.skipped_in = end, file
            self.counters[f"left out: {element.written_name}"] += 1
        else:
            self.counters[f"spanTo leads nowhere: {element.written_name}"] += 1

    def _document_of(self, element: Element, *, is_note: bool) -> Start:
        """Begin the document that an element inside this one becomes."""
        id, around = self.file.new_id(element), self.start
        columns = around.columns.copy()
        heads = [] if is_note else [e.text() for e in element.elements() if e.name == "head"]
        columns["title"] = next(filter(None, heads), columns["title"])
        columns = with_metadata(columns, self.edition, element)
        if tag := said_language(element):
            columns["lang"] = self.edition.tag_of(tag)
        elif self.context.language:
            columns["lang"] = self.context.language.tag
        return Start(
            element,
            id,
            columns,
            self.context,
            split_with=around.split_with if is_note else id,
            part=element.name if is_note else None,
            stand_off=around.stand_off,
            preserve=self.preserve,
        )

    def _pass_over(self, element: Element, how: str) -> None:
        """Count an element that is not read, and its characters and names."""
        self.counters[how] += 1
        self.counters[f"{how} (characters)"] += len(element.text())
        for inner in element.walk():
            if not self.edition.may_name(inner.name):
                continue
            meaning = self._count_fits(inner)
            if meaning.is_name:
                empty = f"names without text: {inner.written_name}"
                self.counters[f"{how} (names)" if inner.children else empty] += 1
            elif meaning.should_name:
                self.counters[f"without a label: {_tag(inner)}"] += 1

    def _count_fits(self, element: Element) -> ElementMeaning:
        """Count the edition's patterns that match an element; returns the element's meaning."""
        meaning = self.edition.meaning(element)
        for pattern in meaning.fits:
            self.counters[f"pattern/{pattern}"] += 1
        return meaning

    def _block(self, element: Element) -> None:
        around, self.kind = self.kind, self.part or element.name
        self.layout.block(self.kind)
        self._inside(element)
        self.kind = around
        self.layout.block(around)

    def _inside(self, element: Element) -> None:
        """Read an element that is in the text: its name, its white space, its children."""
        preserve, around = self.preserve, self.context
        if element.attributes:
            self._enter(element)
        meaning = self._count_fits(element)
        if meaning.should_name and not meaning.is_name:
            self.counters[f"without a label: {_tag(element)}"] += 1
        mark = self._open_mark(element, meaning)
        if element.children:
            self._children(element)
        elif not self.skipped_to:
            self._empty(element, meaning)
        if mark is not None:
            self.layout.close_name(mark.place)
            if element.name == "abbr":
                self.abbreviations.append(mark.place)
            if self.with_lemmas and (lemma := _lemma_of(element)):
                self.lemmas.append((mark.place, lemma))
            if meaning.is_name and "spanTo" not in element.attributes:
                self.names.append(NameMark(element, meaning.label, mark))
        if element.attributes.get("join") in _TOUCHES_NEXT:
            self.layout.touch()
        self.preserve = preserve
        if self.context is not around:
            self._go_to(self.context._replace(language=around.language, who=around.who))

    def _enter(self, element: Element) -> None:
        """Apply the white space rules, language and speaker that an element declares."""
        attributes = element.attributes
        if attributes.get("join") in _TOUCHES_LAST:
            self.layout.touch()
        if (space := attributes.get(SPACE)) and self.edition.obeys_xml_space:
            self.preserve = space == "preserve"
        if ("xml:lang" in attributes or "lang" in attributes) and (tag := said_language(element)):
            self._go_to(
                self.context._replace(language=self.edition.language(self.edition.tag_of(tag)))
            )
        if element.name in _SPEECHES:
            self.context = self.context._replace(who=attributes.get("who", ""))

    def _open_mark(self, element: Element, meaning: ElementMeaning) -> Mark | None:
        """Note the start of a name, an abbreviation, or the target of a pointer."""
        attributes = element.attributes
        id = attributes.get("xml:id", "")
        has_lemma = self.with_lemmas and _lemma_of(element) is not None
        if not (meaning.is_name or id in self.marks or element.name == "abbr" or has_lemma):
            return None
        origin = self.part or part_of_text(self.kind)
        mark = Mark(self.layout.here(), self.layout.open_name(), origin, self.context)
        if meaning.is_name and (end := attributes.get("spanTo", "").removeprefix("#")):
            self.marks.setdefault(end)
            self.reaching.append((StandOff(element, meaning.label, (end,)), mark))
        if id in self.marks:
            self.marks[id] = self.marks[id] or mark
        return mark

    def _empty(self, element: Element, meaning: ElementMeaning) -> None:
        """Write the characters that an empty element stands for, or count that it has none."""
        if character := self.edition.character(element):
            self.layout.append_sign(character, element)
            self.counters["characters written for empty elements"] += len(character)
        elif element.name in SIGNS and not meaning.role and not meaning.is_name:
            self.counters[f"not read: empty {element.written_name}"] += 1

    def _mentions(self, text: str) -> list[Mention]:
        """Build mentions of the names that have text; link and merge the pieces of split names."""
        mentions: list[Mention] = []
        names = [*self.names, *self._names_beside()]
        # bytes of different files cannot be compared
        several = any(name.element.file for name in names)
        for name in sorted(names, key=lambda n: (several and n.mark.place.start, n.element.byte)):
            span = trim(name.mark.place, text)
            if span is None:
                self.counters[f"names without text: {name.element.written_name}"] += 1
                continue
            self.counters.update(count_prefixes(name.element.attributes, self.edition))
            mentions.append(to_mention(name, span, self.edition))
        nested, dropped = without_crossing(merge_pieces(mentions, text))
        if dropped:
            self.counters["names dropped because they cross another"] = len(dropped)
        self.counters.update(f"mentions: {mention.label or 'no label'}" for mention in nested)
        return nested

    def _names_beside(self) -> Iterator[NameMark]:
        """Yield the names that reach to an anchor, or stand beside the text, with their place."""
        beside = [(name, [mark]) for name, mark in self.reaching]
        beside += [(name, []) for name in self.start.stand_off]
        for name, marks in beside:
            ends = [self.marks[id] for id in name.ids]
            if (present := [mark for mark in ends if mark]) and len(present) == len(ends):
                first = min([*marks, *present], key=lambda mark: mark.start)
                place = OpenName(first.start, max(mark.end for mark in present))
                self.file.beside_found.add(name.element)
                yield NameMark(name.element, name.label, first._replace(place=place))
            elif marks:
                self.counters[_points_nowhere(name.element)] += 1


def _points_nowhere(element: Element) -> str:
    return f"names that point nowhere: {element.written_name}"


def _lemma_of(element: Element) -> str | None:
    """Return the lemma of a word; None: it is no word, or has none."""
    lemma = " ".join(element.attributes.get("lemma", "").split())
    return lemma if lemma and element.name == "w" else None


def _tag(element: Element) -> str:
    kind = element.attributes.get("type")
    return f"{element.written_name}[{kind}]" if kind else element.written_name
