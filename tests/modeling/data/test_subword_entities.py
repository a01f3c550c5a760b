"""Subwords that know entities: which, what is hidden, what is predicted, and among which ids."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.entities.vocabulary import MASK
from corpora.errors import CorpusError
from modeling.config import HeadsConfig, MaskingConfig
from modeling.data.batches import Batches, Collator, ValidationBatches
from modeling.data.entities import Scopes, Spreader, draw_others
from modeling.data.examples import ExampleSet
from modeling.data.masking import Masker
from modeling.data.rng import key_of
from modeling.data.texts import ExamplePart, ExampleView

MASKING = MaskingConfig(unit="subword", ratio=0.3)


def collate(views, subwords, samples, **spreading):
    spread = Spreader(**spreading)
    collator = Collator(Masker(MASKING, subwords), n_entities=samples.n_entities, spread=spread)
    return collator(views, samples.rng(views))


def known_in(batch):
    """Return the entity of each subword that has one, by (example, position)."""
    layout, known = batch.rows.subwords, batch.subword_entities
    if known is None:
        return {}
    return {
        (int(layout.sequences[row]), int(layout.positions[row])): entity
        for row, entity in zip(known.rows.tolist(), known.entities.tolist(), strict=True)
    }


def expected_in(rows):
    """Return the mention of each subword: the longest with an entity, else the longest [UNK]."""
    found = {}
    for number, row in enumerate(rows):
        mentions = list(
            zip(row["entity_ids"], row["entity_starts"], row["entity_ends"], strict=True)
        )
        for place in range(len(row["input_ids"])):
            around = [(m, i) for i, m in enumerate(mentions) if m[1] <= place < m[2]]
            if around:
                best = max(around, key=lambda x: (x[0][0] > MASK, x[0][2] - x[0][1], -x[1]))
                found[number, place + 1] = best
    return found


def places_of(batch, rows):
    layout = batch.rows.subwords
    return {(int(layout.sequences[row]), int(layout.positions[row])) for row in rows.tolist()}


@given(st.data())
@settings(max_examples=50)
def test_a_subword_knows_the_longest_mention_that_it_is_part_of(subwords, samples, data):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    batch = collate([samples.view(row) for row in rows], subwords, samples)

    expected = expected_in(rows)
    assert known_in(batch) == {place: mention[0] for place, (mention, _) in expected.items()}
    assert batch.mentions is None
    assert batch.rows.together is batch.rows.subwords
    targets = batch.targets.get("subword_entities")
    predicted = {place for place, (mention, _) in expected.items() if mention[0] > MASK}
    assert (places_of(batch, targets.rows) if targets else set()) == predicted


@given(st.data())
@settings(max_examples=50)
def test_hidden_are_the_mentions_with_a_masked_subword_and_these_alone_are_predicted(
    subwords, samples, data
):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    batch = collate([samples.view(row) for row in rows], subwords, samples, is_hiding=True)

    owners = expected_in(rows)
    masked = (
        places_of(batch, batch.targets["subwords"].rows) if "subwords" in batch.targets else set()
    )
    hidden = {(number, owners[number, p][1]) for number, p in masked & owners.keys()}
    shown = {
        place: mention[0]
        for place, (mention, index) in owners.items()
        if (place[0], index) not in hidden
    }
    assert known_in(batch) == shown
    targets = batch.targets.get("subword_entities")
    asked = {p for p, (m, _) in owners.items() if p not in shown and m[0] > MASK}
    assert (places_of(batch, targets.rows) if targets else set()) == asked


def test_a_batch_without_mentions_has_neither_entities_nor_targets(subwords, samples):
    bare = samples.row("d#0", 9) | {"entity_ids": [], "entity_starts": [], "entity_ends": []}

    batch = collate([samples.view(bare)], subwords, samples)

    assert batch.subword_entities is None
    assert set(batch.targets) == {"subwords"}


def test_labels_are_the_entities_though_they_are_hidden(subwords, samples):
    row = samples.row("d#0", 30) | {"entity_ids": [7], "entity_starts": [2], "entity_ends": [28]}

    batch = collate([samples.view(row)], subwords, samples, is_hiding=True)

    assert batch.subword_entities is None
    assert batch.targets["subword_entities"].labels.tolist() == [7] * 26


def grouped_rows(samples, n=40):
    """Return rows of documents with three examples each, in groups of four documents."""
    rows = samples.rows(n)
    return [row | {"group": f"g{int(row['document_id'][1:]) // 4}"} for row in rows]


@pytest.fixture(scope="module")
def scoped(samples, tmp_path_factory):
    rows = grouped_rows(samples)
    return rows, samples.write(tmp_path_factory.mktemp("scoped") / "examples", rows)


@pytest.mark.parametrize(("kind", "name"), [("group", "group"), ("document", "document_id")])
def test_a_scope_has_the_entities_that_its_examples_mention(scoped, kind, name):
    rows, path = scoped

    scopes = Scopes.read([path], kind)

    expected = defaultdict(set)
    for row in rows:
        expected[row[name]] |= {entity for entity in row["entity_ids"] if entity > MASK}
    documents = {row["document_id"]: row[name] for row in rows}
    numbers = scopes.numbers(documents)
    for number, scope in zip(numbers.tolist(), documents.values(), strict=True):
        assert scopes.entities(number).tolist() == sorted(expected[scope])


def test_a_document_that_is_not_there_is_named(scoped):
    scopes = Scopes.read([scoped[1]], "group")

    with pytest.raises(CorpusError, match="nowhere"):
        scopes.numbers(["nowhere"])


def choices_of(targets):
    """Return of each target its label, the ids to choose from, and its place among these."""
    choices = targets.choices
    ids = torch.split(choices.ids, list(choices.sizes))
    places = torch.split(choices.places, list(choices.n_targets))
    labels = iter(targets.labels.tolist())
    return [
        (next(labels), of.tolist(), int(place))
        for of, own in zip(ids, places, strict=True)
        for place in own
    ]


def test_nothing_of_another_document_is_among_the_choices(scoped, subwords, samples):
    rows, path = scoped
    scopes = Scopes.read([path], "document")
    chosen = [rows[number] for number in (30, 2, 17, 0, 9)]  # 2 and 0 are of one document

    batch = collate([samples.view(row) for row in chosen], subwords, samples, scopes=scopes)

    targets = batch.targets["subword_entities"]
    of_document = defaultdict(set)
    for row in rows:
        of_document[row["document_id"]] |= {entity for entity in row["entity_ids"] if entity > MASK}
    sequences = batch.rows.subwords.sequences[targets.rows].tolist()
    for sequence, (label, ids, place) in zip(sequences, choices_of(targets), strict=True):
        assert ids == sorted(of_document[chosen[sequence]["document_id"]])
        assert ids[place] == label
    known = known_in(batch)
    labels = dict(zip(targets.rows.tolist(), targets.labels.tolist(), strict=True))
    layout = batch.rows.subwords
    for row, label in labels.items():
        assert known[int(layout.sequences[row]), int(layout.positions[row])] == label


def test_a_second_text_of_a_pair_has_the_choices_of_its_own_document(scoped, subwords, samples):
    rows, path = scoped
    with_mentions = [row for row in rows if any(id > MASK for id in row["entity_ids"])]
    one, other = with_mentions[0], with_mentions[-1]
    views = [samples.example(row) for row in (one, other)]
    view = ExampleView(views[0], tuple(ExamplePart(e, 0, len(e.subwords)) for e in views))

    batch = collate([view], subwords, samples, scopes=Scopes.read([path], "document"))

    sets = {tuple(ids) for _, ids, _ in choices_of(batch.targets["subword_entities"])}
    assert len(sets) == 2


def test_negatives_are_of_the_own_scope_and_depend_on_no_other_example(scoped, subwords, samples):
    rows, path = scoped
    scopes = Scopes.read([path], "group")
    views = [samples.view(rows[number]) for number in (31, 4, 16, 5)]

    batch = collate(views, subwords, samples, scopes=scopes, n_negatives=3)

    alone = [collate([view], subwords, samples, scopes=scopes, n_negatives=3) for view in views]
    found = Counter()
    for single in alone:
        found.update(described(single))
    assert described(batch) == found
    for _, label, negatives, n_others in found:
        others = set(negatives) - {label}
        assert len(others) == min(3, n_others)


def described(batch):
    """Count targets with their negatives, in no order."""
    targets = batch.targets.get("subword_entities")
    if targets is None:
        return Counter()
    ids = [batch.ids[n] for n in batch.rows.subwords.sequences[targets.rows].tolist()]
    columns = targets.labels.tolist(), targets.negatives.tolist(), targets.n_others.tolist()
    return Counter(
        (id, label, tuple(sorted(negatives)), n)
        for id, label, negatives, n in zip(ids, *columns, strict=True)
    )


@given(st.integers(1, 12), st.integers(0, 15), st.integers(0, 5))
def test_others_are_drawn_without_the_label_and_none_twice(size, n, seed):
    places = np.arange(size)

    drawn = draw_others(places, size, n=n, keys=key_of(seed, places))

    for place, others in zip(places.tolist(), drawn.tolist(), strict=True):
        assert len(set(others)) == len(others) == min(n, size - 1)
        assert set(others) <= set(range(size)) - {place}


def test_all_sets_of_others_are_drawn_as_often():
    places = np.full(6_000, 2)

    drawn = draw_others(places, 5, n=2, keys=key_of(1, np.arange(6_000)))

    counts = Counter(tuple(sorted(others)) for others in drawn.tolist())
    assert set(counts) == set(combinations([0, 1, 3, 4], 2))
    assert max(abs(count - 1_000) for count in counts.values()) < 150  # 5 deviations


def config_of(samples, **changes):
    """Return settings where subwords know entities, and predict them beside masked subwords."""
    weights = {"subwords": 1.0, "subword_entities": 1.0}
    config = samples.config(encoder={"entities": "subwords"})
    return replace(config, heads=HeadsConfig(weights=weights, entity_scope="group"), **changes)


@pytest.mark.parametrize("scope", ["vocabulary", "group"])
@pytest.mark.parametrize("n_negatives", [0, 4])
def test_batches_come_through_other_processes_unchanged(
    scoped, subwords, samples, scope, n_negatives
):
    config = config_of(samples, masking=replace(MASKING, n_negatives=n_negatives))
    config = replace(config, heads=replace(config.heads, entity_scope=scope))
    scopes = Scopes.read([scoped[1]], "group") if scope == "group" else None
    sets = [ExampleSet(scoped[1], "train")]

    made = [
        list(Batches(one, sets, subwords, scopes=scopes).steps(0, 2))
        for one in (config, replace(config, data=replace(config.data, n_workers=1)))
    ]

    for here, there in zip(*made, strict=True):
        for one, other in zip(here, there, strict=True):
            numbers = [[], []]
            for batch, tensors in zip((one, other), numbers, strict=True):
                batch.map(lambda tensor, tensors=tensors: tensors.append(tensor) or tensor)
            assert len(numbers[0]) == len(numbers[1])
            assert all(torch.equal(a, b) for a, b in zip(*numbers, strict=True))
            targets = one.targets["subword_entities"]
            assert (targets.choices is None) == (scope == "vocabulary" or n_negatives > 0)
            assert (targets.negatives is None) == (n_negatives == 0)


def test_validation_entities_are_hidden_where_they_are_predicted(scoped, subwords, samples):
    sets = [ExampleSet(scoped[1], "validation")]
    scopes = Scopes.read([scoped[1]], "group")

    batches = list(ValidationBatches(config_of(samples), sets, subwords, scopes=scopes))

    n_targets = 0
    for batch in batches:
        targets = batch.targets.get("subword_entities")
        if targets is None:
            continue
        known = batch.subword_entities
        assert targets.choices is not None
        assert known is None or not set(known.rows.tolist()) & set(targets.rows.tolist())
        n_targets += len(targets.labels)
    assert n_targets
