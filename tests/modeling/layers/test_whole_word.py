"""Whole-word attention, and the window of its subwords."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from modeling.data.batch import LayerRows
from modeling.layers.attention import (
    RelativeSelfAttention,
    SelfAttention,
    WholeWordAttention,
    WindowAttention,
    word_means,
)

pytestmark = pytest.mark.usefixtures("grouping")


def whole_word(oracle, window=2, clip=None):
    return WholeWordAttention(
        width=oracle.width, n_heads=oracle.n_heads, window=window, clip=clip
    ).double()


def literal(oracle, layer, x, *, words, window, clip):
    """Attend by the published pseudo-code: sample for sample, word for word."""
    results = []
    for sample, sizes in zip(x.split([sum(s) for s in words]), words, strict=True):
        means = [word.mean(dim=0) for word in sample.split(sizes)]
        seen = oracle.literal(layer.words, torch.stack(means), clip=clip)
        copies = [vector for vector, size in zip(seen, sizes, strict=True) for _ in range(size)]
        near = oracle.literal(layer.window, sample, clip=clip, window=window)
        results.append(torch.stack(copies) + near)
    return torch.cat(results)


@pytest.mark.parametrize("clip", [None, 2, 16])
@pytest.mark.parametrize("window", [0, 1, 5, 40])
def test_whole_word_attention_is_the_formula(oracle, window, clip):
    words = oracle.random_words([1, 13, 96, 70])
    rows = oracle.make_rows(words)
    x = oracle.make_input(rows)
    layer = whole_word(oracle, window=window, clip=clip)

    actual = layer(x, rows)

    expected = literal(oracle, layer, x, words=words, window=window, clip=clip)
    oracle.assert_same(layer, x, actual=actual, expected=expected)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=30), min_size=1, max_size=3),
    window=st.integers(0, 20),
    clip=st.none() | st.integers(1, 20),
)
def test_whole_word_attention_is_the_formula_for_any_words(oracle, words, window, clip):
    rows = oracle.make_rows(words)
    x = oracle.make_input(rows)
    layer = whole_word(oracle, window=window, clip=clip)

    actual = layer(x, rows)

    expected = literal(oracle, layer, x, words=words, window=window, clip=clip)
    oracle.assert_same(layer, x, actual=actual, expected=expected)


@pytest.mark.parametrize("clip", [None, 4])
def test_one_subword_a_word_and_a_wide_window_are_two_attentions_added(oracle, clip):
    lengths = [37, 20]
    rows = oracle.make_rows([[1] * n for n in lengths])
    x = oracle.make_input(rows)
    layer = whole_word(oracle, window=max(lengths), clip=clip)
    sizes = {"width": oracle.width, "n_heads": oracle.n_heads}

    actual = layer(x, rows)

    expected = torch.zeros(())
    for part in (layer.words, layer.window):
        whole = (
            SelfAttention(**sizes) if clip is None else RelativeSelfAttention(**sizes, clip=clip)
        )
        whole.double().load_state_dict(part.state_dict())
        expected = expected + whole(x, rows)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("clip", [None, 3])
def test_nothing_leaks_into_a_window(oracle, clip):
    window, n = 3, 80
    rows = oracle.make_rows([[1] * n])
    x = oracle.make_input(rows)
    layer = WindowAttention(
        width=oracle.width, n_heads=oracle.n_heads, window=window, clip=clip
    ).double()

    seen = torch.autograd.functional.jacobian(lambda x: layer(x, rows).sum(1), x).abs().sum(2)

    place = torch.arange(n)
    assert torch.equal(seen > 0, (place - place[:, None]).abs() <= window)


def test_words_are_means_of_their_subwords(oracle):
    words = oracle.random_words([9, 4])
    rows = oracle.make_rows(words)
    x = oracle.make_input(rows)

    means = word_means(x, rows.words)

    sizes = [size for sequence in words for size in sequence]
    torch.testing.assert_close(means, torch.stack([part.mean(0) for part in x.split(sizes)]))


def test_rows_without_words_are_an_error(oracle):
    rows = oracle.make_rows([[1, 2]])
    without = LayerRows(rows.subwords, rows.subwords)

    with pytest.raises(ValueError, match=r"Rows\.words"):
        whole_word(oracle)(oracle.make_input(rows), without)


def test_tables_have_no_more_state_than_their_rows(oracle):
    names = {name for name in whole_word(oracle, clip=2).state_dict() if "window" in name}

    projections = {"query", "key", "value", "output"}
    expected = {f"window.{p}.{kind}" for p in projections for kind in ("weight", "bias")}
    assert names == expected | {"window.keys", "window.values"}
