import math
from itertools import pairwise

import pytest
import torch

from modeling.config import ConfigError, PretrainConfig
from modeling.models.pretraining import PretrainingModel
from modeling.recipes import RECIPES, about, change, recipe
from modeling.training.schedules import build_schedule


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_json_and_has_a_line_about_it(name):
    config = recipe(name)

    assert PretrainConfig.from_json(config.to_json()) == config
    assert about(name).endswith(".") or about(name).endswith(":")


@pytest.mark.parametrize("name", RECIPES)
def test_the_parts_of_a_recipe_go_together(name):
    config = recipe(name)
    n_entities = 20 if "entities" in config.heads.weights else 0
    sizes = {"n_pieces": 50, "n_entities": n_entities}

    with torch.device("meta"):
        model = PretrainingModel.from_config(change(config, encoder=sizes))

    assert set(model.heads) == set(config.heads.weights)
    assert ("pairs" in config.heads.weights) == (config.data.pairs != "none")


@pytest.mark.parametrize("name", RECIPES)
def test_the_rate_climbs_to_its_peak_and_falls(name):
    config = change(recipe(name), training={"max_steps": 1000})
    rate = build_schedule(config).rate
    last = 500 if config.optimizer.unlocked_lr else 1000

    rates = [rate(step) for step in range(1, last + 1)]

    peak = rates.index(max(rates))
    assert max(rates) == pytest.approx(config.optimizer.lr)
    assert all(a <= b for a, b in pairwise(rates[: peak + 1]))
    assert all(a >= b for a, b in pairwise(rates[peak:]))


def test_neiss_is_as_large_as_its_paper_says():
    """34.3 M parameters, without the head, at 29,990 pieces (N-M6)."""
    with torch.device("meta"):
        model = PretrainingModel.from_config(change(neiss(), encoder={"n_pieces": 29_990}))

    n = sum(parameter.numel() for parameter in model.encoder.parameters())

    assert n == pytest.approx(34.3e6, rel=2e-3)


def neiss():
    return recipe("neiss")


def test_daluke_is_frozen_for_half_and_ends_at_a_tenth():
    schedule = build_schedule(recipe("daluke"))

    assert schedule.unlock_after == 6_900
    assert schedule.rate(13_800) == pytest.approx(3e-5, rel=1e-3)
    middle = 0.1 + 0.9 * 0.5 ** math.sqrt(3)
    assert schedule.rate(828 + (13_800 - 828) // 2 + 1) == pytest.approx(3e-4 * middle)


def test_luke_has_two_stages_with_peaks_of_their_own():
    schedule = build_schedule(recipe("luke_two_stage"))

    assert schedule.resets
    assert schedule.rate(2_500) == pytest.approx(5e-4)
    assert schedule.rate(98_168 + 2_500) == pytest.approx(1e-5)


def test_an_unknown_recipe_lists_those_there_are():
    with pytest.raises(ConfigError, match="neiss_wwa_small"):
        recipe("niess")
