"""Dense attention is the attention of the layers, and says which weights it used."""

from dataclasses import replace

import pytest
import torch

from modeling.data.batch import EntityVectors
from modeling.inspect.attention import padded
from modeling.layers.attention import (
    CharEntityAttention,
    EntityAwareAttention,
    RelativeSelfAttention,
    SelfAttention,
    WholeWordAttention,
    WindowAttention,
)
from modeling.layers.dense import Padded, attend_densely

KINDS = {
    "plain": (SelfAttention, {}),
    "entity-aware": (EntityAwareAttention, {}),
    "relative": (RelativeSelfAttention, {"clip": 3}),
    "window": (WindowAttention, {"window": 2, "clip": None}),
    "window relative": (WindowAttention, {"window": 3, "clip": 2}),
    "whole-word": (WholeWordAttention, {"window": 2, "clip": None}),
    "whole-word relative": (WholeWordAttention, {"window": 2, "clip": 4}),
}
LENGTHS = [3, 19, 8]


def make(oracle, kind):
    torch.manual_seed(3)
    build, options = KINDS[kind]
    return build(width=oracle.width, n_heads=oracle.n_heads, **options).double()


@pytest.mark.parametrize(
    ("kind", "mentions"),
    [(kind, None) for kind in KINDS] + [("plain", [2, 0, 3]), ("entity-aware", [2, 0, 3])],
)
def test_it_is_what_the_layer_does(oracle, kind, mentions):
    rows = oracle.make_rows(oracle.random_words(LENGTHS), mentions)
    x = oracle.make_input(rows).detach()
    layer = make(oracle, kind)

    dense = attend_densely(layer, rows.together.pad(x), padded(rows))

    torch.testing.assert_close(rows.together.pack(dense.output), layer(x, rows))


@pytest.mark.parametrize("kind", ["plain", "entity-aware"])
def test_weights_are_what_values_are_mixed_with(oracle, kind):
    rows = oracle.make_rows(oracle.random_words(LENGTHS), [2, 1, 3])
    x = oracle.make_input(rows).detach()
    layer = make(oracle, kind)
    whole = rows.together.pad(x)

    weights = attend_densely(layer, whole, padded(rows)).weights["rows"]

    values = layer.value(whole).unflatten(2, (oracle.n_heads, -1)).transpose(1, 2)
    mixed = layer.output((weights @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(rows.together.pack(mixed), layer(x, rows))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_ratios_of_what_stands_there(oracle, kind):
    rows = oracle.make_rows(oracle.random_words(LENGTHS))
    x = oracle.make_input(rows).detach()
    found = attend_densely(make(oracle, kind), rows.together.pad(x), padded(rows)).weights

    n_words = [len(sizes) for sizes in oracle.random_words(LENGTHS)]
    for name, weights in found.items():
        for number, n in enumerate(n_words if name == "words" else LENGTHS):
            inside = weights[number, :, :n, :n]
            assert (inside >= 0).all()
            torch.testing.assert_close(inside.sum(2), torch.ones_like(inside.sum(2)))


def test_a_window_sees_nothing_beyond_it(oracle):
    rows = oracle.make_rows(oracle.random_words(LENGTHS))
    x = oracle.make_input(rows).detach()

    layer = make(oracle, "window")
    weights = attend_densely(layer, rows.together.pad(x), padded(rows)).weights["window"]

    places = torch.arange(weights.shape[-1])
    far = (places - places[:, None]).abs() > 2
    assert weights[1][:, far].count_nonzero() == 0


def test_subwords_that_know_entities_are_what_the_layer_does(oracle):
    torch.manual_seed(1)
    layer = CharEntityAttention(width=oracle.width, n_heads=oracle.n_heads, entity_width=5).double()
    plain = oracle.make_rows(oracle.random_words(LENGTHS))
    known = EntityVectors(torch.tensor([0, 4, 9, 28]), torch.randn(4, 5, dtype=torch.float64))
    rows, x = replace(plain, known=known), oracle.make_input(plain).detach()

    dense = attend_densely(layer, rows.subwords.pad(x), padded(rows))
    without = attend_densely(layer, rows.subwords.pad(x), padded(plain))

    torch.testing.assert_close(rows.subwords.pack(dense.output), layer(x, rows))
    torch.testing.assert_close(rows.subwords.pack(without.output), layer(x, plain))


def test_what_is_no_attention_is_an_error():
    with pytest.raises(ValueError, match="Linear is no attention"):
        attend_densely(torch.nn.Linear(2, 2), torch.zeros(1, 1, 2), Padded(torch.ones(1, 1) > 0))
