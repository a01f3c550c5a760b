import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling import bootstrap
from modeling.bootstrap import MIN_DOCUMENTS, DrawnUnits, percentiles, resample
from modeling.evaluate.scores import (
    DrawnCounts,
    Spread,
    draw,
    normal_interval,
    paired_difference,
    rate_labels,
    subtract,
    to_ratings,
)
from modeling.taggers.counts import count_strict, f1_of
from tests.modeling.evaluate.samples import LABELS, random_run, tagged_sentences, written


def columns_of(seed, n=40, k=5):
    return np.random.default_rng(seed).integers(0, 9, (n, k))


def test_replicates_are_sums_over_the_units_that_are_drawn():
    columns = columns_of(1)
    units = DrawnUnits.choose(["d"] * 40)

    drawn = resample(columns, units, replicates=7, seed=4)

    chosen = np.random.default_rng(4).integers(0, 40, (7, 40))
    assert drawn.tolist() == [[sum(columns[i, k] for i in row) for k in range(5)] for row in chosen]


def test_memory_at_once_changes_nothing(monkeypatch):
    columns, units = columns_of(2), DrawnUnits.choose(["d"] * 40)
    whole = resample(columns, units, replicates=11)

    monkeypatch.setattr(bootstrap, "_CELLS", 3 * 40)

    assert np.array_equal(resample(columns, units, replicates=11), whole)


def test_drawing_documents_is_drawing_rows_that_are_their_sums():
    columns = columns_of(3)
    ids = [f"d{number % 13}" for number in range(40)]
    sums = np.stack([columns[number::13].sum(axis=0) for number in range(13)])

    by_document = resample(columns, DrawnUnits.choose(ids), replicates=9)

    assert np.array_equal(by_document, resample(sums, DrawnUnits.choose(["d"] * 13), replicates=9))


@pytest.mark.parametrize(
    ("n", "kind"), [(MIN_DOCUMENTS - 1, "sentences"), (MIN_DOCUMENTS, "documents")]
)
def test_documents_are_drawn_where_there_are_enough(n, kind):
    units = DrawnUnits.choose([f"d{number % n}" for number in range(30)])

    assert (units.kind, units.n) == (kind, n if kind == "documents" else 30)


def test_of_ratios_the_bootstrap_is_the_normal_approximation():
    rng = np.random.default_rng(5)
    right = rng.random(4000) < 0.8
    rows = np.stack([right, np.ones(4000), np.ones(4000)], axis=1).astype(np.int64)[:, None]
    units = DrawnUnits.choose(["d"] * 4000)

    [rated] = to_ratings(draw({"": rows}, units, replicates=2000)[""])

    low, high = rated.normal
    assert (rated.interval.low, rated.interval.high) == pytest.approx((low, high), abs=0.002)


def test_replicates_in_which_nothing_stands_do_not_count():
    tagged = [written("B-PER", "B-PER"), *[written("O", "O")] * 2]
    units = DrawnUnits.choose(["d"] * 3)

    [rated] = to_ratings(draw({"": count_strict(tagged).rows}, units, replicates=3000)[""])

    assert (rated.interval.low, rated.interval.high) == (1, 1)
    assert rated.interval.replicates / 3000 == pytest.approx(1 - (2 / 3) ** 3, abs=0.04)


def test_without_replicates_there_is_no_interval():
    units = DrawnUnits.choose(["d"])

    drawn = draw({"": count_strict([written("B-PER", "B-PER")]).rows}, units, replicates=0)

    assert to_ratings(drawn[""])[0].interval is None
    assert subtract(drawn[""], drawn[""], units).p is None


@given(tagged_sentences())
def test_micro_and_macro_follow_from_the_labels_in_every_replicate(tagged):
    counts = count_strict(tagged, LABELS)
    units = DrawnUnits.choose([one.sentence.document_id for one in tagged])
    drawn = draw({"": counts.rows}, units, replicates=20)[""]

    scores = rate_labels(drawn, counts.labels, without=("PER",))

    macros = []
    for replicate in [counts.rows.sum(axis=0), *drawn.replicates]:
        values = [2 * c / (p + g) for c, p, g in replicate.tolist() if p + g]
        macros.append(sum(values) / len(values) if values else np.nan)
    assert scores.macro_f1 == pytest.approx(np.nan_to_num(macros[0]))
    expected = percentiles(np.array(macros[1:]))
    assert (scores.macro_interval is None) == (expected is None)
    if expected:
        ends = (scores.macro_interval.low, scores.macro_interval.high)
        assert ends == pytest.approx((expected.low, expected.high))
    whole = to_ratings(draw({"": counts.micro()[:, None]}, units, replicates=20)[""])[0]
    others = [label != "PER" for label in counts.labels]
    rows = counts.rows[:, others].sum(axis=1)
    rest = to_ratings(draw({"": rows[:, None]}, units, replicates=20)[""])[0]
    assert (scores.micro, scores.without) == (whole, rest)


def runs(seed, *, right, n=200):
    """Draw two independent runs, each of which is right in a sentence with its own probability."""
    points = np.random.default_rng(seed).random((2, n))
    ones = np.ones(n, np.int64)
    return [
        np.stack([of_run < ratio, ones, ones], axis=1)[:, None]
        for of_run, ratio in zip(points, right, strict=True)
    ]


def compared(first, second, *, replicates=1000):
    units = DrawnUnits.choose(["d"] * len(first))
    drawn = draw({"a": first, "b": second}, units, replicates=replicates)
    return subtract(drawn["a"], drawn["b"], units), subtract(drawn["b"], drawn["a"], units)


def test_a_run_does_not_differ_from_itself():
    first, _ = runs(1, right=(0.8, 0.7))

    difference, _ = compared(first, first)

    assert (difference.value, difference.p) == (0, 1)
    assert (difference.interval.low, difference.interval.high) == (0, 0)


def test_exchanged_runs_differ_by_as_much_the_other_way():
    one, other = compared(*runs(2, right=(0.8, 0.7)))

    assert other.value == -one.value
    assert other.p == one.p
    assert (other.interval.low, other.interval.high) == pytest.approx(
        (-one.interval.high, -one.interval.low)
    )


def test_a_large_difference_is_sure_and_a_small_one_is_not():
    large, _ = compared(*runs(3, right=(0.95, 0.5)))
    small, _ = compared(*runs(3, right=(0.80, 0.79)))

    assert large.p == 1 / 1001
    assert large.interval.low > 0
    assert small.p > 0.05
    assert small.interval.low < 0 < small.interval.high


def test_p_is_below_a_level_as_often_as_the_level_says_where_runs_do_not_differ():
    ps = []
    for seed in range(200):
        first, second = runs(seed, right=(0.7, 0.7), n=100)
        ps.append(compared(first, second, replicates=199)[0].p)

    assert np.mean(np.array(ps) < 0.2) == pytest.approx(0.2, abs=0.09)


def test_p_counts_the_run_itself():
    units = DrawnUnits("sentences", np.arange(2), 2)

    difference = paired_difference(0.5, np.array([0.5, 0.5, 0.4, 1.1]), units)

    assert difference.p == (1 + 1) / (1 + 4)


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_normal_interval_lies_around_f1_and_shrinks_with_the_root_of_mentions(f1, n):
    low, high = normal_interval(f1, n)
    low_of_more, high_of_more = normal_interval(f1, 4 * n)

    assert (low + high) / 2 == pytest.approx(f1)
    assert high - low == pytest.approx(2 * (high_of_more - low_of_more))


def test_spread_of_one_run_has_no_deviation():
    assert Spread.of([0.5]).deviation is None
    assert str(Spread.of([0.5])) == "50.00"


def test_spread_is_that_of_a_sample():
    rng = random.Random(1)
    values = [rng.random() for _ in range(5)]

    spread = Spread.of(values)

    assert (spread.mean, spread.deviation) == pytest.approx(
        (np.mean(values), np.std(values, ddof=1))
    )


def test_f1_of_summed_rows_is_the_f1_of_the_run():
    run = random_run(random.Random(2), 50)
    rows = count_strict(run).rows

    [rated] = to_ratings(
        DrawnCounts(rows.sum(axis=(0, 1))[None].astype(float), np.zeros((0, 1, 3)))
    )

    assert rated.f1 == float(f1_of(rows.sum(axis=(0, 1))))
