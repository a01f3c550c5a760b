"""Counts of entities in training documents, which can leave out any one document.

This allows a training document to be linked as if it had not been trained on (leave one out).
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from modeling.link.records import Record, normalise

Key = tuple[str, ...]
_SMOOTHING: Final = 0.5


class Counts:
    """Counts of entities under conditions, such as a form, or a form in letters to somebody."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.total: dict[Key, Counter[str]] = defaultdict(Counter)
        """The counts of entities, by condition; ``()`` is no condition: all linked mentions."""
        self._own: dict[str, dict[Key, Counter[str]]] = {}
        self._spread: dict[Key, Counter[str]] = defaultdict(Counter)
        self._sums: Counter[Key] = Counter()
        self._own_sums: dict[str, Counter[Key]] = {}
        self.documents: dict[str, set[str]] = defaultdict(set)
        """The ids of the documents in which each entity is meant."""
        self._days: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for record in records:
            self._add(record)
        for days in self._days.values():
            days.sort()

    def _add(self, record: Record) -> None:
        """Count a record; several with one id are left out together."""
        new: dict[Key, Counter[str]] = defaultdict(Counter)
        for case in record.cases:
            if case.entity is None:
                continue
            for key in conditions(case.form, case.label, record.facts):
                new[key][case.entity] += 1
            for word in case.around:
                new["around", word][case.entity] += 1
        own = self._own.setdefault(record.id, {})
        for key, counter in new.items():
            self.total[key].update(counter)
            known = own.setdefault(key, Counter())
            if key[:1] == ("normal",):
                self._spread[key].update(counter.keys() - known.keys())
            known.update(counter)
        sums = Counter({key: counter.total() for key, counter in new.items()})
        self._own_sums.setdefault(record.id, Counter()).update(sums)
        self._sums.update(sums)
        for entity in new.get((), ()):
            self.documents[entity].add(record.id)
            if record.day is not None:
                self._days[entity].append((record.day, record.id))

    def __contains__(self, id: str) -> bool:
        """Tell whether a document was counted."""
        return id in self._own

    def count(self, key: Key, entity: str, *, without: str | None) -> int:
        """Count how often an entity is meant under a condition, without one document."""
        found = self.total.get(key)
        if found is None or not (n := found.get(entity, 0)):
            return 0
        own = self._own.get(without or "", {}).get(key)
        return n - own.get(entity, 0) if own else n

    def seen(
        self, key: Key, entities: Sequence[str], *, without: str | None
    ) -> Iterator[tuple[int, int]]:
        """Yield index and count of the entities that are meant under a condition.

        One document is left out.
        """
        found: Mapping[str, int] = self.total.get(key, {})
        own: Mapping[str, int] = self._own.get(without or "", {}).get(key, {})
        for index, entity in enumerate(entities):
            if (n := found.get(entity, 0)) and (left := n - own.get(entity, 0)):
                yield index, left

    def sum(self, key: Key, *, without: str | None) -> int:
        """Count all linked mentions under a condition, without one document."""
        own = self._own_sums.get(without or "")
        return self._sums[key] - (own[key] if own else 0)

    def distribution(self, key: Key, *, without: str | None) -> Mapping[str, int]:
        """Return the counts of all entities under a condition, without one document."""
        found: Mapping[str, int] = self.total.get(key, {})
        own = self._own.get(without or "", {}).get(key)
        if not own:
            return found
        return {e: left for e, n in found.items() if (left := n - own.get(e, 0)) > 0}

    def spread(self, form: str, *, without: str | None) -> Mapping[str, int]:
        """Count the documents in which a normalised form means each entity.

        One document is left out.
        """
        key = ("normal", form)
        found: Mapping[str, int] = self._spread.get(key, {})
        own = self._own.get(without or "", {}).get(key)
        if not own:
            return found
        return {e: left for e, n in found.items() if (left := n - (e in own))}

    def log_ratio(self, key: Key, entity: str, back: float, *, without: str | None) -> float:
        """Compute the log of the ratio of an entity under a condition.

        The ratio is smoothed towards ``back``, another ratio.
        """
        n, of = self.count(key, entity, without=without), self.sum(key, without=without)
        return math.log((n + _SMOOTHING * back) / (of + _SMOOTHING))

    def n_documents(self, entity: str, *, without: str | None) -> int:
        """Count the documents in which an entity is meant, without one document."""
        found = self.documents.get(entity)
        return len(found) - (without in found) if found else 0

    def days_away(self, entity: str, day: int, *, without: str | None) -> int | None:
        """Compute the days to the nearest document in which an entity is meant; None without any.

        One document is left out.
        """
        days = self._days.get(entity)
        if not days:
            return None
        place = bisect_left(days, (day, ""))
        later, earlier = range(place, len(days)), range(place - 1, -1, -1)
        nearest = (
            next((days[n][0] for n in order if days[n][1] != without), None)
            for order in (later, earlier)
        )
        return min((abs(day - d) for d in nearest if d is not None), default=None)


def conditions(form: str, label: str | None, facts: Iterable[str]) -> list[Key]:
    """List the conditions that a mention is counted under."""
    normal = normalise(form)
    keys: list[Key] = [(), ("form", form), ("normal", normal)]
    if label is not None:
        keys.append(("label", label))
    for fact in facts:
        keys += [("fact", fact), ("form fact", normal, fact)]
    return keys
