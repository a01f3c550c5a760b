import math

import pytest
import torch

from modeling.config import (
    ConfigError,
    OptimizerConfig,
    PretrainConfig,
    ScheduleConfig,
    TrainingConfig,
)
from modeling.training.schedules import build_schedule


def learning_rates(schedule, *, n, lr=1.0, frozen=0.0, unlocked_lr=None):
    config = PretrainConfig(
        schedule=schedule,
        optimizer=OptimizerConfig(lr=lr, unlocked_lr=unlocked_lr),
        training=TrainingConfig(max_steps=n, frozen=frozen),
    )
    schedule_lr = build_schedule(config).lr
    return [schedule_lr(step) for step in range(1, n + 1)]


def test_linear_descends_as_transformers_does():
    from transformers import get_linear_schedule_with_warmup

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=3.0)
    scheduler = get_linear_schedule_with_warmup(optimizer, 10, 50)
    theirs = []
    for _ in range(50):
        theirs.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()

    ours = learning_rates(ScheduleConfig(shape="linear", warmup=0.2), n=50, lr=3.0)

    assert ours[10:] == pytest.approx(theirs[10:])
    assert ours[:10] == pytest.approx(theirs[1:11])  # no first step at rate 0


def test_polynomial_is_the_formula_of_daluke():
    ours = learning_rates(
        ScheduleConfig(shape="polynomial", warmup=0.06, end=0.1, power=math.sqrt(3)), n=100
    )

    after_warmup = [0.1 + 0.9 * (1 - t / 94) ** math.sqrt(3) for t in range(94)]
    assert ours[6:] == pytest.approx(after_warmup)


def test_constant_cosine_has_the_epochs_of_neiss():
    neiss = ScheduleConfig(
        shape="constant_cosine", warmup=0.032, start=0.1, constant=0.1, cosine=0.1, end=0.01
    )

    ours = learning_rates(neiss, n=500)  # a step an epoch

    assert ours[15:66] == pytest.approx([1.0] * 51)
    staircase = [0.99 ** (epoch // 3) for epoch in range(384)]
    assert ours[66:450] == pytest.approx(staircase)
    assert ours[450] == pytest.approx(0.99**128)
    assert ours[475] == pytest.approx(0.99**128 * (0.01 + 0.99 * 0.5))
    assert 0.01 * 0.99**128 < ours[-1] < 0.015 * 0.99**128


@pytest.mark.parametrize("shape", ["linear", "polynomial", "constant_cosine", "constant"])
@pytest.mark.parametrize("warmup", [0.0, 0.1])
def test_no_step_is_wasted_and_the_peak_is_reached(shape, warmup):
    ours = learning_rates(ScheduleConfig(shape=shape, warmup=warmup), n=40, lr=2.0)

    assert min(ours) > 0
    assert max(ours) == 2.0


def test_the_second_stage_begins_anew_with_its_own_peak():
    schedule = ScheduleConfig(shape="linear", warmup=0.1)

    both = learning_rates(schedule, n=60, lr=5e-4, frozen=0.5, unlocked_lr=1e-5)

    assert both == learning_rates(schedule, n=30, lr=5e-4) + learning_rates(schedule, n=30, lr=1e-5)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"warmup": 1.5}, "warmup"),
        ({"shape": "polynomial", "power": -3.0}, "power"),
        ({"shape": "constant_cosine", "constant": 0.8, "cosine": 0.3}, "more than the run"),
    ],
)
def test_ratios_that_do_not_fit_are_refused(wrong, word):
    with pytest.raises(ConfigError, match=word):
        learning_rates(ScheduleConfig(**wrong), n=10)


def test_a_second_rate_without_frozen_weights_is_refused():
    with pytest.raises(ConfigError, match="frozen"):
        learning_rates(ScheduleConfig(), n=10, unlocked_lr=1e-5)
