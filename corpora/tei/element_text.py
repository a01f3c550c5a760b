"""The text of a name or a title in a header or a register, where no edition file applies.

Notes, deletions and ruby are not in it, of a ``choice`` or an ``app`` one reading is, and a line
break divides words.
"""

from collections.abc import Iterator

from corpora.segmentation.scripts import SOLID_WRAP
from corpora.tei.xml import Element

_CHOSEN = {"choice": ("expan", "reg", "corr"), "app": ("lem", "rdggrp", "rdg")}
"""The children of which one is read, the best first; without any of them, the first child is."""
_LEFT_OUT = {"note", "notegrp", "del", "rt"}
_BREAKS = {"lb", "pb", "cb"}


def read_children(element: Element) -> list[Element | str]:
    """Return the children of an element that are read."""
    if (names := _CHOSEN.get(element.name)) is None:
        return [c for c in element.children if isinstance(c, str) or c.name not in _LEFT_OUT]
    children = element.elements()
    children_read = (child for name in names for child in children if child.name == name)
    chosen = next(children_read, None)
    return [chosen] if chosen is not None else list(children[:1])


def read_elements(element: Element) -> Iterator[Element]:
    """Yield the elements inside an element that are read, in the order of the file."""
    for child in read_children(element):
        if isinstance(child, Element):
            yield child
            yield from read_elements(child)


def read_text(element: Element) -> str:
    """Return the text of an element as it is read, white space normalized."""
    return " ".join(SOLID_WRAP.sub("", "".join(_strings(element))).split())


def _strings(element: Element) -> Iterator[str]:
    if element.name in _BREAKS and element.attributes.get("break") != "no":
        yield "\n"
    for child in read_children(element):
        if isinstance(child, str):
            yield child
        else:
            yield from _strings(child)
