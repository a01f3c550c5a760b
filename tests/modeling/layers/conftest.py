"""Batches to lay out, and the literal formulas that layers are compared with.

Shapes: B sequences, N positions, T subwords, E mentions, R = T + E, D width, H heads, K = D / H.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from modeling.data.batch import BatchWords, LayerRows, Layout
from modeling.layers import attention_blocks

WIDTH, N_HEADS = 12, 3


def make_rows(words, mentions=None):
    """Make rows of sequences, each a list of the sizes of its words; mentions are counts."""
    lengths = [sum(sizes) for sizes in words]
    subwords = Layout.of(lengths)
    sizes = [size for sequence in words for size in sequence]
    of_subword = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes, dtype=torch.int64))
    layout = Layout.of([len(sequence) for sequence in words])
    of_words = BatchWords(layout, of_subword, torch.tensor(sizes, dtype=torch.int64))
    if mentions is None:
        return LayerRows(subwords, subwords, of_words)
    entities = Layout.of(mentions)
    sequences = np.concatenate([subwords.sequences, entities.sequences])
    after = np.asarray(lengths, np.int64)[entities.sequences.numpy()]
    positions = np.concatenate([subwords.positions, entities.positions.numpy() + after])
    longest = max(n + e for n, e in zip(lengths, mentions, strict=True))
    together = Layout.placed(sequences, positions, longest=longest, n=len(words))
    return LayerRows(subwords, together, of_words, entities)


def random_words(lengths, seed=0):
    """Draw words of one to three subwords that fill sequences of these lengths."""
    generator = np.random.default_rng(seed)
    sequences = []
    for length in lengths:
        sizes = []
        while sum(sizes) < length:
            sizes.append(min(int(generator.integers(1, 4)), length - sum(sizes)))
        sequences.append(sizes)
    return sequences


def make_input(rows, seed=0):
    """Draw states of all rows, (R, D), in float64."""
    generator = torch.Generator().manual_seed(seed)
    shape = (len(rows.together.index), WIDTH)
    return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def heads(linear, x):
    """Return the heads of states: (n, D) to (H, n, K)."""
    return linear(x).view(len(x), N_HEADS, WIDTH // N_HEADS).transpose(0, 1)


def literal(layer, x, *, clip=None, window=None):
    """Attend within one sequence (n, D), with an n x n x K tensor of what belongs to offsets."""
    q, k, v = heads(layer.query, x), heads(layer.key, x), heads(layer.value, x)
    place = torch.arange(len(x))
    offset = place - place[:, None]  # [i, j] is j - i
    keys, values = k[:, None], v[:, None]  # (H, 1, n, K)
    if clip is not None:
        row = offset.clamp(-clip, clip) + clip
        keys, values = keys + layer.keys[row], values + layer.values[row]  # (H, n, n, K)
    scores = (q[:, :, None] * keys).sum(3) / (WIDTH // N_HEADS) ** 0.5
    if window is not None:
        scores = scores.masked_fill(offset.abs() > window, float("-inf"))
    mixed = (scores.softmax(2)[..., None] * values).sum(2)  # (H, n, K)
    return layer.output(mixed.transpose(0, 1).flatten(1))


def literal_entity_aware(layer, subwords, mentions):
    """Attend within one sequence, by four blocks of scores side by side and below each other."""
    both = torch.cat([subwords, mentions])
    key, value = heads(layer.key, both), heads(layer.value, both)
    word_key, entity_key = key[:, : len(subwords)], key[:, len(subwords) :]
    ww = heads(layer.query, subwords) @ word_key.mT
    we = heads(layer.query_to_entities, subwords) @ entity_key.mT
    ew = heads(layer.entity_query_to_words, mentions) @ word_key.mT
    ee = heads(layer.entity_query, mentions) @ entity_key.mT
    scores = torch.cat([torch.cat([ww, we], dim=2), torch.cat([ew, ee], dim=2)], dim=1)
    weights = (scores / (WIDTH // N_HEADS) ** 0.5).softmax(2)
    return layer.output((weights @ value).transpose(0, 1).flatten(1))


def assert_same(layer, x, *, actual, expected):
    """Check that values are the same, and gradients of ``x`` and of all parameters."""
    weight = torch.randn(actual.shape, dtype=actual.dtype)
    inputs = [x, *layer.parameters()]
    gradients = [
        torch.autograd.grad((weight * out).sum(), inputs, allow_unused=True, materialize_grads=True)
        for out in (actual, expected)
    ]
    torch.testing.assert_close(actual, expected)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


@pytest.fixture
def oracle():
    """Return the constants and functions above."""
    return SimpleNamespace(
        width=WIDTH,
        n_heads=N_HEADS,
        make_rows=make_rows,
        random_words=random_words,
        make_input=make_input,
        literal=literal,
        literal_entity_aware=literal_entity_aware,
        assert_same=assert_same,
    )


@pytest.fixture(params=["each sequence alone", "all sequences at once"])
def grouping(request, monkeypatch):
    """Compute on the CPU in the way of a CPU, and in that of a GPU."""
    if request.param == "all sequences at once":
        monkeypatch.setattr(attention_blocks, "groups", attention_blocks.all_sequences)
