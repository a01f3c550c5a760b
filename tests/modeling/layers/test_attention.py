"""Plain and entity-aware attention."""

import copy

import pytest
import torch
from torch.nn import functional

from modeling.data.batch import LayerRows
from modeling.layers import attention
from modeling.layers.attention import EntityAwareAttention, SelfAttention

LENGTHS, MENTIONS = [7, 1, 4], [2, 0, 3]


@pytest.fixture(params=["_mix_in_parts", "_mix_fused"])
def mixing(request, monkeypatch):
    """Compute on the CPU in the way of a CPU, and in that of a GPU."""
    monkeypatch.setattr(attention, "_mix_in_parts", getattr(attention, request.param))


def entity_aware(oracle):
    return EntityAwareAttention(width=oracle.width, n_heads=oracle.n_heads).double()


def test_plain_attention_is_the_formula(oracle):
    rows = oracle.make_rows([[1] * n for n in LENGTHS])
    x = oracle.make_input(rows)
    layer = SelfAttention(width=oracle.width, n_heads=oracle.n_heads).double()

    actual = layer(x, rows)

    expected = torch.cat([oracle.literal(layer, part) for part in x.split(LENGTHS)])
    oracle.assert_same(layer, x, actual=actual, expected=expected)


def test_mentions_are_more_rows_for_plain_attention(oracle):
    rows = oracle.make_rows([[1] * n for n in LENGTHS], MENTIONS)
    x = oracle.make_input(rows)
    layer = SelfAttention(width=oracle.width, n_heads=oracle.n_heads).double()

    actual = layer(x, rows)

    subwords, mentions = x.split([sum(LENGTHS), sum(MENTIONS)])
    parts = zip(subwords.split(LENGTHS), mentions.split(MENTIONS), strict=True)
    both = [oracle.literal(layer, torch.cat(part)).split(len(part[0])) for part in parts]
    # a mention-less sequence has one part
    expected = torch.cat([part[0] for part in both] + [p for part in both for p in part[1:]])
    oracle.assert_same(layer, x, actual=actual, expected=expected)


@pytest.mark.usefixtures("mixing")
@pytest.mark.parametrize("mentions", [MENTIONS, [2, 2, 2], [0, 0, 0]])
def test_entity_aware_attention_is_the_formula(oracle, mentions):
    rows = oracle.make_rows([[1] * n for n in LENGTHS], mentions)
    x = oracle.make_input(rows)
    layer = entity_aware(oracle)

    actual = layer(x, rows)

    subwords, entities = x.split([sum(LENGTHS), sum(mentions)])
    expected_subwords, expected_entities = [], []
    for some, others in zip(subwords.split(LENGTHS), entities.split(mentions), strict=True):
        both = oracle.literal_entity_aware(layer, some, others)
        expected_subwords.append(both[: len(some)])
        expected_entities.append(both[len(some) :])
    expected = torch.cat(expected_subwords + expected_entities)
    oracle.assert_same(layer, x, actual=actual, expected=expected)


@pytest.mark.usefixtures("mixing")
def test_four_equal_queries_are_plain_attention(oracle):
    rows = oracle.make_rows([[1] * n for n in LENGTHS], MENTIONS)
    x = oracle.make_input(rows)
    layer = entity_aware(oracle)
    for query in (layer.query_to_entities, layer.entity_query_to_words, layer.entity_query):
        query.load_state_dict(layer.query.state_dict())
    plain = SelfAttention(width=oracle.width, n_heads=oracle.n_heads).double()
    plain.load_state_dict(layer.state_dict(), strict=False)

    torch.testing.assert_close(layer(x, rows), plain(x, rows))


@pytest.mark.usefixtures("mixing")
def test_without_mentions_entity_aware_attention_is_plain_attention(oracle):
    rows = oracle.make_rows([[1] * n for n in LENGTHS])
    x = oracle.make_input(rows)
    layer = entity_aware(oracle)
    plain = SelfAttention(width=oracle.width, n_heads=oracle.n_heads).double()
    plain.load_state_dict(layer.state_dict(), strict=False)

    torch.testing.assert_close(layer(x, rows), plain(x, rows))


@pytest.mark.usefixtures("mixing")
def test_each_query_serves_its_own_pair(oracle):
    rows = oracle.make_rows([[1] * 4], [3])
    x = oracle.make_input(rows)
    layer = entity_aware(oracle)
    before = layer(x, rows)

    after = {}
    for name in ("query", "query_to_entities", "entity_query_to_words", "entity_query"):
        changed = copy.deepcopy(layer)
        functional.dropout(getattr(changed, name).weight.data, inplace=True)
        rows_changed = (changed(x, rows) != before).any(dim=1)
        after[name] = (rows_changed[:4].all().item(), rows_changed[4:].all().item())
        assert after[name] == (rows_changed[:4].any().item(), rows_changed[4:].any().item())

    assert after == {
        "query": (True, False),
        "query_to_entities": (True, False),
        "entity_query_to_words": (False, True),
        "entity_query": (False, True),
    }


@pytest.mark.usefixtures("mixing")
@pytest.mark.parametrize("kind", [SelfAttention, EntityAwareAttention])
def test_weights_are_dropped_in_training_only(oracle, kind):
    rows = oracle.make_rows([[1] * n for n in LENGTHS], MENTIONS)
    x = oracle.make_input(rows)
    layer = kind(width=oracle.width, n_heads=oracle.n_heads, dropout=0.5).double()
    without = kind(width=oracle.width, n_heads=oracle.n_heads).double()
    without.load_state_dict(layer.state_dict())

    trained, evaluated = layer.train()(x, rows), layer.eval()(x, rows)

    assert not torch.allclose(trained, evaluated)
    torch.testing.assert_close(evaluated, without(x, rows))


def test_a_batch_may_be_of_one_mention_and_one_subword(oracle):
    rows = oracle.make_rows([[1]], [1])
    x = oracle.make_input(rows)

    assert entity_aware(oracle)(x, rows).shape == (2, oracle.width)


@pytest.mark.parametrize("n_heads", [0, 5])
def test_a_width_that_heads_do_not_divide_is_an_error(n_heads):
    with pytest.raises(ValueError, match="cannot have"):
        SelfAttention(width=12, n_heads=n_heads)


def test_rows_without_an_entity_layout_have_no_mentions(oracle):
    rows = oracle.make_rows([[1, 1, 1]])

    assert (
        entity_aware(oracle)(oracle.make_input(rows), LayerRows(rows.subwords, rows.subwords))
        .isfinite()
        .all()
    )
