"""Entities that start from their names are read at first as the words of their names are."""

import logging

import pytest
import torch

from corpora.entities.vocabulary import MASK
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import EncoderConfig
from modeling.data.batch import Batch, LayerRows, Layout, SubwordEntities
from modeling.layers.embeddings import EntityEmbeddings
from modeling.models.text_encoder import build_encoder
from modeling.training import entity_names
from modeling.training.entity_names import start_from_names
from tests.modeling.conftest import SUBWORDS
from tests.modeling.training.conftest import make_batch

NAMES = ["[PAD]", "[UNK]", "[MASK]", "x:w1", "x:w3 w5", "x:w7 w9e4 w11", "x:?", "y:w1?"]


@pytest.fixture
def tokenizer(examples):
    return Tokenizer.open(examples)


def make_encoder(**settings):
    sizes = {"width": 16, "n_layers": 1, "n_heads": 2, "inner_width": 32, "entity_width": 8}
    sizes |= {"n_subwords": len(SUBWORDS), "n_entities": len(NAMES), "n_segments": 2}
    config = EncoderConfig(**(sizes | settings))
    torch.manual_seed(1)
    encoder = build_encoder(config)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter)
    return encoder.eval()


def start(encoder, tokenizer, *, new=None, transferred=()):
    everyone = torch.ones(len(NAMES), dtype=torch.bool)
    new = everyone if new is None else new
    return start_from_names(encoder, NAMES, tokenizer, new=new, transferred=transferred)


def vector(encoder, *subwords):
    """Return the mean of the vectors of subwords."""
    return encoder.embeddings.subwords.weight[[SUBWORDS.index(one) for one in subwords]].mean(0)


@pytest.mark.parametrize("width", [8, 16, 20])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_a_mention_is_read_as_the_subword_that_names_it(tokenizer, width, positions):
    encoder = make_encoder(entity_width=width, positions=positions)

    start(encoder, tokenizer)

    # Six names are not empty: eight axes and more hold all of them.
    text = make_batch([3])
    for name, subword in [(3, "w1"), (MASK, "[MASK]"), (7, "w1")]:
        read = encoder.embeddings(torch.tensor([SUBWORDS.index(subword)] * 3), text.rows)
        mentions = encoder.entity_embeddings
        for place in range(3):
            expected = read[place]
            got = _embedded(mentions, name, place)
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def _embedded(mentions: EntityEmbeddings, entity, place):
    x = mentions.entities.weight[entity]
    x = x if mentions.project is None else mentions.project(x)
    return mentions.norm(x + mentions.positions.weight[place] + mentions.types.weight[0])


def test_a_name_is_the_mean_of_its_subwords(tokenizer):
    encoder = make_encoder(entity_width=16, scale_embeddings=True)

    start(encoder, tokenizer)

    rows = encoder.entity_embeddings.entities.weight
    torch.testing.assert_close(rows[4], 4 * vector(encoder, "w3", "w5"))
    torch.testing.assert_close(rows[3], 4 * vector(encoder, "w1"))


def test_axes_lose_least_of_the_names(tokenizer):
    encoder = make_encoder(entity_width=2)
    names = torch.stack([vector(encoder, "w1"), vector(encoder, "w3", "w5")])

    start(encoder, tokenizer)

    rows, axes = encoder.entity_embeddings.entities.weight, encoder.entity_embeddings.project.weight
    torch.testing.assert_close(axes.T @ axes, torch.eye(2), rtol=0, atol=1e-5)
    kept = (rows[3:5] @ axes.T).norm() / names.norm()
    assert 0.5 < kept < 1


def test_what_has_no_name_and_what_is_known_stays(tokenizer, caplog):
    encoder, before = make_encoder(), make_encoder()
    new = torch.tensor([name != "x:w1" for name in NAMES])
    kinds = ("project", "positions", "norm", "types")
    given = [f"encoder.entity_embeddings.{kind}.weight" for kind in kinds]

    with caplog.at_level(logging.INFO):
        changed = start(encoder, tokenizer, new=new, transferred=given)

    rows, old = encoder.entity_embeddings.entities.weight, before.entity_embeddings.entities.weight
    assert [bool(here.equal(there)) for here, there in zip(rows, old, strict=True)] == [
        name in {"[PAD]", "[UNK]", "x:?", "x:w1"} for name in NAMES
    ]
    for kind in kinds:
        kept = getattr(encoder.entity_embeddings, kind).weight
        assert kept.equal(getattr(before.entity_embeddings, kind).weight)
    assert changed == [f"encoder.entity_embeddings.{n}" for n in ("norm.bias", "entities.weight")]
    assert "4 of 8 entities start from their names." in caplog.text


@pytest.mark.parametrize("bias", [False, True])
def test_rows_for_a_projection_that_is_known_come_nearest_to_their_names(tokenizer, bias):
    encoder = make_encoder(entity_bias=bias)
    project = encoder.entity_embeddings.project
    offset = project.bias.detach().clone() if bias else torch.zeros(16)

    start(encoder, tokenizer, transferred=["encoder.entity_embeddings.project.weight"])

    rows = encoder.entity_embeddings.entities.weight
    asked = (vector(encoder, "w1") - offset)[:, None]
    expected = torch.linalg.lstsq(project.weight, asked).solution[:, 0]
    torch.testing.assert_close(rows[3], expected, rtol=1e-3, atol=1e-3)


def test_many_names_are_read_some_at_a_time(tokenizer, monkeypatch):
    expected = make_encoder(entity_width=16)
    start(expected, tokenizer)
    monkeypatch.setattr(entity_names, "_N_AT_ONCE", 3)
    monkeypatch.setattr(entity_names, "_N_MEASURED", 4)
    encoder = make_encoder(entity_width=16)

    start(encoder, tokenizer)

    rows = encoder.entity_embeddings.entities.weight
    assert rows.equal(expected.entity_embeddings.entities.weight)


def test_more_names_than_are_held_at_once_and_than_axes_are_computed_from(tokenizer):
    names = NAMES * (1 + entity_names._N_MEASURED // len(NAMES))
    encoder = make_encoder(n_entities=len(names))
    assert len(names) > entity_names._N_MEASURED > entity_names._N_AT_ONCE

    start_from_names(
        encoder, names, tokenizer, new=torch.ones(len(names), dtype=torch.bool), transferred=()
    )

    read = encoder.entity_embeddings.project(encoder.entity_embeddings.entities.weight)
    last = len(names) - len(NAMES) + 4
    torch.testing.assert_close(read[last], vector(encoder, "w3", "w5"), rtol=1e-3, atol=1e-3)


SINGLE = ["[PAD]", "[UNK]", "[MASK]", "x:w1", "x:w3", "x:w5", "x:?"]


def read_alone(encoder, tokenizer, subword, *, entity=None):
    """Encode a subword between [CLS] and [SEP], with the entity that it knows."""
    ids = [tokenizer.special.cls, SUBWORDS.index(subword), tokenizer.special.sep]
    layout = Layout.of([3])
    known = entity and SubwordEntities(torch.tensor([1]), torch.tensor([entity]))
    batch = Batch(("a",), torch.tensor(ids), LayerRows(layout, layout), subword_entities=known)
    with torch.no_grad():
        return encoder(batch).subwords


def knowing(**settings):
    kinds = {"entities": "subwords", "attention": "char_entity", "n_entities": len(SINGLE)}
    return make_encoder(**kinds, n_layers=3, **settings)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_subword_with_an_entity_is_read_as_without(tokenizer, norm):
    encoder = knowing(norm=norm)
    everyone = torch.ones(len(SINGLE), dtype=torch.bool)
    before = encoder.entity_embeddings.entities.weight.detach().clone()

    changed = start_from_names(encoder, SINGLE, tokenizer, new=everyone, transferred=())

    for entity, subword in [(3, "w1"), (5, "w5")]:
        alone = read_alone(encoder, tokenizer, subword)
        torch.testing.assert_close(
            read_alone(encoder, tokenizer, subword, entity=entity), alone, rtol=1e-2, atol=1e-2
        )
    unknown = torch.tensor([0, 1, 6])
    assert encoder.entity_embeddings.entities.weight[unknown].equal(before[unknown])
    assert len(changed) == 1 + 2 * 3
    assert set(changed) <= {f"encoder.{name}" for name, _ in encoder.named_parameters()}


def test_maps_to_keys_that_another_model_gave_stay_with_their_vectors(tokenizer):
    encoder, before = knowing(), knowing()
    given = ["encoder.encoder.layers.0.attention.entity_key.weight"]
    new = torch.ones(len(SINGLE), dtype=torch.bool)

    assert start_from_names(encoder, SINGLE, tokenizer, new=new, transferred=given) == []

    pairs = zip(encoder.parameters(), before.parameters(), strict=True)
    assert all(here.equal(there) for here, there in pairs)


def test_without_entities_there_are_no_names(tokenizer):
    encoder = make_encoder(n_entities=0)
    with pytest.raises(TypeError, match="no entities"):
        start_from_names(encoder, [], tokenizer, new=torch.ones(0), transferred=())


@pytest.mark.parametrize("names", [["[PAD]", "[UNK]", "[MASK]", "x:?"], [f"x:{'w1 ' * 600}"]])
def test_names_without_subwords_and_longer_than_the_positions(tokenizer, names):
    encoder = knowing(max_positions=32)
    new = torch.ones(len(names), dtype=torch.bool)

    changed = start_from_names(encoder, names, tokenizer, new=new, transferred=())

    assert bool(changed) == (len(names) == 1)
    assert all(parameter.isfinite().all() for parameter in encoder.parameters())
