"""Count what the markup of TEI files holds, before the first run, and draft an edition file.

    python -m pipelines.tei_to_ner --inspect 'letters/*.xml' --output census

Prints elements and attributes, what the chosen edition makes of each, names inside what is left
out, languages, words before sentence ends, and schemes of ids. ``--output`` also gets these counts
as ``census.html``, and a draft ``edition.toml`` to start from.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from itertools import takewhile
from pathlib import Path

from corpora.document import Document
from corpora.errors import UsageError
from corpora.reports import html_page, html_table
from corpora.runs.plan import InputFile, describe_files, find_inputs
from corpora.segmentation.abbreviations import MAX_CHARACTERS, Abbreviation
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.sentences import table_name
from corpora.system.arguments import execute, option, parse
from corpora.tei.abbreviations import last_words, learn_abbreviations
from corpora.tei.card import languages_of, warnings_of
from corpora.tei.edition import (
    APART,
    CHARACTERS,
    SIGNS,
    SUFFIXES,
    Edition,
    Role,
    edition_path,
    load_edition,
)
from corpora.tei.include import find_included, with_included
from corpora.tei.languages import said_language
from corpora.tei.patterns import Pattern
from corpora.tei.pointers import ids_of, without_prefix
from corpora.tei.prefixes import NO_MATCH, RESOLVED, union
from corpora.tei.reader import read_tree
from corpora.tei.starts import ROOTS
from corpora.tei.xml import Element, XmlError, encoding_of, parse_xml

_MAX_INCLUDED = 50_000_000  # bytes that a file may include, and of a file that may include others
N_SHOWN = 10
N_VALUES = 5
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
_NOT_READ, _CHARACTERS = "not read: ", " (characters)"  # around a part's name in a counter's
_TYPED = ("rs", "name")
_NO_LANGUAGE = (
    '# lang = "de"  # no file says it: set yours, and inspect again with --edition and this file: '
    "then abbreviations are those that the table of the language lacks"
)
_UNSAYABLE = frozenset("']")
"""Characters that a value in a pattern cannot have."""
_NO_WORD = re.compile(r"\W")
_ADDRESS = re.compile(r"[A-Za-z][\w.+-]*:(//)?")
"""The beginning of an id with a protocol or a prefix: ``https://``, ``gnd:``."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of ``--inspect``."""

    inspect: tuple[str, ...] = option(
        metavar="PATTERN", help="TEI files, folders of them, or glob patterns in quotes, to count"
    )
    exclude: tuple[str, ...] = option(
        (),
        metavar="PATTERN",
        help="glob patterns of files to leave out; names are relative to the folder that all files "
        "share",
    )
    edition: str = option(
        "tei",
        metavar="NAME|FILE",
        help="edition to apply: a built-in name or a TOML file (default: tei)",
    )
    output: Path | None = option(
        None,
        metavar="DIR",
        help="folder to write census.html and a draft edition.toml into (default: only print the "
        "counts)",
    )


@dataclass
class Kind:
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
    kinds: dict[str, Kind] = field(default_factory=dict)
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
                self.counters += with_included(root, included, name=name, room=_MAX_INCLUDED)
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
        kind = self.kinds.setdefault(element.name, Kind(element.written_name))
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
            lost_in = element.written_name
        if lost_in:
            self.lost_characters[lost_in] += own
            if is_name:
                self.lost_names[lost_in, label or "no label"] += 1
            kind.meanings["left out" if lost_in == element.written_name else f"in {lost_in}"] += 1
        else:
            said = f"name: {label or 'no label'}" if is_name else ""
            said = said or (role.value.replace("_", " ") if role else "text")
            if said == "text" and _is_unsaid_sign(element, self.edition):
                said = "empty"
                kind.signs[_pattern(element)] += 1
            kind.meanings[said] += 1
            if element.name in _TYPED and not is_name and "type" not in element.attributes:
                self.untyped[kind.name] += 1
            if is_name or element.name not in {"date", "title"}:
                kind.suggested.update(suggested := [*_suggestions(element)])
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
    if found := _ADDRESS.match(value):
        if not found[0].endswith("://"):
            return found[0]
        host, *path = re.split(r"[?#]", value[found.end() :])[0].rstrip("/").split("/")
        kept = takewhile(lambda part: not part[:1].isdigit(), path[:-1])
        return "/".join([found[0] + host, *kept, ""])
    before, *after = re.split(r"\d", value, maxsplit=1)
    return (before if after else re.sub(r"[^:/#]*$", "", value))[:20] or "digits"


def _example(data: bytes, element: Element) -> str:
    """Return the beginning of an element and the text before it, white space normalized."""
    name, _ = encoding_of(data)
    before = data[max(0, element.byte - 4 * BEFORE) : element.byte].decode(name, "ignore")
    start = data[element.byte : element.byte + 4 * EXAMPLE].decode(name, "ignore")
    return re.sub(r"\s+", " ", before)[-BEFORE:] + " ".join(start.split())[:EXAMPLE]


# --- what is shown


def _prefix_rows(counters: Counter[str]) -> Iterator[Sequence[object]]:
    """Yield each prefix, and how many references it resolved and did not match."""
    kinds = (RESOLVED, NO_MATCH)
    found = (n.removeprefix(kind) for kind in kinds for n in counters if n.startswith(kind))
    for prefix in dict.fromkeys(found):
        yield prefix, counters[RESOLVED + prefix], counters[NO_MATCH + prefix]


def _tables(census: Census) -> Iterator[tuple[str, Sequence[str], list[Sequence[object]]]]:
    """Yield the title, head and rows of each table."""
    by_number = _by_number(census)
    yield (
        "Elements of the text",
        ("element", "number", "the edition makes of it", "example"),
        [(kind.name, kind.n, _most(kind.meanings), kind.example) for kind in by_number],
    )
    yield (
        "Attributes",
        ("attribute", "number", "values", "the most frequent"),
        [
            (f"{kind.name}/@{attribute}", values.total(), len(values), _values(values))
            for kind in by_number
            for attribute, values in kind.attributes.items()
        ],
    )
    lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (name, label), n in census.lost_names.items():
        lost[name][label] = n
    yield (
        "Left out",
        ("element", "characters", "names", "of these"),
        [
            (name, n, lost[name].total(), _most(lost[name]))
            for name, n in census.lost_characters.most_common()
        ],
    )
    yield (
        "Parts of files that are not read (content says which are)",
        ("element", "characters", "names", "of these"),
        [*_outside_rows(census)],
    )
    yield (
        "Words that touch at the edge of an element ([breaks] says where one ends)",
        ("element", "number", "example"),
        [
            (name, n, census.touching.examples[name])
            for name, n in census.touching.found.most_common(N_SHOWN)
        ],
    )
    yield (
        "Languages",
        ("language", "characters", "passages", "table of abbreviations"),
        [
            (lang or "not said", n, census.passages[lang], table_name(lang) or "NONE")
            for lang, n in Counter(
                dict.fromkeys(census.passages, 0) | census.languages
            ).most_common()
        ],
    )
    yield (
        "Words before most sentence ends (an abbreviation here is a wrong cut)",
        ("word", "number"),
        [*census.last_words.most_common(N_SHOWN)],
    )
    yield (
        "Abbreviations that no table has (learned)",
        ("word", "number", "ends of sentences"),
        [
            (each.written[0], each.n, sum(census.last_words[form] for form in each.written))
            for each in census.abbreviations[: 2 * N_SHOWN]
        ],
    )
    yield (
        "Ids",
        ("attribute", "number", "begin with"),
        [
            (attribute, n, scheme)
            for (attribute, scheme), n in census.schemes.most_common(2 * N_SHOWN)
        ],
    )
    yield (
        "Prefixes of references (prefixDef)",
        ("prefix", "resolved", "matched by none"),
        [*_prefix_rows(census.counters)],
    )
    yield "Registers", ("element", "entries"), [*census.registers.most_common()]


def _outside_rows(census: Census) -> Iterator[Sequence[object]]:
    """Yield each child of ``TEI`` that is not read: its characters (of a header, none), its names.

    Those without names and text are left out.
    """
    n_characters = {
        name[len(_NOT_READ) : -len(_CHARACTERS)]: n
        for name, n in census.counters.items()
        if name.startswith(_NOT_READ) and name.endswith(_CHARACTERS)
    }
    for part in dict.fromkeys([*census.outside, *n_characters]):
        names = census.outside.get(part, Counter())
        yield part, n_characters.get(part, ""), names.total(), _most(names)


def _by_number(census: Census) -> list[Kind]:
    return sorted(census.kinds.values(), key=lambda kind: -kind.n)


def _most(counts: Counter[str]) -> str:
    shown = [f"{value} {n:,}" for value, n in counts.most_common(N_VALUES)]
    return ", ".join(shown + ["…"] * (len(counts) > N_VALUES))


def _values(counts: Counter[str]) -> str:
    """Write the most frequent values; if all differ, as ids do, only one of them."""
    once = [value for value, n in counts.items() if n == 1]
    is_each_once = len(counts) > 1 and len(once) == len(counts) - ("other" in counts)
    return f"each once, as {once[0]}" if is_each_once else _most(counts)


def to_words(census: Census) -> Iterator[str]:
    """Yield the lines to print in a terminal."""
    yield f"{census.n_files:,} files, {census.n_characters:,} characters of text"
    yield from (f"NOT READ {message}" for message in census.unread)
    if not census.n_files - len(census.unread):
        return
    for title, head, rows in _tables(census):
        if rows:
            yield f"\n{title}"
            yield from _aligned([head, *rows])
    if unmatched := census.unmatched():
        yield "\nPatterns that match nothing"
        yield from (f"  {pattern}" for pattern in unmatched)
    for warning in warnings_of(census.counters, []):
        yield f"\nWARNING {warning}"


def _aligned(rows: Sequence[Sequence[object]]) -> Iterator[str]:
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (
            cell.rjust(width) if cell.replace(",", "").isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        )
        yield "  " + "  ".join(padded).rstrip()


def to_html(census: Census) -> str:
    """Write the HTML page."""
    problems = [*census.unread, *(f"{text}: matches nothing" for text in census.unmatched())]
    problems += warnings_of(census.counters, [])
    body = f"<p>{census.n_files:,} files, {census.n_characters:,} characters of text.</p>\n"
    body += "".join(f"<p>{escape(text)}</p>\n" for text in problems)
    for title, head, rows in _tables(census):
        if rows:
            body += f"<h2>{escape(title)}</h2>\n{html_table(head, rows, n_texts=len(head))}"
    return html_page("What the markup holds", body)


def draft_edition(census: Census, *, name: str) -> str:
    """Draft an edition file: labels that the markup suggests, and spaces of ids."""
    labels: dict[str, list[str]] = {}
    for kind in _by_number(census):
        for (label, pattern), n in kind.suggested.most_common():
            labels.setdefault(label, []).append(f"  {_quoted(pattern)},  # {n:,}")
    lang = next((lang for lang, _ in census.languages.most_common(1) if lang), None)
    lines = [
        "# A first draft: look at each line, and take out what is wrong (docs/editions.md).",
        f"name = {_quoted(name)}  # the group of the documents, and the space of their entities",
        f"lang = {_quoted(lang)}" if lang else _NO_LANGUAGE,
        *_drafted_unlabelled(census),
        "", "[labels]",
        *(line for key, items in labels.items() for line in (f"{_key(key)} = [", *items, "]")),
        "", "[text]", 'leave_out = ["..."]',
        *(["# also left out now, with names in it:"] if census.lost_names else []),
        *(f"# {of}: {label} {n:,}" for (of, label), n in census.lost_names.most_common()),
        *_drafted_choice(census), *_drafted_signs(census), *_drafted_breaks(census),
        "", "[sentences]", "abbreviations = [",
        *(f"  {_quoted(word)},  # {n:,}" for word, n in _by_word(census).most_common()),
        "]", "", "[entities.spaces]",
        *_drafted_spaces(census),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _by_word(census: Census) -> Counter[str]:
    """Count the abbreviations, of all languages together."""
    counts = Counter[str]()
    for each in census.abbreviations:
        counts[each.written[0]] += each.n
    return counts


def _drafted_unlabelled(census: Census) -> Iterator[str]:
    """Draft the line for names of which no ``@type`` says what they are."""
    if found := census.untyped.most_common():
        names = ", ".join(_quoted(name) for name, _ in found)
        counts = ", ".join(f"{name} {n:,}" for name, n in found)
        yield f"# unlabelled = [{names}]  # not read now, without @type: {counts}"


def _drafted_choice(census: Census) -> Iterator[str]:
    """Draft the section ``choose``: what is left out now, and how to read the text as written."""
    lost = {of: n for of, n in census.lost_characters.items() if of.startswith("choice/")}
    if lost:
        yield from ("", "[choose]")
        yield from (f"# not read now: {of}, {n:,} characters" for of, n in lost.items())
        yield '# choice = ["abbr", "orig", "sic", "*"]  # the text as written'


def _drafted_signs(census: Census) -> Iterator[str]:
    """Draft the section ``characters``: the empty elements that need a character."""
    found = Counter[str]()
    for name in sorted(CHARACTERS & census.kinds.keys()):
        found += census.kinds[name].signs
    if found:
        yield from ("", "[characters]  # empty elements, which are not read unless you say as what")
        for pattern, n in found.most_common():
            yield f'# {_quoted(pattern)} = "?"  # {n:,}'


def _drafted_breaks(census: Census) -> Iterator[str]:
    """Draft the section ``breaks``, if elements keep their white space."""
    if n := census.n_keep_space:
        yield from ("", "[breaks]")
        yield f'# xml_space = "ignore"  # xml:space="preserve", {n:,} times: line ends are kept'


def _pattern(element: Element) -> str:
    """Return the pattern that matches an element with these attributes."""
    said = (
        f"[@{name}='{value}']"
        for name, value in element.attributes.items()
        if name != "xml:id" and _UNSAYABLE.isdisjoint(value)
    )
    return element.written_name + "".join(said)


def _suggestions(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the label that an element suggests, and its pattern, unless it is a part of a name."""
    written, name = element.written_name, element.name
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


def _drafted_spaces(census: Census) -> Iterator[str]:
    """Draft the lines of spaces: the addresses that the defaults do not have, each with a name."""
    known = tuple(load_edition(edition_path("tei")).spaces)
    taken: dict[str, str] = {}
    for address, n in census.addresses.most_common(2 * N_SHOWN):
        if not address.startswith(known):
            space = census.edition.spaces.get(address) or _space(address, taken)
            yield f"{_quoted(address)} = {_quoted(space)}  # {n:,}"


def _space(address: str, taken: dict[str, str]) -> str:
    """Name the space of an address by its last word that no other address has, and note it.

    ``http`` and ``https`` are the same address, with and without ``www``.
    """
    bare = re.sub(r"^https?://(www\.)?", "", address)
    host, *path = bare.rstrip("/").split("/")
    words = [*host.split(".")[:-1], *path] if "://" in address else [host]
    names = (re.sub(r"\W+", "-", word).strip("-") for word in reversed(words))
    usable = (n for n in names if re.search(r"[^\W\d_]", n) and taken.get(n, bare) == bare)
    name = next(usable, "") or re.sub(r"\W+", "-", bare).strip("-")
    taken[name] = bare
    return name


def _quoted(text: str) -> str:
    """Write a string of TOML: that of JSON, in which only U+007F is not escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(text: str) -> str:
    """Write a key of TOML, with quotes if it has other characters than ASCII."""
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _quoted(text)


# --- the command


def take_census(files: Iterable[tuple[str, Path]], edition: Edition) -> Census:
    """Count all files, with those that they include; raises ``CorpusError``."""
    census = Census(edition)
    found = describe_files(dict(files))
    included = find_included(found, max_bytes=_MAX_INCLUDED)
    for file in found:
        if file.name not in included:
            census.add(file.read(), name=file.name, included=included)
    return census


def main(argv: Sequence[str] | None = None) -> int:
    """Inspect an edition; returns the exit status."""
    options = parse(Options, argv, name="pipelines.tei_to_ner", about=__doc__)
    return execute(lambda: _run(options), path=Path(options.inspect[0]))


def _run(options: Options) -> Iterator[str]:
    found = find_inputs(options.inspect, suffix=SUFFIXES, exclude=options.exclude, option="inspect")
    census = take_census(found.items(), load_edition(edition_path(options.edition)))
    yield from to_words(census)
    if not census.kinds:
        content = ", ".join(census.edition.content)
        raise UsageError(
            f"{options.inspect[0]}: no TEI file has the parts that the edition reads ({content}). "
            "content of an edition file names others (docs/editions.md)."
        )
    if options.output is None:
        yield "\nnext  --output DIR writes this as a page, and an edition file to start from"
        return
    options.output.mkdir(parents=True, exist_ok=True)
    first = Path(options.inspect[0]).resolve()
    name = re.sub(r"\W+", "-", (first if first.is_dir() else first.parent).name).strip("-")
    made = {
        "census.html": to_html(census),
        "edition.toml": draft_edition(census, name=name or "edition"),
    }
    for file, text in made.items():
        if (path := options.output / file).exists():
            raise UsageError(f"{path}: is there already. Move it away, or choose another --output.")
        path.write_text(text, "utf-8")
    yield f"\nmade  {options.output}/census.html; {options.output}/edition.toml, to start from"
