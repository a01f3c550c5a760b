"""Names that the markup splits: ``@next`` and ``@prev``, or ``@part`` (I, M, F)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from corpora.document import Mention


def merge_pieces(mentions: Sequence[Mention], text: str) -> list[Mention]:
    """Link the pieces of split names; pieces with only white space between become one mention.

    ``mentions`` are in the order of the file, with the TEI attributes as ``@name``. A piece that
    says nothing of its entity has that of its name; ``bytes`` lists the elements of a merged one.
    """
    merged: list[Mention] = []
    for name in _names(mentions):
        entity = next((piece.entity for piece in name if piece.entity), None)
        whole, *others = (replace(piece, entity=piece.entity or entity) for piece in name)
        for piece in others:
            if text[whole.end : piece.start].strip() or whole.end > piece.start:
                merged.append(whole)
                whole = piece
            else:
                whole = _join(whole, piece)
        merged.append(whole)
    return merged


def _join(first: Mention, second: Mention) -> Mention:
    attributes = dict(first.attributes)
    attributes["bytes"] = (
        f"{attributes.get('bytes', attributes['byte'])} {second.attributes['byte']}"
    )
    return replace(first, end=second.end, attributes=attributes)


def _names(mentions: Sequence[Mention]) -> Iterator[list[Mention]]:
    """Put the pieces of each name together; a name in one piece stands alone."""
    following = dict(_links(mentions))
    later = set(following.values())
    for number in range(len(mentions)):
        if number not in later:
            name = [mentions[number]]
            while number in following:
                number = following[number]  # noqa: PLW2901 - follows the chain, always forwards
                name.append(mentions[number])
            yield name


def _links(mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """Find which piece follows which: pairs of positions, the second always greater."""
    by_id = {
        mention.attributes["@xml:id"]: number
        for number, mention in enumerate(mentions)
        if "@xml:id" in mention.attributes
    }
    initial: dict[str, int] = {}  # element name to the piece that waits for another
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
