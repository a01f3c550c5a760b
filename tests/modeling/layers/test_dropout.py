"""Dropout: how much, where, and what it does to gradients."""

import pytest
import torch

from modeling.layers.transformer import Dropout, drop

N = 400_001  # no multiple of four


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(1)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.025])
def test_a_ratio_is_zero_and_the_others_are_scaled(p):
    dropped = drop(torch.ones(N), p)

    ratio = (dropped == 0).double().mean()
    assert abs(ratio - p) < 5 * (p * (1 - p) / N) ** 0.5 + 2**-17
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)), rtol=1e-4, atol=0)


def test_neighbours_are_dropped_independently():
    is_zero = drop(torch.ones(N), 0.5) == 0

    for distance in (1, 2, 3, 4, 5, 8):
        together = (is_zero[distance:] & is_zero[:-distance]).double().mean()
        assert abs(together - 0.25) < 0.005


def test_gradients_pass_where_values_do():
    x = torch.randn(50, 30, requires_grad=True)

    dropped = drop(x, 0.3)
    dropped.sum().backward()

    torch.testing.assert_close(dropped, x * x.grad)


def test_a_ratio_of_one_leaves_zeros():
    assert not drop(torch.ones(7), 1.0).any()


def test_nothing_changes_in_evaluation_or_with_p_0():
    x = torch.randn(5)

    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x


def test_the_seed_decides():
    x = torch.ones(100)
    torch.manual_seed(7)
    first = drop(x, 0.5)

    torch.manual_seed(7)
    second = drop(x, 0.5)

    assert first.equal(second)
    assert not first.equal(drop(x, 0.5))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_type_stays(dtype):
    x = torch.ones(3, 0, 2, dtype=dtype)

    assert drop(x, 0.5).dtype == dtype
    assert drop(torch.ones(7, dtype=dtype), 0.5).dtype == dtype


@pytest.mark.parametrize("p", [1.1, -0.1])
def test_a_ratio_out_of_range_is_refused(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Dropout(p)
