"""What holds for every attention: neither padding nor order matters, and bfloat16 is enough."""

import pytest
import torch

from modeling.layers.attention import (
    EntityAwareAttention,
    RelativeSelfAttention,
    SelfAttention,
    WholeWordAttention,
)
from modeling.layers.transformer import EncoderLayer, FeedForward, LayerStack

KINDS = {
    "plain": (SelfAttention, {}),
    "entity-aware": (EntityAwareAttention, {}),
    "relative": (RelativeSelfAttention, {"clip": 4}),
    "whole-word": (WholeWordAttention, {"window": 2, "clip": None}),
    "whole-word relative": (WholeWordAttention, {"window": 2, "clip": 4}),
}
LENGTHS = [3, 40, 17]

pytestmark = [pytest.mark.usefixtures("grouping"), pytest.mark.parametrize("kind", KINDS)]


def encoder(oracle, kind):
    """Make an encoder of two layers, in float32."""
    make, options = KINDS[kind]
    return LayerStack(
        [
            EncoderLayer(
                attention=make(width=oracle.width, n_heads=oracle.n_heads, **options),
                feed_forward=FeedForward(width=oracle.width, inner_width=20),
                width=oracle.width,
                dropout=0.0,
            )
            for _ in range(2)
        ]
    )


def sample(oracle, kind):
    """Return words, mentions and input of sequences of uneven lengths."""
    words = oracle.random_words(LENGTHS)
    mentions = [2, 0, 3] if kind in {"plain", "entity-aware"} else None
    rows = oracle.make_rows(words, mentions)
    return words, mentions, oracle.make_input(rows).detach().float()


def parts(x, mentions):
    """Split states into subwords and mentions of each sequence."""
    n_mentions = mentions or [0] * len(LENGTHS)
    subwords, entities = x.split([sum(LENGTHS), sum(n_mentions)])
    return list(zip(subwords.split(LENGTHS), entities.split(n_mentions), strict=True))


def joined(parts):
    return torch.cat([subword for subword, _ in parts] + [mention for _, mention in parts])


def test_padding_changes_nothing(oracle, kind):
    words, mentions, x = sample(oracle, kind)
    layers = encoder(oracle, kind)

    together = layers(x, oracle.make_rows(words, mentions))

    alone = []
    for number, part in enumerate(parts(x, mentions)):
        rows = oracle.make_rows([words[number]], mentions and [mentions[number]])
        made = layers(torch.cat(part), rows)
        alone.append((made[: len(part[0])], made[len(part[0]) :]))
    torch.testing.assert_close(together, joined(alone), rtol=0, atol=1e-6)


def test_a_permuted_batch_is_the_permuted_result(oracle, kind):
    words, mentions, x = sample(oracle, kind)
    layers, order = encoder(oracle, kind), [2, 0, 1]

    straight = layers(x, oracle.make_rows(words, mentions))

    moved = [parts(x, mentions)[number] for number in order]
    rows = oracle.make_rows(
        [words[number] for number in order], mentions and [mentions[number] for number in order]
    )
    expected = joined([parts(straight, mentions)[number] for number in order])
    torch.testing.assert_close(layers(joined(moved), rows), expected, rtol=0, atol=1e-6)


def test_bfloat16_is_near_float32(oracle, kind):
    words, mentions, x = sample(oracle, kind)
    rows, layers = oracle.make_rows(words, mentions), encoder(oracle, kind)
    weight = torch.randn(x.shape)
    expected = layers(x, rows)
    gradients = torch.autograd.grad((weight * expected).sum(), list(layers.parameters()))

    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = layers(x, rows)
    (weight * actual).sum().backward()

    torch.testing.assert_close(actual.float(), expected, rtol=0.05, atol=0.05)
    for (name, parameter), gradient in zip(layers.named_parameters(), gradients, strict=True):
        assert parameter.grad.dtype == torch.float32, name
        is_noise = gradient.norm() < 1e-4  # as that of what all keys share, which softmax takes off
        assert is_noise or (parameter.grad - gradient).norm() < 0.05 * gradient.norm(), name


def test_backward_may_run_inside_or_outside_of_autocast(oracle, kind):
    words, mentions, x = sample(oracle, kind)
    rows, layers = oracle.make_rows(words, mentions), encoder(oracle, kind)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = layers(x, rows).float().square()[:, 0].sum()
        inside = torch.autograd.grad(loss, list(layers.parameters()), retain_graph=True)
    outside = torch.autograd.grad(loss, list(layers.parameters()))

    for one, other in zip(inside, outside, strict=True):
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.05)


def test_no_gradient_is_needed_to_evaluate(oracle, kind):
    words, mentions, x = sample(oracle, kind)
    rows, layers = oracle.make_rows(words, mentions), encoder(oracle, kind)

    with torch.inference_mode():
        evaluated = layers(x, rows)

    torch.testing.assert_close(evaluated, layers(x, rows))
