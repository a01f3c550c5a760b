"""Char-entity attention: equations 3 and 4 of the paper, written out."""

from dataclasses import replace

import pytest
import torch

from modeling.data.batch import EntityVectors, SubwordEntities
from modeling.layers.attention import CharEntityAttention, EntityTable, SelfAttention

F = 5


@pytest.fixture
def layer(oracle):
    torch.manual_seed(3)
    return CharEntityAttention(
        width=oracle.width, n_heads=oracle.n_heads, entity_width=F, scale=0.3
    ).double()


@pytest.fixture
def rows(oracle):
    return oracle.make_rows(oracle.random_words([7, 2, 5]))


def some_known(rows, *, seed=0):
    """Return vectors of entities for half of the subwords."""
    generator = torch.Generator().manual_seed(seed)
    n = len(rows.subwords.index)
    chosen = torch.randperm(n, generator=generator)[: n // 2].sort().values
    vectors = torch.randn(len(chosen), F, generator=generator, dtype=torch.float64)
    return EntityVectors(chosen, vectors.requires_grad_())


def one_head_that_shows_its_weights(n):
    """Make a layer that shows its weights: one-hot rows give the attention weight of each.

    Entities halve them.
    """
    torch.manual_seed(5)
    layer = CharEntityAttention(width=n, n_heads=1, entity_width=F).double()
    with torch.no_grad():
        for weights in (layer.value.weight, layer.output.weight):
            weights.copy_(torch.eye(n))
        for zeros in (layer.value.bias, layer.output.bias, layer.entity_value.weight):
            zeros.zero_()
        for linear in (layer.query, layer.key, layer.entity_key):
            linear.weight.mul_(4)  # so that weights differ much
    return layer


def literal(layer, oracle, x, known):
    """Attend by equation 3, subword by subword, within one sequence.

    ``known``: a vector or ``None`` for each subword.
    """
    keys, values = [], []
    for state, vector in zip(x, known, strict=True):
        key, value = layer.key(state), layer.value(state)
        if vector is not None:
            key = (1 - layer.scale) * key + layer.scale * (layer.entity_key.weight @ vector)
            value = (1 - layer.scale) * value + layer.scale * (layer.entity_value.weight @ vector)
        keys.append(key)
        values.append(value)
    split = (len(x), oracle.n_heads, oracle.width // oracle.n_heads)
    query, key, value = (
        part.view(split).transpose(0, 1)
        for part in (layer.query(x), torch.stack(keys), torch.stack(values))
    )
    weights = (query @ key.mT / split[2] ** 0.5).softmax(2)
    return layer.output((weights @ value).transpose(0, 1).flatten(1))


def test_keys_and_values_are_those_of_equation_3(oracle, layer, rows):
    x, known = oracle.make_input(rows), some_known(rows)
    by_row = dict(zip(known.rows.tolist(), known.vectors, strict=True))

    actual = layer(x, replace(rows, known=known))

    parts, start = [], 0
    for n in (7, 2, 5):
        own = range(start, start + n)
        parts.append(literal(layer, oracle, x[start : start + n], [by_row.get(row) for row in own]))
        start += n
    expected = torch.cat(parts)
    torch.testing.assert_close(actual, expected)
    weight, inputs = torch.randn_like(actual), [x, known.vectors, *layer.parameters()]
    gradients = [torch.autograd.grad((weight * out).sum(), inputs) for out in (actual, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("n_known", [None, 0])
def test_without_an_entity_it_is_plain_attention_to_the_bit(oracle, layer, rows, n_known):
    plain = SelfAttention(width=oracle.width, n_heads=oracle.n_heads).double()
    plain.load_state_dict({n: w for n, w in layer.state_dict().items() if "entity" not in n})
    x = oracle.make_input(rows)
    nothing = EntityVectors(
        torch.zeros(0, dtype=torch.int64), torch.zeros(0, F, dtype=torch.float64)
    )

    mixed = layer(x, rows if n_known is None else replace(rows, known=nothing))

    assert torch.equal(mixed, plain(x, rows))


def test_the_weight_of_an_entity_subword_is_the_geometric_mean_of_equation_4(oracle):
    n, with_entity = 8, [1, 2, 6]
    layer = one_head_that_shows_its_weights(n)
    rows, x = oracle.make_rows([[1] * n]), torch.eye(n, dtype=torch.float64)
    vectors = torch.randn(len(with_entity), F, dtype=torch.float64)
    known = EntityVectors(torch.tensor(with_entity), vectors)

    weights = layer(x, replace(rows, known=known))
    weights[:, with_entity] *= 2  # half of these values is the entity's, which is 0

    of_subword = (layer.query(x) @ layer.key(x).mT / n**0.5).exp()  # s(q, k of the subword)
    of_entity = (layer.query(x) @ layer.entity_key(vectors).mT / n**0.5).exp()
    expected = of_subword.clone()
    expected[:, with_entity] = (of_subword[:, with_entity] * of_entity).sqrt()
    torch.testing.assert_close(weights, expected / expected.sum(1, keepdim=True))


def test_with_scale_1_only_the_entity_is_seen_of_a_subword_that_knows_one(oracle, rows):
    layer = CharEntityAttention(width=12, n_heads=3, entity_width=F, scale=1.0).double()
    x, known = oracle.make_input(rows), EntityVectors(torch.tensor([3]), torch.ones(1, F).double())
    other = x.detach().clone()
    other[3] += 1

    one, two = (layer(each, replace(rows, known=known)) for each in (x, other))

    changed = (one != two).any(1).nonzero().flatten().tolist()
    assert changed == [3]  # its own query alone


def test_a_table_gives_each_subword_the_vector_of_its_entity():
    table = EntityTable(n_entities=9, entity_width=F)

    known = table(SubwordEntities(torch.tensor([1, 4, 5]), torch.tensor([8, 3, 8])))

    assert known.rows.tolist() == [1, 4, 5]
    assert torch.equal(known.vectors, table.entities.weight[[8, 3, 8]])
