"""``…_small``: the same for a laptop."""

from modeling.config import (
    PretrainConfig,
)
from modeling.recipes.bert import daluke
from modeling.recipes.registry import RECIPES, change, list_recipe, listed


def _small(config: PretrainConfig, *, lr: float = 1e-3) -> PretrainConfig:
    """The same at 4 layers of 128, for some thousand steps on a laptop.

    Small steps, and no dropout: so short a run leaves the unigram's loss after some hundred steps,
    and sees no example twice.
    """
    return change(
        config,
        encoder={
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
        optimizer={"lr": lr},
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
    "neiss_abs_pieces",
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
    list_recipe(
        f"{_name}_small",
        lambda name=_name: _small(RECIPES[name]()),  # type: ignore[misc]
        about=f"``{_name}`` for a laptop.",
    )


@listed
def daluke_small() -> PretrainConfig:
    """``daluke`` for a laptop, from nothing: nothing is frozen."""
    return _small(daluke())
