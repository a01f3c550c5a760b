"""An encoder whose mean state is 0, under heads that score as before."""

import io
import json

import pytest
import torch

from modeling.models.pretraining_model import PretrainingModel
from modeling.models.text_encoder import evaluating
from modeling.recipes import change
from modeling.recipes.pretraining_recipes import recipe
from modeling.training.centering import center_states
from modeling.training.feeding import Feed
from modeling.training.pretraining_run import PretrainingJob, pretrain
from modeling.training.run_log import Display
from modeling.training.sources import complete, open_sources
from modeling.training.world import World

SMALL = {"width": 16, "n_layers": 1, "n_heads": 2, "inner_width": 32, "entity_width": 8}
TRAINING = {"batch_size": 16, "micro_batch_size": 4}


def make(examples, name="daluke_small", **parts):
    """Return a model with random weights, also for vectors that begin at 0, and its feed."""
    sources = open_sources([examples])
    config = change(recipe(name), encoder=SMALL, data={"n_workers": 0}, training=TRAINING)
    config = complete(change(config, **parts), sources)
    torch.manual_seed(1)
    model = PretrainingModel.from_config(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model, Feed(config, sources, World())


def mean_state(model, batches):
    with torch.no_grad(), evaluating(model):
        return torch.cat([model.encoder(batch).subwords for batch in batches]).mean(0)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_mean_state_is_0(examples, norm):
    model, feed = make(examples, encoder={"norm": norm})
    batches = feed.batches.batch(0)
    assert mean_state(model, batches).norm() > 1

    center_states(model, batches, World(), transferred=())

    torch.testing.assert_close(mean_state(model, batches), torch.zeros(16), rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("daluke_small", {}),
        ("neiss_nsp_small", {}),
        ("neiss_nsp_small", {"heads": {"pair_pooling": "mean", "tied": False}}),
    ],
)
def test_heads_that_were_transferred_score_as_before_and_new_ones_see_the_difference(
    examples, name, parts
):
    model, feed = make(examples, name, **parts)
    batches = feed.batches.batch(0)
    before = [model.scores(batch) for batch in batches]
    new = "entities" if "entities" in model.heads else "pairs"
    given = [n for n, _ in model.named_parameters() if not n.startswith(f"heads.{new}.")]

    center_states(model, batches, World(), transferred=given)

    for batch, old in zip(batches, before, strict=True):
        losses = {
            name: (float(score.loss_sum), float(old[name].loss_sum))
            for name, score in model.scores(batch).items()
        }
        assert losses["subwords"][0] == pytest.approx(losses["subwords"][1], rel=1e-4)
        assert losses[new][0] != pytest.approx(losses[new][1], rel=1e-2)


def test_a_run_starts_with_the_scores_of_its_base(examples, tmp_path):
    short = TRAINING | {"max_steps": 1, "evaluate_examples": 8}
    config = change(recipe("daluke_small"), encoder=SMALL, data={"n_workers": 0}, training=short)
    centered = change(config, training={"center": True})
    base = run(config, examples, tmp_path / "base")

    run(centered, examples, tmp_path / "run", init_from=base)

    *_, expected = evaluations(tmp_path / "base")
    assert evaluations(tmp_path / "run")[0] == pytest.approx(expected, rel=1e-4)


def run(config, examples, output, **settings):
    job = PretrainingJob(config=config, examples=(examples,), output=output, **settings)
    return pretrain(job, World(), Display(io.StringIO(), max_steps=1))


def evaluations(output):
    """Return the losses of each evaluation of a run."""
    lines = map(json.loads, (output / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["kind"] == "evaluation"]
