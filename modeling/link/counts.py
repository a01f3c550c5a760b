"""Counts of entities in training documents, which can leave out any one document.

This allows a training document to be linked as if it had not been trained on (leave one out).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeling.link.records import LinkRecord, normalise

Key = tuple[str, ...]
_SMOOTHING: Final = 0.5


class _Own(NamedTuple):
    """The counts of the documents with one id, which are left out together."""

    counts: Mapping[Key, Mapping[str, int]]
    """The counts of entities, by condition; ``()`` is no condition: all linked mentions."""
    sums: Mapping[Key, int]
    """The counts of all linked mentions, by condition."""

    @classmethod
    def of(cls, records: Iterable[LinkRecord]) -> "_Own":
        """Count the linked mentions of documents."""
        counts: dict[Key, dict[str, int]] = defaultdict(dict)
        for record in records:
            for case in record.cases:
                if (entity := case.entity) is None:
                    continue
                around: list[Key] = [("around", word) for word in case.around]
                for key in (*conditions(case.form, case.label, record.facts), *around):
                    counted = counts[key]
                    counted[entity] = counted.get(entity, 0) + 1
        return cls(counts, {key: sum(counted.values()) for key, counted in counts.items()})


_NOTHING: Final = _Own({}, {})
_NO_DOCUMENTS: Final = np.zeros(0, np.int32)


def _add_to(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for name, n in more.items():
        counts[name] = counts.get(name, 0) + n


class EntityCounts:
    """Counts of entities under conditions, such as a form, or a form in letters to somebody."""

    def __init__(self, records: Iterable[LinkRecord]) -> None:
        self._total: dict[Key, dict[str, int]] = {}
        self._sums: dict[Key, int] = {}
        self._spread: dict[Key, dict[str, int]] = {}
        self._days: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._records: dict[str, list[LinkRecord]] = defaultdict(list)
        self._last: tuple[str | None, _Own] = (None, _NOTHING)
        for record in records:
            self._records[record.id].append(record)
            for entity in {case.entity: None for case in record.cases if case.entity is not None}:
                if record.day is not None:
                    self._days[entity].append((record.day, record.id))
        self.numbers = {id: number for number, id in enumerate(self._records)}
        """The number of each document, by its id."""
        found: dict[str, list[int]] = defaultdict(list)
        for id, some in self._records.items():
            own = _Own.of(some)
            self._add(own)
            for entity in own.counts.get((), ()):
                found[entity].append(self.numbers[id])
        self.documents = {entity: np.array(numbers, np.int32) for entity, numbers in found.items()}
        """The numbers of the documents in which each entity is meant, in ascending order."""
        for days in self._days.values():
            days.sort()

    def _add(self, own: "_Own") -> None:
        for key, counted in own.counts.items():
            _add_to(self._total.setdefault(key, {}), counted)
            self._sums[key] = self._sums.get(key, 0) + own.sums[key]
            if key[:1] == ("normal",):
                _add_to(self._spread.setdefault(key, {}), dict.fromkeys(counted, 1))

    def _own(self, id: str | None) -> "_Own":
        """Count the mentions of one document; the last one is kept, as all its mentions ask.

        Counts of all documents, each by itself, would take more memory than their texts.
        """
        if id is None:
            return _NOTHING
        last, own = self._last
        if last != id:
            own = _Own.of(self._records.get(id, ()))
            self._last = id, own
        return own

    def __contains__(self, id: str) -> bool:
        """Tell whether a document was counted."""
        return id in self._records

    def count(self, key: Key, entity: str, *, without: str | None) -> int:
        """Count how often an entity is meant under a condition, without one document."""
        found = self._total.get(key)
        if found is None or not (n := found.get(entity, 0)):
            return 0
        own = self._own(without).counts.get(key)
        return n - own.get(entity, 0) if own else n

    def of(self, key: Key, entities: Collection[str], *, without: str | None) -> list[int]:
        """Count how often each of some entities is meant under a condition.

        One document is left out.
        """
        found = self._total.get(key)
        if found is None:
            return [0] * len(entities)
        own = self._own(without).counts.get(key)
        if not own:
            return [found.get(entity, 0) for entity in entities]
        return [found.get(entity, 0) - own.get(entity, 0) for entity in entities]

    def among(
        self, key: Key, entities: Mapping[str, object] | None = None, *, without: str | None
    ) -> Iterator[tuple[str, int]]:
        """Yield those of some entities (or of all) that are meant under a condition, and how often.

        They come in any order. One document is left out.
        """
        found: Mapping[str, int] = self._total.get(key, {})
        own: Mapping[str, int] = self._own(without).counts.get(key, {})
        for entity in found if entities is None else found.keys() & entities.keys():
            if left := found[entity] - own.get(entity, 0):
                yield entity, left

    def sum(self, key: Key, *, without: str | None) -> int:
        """Count all linked mentions under a condition, without one document."""
        return self._sums.get(key, 0) - self._own(without).sums.get(key, 0)

    def spread(self, form: str, *, without: str | None) -> Mapping[str, int]:
        """Count the documents in which a normalised form means each entity.

        One document is left out.
        """
        key = ("normal", form)
        found: Mapping[str, int] = self._spread.get(key, {})
        own = self._own(without).counts.get(key)
        if not own:
            return found
        return {e: left for e, n in found.items() if (left := n - (e in own))}

    def ratios(
        self, key: Key, entities: Collection[str], back: Iterable[float], *, without: str | None
    ) -> list[float]:
        """Compute the ratio of each of some entities under a condition, without one document.

        The ratios are smoothed towards ``back``, other ratios of the same entities.
        """
        total = self.sum(key, without=without) + _SMOOTHING
        counted = zip(self.of(key, entities, without=without), back, strict=True)
        return [(n + _SMOOTHING * ratio) / total for n, ratio in counted]

    def n_documents(self, entity: str, *, without: str | None) -> int:
        """Count the documents in which an entity is meant, without one document."""
        numbers = self.documents.get(entity)
        return 0 if numbers is None else len(numbers) - self._has(without, entity)

    def documents_of(self, entity: str, *, without: str | None) -> NDArray[np.int32]:
        """Return the numbers of the documents in which an entity is meant, without one document."""
        documents = self.documents.get(entity, _NO_DOCUMENTS)
        if without is None or not self._has(without, entity):
            return documents
        return np.asarray(documents[documents != self.numbers[without]])

    def _has(self, id: str | None, entity: str) -> bool:
        return entity in self._own(id).counts.get((), ())

    def days_away(self, entity: str, day: int, *, without: str | None) -> int | None:
        """Compute the days to the nearest document in which an entity is meant; None without any.

        One document is left out.
        """
        days = self._days.get(entity)
        if not days:
            return None
        index = bisect_left(days, (day, ""))
        later, earlier = range(index, len(days)), range(index - 1, -1, -1)
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
