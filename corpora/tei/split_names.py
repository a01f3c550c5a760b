"""Names that the markup splits: ``@next`` and ``@prev``, or ``@part`` (I, M, F)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from corpora.document import Mention

_NOT_WHITE = re.compile(r"\S")


def merge_pieces(mentions: Sequence[Mention], text: str) -> list[Mention]:
    """Link the pieces of split names; pieces separated only by white space become one mention.

    ``mentions`` are in the order of the file, with the TEI attributes as ``@name``. A piece without
    an entity gets the entity of its name; ``bytes`` lists the elements of a merged mention.
    """
    merged: list[Mention] = []
    around = _around(mentions)
    names = list(_names(mentions))
    name_of = {piece: number for number, name in enumerate(names) for piece in name} | {-1: -1}
    for name in names:
        entity = next((mentions[piece].entity for piece in name if mentions[piece].entity), None)
        first, *others = name
        whole = replace(mentions[first], entity=mentions[first].entity or entity)
        for number in others:
            piece = replace(mentions[number], entity=mentions[number].entity or entity)
            inside, after = name_of[around[first]], name_of[around[number]]
            apart = whole.end > piece.start or inside != after
            if apart or _NOT_WHITE.search(text, whole.end, piece.start):
                merged.append(whole)
                whole, first = piece, number
            else:
                whole = _join(whole, piece)
        merged.append(whole)
    return merged


def _around(mentions: Sequence[Mention]) -> list[int]:
    """Return the index of the innermost name around each name, or -1."""
    around, open_ = [-1] * len(mentions), list[int]()
    order = sorted(range(len(mentions)), key=lambda n: (mentions[n].start, -mentions[n].end, n))
    for number in order:
        while open_ and mentions[open_[-1]].end <= mentions[number].start:
            open_.pop()
        around[number] = open_[-1] if open_ else -1
        open_.append(number)
    return around


def _join(first: Mention, second: Mention) -> Mention:
    attributes = dict(first.attributes)
    attributes["bytes"] = (
        f"{attributes.get('bytes', attributes['byte'])} {second.attributes['byte']}"
    )
    return replace(first, end=second.end, attributes=attributes)


def _names(mentions: Sequence[Mention]) -> Iterator[list[int]]:
    """Yield the pieces of each name; a name that is not split is one piece."""
    following: dict[int, int] = {}
    later: set[int] = set()
    for number, after in _links(mentions):
        if number not in following and after not in later:
            following[number] = after
            later.add(after)
    for number in range(len(mentions)):
        if number not in later:
            name = [number]
            while number in following:
                number = following[number]  # noqa: PLW2901 - follows the chain, always forwards
                name.append(number)
            yield name


def _links(mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """Yield pairs of pieces that follow each other, as indices; the second is always greater."""
    by_id = {
        mention.attributes["@xml:id"]: number
        for number, mention in enumerate(mentions)
        if "@xml:id" in mention.attributes
    }
    initial: dict[str, int] = {}  # element name to the piece that waits for its continuation
    for number, mention in enumerate(mentions):
        after = by_id.get(mention.attributes.get("@next", "").removeprefix("#"), -1)
        before = by_id.get(mention.attributes.get("@prev", "").removeprefix("#"), number)
        if after > number:
            yield number, after
        if before < number:
            yield before, number
        part = mention.attributes.get("@part", "N").upper()
        element = mention.attributes["element"]
        if part in {"M", "F"} and element in initial:
            yield initial.pop(element), number
        if part in {"I", "M"}:
            initial[element] = number
