"""What is refused before the first step, and what another model's weights become."""

import io
import json

import pytest
import torch

from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import ConfigError
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.weights import WeightsError
from modeling.recipes import change
from modeling.recipes.pretraining_recipes import recipe
from modeling.training.jobs import PretrainingJob, take_weights
from modeling.training.pretraining_run import pretrain, publish
from modeling.training.run_log import Display
from modeling.training.sources import complete, open_sources
from modeling.training.world import World

SMALL = {"width": 16, "n_layers": 1, "n_heads": 2, "inner_width": 32, "entity_width": 8}
TABLES = ("encoder.entity_embeddings.entities.weight", "heads.entities.bias")


def config_of(name="daluke_small", **parts):
    steps = {"max_steps": 1, "batch_size": 8, "evaluate_examples": 8}
    config = change(recipe(name), encoder=SMALL, data={"n_workers": 0}, training=steps)
    return change(config, **parts)


@pytest.fixture
def run(examples, tmp_path):
    def start(config, **settings):
        job = PretrainingJob(
            config=config, **{"examples": (examples,), "output": tmp_path / "run"} | settings
        )
        pretrain(job, World(), Display(io.StringIO(), max_steps=1))

    return start


def model_config(sources, name="daluke_small"):
    return complete(config_of(name), sources)


def make_model(folder, name="daluke_small", seed=1):
    """Make a model for examples, with random weights, also for vectors that begin at 0."""
    sources = open_sources([folder])
    torch.manual_seed(seed)
    model = PretrainingModel.from_config(model_config(sources, name))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model, sources


@pytest.fixture
def base(examples, tmp_path):
    """Publish a model; returns its folder and its weights."""
    model, sources = make_model(examples)
    folder = tmp_path / "base"
    publish(model, folder, sources=sources, settings={})
    return folder, dict(model.named_parameters())


def test_frozen_weights_need_a_base(run):
    with pytest.raises(ConfigError, match="--init-from"):
        run(config_of(training={"frozen": 0.5}))


def test_entities_need_a_vocabulary(run, make_examples, tmp_path):
    folder = make_examples(tmp_path / "plain")
    description = json.loads((folder / "dataset.json").read_text())
    description["plan"]["parameters"]["n_entities"] = 0
    (folder / "dataset.json").write_text(json.dumps(description))

    with pytest.raises(ConfigError, match="--entity-vocab"):
        run(config_of(), examples=(folder,))


def test_a_base_with_other_subwords_is_refused(base, make_examples, tmp_path):
    subwords = [*SPECIALS, *(f"v{n}" for n in range(60))]
    other = Tokenizer(wordpiece(subwords, cased=True), name="other")
    model, sources = make_model(make_examples(tmp_path / "other", tokenizer=other))

    with pytest.raises(CorpusError, match="another vocabulary of subwords"):
        take_weights(model, base[0], sources)


def test_examples_of_two_tokenizers_are_refused(examples, make_examples, tmp_path):
    other = Tokenizer(wordpiece([*SPECIALS, "v"], cased=True), name="other")
    second = make_examples(tmp_path / "other", tokenizer=other)

    with pytest.raises(CorpusError, match="another tokenizer"):
        open_sources([examples, second])


def test_what_one_dataset_holds_out_another_may_not_train_on(examples, make_examples, tmp_path):
    second = make_examples(tmp_path / "other", validation=1)

    with pytest.raises(CorpusError, match=r"of its validation documents \(doc.*--seed"):
        open_sources([examples, second])


def test_entities_of_another_vocabulary_keep_their_weights_by_name(
    base, make_examples, tmp_path, caplog
):
    names = ["e0", "e1", "e2", "e9", "new", "e4", "e3", "e5", "e6", "e7", "e8", "newer"]
    model, sources = make_model(make_examples(tmp_path / "other", entities=names), seed=2)
    start = {name: model.get_parameter(name).detach().clone() for name in TABLES}

    transferred = take_weights(model, base[0], sources)

    for name in TABLES:
        here, there = model.get_parameter(name), base[1][name]
        expected = [there[int(e[1:])] if e[0] == "e" else None for e in names]
        for row, known in enumerate(expected):
            assert here[row].equal(start[name][row] if known is None else known)
    assert "10 of 12 keep their weights by name, 2 start from random values" in caplog.text
    assert set(transferred) == base[1].keys() - set(TABLES)


def test_entities_that_nobody_names_begin_anew(base, examples, caplog):
    (base[0] / "entities.arrow").unlink()
    model, sources = make_model(examples, seed=2)
    start = {name: model.get_parameter(name).detach().clone() for name in TABLES}

    take_weights(model, base[0], sources)

    assert all(model.get_parameter(name).equal(tensor) for name, tensor in start.items())
    assert "0 of 11 keep their weights by name" in caplog.text


def test_entities_that_nobody_knows_start_from_their_names(base, make_examples, tmp_path, caplog):
    names = ["[PAD]", "[UNK]", "[MASK]", "e3", *(f"x:w{n} w{n + 1}" for n in range(7))]
    sources = open_sources([make_examples(tmp_path / "named", entities=names)])
    config = change(model_config(sources), training={"entity_start": "names"})
    model = PretrainingModel.from_config(config)
    given = {name: base[1][name] for name in base[1].keys() - set(TABLES)}

    with caplog.at_level("INFO"):
        transferred = take_weights(model, base[0], sources)

    assert set(transferred) == base[1].keys() - {"heads.entities.bias"}  # the rest may be frozen
    state = dict(model.named_parameters())
    assert all(state[name].equal(tensor) for name, tensor in given.items())
    assert state[TABLES[0]][3].equal(base[1][TABLES[0]][3])
    assert "8 of 11 entities start from their names." in caplog.text


def test_the_same_entities_are_transferred_as_a_whole(base, examples, caplog):
    model, sources = make_model(examples, seed=2)

    transferred = take_weights(model, base[0], sources)

    assert set(transferred) == base[1].keys()
    assert all(p.equal(base[1][name]) for name, p in model.named_parameters())
    assert not caplog.text


def test_a_file_with_more_entities_than_weights_is_refused(base, make_examples, tmp_path):
    more = make_examples(tmp_path / "more", entities=[f"e{n}" for n in range(20)])
    (base[0] / "entities.arrow").write_bytes((more / "_entities.ipc").read_bytes())
    other = make_examples(tmp_path / "other", entities=[f"e{n}" for n in range(15)])
    model, sources = make_model(other, seed=2)

    with pytest.raises(WeightsError, match="not of its entities"):
        take_weights(model, base[0], sources)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"data": {"pairs": "nsp"}}, "data.pairs=nsp"),
        ({"heads": {"weights": {"subwords": 1.0, "pairs": 1.0}}}, "heads.weights.pairs"),
        ({"data": {"swap_pairs": True}}, "data.swap_pairs"),
        (
            {"data": {"pairs": "sop", "swap_pairs": True}, "heads": {"weights": {"pairs": 1.0}}},
            "data.swap_pairs",
        ),
        ({"masking": {"mention_words": True}}, "masking.mention_words"),
        ({"data": {"max_length": 513}}, "data.max_length 513"),
        ({"data": {"max_length": 4}}, "data.max_length=4: must be at least 5"),
        ({"schedule": {"warmup": 2.0}}, "schedule.warmup=2.0"),
        ({"schedule": {"power": 0.0}}, "schedule.power"),
        ({"masking": {"mask": 0.9, "random": 0.3}}, "masking.mask 0.9"),
        ({"training": {"entity_start": "names"}}, "there is no such model: give --init-from"),
        ({"training": {"center": True}}, "there is none: give --init-from"),
        ({"optimizer": {"betas": (0.9,)}}, "optimizer.betas"),
        ({"optimizer": {"betas": (0.9, 1.0)}}, "optimizer.betas"),
        ({"optimizer": {"ema": 1.0}}, "optimizer.ema"),
        ({"optimizer": {"ema": 0.0}}, "optimizer.ema"),
        ({"optimizer": {"lr": -1.0}}, "optimizer.lr"),
        ({"optimizer": {"clip": -1.0}}, "optimizer.clip"),
        ({"training": {"seed": -1}}, "training.seed"),
        ({"training": {"evaluate_examples": -1}}, "training.evaluate_examples=-1"),
        ({"training": {"micro_batch_size": 0}}, "training.micro_batch_size=0: must be at least 1"),
        ({"training": {"patience": -1}}, "training.patience=-1"),
        ({"training": {"keep_every": -1}}, "training.keep_every=-1"),
        ({"data": {"n_workers": -1}}, "data.n_workers=-1"),
        ({"masking": {"n_negatives": -1}}, "masking.n_negatives=-1"),
        ({"masking": {"ratio": 0.0}}, "masking.ratio=0: no subwords"),
        (
            {"masking": {"entity_ratio": 0.0}, "heads": {"weights": {"entities": 1.0}}},
            "masking.entity_ratio=0: no entities",
        ),
        ({"heads": {"weights": {}}}, "heads.weights: no objective"),
        ({"heads": {"weights": {"subwords": 0.0}}}, "heads.weights: no objective"),
        ({"heads": {"weights": {"subwords": -1.0}}}, "heads.weights.subwords=-1"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(run, tmp_path, parts, message):
    with pytest.raises(ConfigError, match=message):
        run(config_of("bert_small", **parts))

    assert not (tmp_path / "run").exists()


def test_positions_that_are_computed_have_no_longest_text(run, tmp_path):
    run(config_of("neiss_small", data={"max_length": 513}, training={"max_steps": 1}))

    assert (tmp_path / "run" / "final").exists()


def test_patience_needs_validation_examples(run, make_examples, tmp_path):
    examples = make_examples(tmp_path / "all", validation=-1)

    with pytest.raises(ConfigError, match=r"training\.patience=3"):
        run(config_of(training={"patience": 3}), examples=(examples,))


def test_masking_whole_mentions_needs_mentions(run, make_examples, tmp_path):
    examples = make_examples(tmp_path / "none", mentions=False)

    with pytest.raises(ConfigError, match=r"masking\.unit=entity"):
        run(config_of("ernie_small"), examples=(examples,))
