import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.evaluate.evaluation import TrainingNames, by_length, by_mention, by_sentence
from modeling.taggers.counts import CORRECT, GOLD, count_strict
from tests.modeling.evaluate.samples import LABELS, make_tagged, random_run, tagged_sentences
from tests.ner_files import examine, read_conll


def sentences(tagged):
    return [one.sentence for one in tagged]


@given(tagged_sentences(), tagged_sentences())
def test_mentions_seen_with_their_label_with_another_and_unseen_are_all(tagged, train):
    both, form_only, new, form, not_both = by_mention(tagged, TrainingNames.of(sentences(train)))

    assert np.array_equal(both.rows + form_only.rows + new.rows, count_strict(tagged).micro())
    assert np.array_equal(form.rows + new.rows, count_strict(tagged).micro())
    assert np.array_equal(both.rows + not_both.rows, count_strict(tagged).micro())


@given(tagged_sentences(), tagged_sentences())
def test_what_is_right_is_right_in_its_part(tagged, train):
    parts = by_mention(tagged, TrainingNames.of(sentences(train)))
    perfect = [
        make_tagged(o.sentence.tags, o.sentence.tags, tokens=o.sentence.tokens) for o in tagged
    ]

    of_perfect = by_mention(perfect, TrainingNames.of(sentences(train)))

    for part, whole in zip(parts, of_perfect, strict=True):
        assert (part.rows[:, CORRECT] <= part.rows[:, GOLD]).all()
        assert np.array_equal(part.rows[:, GOLD], whole.rows[:, GOLD])
        assert np.array_equal(whole.rows[:, CORRECT], whole.rows[:, GOLD])


@pytest.mark.parametrize("seed", range(10))
def test_what_is_seen_is_what_the_card_of_the_data_set_says(seed):
    rng = random.Random(seed)
    test, train = random_run(rng, 40, tokens="xyz"), random_run(rng, 40, tokens="xyz")
    known = TrainingNames.of(sentences(train))

    mentions, parts = by_mention(test, known), by_sentence(test, count_strict(test).micro(), known)

    health = examine(
        {"train": lambda: iter(sentences(train)), "test": lambda: iter(sentences(test))}
    )
    [seen] = health.seen
    assert mentions[3].rows[:, GOLD].sum() == seen.seen
    assert mentions[0].rows[:, GOLD].sum() == seen.seen_with_label
    leaked = {leak.min_tokens: leak.leaked for leak in health.leaks}
    assert [part.sentences for part in parts] == [40 - leaked[1], leaked[1], leaked[6]]


@given(tagged_sentences(), tagged_sentences())
def test_sentences_in_train_and_the_rest_are_all(tagged, train):
    rows = count_strict(tagged, LABELS).micro()

    rest, leaked, long = by_sentence(tagged, rows, TrainingNames.of(sentences(train)))

    assert np.array_equal(rest.rows + leaked.rows, rows)
    assert rest.sentences + leaked.sentences == len(tagged)
    assert long.sentences <= leaked.sentences


@given(tagged_sentences(max_sentences=30))
def test_lengths_cut_the_sentences_in_parts_that_share_no_length(tagged):
    rows = np.eye(3, dtype=np.int64)[[len(one.tags) % 3 for one in tagged]]

    parts = by_length(tagged, rows)

    assert np.array_equal(sum(part.rows for part in parts), rows)
    assert len(parts) <= 7
    lengths = [[len(o.tags) for o, r in zip(tagged, p.rows, strict=True) if r.any()] for p in parts]
    assert all(max(shorter) < min(longer) for shorter, longer in pairwise(lengths))


@given(st.permutations(range(1, 31)))
def test_parts_of_different_lengths_are_equal_but_for_one(lengths):
    tagged = [make_tagged(["O"] * n, ["O"] * n) for n in lengths]

    parts = by_length(tagged, count_strict(tagged).micro())

    sizes = [part.sentences for part in parts]
    assert len(sizes) == 7
    assert max(sizes) - min(sizes) <= 1


def test_parts_by_length_say_their_lengths():
    tagged = [make_tagged(["O"] * n, ["O"] * n) for n in (1, 5, 3, 3, 9, 2)]
    rows = count_strict(tagged).micro()

    names = [part.name for part in by_length(tagged, rows, n_buckets=3)]

    assert names == ["1 to 2 words", "3 words", "5 to 9 words"]


def test_sentences_of_six_words_in_train_are_more_than_chance():
    tagged = [make_tagged(["O"] * n, ["O"] * n) for n in (5, 6, 7, 8)]
    known = TrainingNames.of(sentences(tagged)[:3])

    rest, leaked, long = by_sentence(tagged, count_strict(tagged).micro(), known)

    assert (rest.sentences, leaked.sentences, long.sentences) == (1, 3, 2)
    assert "6 words" in long.name


@pytest.mark.realdata
def test_the_leaks_of_arendt_are_those_that_are_known(realdata):
    folder = realdata("neiss-ner") / "Arendt"
    train, test = (
        list(read_conll(folder / f"{split}_arendt.conll", split=split))
        for split in ("train", "test")
    )
    tagged = [make_tagged(one.tags, one.tags, tokens=one.tokens) for one in test]

    known = TrainingNames.of(train)

    parts = by_sentence(tagged, count_strict(tagged).micro(), known)
    same_tags = {(one.tokens, one.tags) for one in train}
    assert [part.sentences for part in parts] == [808, 265, 116]
    assert sum((one.tokens, one.tags) in same_tags for one in test) == 234
