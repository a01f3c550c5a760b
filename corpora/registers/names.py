"""Forms of names: from the marked parts of a name, or from *Surname, Forename*."""

import re
from collections.abc import Iterable, Iterator

from corpora.registers.entry import Form, FormKind
from corpora.tei.element_text import read_children, read_elements, read_text
from corpora.tei.xml import Element

_PARTS = {
    "surname": "surname",
    "forename": "forename",
    "rolename": "role",
    "addname": "added",
    "namelink": "link",
    "genname": "generation",
}
_IN_BRACKETS = re.compile(r"\s*[(\[<{][^()\[\]<>{}]*[)\]>}]")
"""Matches an addition of the editors in brackets: *Arnold, Ernst (Galerie)*."""


def name_text(element: Element) -> str:
    """Return a name as it reads; if it has only parts, as *Surname, Forename*."""
    parts = parts_of(element)
    is_loose = any(isinstance(child, str) and child.strip() for child in read_children(element))
    if is_loose or not {"surname", "forename"} <= {*parts} <= {"surname", "forename", "link"}:
        return read_text(element)
    full, inverted = join_parts(parts)
    first = next(child for child in read_children(element) if isinstance(child, Element))
    return inverted if first.name == "surname" else full


def parts_of(element: Element) -> dict[str, str]:
    """Collect the marked parts of a name; several of one kind are joined."""
    found: dict[str, list[str]] = {}
    for each in read_elements(element):
        if (part := _PARTS.get(each.name)) and (text := read_text(each)):
            found.setdefault(part, []).append(text)
    return {part: " ".join(texts) for part, texts in found.items()}


def join_parts(parts: dict[str, str]) -> tuple[str, str]:
    """Return a name in the order of speech, and inverted."""
    order = ("forename", "link", "surname", "generation")
    full = " ".join(parts[name] for name in order if name in parts)
    behind = " ".join(parts[name] for name in ("forename", "link") if name in parts)
    family = " ".join(parts[name] for name in ("surname", "generation") if name in parts)
    return full, ", ".join(text for text in (family, behind) if text)


def derive_forms(parts: dict[str, str]) -> Iterator[Form]:
    """Yield the forms that follow from the parts of a name."""
    full, inverted = join_parts(parts)
    surname, forename = parts.get("surname", ""), parts.get("forename", "")
    linked = " ".join(part for part in (parts.get("link", ""), surname) if part)
    role = parts.get("role", "")
    candidates: list[tuple[str, FormKind]] = [
        (full if surname and forename else "", "full"),
        (inverted if surname and forename else "", "inverted"),
        (f"{role} {linked}" if role and surname else "", "with_role"),
        (surname, "surname"),
        (linked if surname else "", "surname"),
        (forename, "forename"),
        (parts.get("added", ""), "added"),
    ]
    yield from (Form(text, kind) for text, kind in candidates if text)


def split_inverted(name: str) -> dict[str, str]:
    """Split *Surname, Forename (addition)* into parts; empty if it is written otherwise."""
    surname, comma, rest = _IN_BRACKETS.sub("", name).partition(",")
    forename = rest.partition(",")[0]  # *, geb. …* and *, Dr.* are no forenames
    if not comma or not surname.strip() or not forename.strip():
        return {}
    return {"surname": surname.strip(), "forename": forename.strip()}


def unique(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Keep the first of forms with the same text."""
    by_text: dict[str, Form] = {}
    for form in forms:
        by_text.setdefault(form.text, form)
    return tuple(by_text.values())
