"""Attention with relative positions."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from modeling.layers import attention_blocks
from modeling.layers.attention import RelativeSelfAttention, SelfAttention
from modeling.layers.attention_blocks import relative_attention

pytestmark = pytest.mark.usefixtures("grouping")


def relative(oracle, clip=3):
    return RelativeSelfAttention(width=oracle.width, n_heads=oracle.n_heads, clip=clip).double()


@pytest.mark.parametrize("clip", [1, 3, 16, 100])
@pytest.mark.parametrize("lengths", [[1], [5, 0, 9], [64, 65, 40], [300, 131]])
def test_relative_attention_is_the_formula(oracle, lengths, clip):
    rows = oracle.make_rows([[1] * n for n in lengths])
    x = oracle.make_input(rows)
    layer = relative(oracle, clip)

    actual = layer(x, rows)

    expected = torch.cat([oracle.literal(layer, part, clip=clip) for part in x.split(lengths)])
    oracle.assert_same(layer, x, actual=actual, expected=expected)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.integers(0, 60), min_size=1, max_size=3),
    clip=st.integers(1, 40),
    block=st.integers(1, 40),
)
def test_relative_attention_is_the_formula_for_any_lengths(oracle, lengths, clip, block):
    rows = oracle.make_rows([[1] * n for n in lengths])
    x = oracle.make_input(rows)
    layer = relative(oracle, clip)
    expected = torch.cat([oracle.literal(layer, part, clip=clip) for part in x.split(lengths)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention_blocks, "_BLOCK", block)
        oracle.assert_same(layer, x, actual=layer(x, rows), expected=expected)


def test_gradients_are_those_of_small_differences():
    generator = torch.Generator().manual_seed(1)

    def make(*shape):
        made = torch.randn(shape, generator=generator, dtype=torch.float64)
        return made.requires_grad_()

    query, key, value = (make(2, 2, 5, 3) for _ in range(3))
    attend = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])

    def mixed(query, key, value, keys, values):
        out = relative_attention(query, key, value, keys=keys, values=values, attend=attend)
        return out.masked_fill(~attend[:, None, :, None], 0)

    assert torch.autograd.gradcheck(mixed, (query, key, value, make(5, 3), make(5, 3)))


def test_zero_tables_are_plain_attention(oracle):
    rows = oracle.make_rows([[1] * n for n in (9, 70)])
    x = oracle.make_input(rows)
    layer = relative(oracle)
    torch.nn.init.zeros_(layer.keys)
    torch.nn.init.zeros_(layer.values)
    plain = SelfAttention(width=oracle.width, n_heads=oracle.n_heads).double()
    plain.load_state_dict(layer.state_dict(), strict=False)

    torch.testing.assert_close(layer(x, rows), plain(x, rows))


def test_beyond_the_clip_it_does_not_matter_how_far(oracle):
    rows = oracle.make_rows([[1] * 20])
    x = oracle.make_input(rows)
    layer = relative(oracle, clip=2)

    swapped = x[[0, 1, 2, *range(19, 2, -1)]]  # all beyond offset 2 of the first, turned round

    torch.testing.assert_close(layer(x, rows)[0], layer(swapped, rows)[0])


def test_it_matters_on_which_side_a_key_is(oracle):
    rows = oracle.make_rows([[1] * 20])
    x = oracle.make_input(rows)
    layer = relative(oracle, clip=2)

    turned = layer(x.flip(0), rows).flip(0)

    assert not torch.allclose(layer(x, rows), turned)


def test_no_tensor_of_length_by_length_is_made(oracle):
    n = 900
    rows = oracle.make_rows([[1] * n])
    x = oracle.make_input(rows)
    layer = relative(oracle)

    class Largest(TorchDispatchMode):
        n_elements = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            for tensor in made if isinstance(made, tuple | list) else [made]:
                if isinstance(tensor, torch.Tensor):
                    self.n_elements = max(self.n_elements, tensor.numel())
            return made

    with Largest() as largest:
        layer(x, rows).sum().backward()

    assert n * oracle.width < largest.n_elements < n * n


def test_a_clip_of_nothing_is_an_error(oracle):
    with pytest.raises(ValueError, match="clipped at 1 or more"):
        relative(oracle, clip=0)
