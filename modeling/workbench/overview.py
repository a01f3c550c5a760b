"""All letters at once: forms, what they are said to be, what disagrees, what was done when."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from modeling.workbench.candidates import about
from modeling.workbench.desk import Desk
from modeling.workbench.messages import Day, EntityRow, FormRow, Overview

_SHOWN = 2_000


@dataclass
class _Form:
    """A form, and what its places are said to be."""

    labels: Counter[str] = field(default_factory=Counter)
    entities: Counter[str] = field(default_factory=Counter)
    n_open: int = 0

    @property
    def is_contradictory(self) -> bool:
        """Whether it is said to be two things."""
        return len(self.labels) > 1 or len(self.entities) > 1


def overview(desk: Desk) -> Overview:
    """Count forms and entities of the names that are there and accepted, and of those open."""
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
        ranked = sorted(forms.items(), key=lambda pair: (-_times(pair[1]), pair[0]))
        return {
            "forms": [_row(form, one) for form, one in ranked[:_SHOWN]],
            "contradictions": [_row(form, one) for form, one in ranked if one.is_contradictory],
            "entities": [_entity(desk, *pair) for pair in _ranked(entities)[:_SHOWN]],
            "more": max(0, len(forms) - _SHOWN),
            "days": list(_days(desk)),
            "errors": [letter.error for letter in desk.letters.all if letter.error],
            "unread": sum(not (each.sha256 or each.error) for each in desk.letters.all),
        }


def _names(desk: Desk) -> Iterator[tuple[str, str, str, bool]]:
    """Form, label, entity of each name, and whether it is open."""
    for letter in desk.letters.all:
        for names in letter.names:
            text = names.document.text
            for mention in names.document.mentions:
                form = " ".join(text[mention.start : mention.end].split())
                yield form, mention.label or "", mention.entity or "", False
            for item in names.items():
                if item.status != "rejected":
                    form = " ".join(text[item.start : item.end].split())
                    yield form, item.label, item.entity, item.status == "open"


def _times(one: _Form) -> int:
    return one.n_open + one.labels.total()


def _row(form: str, one: _Form) -> FormRow:
    labels, entities = dict(one.labels.most_common()), dict(one.entities.most_common())
    return {"form": form, "labels": labels, "entities": entities, "open": one.n_open}


def _ranked(entities: dict[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    return sorted(entities.items(), key=lambda pair: (-pair[1].total(), pair[0]))


def _entity(desk: Desk, entity: str, forms: Counter[str]) -> EntityRow:
    known = about(desk.sources, entity)
    return {
        "entity": entity,
        "name": known["name"] if known else "",
        "forms": dict(forms.most_common(20)),
        "times": forms.total(),
    }


def _days(desk: Desk) -> Iterator[Day]:
    """What each person decided on each day, the last day first; undone decisions count, too."""
    days: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for entry in desk.journal.entries:
        days[entry.time[:10], entry.reviewer][entry.verdict] += 1
    for (day, reviewer), verdicts in sorted(days.items(), reverse=True):
        yield {"day": day, "reviewer": reviewer, "verdicts": dict(verdicts)}
