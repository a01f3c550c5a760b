import pytest
import torch

from modeling.config import OptimizerConfig
from modeling.data.batch import Batch, LayerRows, Layout, Targets
from modeling.training import loop
from modeling.training.loop import Conditions, DivergedError, train
from modeling.training.optimizer import Optimizer
from modeling.training.schedules import Schedule
from modeling.training.world import World

WEIGHTS = {"subwords": 0.75, "entities": 0.25}
CONSTANT = Schedule(lambda _: 1e-2)
CONDITIONS = Conditions(World(), seed=5)


def run(model, batches, *, config=None, frozen=(), schedule=CONSTANT, **settings):
    settings = {"weights": WEIGHTS, "conditions": CONDITIONS} | settings
    precision = settings["conditions"].precision
    optimizer = Optimizer(model, config or OptimizerConfig(), frozen=frozen, precision=precision)
    return list(train(model, batches, optimizer, schedule=schedule, **settings))


def weights(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def steps_of(batch, n):
    return [[batch([5, 3], seed=s), batch([7], seed=100 + s)] for s in range(n)]


def test_the_loss_is_the_weighted_mean_over_all_targets_of_the_step(toy, batch):
    model = toy(dropout=0.0)
    micro_batches = [batch([9, 2], seed=1), batch([30], seed=2, entities=False)]
    sums = [model(micro_batch) for micro_batch in micro_batches]
    n = [micro_batch.n_targets for micro_batch in micro_batches]
    mean = sum(s["subwords"] for s in sums) / sum(c["subwords"] for c in n)
    expected = 0.75 * mean + 0.25 * sums[0]["entities"] / n[0]["entities"]

    [step] = run(model, [micro_batches])

    assert step.loss == pytest.approx(expected.item(), rel=1e-6)
    assert step.n_targets == {"subwords": sum(c["subwords"] for c in n), "entities": 2}
    assert step.n_subwords == 41
    assert sum(map(len, step.ids)) == 3


def test_uneven_micro_batches_are_one_large_batch(toy, batch):
    parts = [batch([9], seed=1), batch([40, 12], seed=2), batch([3], seed=3, entities=False)]
    one, many = toy(dropout=0.0), toy(dropout=0.0)

    run(one, [[join(parts)]])
    run(many, [parts])

    for name, parameter in weights(one).items():
        torch.testing.assert_close(weights(many)[name], parameter, rtol=0, atol=1e-6)


def join(batches):
    """Make one batch of several."""
    sizes = [len(one.subwords) for one in batches]
    starts = [sum(sizes[:number]) for number in range(len(batches))]
    lengths = [n for one in batches for n in torch.bincount(one.rows.subwords.sequences).tolist()]
    layout = Layout.of(lengths)
    targets = {}
    for name in WEIGHTS:
        own = [
            (one.targets[name], start)
            for one, start in zip(batches, starts, strict=True)
            if name in one.targets
        ]
        rows = torch.cat([target.rows + start for target, start in own])
        targets[name] = Targets(rows, torch.cat([target.labels for target, _ in own]))
    return Batch(
        ids=sum((one.ids for one in batches), ()),
        subwords=torch.cat([one.subwords for one in batches]),
        rows=LayerRows(layout, layout),
        targets=targets,
    )


def test_before_the_unlock_step_no_frozen_parameter_moves_and_after_it_all_do(toy, batch):
    model = toy()
    frozen = {"embedding.weight", "inner.weight", "inner.bias"}
    optimizer = Optimizer(model, OptimizerConfig(), frozen=frozen)
    start = weights(model)
    schedule = Schedule(lambda _: 1e-2, unlock_after=3)

    seen = {}
    for step in train(
        model,
        steps_of(batch, 6),
        optimizer,
        schedule=schedule,
        weights=WEIGHTS,
        conditions=CONDITIONS,
    ):
        seen[step.number] = weights(model)
        is_frozen = step.number <= 3
        assert all((model.get_parameter(name).grad is None) == is_frozen for name in frozen)

    for number in (1, 2, 3):
        moved = {name for name in start if not seen[number][name].equal(start[name])}
        assert moved == start.keys() - frozen
    for name in start:
        assert not seen[4][name].equal(seen[3][name])


def test_the_second_stage_forgets_what_adam_gathered(toy, batch):
    model = toy()
    optimizer = Optimizer(model, OptimizerConfig(), frozen={"inner.bias"})
    schedule = Schedule(lambda _: 1e-2, unlock_after=2, resets=True)

    for _ in train(
        model,
        steps_of(batch, 3),
        optimizer,
        schedule=schedule,
        weights=WEIGHTS,
        conditions=CONDITIONS,
    ):
        pass

    assert {state["step"].item() for state in optimizer.adam.state.values()} == {1.0}
    assert len(optimizer.adam.state) == len(list(model.parameters()))


def test_a_step_without_targets_of_an_objective_moves_as_if_its_gradient_were_zero(toy, batch):
    model = toy()

    steps = run(model, [[batch([9], entities=False)]], config=OptimizerConfig(weight_decay=0.0))

    assert steps[0].n_targets["entities"] == 0
    assert model.parity.weight.grad.abs().max() == 0
    assert steps[0].loss > 0


def test_a_process_without_a_micro_batch_adds_nothing(toy):
    model = toy()
    before = weights(model)

    [step] = run(model, [[]], config=OptimizerConfig(weight_decay=0.0))

    assert step.n_targets == {"subwords": 0, "entities": 0}
    assert (step.n_subwords, step.ids, step.loss, step.gradient_norm) == (0, (), 0.0, 0.0)
    assert all(parameter.equal(before[name]) for name, parameter in weights(model).items())


@pytest.mark.parametrize("broken", ["loss", "gradient"])
def test_a_broken_number_stops_with_the_step_and_the_examples(toy, batch, broken):
    model = toy()
    before = weights(model)
    good, bad = batch([9], seed=1, prefix="good"), batch([4], seed=2, prefix="bad")
    whole = model.forward

    def forward(batch):
        losses = whole(batch)
        if batch.ids == bad.ids:
            scale = losses["subwords"].detach() * 0 + (float("nan") if broken == "loss" else 1.0)
            losses["subwords"] = losses["subwords"] * scale
            if broken == "gradient":
                losses["subwords"].register_hook(lambda gradient: gradient * float("inf"))
        return losses

    model.forward = forward

    with pytest.raises(DivergedError, match=r"Step 7: .*bad0") as raised:
        run(model, [[good, bad]], first_step=7)

    assert raised.value.ids == (("bad0",) if broken == "loss" else ("good0", "bad0"))
    assert all(parameter.equal(before[name]) for name, parameter in weights(model).items())


def test_chance_depends_on_seed_and_step_alone(toy, batch):
    steps = steps_of(batch, 4)
    one, other = toy(), toy()
    run(one, steps[:2])
    other.load_state_dict(one.state_dict())

    torch.rand(17)  # something else draws
    first = run(one, steps[2:3], first_step=3)
    torch.rand(3)
    second = run(other, steps[2:3], first_step=3)

    assert first[0].loss == second[0].loss


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_keeps_weights_in_float32(toy, batch, precision):
    model = toy()
    seen = []
    model.inner.register_forward_hook(lambda *args: seen.append(args[2].dtype))

    run(model, steps_of(batch, 1), conditions=Conditions(World(), precision=precision))

    assert set(seen) == {getattr(torch, precision)}
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_a_step_whose_gradients_overflow_in_float16_is_left_out_and_the_scale_halved(toy, batch):
    model, conditions = toy(dropout=0.0), Conditions(World(), precision="float16")
    optimizer, start = Optimizer(model, OptimizerConfig(), precision="float16"), weights(model)
    optimizer.loss_scale.value = 2.0**40
    seen = []
    for step in train(
        model,
        steps_of(batch, 40),
        optimizer,
        schedule=CONSTANT,
        weights=WEIGHTS,
        conditions=conditions,
    ):
        is_same = all(weights(model)[name].equal(start[name]) for name in start)
        seen.append((step.gradient_norm == 0, is_same))

    n_left_out = seen.index((False, False))
    assert seen[:n_left_out] == [(True, True)] * n_left_out
    assert optimizer.loss_scale.value == 2.0 ** (40 - n_left_out)
    assert 0 < n_left_out < 40


def test_gradients_in_float16_are_those_in_float32(toy, batch):
    norms = [
        run(toy(dropout=0.0), steps_of(batch, 1), conditions=Conditions(World(), precision=type))
        for type in ("float32", "float16")
    ]

    assert norms[1][0].gradient_norm == pytest.approx(norms[0][0].gradient_norm, rel=1e-2)


def test_freed_memory_is_returned_every_fifty_steps(toy, batch, monkeypatch):
    returned = []
    monkeypatch.setattr(loop, "_return_memory", lambda: returned.append(True))

    run(toy(), steps_of(batch, 101))

    assert len(returned) == 2
