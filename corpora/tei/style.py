"""The style of names in an edition: their element, their reference, and the model's certainty."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from corpora.document import Mention
from corpora.errors import UsageError
from corpora.tei.edition import Edition
from corpora.tei.patterns import template_of
from corpora.tei.pointers import entity_of, with_space
from corpora.tei.xml import Element

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_ESCAPES |= {character: f"&#{ord(character)};" for character in "\t\n\r"}
_ESCAPED = str.maketrans(_ESCAPES)
NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> str:
    """Escape a text for an attribute in double quotes, or for content."""
    return text.translate(_ESCAPED)


def tag(name: str, attributes: Iterable[tuple[str, str]]) -> str:
    """Write a start tag; attributes with an empty value are left out."""
    written = [f' {key}="{escape(value)}"' for key, value in attributes if value]
    return f"<{name}{''.join(written)}>"


def template(edition: Edition, label: str) -> Element:
    """Return the element that a name of this label becomes; ``UsageError`` if none is known.

    It is the one of ``[write]``, else the first pattern of ``[labels]`` that determines an element
    and is read back with the same label.
    """
    if label in edition.write:
        return edition.write[label]
    if label not in edition.labels:
        known = f"only {', '.join(edition.labels)}" if edition.labels else "nor any other"
        raise UsageError(
            f"edition {edition.name}: has no label {label!r}, {known}. "
            "Add it to [labels], or predict with a model that was trained on this edition."
        )
    for pattern in edition.labels[label]:
        element = template_of(pattern)
        if element and edition.meaning(element).label == label:
            return element
    raise UsageError(
        f"edition {edition.name}: no pattern of the label {label!r} says which element to write. "
        f"Add one that does to its list in [labels] of the edition file: \"rs[@type='{label}']\"."
    )


def certainty(score: float | None) -> str:
    """Write a probability for ``@cert``: a number of at most three decimals."""
    if score is None:
        return ""
    return f"{score:.3f}".rstrip("0").rstrip(".")


def reference(mention: Mention, edition: Edition) -> tuple[str, str] | None:
    """Return the attribute for a mention's entity, and its value; None if the edition has none.

    An attribute that the mention has already (``@ref``) is written as it is. A value is only used
    if it is read back as the same entity.
    """
    entity = mention.entity
    if entity is None or NO_XML.search(entity):
        return None
    for attribute in edition.entity:
        value = mention.attributes.get(f"@{attribute}", "")
        if not NO_XML.search(value) and entity_of({attribute: value}, edition) == entity:
            return attribute, value
    attributes = ["ref"] if _are_several(entity, edition) else edition.entity
    for write in (abbreviated, _value):
        for attribute in attributes:
            ids = entity.split(" ") if attribute == "ref" else [entity]
            values = [write(id, attribute, edition) for id in ids]
            value = " ".join(values)
            if all(values) and entity_of({attribute: value}, edition) == entity:
                return attribute, value
    return None


REMARK = "remark"
"""The attribute of a mention with what a person remarks on it."""
_POINTER = re.compile(r"[^\s#:]*[#:][^\s#:]\S*")


class Remark(NamedTuple):
    """A remark as it is written: an attribute of the name, or a note after it."""

    attribute: tuple[str, str] | None
    note: Element | None
    text: str


def remark_on(mention: Mention, edition: Edition) -> Remark | None:
    """Return how the remark on a name is written; None if there is none, or no way to write it.

    ``@ana`` holds pointers alone.
    """
    text, way = mention.attributes.get(REMARK, ""), edition.remarks
    if not text or way is None or NO_XML.search(text):
        return None
    if isinstance(way, Element):
        return Remark(None, way, text)
    is_pointer = all(map(_POINTER.fullmatch, text.split()))
    return Remark((way, text), None, text) if way != "ana" or is_pointer else None


def _are_several(entity: str, edition: Edition) -> bool:
    """Tell whether an entity is a group of ids, which only a ``ref`` holds."""
    spaces, ids = {edition.name, *edition.spaces.values()}, entity.split(" ")
    known = all(id.partition(":")[0] in spaces for id in ids)
    return len(ids) > 1 and known and "ref" in edition.entity


def abbreviated(entity: str, attribute: str, edition: Edition) -> str:
    """Return the value of one id with a prefix that references of the edition have, or nothing."""
    if attribute != "ref" and "ref" in edition.entity:
        return ""
    for shape, _ in edition.prefixes.shapes.most_common():
        id = entity.removeprefix(with_space(shape.before, edition)).removesuffix(shape.after)
        if with_space(value := f"{shape.prefix}:{id}", edition) == entity:
            return value
    return ""


def _value(entity: str, attribute: str, edition: Edition) -> str:
    """Return the value of one id for an attribute, or nothing: only a ``ref`` is a URI."""
    space, _, rest = entity.partition(":")
    if space == edition.name:
        is_pointer = attribute == "ref" and not re.search(r"[:/#]", rest)
        return f"#{rest}" if is_pointer else rest
    if attribute != "ref" and "ref" in edition.entity:
        return ""
    beginnings = (start for start, known in edition.spaces.items() if known == space)
    beginning = next(beginnings, None)
    return f"{beginning}{rest}" if beginning else ""


def typed_entity(text: str, edition: Edition) -> str:
    """Parse an entity as a person types it: ``gnd:118540238``, or as files have it, ``#p1``."""
    if text.partition(":")[0] in {edition.name, *edition.spaces.values()}:
        return text
    is_pointer = "ref" in edition.entity and (
        text.startswith("#") or "://" in text or edition.prefixes.defines(text)
    )
    attribute = "ref" if is_pointer else edition.entity[0]
    return entity_of({attribute: text}, edition) or text


def check_labels(mentions: Iterable[Mention], edition: Edition) -> None:
    """Raise ``UsageError`` for a label that has no element in the edition."""
    for label in sorted({mention.label for mention in mentions if mention.label}):
        template(edition, label)
