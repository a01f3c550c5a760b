"""Features of the whole document, compared with their definition, name by name."""

import math
import sys

import numpy as np
import pytest

from modeling.link.candidates import FEATURES, N_PLAIN, Candidates
from modeling.link.coherence import add_document_features
from modeling.link.counts import EntityCounts
from modeling.link.records import Case, LinkRecord


def record(id, entities):
    return LinkRecord(id, None, (), tuple(Case(e, None, e, ()) for e in entities))


def by_definition(found, chosen, forms, *, records, without):
    """Yield both features of each candidate by their definitions.

    These are its highest probability under other forms, and the mean of how often it stands
    together with the likely entities of other forms.
    """
    own = {}
    for one, probabilities, form in zip(found, chosen, forms, strict=True):
        for entity, p in zip(one.entities, probabilities, strict=True):
            of = own.setdefault(form, {})
            of[entity] = max(p, of.get(entity, 0))
    best = {form: max(of, key=of.get) for form, of in own.items()}

    def documents(entity):
        return {r.id for r in records if any(c.entity == entity for c in r.cases)} - {without}

    def together(one, other):
        a, b = documents(one), documents(other)
        return len(a & b) / math.sqrt(len(a) * len(b)) if a and b else 0.0

    for one, form in zip(found, forms, strict=True):
        for entity in one.entities:
            elsewhere = [of.get(entity, 0.0) for name, of in own.items() if name != form]
            near = [
                own[name][other] * together(entity, other)
                for name, other in best.items()
                if name != form and other != entity
            ]
            yield max(elsewhere, default=0.0), sum(near) / len(near) if near else 0.0


def sample(n_names, *, n_documents=40, n_entities=60, seed=1):
    """Draw documents, and names of one more, whose forms come again."""
    draw = np.random.default_rng(seed)
    entities = np.array([f"e{n}" for n in range(n_entities)])
    records = [record(f"d{n}", draw.choice(entities, 12)) for n in range(n_documents)]
    forms = [f"f{n}" for n in draw.integers(0, max(n_names * 2 // 3, 1), n_names)]
    found = [
        Candidates(tuple(draw.choice(entities, n, replace=False)), np.zeros((n, len(FEATURES))))
        for n in draw.integers(0, 9, n_names)
    ]
    chosen = [draw.dirichlet(np.ones(len(one.entities))) for one in found if one.entities]
    rest = iter(chosen)
    return records, found, [next(rest) if one.entities else np.zeros(0) for one in found], forms


@pytest.mark.parametrize("without", [None, "d3"])
@pytest.mark.parametrize("n_names", [1, 2, 30])
def test_columns_are_as_defined(n_names, without):
    records, found, chosen, forms = sample(n_names)
    counts = EntityCounts(records)

    add_document_features(found, chosen, forms, counts=counts, without=without)

    right = by_definition(found, chosen, forms, records=records, without=without)
    columns = np.concatenate([one.features[:, N_PLAIN:] for one in found])
    right = np.array(list(right)).reshape(-1, 2)
    np.testing.assert_allclose(columns, right, rtol=1e-12, atol=1e-15)


def n_calls(function):
    """Count the calls of functions: a measure of work that is the same on every machine."""
    n = 0

    def count(_frame, event, _argument):
        nonlocal n
        n += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return n


def test_a_document_of_twice_as_many_names_takes_twice_as_much():
    def calls(n_names):
        records, found, chosen, forms = sample(n_names, n_entities=2 * n_names)
        counts = EntityCounts(records)
        return n_calls(
            lambda: add_document_features(found, chosen, forms, counts=counts, without=None)
        )

    assert calls(1200) < 2.3 * calls(600)
