"""Embeddings of subwords and mentions."""

import math

import pytest
import torch

from modeling.data.batch import BatchMentions
from modeling.layers.embeddings import EntityEmbeddings, SinusoidalPositions, SubwordEmbeddings

WORDS = [[1, 1, 1], [1] * 5]
SUBWORDS = torch.tensor([4, 2, 5, 4, 1, 0, 3, 2])
POSITIONS = torch.tensor([0, 1, 2, 0, 1, 2, 3, 4])


def test_subword_is_subword_and_position_and_segment_normed(oracle):
    layer = SubwordEmbeddings(n_subwords=6, width=8, max_positions=5, n_segments=2, dropout=0.0)
    segments = torch.tensor([0, 0, 1, 0, 0, 0, 1, 1])

    made = layer(SUBWORDS, oracle.make_rows(WORDS), segments)

    for row, (subword, position, segment) in enumerate(
        zip(SUBWORDS, POSITIONS, segments, strict=True)
    ):
        x = layer.subwords.weight[subword] + layer.positions.table.weight[position]
        expected = layer.norm(x + layer.segments.weight[segment])
        torch.testing.assert_close(made[row], expected)


def test_subwords_without_segments_are_of_the_first(oracle):
    layer = SubwordEmbeddings(n_subwords=6, width=8, n_segments=2, dropout=0.0)
    rows = oracle.make_rows(WORDS)

    torch.testing.assert_close(
        layer(SUBWORDS, rows), layer(SUBWORDS, rows, torch.zeros_like(SUBWORDS))
    )


def test_scaled_subwords_without_positions_and_norm_are_the_table_times_the_root(oracle):
    layer = SubwordEmbeddings(
        n_subwords=6, width=8, positions="none", norm=False, scale=True, dropout=0.0
    )

    made = layer(SUBWORDS, oracle.make_rows(WORDS))

    torch.testing.assert_close(made, layer.subwords.weight[SUBWORDS] * math.sqrt(8))


def test_a_sequence_longer_than_the_table_is_an_error(oracle):
    layer = SubwordEmbeddings(n_subwords=6, width=8, max_positions=4)

    with pytest.raises(ValueError, match=r"5 subwords.*positions for 4"):
        layer(SUBWORDS, oracle.make_rows(WORDS))


def test_sinusoids_are_the_formula_beyond_their_first_length(oracle):
    positions = SinusoidalPositions(width=6, length=3)
    rows = oracle.make_rows([[1] * 700])

    made = positions(rows)

    for place in (0, 1, 2, 3, 699):
        for column in range(6):
            angle = place / 10_000 ** (column // 2 * 2 / 6)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert made[place, column].item() == pytest.approx(expected, abs=1e-6)


def test_longer_sinusoids_begin_with_the_shorter(oracle):
    positions = SinusoidalPositions(width=6, length=3)
    short = positions(oracle.make_rows([[1] * 3]))
    positions(oracle.make_rows([[1] * 50]))

    assert torch.equal(positions(oracle.make_rows([[1] * 3])), short)


def test_sinusoids_are_not_saved():
    assert SinusoidalPositions(width=6).state_dict() == {}


@pytest.mark.parametrize("entity_width", [4, 8])
@pytest.mark.parametrize("bias", [False, True])
def test_mention_is_entity_and_mean_of_positions_and_type_normed(entity_width, bias):
    layer = EntityEmbeddings(
        n_entities=5, entity_width=entity_width, width=8, bias=bias, n_positions=9, dropout=0.0
    )
    places = [[1, 2, 3], [8], [3, 4]]
    mentions = BatchMentions(
        entities=torch.tensor([3, 2, 3]),
        positions=torch.tensor([p for some in places for p in some]),
        offsets=torch.tensor([0, 3, 4]),
    )

    made = layer(mentions)

    for row, (entity, some) in enumerate(zip(mentions.entities, places, strict=True)):
        vector = layer.entities.weight[entity]
        if entity_width != 8:
            vector = layer.project.weight @ vector + (layer.project.bias if bias else 0)
        place = torch.stack([layer.positions.weight[p] for p in some]).mean(0)
        expected = layer.norm(vector + place + layer.types.weight[0])
        torch.testing.assert_close(made[row], expected)


def test_no_mentions_are_no_rows():
    layer = EntityEmbeddings(n_entities=5, entity_width=4, width=8)
    nothing = torch.zeros(0, dtype=torch.int64)

    made = layer(BatchMentions(entities=nothing, positions=nothing, offsets=nothing))
    made.sum().backward()

    assert made.shape == (0, 8)
    assert not layer.entities.weight.grad.any()
