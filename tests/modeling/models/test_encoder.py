"""Encoders that settings describe: what goes together, how they begin, what padding changes."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from modeling.config import ConfigError
from modeling.models.text_encoder import build_encoder
from tests.modeling.models.small_encoder import BERT

CONFIG = replace(BERT, entity_width=8)
KINDS = {
    "bert": replace(CONFIG, attention="plain"),
    "pre-norm": replace(CONFIG, norm="pre", embedding_norm=False, activation="relu"),
    "sinusoidal": replace(CONFIG, positions="sinusoidal", scale_embeddings=True),
    "relative": replace(CONFIG, attention="relative", positions="none", clip=3),
    "whole word": replace(CONFIG, attention="whole_word", window=2),
    "whole word, relative": replace(CONFIG, attention="whole_word_relative", window=2, clip=3),
    "plain luke": replace(CONFIG, n_entities=20),
    "luke": replace(CONFIG, n_entities=20, attention="entity_aware"),
    "one width": replace(CONFIG, n_entities=20, attention="entity_aware", entity_width=16),
}
KINDS = {name: replace(config, init="keras") for name, config in KINDS.items()}


@pytest.fixture(params=KINDS)
def config(request):
    return KINDS[request.param]


def encode(config, samples, texts):
    torch.manual_seed(0)
    encoder = build_encoder(config).double().eval()
    return encoder(samples.batch(texts, with_segments=True, word_size=2))


def test_each_text_of_a_batch_is_encoded_as_if_alone(config, samples):
    texts = samples.uneven(1, with_mentions=config.n_entities > 0)

    together = encode(config, samples, texts)

    alone = [encode(config, samples, [text]) for text in texts]
    subwords = torch.cat([each.subwords for each in alone])
    torch.testing.assert_close(together.subwords, subwords, rtol=0, atol=1e-10)
    if config.n_entities:
        entities = torch.cat([each.entities for each in alone if each.entities is not None])
        torch.testing.assert_close(together.entities, entities, rtol=0, atol=1e-10)


def test_a_permuted_batch_is_the_permuted_result(config, samples):
    texts = samples.uneven(2, with_mentions=config.n_entities > 0)
    order = [3, 0, 4, 2, 1]

    straight = encode(config, samples, texts)
    permuted = encode(config, samples, [texts[i] for i in order])

    for name, sizes in (
        ("subwords", [len(text.subwords) for text in texts]),
        ("entities", [len(text.mentions) for text in texts]),
    ):
        if getattr(straight, name) is None:
            continue
        parts = getattr(straight, name).split(sizes)
        expected = torch.cat([parts[i] for i in order])
        torch.testing.assert_close(getattr(permuted, name), expected, rtol=0, atol=1e-10)


def test_every_weight_takes_part(config, samples):
    texts = samples.uneven(3, with_mentions=config.n_entities > 0)
    encoder = build_encoder(config)

    encoded = encoder(samples.batch(texts, with_segments=True, word_size=2))
    sum(part.sin().sum() for part in encoded if part is not None).backward()

    idle = {name for name, p in encoder.named_parameters() if p.grad is None or not p.grad.any()}
    assert idle == set()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_subwords": 0}, "size of the tokenizer"),
        ({"n_heads": 3}, "no multiple"),
        ({"n_heads": 0}, "n_heads=0: must be from 1"),
        ({"dropout": 1.5}, "encoder.dropout=1.5: must be from 0 to 1"),
        ({"attention_dropout": -0.1}, "attention_dropout=-0.1: must be from 0 to 1"),
        ({"attention": "relative", "n_entities": 9}, "reads no mentions"),
        ({"attention": "whole_word", "n_entities": 9}, "reads no mentions"),
        ({"attention": "entity_aware"}, "needs mentions"),
        ({"attention": "relative", "attention_dropout": 0.1}, "attention_dropout=0"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        build_encoder(replace(CONFIG, **settings))


def test_mentions_that_an_encoder_cannot_read_are_refused(samples):
    batch = samples.batch(samples.uneven(1))

    with pytest.raises(ValueError, match="reads none"):
        build_encoder(CONFIG)(batch)


def test_a_text_beyond_the_positions_of_mentions_is_refused(samples):
    config = replace(KINDS["luke"], positions="sinusoidal", max_positions=29)
    batch = samples.batch(samples.uneven(1))

    with pytest.raises(ValueError, match="30 subwords"):
        build_encoder(config)(batch)


def test_padding_entity_begins_as_zeros():
    encoder = build_encoder(replace(CONFIG, n_entities=20))

    zeros = (encoder.entity_embeddings.entities.weight == 0).all(dim=1)

    assert zeros.nonzero().flatten().tolist() == [0]


def test_unknown_masked_and_known_entities_are_distinguished(samples):
    subwords = tuple(range(5, 15))
    texts = [samples.Text(subwords, ((entity, 2, 4),)) for entity in (1, 2, 3)]

    unknown, masked, known = encode(KINDS["luke"], samples, texts).entities

    assert not unknown.allclose(masked, atol=1e-4)
    assert not known.allclose(masked, atol=1e-4)


@pytest.mark.parametrize("init", ["normal", "keras"])
def test_norms_begin_as_the_identity_and_biases_as_zeros(init):
    encoder = build_encoder(replace(KINDS["luke"], init=init))

    for module in encoder.modules():
        if isinstance(module, nn.LayerNorm):
            assert (module.weight == 1).all()
        if isinstance(module, nn.LayerNorm | nn.Linear) and module.bias is not None:
            assert (module.bias == 0).all()


def test_normal_weights_deviate_by_002():
    encoder = build_encoder(replace(CONFIG, width=128, inner_width=256, n_subwords=500))

    matrices = [p for p in encoder.parameters() if p.ndim == 2]

    for matrix in matrices:
        deviation = matrix.std().item()
        standard_error = 0.02 / (2 * matrix.numel()) ** 0.5
        assert abs(deviation - 0.02) < 5 * standard_error


def test_keras_weights_lie_within_its_limits():
    config = replace(CONFIG, init="keras", attention="relative", width=128, n_subwords=500)
    encoder = build_encoder(config)

    for module in encoder.modules():
        for _, weights in module.named_parameters(recurse=False):
            if weights.ndim < 2:
                continue
            limit = 0.05
            if isinstance(module, nn.Linear):
                limit = (6 / sum(weights.shape)) ** 0.5
            assert 0.9 * limit < weights.abs().max() <= limit
