"""The names of a document that a person decides on, and the effects of decisions on them.

A name is an ``Item``: a suggestion that is open, accepted (changed or not) or rejected, a name that
a person added, or one that the edition has (``there``), which a person may correct (then it is
accepted) or take out (rejected). Every change of an item is recorded as a ``Decision``; replaying
the decisions makes the same items again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, TypeVar, get_args

from corpora.document import Document, Mention, Span, SpanIndex, index_of
from corpora.errors import UsageError
from corpora.tei.decisions import DecidedName, Decision, Settled, Verdict
from corpora.tei.style import REMARK
from modeling.workbench.messages import ShownItem, Status

_STATUSES: tuple[Status, ...] = get_args(Status)
_V = TypeVar("_V", int, str)


class RefusedError(UsageError):
    """The error for a request that cannot be carried out; nothing was decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A name in a document, with its status.

    ``suggestion`` is the mention that a model found, or that the edition has.
    """

    id: str
    """The span at which it was suggested or added (``start-end``), or the index of the edition's
    name (``e0``); unique in the document."""
    start: int
    end: int
    label: str
    entity: str = ""
    status: Status = "open"
    suggestion: Mention | None = None
    reviewer: str = ""
    time: str = ""
    """The time of the decision, in ISO 8601; empty while the item is open."""
    model: str = ""
    """The id of the model that suggested the item, as of its decision; empty: the one in use."""
    is_own: bool = False
    """Whether it is a name that the edition has."""
    remark: str = ""
    """What a person remarks on it."""

    @property
    def is_as_suggested(self) -> bool:
        """Whether span, label and entity are those of the suggestion; False without one."""
        suggestion = self.suggestion
        if suggestion is None:
            return False
        found = (*_place(suggestion), suggestion.label, suggestion.entity or "")
        return found == (*_place(self), self.label, self.entity)

    def mention(self) -> Mention:
        """Convert the item to the mention that is written into the file.

        It has no probability: a person answers for it.
        """
        return Mention(
            *_place(self),
            label=self.label,
            entity=self.entity or None,
            origin="prediction" if self.suggestion else "annotation",
            attributes={REMARK: self.remark} if self.remark else {},
        )

    def to_json(self) -> ShownItem:
        """Convert the item to the form that the page reads."""
        name = self.suggestion
        shown: ShownItem = {
            "id": self.id,
            "start": self.start,
            "end": self.end,
            "label": self.label,
            "entity": self.entity,
            "status": self.status,
            "probability": name.score if name else None,
            "isNew": name is None,
            "isChanged": name is not None and not self.is_as_suggested,
            "said": [*_place(name), name.label, name.entity or ""] if name else None,
            "reviewer": self.reviewer,
            "time": self.time,
            "remark": self.remark,
        }
        if self.is_own and name:
            attributes = {k[1:]: v for k, v in name.attributes.items() if k.startswith("@")}
            shown["own"] = {"element": name.attributes.get("element", ""), "attributes": attributes}
        return shown


def _place(span: Span | Item) -> tuple[int, int]:
    return span.start, span.end


def id_of(span: Span | Item) -> str:
    """Make the id of an item that was suggested or added at a span."""
    return f"{span.start}-{span.end}"


class ItemChange(NamedTuple):
    """An item before and after a decision; None if there was, or is, no item."""

    old: Item | None
    new: Item | None


class DocumentNames:
    """The items of one document, made from suggestions and from decisions of the journal."""

    def __init__(self, document: Document, suggestions: Iterable[Mention] = ()) -> None:
        self.document = document
        self.n_there = 0
        """Suggestions that are not offered, as the edition has the name or one that crosses it."""
        self.n_lost = 0
        """Decisions whose name is not found in the text any more."""
        self.changes: dict[int, ItemChange] = {}
        """The change by each decision, by its index in the journal."""
        self._items: dict[str, Item] = {}
        self._by_place: dict[tuple[int, int], dict[str, Item]] = {}
        self._accepted = SpanIndex[Item]()
        self._there = index_of(document.mentions)
        for number, mention in enumerate(document.mentions):
            self._put(replace(_opened(mention), id=f"e{number}", status="there", is_own=True))
        for mention in suggestions:
            if _is_in_the_way(self._there, mention):
                self.n_there += 1
            else:
                self._put(_opened(mention))

    def replay(self, index: int, decision: Decision) -> None:
        """Apply a decision of the journal, at the place where its name is in the text now.

        A decision whose name is not in the text any more is counted in ``n_lost``.
        """
        text = self.document.text
        span = decision.name.find(text)
        if span is None:
            self.n_lost += 1
            return
        was = decision.was.find(text) if decision.was else None
        if decision.there:
            old = self._own(decision.was or decision.name, was or span)
        else:
            old = next((item for place in (span, was) if place and (item := self._at(place))), None)
        if decision.there and old is None:
            return  # the file has the corrected name already, or another one
        if decision.verdict == "withdrawn":
            new = open_item(old) if old else None
        else:
            new = _decided(Settled(decision, span, was), old)
        self.change(index, ItemChange(old, new))

    def _at(self, span: Span) -> Item | None:
        """Find the item at a span: a decided one, or else an open one."""
        items = [item for item in self._by_place.get(_place(span), {}).values() if not item.is_own]
        return max(items, key=lambda item: item.status != "open", default=None)

    def _own(self, name: DecidedName, span: Span) -> Item | None:
        """Find the edition's name that a decision is on."""
        key = *_place(span), name.label, name.entity
        items = self._by_place.get(_place(span), {}).values()
        return next(
            (i for i in items if i.is_own and i.suggestion and i.suggestion.key == key), None
        )

    def _put(self, item: Item) -> None:
        self._take(item.id)
        self._items[item.id] = item
        for span in _places(item):
            self._by_place.setdefault(span, {})[item.id] = item
        if item.status == "accepted":
            self._accepted.add(*_place(item), item)

    def _take(self, id: str) -> None:
        item = self._items.pop(id, None)
        if item is None:
            return
        for span in _places(item):
            del self._by_place[span][id]
        if item.status == "accepted":
            self._accepted.remove(*_place(item), item)

    def items(self) -> list[Item]:
        """List the items in reading order, without open ones that overlap an accepted one."""
        shown = (
            item
            for item in self._items.values()
            if item.status != "open" or not self._accepted.touching(*_place(item))
        )
        return sorted(shown, key=lambda item: (item.start, -item.end, item.status))

    def names(self) -> list[Mention]:
        """List the names: those that the edition has or that were accepted, as they will be."""
        return [item.mention() for item in self.items() if item.status in {"accepted", "there"}]

    def get(self, id: str) -> Item | None:
        """Look up an item by its id; None where there is none."""
        return self._items.get(id)

    def check(self, item: Item, *, instead_of: Item | None, beside: Iterable[Item] = ()) -> None:
        """Raise ``RefusedError`` where a name cannot stand; it may replace ``instead_of``.

        ``beside``: items that the same request changes.
        """
        text = self.document.text
        if not 0 <= item.start < item.end <= len(text):
            raise RefusedError("The name leaves the text.")
        if text[item.start].isspace() or text[item.end - 1].isspace():
            raise RefusedError("A name neither begins nor ends with white space.")
        if item.status != "accepted":
            return
        paragraphs = self.document.paragraphs
        is_inside = any(p.start <= item.start and item.end <= p.end for p in paragraphs)
        if item.suggestion is None and not is_inside:
            raise RefusedError("A name stands in one paragraph.")
        gone = {instead_of.suggestion} if instead_of else set()
        items = self._items.values()
        gone |= {i.suggestion for i in items if i.is_own and i.status != "there"}
        if (other := _is_in_the_way(self._there, item)) and other not in gone:
            form = text[other.start : other.end]
            raise RefusedError(f"The edition has a name there: {form}.")
        own = {item.id, instead_of.id if instead_of else ""}
        there = (i for i in self._accepted.touching(*_place(item)) if i.id not in own)
        for other_item in chain(there, (i for i in beside if i.status == "accepted")):
            if _crosses(other_item, item) or _place(other_item) == _place(item):
                form = text[other_item.start : other_item.end]
                raise RefusedError(f"It would cross the name {form}.")

    def change(self, index: int, change: ItemChange) -> None:
        """Replace an item by another, and record the change of the decision with this index.

        Only one decision stands at a place: earlier decided items there are removed, and their
        suggestions are open again.
        """
        old, new = change
        self.changes[index] = change
        if old is not None:
            self._take(old.id)
        if new is None:
            return
        if new.status != "open":
            places = _places(new)
            there = {id: i for place in places for id, i in self._by_place.get(place, {}).items()}
            decided = (item for item in there.values() if item.status not in {"open", "there"})
            for other in [item for item in decided if item.is_own == new.is_own]:
                self._take(other.id)
                if (again := open_item(other)) and other.id != new.id:
                    self._put(again)
        self._put(new)


def _places(item: Item) -> set[tuple[int, int]]:
    """Return the spans of an item: where it is, and where it was suggested."""
    return {_place(item), *([_place(item.suggestion)] if item.suggestion else [])}


def _opened(mention: Mention) -> Item:
    return Item(
        id=id_of(mention),
        start=mention.start,
        end=mention.end,
        label=mention.label or "",
        entity=mention.entity or "",
        suggestion=mention,
    )


def open_item(item: Item) -> Item | None:
    """Return an item as it was before anybody decided; None for one that was added."""
    if item.suggestion is None:
        return None
    again = replace(_opened(item.suggestion), model=item.model)
    return replace(again, id=item.id, status="there", is_own=True) if item.is_own else again


def _decided(settled: Settled, old: Item | None) -> Item:
    """Make the item that a decision results in, at its place in the text now."""
    decision, span = settled.decision, settled.span
    suggested = old.suggestion if old and decision.there else None
    if decision.verdict != "added" and suggested is None:
        said, place = decision.was or decision.name, settled.was or span
        suggested = Mention(
            *_place(place),
            label=said.label,
            entity=said.entity,
            score=decision.probability,
            origin="prediction",
        )
    return Item(
        id=old.id if old and decision.there else id_of(suggested or span),
        start=span.start,
        end=span.end,
        label=decision.name.label or "",
        entity=decision.name.entity or "",
        status="rejected" if decision.verdict == "rejected" else "accepted",
        suggestion=suggested,
        reviewer=decision.reviewer,
        time=decision.time,
        model=decision.model,
        is_own=decision.there,
        remark=decision.remark,
    )


def decision_on(
    change: ItemChange, *, document: Document, file: str, model: str, reviewer: str, action: str
) -> Decision:
    """Make the decision for the journal that records the change of an item."""
    verdict, name, was = _verdict(*change)
    suggestion = name.suggestion
    return Decision(
        reviewer=reviewer,
        verdict=verdict,
        file=file,
        document=document.id,
        name=_decided_name(document, name),
        was=_decided_name(document, was) if was else None,
        model=(name.model or model) if suggestion and not name.is_own else "",
        probability=suggestion.score if suggestion else None,
        there=name.is_own,
        remark=name.remark if verdict != "withdrawn" else "",
        action=action,
    )


def _verdict(old: Item | None, new: Item | None) -> tuple[Verdict, Item, Item | None]:
    """Return the verdict of a change, the item that it is on, and the earlier one if any."""
    if new is None or new.status in {"open", "there"}:
        assert old is not None  # noqa: S101 - something changes
        said = open_item(old)
        is_moved = said is not None and (old.is_own or _place(said) != _place(old))
        return "withdrawn", old, said if is_moved else None
    said = open_item(new)
    if new.status == "rejected":
        return "rejected", new, None
    if said is None:
        was = old if old and _differs(old, new) else None
        return "added", new, was
    is_same = new.is_as_suggested and not new.is_own
    return ("accepted", new, None) if is_same else ("corrected", new, said)


def _differs(old: Item, new: Item) -> bool:
    return (*_place(old), old.label, old.entity) != (*_place(new), new.label, new.entity)


def _decided_name(document: Document, item: Item) -> DecidedName:
    mention = Mention(*_place(item), label=item.label or None, entity=item.entity or None)
    return DecidedName.of(document.text, mention)


def _crosses(first: Span | Item, second: Span | Item) -> bool:
    return (
        first.start < second.start < first.end < second.end
        or second.start < first.start < second.end < first.end
    )


def _is_in_the_way(names: SpanIndex[Mention], span: Mention | Item) -> Mention | None:
    """Find a name of the edition that a span would cross, or a labelled one of the same span."""
    there = names.touching(*_place(span))
    return next(
        (n for n in there if _crosses(n, span) or (n.label and _place(n) == _place(span))), None
    )


def changed(item: Item, wanted: Mapping[str, object], *, labels: Iterable[str]) -> Item:
    """Apply the changes that a page requests to an item; raises ``RefusedError`` for bad values."""
    changed_item = replace(
        item,
        start=_asked(wanted, "start", item.start),
        end=_asked(wanted, "end", item.end),
        label=_asked(wanted, "label", item.label),
        entity=_asked(wanted, "entity", item.entity),
        remark=_asked(wanted, "remark", item.remark),
        status=_asked_status(wanted, item.status),
    )
    if changed_item.status == "accepted" and changed_item.label not in set(labels):
        known = ", ".join(labels)
        raise RefusedError(
            f"This edition has no element for the label {changed_item.label!r}, but {known}."
        )
    return changed_item


def _asked(wanted: Mapping[str, object], name: str, there: _V) -> _V:
    """Return the value that a page requests for a field (default: the present value).

    Raises ``RefusedError`` for a value of another type than the present one.
    """
    value, kind = wanted.get(name, there), type(there)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RefusedError(f"{name} is {value!r}, not of the type {kind.__name__}.")
    return value


def _asked_status(wanted: Mapping[str, object], there: Status) -> Status:
    asked = wanted.get("status", there)
    found = next((status for status in _STATUSES if status == asked), None)
    if found is None:
        raise RefusedError(f"There is no status {asked!r}.")
    return found


def spans_of(text: str, form: str) -> Iterator[Span]:
    """Yield the spans of a form in a text where no letter or digit continues it; none overlap."""
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (before.isalnum() and form[0].isalnum()) and not (
            after.isalnum() and form[-1].isalnum()
        ):
            yield Span(start, end)
            start = end - 1
        start = text.find(form, start + 1)
