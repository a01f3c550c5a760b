import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from corpora.entities.vocabulary import MASK
from corpora.errors import CorpusError
from modeling.config import MaskingConfig
from modeling.data.batches import Collator
from modeling.data.masking import Masker
from modeling.data.texts import ExamplePart, ExampleView

CLS, SEP = 2, 3
USUAL = MaskingConfig()
NOTHING = MaskingConfig(ratio=0.0, entity_ratio=0.0)


def collate(views, subwords, samples, config=USUAL, **settings):
    settings = {"n_entities": samples.n_entities, "with_words": True} | settings
    return Collator(Masker(config, subwords), **settings)(views, samples.rng(views))


def sequences_of(batch, values):
    """Deal values of rows out to lists, one for each sequence."""
    sequences = batch.rows.subwords.sequences.tolist()
    lists = [[] for _ in batch.ids]
    for sequence, value in zip(sequences, values.tolist(), strict=True):
        lists[sequence].append(value)
    return lists


@given(st.data())
def test_an_example_that_fits_is_in_the_batch_as_a_whole(subwords, samples, data):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    batch = collate([samples.view(row) for row in rows], subwords, samples)

    restored = batch.subwords.clone()
    targets = batch.targets["subwords"]
    restored[targets.rows] = targets.labels
    assert sequences_of(batch, restored) == [[CLS, *row["input_ids"], SEP] for row in rows]
    assert batch.ids == tuple(row["id"] for row in rows)
    assert batch.counts == {}


@given(st.data())
def test_the_subwords_of_a_mention_are_those_of_its_row(subwords, samples, data):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    batch = collate([samples.view(row) for row in rows], subwords, samples, NOTHING)

    expected = [
        (number, entity, row["input_ids"][start:end])
        for number, row in enumerate(rows)
        for entity, start, end in zip(
            row["entity_ids"], row["entity_starts"], row["entity_ends"], strict=True
        )
    ]
    texts = sequences_of(batch, batch.subwords)
    found = []
    if batch.mentions is not None:
        offsets = [*batch.mentions.offsets.tolist(), len(batch.mentions.positions)]
        for number, sequence in enumerate(batch.rows.entities.sequences.tolist()):
            places = batch.mentions.positions[offsets[number] : offsets[number + 1]].tolist()
            entity = int(batch.mentions.entities[number])
            found.append((sequence, entity, [texts[sequence][place] for place in places]))
    assert found == expected


@given(st.data())
def test_of_masked_mentions_the_subwords_are_targets_too_if_so_asked(subwords, samples, data):
    rows = data.draw(samples.lists(min_size=1, max_size=4))
    config = MaskingConfig(mention_words=True, entity_mask=0.5, entity_random=0.5)

    batch = collate([samples.view(row) for row in rows], subwords, samples, config)

    spans = [
        (number, start + 1, end + 1)
        for number, row in enumerate(rows)
        for start, end in zip(row["entity_starts"], row["entity_ends"], strict=True)
    ]
    lengths = [len(row["input_ids"]) + 2 for row in rows]
    offsets = np.cumsum(lengths) - lengths
    targets = set(batch.targets["subwords"].rows.tolist())
    chosen = batch.targets["entities"].rows.tolist() if "entities" in batch.targets else []
    for mention in chosen:
        number, start, end = spans[mention]
        assert targets >= {offsets[number] + place for place in range(start, end)}


@given(st.data())
def test_masked_mentions_have_their_entities_as_labels(subwords, samples, data):
    rows = data.draw(samples.lists(min_size=1, max_size=4))
    entities = [entity for row in rows for entity in row["entity_ids"]]

    batch = collate([samples.view(row) for row in rows], subwords, samples)

    if not any(entity > MASK for entity in entities):
        assert "entities" not in batch.targets
        return
    targets, restored = batch.targets["entities"], batch.mentions.entities.clone()
    assert (restored[targets.rows] == MASK).all()
    restored[targets.rows] = targets.labels
    assert restored.tolist() == entities


@given(st.data())
def test_each_special_subword_is_a_word_beside_those_of_the_text(subwords, samples, data):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    batch = collate([samples.view(row) for row in rows], subwords, samples)

    expected = []
    for row in rows:
        borders = [*row["word_starts"], len(row["input_ids"])]
        expected += [1, *np.diff(borders).tolist(), 1]
    words = batch.rows.words
    assert words.n_subwords.tolist() == expected
    assert words.of_subword.tolist() == np.repeat(np.arange(len(expected)), expected).tolist()
    assert torch.bincount(words.layout.sequences).tolist() == [
        len(row["word_starts"]) + 2 for row in rows
    ]


@given(st.data())
def test_mentions_stand_behind_the_subwords_of_their_sequence(subwords, samples, data):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    batch = collate([samples.view(row) for row in rows], subwords, samples)

    n_mentions = sum(len(row["entity_ids"]) for row in rows)
    numbers = torch.arange(1, len(batch.subwords) + n_mentions + 1)
    padded = batch.rows.together.pad(numbers)
    next_subword, next_mention = 1, len(batch.subwords) + 1
    for row, line in zip(rows, padded.tolist(), strict=True):
        n, e = len(row["input_ids"]) + 2, len(row["entity_ids"])
        expected = [*range(next_subword, next_subword + n), *range(next_mention, next_mention + e)]
        assert [number for number in line if number] == expected
        next_subword, next_mention = next_subword + n, next_mention + e


def pair(samples, label=1):
    first, second = samples.row("a#0", 9), samples.row("b#0", 7)
    example, other = samples.example(first), samples.example(second)
    return (
        ExampleView(example, (ExamplePart(example, 2, 6), ExamplePart(other, 0, 7)), label=label),
        first,
        second,
    )


def test_a_pair_is_framed_by_three_special_subwords_and_two_segments(subwords, samples):
    view, first, second = pair(samples)

    batch = collate([view], subwords, samples, NOTHING, with_segments=True)

    expected = [CLS, *first["input_ids"][2:6], SEP, *second["input_ids"], SEP]
    assert batch.subwords.tolist() == expected
    assert batch.segments.tolist() == [0] * 6 + [1] * 8


def test_pairs_have_targets_and_single_texts_have_none(subwords, samples):
    views = [pair(samples, 0)[0], samples.view(samples.row("c#0", 5)), pair(samples, 1)[0]]

    batch = collate(views, subwords, samples)

    assert batch.targets["pairs"].rows.tolist() == [0, 2]
    assert batch.targets["pairs"].labels.tolist() == [0, 1]


def test_mentions_of_the_second_text_are_shifted_behind_the_first(subwords, samples):
    view, _, second = pair(samples)
    second |= {"entity_ids": [9], "entity_starts": [1], "entity_ends": [3]}
    view = ExampleView(
        view.example, (ExamplePart(view.example, 0, 0), ExamplePart(samples.example(second), 0, 7))
    )

    batch = collate([view], subwords, samples, NOTHING)

    places = batch.mentions.positions.tolist()
    assert batch.subwords[places].tolist() == second["input_ids"][1:3]


@pytest.mark.parametrize("n_mentions", [0, 1])
def test_batches_with_one_mention_or_none(subwords, samples, n_mentions):
    rows = [samples.row(f"d{number}#0", 4) for number in range(3)]
    for row in rows:
        row |= {"entity_ids": [], "entity_starts": [], "entity_ends": []}
    if n_mentions:
        rows[1] |= {"entity_ids": [5], "entity_starts": [0], "entity_ends": [2]}

    batch = collate([samples.view(row) for row in rows], subwords, samples)

    if not n_mentions:
        assert batch.mentions is None
        assert batch.rows.entities is None
        assert batch.rows.together is batch.rows.subwords
        return
    assert batch.mentions.positions.tolist() == [1, 2]
    assert batch.targets["entities"].labels.tolist() == [5]
    assert batch.rows.entities.sequences.tolist() == [1]


def test_an_example_without_subwords_is_two_special_ones(subwords, samples):
    row = samples.row("a#0", 1)
    row |= {name: [] for name, value in row.items() if isinstance(value, list)}

    batch = collate([samples.view(row)], subwords, samples)

    assert batch.subwords.tolist() == [CLS, SEP]
    assert batch.targets == {}


def test_a_model_without_entities_or_words_gets_none(subwords, samples):
    view = samples.view(samples.row("a#0", 30))

    batch = collate([view], subwords, samples, n_entities=0, with_words=False)

    assert batch.mentions is batch.segments is batch.rows.words is None
    assert set(batch.targets) == {"subwords"}


def test_mentions_are_masked_whole_for_a_model_without_entities_too(subwords, samples):
    mention = {"entity_ids": [99], "entity_starts": [3], "entity_ends": [8]}
    row = samples.row("a#0", 20) | {"word_starts": list(range(20))} | mention
    config = MaskingConfig(unit="entity", budget="units", mask=1.0, random=0.0)

    batch = collate([samples.view(row)], subwords, samples, config, n_entities=0)

    assert batch.targets["subwords"].rows.tolist()[:5] == [4, 5, 6, 7, 8]
    assert batch.mentions is None


def test_subwords_before_the_first_word_are_a_word(subwords, samples):
    row = samples.row("a#0", 5) | {"word_starts": [2]}

    batch = collate([samples.view(row)], subwords, samples)

    assert batch.rows.words.n_subwords.tolist() == [1, 2, 3, 1]


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"input_ids": [8, 60, 8]}, "a subword beyond the 60"),
        ({"input_ids": [8, -1, 8]}, "a subword beyond the 60"),
        ({"word_starts": [0, 3]}, "a word outside"),
        ({"entity_starts": [2], "entity_ends": [4]}, "a mention outside"),
        ({"entity_starts": [2], "entity_ends": [2]}, "a mention outside"),
        ({"entity_ids": [20]}, "an entity beyond the 20"),
    ],
)
def test_a_row_that_is_not_valid_is_named(subwords, samples, wrong, what):
    mention = {"entity_ids": [4], "entity_starts": [0], "entity_ends": [1]}
    bad = samples.row("b#3", 3) | mention | wrong
    views = [samples.view(samples.row("a#0", 9)), samples.view(bad)]

    with pytest.raises(CorpusError, match=f"example b#3: has {what}"):
        collate(views, subwords, samples)
