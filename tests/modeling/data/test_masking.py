from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.config import ConfigError, MaskingConfig
from modeling.data.masking import EVALUATION, Masker, check_masking
from modeling.data.rng import Integers, RandomUse
from modeling.data.texts import FlatViews

POLICIES = st.builds(
    MaskingConfig,
    unit=st.sampled_from(["subword", "word", "entity"]),
    budget=st.sampled_from(["bernoulli", "units", "subwords"]),
    draw=st.sampled_from(["unit", "subword"]),
    ratio=st.sampled_from([0.0, 0.15, 0.5, 1.0]),
)
UNK, CLS, SEP, MASK = 1, 2, 3, 4


class Masked(NamedTuple):
    """The rows to be predicted, all subwords after masking, and those that were in the rows."""

    rows: Integers
    subwords: Integers
    labels: Integers

    @classmethod
    def of(cls, text, rows, subwords):
        return cls(rows, subwords, text.subwords[rows])


def masked(rows, config, subwords, samples, epoch=0):
    """Mask rows; returns the masker, the text, its random numbers, and what came out."""
    views = [samples.view(row) for row in rows]
    text = FlatViews.of(views, subwords, n_entities=0)
    rng = samples.rng(views, epoch=epoch)
    masker = Masker(config, subwords)
    return masker, text, rng, Masked.of(text, *masker.mask_text(text, rng))


def literal_units(rows, unit):
    """Return the units of rows by definition: [(example, start, end, whether it goes first)]."""
    units, offset = [], 0
    for number, row in enumerate(rows):
        n = len(row["input_ids"])
        borders = row["word_starts"] if unit != "subword" else list(range(n))
        words = list(zip(borders, [*borders[1:], n], strict=True))
        spans = list(zip(row["entity_starts"], row["entity_ends"], strict=True))
        merged = []
        for start, end in words:
            named = [s for s in spans if unit == "entity" and s[0] < end and start < s[1]]
            if named and merged and any(s[0] < merged[-1][1] and merged[-1][2] for s in named):
                merged[-1] = (merged[-1][0], end, True)
            else:
                merged.append((start, end, bool(named)))
        units += [(number, offset + 1 + s, offset + 1 + e, first) for s, e, first in merged]
        offset += n + 2
    return units


def literal_choice(units, bits, config):
    """Choose units by the published pseudo-code, one unit at a time."""
    chosen = set()
    by_example = defaultdict(list)
    for unit, number in zip(units, bits, strict=True):
        by_example[unit[0]].append((not unit[3], number, unit))
    for drawn in by_example.values():
        if config.budget == "bernoulli":
            chosen |= {u for _, number, u in drawn if number / 2**64 < config.ratio}
            continue
        visited = [unit for _, _, unit in sorted(drawn)]
        if config.budget == "units":
            chosen |= set(visited[: max(1, round(config.ratio * len(visited)))])
            continue
        left = max(1, round(config.ratio * sum(end - start for _, start, end, _ in visited)))
        taken = []
        for unit in visited:
            if unit[2] - unit[1] <= left:
                taken.append(unit)
                left -= unit[2] - unit[1]
        chosen |= set(taken or [min(visited, key=lambda unit: unit[2] - unit[1])])
    return chosen if config.ratio else set()


@given(data=st.data(), config=POLICIES)
def test_units_are_chosen_as_the_published_rules_say(subwords, samples, data, config):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    _, text, rng, result = masked(rows, config, subwords, samples)

    units = literal_units(rows, config.unit)
    of = np.array([unit[0] for unit in units])
    places = text.positions[[unit[1] for unit in units]]
    bits = rng.bits(RandomUse.UNIT, of, places).tolist()
    chosen = literal_choice(units, bits, config)
    assert result.rows.tolist() == sorted(
        r for _, start, end, _ in chosen for r in range(start, end)
    )


@given(data=st.data(), config=POLICIES)
def test_labels_are_what_stood_there_and_nothing_else_changes(subwords, samples, data, config):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    _, text, _, result = masked(rows, config, subwords, samples)

    restored = result.subwords.copy()
    restored[result.rows] = result.labels
    assert restored.tolist() == text.subwords.tolist()
    assert (np.diff(result.rows) > 0).all()


@given(data=st.data(), config=POLICIES)
def test_what_stands_in_the_place_is_a_mask_an_ordinary_subword_or_itself(
    subwords, samples, data, config
):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    _, _, _, result = masked(rows, config, subwords, samples)

    inside = result.subwords[result.rows]
    assert ((inside == MASK) | np.isin(inside, subwords.ordinary)).all()


def test_replacements_are_neither_special_nor_unused(subwords):
    assert subwords.ordinary.tolist() == list(range(7, 60))


def many(samples):
    return [samples.row(f"d{number}#0", 40) for number in range(500)]


@pytest.mark.parametrize("budget", ["bernoulli", "units", "subwords"])
def test_ratios_are_as_asked_for(subwords, samples, budget):
    config = MaskingConfig(budget=budget, draw="subword")

    _, text, _, result = masked(many(samples), config, subwords, samples)

    n = len(result.rows)
    assert n / (len(text.subwords) - 1000) == pytest.approx(0.15, abs=0.01)
    inside = result.subwords[result.rows]
    n_masks, n_same = (inside == MASK).sum(), (inside == result.labels).sum()
    of_ten = 5 * np.sqrt(n * 0.1 * 0.9)
    assert abs(n_masks - 0.8 * n) < 5 * np.sqrt(n * 0.8 * 0.2)
    assert abs(n_same - 0.1 * n * (1 + 1 / len(subwords.ordinary))) < of_ten


def test_random_subwords_are_all_ordinary_ones_alike(subwords, samples):
    config = MaskingConfig(budget="bernoulli", ratio=1.0, mask=0.0, random=1.0)

    _, _, _, result = masked(many(samples), config, subwords, samples)

    counts = np.bincount(result.subwords[result.rows], minlength=60)[subwords.ordinary]
    expected = len(result.rows) / len(counts)
    assert ((counts - expected) ** 2 / expected).sum() < 52 + 5 * np.sqrt(2 * 52)


@pytest.mark.parametrize("draw", ["unit", "subword"])
def test_the_subwords_of_a_word_share_one_draw_or_have_their_own(subwords, samples, draw):
    config = MaskingConfig(budget="bernoulli", ratio=1.0, mask=0.5, random=0.0, draw=draw)
    rows = many(samples)

    _, _, _, result = masked(rows, config, subwords, samples)

    is_mask = result.subwords == MASK
    words = [is_mask[start:end] for _, start, end, _ in literal_units(rows, "word")]
    n_mixed = sum(word.any() and not word.all() for word in words)
    assert (n_mixed == 0) if draw == "unit" else (n_mixed > 100)


def test_mentions_are_masked_before_words(subwords, samples):
    rows = many(samples)
    config = MaskingConfig(unit="entity", budget="units")

    _, _, _, result = masked(rows, config, subwords, samples)

    chosen = set(result.rows.tolist())
    by_example = defaultdict(list)
    for number, start, _, first in literal_units(rows, "entity"):
        by_example[number].append((first, start in chosen))
    for units in by_example.values():
        has_word = (False, True) in units
        assert not (has_word and (True, False) in units)


@pytest.mark.parametrize("unit", ["subword", "word", "entity"])
def test_special_subwords_in_a_text_are_never_drawn(subwords, samples, unit):
    row = samples.row("a#0", 12)
    row |= {"input_ids": [UNK, SEP, *row["input_ids"][2:]], "word_starts": list(range(12))}
    row |= {"entity_starts": [0], "entity_ends": [1], "entity_ids": [3]}
    config = MaskingConfig(unit=unit, budget="bernoulli", ratio=1.0)

    _, _, _, result = masked([row], config, subwords, samples)

    assert result.rows.tolist() == list(range(3, 13))


def test_an_example_of_special_subwords_alone_has_no_target(subwords, samples):
    row = samples.row("a#0", 2) | {"input_ids": [UNK, UNK]}

    _, text, _, result = masked([row], MaskingConfig(), subwords, samples)

    assert not len(result.rows)
    assert result.subwords.tolist() == text.subwords.tolist()


@given(st.lists(st.lists(st.integers(0, 19), max_size=12), min_size=1, max_size=4))
def test_of_known_mentions_a_ratio_is_masked_at_least_one(subwords, samples, ids):
    views = [samples.view(samples.row(f"d{n}#0", 3)) for n in range(len(ids))]
    sequences = np.repeat(np.arange(len(ids)), [len(own) for own in ids])
    entities = np.array([id for own in ids for id in own], np.int64)

    chosen = Masker(MaskingConfig(), subwords).mask_entities(
        entities, sequences, samples.rng(views)
    )

    for number, own in enumerate(ids):
        n = sum(id > 2 for id in own)
        assert chosen[sequences == number].sum() == (max(1, round(0.15 * n)) if n else 0)
    assert not chosen[entities <= 2].any()


BESIDE = st.builds(
    MaskingConfig,
    unit=st.sampled_from(["subword", "word"]),
    ratio=st.sampled_from([0.0, 0.15, 0.5, 1.0]),
    entity_ratio=st.sampled_from([0.0, 0.15, 0.5, 1.0]),
    mention_words=st.just(True),
)


def masked_beside(rows, config, subwords, samples):
    """Mask rows beside their mentions.

    Returns the text, its random numbers, the mentions that were chosen, and what came out.
    """
    views = [samples.view(row) for row in rows]
    text = FlatViews.of(views, subwords, n_entities=samples.n_entities)
    rng = samples.rng(views)
    masker = Masker(config, subwords)
    chosen = np.flatnonzero(masker.mask_entities(text.entities, text.mention_sequences, rng))
    return text, rng, chosen, Masked.of(text, *masker.mask_text(text, rng, chosen))


def literal_choice_beside(units, bits, taken, config):
    """Choose units by the published pseudo-code of LUKE, one at a time.

    ``taken``: rows that are masked already, by example.
    """
    chosen = [row for rows in taken for row in rows]
    for number, own in enumerate(taken):
        drawn = [(b, u) for u, b in zip(units, bits, strict=True) if u[0] == number]
        left = max(1, round(config.ratio * sum(end - start for _, (_, start, end, _) in drawn)))
        left -= len(own)
        free = [u for _, u in sorted(drawn) if not own & set(range(u[1], u[2]))]
        fitting = []
        for unit in free:
            if unit[2] - unit[1] <= left:
                fitting.append(unit)
                left -= unit[2] - unit[1]
        if free and not fitting and not own:
            fitting = [min(free, key=lambda unit: unit[2] - unit[1])]
        chosen += [row for _, start, end, _ in fitting for row in range(start, end)]
    return sorted(chosen) if config.ratio else []


@given(data=st.data(), config=BESIDE)
def test_subwords_of_chosen_mentions_come_first_and_count_in_the_budget(
    subwords, samples, data, config
):
    rows = data.draw(samples.lists(min_size=1, max_size=4))

    text, rng, chosen, result = masked_beside(rows, config, subwords, samples)

    taken = [set() for _ in rows]
    for start, end in zip(text.mention_starts[chosen], text.mention_ends[chosen], strict=True):
        taken[text.sequences[start]] |= set(range(start, end))
    units = literal_units(rows, config.unit)
    of = np.array([unit[0] for unit in units])
    bits = rng.bits(RandomUse.UNIT, of, text.positions[[unit[1] for unit in units]]).tolist()
    assert result.rows.tolist() == literal_choice_beside(units, bits, taken, config)


def test_the_subwords_of_a_mention_share_one_draw(subwords, samples):
    config = MaskingConfig(entity_ratio=1.0, mention_words=True, mask=0.5, random=0.0)
    row = samples.row("a#0", 40) | {"word_starts": list(range(40)), "entity_ids": [5] * 8}
    row |= {"entity_starts": [*range(0, 40, 5)], "entity_ends": [*range(4, 44, 5)]}
    rows = [row | {"id": f"a#{number}"} for number in range(20)]

    text, _, _, result = masked_beside(rows, config, subwords, samples)

    is_mask = result.subwords == MASK
    starts, ends = text.mention_starts, text.mention_ends
    ratios = [is_mask[start:end].mean() for start, end in zip(starts, ends, strict=True)]
    assert set(ratios) == {0.0, 1.0}


def test_special_subwords_in_a_mention_are_left_as_they_are(subwords, samples):
    row = samples.row("a#0", 12) | {"entity_ids": [5], "entity_starts": [2], "entity_ends": [6]}
    row |= {"input_ids": [*row["input_ids"][:3], UNK, *row["input_ids"][4:]]}
    config = MaskingConfig(mention_words=True, ratio=0.01)

    _, _, _, result = masked_beside([row], config, subwords, samples)

    assert result.rows.tolist() == [3, 5, 6]


def test_mention_words_need_a_budget_of_subwords():
    with pytest.raises(ConfigError, match="mention_words"):
        check_masking(MaskingConfig(mention_words=True, budget="units"))


def replaced(config, subwords, samples, n=2_000):
    """Replace entities of ``n`` examples with a mention each.

    Returns the entities, the chosen ones, and what they become.
    """
    views = [samples.view(samples.row(f"d{number}#0", 3)) for number in range(n)]
    entities = np.random.default_rng(0).integers(3, samples.n_entities, n)
    chosen, after = Masker(config, subwords).replace_entities(
        entities, np.arange(n), samples.rng(views), n_entities=samples.n_entities
    )
    return entities, chosen, after


def test_chosen_mentions_are_masked_all_unless_asked_otherwise(subwords, samples):
    _, chosen, after = replaced(MaskingConfig(), subwords, samples)

    assert len(chosen) == 2_000
    assert (after == 2).all()


def test_entities_are_masked_random_or_left_in_the_ratios_asked_for(subwords, samples):
    config = MaskingConfig(entity_mask=0.5, entity_random=0.3)

    before, _, after = replaced(config, subwords, samples)

    n_ordinary = samples.n_entities - 3
    for count, ratio in (
        ((after == 2).sum(), 0.5),
        ((after == before).sum(), 0.2 + 0.3 / n_ordinary),
    ):
        assert abs(count - 2_000 * ratio) < 5 * np.sqrt(2_000 * ratio * (1 - ratio))
    random = after[(after != 2) & (after != before)]
    assert set(random.tolist()) == set(range(3, samples.n_entities))


def test_masks_differ_between_epochs_and_between_examples(subwords, samples):
    row = samples.row("a#0", 40)
    other = row | {"id": "b#0"}

    results = [
        masked([of], MaskingConfig(), subwords, samples, epoch=epoch)[3].rows.tolist()
        for of, epoch in [(row, 0), (row, 1), (other, 0)]
    ]

    assert results[0] != results[1]
    assert results[0] != results[2]


def test_evaluation_replaces_whole_words_by_masks_alone(subwords, samples):
    _, _, _, result = masked(many(samples), EVALUATION, subwords, samples)

    assert (result.subwords[result.rows] == MASK).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"ratio": 1.5},
        {"mask": 0.8, "random": 0.3},
        {"random": -0.1},
        {"entity_mask": 0.8, "entity_random": 0.3},
    ],
)
def test_ratios_that_cannot_be_are_refused(wrong):
    with pytest.raises(ConfigError, match="masking"):
        check_masking(replace(MaskingConfig(), **wrong))
