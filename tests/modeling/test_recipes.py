import math
import re
from pathlib import Path

import pytest
import torch

from modeling.config import OBJECTIVES, ConfigError, PretrainConfig
from modeling.models.pretraining_model import PretrainingModel
from modeling.recipes import change, tagging_recipes
from modeling.recipes.pretraining_recipes import RECIPES, recipe
from modeling.tagging_config import HEADS
from modeling.training.schedules import build_schedule


def test_a_recipe_survives_json_and_has_a_line_about_it():
    for name in RECIPES:
        config = recipe(name)
        assert PretrainConfig.from_json(config.to_json()) == config, name
        assert RECIPES.about[name].endswith((".", ":")), name


def test_the_parts_of_a_recipe_go_together():
    for name in RECIPES:
        config = recipe(name)
        reads_entities = "entities" in config.heads.weights or config.encoder.entities == "subwords"
        sizes = {"n_subwords": 50, "n_entities": 20 if reads_entities else 0}
        with torch.device("meta"):
            model = PretrainingModel.from_config(change(config, encoder=sizes))
        assert set(model.heads) == set(config.heads.weights), name
        assert ("pairs" in config.heads.weights) == (config.data.pairs != "none"), name


def test_the_learning_rate_climbs_to_its_peak_and_falls():
    for name in RECIPES:
        config = change(recipe(name), training={"max_steps": 1000})
        lr = build_schedule(config).lr
        last = 500 if config.optimizer.unlocked_lr else 1000
        values = [lr(step) for step in range(1, last + 1)]
        peak = values.index(max(values))
        assert max(values) == pytest.approx(config.optimizer.lr), name
        assert values == [*sorted(values[:peak]), *sorted(values[peak:], reverse=True)], name


NEISS = {
    "encoder": {
        "width": 512, "n_layers": 6, "n_heads": 8, "inner_width": 2048, "activation": "relu",
        "norm": "post", "norm_eps": 1e-6, "embedding_norm": False, "scale_embeddings": True,
        "dropout": 0.1, "embedding_dropout": 0.0, "attention_dropout": 0.0, "n_segments": 0,
        "clip": 16, "init": "keras",
    },
    "heads": {"tied": False, "transform": False, "pair_pooling": "mean"},
    "masking": {"budget": "bernoulli", "draw": "unit", "ratio": 0.15, "mask": 0.8, "random": 0.1},
    "optimizer": {
        "lr": 2.5e-4, "betas": (0.9, 0.999), "eps": 1e-7, "weight_decay": 0.0, "clip": None,
        "ema": None,
    },
    "schedule": {
        "shape": "constant_cosine", "warmup": 16 / 500, "start": 0.1, "constant": 50 / 500,
        "decay": 0.99, "stair": 3 / 500, "cosine": 50 / 500, "end": 0.01,
    },
    "training": {"max_steps": -(-500 * 100_000 // 48), "batch_size": 48, "frozen": 0.0},
}  # fmt: skip
BERT = {  # Devlin et al. 2019, appendix A.2
    "encoder": {
        "width": 768, "n_layers": 12, "n_heads": 12, "inner_width": 3072, "activation": "gelu",
        "attention": "plain", "positions": "learned", "max_positions": 512, "n_segments": 2,
        "norm": "post", "norm_eps": 1e-12, "embedding_norm": True, "scale_embeddings": False,
        "dropout": 0.1, "embedding_dropout": 0.1, "attention_dropout": 0.1, "init": "normal",
    },
    "heads": {"tied": True, "transform": True},
    "masking": {"unit": "word", "ratio": 0.15, "mask": 0.8, "random": 0.1},
    "data": {"max_length": 512, "pairs": "none"},
    "optimizer": {"lr": 1e-4, "betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0.01},
    "schedule": {"shape": "linear", "warmup": 10_000 / 1_000_000, "start": 0.0, "end": 0.0},
    "training": {"max_steps": 1_000_000, "batch_size": 256},
}  # fmt: skip
DALUKE = {
    "encoder": {
        "width": 768, "n_layers": 12, "n_heads": 12, "inner_width": 3072, "activation": "gelu",
        "attention": "entity_aware", "entity_width": 256, "entity_bias": True,
        "dropout": 0.1, "embedding_dropout": 0.1, "attention_dropout": 0.1, "init": "normal",
    },
    "heads": {"weights": {"subwords": 0.5, "entities": 0.5}},
    "masking": {"unit": "word", "budget": "subwords", "ratio": 0.15, "entity_ratio": 0.15},
    "data": {"max_length": 512},
    "optimizer": {
        "lr": 3e-4, "betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0.01, "clip": None,
        "unlocked_lr": None,
    },
    "schedule": {
        "shape": "polynomial", "warmup": 0.06, "start": 0.0, "end": 0.1, "power": math.sqrt(3),
    },
    "training": {
        "max_steps": 150 * 92, "batch_size": 4_080, "micro_batch_size": 30, "frozen": 0.5,
    },
}  # fmt: skip
LUKE = {
    "encoder": {
        "width": 768, "n_layers": 12, "n_heads": 12, "inner_width": 3072, "activation": "gelu",
        "attention": "plain", "entity_width": 256, "entity_bias": False, "norm_eps": 1e-5,
        "n_segments": 1, "dropout": 0.1, "attention_dropout": 0.1,
    },
    "heads": {"weights": {"subwords": 1.0, "entities": 1.0}, "tied": True},
    "masking": {"unit": "word", "budget": "subwords", "ratio": 0.15, "entity_ratio": 0.15},
    "data": {"max_length": 512},
    "optimizer": {
        "lr": 5e-4, "unlocked_lr": 1e-5, "betas": (0.9, 0.999), "eps": 1e-6,
        "weight_decay": 0.01, "clip": None, "bias_correction": False,
    },
    "schedule": {"shape": "linear", "warmup": 2_500 / 98_168, "start": 0.0, "end": 0.0},
    "training": {"max_steps": 2 * 98_168, "batch_size": 2_048, "frozen": 0.5},
}  # fmt: skip
PUBLISHED = {"bert": BERT, "daluke": DALUKE, "luke_two_stage": LUKE, "neiss_wwa": NEISS}
PUBLISHED |= {name: NEISS for name in RECIPES if re.fullmatch(r"neiss(?!.*small).*", name)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_system_has_the_numbers_of_its_paper(name):
    config = recipe(name).to_json()

    for part, values in PUBLISHED[name].items():
        expected = {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}
        assert {n: config[part][n] for n in values} == expected


def test_the_twelve_models_of_neiss_are_there():
    names = [f"neiss{a}{b}{c}" for a in ("", "_abs") for b in ("", "_subwords") for c in TASKS]

    found = {
        (c.encoder.attention, c.encoder.positions, c.masking.unit, c.data.pairs, c.data.max_length)
        for c in map(recipe, names)
    }

    positions = [("relative", "none"), ("plain", "sinusoidal")]
    tasks = [("none", 322), ("nsp", 323), ("sop", 323)]  # 320 and the special subwords
    assert found == {
        (*p, unit, *task) for p in positions for unit in ("word", "subword") for task in tasks
    }
    assert len(names) == 12


TASKS = ("", "_nsp", "_sop")


def test_whole_word_attention_is_that_of_the_paper():
    for name, attention in (("neiss_wwa", "whole_word_relative"), ("neiss_wwa_abs", "whole_word")):
        encoder = recipe(name).encoder
        assert (encoder.attention, encoder.window) == (attention, 5)


def test_a_small_recipe_drops_nothing_out_and_has_an_optimizer_for_random_weights():
    for name in (name for name in RECIPES if name.endswith("_small")):
        encoder, optimizer = recipe(name).encoder, recipe(name).optimizer
        dropped = (encoder.dropout, encoder.embedding_dropout, encoder.attention_dropout)
        assert dropped == (0, 0, 0), name
        assert (optimizer.lr, optimizer.bias_correction, optimizer.clip) == (1e-3, True, 1.0), name


def test_neiss_is_as_large_as_its_paper_says():
    """34.3 M parameters, without the head, at 29,990 subwords."""
    with torch.device("meta"):
        model = PretrainingModel.from_config(change(neiss(), encoder={"n_subwords": 29_990}))

    n = sum(parameter.numel() for parameter in model.encoder.parameters())

    assert n == pytest.approx(34.3e6, rel=2e-3)


def neiss():
    return recipe("neiss")


def test_daluke_is_frozen_for_half_and_ends_at_a_tenth():
    schedule = build_schedule(recipe("daluke"))

    assert schedule.unlock_after == 6_900
    assert schedule.lr(13_800) == pytest.approx(3e-5, rel=1e-3)
    middle = 0.1 + 0.9 * 0.5 ** math.sqrt(3)
    assert schedule.lr(828 + (13_800 - 828) // 2 + 1) == pytest.approx(3e-4 * middle)


def test_recommended_entities_is_daluke_with_entities_that_start_from_their_names():
    ours, theirs = recipe("recommended_entities"), recipe("daluke")

    training = ours.training
    assert (training.entity_start, training.center, training.frozen) == ("names", True, 0.5)
    assert (ours.encoder, ours.heads, ours.schedule, ours.data) == (
        *(theirs.encoder, theirs.heads, theirs.schedule, theirs.data),
    )


def test_luke_has_two_stages_with_peaks_of_their_own():
    schedule = build_schedule(recipe("luke_two_stage"))

    assert schedule.resets
    assert schedule.lr(2_500) == pytest.approx(5e-4)
    assert schedule.lr(98_168 + 2_500) == pytest.approx(1e-5)


def test_an_unknown_recipe_lists_those_there_are():
    with pytest.raises(ConfigError, match="neiss_wwa_small"):
        recipe("niess")


def test_a_recipe_for_encoders_is_answered_with_those_for_taggers():
    with pytest.raises(ConfigError, match=r"onoma finetune crf_small --model RUN; .*cse"):
        tagging_recipes.recipe("entity_bert_small")


def test_the_page_of_pretraining_has_each_objective():
    page = (Path(__file__).parents[2] / "docs" / "pretraining.md").read_text("utf-8")

    rows = page.partition("| objective | predicts |\n| --- | --- |\n")[2].partition("\n\n")[0]
    assert rows.splitlines() == [f"| `{n}` | {kind.predicts} |" for n, kind in OBJECTIVES.items()]


def test_the_page_of_taggers_has_each_head_with_its_decoders():
    page = (Path(__file__).parents[2] / "docs" / "tagging.md").read_text("utf-8")

    for kind, record in HEADS.items():
        decoders = ", ".join(f"`{name}`" for name in record.decoders)
        assert re.search(rf"^\| `{kind}` \|[^|]*\| {decoders} \|$", page, re.MULTILINE), kind
