"""Names and deletions marked beside the text, as read: by pointers to elements, or up to an anchor.

These are ``<span from="#a" to="#b">``, ``<annotation target="#w1 #w2">`` in ``standOff`` and the
like, and elements with ``@spanTo``, which extend from where they stand to its target.
"""

from dataclasses import dataclass

from corpora.tei.edition import Edition, Role
from corpora.tei.xml import Element


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

    def is_apart(one: Element) -> bool:
        is_beside = one.parent is tei and one.name not in edition.content
        return is_beside or edition.meaning(one).role is Role.LEAVE_OUT

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


def places_of_ids(tei: Element) -> dict[str, tuple[str, int]]:
    """Map each ``xml:id`` to the file and the byte at which its element begins."""
    return {id: (e.file, e.byte) for e in tei.walk() if (id := e.attributes.get("xml:id"))}
