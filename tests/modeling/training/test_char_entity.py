"""Runs of models whose subwords know entities: what they learn, report, and begin with."""

import io
from collections import deque
from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file

from modeling.config import ConfigError
from modeling.models.costs import batch_flops, count_parameters, flops_per_subword
from modeling.models.pretraining_model import PretrainingModel
from modeling.recipes import change
from modeling.recipes.pretraining_recipes import recipe
from modeling.training.feeding import Feed
from modeling.training.jobs import PretrainingJob
from modeling.training.loop import Conditions, train
from modeling.training.optimizer import Optimizer
from modeling.training.pretraining_run import pretrain
from modeling.training.run_log import Display, read_metrics
from modeling.training.schedules import Schedule
from modeling.training.sources import complete, open_sources
from modeling.training.world import World

SMALL = {"width": 16, "n_layers": 2, "n_heads": 2, "inner_width": 32, "entity_width": 8}
STEPS = {
    "max_steps": 8,
    "batch_size": 8,
    "micro_batch_size": 5,
    "evaluate_every": 4,
    "checkpoint_every": 4,
    "log_every": 2,
    "evaluate_examples": 0,
}
CHAIN = ("bert_fur", "bert_fur_ent", "entity_bert_no_classification", "entity_bert")


def config_of(name="entity_bert_small", **parts):
    config = change(recipe(name), encoder=SMALL, data={"n_workers": 0}, training=STEPS)
    return change(config, **parts)


def ran(output, examples, config=None, **settings):
    job = PretrainingJob(
        config=config or config_of(), examples=(examples,), output=output, **settings
    )
    pretrain(job, World(), Display(io.StringIO(), max_steps=8))
    return output


def metrics(folder, kind):
    return [line for line in read_metrics(folder / "metrics.jsonl") if line["kind"] == kind]


def differences(one, other):
    """Return the names of settings that differ, without ``entity_scope``.

    That setting only says how entities are classified.
    """
    names = set()
    for part, values in one.to_json().items():
        theirs = other.to_json()[part]
        names |= {f"{part}.{name}" for name in values if values[name] != theirs[name]}
    return names - {"heads.entity_scope"}


@pytest.mark.parametrize("small", ["", "_small"])
def test_each_baseline_differs_from_the_next_in_one_setting(small):
    configs = [recipe(name + small) for name in CHAIN]

    steps = [differences(*pair) for pair in pairwise(configs)]

    assert steps == [{"encoder.entities"}, {"encoder.attention"}, {"heads.weights"}]
    sampled = recipe(f"entity_bert_sampled{small}")
    assert differences(sampled, configs[-1]) == {"masking.n_negatives"}


@pytest.mark.parametrize("name", [*CHAIN, "entity_bert_sampled"])
def test_each_recipe_runs_and_reports_what_it_predicts(examples, tmp_path, name):
    config = config_of(f"{name}_small")

    folder = ran(tmp_path / "run", examples, config)

    for line in metrics(folder, "evaluation"):
        assert set(line["loss"]) == set(config.heads.weights)
        tops = line["accuracy"].get("subword_entities", {"1": 0, "3": 0})
        assert 0 <= tops["1"] <= tops["3"] <= 1
    [first] = metrics(folder, "unigram")
    assert set(first["loss"]) == set(config.heads.weights)


class Stopped(Exception):  # noqa: N818 - no error
    pass


class Stopper(Display):
    """Stops a run when it tells of a step."""

    def show(self, line):
        if line["step"] == 6:
            raise Stopped


@pytest.mark.parametrize("name", ["entity_bert_small", "entity_bert_sampled_small"])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(examples, tmp_path, name):
    config = config_of(name)
    whole = ran(tmp_path / "whole", examples, config)
    job = PretrainingJob(config=config, examples=(examples,), output=tmp_path / "cut")

    with pytest.raises(Stopped):
        pretrain(job, World(), Stopper(io.StringIO(), max_steps=8))
    cut = ran(tmp_path / "cut", examples, config)

    files = [folder / "final" / "model.safetensors" for folder in (whole, cut)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_examples_without_a_mention_are_learned_from_too(make_examples, tmp_path):
    path = make_examples(tmp_path / "bare", mentions=False)
    weights = {"subwords": 1.0, "subword_entities": 0.0}  # with a weight, that is an error

    folder = ran(tmp_path / "run", path, config_of(heads={"weights": weights}))

    assert all(set(line["loss"]) == {"subwords"} for line in metrics(folder, "evaluation"))


def test_entities_of_tomorrow_get_rows_and_those_of_yesterday_keep_theirs(
    make_examples, examples, tmp_path
):
    names = [f"e{id}" for id in range(11)]
    later = make_examples(tmp_path / "later", entities=[*names, "new1", "new2"])
    before = ran(tmp_path / "before", examples)

    after = ran(tmp_path / "after", later, init_from=before / "final")

    trained, start = (
        load_file(before / "final" / "model.safetensors"),
        load_file(after / "start.safetensors"),
    )
    for name in ("encoder.entity_embeddings.entities.weight", "heads.subword_entities.bias"):
        assert torch.equal(start[name][:11], trained[name])
        assert len(start[name]) == 13
    others = [name for name in trained if trained[name].shape == start[name].shape]
    assert all(torch.equal(start[name], trained[name]) for name in others)
    assert len(others) == len(trained) - 2


def model_and_feed(path, config):
    sources = open_sources([path])
    config = complete(config, sources)
    torch.manual_seed(1)
    return PretrainingModel.from_config(config), Feed(config, sources, World())


@pytest.mark.parametrize("scope", ["group", "vocabulary"])
def test_it_learns_sixty_four_examples_by_heart_their_hidden_entities_too(
    make_examples, tmp_path, scope
):
    none = {"dropout": 0.0, "embedding_dropout": 0.0, "attention_dropout": 0.0}
    config = config_of(
        encoder=SMALL | none | {"width": 64, "n_heads": 4, "inner_width": 128},
        heads={"entity_scope": scope},
        masking={"hide_entity_when_masked": True, "unit": "word", "budget": "subwords"},
        optimizer={"bias_correction": True},
        training={"batch_size": 64, "micro_batch_size": 64},
    )
    model, feed = model_and_feed(make_examples(tmp_path / "examples", n=80), config)
    [batch] = feed.batches.batch(0)

    steps = train(
        model,
        [[batch]] * 50,
        Optimizer(model, config.optimizer),
        schedule=Schedule(lambda step: 1e-2 * min(1.0, step / 10)),
        weights=config.heads.weights,
        conditions=Conditions(World()),
    )
    deque(steps, maxlen=0)

    scores = model.scores(batch)
    assert len(scores["subword_entities"].ranks) > 20
    for score in scores.values():
        assert (score.ranks == 0).float().mean() > 0.95


def test_what_entities_cost_is_counted(examples):
    model, feed = model_and_feed(examples, config_of())
    [batch, *_] = feed.batches.batch(0)
    config = model.config
    plain = change(config, encoder={"attention": "plain", "entities": "mentions", "n_entities": 0})

    known, width = len(batch.subword_entities.rows), config.encoder.entity_width
    difference = batch_flops(config, batch) - batch_flops(plain, batch)

    projections = 2 * config.encoder.n_layers  # keys and values
    assert difference == 3 * 2 * projections * known * width * config.encoder.width
    assert count_parameters(model)["entity_embeddings"] == config.encoder.n_entities * width
    assert flops_per_subword(config, 30, n_mentions=3) > flops_per_subword(config, 30)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"heads": {"weights": {"subword_entities": 1.0}},
          "masking": {"hide_entity_when_masked": True}}, "hide_entity_when_masked"),
        ({"heads": {"weights": {"subwords": 1.0}, "entity_scope": "group"}}, "entity_scope=group"),
    ],
)  # fmt: skip
def test_settings_that_have_no_effect_are_refused(examples, tmp_path, parts, message):
    with pytest.raises(ConfigError, match=message):
        ran(tmp_path / "run", examples, config_of(**parts))
