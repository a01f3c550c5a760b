"""References to entries as an edition writes them: ``#P.1``, ``kbga-actors-2151``, an address."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from corpora.document import Document, Mention
from corpora.errors import UsageError
from corpora.registers.entry import Entry
from corpora.registers.identifiers import read_id
from corpora.registers.register import Register
from corpora.tei.edition import Edition
from corpora.tei.reader import entity_of
from corpora.tei.style import reference

MIN_RATIO = 0.5
"""Of the references with a label, so many are written in a style that is taken."""
_HOLE = "{}"


@dataclass(frozen=True, slots=True)
class Style:
    """An attribute, and its value with ``{}`` where the id stands."""

    attribute: str
    value: str
    scheme: str = ""
    """Of the id; empty: that of the register itself."""

    def write(self, entry: Entry) -> str | None:
        """Write the value for an entry; None where it has no such id."""
        id = entry.id_in(self.scheme) if self.scheme else entry.id
        return self.value.replace(_HOLE, id) if id else None


def parse_style(text: str, edition: Edition) -> Style:
    """Read ``ref=#{}``; raises ``UsageError`` for what is no style of the edition."""
    attribute, _, value = text.partition("=")
    if value.count(_HOLE) != 1 or attribute not in edition.entity:
        raise UsageError(
            f"--reference {text}: write ATTRIBUTE=VALUE with {{}} for the id, as ref=#{{}}; the "
            f"edition reads {', '.join(edition.entity)}."
        )
    return Style(attribute, value)


def _referring(mention: Mention, attribute: str, value: str, *, edition: Edition) -> Mention:
    """Give a mention a reference; its entity is what the edition reads from that."""
    attributes = {**mention.attributes, f"@{attribute}": value}
    return replace(mention, entity=entity_of({attribute: value}, edition), attributes=attributes)


class Referrer:
    """Refers to the entries of a register as the mentions of an edition do, by label."""

    def __init__(
        self, edition: Edition, *, given: Style | None = None, offers: bool = False
    ) -> None:
        """``offers``: say who is meant, though no reference shows how that is written."""
        self._edition, self._given, self._offers = edition, given, offers
        self.n_offered = 0
        self._counts: defaultdict[str, Counter[Style]] = defaultdict(Counter)
        self._n: Counter[str] = Counter()

    def learn(self, documents: Iterable[Document], register: Register) -> None:
        """Look at the references of mentions that lead to an entry."""
        for document in documents:
            for mention in document.mentions:
                if mention.entity is None or " " in mention.entity:
                    continue
                entry = register.find(mention.entity)
                if entry is not None:
                    label = mention.label or ""
                    self._n[label] += 1
                    self._counts[label].update(set(self._styles(mention, entry)))

    def _styles(self, mention: Mention, entry: Entry) -> Iterable[Style]:
        for attribute in self._edition.entity:
            value = mention.attributes.get(f"@{attribute}", "").strip()
            if value.endswith(entry.id):
                yield Style(attribute, f"{value.removesuffix(entry.id)}{_HOLE}")
                continue
            id = read_id(value)
            if id in entry.ids and id is not None and value.count(id.id) == 1:
                yield Style(attribute, value.replace(id.id, _HOLE), id.scheme)

    def style(self, label: str | None) -> Style | None:
        """Say how references with a label are written; None where there is no usual way."""
        if self._given is not None:
            return self._given
        label = label or ""
        for style, n in self._counts[label].most_common(1):
            if n >= MIN_RATIO * self._n[label]:
                return style
        return None

    def refer(self, mention: Mention, entry: Entry) -> Mention:
        """Give a mention the reference to an entry; without one where the style has none for it.

        Its entity is what the edition reads from the reference. One that is offered is an id of
        the edition's own, if it has an attribute for these.
        """
        style = self.style(mention.label)
        if style is None and self._offers:
            offered = replace(mention, entity=f"{self._edition.name}:{entry.id}")
            if reference(offered, self._edition):
                self.n_offered += 1
                return offered
        value = style.write(entry) if style else None
        if style is None or value is None:
            return replace(mention, entity=None)
        return _referring(mention, style.attribute, value, edition=self._edition)


class Usage(NamedTuple):
    """A style in which entities of a space are referred to by mentions with a label."""

    label: str
    space: str
    attribute: str
    value: str
    """As of ``Style``."""


def usages_of(mentions: Iterable[Mention]) -> Iterator[Usage]:
    """Yield how mentions refer to their entity, whatever edition they are of."""
    for mention in mentions:
        space, _, id = (mention.entity or "").partition(":")
        for name, value in mention.attributes.items():
            if id and name.startswith("@") and value.endswith(id):
                style = f"{value.removesuffix(id)}{_HOLE}"
                yield Usage(mention.label or "", space, name.removeprefix("@"), style)


def usual(usages: Counter[Usage]) -> list[Usage]:
    """Choose the most frequent style of each label, space and attribute; the most frequent first.

    So there are few, however many values the attributes of an edition have.
    """
    found: dict[tuple[str, str, str], Usage] = {}
    for usage, _ in usages.most_common():
        found.setdefault(usage[:3], usage)
    return list(found.values())


class Habits:
    """How an edition refers to entities that are known: by label and space, as most often there.

    For what has no register: an id is the end of what the edition writes.
    """

    def __init__(
        self,
        edition: Edition,
        known: Collection[str] | None = None,
        *,
        given: Style | None = None,
        elsewhere: Iterable[Usage] = (),
    ) -> None:
        """``known`` are entities with their space, as ``letters:p1``; None: any.

        ``elsewhere`` are styles of other files of the edition, the most frequent first, for what
        these files do not show.
        """
        self._edition, self._known, self._given = edition, known, given
        self._elsewhere: dict[tuple[str, str], Style] = {}
        for label, space, attribute, value in elsewhere:
            if attribute in edition.entity:
                self._elsewhere.setdefault((label, space), Style(attribute, value))
        self._counts: defaultdict[tuple[str, str], Counter[Style]] = defaultdict(Counter)

    def learn(self, documents: Iterable[Document]) -> None:
        """Look at the references of mentions."""
        for document in documents:
            for mention in document.mentions:
                for attribute in self._edition.entity:
                    value = mention.attributes.get(f"@{attribute}", "").strip()
                    if value and (attribute != "ref" or " " not in value):
                        self._count(mention, attribute, value)

    def _count(self, mention: Mention, attribute: str, value: str) -> None:
        read = (mention.entity or "").partition(":")
        for id in (read[2], value.rpartition("#")[2], value.rpartition("/")[2]):
            is_known = self._known is None or f"{read[0]}:{id}" in self._known
            if id and is_known and value.endswith(id):
                style = Style(attribute, f"{value.removesuffix(id)}{_HOLE}")
                self._counts[mention.label or "", read[0]][style] += 1
                return

    def _style(self, label: str | None, entity: str) -> Style | None:
        key = (label or "", entity.partition(":")[0])
        usual = self._counts[key].most_common(1)
        return self._given or next((style for style, _ in usual), self._elsewhere.get(key))

    def refer(self, mention: Mention) -> Mention:
        """Give a mention the reference to its entity; its entity is what is read from that.

        Without a habit it stays as it is.
        """
        return self._refer(mention, [mention.entity or ""]) or mention

    def _refer(self, mention: Mention, entities: Sequence[str]) -> Mention | None:
        styles = [self._style(mention.label, entity) for entity in entities]
        ids = [entity.partition(":")[2] for entity in entities]
        values = [one.value.replace(_HOLE, id) for one, id in zip(styles, ids, strict=True) if one]
        attributes = {one.attribute for one in styles if one}
        if len(values) < len(entities) or len(attributes) != 1:
            return None
        [attribute], value = attributes, " ".join(values)
        return _referring(mention, attribute, value, edition=self._edition)

    def refer_to_same(self, mention: Mention) -> Mention:
        """Give a mention the reference to its entity, or to several, if these are read from it."""
        entity = mention.entity or ""
        tried = (self._refer(mention, entities) for entities in ([entity], entity.split(" ")))
        return next((one for one in tried if one and one.entity == entity), mention)
