from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.config import ConfigError
from modeling.data.batches import Epochs, Mixture

SIZES = st.lists(st.integers(0, 30), min_size=1, max_size=3).filter(any)


def taken(order, first, last):
    """Return (set, number, epoch) of all examples of some steps."""
    steps = [order.step(step) for step in range(first, last)]
    return [triple for s in steps for triple in zip(*(c.tolist() for c in s), strict=True)]


@given(sizes=SIZES, batch_size=st.integers(1, 40), epoch=st.integers(0, 5))
def test_an_epoch_has_each_example_once(sizes, batch_size, epoch):
    order = Epochs(sizes, batch_size=batch_size, seed=1)

    examples = taken(order, epoch * order.steps, (epoch + 1) * order.steps)

    every = [(of, number, epoch) for of, size in enumerate(sizes) for number in range(size)]
    assert sorted(examples) == every


@given(sizes=SIZES, batch_size=st.integers(1, 40))
def test_all_steps_are_full_but_the_last_of_an_epoch(sizes, batch_size):
    order = Epochs(sizes, batch_size=batch_size, seed=1)

    lengths = [len(order.step(step).numbers) for step in range(order.steps)]

    assert lengths[:-1] == [batch_size] * (order.steps - 1)
    assert lengths[-1] == sum(sizes) - batch_size * (order.steps - 1) > 0


def test_epochs_and_seeds_have_orders_of_their_own():
    orders = [
        taken(Epochs([50], batch_size=50, seed=seed), epoch, epoch + 1)
        for seed, epoch in [(1, 0), (1, 1), (2, 0)]
    ]

    numbers = [tuple(number for _, number, _ in order) for order in orders]
    assert len(set(numbers)) == 3


@pytest.mark.parametrize("weights", [(0.7, 0.3), (1.0, 1.0, 2.0), (5, 0.001), (0.125, 0.875)])
def test_weights_are_kept_in_each_thousand_to_a_thousandth(weights):
    order = Mixture([40] * len(weights), weights, batch_size=100, seed=1)

    for thousand in range(3):
        examples = taken(order, thousand * 10, thousand * 10 + 10)
        counts = Counter(of for of, _, _ in examples)
        for of, weight in enumerate(weights):
            exact = 1000 * weight / sum(weights)
            assert abs(counts[of] - exact) <= max(1e-9, 0 if exact.is_integer() else 1)


def test_each_set_goes_through_all_its_examples_before_it_begins_again():
    order = Mixture([7, 11], (0.7, 0.3), batch_size=50, seed=1)

    examples = taken(order, 0, 20)

    for of, size, n in [(0, 7, 700), (1, 11, 300)]:
        counts = Counter(triple for triple in examples if triple[0] == of)
        assert set(counts.values()) == {1}
        whole = {(of, number, epoch) for epoch in range(n // size) for number in range(size)}
        assert whole <= counts.keys()
        assert {epoch for _, _, epoch in counts.keys() - whole} <= {n // size}


def test_sets_are_mixed_evenly():
    order = Mixture([1000, 1000], (0.5, 0.5), batch_size=100, seed=1)

    ratios = [order.step(step).sets.mean() for step in range(100)]

    assert all(abs(ratio - 0.5) < 5 * 0.05 for ratio in ratios)
    assert len(set(ratios)) > 5


@pytest.mark.parametrize(
    "order",
    [
        Epochs([10**8, 10**9], batch_size=64, seed=1),
        Mixture([10**8, 10**9], (0.4, 0.6), batch_size=64, seed=1),
    ],
)
def test_a_step_far_away_is_as_near_as_the_first(order):
    chosen = order.step(10**9)

    assert len(chosen.numbers) == 64
    assert (chosen.numbers < np.array([10**8, 10**9])[chosen.sets]).all()


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.0), (1.0, -1.0)])
def test_weights_that_fit_no_sets_are_refused(weights):
    with pytest.raises(ConfigError, match=r"data\.weights"):
        Mixture([3, 3], weights, batch_size=2, seed=1)
