"""References to entries as an edition writes them: ``#P.1``, ``kbga-actors-2151``, an address."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from corpora.document import Document, Mention
from corpora.errors import UsageError
from corpora.registers.entry import Entry
from corpora.registers.identifiers import read_id
from corpora.registers.register import Register
from corpora.tei.edition import Edition
from corpora.tei.pointers import entity_of, with_space, without_prefix
from corpora.tei.prefixes import prefix_of
from corpora.tei.style import abbreviated, reference

MIN_RATIO = 0.5
"""The least ratio of the references with a label that must have a style for it to be used."""
_HOLE = "{}"
_NO_POINTER = re.compile("[:/#]")
"""What no id of an element has: addresses do."""


@dataclass(frozen=True, slots=True)
class ReferenceStyle:
    """An attribute, and its value with ``{}`` in place of the id."""

    attribute: str
    value: str
    scheme: str = ""
    """The scheme of the id; empty: the id in the register itself."""
    before: str = ""
    """The beginning of the id for which a prefix stands: ``pmb`` where ``pmb:12`` is ``pmb12``."""

    def write(self, entry: Entry) -> str | None:
        """Return the value for an entry; None if it has no such id."""
        id = entry.id_in(self.scheme) if self.scheme else entry.id
        if not id or not id.startswith(self.before):
            return None
        return self.value.replace(_HOLE, id.removeprefix(self.before))


def parse_style(text: str, edition: Edition) -> ReferenceStyle:
    """Parse ``ref=#{}``; raises ``UsageError`` if it is no style of the edition."""
    attribute, _, value = text.partition("=")
    if value.count(_HOLE) != 1 or attribute not in edition.entity:
        raise UsageError(
            f"--reference {text}: write ATTRIBUTE=VALUE with {{}} for the id, as ref=#{{}}; the "
            f"edition reads {', '.join(edition.entity)}."
        )
    return ReferenceStyle(attribute, value)


def _referring(mention: Mention, attribute: str, value: str, *, edition: Edition) -> Mention:
    """Add a reference to a mention; the entity becomes what the edition reads from it."""
    attributes = {**mention.attributes, f"@{attribute}": value}
    return replace(mention, entity=entity_of({attribute: value}, edition), attributes=attributes)


class Referrer:
    """A writer of references to a register's entries, in the edition's style for each label."""

    def __init__(
        self, edition: Edition, *, given: ReferenceStyle | None = None, offers: bool = False
    ) -> None:
        """Begin without known styles; ``given`` fixes one for all labels.

        ``offers``: set the entity of a mention even if no reference shows how to write it.
        """
        self._edition, self._given, self._offers = edition, given, offers
        self.example: tuple[str, str] | None = None
        """The attribute and the value of an id that was offered, as it would be written."""
        self._counts: defaultdict[str, Counter[ReferenceStyle]] = defaultdict(Counter)
        self._n: Counter[str] = Counter()

    def learn(self, documents: Iterable[Document], register: Register) -> None:
        """Count the styles of references that lead to an entry."""
        for document in documents:
            for mention in document.mentions:
                self._count(mention, register)

    def learn_elsewhere(self, mentions: Iterable[Mention], register: Register) -> None:
        """Count the styles of other mentions, for labels without a reference to an entry so far."""
        known = {label for label, n in self._n.items() if n}
        for mention in mentions:
            if mention.label not in known:
                self._count(mention, register)

    def _count(self, mention: Mention, register: Register) -> None:
        label = mention.label or ""
        for entity in (mention.entity or "").split(" "):
            if entity and (entry := register.find(entity)) is not None:
                self._n[label] += 1
                styles = dict.fromkeys(self._styles(mention, entry), 1)  # in their order
                self._counts[label].update(styles)

    def _styles(self, mention: Mention, entry: Entry) -> Iterable[ReferenceStyle]:
        for attribute, value in _references(mention, self._edition.entity):
            if value.endswith(entry.id):
                yield ReferenceStyle(attribute, f"{value.removesuffix(entry.id)}{_HOLE}")
                continue
            full = without_prefix(value, self._edition)
            prefix, _, rest = value.partition(":")
            if full != value and full.endswith(entry.id) and entry.id.endswith(rest):
                before = entry.id.removesuffix(rest)
                yield ReferenceStyle(attribute, f"{prefix}:{_HOLE}", before=before)
                continue
            id = read_id(full)
            if id in entry.ids and id is not None and value.count(id.id) == 1:
                yield ReferenceStyle(attribute, value.replace(id.id, _HOLE), id.scheme)

    def style(self, label: str | None) -> ReferenceStyle | None:
        """Return the style of references with a label; None if there is no usual one."""
        if self._given is not None:
            return self._given
        label = label or ""
        for style, n in self._counts[label].most_common(1):
            if n >= MIN_RATIO * self._n[label]:
                return style
        return None

    def refer(self, mention: Mention, entry: Entry) -> Mention:
        """Return a mention with the reference to an entry.

        The entity becomes what the edition reads from the reference, or None if the style has no
        reference for the entry. An offered entity is an id of the edition's own space, if the
        edition has an attribute for it.
        """
        style = self.style(mention.label)
        if style is None and self._offers:
            offered = replace(mention, entity=f"{self._edition.name}:{entry.id}")
            if written := reference(offered, self._edition):
                self.example = self.example or written
                return offered
        value = style.write(entry) if style else None
        if style is None or value is None:
            return replace(mention, entity=None)
        return _referring(mention, style.attribute, value, edition=self._edition)


def _references(mention: Mention, attributes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a mention with their values; ``ref`` may hold several."""
    for attribute in attributes:
        value = mention.attributes.get(f"@{attribute}", "").strip()
        for one in value.split() if attribute == "ref" else [value]:
            yield attribute, one


def _with_entities(mention: Mention, attributes: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the entities of a mention, each with an attribute and the value that leads to it.

    Several values lead to as many entities, or, if a register has them as one, all to this.
    """
    for attribute, values in groupby(_references(mention, attributes), key=itemgetter(0)):
        entity, found = mention.entity or "", [value for _, value in values]
        entities = entity.split(" ") if len(found) > 1 else [entity]
        if len(entities) == len(found):
            yield from ((one, attribute, value) for one, value in zip(entities, found, strict=True))
        elif len(entities) == 1:
            id = entity.partition(":")[2]
            yield from ((entity, attribute, value) for value in found if value.endswith(id))


class Usage(NamedTuple):
    """The style of references to entities of a space, in mentions with a label."""

    label: str
    space: str
    attribute: str
    value: str
    """The value with ``{}`` in place of the id, as in ``ReferenceStyle``."""


def usages_of(mentions: Iterable[Mention]) -> Iterator[Usage]:
    """Yield the styles in which mentions refer to their entity, whatever their edition."""
    for mention in mentions:
        names = [name.removeprefix("@") for name in mention.attributes if name.startswith("@")]
        for entity, name, value in _with_entities(mention, names):
            space, _, id = entity.partition(":")
            if id and value.endswith(id):
                style = f"{value.removesuffix(id)}{_HOLE}"
                yield Usage(mention.label or "", space, name, style)


def usual(usages: Counter[Usage]) -> list[Usage]:
    """Select the most frequent style of each label, space and attribute; most frequent first.

    This keeps the list short, however many values the attributes of an edition have.
    """
    found: dict[tuple[str, str, str], Usage] = {}
    for usage, _ in usages.most_common():
        found.setdefault(usage[:3], usage)
    return list(found.values())


class Habits:
    """The most frequent style of an edition's references to known entities, by label and space.

    For editions without a register: the id is taken to be the end of the value.
    """

    def __init__(
        self,
        edition: Edition,
        known: Collection[str] | None = None,
        *,
        given: ReferenceStyle | None = None,
        elsewhere: Iterable[Usage] = (),
    ) -> None:
        """Begin without known styles; ``given`` fixes one for all labels.

        ``known`` are entities with their space, as ``letters:p1``; None: any entity. ``elsewhere``
        are styles of other files of the edition, the most frequent first, for cases that these
        files do not show.
        """
        self._edition, self._known, self._given = edition, known, given
        self._elsewhere: dict[tuple[str, str], ReferenceStyle] = {}
        for label, space, attribute, value in elsewhere:
            if attribute in edition.entity:
                self._elsewhere.setdefault((label, space), ReferenceStyle(attribute, value))
        self._counts: defaultdict[tuple[str, str], Counter[ReferenceStyle]] = defaultdict(Counter)

    def learn(self, documents: Iterable[Document]) -> None:
        """Count the styles of the references of mentions."""
        for document in documents:
            for mention in document.mentions:
                for entity, name, value in _with_entities(mention, self._edition.entity):
                    self._count(mention.label or "", entity, attribute=name, value=value)

    def _count(self, label: str, entity: str, *, attribute: str, value: str) -> None:
        read = entity.partition(":")
        is_abbreviated = without_prefix(value, self._edition) != value
        if is_abbreviated and not value.endswith(f":{read[2]}"):
            return  # its address is no end of it: ``reference`` writes such a value
        for id in (read[2], value.rpartition("#")[2], value.rpartition("/")[2]):
            is_known = self._known is None or f"{read[0]}:{id}" in self._known
            if id and is_known and value.endswith(id):
                style = ReferenceStyle(attribute, f"{value.removesuffix(id)}{_HOLE}")
                self._counts[label, read[0]][style] += 1
                return

    def _style(self, label: str | None, entity: str) -> ReferenceStyle | None:
        key = (label or "", entity.partition(":")[0])
        usual = self._counts[key].most_common(1)
        return self._given or next((style for style, _ in usual), self._elsewhere.get(key))

    def refer(self, mention: Mention) -> Mention:
        """Return a mention with the reference to its entity, as read back from the reference.

        A mention without a known style stays as it is. Several entities have a reference each.
        """
        return self._refer(mention, [mention.entity or ""]) or self.refer_to_same(mention)

    def _refer(self, mention: Mention, entities: Sequence[str]) -> Mention | None:
        written = [self._written(mention.label, entity) for entity in entities]
        values = [value for _, value in filter(None, written)]
        attributes = {attribute for attribute, _ in filter(None, written)}
        if len(values) < len(entities) or len(attributes) != 1:
            return None
        [attribute], value = attributes, " ".join(values)
        return _referring(mention, attribute, value, edition=self._edition)

    def _written(self, label: str | None, entity: str) -> tuple[str, str] | None:
        """Return the attribute and the value for an entity; None if nothing shows how it is.

        A prefix (``gnd:{}``) of files elsewhere is only used if these files declare it, too.
        """
        edition, style, id = self._edition, self._style(label, entity), entity.partition(":")[2]
        if style is not None and not (style.value == f"#{_HOLE}" and _NO_POINTER.search(id)):
            value = style.value.replace(_HOLE, id)
            is_abbreviated = style.value == f"{prefix_of(style.value)}:{_HOLE}"
            is_known = style is self._given or edition.prefixes.defines(value)
            if not is_abbreviated or is_known or with_space(value, edition) == entity:
                return style.attribute, value
        tried = ((name, abbreviated(entity, name, edition)) for name in edition.entity)
        return next((found for found in tried if found[1]), None)

    def refer_to_same(self, mention: Mention) -> Mention:
        """Return a mention with the reference to its entity, or to its several entities.

        The mention stays as it is if other entities would be read from the reference.
        """
        entity = mention.entity or ""
        tried = (self._refer(mention, entities) for entities in ([entity], entity.split(" ")))
        return next((one for one in tried if one and one.entity == entity), mention)
