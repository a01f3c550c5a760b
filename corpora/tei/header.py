"""The metadata in a TEI header: title, language, licence; of a letter, persons, places, date."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypedDict

from corpora.tei.element_text import read_text
from corpora.tei.languages import said_language
from corpora.tei.patterns import Pattern, parse_pattern
from corpora.tei.xml import Element

_RANKS = {"a": 0, "s": 2}
"""The order in which titles are taken, by ``@level``: all others are 1."""


class Columns(TypedDict):
    """The columns of a document except its text and mentions, as keyword arguments."""

    lang: str | None
    title: str | None
    url: str | None
    license: str | None
    metadata: dict[str, str]


def read_header(tei: Element, *, default_lang: str | None) -> Columns:
    """Read the header of a ``TEI`` element; values that it lacks are None."""
    header = tei.find("teiheader") or Element("teiHeader", {})
    return {
        "lang": _lang(tei, header) or default_lang,
        "title": _title(header),
        "url": _url(header),
        "license": _license(header),
        "metadata": _letter(header),
    }


def _title(header: Element) -> str | None:
    """Return the title of the text itself (``level="a"``), else of the book, or the series."""
    statement = header.find("titlestmt")
    titles = [title for title in statement.elements() if title.name == "title"] if statement else []
    titles.sort(key=lambda title: _RANKS.get(title.attributes.get("level", ""), 1))
    return next(filter(None, map(read_text, titles)), None)


def _lang(tei: Element, header: Element) -> str | None:
    """Return the language of the text, of the whole, or the one that is used most.

    A language of P4 may be named by the ``@id`` of its ``language`` alone.
    """
    for element in (tei.find("text"), tei):
        if element is not None and (lang := said_language(element)):
            return lang
    usage = header.find("langusage")
    languages = [e for e in usage.elements() if _ident(e)] if usage else []
    return _ident(max(languages, key=_ratio)) if languages else None


def _ident(language: Element) -> str:
    """Return the tag of a language in a header: ``@ident``, or ``@id`` of TEI P4."""
    attributes = language.attributes
    return attributes.get("ident") or attributes.get("xml:id") or attributes.get("id", "")


def _ratio(language: Element) -> float:
    try:
        return float(language.attributes.get("usage", "").rstrip(" %"))
    except ValueError:
        return 0.0


def _url(header: Element) -> str | None:
    publication = header.find("publicationstmt")
    numbers = [e for e in publication.elements() if e.name == "idno"] if publication else []
    urls = [number.text() for number in numbers if number.text().startswith("http")]
    return urls[0] if urls else None


def _license(header: Element) -> str | None:
    licence = header.find("licence")
    if licence is None:
        return None
    return licence.attributes.get("target") or licence.text() or None


_DATE_ELEMENTS = {"date", "origdate", "docdate"}
_DATES = {
    "not_before": "notBefore",
    "not_after": "notAfter",
    "from": "from",
    "to": "to",
}  # endings of metadata keys, and the attributes that they keep


def describe(key: str, elements: Sequence[Element]) -> dict[str, str]:
    """Describe elements: ``key`` (values joined by ``; ``), their ids, and bounds of dates.

    Ids are those of ``@ref`` or ``@key``, one for each element; empty where an element has none.
    """
    values = [_value(element) for element in elements]
    named = [(e, value) for e, value in zip(elements, values, strict=True) if value]
    described = {key: "; ".join(value for _, value in named)} if named else {}
    ids = [_id(e) for e, _ in named]
    if any(ids):
        described[f"{key}_ref"] = "; ".join(ids)
    for name, attribute in _DATES.items():
        bounds = [e.attributes[attribute] for e, _ in named if attribute in e.attributes]
        if bounds:
            described[f"{key}_{name}"] = "; ".join(bounds)
    return described


def base_of(key: str) -> str:
    """Return the key that another is about: ``sent_by`` of ``sent_by_ref``."""
    for name in ("ref", *_DATES):
        if key.endswith(f"_{name}"):
            return key.removesuffix(f"_{name}")
    return key


def _letter(header: Element) -> dict[str, str]:
    """Read who sent and received a letter, where and when (``correspDesc``)."""
    actions: dict[str, list[Element]] = {}
    description = header.find("correspdesc")
    for action in description.elements() if description else ():
        kind = action.attributes.get("type", "")
        if action.name == "correspaction" and kind in {"sent", "received"}:
            actions.setdefault(kind, []).append(action)
    facts: dict[str, str] = {}
    for kind, of_kind in actions.items():
        for name, names in _ACTION.items():
            elements = [e for action in of_kind for e in _outermost(action, names)]
            people = {(_value(e), _id(e)): e for e in elements}  # each once
            wanted = list(people.values()) if name == "by" else _first(elements)
            facts |= describe(f"{kind}_{name}", wanted)
    return facts


_ACTION = {"by": {"persname", "orgname", "name"}, "place": {"placename"}, "date": {"date"}}


def _outermost(element: Element, names: Set[str]) -> Iterator[Element]:
    """Yield the descendants with these names that are in no other such descendant."""
    for child in element.elements():
        if child.name in names:
            yield child
        else:
            yield from _outermost(child, names)


@dataclass(frozen=True, slots=True)
class Rule:
    """The place of a piece of metadata: elements, or an attribute of them."""

    pattern: Pattern
    attribute: str = ""


def parse_rule(text: str) -> Rule:
    """Compile ``correspAction[@type='sent']/persName`` or ``creation/date/@when``."""
    path, slash, attribute = text.rpartition("/@")
    return Rule(parse_pattern(path), attribute) if slash else Rule(parse_pattern(text))


def read_rules(rules: Mapping[str, Sequence[Rule]], within: Sequence[Element]) -> dict[str, str]:
    """Read the metadata in some elements; for each key the first rule with a result decides."""
    metadata: dict[str, str] = {}
    for key, rules_of_key in rules.items():
        tries = (read for rule in rules_of_key if (read := _read_rule(key, rule, within)))
        metadata |= next(tries, {})
    return metadata


def _read_rule(key: str, rule: Rule, within: Sequence[Element]) -> dict[str, str]:
    """Read all elements that a rule finds; for dates and titles only the first."""
    elements = list(filter(rule.pattern.matches, within))
    is_one = key == "title" or (elements and elements[0].name in _DATE_ELEMENTS)
    if not rule.attribute:
        return describe(key, _first(elements) if is_one else elements)
    values = [e.attributes[rule.attribute] for e in elements if rule.attribute in e.attributes]
    return {key: "; ".join(values[:1] if is_one else values)} if values else {}


def _first(elements: Iterable[Element]) -> list[Element]:
    """Return the first element that says something, alone; an empty list if none does."""
    return next(([element] for element in elements if _value(element)), [])


def _value(element: Element) -> str:
    return _date(element) or read_text(element)


def _id(element: Element) -> str:
    return element.attributes.get("ref") or element.attributes.get("key", "")


def _date(element: Element) -> str | None:
    """Return the date of an element, or the beginning of its range; None if it is no date."""
    if element.name not in _DATE_ELEMENTS:
        return None
    for attribute in ("when", "notBefore", "from", "notAfter", "to"):
        if value := element.attributes.get(attribute):
            return value
    return None
