"""Features of a candidate from the other mentions of its document.

There are two: whether other forms of the document mean the same entity, and how strongly the
candidate is associated with the entities of the other forms. The association of two entities is
the cosine of the sets of training documents in which each is meant. The time for a mention does not
grow with the length of the document.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeling.link.candidates import N_PLAIN, Candidates
from modeling.link.counts import EntityCounts

Reals = NDArray[np.float64]


class _Chosen(NamedTuple):
    """The likeliest entity of a form of the document."""

    entity: str
    probability: float
    documents: NDArray[np.int32]
    """The numbers of the training documents in which the entity is meant."""

    @property
    def share(self) -> float:
        """The weight that each of its documents adds to its association with others."""
        return self.probability / math.sqrt(max(len(self.documents), 1))


class _Most(NamedTuple):
    """The highest probability of an entity over all forms, and over all forms but ``form``."""

    form: str
    first: float
    second: float

    def elsewhere(self, form: str) -> float:
        return self.second if form == self.form else self.first


def add_document_features(
    found: Sequence[Candidates],
    chosen: Sequence[Reals],
    forms: Sequence[str],
    *,
    counts: EntityCounts,
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
        if not one.entities:
            continue
        one.features[:, N_PLAIN] = [most[entity].elsewhere(form) for entity in one.entities]
        one.features[:, N_PLAIN + 1] = others.means(one.entities, form)


def _most_by_entity(by_form: Mapping[str, Mapping[str, float]]) -> dict[str, _Most]:
    most: dict[str, _Most] = {}
    for form, shares in by_form.items():
        for entity, p in shares.items():
            known = most.get(entity, _Most(form, 0.0, 0.0))
            if p > known.first:
                most[entity] = _Most(form, p, known.first)
            else:
                most[entity] = known._replace(second=max(p, known.second))
    return most


class _Others:
    """The likeliest entity of each form of a document, to compare candidates with.

    The sum of an entity's associations with all of these is a sum over its training documents: of
    what each of them has from the entities in it. So entities are not compared pair by pair.
    """

    def __init__(
        self, by_form: Mapping[str, Mapping[str, float]], counts: EntityCounts, without: str | None
    ) -> None:
        self._documents = partial(counts.documents_of, without=without)
        best = {form: max(own.items(), key=itemgetter(1)) for form, own in by_form.items() if own}
        self._chosen = {
            form: _Chosen(entity, p, self._documents(entity)) for form, (entity, p) in best.items()
        }
        self._own: dict[str, dict[str, float]] = defaultdict(dict)
        self._shares = np.zeros(len(counts.numbers))
        for form, one in self._chosen.items():
            self._own[one.entity][form] = one.probability
            self._shares[one.documents] += one.share

    def means(self, entities: Sequence[str], form: str) -> Reals:
        """Compute the mean association of entities with the entities of all other forms; (C,).

        Forms that mean the entity itself are left out.
        """
        chosen = self._chosen[form]
        kept = self._shares[chosen.documents]
        self._shares[chosen.documents] -= chosen.share
        documents = [self._documents(entity) for entity in entities]
        sizes = np.array([len(document) for document in documents])
        owner = np.repeat(np.arange(len(entities)), sizes)
        sums = np.bincount(owner, self._shares[np.concatenate(documents)], len(entities))
        self._shares[chosen.documents] = kept
        own = [self._own.get(entity, {}) for entity in entities]
        itself = np.array([sum(of.values()) - of.get(form, 0.0) for of in own])  # cosines of 1
        others = len(self._chosen) - np.array([len(of) + (form not in of) for of in own])
        known = (sizes > 0) & (others > 0)
        associations = sums / np.sqrt(np.maximum(sizes, 1)) - itself
        return np.where(known, associations / np.maximum(others, 1), 0.0)
