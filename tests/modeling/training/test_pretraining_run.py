import io
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from corpora.errors import CorpusError
from corpora.system.files import sha256_of
from corpora.system.writing import write_json
from modeling.config import ConfigError
from modeling.data.examples import ExampleSet
from modeling.export.__main__ import main as export
from modeling.models.costs import batch_flops, flops_per_subword
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.weights import WeightsError, write_tensors
from modeling.recipes import change
from modeling.recipes.pretraining_recipes import recipe
from modeling.report.page import make_page, read_run
from modeling.training import pretraining_run
from modeling.training.feeding import Feed
from modeling.training.jobs import PretrainingJob
from modeling.training.loop import DivergedError
from modeling.training.pretraining_run import pretrain
from modeling.training.run_folder import OtherRunError
from modeling.training.run_log import Display, read_metrics
from modeling.training.sources import complete, open_sources
from modeling.training.world import World

SMALL = {"width": 16, "n_layers": 2, "n_heads": 2, "inner_width": 32, "entity_width": 8}
STEPS = {
    "max_steps": 10,
    "batch_size": 8,
    "micro_batch_size": 5,
    "evaluate_every": 5,
    "checkpoint_every": 5,
    "log_every": 1,
}


def config_of(name="daluke_small", **parts):
    config = change(recipe(name), encoder=SMALL, data={"n_workers": 0}, training=STEPS)
    return change(config, **parts)


class Stopped(Exception):  # noqa: N818 - no error
    pass


class Stopper(Display):
    """Stops a run when it tells of a step."""

    def __init__(self, step):
        super().__init__(io.StringIO(), max_steps=10)
        self.step = step

    def show(self, line):
        if line["step"] == self.step:
            raise Stopped


@pytest.fixture
def run(examples, tmp_path):
    def start(name="run", *, config=None, stop_at=None, world=None, **settings):
        job = PretrainingJob(
            config=config or config_of(),
            **{"examples": (examples,), "output": tmp_path / name} | settings,
        )
        display = Display(io.StringIO(), max_steps=10) if stop_at is None else Stopper(stop_at)
        pretrain(job, world or World(), display)
        return tmp_path / name

    return start


def metrics(folder, kind=None):
    lines = list(read_metrics(folder / "metrics.jsonl"))
    for line in lines:
        for name in ("subwords_per_second", "seconds"):
            line.pop(name, None)
    return [line for line in lines if kind in {None, line["kind"]}]


def final(folder, name="final"):
    return (folder / name / "model.safetensors").read_bytes()


@pytest.mark.parametrize("stop_at", [3, 7])  # before the first checkpoint, and after it
def test_ten_steps_are_some_steps_save_load_and_the_rest(run, stop_at):
    config = config_of(optimizer={"ema": 0.9})
    whole = run("whole", config=config)

    with pytest.raises(Stopped):
        run("stopped", config=config, stop_at=stop_at)
    stopped = run("stopped", config=config)

    assert final(stopped) == final(whole)
    assert final(stopped, "average") == final(whole, "average")
    assert metrics(stopped) == metrics(whole)


def test_frozen_weights_and_the_second_stage_survive_a_stop(run):
    base = run("base", config=config_of("bert_small", training={"max_steps": 2})) / "final"
    config = config_of(
        training={"frozen": 0.6, "checkpoint_every": 2}, optimizer={"unlocked_lr": 1e-4}
    )
    settings = {"config": config, "init_from": base}
    whole = run("whole", **settings)

    for stop_at in (3, 7):
        with pytest.raises(Stopped):
            run("stopped", stop_at=stop_at, **settings)
    stopped = run("stopped", **settings)

    assert final(stopped) == final(whole)
    assert metrics(stopped) == metrics(whole)


def test_transferred_weights_stay_until_they_are_unlocked_and_all_move_then(run):
    base = run("base", config=config_of("bert_small", training={"max_steps": 3})) / "final"
    config = config_of(training={"frozen": 0.5, "keep": 9})

    folder = run(config=config, init_from=base)

    start = load_file(folder / "start.safetensors")
    of_base = load_file(base / "model.safetensors")
    unlocked = load_file(folder / "checkpoints" / "step-000005" / "model.safetensors")
    end = load_file(folder / "final" / "model.safetensors")
    transferred = {name for name in of_base if name in start}
    assert transferred
    assert start.keys() - transferred  # queries and embeddings of entities
    assert all(start[name].equal(of_base[name]) for name in transferred)
    moved = {name for name in start if not start[name].equal(unlocked[name])}
    assert moved == start.keys() - transferred
    assert not [name for name in start if unlocked[name].equal(end[name])]
    distances = [line["distance"] for line in metrics(folder, "train")]
    assert [distance["transferred"] > 0 for distance in distances] == [False] * 5 + [True] * 5
    assert all(distance["new"] > 0 for distance in distances)
    [untouched] = metrics(folder, "base")
    assert untouched["accuracy"].keys() == {"subwords"}


def test_the_base_is_as_good_as_it_was(run):
    base = run("base", config=config_of("bert_small"))
    last = metrics(base, "evaluation")[-1]

    folder = run(
        config=config_of(training={"frozen": 0.5, "max_steps": 2}), init_from=base / "final"
    )

    [untouched] = metrics(folder, "base")
    assert untouched["loss"]["subwords"] == pytest.approx(last["loss"]["subwords"], rel=1e-5)
    assert untouched["accuracy"]["subwords"] == last["accuracy"]["subwords"]


def test_what_is_learned_holds_on_validation_documents(run, make_examples, tmp_path):
    examples = make_examples(tmp_path / "more", n=256)
    config = config_of(
        "neiss_small",
        encoder=SMALL | {"width": 32, "inner_width": 64, "n_layers": 1},
        optimizer={"lr": 5e-3},
        training={"max_steps": 80, "batch_size": 16, "micro_batch_size": 16}
        | {"evaluate_every": 80, "checkpoint_every": 80},
    )

    folder = run(config=config, examples=(examples,))

    [unigram] = metrics(folder, "unigram")
    trained = metrics(folder, "evaluation")[-1]
    assert trained["accuracy"]["subwords"]["1"] > 2 * unigram["accuracy"]["subwords"]["1"]
    assert trained["loss"]["subwords"] < unigram["loss"]["subwords"] - 0.5


def test_a_model_that_learns_nothing_is_warned_of_at_once_and_in_the_last_lines(examples, tmp_path):
    config = config_of("bert_small", optimizer={"lr": 1.0})
    said = io.StringIO()

    job = PretrainingJob(config=config, examples=(examples,), output=tmp_path / "run")
    pretrain(job, World(), Display(said, max_steps=10))

    lines = said.getvalue().splitlines()
    warnings = [number for number, line in enumerate(lines) if line.startswith("warning: ")]
    texts = list(metrics(tmp_path / "run", "evaluation")[-1]["symptoms"].values())
    starts = ["all subwords have nearly the same state", "the loss of subwords"]
    assert [lines[number][9:].split(" (")[0] for number in warnings] == 2 * starts
    assert lines[warnings[1] + 1].startswith("step 5/10 · evaluation")
    assert lines[-2:] == [f"warning: {text}" for text in texts]
    page = make_page([read_run(tmp_path / "run")])
    assert all(f"<li>run: {text}" in page for text in texts)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("neiss_nsp_small", {"n": 2}, "has two texts: a pair needs two sentences"),
        ("neiss_sop_small", {"n_sentences": 1}, "has two texts"),
        ("daluke_small", {"mentions": False}, "has a mention of a known entity"),
    ],
)
def test_an_objective_without_a_target_is_an_error_at_the_start(
    run, make_examples, tmp_path, name, settings, said
):
    examples = make_examples(tmp_path / "some", validation=9, **{"n": 16} | settings)

    with pytest.raises(ConfigError, match=said):
        run(config=config_of(name), examples=(examples,))


def test_training_ends_early_with_the_best_weights(run):
    config = config_of(
        optimizer={"lr": 3.0, "clip": None},  # it can only get worse
        training={"patience": 2, "evaluate_every": 1, "max_steps": 50},
    )

    folder = run(config=config)

    losses = [line["loss"] for line in metrics(folder, "evaluation")]
    weighted = [0.5 * loss["subwords"] + 0.5 * loss["entities"] for loss in losses]
    best = weighted.index(min(weighted))
    assert len(weighted) == best + 3 < 50
    best_weights = load_file(folder / "best.safetensors")
    trained = load_file(folder / "final" / "model.safetensors")
    assert all(trained[name].equal(tensor) for name, tensor in best_weights.items())
    again = metrics(folder)
    (folder / "best.safetensors").unlink()
    run(config=config)  # is finished, and stays so
    assert metrics(folder) == again


def test_a_run_that_lost_its_best_weights_says_so(run, tmp_path):
    config = config_of(training={"patience": 9})
    with pytest.raises(Stopped):
        run(config=config, stop_at=7)
    (tmp_path / "run" / "best.safetensors").unlink()

    with pytest.raises(CorpusError, match=r"best\.safetensors: missing.*Copy the folder"):
        run(config=config)


def test_a_run_is_not_forced_into_another_size(run):
    with pytest.raises(Stopped):
        run(stop_at=7)
    narrow = config_of(encoder={"inner_width": 8})

    with pytest.raises(WeightsError, match="the weights of another model"):
        run(config=narrow, is_forced=True)

    assert (run() / "final").is_dir()  # resumes, as it would have before


def test_patience_that_is_new_in_mid_run_counts_from_there(run):
    worse = {"lr": 1.0}  # no evaluation is better than that before the first step
    times = {"evaluate_every": 1, "checkpoint_every": 1}
    folder = run(config=config_of(training=times | {"max_steps": 4}, optimizer=worse))
    changed = times | {"max_steps": 50, "patience": 2}

    run(config=config_of(training=changed, optimizer=worse), is_forced=True)

    losses = [line["loss"] for line in metrics(folder, "evaluation")]
    weighted = [0.5 * loss["subwords"] + 0.5 * loss["entities"] for loss in losses]
    assert weighted.index(min(weighted)) == 0
    later = weighted[5:]
    assert len(later) == later.index(min(later)) + 3
    best = load_file(folder / "best.safetensors")
    trained = load_file(folder / "final" / "model.safetensors")
    assert all(trained[name].equal(tensor) for name, tensor in best.items())


def test_patience_needs_something_to_predict_in_validation_examples(run, make_examples, tmp_path):
    examples = make_examples(tmp_path / "few", n=16)  # one document for validation: no pairs
    data, heads = {"pairs": "nsp", "n_workers": 0}, {"weights": {"pairs": 1.0}}
    config = config_of("bert_small", data=data, heads=heads, training=STEPS | {"patience": 3})

    with pytest.raises(ConfigError, match=r"training\.patience=3.*nothing to predict"):
        run(config=config, examples=(examples,))


def test_a_loss_that_is_no_number_stops_without_a_checkpoint(run, tmp_path, monkeypatch):
    whole = PretrainingModel.forward

    def broken(self, batch):
        losses = whole(self, batch)
        calls.append(batch.ids)
        return {n: loss * float("nan") if len(calls) == 7 else loss for n, loss in losses.items()}

    calls = []
    monkeypatch.setattr(PretrainingModel, "forward", broken)

    with pytest.raises(DivergedError) as raised:
        run(config=config_of(training={"checkpoint_every": 1}))

    assert raised.value.step == 4
    assert raised.value.ids == calls[6]
    kept = {path.name for path in (tmp_path / "run" / "checkpoints").iterdir()}
    assert kept == {"step-000002", "step-000003"}
    written = json.loads((tmp_path / "run" / "broken-step-000004-of-0.json").read_text())
    assert written == {"step": 4, "examples": list(calls[6])}


def test_other_settings_are_refused_and_named_unless_forced(run):
    config = config_of()
    folder = run(config=config)
    other = change(config, optimizer={"lr": 0.5}, training={"max_steps": 12, "log_every": 3})

    with pytest.raises(OtherRunError) as raised:
        run(config=other)

    lines = str(raised.value).splitlines()
    assert "config.optimizer.lr: 0.001 there, 0.5 here" in [line.strip() for line in lines]
    assert "log_every" not in str(raised.value)
    assert metrics(folder)[-1]["step"] == 10
    run(config=other, is_forced=True)
    assert metrics(folder, "evaluation")[-1]["step"] == 12


def test_other_settings_of_a_finished_run_are_refused_also_if_forced(run):
    config = config_of()
    folder = run(config=config)
    settings = json.loads((folder / "settings.json").read_text())

    with pytest.raises(OtherRunError, match=r"is finished.*\n.*lr: 0.001 there, 0.5 here"):
        run(config=change(config, optimizer={"lr": 0.5}), is_forced=True)

    assert json.loads((folder / "settings.json").read_text()) == settings
    run(config=change(config, training={"log_every": 3}), is_forced=True)


def test_other_examples_are_refused_and_named(run, make_examples, tmp_path):
    run()
    other = make_examples(tmp_path / "other", seed=2)

    with pytest.raises(OtherRunError, match=r"examples\.0\.dataset_sha256"):
        run(examples=(other,))


def test_another_number_of_processes_is_refused_and_named(run):
    run()

    with pytest.raises(OtherRunError, match="world_size: 1 there, 2 here"):
        run(world=World(size=2))


def test_a_damaged_checkpoint_is_passed_over(run, caplog):
    config = config_of(training={"checkpoint_every": 2})
    whole = run("whole", config=config)
    with pytest.raises(Stopped):
        run("stopped", config=config, stop_at=7)
    newest = whole.parent / "stopped" / "checkpoints" / "step-000006" / "model.safetensors"
    newest.write_bytes(newest.read_bytes()[:-9])

    stopped = run("stopped", config=config)

    assert "step-000006: damaged" in caplog.text
    assert final(stopped) == final(whole)
    assert metrics(stopped) == metrics(whole)


def test_a_run_whose_checkpoints_are_all_damaged_does_not_begin_again(run, tmp_path):
    with pytest.raises(Stopped):
        run(stop_at=7)
    folder = tmp_path / "run"
    log = (folder / "metrics.jsonl").read_bytes()
    (folder / "checkpoints" / "step-000005" / "progress.json").unlink()

    with pytest.raises(CorpusError, match=r"all checkpoints are damaged.*remove this folder"):
        run()

    assert (folder / "metrics.jsonl").read_bytes() == log
    shutil.rmtree(folder / "checkpoints")
    assert final(run()) == final(run("whole"))


def test_a_finished_run_keeps_the_scores_of_its_average(run):
    config = config_of(optimizer={"ema": 0.9})
    folder = run(config=config)
    log = (folder / "metrics.jsonl").read_bytes()

    run(config=config)

    assert (folder / "metrics.jsonl").read_bytes() == log


def test_a_finished_run_without_its_checkpoints_stays_finished(run):
    folder = run()
    shutil.rmtree(folder / "checkpoints")
    files = {path: path.stat().st_mtime_ns for path in (folder / "final").iterdir()}

    run(stop_at=0)

    assert {path: path.stat().st_mtime_ns for path in (folder / "final").iterdir()} == files


def test_two_datasets_are_mixed(run, examples, make_examples, tmp_path):
    second = make_examples(tmp_path / "other", seed=2)

    folder = run(config=config_of(data={"weights": (0.7, 0.3)}), examples=(examples, second))

    assert metrics(folder, "evaluation")[-1]["step"] == 10


def test_the_trained_model_lies_with_all_that_belongs_to_it(run, examples):
    folder = run() / "final"

    model = PretrainingModel.load(folder)

    assert model.config.encoder.n_entities == 11
    assert (folder / "tokenizer.json").read_bytes() == (examples / "tokenizer.json").read_bytes()
    assert (folder / "entities.arrow").read_bytes() == (examples / "_entities.ipc").read_bytes()
    settings = json.loads((folder / "run.json").read_text())
    assert settings["config"] == model.config.to_json()


def test_a_sampled_softmax_trains(run):
    folder = run(config=config_of(masking={"n_negatives": 4}))

    assert metrics(folder, "train")[-1]["loss"].keys() == {"subwords", "entities"}


def test_a_checkpoint_is_a_model_that_can_be_used(run, tmp_path):
    config = config_of("bert_small", heads={"weights": {"subwords": 1.0}})
    checkpoint = run("base", config=config) / "checkpoints" / "step-000005"

    from_checkpoint = run("second", config=config, init_from=checkpoint)

    start = load_file(from_checkpoint / "start.safetensors")
    of_checkpoint = load_file(checkpoint / "model.safetensors")
    assert start.keys() == of_checkpoint.keys()
    assert all(start[name].equal(tensor) for name, tensor in of_checkpoint.items())
    exported = tmp_path / "exported"
    assert export([str(checkpoint), "--output", str(exported)]) == 0
    assert (exported / "tokenizer.json").is_file()


def test_a_checkpoint_has_the_entities_of_its_model(run, examples):
    checkpoint = run(config=config_of()) / "checkpoints" / "step-000010"

    model = PretrainingModel.load(checkpoint)

    assert model.config.encoder.n_entities == 11
    assert (checkpoint / "entities.arrow").read_bytes() == (examples / "_entities.ipc").read_bytes()


def test_an_average_that_begins_in_mid_run_begins_with_the_weights(run):
    config = config_of(training={"max_steps": 5})
    run(config=config)
    longer = change(config, optimizer={"ema": 0.999999}, training={"max_steps": 6})

    folder = run(config=longer, is_forced=True)

    average = load_file(folder / "average" / "model.safetensors")
    then = load_file(folder / "checkpoints" / "step-000005" / "model.safetensors")
    for name, tensor in then.items():
        torch.testing.assert_close(average[name], tensor, rtol=0, atol=1e-6)


def test_a_forced_longer_run_leaves_no_average_of_the_shorter(run):
    config = config_of(optimizer={"ema": 0.9}, training={"max_steps": 5})
    folder = run(config=config)
    assert (folder / "average").is_dir()

    run(config=change(config, optimizer={"ema": None}, training={"max_steps": 6}), is_forced=True)

    assert not (folder / "average").exists()


def test_the_steps_before_an_early_end_are_logged(run):
    config = config_of(
        optimizer={"lr": 3.0, "clip": None},  # it can only get worse
        training={"patience": 2, "evaluate_every": 1, "max_steps": 50, "log_every": 40},
    )

    folder = run(config=config)

    [line] = metrics(folder, "train")
    assert line["step"] == metrics(folder, "evaluation")[-1]["step"] < 40


def test_what_a_run_costs_is_recorded(run, examples, monkeypatch):
    peak = 1e9
    monkeypatch.setattr(pretraining_run, "peak_flops", lambda *_: peak)
    config = config_of(training={"max_steps": 3, "evaluate_every": 9, "checkpoint_every": 9})

    folder = run(config=config)

    sources = open_sources([examples])
    complete_config = complete(config, sources)
    steps = Feed(complete_config, sources, World()).steps(0)
    expected = [sum(batch_flops(complete_config, b) for b in step) for step in steps]
    lines = [line for line in read_metrics(folder / "metrics.jsonl") if line["kind"] == "train"]
    assert [line["mfu"] * line["seconds"] * peak for line in lines] == pytest.approx(expected)
    rows = list(ExampleSet(examples, "train"))
    [model] = metrics(folder, "model")
    length = round(sum(len(row.subwords) for row in rows) / len(rows)) + 2
    mentions = sum(len(row.entities) for row in rows) / len(rows)
    assert model["examples"] == len(rows) == 56
    assert model["mean_length"] == length
    assert model["mean_mentions"] == pytest.approx(mentions)
    assert model["flops_per_subword"] == flops_per_subword(
        complete_config, length, n_mentions=round(mentions)
    )
    per_subword = sum(expected) / sum(
        line["subwords_per_second"] * line["seconds"] for line in lines
    )
    assert model["flops_per_subword"] == pytest.approx(per_subword, rel=0.1)


@pytest.mark.parametrize("name", ["model", "optimizer"])
def test_a_checkpoint_with_numbers_that_are_not_finite_is_not_resumed(run, tmp_path, name):
    with pytest.raises(Stopped):
        run(stop_at=7)
    path = tmp_path / "run" / "checkpoints" / "step-000005"
    tensors = load_file(path / f"{name}.safetensors")
    next(tensor for tensor in tensors.values() if tensor.ndim).view(-1)[0] = float("nan")
    write_tensors(path / f"{name}.safetensors", tensors)
    manifest = json.loads((path / "checkpoint.json").read_text())
    manifest["files"][f"{name}.safetensors"] = sha256_of(path / f"{name}.safetensors")
    write_json(path / "checkpoint.json", manifest)

    with pytest.raises(CorpusError, match=r"step-000005: .* not finite"):
        run()
