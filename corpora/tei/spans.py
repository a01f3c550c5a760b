"""Names and deletions that are marked beside the text: by pointers to elements, or up to an anchor.

``<span from="#a" to="#b">``, ``<annotation target="#w1 #w2">`` in ``standOff`` and the like, and
elements with ``@spanTo``, which reach from where they stand to where that points.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from corpora.tei.edition import Edition, Role
from corpora.tei.xml import Element


@dataclass(frozen=True, slots=True)
class StandOff:
    """A name beside the text: the elements whose text it covers, from the first to the last."""

    element: Element
    label: str | None
    ids: tuple[str, ...]


def stand_off_names(tei: Element, edition: Edition) -> tuple[StandOff, ...]:
    """Find the names outside the text that point into it."""
    return tuple(_names(tei, [], edition, is_outside=False)) if edition.reads_stand_off else ()


def _names(
    element: Element, above: list[Element], edition: Edition, *, is_outside: bool
) -> Iterator[StandOff]:
    meaning = edition.meaning(element, above)
    is_outside = is_outside or meaning.role is Role.LEAVE_OUT
    if is_outside and meaning.is_name and (ids := _pointers(element)):
        yield StandOff(element, meaning.label, ids)
    above.append(element)
    for child in element.elements():
        is_apart = len(above) == 1 and child.name not in edition.content
        yield from _names(child, above, edition, is_outside=is_outside or is_apart)
    above.pop()


def _pointers(element: Element) -> tuple[str, ...]:
    """Read ids that an element points to: ``@from`` and ``@to``, or ``@target``."""
    attributes = element.attributes
    values = [attributes.get("from", ""), attributes.get("to", "")]
    words = " ".join(values if all(values) else [attributes.get("target", "")]).split()
    ids = tuple(word[1:] for word in words if word.startswith("#"))
    return ids if len(ids) == len(words) else ()


def places_of_ids(tei: Element) -> dict[str, tuple[str, int]]:
    """Find the file and the byte at which each element with an ``xml:id`` begins."""
    found: dict[str, tuple[str, int]] = {}
    waiting = [tei]
    while waiting:
        element = waiting.pop()
        if id := element.attributes.get("xml:id"):
            found.setdefault(id, (element.file, element.byte))
        waiting.extend(element.elements())
    return found
