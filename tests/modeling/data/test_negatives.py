import numpy as np
import pytest

from modeling.data.batches import Negatives, proposal_of

COUNTS = np.array([9, 9, 9, 100, 16, 0, 1, 81])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_proposal_is_counts_to_a_power_without_special_and_retired_entities(power):
    proposal = proposal_of(COUNTS, power=power)

    weights = np.array([0, 0, 0, 100**power, 16**power, 0, 1, 81**power])
    np.testing.assert_allclose(proposal, weights / weights.sum())


def test_negatives_are_drawn_by_the_proposal():
    proposal = proposal_of(COUNTS)
    negatives = Negatives(1000, proposal)

    drawn = np.concatenate([negatives.of_step(step, seed=1) for step in range(50)])

    counts = np.bincount(drawn, minlength=len(COUNTS))
    assert not counts[proposal == 0].any()
    expected = 50_000 * proposal[proposal > 0]
    assert ((counts[proposal > 0] - expected) ** 2 / expected).sum() < 3 + 5 * np.sqrt(6)


def test_the_last_entity_is_drawn_though_rounding_leaves_a_gap():
    negatives = Negatives(1, np.full(3, 1 / 3))

    assert negatives._ends[-1] == 1.0
