import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import CorpusError
from modeling.evaluate.compare import Agreement, cohen_kappa, compare
from modeling.taggers.counts import strict_f1
from tests.modeling.evaluate.samples import TAGS, make_tagged, random_run, written

FLAGS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def another(run, seed):
    """Make other predictions for the same sentences."""
    rng = random.Random(seed)
    made = []
    for one in run:
        other = [rng.choice(TAGS) for _ in one.tags]
        tags = one.sentence.tags if rng.random() < 0.6 else other
        tagged = make_tagged(one.sentence.tags, tags)
        made.append(replace(tagged, sentence=one.sentence))
    return made


@pytest.fixture(scope="module")
def runs():
    first = random_run(random.Random(3), 60, n_documents=12)
    return first, another(first, 4)


@given(FLAGS)
def test_correlation_of_errors_is_that_of_matthews(pairs):
    from sklearn.metrics import matthews_corrcoef

    first, second = (np.array(column) for column in zip(*pairs, strict=True))

    found = Agreement.of(first, second).correlation

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = matthews_corrcoef(first, second)
    constant = len(set(first)) == 1 or len(set(second)) == 1
    assert found is None if constant else found == pytest.approx(expected)


@given(st.lists(st.tuples(st.sampled_from("OPL"), st.sampled_from("OPL")), min_size=1, max_size=40))
def test_kappa_is_cohens(pairs):
    from sklearn.metrics import cohen_kappa_score

    first, second = (np.array(column) for column in zip(*pairs, strict=True))

    found = cohen_kappa(first, second)

    if found is None:
        assert len({*first, *second}) == 1
    else:
        assert found == pytest.approx(cohen_kappa_score(first, second))


def test_a_run_agrees_with_itself(runs):
    found = compare(runs[0], runs[0], replicates=50)

    assert (found.difference.value, found.difference.p, found.kappa) == (0, 1, pytest.approx(1))
    assert found.words.correlation == pytest.approx(1)
    assert found.only_first == found.only_second == ()


def test_exchanging_the_runs_exchanges_everything(runs):
    found = compare(*runs, replicates=50)

    other = compare(*reversed(runs), replicates=50)

    assert (other.first, other.second) == (found.second, found.first)
    assert other.difference.value == -found.difference.value
    assert (other.only_first, other.only_second) == (found.only_second, found.only_first)
    assert (other.kappa, other.mentions.correlation) == pytest.approx(
        (found.kappa, found.mentions.correlation)
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_run_is_worse_where_all_of_the_interval_is_below_zero(seed):
    """Few sentences, so that chance makes differences of both signs, some of them large."""
    first = random_run(random.Random(seed), 40, n_documents=12)
    second = another(first, seed + 100)
    both = compare(first, second), compare(second, first)

    for one, other in (both, both[::-1]):
        interval = one.difference.interval
        assert one.is_worse == (interval.high < 0)
        assert not (one.is_worse and other.is_worse)
        if one.is_worse:
            assert one.difference.value < 0
            assert f"{-100 * one.difference.value:.2f} points below" in one.describe_fall("x")
    assert not compare(first, first).is_worse


def test_a_run_that_finds_nothing_is_worse_than_one_that_finds_all(runs):
    gold = [one.sentence for one in runs[0]]
    right = [replace(make_tagged(s.tags, s.tags), sentence=s) for s in gold]
    blind = [replace(make_tagged(s.tags, ["O"] * len(s.tags)), sentence=s) for s in gold]

    assert compare(blind, right).is_worse
    assert not compare(right, blind).is_worse


def test_numbers_are_those_of_the_runs(runs):
    first, second = runs

    found = compare(first, second, replicates=50)

    assert (found.first.f1, found.second.f1) == (strict_f1(first), strict_f1(second))
    assert found.difference.unit == "documents"
    assert found.sentences.both_right + found.sentences.only_first == sum(
        strict_f1([one]) == 1 or not (one.spans or "B" in "".join(one.sentence.tags))
        for one in first
    )
    assert found.mentions.both_right + found.mentions.only_first == found.first.correct
    words = found.words
    n_words = sum(len(one.tags) for one in first)
    assert words.both_right + words.only_first + words.only_second + words.both_wrong == n_words


@settings(max_examples=20)
@given(st.integers(0, 100))
def test_sentences_that_one_has_right_are_named(seed):
    first = random_run(random.Random(seed), 10)
    second = another(first, seed)

    found = compare(first, second, replicates=0)

    right = [
        [set(o.spans) == set(g.spans) for o, g in zip(run, gold_of(run), strict=True)]
        for run in (first, second)
    ]
    assert found.only_first == tuple(n for n in range(10) if right[0][n] and not right[1][n])
    assert found.only_second == tuple(n for n in range(10) if right[1][n] and not right[0][n])


def gold_of(run):
    return [make_tagged(one.sentence.tags, one.sentence.tags) for one in run]


def test_a_label_that_only_one_run_predicts_is_compared():
    found = compare([written("B-PER", "B-PER")], [written("B-PER", "B-tool")], replicates=5)

    assert [rated.predicted for rated in found.by_label["tool"][:2]] == [0, 1]


@pytest.mark.parametrize(
    "other",
    [[written("O", "O", id="2")], [written("O", "O", tokens=["v"])], [written("B-PER", "O")], []],
    ids=["another sentence", "other words", "other gold tags", "none"],
)
def test_runs_on_other_sentences_are_not_compared(other):
    with pytest.raises(CorpusError, match="Compare runs on the same"):
        compare([written("O", "O")], other)


def test_the_page_says_how_many_sentences_it_shows(runs):
    found = compare(*runs, replicates=50)

    page = found.to_markdown(names=("crf", "softmax"), n_examples=2)

    assert f"2 of {len(found.only_first):,} sentences" in page
    assert f"{100 * found.difference.value:+.2f}" in page
    assert "draws documents" in page
