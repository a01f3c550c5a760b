"""Dropout: how much, where, and what it does to gradients."""

import pytest
import torch

from modeling.layers import attention_blocks
from modeling.layers.attention_blocks import attention
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


WEIGHTS = (
    1 << 18
)  # of a group of sequences: 13 of 100, one of 362 positions, and less than one of 363


def attend_with_dropout(p, *, n_sequences, n, n_heads=2):
    """Attend without and with dropout; values are one-hot, so that the output shows the weights.

    Every third key is hidden.
    """
    query, key = (torch.randn(n_sequences, n_heads, n, 8) for _ in range(2))
    value = torch.eye(n).expand(n_sequences, n_heads, n, n)
    attend = torch.arange(n).expand(n_sequences, n) % 3 > 0
    weights = attention(query, key, value, attend=attend)
    return weights, attention(query, key, value, attend=attend, dropout=p)


@pytest.mark.parametrize(("n_sequences", "n"), [(40, 100), (1, 362), (2, 363), (3, 400), (140, 2)])
def test_weights_of_attention_are_dropped_and_the_others_scaled(n_sequences, n):
    weights, dropped = attend_with_dropout(0.3, n_sequences=n_sequences, n=n)

    is_dropped = (dropped == 0) & (weights > 0)
    kept = torch.where(is_dropped, 0, weights) / 0.7
    torch.testing.assert_close(dropped, kept, rtol=1e-3, atol=1e-6)
    n_weights = int((weights > 0).sum())
    ratio = is_dropped.sum() / max(n_weights, 1)
    assert abs(ratio - 0.3) < 5 * (0.3 * 0.7 / max(n_weights, 1)) ** 0.5


@pytest.mark.parametrize("size", [1, 40, WEIGHTS])
@pytest.mark.parametrize("scale", [None, 0.7])
def test_gradients_of_attention_with_dropout_are_those_of_small_differences(
    size, scale, monkeypatch
):
    monkeypatch.setattr(attention_blocks, "_WEIGHTS", size)
    inputs = [torch.randn(3, 2, 5, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    attend = torch.tensor([[True] * 5, [True] * 3 + [False] * 2, [True] + [False] * 4])

    def attended(*inputs):
        torch.manual_seed(3)  # the same weights are dropped each time
        return attention(*inputs, attend=attend, dropout=0.4, scale=scale)

    assert torch.autograd.gradcheck(
        attended, inputs, fast_mode=size > 1 or not scale
    )  # else: each number


def test_attention_that_drops_hardly_anything_is_attention():
    query, key, value = (torch.randn(2, 2, 7, 4) for _ in range(3))

    exact = attention(query, key, value, attend=None)
    dropped = attention(query, key, value, attend=None, dropout=1e-9)

    torch.testing.assert_close(dropped, exact)


def test_attention_that_drops_everything_is_zero():
    query, key, value = (torch.randn(1, 1, 4, 4) for _ in range(3))

    assert not attention(query, key, value, attend=None, dropout=1.0).any()


@pytest.mark.parametrize("p", [1 - 2**-18, 0.999999])
def test_a_ratio_that_is_hardly_below_one_drops_nearly_all(p):
    assert (drop(torch.ones(N), p) != 0).sum() < 30
