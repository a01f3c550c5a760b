"""Dates of registers: as given, and as years."""

import re
from collections.abc import Iterable

from corpora.registers.entry import Date
from corpora.tei.xml import Element

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
    found = _YEAR.match(value)
    return int(found[1]) if found else None


def _of_text(text: str) -> Date | None:
    years = [int(year) for year in _IN_TEXT.findall(_WITH_ERA.sub(" ", text))]
    for found in _WITH_ERA.finditer(text):
        sign = -1 if found["before"] else 1
        years += [sign * int(year) for year in found.group("first", "last") if year]
    return Date(" ".join(text.split()), min(years), max(years)) if years else None
