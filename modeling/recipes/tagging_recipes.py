"""Recipes for taggers, listed by ``onoma finetune --list``.

Each function returns settings. A recipe with the name of a published system has its numbers,
and follows the paper where the code differs.
"""

from functools import partial
from typing import get_args

from modeling.config import ConfigError, OptimizerConfig, ScheduleConfig
from modeling.recipes import Recipes, change
from modeling.recipes.pretraining_recipes import RECIPES as ENCODERS
from modeling.tagging_config import (
    HEADS,
    FinetuneConfig,
    FinetuningConfig,
    HeadConfig,
    HeadKind,
    SentencesConfig,
)


class _TaggerRecipes(Recipes[FinetuneConfig]):
    def recipe(self, name: str) -> FinetuneConfig:
        """Return the settings of a recipe; the name of one for encoders is answered with others."""
        if name in ENCODERS and name not in self:
            kind = "crf_small" if name.endswith("_small") else "crf"
            raise ConfigError(
                f"{name} is a recipe for encoders. Make one with onoma pretrain {name}, and a "
                f"tagger of it with onoma finetune {kind} --model RUN; for taggers there are "
                f"{', '.join(self)}."
            )
        return super().recipe(name)


RECIPES = _TaggerRecipes()
recipe = RECIPES.recipe


def _of_head(kind: HeadKind) -> FinetuneConfig:
    """Return the settings we recommend: warm-up and linear decay, the best of ten epochs.

    The head, which is new, learns at ten times the rate of the encoder (docs/results.md).
    """
    return FinetuneConfig(
        head=HeadConfig(kind=kind, dropout=0.1, max_span_subwords=0 if kind == "span" else 16),
        optimizer=OptimizerConfig(lr=5e-5, betas=(0.9, 0.98), weight_decay=0.01, clip=1.0),
        schedule=ScheduleConfig(shape="linear", warmup=0.1),
        training=FinetuningConfig(epochs=10, batch_size=16, head_lr_ratio=10),
    )


for _kind in get_args(HeadKind):
    RECIPES.add(_kind, partial(_of_head, _kind), about=HEADS[_kind].about)


def _small(kind: HeadKind) -> FinetuneConfig:
    """Return settings for encoders of 4 layers of 128, which need a higher learning rate."""
    return change(_of_head(kind), optimizer={"lr": 5e-4}, training={"head_lr_ratio": 1})


for _kind in get_args(HeadKind):
    RECIPES.add(
        f"{_kind}_small",
        partial(_small, _kind),
        about=f"Like {_kind}, with a higher learning rate for a small encoder (4 layers of 128).",
    )


@RECIPES.listed
def neiss() -> FinetuneConfig:
    """NEISS: crf_ner head, 30 epochs of 5,000 sentences, stepwise lr, averaged weights."""
    return FinetuneConfig(
        head=HeadConfig(kind="crf_ner", decoder="fix"),
        optimizer=OptimizerConfig(lr=5e-5, eps=1e-7, weight_decay=0.0, clip=None, ema=0.99),
        schedule=ScheduleConfig(  # x 0.99 every 3 of 30 epochs
            shape="constant_cosine", warmup=0.0, constant=0.0, cosine=0.0, decay=0.99, stair=0.1
        ),
        training=FinetuningConfig(epochs=30, samples=5_000, batch_size=16),
    )


@RECIPES.listed
def luke() -> FinetuneConfig:
    """LUKE: span head, sentences with the text around them, 5 epochs, batches of 8."""
    return FinetuneConfig(
        head=HeadConfig(
            kind="span",
            span_features="both",
            decoder="greedy",
            dropout=0.1,
            span_reading="joint",
            max_candidates=0.0,
        ),
        data=SentencesConfig(context="document"),
        optimizer=OptimizerConfig(
            lr=1e-5, betas=(0.9, 0.98), weight_decay=0.01, clip=None, bias_correction=False
        ),
        schedule=ScheduleConfig(shape="linear", warmup=0.06),
        training=FinetuningConfig(epochs=5, batch_size=8),
    )


@RECIPES.listed
def daluke() -> FinetuneConfig:
    """DaLUKE: span head, single sentences, 15 epochs, batches of 8."""
    return change(
        luke(),
        head={"dropout": 0.025},
        data={"context": "none"},
        optimizer={"lr": 5e-5},
        training={"epochs": 15},
    )


@RECIPES.listed
def entity_bert() -> FinetuneConfig:
    """EntityBERT: softmax head, 10 epochs, batches of 32, constant learning rate."""
    return FinetuneConfig(
        head=HeadConfig(kind="softmax", decoder="free"),
        optimizer=OptimizerConfig(lr=5e-5, weight_decay=0.0, clip=None, eps=1e-8),
        schedule=ScheduleConfig(shape="constant", warmup=0.0),
        training=FinetuningConfig(epochs=10, batch_size=32),
    )
