"""BERT and what was made of it: ERNIE, DaLUKE, LUKE."""

import math

from modeling.config import (
    EncoderConfig,
    OptimizerConfig,
    PretrainConfig,
    ScheduleConfig,
    TrainingConfig,
)
from modeling.recipes.registry import change, listed


@listed
def bert() -> PretrainConfig:
    """BERT of base size on its masked language model alone, whole words masked."""
    return PretrainConfig(
        encoder=EncoderConfig(
            width=768,
            n_layers=12,
            n_heads=12,
            inner_width=3072,
            n_segments=2,
            attention_dropout=0.1,
        ),
        optimizer=OptimizerConfig(lr=1e-4, clip=1.0),
        schedule=ScheduleConfig(shape="linear", warmup=0.01),
        training=TrainingConfig(
            max_steps=1_000_000,
            batch_size=256,
            micro_batch_size=32,
            evaluate_every=10_000,
            checkpoint_every=5_000,
            keep_every=100_000,
            log_every=100,
        ),
    )


@listed
def ernie() -> PretrainConfig:
    """``bert`` with whole mentions masked first, as ERNIE; it reads no entities."""
    return change(bert(), masking={"unit": "entity"})


@listed
def daluke() -> PretrainConfig:
    """DaLUKE: a BERT (``--init-from``) with entities; frozen for the first half, then trained.

    The paper's 378,357 examples are 92.7 steps. Its code drops the last of an epoch, and makes 92;
    here that is made too, of the examples that are left: 93. 13,800 steps are 148 epochs then.
    """
    config = change(
        bert(),
        encoder={"attention": "entity_aware", "entity_width": 256, "entity_bias": True},  # D-M1..3
        heads={"weights": {"pieces": 0.5, "entities": 0.5}, "tied": True},  # D-T6, B-D12
        masking={"unit": "word", "budget": "pieces"},  # B-D13
        optimizer={"lr": 3e-4, "clip": None},  # D-T2..4
    )
    return change(
        config,
        schedule={"shape": "polynomial", "warmup": 0.06, "end": 0.1, "power": math.sqrt(3)},
        training={
            "max_steps": 13_800,  # D-T1: 150 epochs of 92 steps
            "batch_size": 4_080,
            "micro_batch_size": 30,
            "frozen": 0.5,  # D-M9, B-D1
            "evaluate_every": 92,
            "checkpoint_every": 92,
            "keep_every": 460,  # each fifth epoch
            "log_every": 10,
        },
    )


@listed
def luke_two_stage() -> PretrainConfig:
    """LUKE: plain attention; first what is new alone at 5e-4, then all at 1e-5, Adam begun anew.

    Settings of RoBERTa's base size, for ``--init-from``.
    """
    config = change(
        bert(),
        encoder={"n_segments": 1, "norm_eps": 1e-5, "entity_width": 256},
        heads={"weights": {"pieces": 1.0, "entities": 1.0}},  # L-M3
        optimizer={"lr": 5e-4, "unlocked_lr": 1e-5, "clip": None, "bias_correction": False},  # L-T1
        schedule={"shape": "linear", "warmup": 2_500 / 98_168},
    )
    return change(
        config,
        training={
            "max_steps": 2 * 98_168,
            "batch_size": 2_048,
            "micro_batch_size": 32,
            "frozen": 0.5,
            "checkpoint_every": 1_000,
        },
    )
