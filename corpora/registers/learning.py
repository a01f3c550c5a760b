"""Probabilities of names and of their entities, learned from the tagged documents of an edition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corpora.evidence.evidence import Evidence, learn
from corpora.evidence.places import Floats, Places
from corpora.registers.places import Features, Place, View
from corpora.registers.tagged_names import N_FOLDS, TaggedNames, fold_of

MIN_NAMES = 50
"""The fewest tagged names at places of known forms from which anything is learned."""
ERRORS_OF_IDS = 0.4
"""The part of the errors that are allowed for names that is allowed for their ids: of names that
are right at 95 %, ids are right at 98 %."""


@dataclass(frozen=True)
class Learned:
    """How probable it is that a place is a name, and that this name means an entity."""

    names: Evidence
    meanings: Evidence | None
    """None: too few names have ids."""

    def probabilities(self, places: Sequence[Place]) -> list[float]:
        """Return the probability that each place is a name."""
        if not places:
            return []
        table = _table([place.features for place in places])
        chances: list[float] = self.names.probabilities(table).tolist()
        return chances

    def meaning(self, place: Place) -> tuple[str, float] | None:
        """Return the most probable entity of a name, with its probability."""
        if self.meanings is None or not place.of_meanings:
            return None
        table = _table(list(place.of_meanings.values()))
        chances = self.meanings.probabilities(table)
        best = int(np.argmax(chances))
        return list(place.of_meanings)[best], float(chances[best])


def learn_places(names: TaggedNames, *, min_precision: float) -> Learned | None:
    """Learn from the places of tagged documents; None if there are too few tagged names there."""
    samples, of_meanings = _Samples(), _Samples()
    n_missed = 0
    for held in range(N_FOLDS):
        documents = [document for document in names.tagged if fold_of(document) == held]
        if not documents:
            continue
        view = View(names, held)
        for document in documents:
            tagged, places = names.names_of(document), view.places(document)
            kinds = names.tagged_kinds(document, [place.occurrence for place in places])
            n_missed += len(tagged)
            for place in places:
                one, kind = place.occurrence, place.facts.kind
                name = tagged.get((one.start, one.end))
                is_name = name is not None and name.kind == kind
                if kind not in kinds or place.is_in_run:
                    continue
                n_missed -= is_name
                samples.add(place.features, is_name, document.source)
                if is_name and name and len(name.entities) == 1:
                    for entity, features in place.of_meanings.items():
                        of_meanings.add(features, entity == name.entities[0], document.source)
    if sum(samples.truth) < MIN_NAMES:
        return None
    evidence = learn(samples.table(), min_precision=min_precision, n_missed=n_missed)
    least = 1 - ERRORS_OF_IDS * (1 - min_precision)
    is_enough = sum(of_meanings.truth) >= MIN_NAMES
    meanings = learn(of_meanings.table(), min_precision=least) if is_enough else None
    return Learned(evidence, meanings)


class _Samples:
    """Places of known truth, as they are collected."""

    def __init__(self) -> None:
        self._features: list[Features] = []
        self.truth: list[bool] = []
        self._sources: list[str] = []

    def add(self, features: Features, is_true: bool, source: str) -> None:  # noqa: FBT001
        self._features.append(features)
        self.truth.append(is_true)
        self._sources.append(source)

    def table(self) -> Places:
        names = list(self._features[0])
        return Places.of(_table(self._features), np.array(self.truth), self._sources, names=names)


def _table(rows: Sequence[Mapping[str, float]]) -> Floats:
    return np.array([list(row.values()) for row in rows], np.float64)
