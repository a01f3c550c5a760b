"""The tags of names, and where they are put into a file."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from operator import itemgetter
from typing import NamedTuple

from corpora.document import Document, Mention
from corpora.tei.edition import Edition
from corpora.tei.fragments import Fragment
from corpora.tei.patterns import template_of
from corpora.tei.provenance import Responsibility, fingerprint, fingerprint_of, header_edits
from corpora.tei.records import record
from corpora.tei.source import Edit, Node, Source
from corpora.tei.standoff import StandoffTarget, stand_off_edits
from corpora.tei.style import Remark, certainty, escape, tag, template

_ATTRIBUTE = re.compile(r"\s+([^\s=]+)\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_Attributes = dict[str, str]


def retagged(
    source: Source, node: Node, added: "Added", *, edition: Edition, by: Responsibility
) -> tuple[str, str, list[tuple[str, str]]]:
    """Write the start tag that replaces that of an existing name.

    Returns the name of the element, the tag, and its attributes as they are read.
    """
    old, new = added.old, added.mention
    assert old is not None  # noqa: S101 - the caller corrects a name
    name, changes = node.written_name, dict[str, str | None]()
    if new.label != old.label:
        element = template(edition, new.label or "")
        changes |= dict.fromkeys(_of_label(node, old.label, edition))
        changes |= element.attributes
        name = element.written_name
    if new.entity != old.entity:
        changes |= dict.fromkeys(name for name in edition.entity if name in node.attributes)
        changes |= dict([added.reference] if added.reference else [])
    if added.remark and added.remark.attribute:
        changes |= [added.remark.attribute]
    changes["resp"] = by.resp  # who was responsible before is in the record
    attributes = {key: changes.get(key, value) for key, value in node.attributes.items()} | changes
    read = [(key, value) for key, value in attributes.items() if value]
    return name, f"<{source.prefix(node)}{name}{_written(source, node, changes)}", read


def _of_label(node: Node, label: str | None, edition: Edition) -> _Attributes:
    """Return the attributes that give an element its label."""
    templates = filter(None, map(template_of, edition.labels.get(label or "", ())))
    fitting = (
        template.attributes
        for template in templates
        if template.name == node.name and template.attributes.items() <= node.attributes.items()
    )
    return max(fitting, key=len, default={})


def _written(source: Source, node: Node, changes: dict[str, str | None]) -> str:
    """Write the attributes and the end of a start tag; those that do not change stay as written."""
    text = source.text[node.start : node.content_start]
    waiting = dict(changes)

    def written(match: re.Match[str]) -> str:
        if match[1] not in waiting:
            return match[0]
        return _attribute(match[1], waiting.pop(match[1]))

    begin = next((m.start() for m in _ATTRIBUTE.finditer(text)), len(text) - 1)
    tag = _ATTRIBUTE.sub(written, text[begin:-1]).rstrip()
    return tag + "".join(_attribute(*pair) for pair in waiting.items()) + ">"


def _attribute(name: str, value: str | None) -> str:
    return tag("", [(name, value or "")])[1:-1]


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """A name to add: its place, and its reference to the entity."""

    document: Document
    mention: Mention
    fragments: tuple[Fragment, ...]
    reference: tuple[str, str] | None
    """The attribute that refers to the entity, and its value; None: no reference."""
    target: StandoffTarget | None = None
    """The pointer to the characters, for a name in ``standOff``; else None."""
    node: Node | None = None
    """The element of an existing name, which gets only the reference; None for a new name."""
    old: Mention | None = None
    """The existing name that is replaced, or taken out; None for a new name."""
    taken: tuple[Node, ...] = ()
    """The elements of the existing name."""
    remark: Remark | None = None
    """What a person remarks on the name, as it is written; else None."""

    @property
    def is_gone(self) -> bool:
        """Whether the existing name is only taken out."""
        return self.old is not None and not self.fragments

    def element(self, edition: Edition) -> tuple[str, list[tuple[str, str]]]:
        """Return the element of a new name, and its attributes except those of ``said``."""
        element = template(edition, self.mention.label or "")
        more = (self.reference, self.remark and self.remark.attribute)
        attributes = [*element.attributes.items(), *filter(None, more)]
        return element.written_name, attributes

    def note(self, prefix: str, by: Responsibility) -> tuple[str, list[str]]:
        """Return the note that follows the name, and its fingerprint; empty if there is none."""
        if self.remark is None or self.remark.note is None or self.is_gone:
            return "", []
        element, text = self.remark.note, self.remark.text
        attributes = [*element.attributes.items(), ("resp", by.resp)]
        name = prefix + element.written_name
        markup = f"{tag(name, attributes)}{escape(text)}</{name}>"
        return markup, [fingerprint(element.written_name, attributes, text)]

    def said(self, by: Responsibility) -> list[tuple[str, str]]:
        """Return the attributes for the probability, and for who is responsible."""
        return [("cert", certainty(self.mention.score)), ("resp", by.resp)]


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a file with names failed the proof, and the names to blame, if known."""

    reason: str
    where: str = ""
    culprits: tuple[Added, ...] = ()


class _TaggedFragment(NamedTuple):
    """A fragment of a name, and its tags."""

    fragment: Fragment
    added: Added
    opening: str
    closing: str
    """The end tag, and the note that follows the name."""
    fingerprints: list[str]
    """The fingerprint of the element, and that of the note."""


def compose(
    source: Source,
    added: Sequence[Added],
    *,
    edition: Edition,
    by: Responsibility,
    is_whole: bool = True,
) -> list[Edit] | Failure:
    """Build the edits that add names to a file, and describe them in its header.

    The header gets an application and a change if ``is_whole``.
    """
    new = [name for name in added if not (name.target or name.node or name.old)]
    inline = list(_tagged(source, new, edition=edition, by=by))
    for name in added:
        inline += _retagged(source, name, edition=edition, by=by)
    inline.sort(key=lambda one: (one.fragment.start, -one.fragment.end))
    edits: list[Edit] = []
    open_: list[_TaggedFragment] = []
    for one in inline:
        start, end, _ = one.fragment
        while open_ and open_[-1].fragment.end <= start:
            edits.append(_close(open_.pop()))
        if open_ and end > open_[-1].fragment.end:
            return Failure("crosses another prediction", culprits=(one.added,))
        edits.append(Edit(start, start, one.opening))
        open_.append(one)
    edits += map(_close, reversed(open_))
    edits += _records(source, added, inline, by=by)
    spans = [
        _span(source, one, one.target, edition=edition, by=by)
        for one in added
        if one.target is not None
    ]
    edits += stand_off_edits(source, [(tei, markup) for tei, markup, _ in spans], by=by)
    prints: dict[str, list[str]] = defaultdict(list)
    prints[""] = [print_ for one in inline for print_ in one.fingerprints]
    prints[""] += [print_ for _, _, print_ in spans]
    for attribute, print_, edit in _referred(source, added, by=by):
        prints[attribute].append(print_)
        edits.append(edit)
    header = header_edits(
        source,
        by,
        prints,
        n_names=len(added) if is_whole else None,
        is_correction=any(name.old for name in added),
    )
    return sorted([*header, *edits], key=itemgetter(0, 1))


_TAG_END = re.compile(r"[ \t\r\n]*/?>$")


def _referred(
    source: Source, added: Sequence[Added], *, by: Responsibility
) -> Iterator[tuple[str, str, Edit]]:
    """Add references to the start tags of existing names, and notes after them.

    Yields the attribute (empty for a note), the fingerprint of the name with it, and the edit.
    """
    for name in added:
        if name.node is None:
            continue
        note, prints = name.note(source.prefix(name.node), by)
        yield from (("", print_, Edit(name.node.end, name.node.end, note)) for print_ in prints)
        if name.reference is None:
            continue
        attributes = [name.reference, *name.said(by)]
        end = _TAG_END.search(source.text, name.node.start, name.node.content_start)
        assert end is not None  # noqa: S101 - it is a tag
        print_ = fingerprint_of(source, name.node, attributes)
        edit = Edit(end.start(), end.start(), tag("", attributes)[1:-1])
        yield name.reference[0], print_, edit


def _close(one: _TaggedFragment) -> Edit:
    return Edit(one.fragment.end, one.fragment.end, one.closing)


def _tagged(
    source: Source, added: Sequence[Added], *, edition: Edition, by: Responsibility
) -> Iterator[_TaggedFragment]:
    """Yield the tagged fragments of each name; several of one name are linked by new ids."""
    taken = {node.attributes.get("xml:id") for node in source.nodes}
    new_ids = (id for n in count(1) if (id := f"{by.model.id}.{n}") not in taken)
    for one in added:
        element, attributes = one.element(edition)
        n = len(one.fragments)
        ids = [f"#{id}" for id in islice(new_ids, n)] if n > 1 else [""]
        links = zip(one.fragments, ids, ["", *ids], [*ids[1:], ""], strict=False)
        for fragment, id, before, after in links:
            linked = [("xml:id", id[1:]), ("prev", before), ("next", after)]
            name = source.prefix(fragment.around) + element
            own = [*attributes, *one.said(by), *linked]
            first, last = map(source.offset_at, fragment[:2])
            prints = [fingerprint(element, own, source.stream[first:last])]
            is_last = fragment is one.fragments[-1]
            note, of_note = one.note(source.prefix(fragment.around), by) if is_last else ("", [])
            closing = f"</{name}>{note}"
            yield _TaggedFragment(fragment, one, tag(name, own), closing, prints + of_note)


def _retagged(
    source: Source, added: Added, *, edition: Edition, by: Responsibility
) -> Iterator[_TaggedFragment]:
    """Yield the fragments of an existing name with the tags that replace its own."""
    for node, fragment in zip(added.taken, added.fragments, strict=False):
        name, opening, attributes = retagged(source, node, added, edition=edition, by=by)
        first, last = map(source.offset_at, fragment[:2])
        prints = [fingerprint(name, attributes, source.stream[first:last])]
        is_last = fragment is added.fragments[-1]
        note, of_note = added.note(source.prefix(node), by) if is_last else ("", [])
        closing = f"</{source.prefix(node)}{name}>{note}"
        yield _TaggedFragment(fragment, added, opening, closing, prints + of_note)


def _records(
    source: Source, added: Sequence[Added], inline: Sequence[_TaggedFragment], *, by: Responsibility
) -> Iterator[Edit]:
    """Replace the tags of existing names by records of them."""
    new = {(id(tags.added), tags.fragment): tags.fingerprints[0] for tags in inline}
    for name in added:
        for index, node in enumerate(name.taken):
            print_ = new.get((id(name), name.fragments[index])) if name.fragments else None
            yield from record(source, node, by.resp, new=print_)


def _span(
    source: Source, one: Added, target: StandoffTarget, *, edition: Edition, by: Responsibility
) -> tuple[Node, str, str]:
    """Write a name for ``standOff``: a ``span`` that points to the text, with the name in it.

    Returns the ``TEI`` element to add it to, the markup, and its fingerprint.
    """
    mention, prefix = one.mention, source.prefix(target.tei)
    element, attributes = one.element(edition)
    surface = one.document.text[mention.start : mention.end]
    own = [("target", target.pointer), *one.said(by)]
    print_ = fingerprint(f"span {element}", [*own, *attributes], surface)
    name, span = prefix + element, tag(f"{prefix}span", own)
    inside = f"{tag(name, attributes)}{escape(surface)}</{name}>"
    return target.tei, f"{span}{inside}</{prefix}span>", print_
