import numpy as np
import pytest

from corpora.evidence.evidence import Evidence, cross_fit, learn
from corpora.evidence.logistic import fit, sigmoid
from corpora.evidence.places import TruthPlaces
from corpora.evidence.precision import lowest_threshold, measure, ratio_of


def drawn(n=2_000, *, seed=1):
    """Draw places whose truth follows known log-odds, in 40 documents."""
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)])
    chances = sigmoid(-1 + 2 * features[:, 0] + 1.5 * features[:, 1])
    return places_of(features, rng.random(n) < chances, documents=40)


def places_of(features, truth, *, documents, weights=None):
    names = [str(number) for number in range(features.shape[1])]
    of = [f"document {number % documents}" for number in range(len(truth))]
    return TruthPlaces.of(features, np.asarray(truth, float), of, names=names, weights=weights)


def judged(truth, *, documents):
    return places_of(np.zeros((len(truth), 1)), truth, documents=documents)


def test_the_fit_finds_the_weights_that_made_the_truth():
    model = fit(drawn(20_000))

    assert model.weights == pytest.approx((2, 1.5), abs=0.15)
    assert model.intercept == pytest.approx(-1, abs=0.1)


def test_units_of_features_do_not_matter():
    places = drawn()
    scaled = places_of(places.features * 1000 + 5, places.truth, documents=40)

    plain = fit(places).log_odds(places.features)

    assert np.allclose(fit(scaled).log_odds(scaled.features), plain, atol=1e-4)


def test_a_feature_that_hardly_varies_says_little_of_values_that_were_never_seen():
    places = drawn(500)
    nearly = 8 + places.features[:, :1] * 1e-4

    model = fit(places_of(nearly, places.truth, documents=40))

    assert abs(model.log_odds(np.array([[8.0]])) - model.log_odds(np.array([[8.1]]))) < 1


def test_a_weight_of_two_is_a_place_that_stands_twice():
    places, first = drawn(200), np.arange(50)
    weights = np.where(np.arange(200) < 50, 2.0, 1.0)

    weighted = fit(places_of(places.features, places.truth, documents=40, weights=weights))

    repeated = fit(places.part(np.append(np.arange(200), first)))
    assert weighted.weights == pytest.approx(repeated.weights, abs=1e-6)


@pytest.mark.parametrize("value", [0, 1])
def test_truth_and_features_that_never_vary_give_a_finite_model(value):
    model = fit(places_of(np.ones((30, 2)), np.full(30, value), documents=5))

    assert model.weights == (0, 0)
    assert sigmoid(model.log_odds(np.ones((1, 2))))[0] == pytest.approx(value, abs=0.01)


def test_held_out_probabilities_do_not_know_the_truth_of_their_own_document():
    is_right = np.random.default_rng(2).random(100) < 0.5
    document = np.arange(400) % 100
    places = places_of(np.eye(100)[document], is_right[document], documents=100)

    log_odds = cross_fit(places)

    assert log_odds[places.truth == 1].mean() - log_odds[places.truth == 0].mean() < 0.1


def test_probabilities_are_as_often_right_as_they_say():
    evidence, unseen = learn(drawn(10_000), min_precision=0.9), drawn(10_000, seed=7)

    chances = evidence.probabilities(unseen.features)

    for low, high in ((0.1, 0.3), (0.4, 0.6), (0.8, 1.0)):
        part = (chances >= low) & (chances < high)
        assert unseen.truth[part].mean() == pytest.approx(chances[part].mean(), abs=0.04)


def test_places_above_the_threshold_are_right_as_often_as_was_asked_for():
    evidence, unseen = learn(drawn(10_000), min_precision=0.95), drawn(10_000, seed=7)

    accepted = evidence.accepts(evidence.probabilities(unseen.features))

    recall = unseen.truth[accepted].sum() / unseen.truth.sum()
    assert unseen.truth[accepted].mean() == pytest.approx(0.95, abs=0.02)
    assert recall == pytest.approx(evidence.measured.recall.value, abs=0.05)


def test_places_of_unknown_truth_must_be_as_probable_as_was_asked_for():
    places, unlike = drawn(10_000), drawn(10_000, seed=7).features - [1, 0]

    evidence = learn(places, min_precision=0.9, unknown=unlike)

    chances = evidence.probabilities(unlike)
    assert chances[evidence.accepts(chances)].mean() == pytest.approx(0.9, abs=0.01)
    assert evidence.expected == pytest.approx(0.9, abs=0.01)
    assert evidence.measured.threshold > learn(places, min_precision=0.9).measured.threshold


@pytest.mark.parametrize("n", [0, 1, 15])
def test_few_places_prove_no_precision(n):
    places = drawn(400)
    few = places.part(np.flatnonzero(places.truth)[:n])

    evidence = learn(few, min_precision=0.5, n_parts=(1, 8))

    assert evidence.measured is None
    assert not evidence.accepts(evidence.probabilities(places.features)).any()


def test_equal_probabilities_are_accepted_together_or_not_at_all():
    chances = np.repeat([0.9, 0.6], 50)
    places = judged(np.append(np.ones(60), np.zeros(40)), documents=100)

    assert lowest_threshold(0.95, chances, places) == 0.9
    assert lowest_threshold(0.6, chances, places) == 0.6


def test_a_cautious_threshold_is_reached_by_the_lower_end_of_the_interval():
    chances, truth = np.repeat([0.9, 0.6], 50), np.append(np.ones(97), np.zeros(3))
    places = judged(truth, documents=100)

    assert lowest_threshold(0.92, chances, places) == 0.6
    assert lowest_threshold(0.92, chances, places, is_cautious=True) == 0.9


def test_mentions_without_a_place_lower_the_recall_alone():
    measured = measure(0.5, np.full(40, 0.9), judged(np.ones(40), documents=40), n_missed=40)

    assert measured.precision.value == 1
    assert measured.recall.value == 0.5


def test_what_is_measured_is_of_places_that_may_be_added():
    places, unlike = drawn(10_000), drawn(10_000, seed=7).features

    every = learn(places, min_precision=0.9, unknown=unlike)
    evidence = learn(places, min_precision=0.9, unknown=unlike, added=1)

    there, added = every.probabilities(unlike), evidence.measured
    assert added.threshold == every.measured.threshold
    assert added.precision.n_places < every.measured.precision.n_places
    n_right = added.precision.value * added.precision.n_places
    assert added.recall.value == pytest.approx(n_right / places.truth.sum())
    assert evidence.expected == there[every.accepts(there) & (unlike[:, 1] > 0)].mean()


def test_places_that_are_alike_within_documents_make_the_interval_wider():
    truth = np.tile(np.arange(10) < 5, 10)

    alone, together = (ratio_of(judged(truth, documents=n)) for n in (100, 10))

    assert together.value == alone.value == 0.5
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_one_document_alone_is_judged_place_by_place():
    places = drawn(300)

    evidence = learn(places_of(places.features, places.truth, documents=1), min_precision=0.8)

    assert evidence.measured.recall.value > 0.2


def test_steps_find_what_no_line_tells_and_are_taken_where_they_find_more():
    values = np.random.default_rng(4).normal(size=(4_000, 1))
    bump = places_of(values, np.abs(values[:, 0]) < 0.6, documents=40)
    line = drawn(4_000)

    by_line, by_steps = (learn(bump, min_precision=0.8, n_parts=n) for n in ((1,), (1, 8)))

    assert by_line.measured is None
    assert by_steps.measured.recall.value > 0.8
    assert not any(learn(line, min_precision=0.9, n_parts=(1, 8)).model.cuts) or (
        learn(line, min_precision=0.9, n_parts=(1, 8)).measured.recall.value
        > learn(line, min_precision=0.9).measured.recall.value
    )


@pytest.mark.parametrize(("n_parts", "n_weights"), [(1, 2), (8, 2 + 7 + 1)])
def test_a_model_comes_back_from_json(n_parts, n_weights):
    places = drawn()
    evidence = learn(places, min_precision=0.8, unknown=places.features, n_parts=(n_parts,))

    assert Evidence.from_json(evidence.to_json()) == evidence
    assert len(evidence.model.model.weights) == n_weights  # seven steps between eight parts
