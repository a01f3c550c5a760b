import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import CorpusError
from modeling.evaluate.calibration import calibrate, calibrate_spans, calibrate_words
from tests.modeling.evaluate.samples import tagged_sentences, written

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30)


def slowly(pairs, n_bins):
    """Look into each bin for the predictions that belong there."""
    total = 0.0
    for number in range(n_bins):
        low, high = number / n_bins, (number + 1) / n_bins
        inside = [(p, right) for p, right in pairs if low < p <= high or (number == 0 and p == 0)]
        if inside:
            confidence = math.fsum(p for p, _ in inside) / len(inside)
            accuracy = sum(right for _, right in inside) / len(inside)
            total += len(inside) / len(pairs) * abs(confidence - accuracy)
    return total


@given(st.lists(st.tuples(st.integers(0, 64), st.booleans()), max_size=30))
def test_expected_calibration_error_is_its_definition(pairs):
    pairs = [(n / 64, right) for n, right in pairs]  # exact, as are the borders of 8 bins

    found = calibrate([p for p, _ in pairs], [right for _, right in pairs], n_bins=8).ece

    assert found == pytest.approx(slowly(pairs, 8))


@given(PAIRS)
def test_bins_hold_all_predictions(pairs):
    found = calibrate([p for p, _ in pairs], [right for _, right in pairs])

    filled = [one for one in found.bins if one.n]
    assert sum(one.n for one in found.bins) == found.n == len(pairs)
    assert sum(one.n * one.right for one in filled) == pytest.approx(sum(r for _, r in pairs))
    assert all(one.low - 1e-9 <= one.probability <= one.high + 1e-9 for one in filled)


@given(PAIRS)
def test_brier_is_the_mean_square(pairs):
    found = calibrate([p for p, _ in pairs], [right for _, right in pairs])

    squares = [(p - right) ** 2 for p, right in pairs]
    assert found.brier == pytest.approx(sum(squares) / max(len(squares), 1))


def test_probabilities_that_come_true_have_no_error():
    probabilities = [0.25] * 4 + [0.75] * 4 + [1.0]

    assert calibrate(probabilities, [True] + [False] * 3 + [True] * 3 + [False] + [True]).ece == 0


def test_one_probability_too_high_is_an_error_by_the_difference():
    assert calibrate([0.9] * 10, [True] * 6 + [False] * 4).ece == pytest.approx(0.3)


def test_one_rounded_up_in_float32_is_one():
    assert calibrate(np.array([1.0000001], np.float32), [True]).bins[9].n == 1


@pytest.mark.parametrize("wrong", [1.5, -0.1, math.nan])
def test_what_is_no_probability_is_refused(wrong):
    with pytest.raises(CorpusError, match=f"has the probability {wrong}"):
        calibrate([0.5, wrong], [True, True])


def test_a_span_is_right_with_both_ends_and_the_label():
    tagged = [written("B-PER O B-LOC", "B-PER I-PER B-LOC", probabilities=[0.8, 0.6])]

    found, by_label = calibrate_spans(tagged)

    assert by_label["PER"].ece == pytest.approx(0.8)
    assert by_label["LOC"].ece == pytest.approx(0.4)
    assert found.ece == pytest.approx((0.8 + 0.4) / 2)


@given(tagged_sentences())
def test_labels_share_the_spans(tagged):
    found, by_label = calibrate_spans(tagged)

    assert found.n == sum(one.n for one in by_label.values())
    assert found.brier * found.n == pytest.approx(
        sum(one.brier * one.n for one in by_label.values())
    )


def test_words_are_right_with_their_label():
    words = [("PER", 0.9), ("PER", 0.9), ("O", 0.9), ("LOC", 0.9)]
    tagged = [written("B-PER I-PER O O", "O O O O", words=words), written("O", "O")]

    found = calibrate_words(tagged)

    assert found.n == 4
    assert found.ece == pytest.approx(0.15)


def test_a_head_without_words_has_no_calibration_of_words():
    assert calibrate_words([written("O", "O")]) is None
