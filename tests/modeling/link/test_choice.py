import numpy as np
import pytest

from modeling.link.choice import (
    Unseen,
    choose_threshold,
    fit_choice,
    fit_logistic,
    linear_from_json,
    sigmoid,
    softmax,
)


def test_weights_of_a_choice_are_where_the_likelihood_has_no_slope():
    generator = np.random.default_rng(1)
    features = [generator.normal(size=(4, 3)) for _ in range(200)]
    gold = [int((f @ [2.0, -1.0, 0.0] + generator.gumbel(size=4)).argmax()) for f in features]

    fitted = fit_choice(features, gold, used=np.array([True] * 3), penalty=0.5)

    def likelihood(weights):
        total = -0.25 * weights @ weights
        for rows, right in zip(features, gold, strict=True):
            scaled = (rows - fitted.mean) / fitted.deviation
            total += np.log(softmax(scaled @ weights)[right])
        return total

    for direction in np.eye(3):
        ends = [likelihood(fitted.weights + step * direction) for step in (-1e-4, 1e-4)]
        assert (ends[1] - ends[0]) / 2e-4 == pytest.approx(0, abs=1e-3)
    assert fitted.weights[0] > 1.5
    assert fitted.weights[1] < 0


def _choices(n: int, *, seed: int) -> tuple[list[np.ndarray], list[int]]:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 9, n)
    features = [generator.normal(3.0, [1.0, 20.0, 0.1], size=(size, 3)) for size in sizes]
    scores = [f @ [1.0, -0.1, 0.0] for f in features]
    return features, [int((s + generator.gumbel(size=len(s))).argmax()) for s in scores]


def test_blocks_and_another_start_give_the_same_weights(monkeypatch):
    features, gold = _choices(300, seed=3)
    x, right = np.concatenate(features)[:600], np.arange(600) % 3 > 0
    used = np.array([True] * 3)
    choice, logistic = fit_choice(features, gold, used=used), fit_logistic(x, right, penalty=1.0)

    monkeypatch.setattr("modeling.link.choice._AT_ONCE", 7)
    monkeypatch.setattr("modeling.link.choice._ROWS_AT_ONCE", 11)
    monkeypatch.setattr("modeling.link.choice._MANY", 100)
    fewer = fit_choice([f[:, :2] for f in features], gold, used=used[:2])

    part = fit_choice(features[:250], gold[:250], used=used)
    part_of_rows = fit_logistic(x[:500], right[:500], penalty=3.0)
    for whole, again in (
        (choice, fit_choice(features, gold, used=used)),
        (choice, fit_choice(features, gold, used=used, start=part)),
        (choice, fit_choice(features, gold, used=used, start=fewer.widened(3))),
        (logistic, fit_logistic(x, right, penalty=1.0)),
        (logistic, fit_logistic(x, right, penalty=1.0, start=part_of_rows)),
    ):
        assert again.mean == pytest.approx(whole.mean, rel=1e-12)
        assert again.deviation == pytest.approx(whole.deviation, rel=1e-12)
        assert again.weights == pytest.approx(whole.weights, abs=1e-9)
        assert again.bias == pytest.approx(whole.bias, abs=1e-9)


def test_columns_that_are_not_used_have_no_weight():
    features = [np.array([[1.0, 0.0], [0.0, 5.0]])] * 3

    fitted = fit_choice(features, [0, 0, 0], used=np.array([True, False]))

    assert fitted.weights[1] == 0
    assert fitted.weights[0] > 0


def test_probabilities_are_those_that_the_data_have():
    generator = np.random.default_rng(2)
    x = generator.normal(size=(4000, 1))
    right = generator.random(4000) < sigmoid(1.5 * x[:, 0] - 0.5)

    fitted = fit_logistic(x, right, penalty=1.0)

    p = sigmoid(fitted.score(x))
    assert p.mean() == pytest.approx(right.mean(), abs=1e-3)
    assert p[p > 0.8].mean() == pytest.approx(right[p > 0.8].mean(), abs=0.03)
    again = linear_from_json(fitted.as_json(), 1)
    assert again.score(x).tolist() == fitted.score(x).tolist()


def _unseen(rows, right):
    """Make choices of as many documents, in five parts."""
    each = np.arange(len(rows))
    return Unseen(rows, right, each % 5, each)


def test_features_that_tell_nothing_are_penalized_and_those_that_tell_much_are_not():
    generator = np.random.default_rng(4)
    noise = generator.normal(size=(600, 40))
    rarely_wrong = generator.random(600) < 0.97
    informative = generator.normal(size=(3000, 3))
    right = generator.random(3000) < sigmoid(informative @ [3.0, -2.0, 1.0])

    assert _unseen(noise, rarely_wrong).choose_penalty() >= 30
    assert _unseen(informative, right).choose_penalty() == 1


def test_a_better_penalty_is_not_chosen_for_the_sake_of_one_document():
    generator = np.random.default_rng(5)
    of_many = _unseen(generator.normal(size=(600, 40)), generator.random(600) < 0.97)

    of_one = of_many._replace(documents=np.zeros(600, np.int64))

    assert of_many.choose_penalty() > 1
    assert of_one.choose_penalty() == 1


def test_the_threshold_keeps_wrong_ones_rare_and_writes_as_many_as_it_can():
    p = np.linspace(1, 0.5, 200)
    right = np.ones(200, bool)
    right[[60, 120, 140, *range(160, 200)]] = False
    each = np.arange(200)  # every link is in a document of its own

    threshold = choose_threshold(p, right, each, max_wrong=0.05)

    def excess_and_error(n):
        wrong = int((~right[:n]).sum())
        return wrong - 0.05 * n + np.sqrt(wrong * 0.95**2 + (n - wrong) * 0.05**2)

    n = int((p >= threshold).sum())
    assert n > 140
    assert excess_and_error(n) <= 0 < excess_and_error(n + 1)
    assert choose_threshold(p, ~right, each, max_wrong=0.05) > 1
    assert choose_threshold(np.full(50, 0.2), right[:50], each[:50], max_wrong=0.05) == 0.5


def test_wrong_links_that_come_together_in_a_document_need_more_right_ones():
    p = np.linspace(1, 0.5, 400)
    right = np.ones(400, bool)
    right[200:205] = False

    def n_written(documents):
        return int((p >= choose_threshold(p, right, documents, max_wrong=0.02)).sum())

    apart = np.arange(400)
    together = apart.copy()
    together[200:205] = 200
    assert n_written(apart) == 400
    assert n_written(together) == 202
