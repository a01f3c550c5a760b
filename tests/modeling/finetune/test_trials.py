"""Which models a command trains."""

from operator import attrgetter

import pytest

from modeling.config import ConfigError
from modeling.finetune.trials import plan_trials
from modeling.tagging_config import FinetuneConfig


@pytest.mark.parametrize(
    ("settings", "options", "expected"),
    [
        (["training.epochs=3"], {}, ["seed-1"]),
        (["training.seed=7"], {}, ["seed-7"]),
        ([], {"seeds": (3, 5)}, ["seed-3", "seed-5"]),
        ([], {"train_sizes": (10, 0)}, ["size=10/seed-1", "size=0/seed-1"]),
        ([], {"n_folds": 2}, ["fold-1-seed-1", "fold-2-seed-1"]),
        (
            ["optimizer.lr=1e-5,2e-5", "head.kind=crf,cse"],
            {},
            [
                f"optimizer.lr={n}e-5,head.kind={kind}/seed-1"
                for n in "12"
                for kind in ("crf", "cse")
            ],
        ),
    ],
)
def test_each_seed_size_fold_and_combination_of_values_is_a_trial(settings, options, expected):
    assert [trial.name for trial in plan_trials(FinetuneConfig(), settings, **options)] == expected


@pytest.mark.parametrize(
    ("settings", "options", "name", "values"),
    [
        (["optimizer.betas=[0.8,0.9]"], {}, "optimizer.betas", [(0.8, 0.9)]),  # a list is one value
        (["optimizer.betas=[0,0.9],[0.9,0.99]"], {}, "optimizer.betas", [(0, 0.9), (0.9, 0.99)]),
        (['gazetteer.path="a,b [1","c"'], {}, "gazetteer.path", ["a,b [1", "c"]),
        (["training.epochs=3", "training.epochs=5"], {}, "training.epochs", [5]),  # set anew
        (["training.seed=7"], {}, "training.seed", [7]),
        ([], {"train_sizes": (10, 0)}, "training.train_size", [10, 0]),
        ([], {"n_folds": 2}, "training.choose", ["last", "last"]),  # a fold has no dev
    ],
)
def test_values_are_read_as_they_are_written(settings, options, name, values):
    trials = plan_trials(FinetuneConfig(), settings, **options)

    assert [attrgetter(name)(trial.config) for trial in trials] == values


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (["head.kin=crf"], {}, "kin: unknown"),
        (["head.kind"], {}, "head.kind"),
        (["head.kind=tree,crf"], {}, "tree"),
        ([], {"seeds": (1, 1)}, "twice"),
        (["optimizer.lr=1e-4,2e-4", "optimizer.lr=1e-3,2e-3"], {}, "given twice"),
        (["optimizer.lr=1e-4,2e-4", "optimizer.lr=1e-3"], {}, "given twice"),
        (["training.seed=4"], {"seeds": (1, 2)}, "given twice"),
        (["training.train_size=50"], {"train_sizes": (10, 20)}, "given twice"),
        (["training.seed=1,2"], {}, "--seeds 1,2,3"),  # seeds are not chosen among
        (["head.kind=softmax,crf", "head.class_weights=inverse"], {}, "trained on whole sentences"),
        ([], {"n_folds": 1}, "two or more"),
        ([], {"n_folds": -2}, "two or more"),
    ],
)
def test_what_is_no_trial_is_an_error(settings, options, message):
    with pytest.raises(ConfigError, match=message):
        plan_trials(FinetuneConfig(), settings, **options)


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
