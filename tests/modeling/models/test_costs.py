"""Costs against torch's own counter of operations, and against counting by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from modeling.config import OBJECTIVES, EncoderConfig, HeadsConfig, PretrainConfig
from modeling.data.batch import Targets
from modeling.models.costs import (
    Lengths,
    batch_flops,
    count_parameters,
    encoder_flops,
    flops_per_subword,
    head_flops,
)
from modeling.models.pretraining_model import PretrainingModel

ENCODER = EncoderConfig(
    n_subwords=60, width=16, n_layers=2, n_heads=2, inner_width=24, max_positions=32, entity_width=8
)
LUKE = replace(ENCODER, n_entities=20)
EVERY = HeadsConfig(weights={"subwords": 1.0, "entities": 1.0, "pairs": 1.0})
TARGETS = {
    "subwords": Targets(torch.tensor([1, 5, 40]), torch.tensor([7, 59, 7])),
    "entities": Targets(torch.tensor([0, 9]), torch.tensor([3, 19])),
    "pairs": Targets(torch.tensor([0, 2, 4]), torch.tensor([1, 0, 1])),
}


def counted(model, batch):
    """Count the operations of a forward pass, by torch."""
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        model(batch)
    return counter.get_total_flops()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("transform", [True, False])
def test_operations_are_those_that_torch_counts(samples, pooling, transform):
    heads = replace(EVERY, pair_pooling=pooling, transform=transform)
    config = PretrainConfig(encoder=LUKE, heads=heads)
    generator = np.random.default_rng(0)
    texts = [samples.random_text(generator, 12, 3) for _ in range(5)]  # nothing is padded
    batch = samples.batch(texts, targets=TARGETS)

    found = batch_flops(config, batch)

    assert found == 3 * counted(PretrainingModel.from_config(config), batch)


def test_each_objective_has_a_head_and_its_operations():
    for name, objective in OBJECTIVES.items():
        entities = "subwords" if objective.rows == "subwords" else "mentions"
        encoder = replace(LUKE, entities=entities)
        config = PretrainConfig(encoder=encoder, heads=HeadsConfig(weights={name: 1.0}))

        assert list(PretrainingModel.from_config(config).heads) == [name]
        assert head_flops(config, {name: 1}) > 0


@pytest.mark.parametrize("attention", ["relative", "whole_word", "whole_word_relative"])
def test_terms_of_other_attentions_grow_as_the_formulas_say(attention):
    config = replace(ENCODER, attention=attention, clip=3, window=2)
    lengths = Lengths(subwords=np.array([30, 40]), words=np.array([20, 24]))

    found = encoder_flops(config, lengths)

    expected = 0
    for n, m in ((30, 20), (40, 24)):
        projections, feed_forward = 8 * 16**2, 4 * n * 16 * 24
        if attention == "relative":
            layer = n * projections + 4 * n * n * 16 + 4 * n * 7 * 16
        else:
            layer = (m + n) * projections + 4 * m * m * 16 + 4 * n * 5 * 16
        if attention == "whole_word_relative":
            layer += 4 * m * 7 * 16 + 4 * n * 5 * 16
        expected += 2 * (layer + feed_forward)
    assert found == expected


def test_entity_aware_attention_has_two_queries_for_each_row():
    lengths = Lengths(subwords=np.array([30, 40]), mentions=np.array([5, 0]))

    plain = encoder_flops(replace(LUKE, attention="plain"), lengths)
    aware = encoder_flops(replace(LUKE, attention="entity_aware"), lengths)

    assert aware - plain == 2 * 2 * 35 * 16**2


def test_padding_is_not_counted(samples):
    config = PretrainConfig(encoder=LUKE)
    texts = samples.uneven(1)

    together = batch_flops(config, samples.batch(texts))

    assert together == sum(batch_flops(config, samples.batch([text])) for text in texts)


def test_sampled_softmax_costs_as_many_logits_as_it_draws():
    config = PretrainConfig(encoder=LUKE, heads=EVERY)

    found = head_flops(config, {"entities": 10}, n_negatives=4)

    assert found == 2 * 10 * 8 * (16 + 5)


def test_operations_of_a_subword_are_those_of_its_sequence_divided():
    config = PretrainConfig(encoder=ENCODER)

    found = flops_per_subword(config, 20)

    forward = encoder_flops(ENCODER, Lengths(np.array([20]))) + head_flops(config, {"subwords": 3})
    assert found == 3 * forward / 20


def test_tied_weights_are_counted_once():
    config = PretrainConfig(encoder=replace(LUKE, attention="entity_aware"), heads=EVERY)
    model = PretrainingModel.from_config(config)

    counts = count_parameters(model)

    assert counts["total"] == sum(p.numel() for p in model.state_dict().values())
    assert counts["heads"] == sum(p.numel() for p in model.heads.parameters())
    assert counts["entity_embeddings"] == 20 * 8 + 8 * 16 + (32 + 1 + 2) * 16


def test_daluke_has_215_million_parameters():
    """The paper counts 215 million, and not 273 with the tied table twice."""
    encoder = EncoderConfig(
        n_subwords=32_000,
        n_entities=225_198,
        width=768,
        n_layers=12,
        n_heads=12,
        inner_width=3072,
        attention="entity_aware",
        entity_bias=True,
        n_segments=2,
    )
    heads = HeadsConfig(weights={"subwords": 1.0, "entities": 1.0}, tied=False)
    with torch.device("meta"):
        model = PretrainingModel.from_config(PretrainConfig(encoder=encoder, heads=heads))

    total = sum(p.numel() for p in model.parameters())

    assert round(total / 1e6) == pytest.approx(215, abs=2)
