"""Features of a candidate from the other mentions of its document.

There are two: whether other forms of the document mean the same entity, and how strongly the
candidate is associated with the entities of the other forms. The association of two entities is the
cosine of the sets of training documents in which each is meant. Only pairs that share a training
document are compared, so that the time for a mention does not grow with the length of the document.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeling.link.candidates import N_PLAIN, Candidates
from modeling.link.counts import Counts

Reals = NDArray[np.float64]


class _Chosen(NamedTuple):
    """The likeliest entity of a form of the document."""

    form: str
    entity: str
    probability: float


class _Near(NamedTuple):
    """The association of an entity with the entities of the document's forms."""

    by_form: Mapping[str, float]
    """The association with the entity of each form, if above 0, in the order of the document."""
    total: float
    """The sum of ``by_form``."""
    own: frozenset[str]
    """The forms whose likeliest entity is this one."""


class _Most(NamedTuple):
    """The highest probability of an entity over all forms, and over all forms but ``form``."""

    form: str
    first: float
    second: float


def add_document_features(
    found: Sequence[Candidates],
    chosen: Sequence[Reals],
    forms: Sequence[str],
    *,
    counts: Counts,
    without: str | None,
) -> None:
    """Fill in the columns of the document.

    ``chosen`` are the probabilities of the candidates of each mention, computed without these
    columns.
    """
    by_form: dict[str, dict[str, float]] = {}
    for one, probabilities, form in zip(found, chosen, forms, strict=True):
        own = by_form.setdefault(form, {})
        for entity, p in zip(one.entities, probabilities.tolist(), strict=True):
            own[entity] = max(p, own.get(entity, 0.0))
    most = _most_by_entity(by_form)
    others = _Others(by_form, counts, without)
    for one, form in zip(found, forms, strict=True):
        one.features[:, N_PLAIN:] = [
            (_elsewhere(most[entity], form), others.mean(entity, form)) for entity in one.entities
        ] or np.zeros((0, 2))


def _most_by_entity(by_form: Mapping[str, Mapping[str, float]]) -> dict[str, _Most]:
    most: dict[str, _Most] = {}
    for form, own in by_form.items():
        for entity, p in own.items():
            known = most.get(entity, _Most(form, 0.0, 0.0))
            if p > known.first:
                most[entity] = _Most(form, p, known.first)
            else:
                most[entity] = known._replace(second=max(p, known.second))
    return most


def _elsewhere(most: _Most, form: str) -> float:
    return most.second if form == most.form else most.first


class _Others:
    """The likeliest entity of each form of a document, to compare candidates with."""

    def __init__(
        self, by_form: Mapping[str, Mapping[str, float]], counts: Counts, without: str | None
    ) -> None:
        self._counts, self._without = counts, without
        best = [(form, max(own.items(), key=_second)) for form, own in by_form.items() if own]
        self._chosen = [_Chosen(form, *pair) for form, pair in best]
        self._forms = {one.form for one in self._chosen}
        self._own: dict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(self._chosen):
            self._own[one.entity].append(number)
        self._probabilities = np.array([one.probability for one in self._chosen])
        self._n_documents = np.array(
            [counts.n_documents(one.entity, without=without) for one in self._chosen], np.int64
        )
        self._in_document = self._index()
        self._near = cache(self._find_near)

    def _index(self) -> dict[str, NDArray[np.int64]]:
        """Index the chosen entities by the training documents in which they are meant.

        The document itself is left out.
        """
        found: dict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(self._chosen):
            for document in self._counts.documents.get(one.entity, ()):
                found[document].append(number)
        found.pop(self._without or "", None)
        return {document: np.array(numbers, np.int64) for document, numbers in found.items()}

    def mean(self, entity: str, form: str) -> float:
        """Compute the mean association of an entity with the entities of all other forms.

        Forms that mean the entity itself are left out.
        """
        near = self._near(entity)
        n = len(self._chosen) - len(near.own | (self._forms & {form}))
        if not n:
            return 0.0
        if form not in near.by_form:
            return near.total / n
        return sum(value for other, value in near.by_form.items() if other != form) / n

    def _find_near(self, entity: str) -> _Near:
        documents = self._counts.documents.get(entity, ())
        parts = [self._in_document[one] for one in documents if one in self._in_document]
        numbers_of_own = self._own.get(entity, [])
        own = frozenset(self._chosen[number].form for number in numbers_of_own)
        if not parts:
            return _Near({}, 0.0, own)
        n = np.bincount(np.concatenate(parts), minlength=len(self._chosen))
        n[numbers_of_own] = 0
        numbers = np.flatnonzero(n)
        size = self._counts.n_documents(entity, without=self._without)
        cosines = n[numbers] / np.sqrt(size * self._n_documents[numbers])
        values = (self._probabilities[numbers] * cosines).tolist()
        forms = [self._chosen[number].form for number in numbers.tolist()]
        return _Near(dict(zip(forms, values, strict=True)), sum(values), own)


def _second(pair: tuple[str, float]) -> float:
    return pair[1]
