"""Models that are read from files draw no random weights first, and are the same."""

import torch
from torch import nn

from modeling.models.tagging_model import TaggingModel
from modeling.models.text_encoder import Undrawn, initialize
from modeling.taggers.folders import find_tagger


def test_nothing_is_drawn():
    torch.manual_seed(1)
    before = torch.get_rng_state()

    with Undrawn():
        model = nn.Sequential(nn.Linear(3, 4), nn.Embedding(5, 6), nn.LayerNorm(6))
        initialize(model, "normal")
        initialize(model, "keras")

    assert torch.equal(torch.get_rng_state(), before)
    assert model[2].weight.tolist() == [1.0] * 6
    assert model[0].bias.tolist() == [0.0] * 4


def test_outside_all_is_drawn_as_before():
    with Undrawn():
        pass
    torch.manual_seed(1)
    one = nn.Linear(3, 4).weight
    torch.manual_seed(2)

    other = nn.Linear(3, 4).weight

    assert not torch.equal(one, other)


def test_loading_a_tagger_takes_no_number_from_the_generator(tagger_run):
    folder = find_tagger(tagger_run).path
    before = torch.get_rng_state()

    one, other = TaggingModel.load(folder), TaggingModel.load(folder)

    assert torch.equal(torch.get_rng_state(), before)
    for name, weights in one.state_dict().items():
        assert torch.equal(weights, other.state_dict()[name])
