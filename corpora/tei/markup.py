"""The tags of names, and where they are put into a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from corpora.document import Document, Mention
from corpora.tei.edition import Edition
from corpora.tei.fragments import Fragment
from corpora.tei.provenance import Model, statement_edits
from corpora.tei.source import Edit, Node, Source
from corpora.tei.standoff import Target, stand_off_edits
from corpora.tei.style import certainty, escape, tag, template


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """A name that is to be added: where, and what it refers to."""

    document: Document
    mention: Mention
    fragments: tuple[Fragment, ...]
    reference: tuple[str, str] | None
    """The attribute that says what is meant, and its value."""
    target: Target | None = None
    """A pointer to the characters, for a name in ``standOff``."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a file with names could not be proven, and by whose fault, where that is known."""

    reason: str
    where: str = ""
    culprits: tuple[Added, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A fragment of a name, and its ids where there are several."""

    fragment: Fragment
    added: Added
    links: tuple[tuple[str, str], ...]


def compose(
    source: Source, added: Sequence[Added], *, edition: Edition, model: Model
) -> list[Edit] | Failure:
    """The edits that add names, and the statement on the model, to a file."""
    inline = [one for one in added if one.target is None]
    pieces = sorted(_pieces(source, inline, model), key=lambda p: (p.fragment[0], -p.fragment[1]))
    edits: list[Edit] = []
    open_: list[_Piece] = []
    for piece in pieces:
        start, end, _ = piece.fragment
        while open_ and open_[-1].fragment.end <= start:
            edits.append(_close(source, open_.pop(), edition))
        if open_ and end > open_[-1].fragment.end:
            return Failure("crosses another prediction", culprits=(piece.added,))
        edits.append(Edit(start, start, _opening(source, piece, edition=edition, model=model)))
        open_.append(piece)
    edits += [_close(source, piece, edition) for piece in reversed(open_)]
    edits += stand_off_edits(
        source, list(_spans(source, added, edition=edition, model=model)), model=model
    )
    return sorted([*statement_edits(source, model), *edits], key=itemgetter(0))


def _pieces(source: Source, added: Sequence[Added], model: Model) -> Iterator[_Piece]:
    """The fragments of each name; those of one name point to each other by new ids."""
    taken = {node.element.attributes.get("xml:id") for node in source.nodes if node.element}
    number = 0
    for one in added:
        ids: list[str] = []
        while len(ids) < len(one.fragments) > 1:
            number += 1
            if (id := f"{model.id}.{number}") not in taken:
                ids.append(id)
        for position, fragment in enumerate(one.fragments):
            links = []
            if ids:
                links = [("xml:id", ids[position])]
                links += [("prev", f"#{id}") for id in ids[position - 1 : position]]
                links += [("next", f"#{id}") for id in ids[position + 1 : position + 2]]
            yield _Piece(fragment, one, tuple(links))


def _opening(source: Source, piece: _Piece, *, edition: Edition, model: Model) -> str:
    mention = piece.added.mention
    element = template(edition, mention.label or "")
    attributes = [*element.attributes]
    if piece.added.reference:
        attributes.append(piece.added.reference)
    attributes += [("cert", certainty(mention.score)), ("resp", f"#{model.id}"), *piece.links]
    return tag(source.prefix(piece.fragment.around) + element.name, attributes)


def _close(source: Source, piece: _Piece, edition: Edition) -> Edit:
    name = template(edition, piece.added.mention.label or "").name
    end = piece.fragment.end
    return Edit(end, end, f"</{source.prefix(piece.fragment.around)}{name}>")


def _spans(
    source: Source, added: Sequence[Added], *, edition: Edition, model: Model
) -> Iterator[tuple[Node, str]]:
    """Names for ``standOff``: each a ``span`` that points to the text, and the name in it."""
    for one in added:
        if one.target is None:
            continue
        pointer, tei = one.target
        mention, prefix = one.mention, source.prefix(tei)
        element = template(edition, mention.label or "")
        attributes = [*element.attributes, *([one.reference] if one.reference else [])]
        surface = escape(one.document.text[mention.start : mention.end])
        yield (
            tei,
            (
                tag(
                    f"{prefix}span",
                    [
                        ("target", pointer),
                        ("cert", certainty(mention.score)),
                        ("resp", f"#{model.id}"),
                    ],
                )
                + tag(prefix + element.name, attributes)
                + f"{surface}</{prefix}{element.name}></{prefix}span>"
            ),
        )
