"""Attention in bfloat16: as exact as torch's own."""

import pytest
import torch
from torch.nn import functional

from modeling.layers.attention_blocks import relative_attention, window_attention

pytestmark = pytest.mark.usefixtures("grouping")
N, WIDTH, CLIP = 150, 16, 4


def relative(query, key, value, *, tables, attend=None):
    keys, values = tables
    return relative_attention(query, key, value, keys=keys, values=values, attend=attend)


def windowed(query, key, value, *, tables, attend=None):
    """Attend within a window as wide as the text: every row sees every other."""
    return window_attention(query, key, value, window=N, tables=tables, attend=attend)


def make(*shape, sd=1.0, seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * sd).bfloat16()


def peaked():
    """Draw queries, keys and values whose scores have a standard deviation of 9."""
    query, key, value = (make(1, 4, N, WIDTH, sd=sd, seed=seed) for seed, sd in SDS)
    assert (query.float() @ key.float().mT).std().item() == pytest.approx(9, rel=0.1)
    return query, key, value


SDS = ((1, 9 / WIDTH**0.5), (2, 1.0), (3, 1.0))


def with_gradients(attention, inputs, dtype):
    """Return the output, and the gradients of the inputs."""
    inputs = [tensor.detach().to(dtype).requires_grad_() for tensor in inputs]
    mixed = attention(*inputs)
    weight = make(*mixed.shape, seed=4).to(dtype)
    return [mixed, *torch.autograd.grad((mixed * weight).sum(), inputs)]


def errors(attention, inputs, expected):
    """Return the root mean square differences between half precision and float64."""
    made = with_gradients(attention, inputs, torch.bfloat16)
    assert {tensor.dtype for tensor in made} == {torch.bfloat16}
    return [
        (a.double() - b).square().mean().sqrt().item() for a, b in zip(made, expected, strict=True)
    ]


def plain(query, key, value):
    return functional.scaled_dot_product_attention(query, key, value, scale=1.0)


@pytest.mark.parametrize(
    ("attention", "n_offsets"), [(relative, 2 * CLIP + 1), (windowed, 2 * N + 1)]
)
def test_peaked_scores_are_as_exact_in_bfloat16_as_those_of_torch(attention, n_offsets):
    inputs = peaked()
    expected = with_gradients(plain, inputs, torch.float64)
    tables = (torch.zeros(n_offsets, WIDTH), torch.zeros(n_offsets, WIDTH))

    ours = errors(lambda *x: attention(*x, tables=tables), inputs, expected)

    theirs = errors(plain, inputs, expected)
    assert all(a <= 1.5 * b for a, b in zip(ours, theirs, strict=True)), (ours, theirs)


@pytest.mark.parametrize(
    ("attention", "n_offsets"), [(relative, 2 * CLIP + 1), (windowed, 2 * N + 1)]
)
def test_tables_in_bfloat16_are_as_exact_as_rows(attention, n_offsets):
    """The tables stay float32, as autocast has them; so do their gradients."""
    rows = peaked()
    tables = [make(n_offsets, WIDTH, sd=0.5, seed=seed).float() for seed in (5, 6)]

    def made(dtype, table_dtype):
        inputs = [x.detach().to(dtype).requires_grad_() for x in rows]
        both = [x.detach().to(table_dtype).requires_grad_() for x in tables]
        mixed = attention(*inputs, tables=both)
        weight = make(*mixed.shape, seed=4).to(dtype)
        return torch.autograd.grad((mixed * weight).sum(), [*inputs, *both])

    expected = made(torch.float64, torch.float64)
    actual = made(torch.bfloat16, torch.float32)

    assert [gradient.dtype for gradient in actual[3:]] == [torch.float32] * 2
    for one, other in zip(actual, expected, strict=True):
        error = (one.double() - other).norm() / other.norm()
        assert error < 0.01
