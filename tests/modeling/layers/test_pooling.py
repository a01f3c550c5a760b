"""From subwords to words, beside loops."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from modeling.layers.embeddings import pool_words

WIDTH = 3
words_of_subwords = st.lists(
    st.lists(st.integers(0, 11), min_size=1, max_size=4), min_size=1, max_size=6
)
"""The rows of each word; a row may stand in several, as windows overlap."""


def pooled(subwords, words, pooling):
    sizes = torch.tensor([len(word) for word in words])
    rows = torch.tensor([row for word in words for row in word])
    return pool_words(subwords, rows, sizes.cumsum(0) - sizes, pooling=pooling)


def by_loops(subwords, words, pooling):
    reduced = {
        "first": lambda rows: rows[0],
        "mean": lambda rows: sum(rows) / len(rows),
        "max": lambda rows: torch.tensor([max(column) for column in zip(*rows, strict=True)]),
    }[pooling]
    return torch.stack([reduced([subwords[row] for row in word]) for word in words])


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
@given(words=words_of_subwords, seed=st.integers(0, 99))
def test_a_word_is_its_first_subword_or_the_mean_or_maximum_of_all(pooling, words, seed):
    generator = torch.Generator().manual_seed(seed)
    subwords = torch.randn(12, WIDTH, generator=generator)

    found = pooled(subwords, words, pooling)

    torch.testing.assert_close(found, by_loops(subwords, words, pooling))


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_words_of_one_subword_are_that_subword(pooling):
    subwords = torch.randn(5, WIDTH)

    found = pooled(subwords, [[4], [0], [2]], pooling)

    torch.testing.assert_close(found, subwords[[4, 0, 2]], rtol=0, atol=0)


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_gradients_reach_the_subwords_that_count(pooling):
    subwords = torch.tensor([[1.0, 5.0], [3.0, 2.0], [7.0, 7.0]], requires_grad=True)

    pooled(subwords, [[0, 1]], pooling).sum().backward()

    expected = {
        "first": [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]],
        "mean": [[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]],
        "max": [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]],
    }[pooling]
    torch.testing.assert_close(subwords.grad, torch.tensor(expected))
