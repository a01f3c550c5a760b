"""Recipes for pre-training, listed by ``onoma pretrain --list``.

There are the settings that we would choose; NEISS; BERT and its descendants; EntityBERT, its
baselines and its ablations; and ``*_small`` versions for a laptop: 4 layers, 128 wide, minutes.
"""

import math
from functools import partial
from itertools import product

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
from modeling.recipes import Recipes, change

RECIPES: Recipes[PretrainConfig] = Recipes()
recipe = RECIPES.recipe


@RECIPES.listed
def recommended() -> PretrainConfig:
    """Recommended for text without entities: relative positions, whole-word masking, pre-norm.

    Relative positions with whole-word masking were best of all twelve models of NEISS, and next
    sentence and sentence order prediction did harm (their Table 6). Norms stand before attention
    and feed-forward, because such a model trains at a higher learning rate without special care. A
    fifth is masked, because a little more than 15 % costs no accuracy and teaches more with each
    step. Dropout stays, because most wikis are small and are read many times. Eight layers of 512
    fit the amount of text of one language's wiki.
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
        masking=MaskingConfig(unit="word", budget="subwords", ratio=0.2),
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


@RECIPES.listed
def neiss() -> PretrainConfig:
    """NEISS: 6 layers of 512, relative positions, whole-word masking; best of its 12 models."""
    return PretrainConfig(
        encoder=EncoderConfig(
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
        heads=HeadsConfig(tied=False, transform=False, pair_pooling="mean"),
        masking=MaskingConfig(unit="word", budget="bernoulli", draw="unit"),
        data=DataConfig(max_length=322),  # 320 subwords, [CLS] and [SEP]
        optimizer=OptimizerConfig(lr=2.5e-4, eps=1e-7, weight_decay=0.0, clip=None),
        schedule=ScheduleConfig(  # 16, 50 and 50 of 500 epochs, stairs of 3
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
            max_steps=1_041_667,  # 500 epochs of 100,000 samples
            batch_size=48,
            micro_batch_size=48,
            evaluate_every=10_000,
            checkpoint_every=5_000,
            keep_every=100_000,
            log_every=100,
        ),
    )


_ABSOLUTE: dict[str, object] = {"attention": "plain", "positions": "sinusoidal"}
_PAIRS = {"": "", "nsp": ", next sentence prediction", "sop": ", sentence order prediction"}


def _neiss_variant(*, is_absolute: bool, by_subword: bool, pairs: str) -> PretrainConfig:
    config = neiss()
    if is_absolute:
        config = change(config, encoder=_ABSOLUTE)
    if by_subword:
        config = change(config, masking={"unit": "subword"})
    if pairs:
        data = {"pairs": pairs, "max_length": 323}  # 320 subwords, [CLS], 2 [SEP]
        weights = {"subwords": 1.0, "pairs": 1.0}
        config = change(config, data=data, heads={"weights": weights})
    return config


def _list_neiss_variants() -> None:
    """Add the other eleven of the paper's twelve models.

    Their names are ``neiss[_abs][_subwords][_nsp | _sop]``.
    """
    for pairs, is_absolute, by_subword in product(_PAIRS, (False, True), (False, True)):
        positions = "absolute (sinusoidal)" if is_absolute else "relative"
        masking = "subwords masked one by one" if by_subword else "whole-word masking"
        parts = {"neiss": True, "abs": is_absolute, "subwords": by_subword, pairs: bool(pairs)}
        name = "_".join(part for part, is_there in parts.items() if is_there)
        if name not in RECIPES:
            make = partial(
                _neiss_variant, is_absolute=is_absolute, by_subword=by_subword, pairs=pairs
            )
            RECIPES.add(
                name, make, about=f"NEISS: {positions} positions, {masking}{_PAIRS[pairs]}."
            )


_list_neiss_variants()


@RECIPES.listed
def neiss_wwa() -> PretrainConfig:
    """NEISS with whole-word attention: words attend to words, subwords to their neighbours."""
    return change(neiss(), encoder={"attention": "whole_word_relative", "window": 5})


@RECIPES.listed
def neiss_wwa_abs() -> PretrainConfig:
    """Like neiss_wwa, with absolute (sinusoidal) positions."""
    return change(neiss_wwa(), encoder=_ABSOLUTE | {"attention": "whole_word"})


@RECIPES.listed
def bert() -> PretrainConfig:
    """BERT of base size, with whole-word masking and without next sentence prediction."""
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


@RECIPES.listed
def ernie() -> PretrainConfig:
    """ERNIE: like bert, but whole mentions of entities are masked first."""
    return change(bert(), masking={"unit": "entity"})


@RECIPES.listed
def daluke() -> PretrainConfig:
    """DaLUKE: a BERT (--init-from) that also reads entities; frozen for the first half of steps.

    The paper's 378,357 examples are 92.7 steps. Its code drops the last, incomplete step of an
    epoch and makes 92; here the examples that are left make a step too: 93. So 13,800 steps are 148
    epochs.
    """
    config = change(
        bert(),
        encoder={"attention": "entity_aware", "entity_width": 256, "entity_bias": True},
        heads={"weights": {"subwords": 0.5, "entities": 0.5}, "tied": True},
        masking={"unit": "word", "budget": "subwords"},
        optimizer={"lr": 3e-4, "clip": None},
    )
    return change(
        config,
        schedule={"shape": "polynomial", "warmup": 0.06, "end": 0.1, "power": math.sqrt(3)},
        training={
            "max_steps": 13_800,  # 150 epochs of 92 steps
            "batch_size": 4_080,
            "micro_batch_size": 30,
            "frozen": 0.5,
            "evaluate_every": 92,
            "checkpoint_every": 92,
            "keep_every": 460,  # every fifth epoch
            "log_every": 10,
        },
    )


@RECIPES.listed
def recommended_entities() -> PretrainConfig:
    """Recommended for text with entities, on an encoder that exists (--init-from): like daluke.

    Entities start from the subwords of their names, and the states of the encoder are centred: from
    random values, as published, entities are hardly learned in 5,000 steps, and so 55 % of the
    masked ones are right (docs/results.md). Half of the mentions are masked, as they are few.
    """
    return change(
        daluke(),
        masking={"entity_ratio": 0.5},
        optimizer={"lr": 5e-4},
        training={
            "max_steps": 5_000,
            "batch_size": 64,
            "micro_batch_size": 32,
            "entity_start": "names",
            "center": True,
            "evaluate_every": 500,
            "checkpoint_every": 500,
            "keep_every": 0,
        },
    )


@RECIPES.listed
def luke_two_stage() -> PretrainConfig:
    """LUKE: plain attention; new weights are trained first (lr 5e-4), then all weights (lr 1e-5).

    Settings of RoBERTa's base size, for ``--init-from``. Adam is started again for the second part.
    """
    config = change(
        bert(),
        encoder={"n_segments": 1, "norm_eps": 1e-5, "entity_width": 256},
        heads={"weights": {"subwords": 1.0, "entities": 1.0}},
        optimizer={"lr": 5e-4, "unlocked_lr": 1e-5, "clip": None, "bias_correction": False},
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


@RECIPES.listed
def entity_bert() -> PretrainConfig:
    """EntityBERT: a Chinese BERT (--init-from) that also reads the lexicon words of characters.

    Three epochs of the paper's novels (48 million characters), packed. Losses are means,
    masking has no cap of 10, no example is dropped, and the softmax is over all
    entities of the group, which the paper estimates by 5 negatives.
    """
    heads = {"weights": {"subwords": 1.0, "subword_entities": 1.0}, "entity_scope": "group"}
    return change(entity_bert_no_classification(), heads=heads)


@RECIPES.listed
def entity_bert_no_classification() -> PretrainConfig:
    """Like entity_bert, but trained only to predict masked characters, not entities."""  # Table 4
    return change(bert_fur_ent(), encoder={"attention": "char_entity"})


@RECIPES.listed
def entity_bert_sampled() -> PretrainConfig:
    """Like entity_bert, but entities are compared with 5 random others, as in the paper."""
    return change(entity_bert(), masking={"n_negatives": 5})


@RECIPES.listed
def bert_fur_ent() -> PretrainConfig:
    """Baseline BERT+FUR+ENT: like bert_fur, with entities added to embeddings of characters."""
    return change(bert_fur(), encoder={"entities": "subwords"})


@RECIPES.listed
def bert_fur() -> PretrainConfig:
    """Baseline BERT+FUR: a BERT (--init-from), trained like entity_bert without entities."""
    return change(
        bert(),
        encoder={"entity_width": 64},  # for the variants with entities
        masking={"unit": "subword", "budget": "bernoulli", "draw": "subword"},
        data={"max_length": 180},
        optimizer={"lr": 3e-5, "bias_correction": False, "clip": 1.0},
        schedule={"shape": "linear", "warmup": 0.1},
        training={
            "max_steps": 25_000,
            "batch_size": 32,
            "micro_batch_size": 32,
            "seed": 42,
            "evaluate_every": 1_000,
            "checkpoint_every": 1_000,
            "keep_every": 0,
        },
    )


def _small(config: PretrainConfig) -> PretrainConfig:
    """Shrink a recipe to 4 layers of 128, for some thousand steps on a laptop.

    Steps are small, because the loss falls below the unigram baseline only after some hundred of
    them. The optimizer is that of a model that begins with nothing, whatever the recipe has for a
    published encoder. With learned positions, the first layer attends to the neighbours at the
    start, which it would not find in so few steps. There is no dropout, because so short a run sees
    no example twice.
    """
    is_learned = config.encoder.positions == "learned"
    return change(
        config,
        encoder={
            "init": "neighbours" if is_learned else config.encoder.init,
            "width": 128,
            "n_layers": 4,
            "n_heads": 4,
            "inner_width": 512,
            "entity_width": 64,
            "dropout": 0.0,
            "embedding_dropout": 0.0,
            "attention_dropout": 0.0,
        },
        data={"max_length": 128},
        optimizer={"lr": 1e-3, "betas": (0.9, 0.98), "bias_correction": True, "clip": 1.0},
        schedule={"warmup": 0.1},
        training={
            "max_steps": 2_000,
            "batch_size": 32,
            "micro_batch_size": 32,
            "precision": "float32",
            "frozen": 0.0,
            "evaluate_every": 250,
            "evaluate_examples": 200,
            "checkpoint_every": 250,
            "keep_every": 0,
            "log_every": 10,
        },
    )


for _name in (
    "recommended",
    "neiss",
    "neiss_abs_subwords",
    "neiss_nsp",
    "neiss_sop",
    "neiss_wwa",
    "bert",
    "ernie",
    "entity_bert",
    "entity_bert_no_classification",
    "entity_bert_sampled",
    "bert_fur_ent",
    "bert_fur",
):
    RECIPES.add(
        f"{_name}_small",
        lambda name=_name: _small(RECIPES[name]()),  # type: ignore[misc]
        about=f"Like {_name}, for a laptop: 4 layers of 128, 2,000 steps.",
    )


@RECIPES.listed
def daluke_small() -> PretrainConfig:
    """Like daluke, for a laptop: 4 layers of 128, 2,000 steps, from random weights."""
    return _small(daluke())
