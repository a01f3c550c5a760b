"""Which models a command trains."""

import pytest

from modeling.config import ConfigError
from modeling.finetune.trials import plan_trials
from modeling.tagging_config import FinetuneConfig


def names(*settings, **options):
    return [trial.name for trial in plan_trials(FinetuneConfig(), settings, **options)]


def test_one_setting_is_one_trial():
    assert names("training.epochs=3") == ["seed-1"]


def test_each_seed_is_a_trial():
    assert names(seeds=(3, 5)) == ["seed-3", "seed-5"]


def test_several_values_are_tried_in_each_combination():
    assert names("optimizer.lr=1e-5,2e-5", "head.kind=crf,cse") == [
        "optimizer.lr=1e-5,head.kind=crf/seed-1",
        "optimizer.lr=1e-5,head.kind=cse/seed-1",
        "optimizer.lr=2e-5,head.kind=crf/seed-1",
        "optimizer.lr=2e-5,head.kind=cse/seed-1",
    ]


def test_a_list_in_brackets_is_one_value():
    [trial] = plan_trials(FinetuneConfig(), ["optimizer.betas=[0.8,0.9]"])

    assert trial.config.optimizer.betas == (0.8, 0.9)


def test_lists_can_be_tried_too():
    trials = plan_trials(FinetuneConfig(), ["optimizer.betas=[0.8,0.9],[0.9,0.99]"])

    assert [trial.config.optimizer.betas for trial in trials] == [(0.8, 0.9), (0.9, 0.99)]


def test_a_comma_in_quotes_separates_no_values():
    trials = plan_trials(FinetuneConfig(), ['gazetteer.path="a,b [1","c"'])

    assert [trial.config.gazetteer.path for trial in trials] == ["a,b [1", "c"]


def test_training_sizes_are_settings():
    trials = plan_trials(FinetuneConfig(), [], train_sizes=(10, 0))

    assert [(t.name, t.config.training.train_size) for t in trials] == [
        ("size=10/seed-1", 10),
        ("size=0/seed-1", 0),
    ]


def test_a_fold_has_no_dev_so_that_its_last_epoch_is_taken():
    trials = plan_trials(FinetuneConfig(), [], n_folds=2)

    assert [trial.name for trial in trials] == ["fold-1-seed-1", "fold-2-seed-1"]
    assert {trial.config.training.choose for trial in trials} == {"last"}


@pytest.mark.parametrize("setting", ["head.kin=crf", "head.kind", "head.kind=tree,crf"])
def test_what_is_no_setting_is_an_error(setting):
    with pytest.raises(ConfigError):
        plan_trials(FinetuneConfig(), [setting])


def test_the_same_twice_is_an_error():
    with pytest.raises(ConfigError, match="twice"):
        plan_trials(FinetuneConfig(), [], seeds=(1, 1))


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (("optimizer.lr=1e-4,2e-4", "optimizer.lr=1e-3,2e-3"), {}),
        (("optimizer.lr=1e-4,2e-4", "optimizer.lr=1e-3"), {}),
        (("training.seed=4",), {"seeds": (1, 2)}),
        (("training.train_size=50",), {"train_sizes": (10, 20)}),
    ],
)
def test_a_value_that_would_do_nothing_beside_others_is_an_error(settings, options):
    with pytest.raises(ConfigError, match="given twice"):
        plan_trials(FinetuneConfig(), settings, **options)


def test_one_value_may_stand_for_one_that_was_set_before():
    [trial] = plan_trials(FinetuneConfig(), ["training.epochs=3", "training.epochs=5"])

    assert trial.config.training.epochs == 5


def test_a_seed_that_is_set_is_the_seed():
    [trial] = plan_trials(FinetuneConfig(), ["training.seed=7"])

    assert (trial.name, trial.config.training.seed) == ("seed-7", 7)


def test_seeds_are_not_chosen_among():
    with pytest.raises(ConfigError, match="--seeds 1,2,3"):
        plan_trials(FinetuneConfig(), ["training.seed=1,2"])


def test_each_of_several_heads_must_go_with_the_other_settings():
    with pytest.raises(ConfigError, match="trained on whole sentences"):
        plan_trials(FinetuneConfig(), ["head.kind=softmax,crf", "head.class_weights=inverse"])


@pytest.mark.parametrize("n_folds", [1, -2])
def test_one_fold_is_none(n_folds):
    with pytest.raises(ConfigError, match="two or more"):
        plan_trials(FinetuneConfig(), [], n_folds=n_folds)


@pytest.mark.parametrize(
    "setting",
    [
        "training.epochs=0",
        "training.batch_size=0",
        "training.evaluate_batch_size=-1",
        "training.train_size=-5",
        "training.train_size=10,-5",
        "gazetteer.folds=1",
        "head.max_span_subwords=-1",
        "head.dropout=1",
        "data.max_length=-1",
        "optimizer.lr=-1",
        "optimizer.lr=1e-4,-1e-4",
        "optimizer.weight_decay=-5",
        "optimizer.eps=-1",
        "optimizer.clip=0",
        "optimizer.betas=[0.9]",
        "optimizer.betas=[1.5,0.9]",
        "optimizer.ema=2",
        "training.seed=-1",
        "training.seed=9223372036854775808",
        "training.lora_alpha=-1",
        "schedule.warmup=0.1,2",
    ],
)
def test_numbers_that_a_setting_cannot_have_are_named(setting):
    with pytest.raises(ConfigError, match=rf"{setting.partition('=')[0]}=.*: must be "):
        plan_trials(FinetuneConfig(), [setting])
