"""Count what the markup of TEI files holds: elements, names, languages, ids, abbreviations."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from pathlib import Path

from corpora.document import Document
from corpora.runs.plan import InputFile, describe_files
from corpora.segmentation.abbreviations import MAX_CHARACTERS, Abbreviation
from corpora.segmentation.language_tags import primary_language
from corpora.tei.abbreviations import last_words, learn_abbreviations
from corpora.tei.card import languages_of
from corpora.tei.edition import APART, SIGNS, Edition, Role, edition_path, load_edition
from corpora.tei.include import find_included, with_included
from corpora.tei.languages import said_language
from corpora.tei.patterns import Pattern
from corpora.tei.pointers import ids_of, without_prefix
from corpora.tei.prefixes import union
from corpora.tei.reader import read_tree
from corpora.tei.xml import ROOTS, Element, XmlError, encoding_of, parse_xml

MAX_INCLUDED = 50_000_000
"""The most bytes that files include, all together, for inclusions to be followed."""
MAX_VALUES = 1_000
"""The most distinct values that are counted for an attribute; all others are counted as one."""
EXAMPLE, BEFORE = 80, 30  # characters shown: of an element, and before it
_REGISTERS = {"listperson", "listplace", "listorg", "listbibl", "listevent"}
_POINTERS = ("ref", "key", "corresp", "sameAs")
_NAMES = {
    "persname": "person", "placename": "place", "orgname": "organization", "geogname": "place",
    "settlement": "place", "country": "place", "region": "place", "district": "place",
    "bloc": "place", "forename": "person", "surname": "person", "date": "date", "title": "work",
    "eventname": "event",
}  # fmt: skip
_TYPED = ("rs", "name")
_UNSAYABLE = frozenset("']")
"""Characters that a value in a pattern cannot have."""
_NO_WORD = re.compile(r"\W")
_ADDRESS = re.compile(r"[A-Za-z][\w.+-]*:(//)?")
"""The beginning of an id with a protocol or a prefix: ``https://``, ``gnd:``."""


@dataclass
class ElementCounts:
    """The elements of one name, and their counts."""

    name: str
    """The name as written where it is first read."""
    n: int = 0
    n_characters: int = 0
    meanings: Counter[str] = field(default_factory=Counter)
    """The number of elements by what the edition makes of them."""
    attributes: dict[str, Counter[str]] = field(default_factory=dict)
    suggested: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The labels and patterns that they suggest, with their number; left-out text has none."""
    signs: Counter[str] = field(default_factory=Counter)
    """Patterns of empty elements that stand for a character, but not in the edition, with their
    number."""
    example: str = ""


@dataclass
class _Touching:
    """A finder of words that touch: a small letter, then tags only, then a capital."""

    edition: Edition
    found: Counter[str] = field(default_factory=Counter)
    """The number of such places at an edge of an element, by its name."""
    examples: dict[str, str] = field(default_factory=dict)
    _word: str = ""
    """The word that the text ends with so far."""
    _edges: list[tuple[int, str]] = field(default_factory=list)
    """The depth and name of each element that began or ended after ``_word``."""

    def walk(self, element: Element, depth: int = 0) -> None:
        """Search an element, as far as the edition reads it."""
        role = self.edition.meaning(element).role
        if role in {*APART, Role.LEAVE_OUT}:
            return
        self._edge(element, role, depth)
        only = self.edition.chosen(element)
        for child in element.children:
            if isinstance(child, str):
                self._read(child)
            elif only is None or child in only:
                self.walk(child, depth + 1)
        self._edge(element, role, depth)

    def _edge(self, element: Element, role: Role | None, depth: int) -> None:
        if role is None:
            self._edges.append((depth, element.written_name))
        elif role is not Role.JOIN:
            self._word = ""

    def _read(self, text: str) -> None:
        if not text:
            return
        if self._edges and self._word[-1:].islower() and text[0].isupper():
            _, name = min(self._edges)
            self.found[name] += 1
            self.examples.setdefault(name, f"{self._word}|{_NO_WORD.split(text)[0]}")
        self._word = _NO_WORD.split(text)[-1]
        self._edges.clear()


@dataclass
class Census:
    """The counts over all files; ``add`` takes one file."""

    edition: Edition
    n_files: int = 0
    unread: list[str] = field(default_factory=list)
    """Messages about files that cannot be read."""
    kinds: dict[str, ElementCounts] = field(default_factory=dict)
    lost_names: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of names by left-out element that they are in, and label."""
    lost_characters: Counter[str] = field(default_factory=Counter)
    outside: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """The number of names in each child of ``TEI`` that is not read, by label."""
    n_characters: int = 0
    """The number of characters of text that is read."""
    languages: Counter[str] = field(default_factory=Counter)
    """The number of characters of documents, by language."""
    passages: Counter[str] = field(default_factory=Counter)
    """The number of elements inside the text that tell their language, by language."""
    last_words: Counter[str] = field(default_factory=Counter)
    """The words with a period that end sentences, with their number."""
    registers: Counter[str] = field(default_factory=Counter)
    schemes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of ids by attribute, and by how its values begin."""
    addresses: Counter[str] = field(default_factory=Counter)
    """The number of ids of names in the text, by the address or prefix that they begin with."""
    matched: set[Pattern] = field(default_factory=set)
    counters: Counter[str] = field(default_factory=Counter)
    """The counters that a run would have."""
    untyped: Counter[str] = field(default_factory=Counter)
    """The number of names without ``@type`` that the edition does not read, by element."""
    n_keep_space: int = 0
    """The number of elements with ``xml:space="preserve"`` in the text or around it."""
    touching: _Touching = field(init=False)
    _own: Edition = field(init=False)
    """The edition with the prefixes of the file that is counted."""
    _included: Mapping[str, InputFile] = field(default_factory=dict)
    _data: dict[str, bytes] = field(default_factory=dict)
    """The bytes of the file that is counted, and of those that it includes, by name."""
    texts: list[tuple[str | None, str]] = field(default_factory=list)
    """Language and text of the first documents, to learn abbreviations from."""

    def __post_init__(self) -> None:
        self.touching = _Touching(self.edition)
        self._own = self.edition

    def add(
        self, data: bytes, *, name: str, included: Mapping[str, InputFile] | None = None
    ) -> None:
        """Count a file, with the files that it includes; if it cannot be read, note the message."""
        self.n_files += 1
        try:
            root = parse_xml(data, name=name)
            if included:
                self.counters += with_included(root, included, name=name, room=MAX_INCLUDED)
            texts = read_tree(root, self.edition, name=name)
        except XmlError as error:
            self.unread.append(str(error))
            return
        self._data, self._included = {"": data}, included or {}
        self._own = self.edition.with_prefixes(union(text.prefixes for text in texts))
        for text in texts:
            self.counters += text.counters
            if text.document:
                self._add_document(text.document)
        self.languages = languages_of(self.counters)
        self._walk(root, lost_in="", part="")
        self.touching.walk(root)

    def _add_document(self, document: Document) -> None:
        if self.n_characters < MAX_CHARACTERS:
            self.texts.append((document.lang, document.text))
        self.n_characters += len(document.text)
        self.last_words.update(
            word for word in last_words(document.text, document.sentences) if word.endswith(".")
        )

    @property
    def abbreviations(self) -> list[Abbreviation]:
        """The words that look like abbreviations but stand in no table, the most frequent first."""
        learned = learn_abbreviations(self.texts, self.edition)
        return sorted((each for some in learned.values() for each in some), key=lambda a: -a.n)

    def by_number(self) -> list[ElementCounts]:
        """List the kinds of elements, the most frequent first."""
        return sorted(self.kinds.values(), key=lambda kind: -kind.n)

    def _walk(self, element: Element, *, lost_in: str, part: str) -> None:
        """Count an element; ``part`` is the child of ``TEI`` that it is in, if any."""
        if element.parent is not None and element.parent.name in ROOTS:
            part = "" if element.name in ROOTS else element.written_name
        in_text = part.lower() in self.edition.content
        if in_text or element.name in ROOTS:
            self.n_keep_space += element.attributes.get("xml:space") == "preserve"
        if element.name in _REGISTERS:
            entries = [child for child in element.elements() if child.attributes.get("xml:id")]
            self.registers[element.written_name] += len(entries)
        for attribute in _POINTERS:
            value = element.attributes.get(attribute, "")
            for one in filter(None, [value] if attribute == "key" else value.split()):
                self.schemes[attribute, _scheme(one)] += 1
        if in_text:
            lost_in = self._count(element, lost_in=lost_in)
            if said := said_language(element):
                self.passages[primary_language(self.edition.tag_of(said))] += 1
        elif element.children and (meaning := self.edition.meaning(element)).is_name:
            self.outside[part][meaning.label or "no label"] += 1
        only = self.edition.chosen(element) if in_text else None
        for child in element.elements():
            inside = lost_in
            if only is not None and child not in only:
                inside = inside or f"{element.written_name}/{child.written_name}"
            self._walk(child, lost_in=inside, part=part)

    def _count(self, element: Element, *, lost_in: str) -> str:
        """Count an element of the text; returns the left-out element that it is in, or nothing."""
        kind = self.kinds.setdefault(element.name, ElementCounts(element.written_name))
        kind.n += 1
        own = sum(
            len(" ".join(child.split())) for child in element.children if isinstance(child, str)
        )
        kind.n_characters += own
        kind.example = kind.example or _example(self._data_of(element.file), element)
        for name, value in element.attributes.items():
            values = kind.attributes.setdefault(name, Counter())
            values[value if value in values or len(values) < MAX_VALUES else "other"] += 1
        meaning = self.edition.meaning(element)
        role, label, is_name = meaning.role, meaning.label, meaning.is_name
        self._match(element)
        if not lost_in and role is Role.LEAVE_OUT:
            lost_in = kind.name
        if lost_in:
            self.lost_characters[lost_in] += own
            if is_name:
                self.lost_names[lost_in, label or "no label"] += 1
            kind.meanings["left out" if lost_in == kind.name else f"in {lost_in}"] += 1
        else:
            said = f"name: {label or 'no label'}" if is_name else ""
            said = said or (role.value.replace("_", " ") if role else "text")
            if said == "text" and _is_unsaid_sign(element, self.edition):
                said = "empty"
                kind.signs[_pattern(element, kind.name)] += 1
            kind.meanings[said] += 1
            if element.name in _TYPED and not is_name and "type" not in element.attributes:
                self.untyped[kind.name] += 1
            if is_name or element.name not in {"date", "title"}:
                kind.suggested.update(suggested := [*_suggestions(element, kind.name)])
                if is_name or suggested:
                    ids = ids_of(element.attributes, self.edition)
                    schemes = (_scheme(without_prefix(id, self._own)) for id in ids)
                    self.addresses.update(filter(_ADDRESS.match, schemes))
        return lost_in

    def _data_of(self, file: str) -> bytes:
        """Return the bytes of the file that is counted (no name), or of one that it includes."""
        if file not in self._data:
            self._data[file] = self._included[file].read()
        return self._data[file]

    def _match(self, element: Element) -> None:
        """Note which patterns of labels match an element."""
        for patterns in self.edition.labels.values():
            for pattern in patterns:
                if pattern not in self.matched and pattern.matches(element):
                    self.matched.add(pattern)

    def unmatched(self) -> list[str]:
        """List the patterns without a match: those of labels, and others in the edition's file."""
        of_labels = [
            f"{label}: {pattern.text}"
            for label, patterns in self.edition.labels.items()
            for pattern in patterns
            if pattern not in self.matched
        ]
        return of_labels + [
            key
            for key, _ in self.edition.own
            if not key.startswith("labels.") and not self.counters[f"pattern/{key}"]
        ]


def _is_unsaid_sign(element: Element, edition: Edition) -> bool:
    """Tell whether an element stands for a character, but is empty and has none in the edition."""
    is_empty = element.name in SIGNS and not element.children
    return is_empty and not edition.character(element)


def _scheme(value: str) -> str:
    """Return the scheme of an id: ``https://d-nb.info/gnd/``, ``gnd:``, ``#p``.

    Names are ``text``.
    """
    if " " in value or not re.search(r"[\d:/#]", value):
        return "text"
    if match := _ADDRESS.match(value):
        if not match[0].endswith("://"):
            return match[0]
        host, *path = re.split(r"[?#]", value[match.end() :])[0].rstrip("/").split("/")
        parts = takewhile(lambda part: not part[:1].isdigit(), path[:-1])
        return "/".join([match[0] + host, *parts, ""])
    before, *after = re.split(r"\d", value, maxsplit=1)
    return (before if after else re.sub(r"[^:/#]*$", "", value))[:20] or "digits"


def _example(data: bytes, element: Element) -> str:
    """Return the beginning of an element and the text before it, white space normalized."""
    name, _ = encoding_of(data)
    before = data[max(0, element.byte - 4 * BEFORE) : element.byte].decode(name, "ignore")
    start = data[element.byte : element.byte + 4 * EXAMPLE].decode(name, "ignore")
    return re.sub(r"\s+", " ", before)[-BEFORE:] + " ".join(start.split())[:EXAMPLE]


def _pattern(element: Element, written: str) -> str:
    """Return the pattern of a sign of this name: by its ``@ref``, else by all attributes."""
    names = ["ref"] if "ref" in element.attributes else element.attributes.keys() - {"xml:id"}
    condition = (
        f"[@{name}='{value}']"
        for name, value in element.attributes.items()
        if name in names and _UNSAYABLE.isdisjoint(value)
    )
    return written + "".join(condition)


def _suggestions(element: Element, written: str) -> Iterator[tuple[str, str]]:
    """Yield the label that an element suggests, and its pattern, unless it is a part of a name."""
    name = element.name
    if label := _NAMES.get(name):
        around = (outer.name for outer in element.chain() if outer.name != name)
        if label not in map(_NAMES.get, around):
            yield label, written
    elif (
        name in _TYPED
        and (value := element.attributes.get("type"))
        and _UNSAYABLE.isdisjoint(value)
    ):
        known = (_labels_of_types().get(word) for word in value.lower().split())
        label = re.sub(r"\W+", "_", next(filter(None, known), value)).strip("_")
        yield label or "other", f"{written}[@type='{value}']"


@cache
def _labels_of_types() -> dict[str, str]:
    """Return the label that the defaults give to each value of ``@type``, in small letters."""
    return {
        value.lower(): label
        for label, patterns in load_edition(edition_path("tei")).labels.items()
        for pattern in patterns
        for predicate in pattern.last.predicates
        for value in predicate.values
    }


def take_census(files: Iterable[tuple[str, Path]], edition: Edition) -> Census:
    """Count all files, with those that they include; raises ``CorpusError``.

    If those are larger than ``MAX_INCLUDED``, each file is counted by itself.
    """
    census = Census(edition)
    described = describe_files(dict(files))
    included = find_included(described, max_bytes=MAX_INCLUDED)
    if sum(file.size for file in included.values()) > MAX_INCLUDED:
        included = {}
    for file in described:
        if file.name not in included:
            census.add(file.read(), name=file.name, included=included)
    return census
