"""Layers of an encoder and their order."""

import pytest
import torch
from torch import nn

from modeling.layers.attention import SelfAttention
from modeling.layers.transformer import EncoderLayer, FeedForward, LayerStack


def make_layer(oracle, norm, dropout=0.0):
    return EncoderLayer(
        attention=SelfAttention(width=oracle.width, n_heads=oracle.n_heads),
        feed_forward=FeedForward(width=oracle.width, inner_width=20, activation="relu"),
        width=oracle.width,
        norm=norm,
        norm_eps=1e-6,
        dropout=dropout,
    ).double()


def test_layers_that_are_computed_again_have_the_same_gradients(oracle):
    rows = oracle.make_rows([[1] * 6, [1] * 4])
    encoder = LayerStack([make_layer(oracle, "post", dropout=0.3) for _ in range(2)])
    gradients = []
    for encoder.recomputes in (False, True):
        encoder.zero_grad()
        torch.manual_seed(3)
        encoder(oracle.make_input(rows), rows).square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in encoder.parameters()])

    assert all(map(torch.equal, *gradients))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_layer_is_that_of_torch(oracle, norm):
    rows = oracle.make_rows([[1] * 6, [1] * 6])
    x = oracle.make_input(rows)
    layer = make_layer(oracle, norm)
    peer = nn.TransformerEncoderLayer(
        oracle.width,
        oracle.n_heads,
        dim_feedforward=20,
        dropout=0.0,
        layer_norm_eps=1e-6,
        batch_first=True,
        norm_first=norm == "pre",
    ).double()
    attention = layer.attention
    for name in ("weight", "bias"):
        parts = [getattr(part, name) for part in (attention.query, attention.key, attention.value)]
        getattr(peer.self_attn, f"in_proj_{name}").data = torch.cat(parts).detach()
    for ours, theirs in (
        (attention.output, peer.self_attn.out_proj),
        (layer.feed_forward.inner, peer.linear1),
        (layer.feed_forward.outer, peer.linear2),
        (layer.attention_norm, peer.norm1),
        (layer.feed_forward_norm, peer.norm2),
    ):
        nn.init.normal_(ours.bias)
        theirs.load_state_dict(ours.state_dict())

    actual = layer(x, rows)

    torch.testing.assert_close(actual, peer(x.view(2, 6, -1)).flatten(0, 1))


def test_encoder_is_its_layers_and_then_its_norm(oracle):
    rows = oracle.make_rows([[1] * 5, [1] * 2])
    x = oracle.make_input(rows)
    layers = [make_layer(oracle, "pre") for _ in range(3)]
    norm = nn.LayerNorm(oracle.width).double()

    actual = LayerStack(layers, norm=norm)(x, rows)

    for layer in layers:
        x = layer(x, rows)
    torch.testing.assert_close(actual, norm(x))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_with_all_of_both_branches_dropped_a_layer_only_norms(oracle, norm):
    rows = oracle.make_rows([[1] * 4])
    x = oracle.make_input(rows)
    layer = make_layer(oracle, norm, dropout=1.0)

    actual = layer(x, rows)

    expected = x if norm == "pre" else layer.feed_forward_norm(layer.attention_norm(x))
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize(("activation", "function"), [("relu", nn.ReLU()), ("gelu", nn.GELU())])
def test_feed_forward_has_the_activation_that_is_named(activation, function):
    layer = FeedForward(width=4, inner_width=6, activation=activation)
    x = torch.randn(3, 4)

    torch.testing.assert_close(layer(x), layer.outer(function(layer.inner(x))))
