import multiprocessing
import pickle
import signal
import subprocess
from dataclasses import fields, replace
from itertools import islice

import numpy as np
import pytest
import torch

from corpora.errors import CorpusError
from modeling.config import MaskingConfig
from modeling.data.batches import Batches, ValidationBatches, _Sent
from modeling.data.examples import ExampleSet


@pytest.fixture(scope="module")
def train(dataset):
    return ExampleSet(dataset, "train")


@pytest.fixture(scope="module")
def validation(dataset):
    return ExampleSet(dataset, "validation")


def values(part):
    """Return all that a batch holds, as values that can be compared."""
    if isinstance(part, torch.Tensor):
        return (part.dtype, tuple(part.shape), part.tolist())
    if isinstance(part, list):
        return [values(item) for item in part]
    if isinstance(part, dict):
        return {name: values(item) for name, item in part.items()}
    if hasattr(part, "__dataclass_fields__"):
        return {field.name: values(getattr(part, field.name)) for field in fields(part)}
    return part


def by_example(batches):
    """Return subwords, targets and mentions of each example by its id, whatever batch it is in."""
    found = {}
    for batch in batches:
        subwords = batch.rows.subwords
        targets = {}
        if "subwords" in batch.targets:
            of = batch.targets["subwords"]
            targets = dict(zip(of.rows.tolist(), of.labels.tolist(), strict=True))
        for number, id in enumerate(batch.ids):
            rows = torch.nonzero(subwords.sequences == number).flatten().tolist()
            mentions = []
            if batch.mentions is not None:
                of = batch.rows.entities.sequences == number
                mentions = batch.mentions.entities[of].tolist()
            shown = [(int(batch.subwords[row]), targets.get(row)) for row in rows]
            assert id not in found
            found[id] = (shown, mentions)
    return found


def epoch_of(batches, epoch=0):
    n = batches.steps_per_epoch
    return [b for step in range(epoch * n, epoch * n + n) for b in batches.batch(step)]


def test_an_epoch_shows_each_example_once(samples, subwords, train):
    batches = Batches(samples.config(), [train], subwords)

    shown = by_example(epoch_of(batches))

    assert shown.keys() == {example.id for example in train}


@pytest.mark.parametrize("unit", ["subword", "word", "entity"])
@pytest.mark.parametrize("budget", ["bernoulli", "units", "subwords"])
def test_a_mask_does_not_depend_on_the_batch(samples, subwords, train, unit, budget):
    masking = MaskingConfig(unit=unit, budget=budget)
    sizes = [{"batch_size": 16, "micro_batch_size": 4}, {"batch_size": 23, "micro_batch_size": 9}]

    one, other = (
        by_example(epoch_of(Batches(samples.config(masking, training=size), [train], subwords)))
        for size in sizes
    )

    assert one == other


def test_a_mask_depends_on_the_epoch_and_the_seed(samples, subwords, train):
    configs = [samples.config(), samples.config(training={"seed": 2})]
    batches = [Batches(config, [train], subwords) for config in configs]

    runs = [(batches[0], 0), (batches[1], 0), (batches[0], 1)]

    shown = [by_example(epoch_of(of, epoch)) for of, epoch in runs]

    long = [example.id for example in train if len(example.subwords) > 20]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert sum(shown[one][id] == shown[other][id] for id in long) < len(long) / 10


@pytest.mark.parametrize("pairs", ["none", "nsp", "sop"])
def test_a_step_is_the_same_alone_as_after_others(samples, subwords, train, pairs):
    config = samples.config(data={"pairs": pairs})
    once = Batches(config, [train], subwords)
    in_sequence = [values(once.batch(step)) for step in range(8)]

    alone = Batches(config, [train], subwords).batch(7)

    assert values(alone) == in_sequence[7]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_any_number_of_workers_makes_the_same_bytes(samples, subwords, train):
    made = [
        list(Batches(samples.config(data={"n_workers": n}), [train], subwords).steps(3, 9))
        for n in (0, 1, 2)
    ]

    assert len(made[0]) == 6
    assert values(made[0]) == values(made[1]) == values(made[2])


@pytest.mark.parametrize("pairs", ["none", "sop"])
def test_workers_may_be_started_in_any_way(samples, subwords, train, pairs):
    batches = Batches(samples.config(data={"pairs": pairs}), [train], subwords)

    again = pickle.loads(pickle.dumps(batches))  # noqa: S301 - as a process that is not forked does

    assert values(again.batch(1)) == values(batches.batch(1))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_leave_the_generator_of_the_run_alone(samples, subwords, train):
    config = samples.config(data={"n_workers": 1})
    before = torch.get_rng_state()

    list(Batches(config, [train], subwords).steps(0, 1))

    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_error_in_a_worker_names_the_example(samples, subwords, tmp_path):
    rows = [samples.row("a#0", 5), samples.row("b#0", 5) | {"input_ids": [8, 8, 99, 8, 8]}]
    bad = ExampleSet(samples.write(tmp_path / "bad", rows), "train")
    batches = Batches(samples.config(data={"n_workers": 1}), [bad], subwords)

    with pytest.raises(CorpusError, match=f"^{bad.path}: example b#0: has a subword beyond"):
        list(batches.steps(0, 1))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="who sent a signal is not known")
def test_workers_end_at_a_sigterm_of_their_trainer_alone(samples, subwords, train):
    before = {*multiprocessing.active_children()}  # of earlier tests
    steps = Batches(samples.config(data={"n_workers": 1}), [train], subwords).steps(0, 1000)
    first = next(steps)
    [worker] = {*multiprocessing.active_children()} - before

    subprocess.run(["/bin/kill", "-TERM", str(worker.pid)], check=True)  # from another process
    others = list(islice(steps, 20))
    was_alive = worker.is_alive()
    worker.terminate()
    worker.join(60)

    assert len([first, *others]) == 21
    assert was_alive
    assert worker.exitcode == 0


@pytest.mark.parametrize("pairs", ["none", "nsp"])
def test_two_devices_share_what_one_would_have(samples, subwords, train, pairs):
    config = samples.config(data={"pairs": pairs})
    one = Batches(config, [train], subwords)
    two = [Batches(config, [train], subwords, rank=rank, world=2) for rank in (0, 1)]

    for step in range(one.steps_per_epoch):
        together = by_example([batch for of in two for batch in of.batch(step)])
        assert together == by_example(one.batch(step))


def test_a_short_last_step_may_leave_a_device_without_a_batch(samples, subwords, tmp_path):
    small = ExampleSet(samples.write(tmp_path / "x", [samples.row("a#0", 5)]), "train")

    steps = [Batches(samples.config(), [small], subwords, rank=r, world=2).batch(0) for r in (0, 1)]

    assert [len(step) for step in steps] == [1, 0]


def test_micro_batches_are_cut_from_examples_ordered_by_length(samples, subwords, train):
    step = Batches(samples.config(), [train], subwords).batch(0)

    lengths = [torch.bincount(batch.rows.subwords.sequences).tolist() for batch in step]
    assert [len(part) for part in lengths] == [4, 4, 4, 4]
    flat = [length for part in lengths for length in part]
    assert flat == sorted(flat, reverse=True)


def test_sets_are_mixed_by_weight(samples, subwords, tmp_path):
    sets = [
        ExampleSet(samples.write(tmp_path / name, [samples.row(f"{name}#0", 3)]), "train")
        for name in ("a", "b")
    ]
    config = samples.config(data={"weights": (0.7, 0.3)}, training={"batch_size": 250})
    batches = Batches(config, sets, subwords)

    ids = [id for step in range(4) for batch in batches.batch(step) for id in batch.ids]

    assert (ids.count("a#0"), ids.count("b#0")) == (700, 300)


def test_negatives_are_the_same_in_all_of_a_step_and_others_in_the_next(samples, subwords, train):
    config = samples.config(MaskingConfig(n_negatives=10, entity_ratio=1.0))
    devices = [Batches(config, [train], subwords, rank=rank, world=2) for rank in (0, 1)]

    drawn = [
        {tuple(b.targets["entities"].negatives.tolist()) for of in devices for b in of.batch(step)
         if "entities" in b.targets}
        for step in (0, 1)
    ]  # fmt: skip

    assert [len(step) for step in drawn] == [1, 1]
    assert drawn[0] != drawn[1]
    assert all(len(ids) == 10 and min(ids) > 2 and max(ids) < 20 for [ids] in drawn)


def test_where_entities_are_no_more_than_negatives_none_are_drawn(samples, subwords, train):
    config = samples.config(MaskingConfig(n_negatives=30, entity_ratio=1.0))

    [*batches] = Batches(config, [train], subwords).batch(0)

    assert all(batch.targets["entities"].negatives is None for batch in batches)


def test_nothing_is_masked_that_is_not_to_be_predicted(samples, subwords, train):
    config = samples.config()
    config = replace(config, heads=replace(config.heads, weights={"subwords": 1.0}))

    batches = epoch_of(Batches(config, [train], subwords))

    assert all(batch.targets.keys() <= {"subwords"} for batch in batches)
    mentions = {id: entities for id, (_, entities) in by_example(batches).items()}
    assert mentions == {example.id: example.entities.tolist() for example in train}


def test_a_split_without_examples_is_refused(samples, subwords, tmp_path):
    path = samples.write(tmp_path / "x", [samples.row("a#0", 4)])

    with pytest.raises(CorpusError, match=f"{path}: no example of the split 'validation'"):
        ValidationBatches(samples.config(), [ExampleSet(path, "validation")], subwords)


EVALUATED = {"training": {"evaluate_examples": 0}}


def test_validation_examples_are_masked_alike_for_every_model(samples, subwords, validation):
    masking = MaskingConfig(unit="subword", budget="bernoulli", ratio=0.5, mask=0.5)
    configs = [
        samples.config(**EVALUATED),
        samples.config(masking, training={"evaluate_examples": 0, "seed": 7, "batch_size": 5}),
        samples.config(training={"evaluate_examples": 0, "micro_batch_size": 3}),
    ]

    shown = [by_example(ValidationBatches(config, [validation], subwords)) for config in configs]

    assert shown[0].keys() == {example.id for example in validation}
    assert shown[0] == shown[1] == shown[2]


def test_fewer_validation_examples_are_some_of_more(samples, subwords, validation):
    chosen = []
    for n in (5, 10):
        evaluation = ValidationBatches(
            samples.config(training={"evaluate_examples": n}), [validation], subwords
        )
        chosen.append({id for batch in evaluation for id in batch.ids})

    assert [len(ids) for ids in chosen] == [5, 10]
    assert chosen[0] < chosen[1]


def test_an_evaluation_is_the_same_each_time_and_shared_by_devices(samples, subwords, validation):
    config = samples.config(**EVALUATED)
    one = ValidationBatches(config, [validation], subwords)
    two = [ValidationBatches(config, [validation], subwords, rank=rank, world=2) for rank in (0, 1)]

    assert [values(batch) for batch in one] == [values(batch) for batch in one]
    assert by_example(one) == by_example([batch for of in two for batch in of])


def test_a_model_trained_on_pairs_is_given_the_same_texts_and_pairs_besides(
    samples, subwords, validation
):
    config = samples.config(data={"pairs": "sop"}, **EVALUATED)

    batches = list(ValidationBatches(config, [validation], subwords))

    texts = [batch for batch in batches if "subwords" in batch.targets]
    plain = ValidationBatches(samples.config(**EVALUATED), [validation], subwords)
    assert by_example(texts) == by_example(plain)
    rest = [batch.targets for batch in batches if "subwords" not in batch.targets]
    n_pairs = sum(len(targets["pairs"].labels) for targets in rest if targets)
    assert all(targets.keys() <= {"pairs"} for targets in rest)
    assert n_pairs == sum(len(np.unique(e.sentence_starts)) > 1 for e in validation)


def test_a_model_with_one_segment_reads_pairs_without_segments(samples, subwords, train):
    config = samples.config(data={"pairs": "sop"}, encoder={"n_segments": 1})

    [batch, *_] = Batches(config, [train], subwords).batch(0)

    assert "pairs" in batch.targets
    assert batch.segments is None


@pytest.mark.gpu
@pytest.mark.parametrize("n_workers", [0, 1])
def test_pinned_batches_reach_a_gpu_as_they_are(samples, subwords, train, n_workers):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    batches = Batches(samples.config(data={"n_workers": n_workers}), [train], subwords)

    [step] = batches.steps(0, 1, pin=True)

    tensors: list[torch.Tensor] = []
    step[0].map(lambda tensor: tensors.append(tensor) or tensor)
    assert all(tensor.is_pinned() for tensor in tensors if tensor.numel())
    assert values([batch.to("cuda").to("cpu") for batch in step]) == values(batches.batch(0))


def test_steps_are_sent_as_arrays_of_four_bytes_or_one(samples, subwords, train):
    sent = _Sent(Batches(samples.config(data={"pairs": "nsp"}), [train], subwords))[0]

    kinds = []
    for batch in sent:
        batch.map(lambda array: kinds.append((type(array), array.dtype.name)))
    assert {*kinds} == {(np.ndarray, "int32"), (np.ndarray, "bool")}
