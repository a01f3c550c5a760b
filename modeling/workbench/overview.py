"""Summary of all letters: forms with labels and entities, contradictions, decisions by day."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from modeling.workbench import messages
from modeling.workbench.candidates import about
from modeling.workbench.desk import Desk
from modeling.workbench.finding import place_of

_SHOWN = 2_000
_LISTED = 300


@dataclass
class _Form:
    """Counts of the labels, the entities and the open items of a form."""

    labels: Counter[str] = field(default_factory=Counter)
    entities: Counter[str] = field(default_factory=Counter)
    n_open: int = 0


def overview(desk: Desk) -> messages.Overview:
    """Count forms and entities of the edition's names and accepted items; count open items."""
    with desk.lock:
        desk.refresh()
        forms: defaultdict[str, _Form] = defaultdict(_Form)
        entities: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for form, label, entity, is_open in _names(desk):
            forms[form].n_open += is_open
            if not is_open:
                forms[form].labels[label] += 1
                if entity:
                    forms[form].entities[entity] += 1
                    entities[entity][form] += 1
        times = {form: counts.n_open + counts.labels.total() for form, counts in forms.items()}
        rows = [_row(form, forms[form]) for form in sorted(forms, key=lambda f: (-times[f], f))]
        ranked = sorted(entities, key=lambda entity: (-entities[entity].total(), entity))
        return {
            "forms": rows[:_SHOWN],
            "contradictions": [r for r in rows if len(r["labels"]) > 1 or len(r["entities"]) > 1],
            "entities": [_entity(desk, entity, entities[entity]) for entity in ranked[:_SHOWN]],
            "more": max(0, len(forms) - _SHOWN),
            "days": list(_days(desk)),
            "errors": [letter.error for letter in desk.letters.all if letter.error],
            "unread": desk.n_unread,
        }


def _names(desk: Desk) -> Iterator[tuple[str, str, str, bool]]:
    """Yield (form, label, entity, is open) of each name that is not rejected or taken out."""
    for letter in desk.letters.all:
        for names in letter.names:
            text = names.document.text
            for item in names.items():
                if item.status != "rejected":
                    form = " ".join(text[item.start : item.end].split())
                    yield form, item.label, item.entity, item.status == "open"


def _row(form: str, counts: _Form) -> messages.FormRow:
    labels, entities = dict(counts.labels.most_common()), dict(counts.entities.most_common())
    return {"form": form, "labels": labels, "entities": entities, "open": counts.n_open}


def _entity(desk: Desk, entity: str, forms: Counter[str]) -> messages.EntityRow:
    known = about(desk.sources, entity)
    return {
        "entity": entity,
        "name": known["name"] if known else "",
        "forms": dict(forms.most_common(20)),
        "times": forms.total(),
    }


def _days(desk: Desk) -> Iterator[messages.Day]:
    """Count the names on which each person decided each day, the last day first.

    The last decision on a name counts, and none that was taken back.
    """
    days: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    last = {}
    for entry in desk.journal.entries:
        name = entry.was or entry.name
        last[entry.file, entry.document, name.start, name.end, entry.there] = entry
    for entry in last.values():
        if entry.verdict != "withdrawn":
            days[entry.time[:10], entry.reviewer][entry.verdict] += 1
    for (day, reviewer), verdicts in sorted(days.items(), reverse=True):
        yield {"day": day, "reviewer": reviewer, "verdicts": dict(verdicts)}


def unlinked(desk: Desk) -> messages.Unlinked:
    """List the forms of the names without an entity, the frequent first.

    A label without any entity, such as dates, is left out.
    Each has its first place, and the first candidates of the register.
    """
    with desk.lock:
        desk.refresh()
        times: Counter[tuple[str, str]] = Counter()
        linked: set[str] = {label for _, label, entity, _ in _names(desk) if entity}
        first: dict[tuple[str, str], messages.LetterPlace] = {}
        for letter in desk.letters.all:
            for number, names in enumerate(letter.names):
                for name in names.names():
                    if name.label in linked and not name.entity:
                        shown = place_of(letter, number, name.start, end=name.end)
                        key = " ".join(shown["form"].split()), name.label or ""
                        times[key] += 1
                        first.setdefault(key, shown)
        ranked = sorted(times, key=lambda key: (-times[key], key))[:_LISTED]
        rows: list[messages.UnlinkedRow] = []
        for key in ranked:
            form, label = key
            entries = desk.register.find(form, label=label)[:3]
            candidates = [entry["name"] for entry in entries]
            rows.append(
                {"label": label, "times": times[key], "first": first[key], "candidates": candidates}
            )
        return {"rows": rows, "more": len(times) - len(rows), "unread": desk.n_unread}
