"""Registers in TEI to entries: ``listPerson``, ``listPlace``, ``listOrg``, ``listBibl`` and lists.

Registers stand in files of their own or in the letters (``back``, ``standOff``). ``read_register``
is pure: bytes in, entries out. XML is read under the bounds of ``corpora.tei.xml``.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from corpora.registers.entry import AuthorityId, Date, Entry, Form, FormKind, Kind
from corpora.registers.identifiers import read_id
from corpora.registers.names import derive_forms, name_text, parts_of, split_inverted, unique
from corpora.tei.element_text import read_text
from corpora.tei.prefixes import Prefixes, read_prefixes
from corpora.tei.xml import Element, parse_xml

_YEAR = re.compile(r"^(-?\d{4,5})(?:-|$|T)")
_IN_TEXT = re.compile(r"(?<!\d)(\d{4})(?!\d)")
_WITH_ERA = re.compile(
    r"(?:(?<!\d)(?P<first>\d{1,4})\s*(?:[-–—/]|bis|to)\s*)?(?<!\d)(?P<last>\d{1,4})\s*"
    r"(?:(?P<before>v\.\s*(?:Chr|u\.)|vor\s+(?:Chr|unserer)|BCE?\b|B\.C\.|av\.\s*J|a\.\s?C\.)"
    r"|n\.\s*(?:Chr|u\.)|nach\s+(?:Chr|unserer)|AD\b|CE\b|A\.D\.|ap\.\s*J|d\.\s?C\.)"
)
"""Matches a year, or two years, with the era: *44 v. Chr.*, *460–370 BC*, *14 n. Chr.*"""
_EXACT = ("when-iso", "when", "when-custom")
_FIRST = {
    "notBefore-iso": "not before",
    "notBefore": "not before",
    "from-iso": "from",
    "from": "from",
}
_LAST = {"notAfter-iso": "not after", "notAfter": "not after", "to-iso": "to", "to": "to"}
"""The attributes of one bound, the best first, and how a date is given that has only this one."""


def date_of(element: Element) -> Date | None:
    """Read the date of ``birth`` and the like: from its attributes, a ``date`` in it, or its text.

    *1862-05-15*, *notBefore* and *notAfter*, *1913/14*, *um 460 v. Chr.*; None if it contains no
    year.
    """
    for each in (element, *(child for child in element.elements() if child.name == "date")):
        if found := span_of(each.attributes):
            return found
        if each.name == "date" and (found := _of_text(each.text())):
            return found
    return _of_text("".join(c for c in element.children if isinstance(c, str)))


def span_of(attributes: dict[str, str]) -> Date | None:
    """Read the dates in the attributes of an element itself (``place/@from``)."""
    (_, exact), (begin, first), (end, last) = (
        _value(attributes, names) for names in (_EXACT, _FIRST, _LAST)
    )
    if _year(exact) is not None:
        return Date(exact, _year(exact), _year(exact))
    if _year(first) is None and _year(last) is None:
        return None
    given = f"{first}/{last}"
    if not (first and last):
        given = f"{_FIRST[begin]} {first}" if first else f"{_LAST[end]} {last}"
    return Date(given, _year(first), _year(last))


def _value(attributes: dict[str, str], names: Iterable[str]) -> tuple[str, str]:
    """Return the first of the attributes that is there, and its value; empty if there is none."""
    return next(
        ((name, attributes[name].strip()) for name in names if name in attributes), ("", "")
    )


def _year(value: str) -> int | None:
    match = _YEAR.match(value)
    return int(match[1]) if match else None


def _of_text(text: str) -> Date | None:
    years = [int(year) for year in _IN_TEXT.findall(_WITH_ERA.sub(" ", text))]
    for match in _WITH_ERA.finditer(text):
        sign = -1 if match["before"] else 1
        years += [sign * int(year) for year in match.group("first", "last") if year]
    return Date(" ".join(text.split()), min(years), max(years)) if years else None


_KINDS: dict[str, Kind] = {
    "person": "person",
    "persongrp": "person",
    "personagrp": "person",
    "place": "place",
    "org": "organization",
    "bibl": "work",
    "biblstruct": "work",
    "biblfull": "work",
    "msdesc": "work",
    "event": "event",
    "object": "other",
    "nym": "other",
}
"""The kind of each element that is an entry."""
_NAMES: dict[str, Kind] = {
    "persname": "person",
    "placename": "place",
    "geogname": "place",
    "settlement": "place",
    "region": "place",
    "country": "place",
    "orgname": "organization",
    "title": "work",
    "eventname": "event",
    "label": "event",
    "objectname": "other",
    "form": "other",
    "name": "other",
}
"""The kind of each element that names an entry, and of an ``item`` that contains it."""
_WORDS = {
    "person": "person", "persons": "person", "people": "person", "personen": "person",
    "place": "place", "places": "place", "orte": "place", "ort": "place",
    "org": "organization", "orgs": "organization", "organisations": "organization",
    "organizations": "organization", "institutionen": "organization",
    "work": "work", "works": "work", "werke": "work", "werk": "work", "book": "work",
    "event": "event", "events": "event",
}  # fmt: skip
"""The kind that a value of ``type``, ``n`` or ``ana`` tells of a list or an item."""
_CANONICAL = {"pref", "preferred", "reg", "regular", "main", "canonical", "authority", "norm"}
_AREAS = {"settlement", "region", "country"}
_TITLE_PARTS = {"analytic", "monogr", "series", "msidentifier", "head"}
_DESCRIBED_BY = {"note", "desc", "occupation", "p", "notegrp"}
_MAKERS = {"author", "editor"}
_REFERENCES = ("source", "ref", "key", "sameas", "corresp")
_LISTS = {
    f"list{name}" for name in ("", "person", "place", "org", "bibl", "event", "object", "nym")
}


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """The entries of a file, and the counters of its reading."""

    entries: tuple[Entry, ...]
    counters: Counter[str]


def read_register(data: bytes, *, name: str) -> RegisterFile:
    """Read the entries of a file; raises ``XmlError`` if it is malformed.

    ``name`` is the relative file name: the source of the entries. An element of a list without an
    id or a name is counted and left out. In a file for one person or place, the id may be the
    file's own (``TEI/@xml:id``).
    """
    return read_entries(parse_xml(data, name=name), data, name=name)


def read_entries(root: Element, data: bytes, *, name: str) -> RegisterFile:
    """Read the entries of a parsed file."""
    prefixes = read_prefixes(root)
    reader = _Reader(name, [match.end() for match in re.finditer(b"\n", data)], prefixes)
    reader.look_into(root, _Place())
    reader.name_after(root)
    return RegisterFile(tuple(reader.entries), reader.counters)


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of an element in a register."""

    in_list: bool = False
    kind: Kind | None = None
    """The kind that the lists around it tell; None if they tell none."""
    entry: str | None = None
    """The id of the entry around it; None if there is none."""


@dataclass(slots=True)
class _Reader:
    """A reader of one file; used once."""

    source: str
    line_starts: list[int]
    prefixes: Prefixes
    """The prefixes that the file declares for pointers."""
    entries: list[Entry] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    without_id: list[tuple[Element, Kind, _Place]] = field(default_factory=list)
    """The elements that have a name, but no id."""

    def name_after(self, root: Element) -> None:
        """Give the only person, place or the like of a file that has a name the file's own id."""
        found = [each for each in self.without_id if each[1] != "work"]
        if (id := _own_id(root)) and len(found) == 1 and not self.entries:
            [(element, kind, place)] = found
            forms = _forms(element, kind)
            self.entries.append(self._entry(element, id, kind=kind, forms=forms, place=place))
            self.counters -= Counter({f"without an id: {element.written_name}": 1})

    def look_into(self, element: Element, place: _Place) -> None:
        """Find the entries among the descendants of an element."""
        for child in element.elements():
            if child.name in _LISTS:
                kind = _said_kind(child) or place.kind
                self.look_into(child, _Place(in_list=True, kind=kind, entry=place.entry))
            elif place.in_list and (child.name in _KINDS or child.name == "item"):
                self._candidate(child, place)
            else:
                self.look_into(child, place)

    def _candidate(self, element: Element, place: _Place) -> None:
        id = _own_id(element)
        kind = _KINDS.get(element.name) or _kind_of_item(element, place)
        # a list in running text, or a part of an entry
        if kind is None or (not id and place.entry):
            self.look_into(element, place)
            return
        forms = _forms(element, kind)
        if not id or not forms:
            if element.name != "item":  # not each item is an entry
                missing = "a name" if id else "an id"
                self.counters[f"without {missing}: {element.written_name}"] += 1
                if forms:
                    self.without_id.append((element, kind, place))
            self.look_into(element, place)
            return
        self.entries.append(self._entry(element, id, kind=kind, forms=forms, place=place))
        for child in element.elements():
            inner = _Place(in_list=True, kind=kind, entry=id)
            if child.name == "relateditem" or child.name in _LISTS:
                self.look_into(child, inner)
            elif _KINDS.get(child.name) == kind:
                self._candidate(child, inner)

    def _entry(
        self, element: Element, id: str, *, kind: Kind, forms: tuple[Form, ...], place: _Place
    ) -> Entry:
        birth, death, active = _dates(element)
        return Entry(
            id=id,
            kind=kind,
            name=forms[0].text,
            forms=forms,
            birth=birth,
            death=death,
            active=active,
            ids=_ids(element, id, self.prefixes),
            description=_description(element),
            parent=place.entry or _located_in(element, self.prefixes),
            related=_related(element, self.prefixes),
            source=self.source,
            line=bisect_right(self.line_starts, element.byte) + 1,
        )


def _own_id(element: Element) -> str:
    for name in ("xml:id", "id"):
        if id := element.attributes.get(name, "").strip():
            return id
    return ""


def _said_kind(element: Element) -> Kind | None:
    """Return the kind that a list or an item declares for its content."""
    by_name = element.name.removeprefix("list")
    if by_name in _KINDS:
        return _KINDS[by_name]
    for attribute in ("type", "n", "ana"):
        word = element.attributes.get(attribute, "").lower().lstrip("#")
        if word in _WORDS:
            return _WORDS[word]  # type: ignore[return-value]
    return None


def _kind_of_item(element: Element, place: _Place) -> Kind | None:
    """Return the kind of an ``item`` in a plain list; None if it names nothing."""
    named = [_NAMES[each.name] for each in element.elements() if each.name in _NAMES]
    if not named:
        return None
    return _said_kind(element) or (named[0] if named[0] != "other" else place.kind) or "other"


def naming_elements(element: Element, kind: Kind) -> Iterator[Element]:
    """Yield the elements that name an entry; names of works and objects may be a level deeper.

    A ``country`` beside a ``placeName`` tells where the place is, so it is no name.
    """
    children = element.elements()
    has_name = any(child.name in {"placename", "geogname", "name"} for child in children)
    for child in children:
        if has_name and child.name in _AREAS:
            continue
        if _NAMES.get(child.name) in {kind, "other"}:
            yield child
        elif child.name == "objectidentifier" or (kind == "work" and child.name in _TITLE_PARTS):
            yield from naming_elements(child, kind)


def _forms(element: Element, kind: Kind) -> tuple[Form, ...]:
    """Read the names of an entry, the canonical one first, then the forms of their parts."""
    names = [each for each in naming_elements(element, kind) if _is_name(each)]
    if not names:
        return ()
    # stable: without a canonical name, the first one stays first
    names.sort(key=lambda each: not _is_canonical(each))
    written, derived = [], list[Form]()
    for number, each in enumerate(names):
        form_kind: FormKind = "variant" if number else "canonical"
        text = name_text(each) if kind == "person" else read_text(each)
        written.append(Form(text, form_kind, each.attributes.get("type")))
        if kind == "person":
            derived += derive_forms(parts_of(each) or split_inverted(text))
    return unique([*written, *derived])


def _is_name(element: Element) -> bool:
    text = read_text(element)
    return bool(text) and not re.match(r"https?://", text)


def _is_canonical(element: Element) -> bool:
    words = {element.attributes.get(name, "").lower() for name in ("type", "subtype", "role")}
    return not _CANONICAL.isdisjoint(words)


def _dates(element: Element) -> tuple[Date | None, Date | None, Date | None]:
    found: dict[str, Date] = {}
    for child in element.elements():
        name = "active" if child.name in {"floruit", "date"} else child.name
        if name in {"birth", "death", "active"} and name not in found and (date := date_of(child)):
            found[name] = date
    active = found.get("active") or span_of(element.attributes)
    if active is None and (imprint := element.find("imprint")) is not None:
        active = date_of(imprint)
    return found.get("birth"), found.get("death"), active


def _ids(element: Element, own: str, prefixes: Prefixes) -> tuple[AuthorityId, ...]:
    """Collect the ids elsewhere: ``idno``, references of the entry and its names, links."""
    found: list[AuthorityId | None] = []

    def pointed(value: str) -> Iterator[AuthorityId | None]:
        return (read_id(prefixes.resolve(one) or one) for one in value.split())

    for child in (element, *element.elements()):
        attributes = {name.lower(): value for name, value in child.attributes.items()}
        types = (attributes.get("type", ""), attributes.get("subtype", ""))
        if child.name == "idno":
            found.append(read_id(child.text(), types=types))
        elif child.name in {"ptr", "ref"}:
            found += map(_known, pointed(attributes.get("target", "")))
        elif child is element or child.name in _NAMES:
            for name in _REFERENCES:
                found += pointed(attributes.get(name, ""))
            if child is not element and not _is_name(child):
                found.append(read_id(child.text()))
    return tuple(dict.fromkeys(id for id in found if id and id.id != own))


def _known(id: AuthorityId | None) -> AuthorityId | None:
    return None if id is None or id.scheme == "url" else id


def _description(element: Element) -> str | None:
    """Join the author of a work, occupations and notes."""
    texts: list[str] = []
    for child in element.elements():
        is_said = child.name in _DESCRIBED_BY or child.name in _MAKERS
        if is_said and not re.match(r"https?://", text := child.text()):
            texts.append(text)
    return "; ".join(dict.fromkeys(text for text in texts if text)) or None


def _located_in(element: Element, prefixes: Prefixes) -> str | None:
    """Return the id of the place in which a place is, if it is given."""
    for child in element.elements():
        if child.name == "location":
            for name in child.elements():
                if name.name in _NAMES and (ref := name.attributes.get("ref", "").strip()):
                    return (prefixes.resolve(ref) or ref).removeprefix("#")
    return None


def _related(element: Element, prefixes: Prefixes) -> tuple[str, ...]:
    """Collect the entries that an entry points to: related items, relations, authors."""
    found: list[str] = []
    for child in element.elements():
        if child.name == "relateditem":
            found += child.attributes.get("target", "").split()
            found += [f"#{_own_id(each)}" for each in child.elements() if _own_id(each)]
        elif child.name in {"listrelation", "relation"}:
            for each in (child, *child.elements()):
                for name in ("active", "passive", "mutual"):
                    found += each.attributes.get(name, "").split()
        elif child.name in _MAKERS:
            found += child.attributes.get("ref", "").split()
    own = _own_id(element)
    found = [prefixes.resolve(ref) or ref for ref in found]
    ids = (ref.removeprefix("#") for ref in found if not re.match(r"https?://", ref))
    return tuple(dict.fromkeys(id for id in ids if id and id != own))
