"""What we would choose, and NEISS: encoders of words alone, without entities."""

from functools import partial
from itertools import product
from typing import Any

from modeling.config import (
    DataConfig,
    EncoderConfig,
    HeadsConfig,
    MaskingConfig,
    OptimizerConfig,
    PretrainConfig,
    ScheduleConfig,
    TrainingConfig,
)
from modeling.recipes.registry import RECIPES, change, list_recipe, listed


@listed
def recommended() -> PretrainConfig:
    """What we would choose today for text without entities: relative, whole words, pre-norm.

    Relative positions with whole-word masking were best of all twelve models of NEISS, and next
    sentence and sentence order prediction did harm (their Table 6). Norms stand before attention
    and feed-forward, for this trains at a higher rate without care; a fifth is masked, for a little
    more than 15 % costs no accuracy and teaches more with each step. Dropout stays, for most wikis
    are small and are read many times. Eight layers of 512 fit the text that a language's wiki has.
    """
    return PretrainConfig(
        encoder=EncoderConfig(
            width=512,
            n_layers=8,
            n_heads=8,
            inner_width=2048,
            attention="relative",
            positions="none",
            norm="pre",
            norm_eps=1e-6,
        ),
        masking=MaskingConfig(unit="word", budget="pieces", share=0.2),
        optimizer=OptimizerConfig(lr=5e-4, betas=(0.9, 0.98), clip=1.0),
        schedule=ScheduleConfig(shape="linear", warmup=0.06),
        training=TrainingConfig(
            max_steps=100_000,
            batch_size=256,
            micro_batch_size=64,
            precision="bfloat16",
            evaluate_every=1_000,
            checkpoint_every=1_000,
            keep_every=20_000,
        ),
    )


@listed
def neiss() -> PretrainConfig:
    """NEISS: 6 layers of 512, relative positions, whole-word masking: the best of its twelve."""
    return PretrainConfig(
        encoder=EncoderConfig(  # N-M1, N-M3
            width=512,
            n_layers=6,
            n_heads=8,
            inner_width=2048,
            attention="relative",
            positions="none",
            clip=16,
            norm="post",
            norm_eps=1e-6,
            embedding_norm=False,
            scale_embeddings=True,
            activation="relu",
            dropout=0.1,
            embedding_dropout=0.0,
            init="keras",
        ),
        heads=HeadsConfig(tied=False, transform=False, pair_pooling="mean"),  # N-M5, B-N13
        masking=MaskingConfig(unit="word", budget="bernoulli", draw="unit"),  # N-D7, B-N3
        data=DataConfig(max_length=322),  # 320 and [CLS], [SEP]
        optimizer=OptimizerConfig(lr=2.5e-4, eps=1e-7, weight_decay=0.0, clip=None),  # N-T6
        schedule=ScheduleConfig(  # N-T6: 16, 50 and 50 of 500 epochs, stairs of 3
            shape="constant_cosine",
            warmup=0.032,
            start=0.1,
            end=0.01,
            constant=0.1,
            cosine=0.1,
            decay=0.99,
            stair=0.006,
        ),
        training=TrainingConfig(
            max_steps=1_041_667,  # N-T1: 500 epochs of 100,000 samples
            batch_size=48,
            micro_batch_size=48,
            evaluate_every=10_000,
            checkpoint_every=5_000,
            keep_every=100_000,
            log_every=100,
        ),
    )


_ABSOLUTE: dict[str, Any] = {"attention": "plain", "positions": "sinusoidal"}  # N-M2
_PAIRS = {"": "", "nsp": ", next sentence prediction", "sop": ", sentence order prediction"}


def _neiss_variant(*, is_absolute: bool, by_piece: bool, pairs: str) -> PretrainConfig:
    config = neiss()
    if is_absolute:
        config = change(config, encoder=_ABSOLUTE)
    if by_piece:
        config = change(config, masking={"unit": "piece"})
    if pairs:
        data = {"pairs": pairs, "max_length": 323}  # 320 and [CLS], [SEP], [SEP]: C.9
        weights = {"pieces": 1.0, "pairs": 1.0}
        config = change(config, data=data, heads={"weights": weights})
    return config


def _list_neiss_variants() -> None:
    """The other eleven of the paper's twelve: ``neiss[_abs][_pieces][_nsp | _sop]`` (N-D8)."""
    for pairs, is_absolute, by_piece in product(_PAIRS, (False, True), (False, True)):
        positions = "absolute (sinusoidal)" if is_absolute else "relative"
        masking = "pieces masked one by one" if by_piece else "whole-word masking"
        parts = {"neiss": True, "abs": is_absolute, "pieces": by_piece, pairs: bool(pairs)}
        name = "_".join(part for part, is_there in parts.items() if is_there)
        if name not in RECIPES:
            make = partial(_neiss_variant, is_absolute=is_absolute, by_piece=by_piece, pairs=pairs)
            list_recipe(
                name, make, about=f"NEISS: {positions} positions, {masking}{_PAIRS[pairs]}."
            )


_list_neiss_variants()


@listed
def neiss_wwa() -> PretrainConfig:
    """NEISS with whole-word attention: words attend to words, pieces to their neighbours."""
    return change(neiss(), encoder={"attention": "whole_word_relative", "window": 5})  # N-M4


@listed
def neiss_wwa_abs() -> PretrainConfig:
    """``neiss_wwa`` with absolute positions."""
    return change(neiss_wwa(), encoder=_ABSOLUTE | {"attention": "whole_word"})
