"""The documents of a file: where each begins, and what is known before its text is read."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from corpora.document import Document
from corpora.tei.edition import Edition, Role
from corpora.tei.header import Columns, base_of, read_header, read_rules
from corpora.tei.marks import MarkContext
from corpora.tei.pointers import ids_of
from corpora.tei.prefixes import Prefixes, read_prefixes
from corpora.tei.xml import ROOTS, Element


@dataclass(frozen=True, slots=True)
class StandOff:
    """A name beside the text, which covers the text from the first to the last of its elements."""

    element: Element
    label: str | None
    ids: tuple[str, ...]


def stand_off_names(tei: Element, edition: Edition) -> tuple[StandOff, ...]:
    """Find the names outside the text that point into it."""
    if not edition.reads_stand_off:
        return ()

    def is_apart(element: Element) -> bool:
        is_beside = element.parent is tei and element.name not in edition.content
        return is_beside or edition.meaning(element).role is Role.LEAVE_OUT

    return tuple(
        StandOff(element, meaning.label, ids)
        for element in tei.walk()
        if (meaning := edition.meaning(element)).is_name
        and (ids := _pointers(element))
        and any(map(is_apart, element.chain()))
    )


def _pointers(element: Element) -> tuple[str, ...]:
    """Return the ids that an element points to: ``@from`` and ``@to``, or ``@target``.

    Pointers that are not read (``string-range(#p,0,4)``, ``a.xml#p``) stay as they are: they are no
    ids of the file, so that the name points nowhere.
    """
    attributes = element.attributes
    values = [attributes.get("from", ""), attributes.get("to", "")]
    words = " ".join(values if all(values) else [attributes.get("target", "")]).split()
    return tuple(word.removeprefix("#") for word in words) if all("#" in w for w in words) else ()


SPACE = "xml:space"
_DOCUMENTS = {Role.DOCUMENT, Role.NOTE_DOCUMENT}


def texts_in(root: Element, edition: Edition) -> Iterator[Element]:
    """Yield the members of a corpus, and the corpus itself if it has text; else the file's root."""
    members = [child for child in root.elements() if child.name in ROOTS]
    if not members or any(child.name in edition.content for child in root.elements()):
        yield root
    for member in members:
        yield from texts_in(member, edition)


def ids_of_texts(roots: list[Element], name: str) -> list[str]:
    """Build ids: the file's name, or that with the ``xml:id`` of each text (or its number)."""
    if len(roots) == 1:
        return [name]
    ids = [root.attributes.get("xml:id", "") for root in roots]
    unique = {id for id, times in Counter(ids).items() if id and times == 1}

    def free(number: int) -> int:
        return next(n for n in count(number, len(roots)) if str(n) not in unique)

    return [f"{name}#{id if id in unique else free(number)}" for number, id in enumerate(ids, 1)]


def prefixes_of(tei: Element, edition: Edition) -> Prefixes:
    """Read the prefixes that a ``TEI`` element declares, and what the ids in it point to."""
    prefixes = read_prefixes(tei)
    if prefixes.definitions:
        prefixes.learn(id for element in tei.walk() for id in ids_of(element.attributes, edition))
    return prefixes


@dataclass
class File:
    """The data shared by the documents of a ``TEI`` element."""

    name: str
    tei: Element
    taken: set[str]
    """The ids of all documents of the file so far."""
    numbers: Counter[str]
    """The number of documents without an id of their own, by the name of their element."""
    beside_found: set[Element] = field(default_factory=set)
    """The elements of the names beside the text whose place is in one of its documents."""

    @cached_property
    def places(self) -> dict[str, tuple[str, int]]:
        """The file and the byte of the element with each id."""
        walked = self.tei.walk()
        return {id: (e.file, e.byte) for e in walked if (id := e.attributes.get("xml:id"))}

    def new_id(self, element: Element) -> str:
        """Create the id of the document that an element becomes."""
        xml_id = element.attributes.get("xml:id")
        id = f"{self.name}#{xml_id}" if xml_id else ""
        while not id or id in self.taken:
            self.numbers[element.name] += 1
            id = f"{self.name}#{element.name}{self.numbers[element.name]}"
        self.taken.add(id)
        return id


@dataclass(frozen=True, slots=True)
class Start:
    """An element that becomes a document, with what is known before it is read."""

    element: Element
    document_id: str
    columns: Columns
    """The columns of the document, except its text and what is read with it."""
    context: MarkContext
    split_with: str
    part: str | None = None
    """The name of the element if it is a note; else None."""
    stand_off: tuple[StandOff, ...] = ()
    """The names that stand beside the text of the file."""
    preserve: bool = False
    """Whether white space is kept around the element."""


def start_of_file(tei: Element, document_id: str, edition: Edition, *, lang: str | None) -> Start:
    """Begin the document of a file, with the metadata of its header."""
    header = read_header(tei, default_lang=lang)
    columns: Columns = {**header, "lang": edition.tag_of(header["lang"])}
    head = tei.find("teiheader")
    scope = head if head and edition.makes_several else tei
    return Start(
        tei,
        document_id,
        with_metadata(columns, edition, scope),
        MarkContext(edition.language(columns["lang"])),
        split_with=document_id,
        stand_off=stand_off_names(tei, edition),
        preserve=edition.obeys_xml_space and _asks_for_space(tei),
    )


def _asks_for_space(element: Element) -> bool:
    """Tell whether the nearest ``@xml:space``, of the element or around it, keeps white space."""
    values = (around.attributes.get(SPACE) for around in element.chain())
    return next(filter(None, values), "") == "preserve"


def with_metadata(columns: Columns, edition: Edition, scope: Element) -> Columns:
    """Add the metadata that the edition's rules find in an element, outside documents in it."""
    metadata = read_rules(edition.metadata, list(_own(scope, edition))) if edition.metadata else {}
    title = metadata.pop("title", columns["title"])
    old = {key: value for key, value in columns["metadata"].items() if base_of(key) not in metadata}
    return {**columns, "title": title, "metadata": {**old, **metadata}}


def _own(scope: Element, edition: Edition) -> Iterator[Element]:
    """Yield the elements of a document: all in its element but those of documents inside it."""
    waiting = [scope]
    while waiting:
        element = waiting.pop()
        if element.name == "teiheader":  # its notes are no documents
            yield from element.walk()
        elif element is scope or edition.meaning(element).role not in _DOCUMENTS:
            yield element
            waiting += reversed(element.elements())


def with_place(start: Start, around: Document | None, offset: int) -> Start:
    """Add the place of a document's element: in the document around it, if that has text."""
    metadata = start.columns["metadata"]
    attributes = {"byte": str(start.element.byte), **start.context.attributes()}
    if around is None:
        metadata = {name: metadata[name] for name in metadata if name not in {"in_document", "at"}}
    else:
        attributes = {"in_document": around.id, "at": str(offset), **attributes}
    return replace(start, columns={**start.columns, "metadata": {**metadata, **attributes}})
