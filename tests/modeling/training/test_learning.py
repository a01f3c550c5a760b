"""Models and their batches, without a run around them."""

import re
from collections import deque

import pytest
import torch

from modeling.models.pretraining_model import PretrainingModel
from modeling.recipes import change
from modeling.recipes.pretraining_recipes import RECIPES, recipe
from modeling.training.feeding import Feed
from modeling.training.loop import Conditions, train
from modeling.training.optimizer import Optimizer
from modeling.training.schedules import Schedule, build_schedule
from modeling.training.sources import complete, open_sources
from modeling.training.symptoms import likeness
from modeling.training.validation import validate
from modeling.training.world import World

SMALL = {"width": 16, "n_layers": 2, "n_heads": 2, "inner_width": 32, "entity_width": 8}
STEPS = {"max_steps": 10, "batch_size": 8, "micro_batch_size": 5}


def config_of(name, **parts):
    config = change(recipe(name), encoder=SMALL, data={"n_workers": 0}, training=STEPS)
    return change(config, **parts)


def test_two_layers_learn_sixty_four_examples_by_heart(make_examples, tmp_path):
    none = {"dropout": 0.0, "embedding_dropout": 0.0, "attention_dropout": 0.0}
    config = config_of(
        "bert_small",
        encoder=SMALL | none | {"width": 64, "n_heads": 4, "inner_width": 128},
        training={"batch_size": 64, "micro_batch_size": 64},
    )
    sources = open_sources([make_examples(tmp_path / "examples", n=80)])  # 70, and 10 of validation
    config = complete(config, sources)
    torch.manual_seed(1)
    model = PretrainingModel.from_config(config)
    [batch] = Feed(config, sources, World()).batches.batch(0)
    assert len(batch.ids) == 64

    steps = train(
        model,
        [[batch]] * 50,
        Optimizer(model, config.optimizer),
        schedule=Schedule(lambda step: 1e-2 * min(1.0, step / 10)),
        weights={"subwords": 1.0},
        conditions=Conditions(World()),
    )
    deque(steps, maxlen=0)

    ranks = model.scores(batch)["subwords"].ranks
    assert (ranks == 0).float().mean() > 0.95


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of torch's compiler itself
@pytest.mark.filterwarnings("ignore:Guards may run slower")  # on Python 3.13.0
@pytest.mark.parametrize("name", ["neiss_small", "entity_bert_small"])
def test_compiled_it_is_compiled_once(examples, name):
    """For any number of targets and of scopes of entities.

    With a compiler that does nothing, for real ones take minutes.
    """
    if name == "entity_bert_small" and torch.__version__ < "2.13":
        pytest.skip("older compilers compile again for each number of scopes")
    graphs = []

    def compiler(graph, _):
        graphs.append(graph)
        return graph.forward

    sources = open_sources([examples])
    parts = {"encoder": SMALL | {"n_layers": 1}, "heads": {"entity_scope": "document"}}
    config = complete(config_of(name, **parts), sources)
    model = PretrainingModel.from_config(config)
    model.compile(dynamic=True, backend=compiler)
    counts = []
    for step in Feed(config, sources, World()).steps(0):
        for batch in step:
            sum(model(batch).values()).backward()
        counts.append(len(graphs))

    assert counts[0] == counts[-1] > 0


@pytest.mark.parametrize(
    ("pairs", "n", "n_alone"), [("nsp", 16, 2), ("nsp", 64, 0), ("sop", 64, 0)]
)  # 16 examples: one document of two for validation
def test_validation_pairs_without_both_labels_are_reported(
    make_examples, tmp_path, caplog, pairs, n, n_alone
):
    sources = open_sources([make_examples(tmp_path / "few", n=n)])
    feed = Feed(complete(config_of(f"neiss_{pairs}_small"), sources), sources, World())

    feed.check_pairs()

    assert ("The validation pairs are none" in caplog.text) == bool(n_alone)
    assert sum(batch.counts.get("pairs.no_partner", 0) for batch in feed.validation) == n_alone


@pytest.mark.parametrize(
    "name", [name for name in RECIPES if re.match("(entity_bert|bert_fur).*_small", name)]
)
def test_a_small_recipe_for_a_published_encoder_learns_from_nothing(make_examples, tmp_path, name):
    """Beyond how frequent subwords are, with states that differ, in 160 steps."""
    smaller = {"width": 128, "n_heads": 4, "n_layers": 1, "inner_width": 128}
    steps = {"max_steps": 160, "batch_size": 16, "micro_batch_size": 16}
    sources = open_sources([make_examples(tmp_path / "examples", n=256)])
    config = complete(config_of(name, encoder=smaller, training=steps), sources)
    torch.manual_seed(1)
    model, feed = PretrainingModel.from_config(config), Feed(config, sources, World())

    steps = train(
        model,
        feed.steps(0),
        Optimizer(model, config.optimizer),
        schedule=build_schedule(config),
        weights=config.heads.weights,
        conditions=Conditions(World()),
    )
    deque(steps, maxlen=0)

    names = list(config.heads.weights)
    learned = validate(model, feed.validation, objectives=names, conditions=Conditions(World()))
    frequent = dict(feed.baselines())["unigram"]
    assert learned.loss["subwords"] < 0.75 * frequent.loss["subwords"]
    assert likeness(model.encoder, next(iter(feed.validation))) < 0.5
