"""EntityBERT, its baselines and its ablations: each differs from the next in one setting."""

from modeling.config import (
    PretrainConfig,
)
from modeling.recipes.bert import bert
from modeling.recipes.registry import change, listed


@listed
def entity_bert() -> PretrainConfig:
    """EntityBERT: a BERT (``--init-from``) whose characters know the words of a lexicon.

    Three epochs of the paper's novels (48 million characters), packed. Its losses are means (B-E7),
    masking has no cap of 10 (B-E8), no example is dropped (B-E13), and entities are told apart
    among all of the group, which the paper's 5 negatives estimate (C.13).
    """
    heads = {"weights": {"pieces": 1.0, "piece_entities": 1.0}, "entity_scope": "group"}
    return change(entity_bert_no_classification(), heads=heads)


@listed
def entity_bert_no_classification() -> PretrainConfig:
    """``entity_bert`` with the masked language model alone (Table 4)."""
    return change(bert_fur_ent(), encoder={"attention": "char_entity"})


@listed
def entity_bert_sampled() -> PretrainConfig:
    """``entity_bert`` with 5 negatives from the group, as in the paper; corrected (B-E5)."""
    return change(entity_bert(), masking={"n_negatives": 5})


@listed
def bert_fur_ent() -> PretrainConfig:
    """Baseline BERT+FUR+ENT: ``bert_fur``, entities added to the embeddings of characters."""
    return change(bert_fur(), encoder={"entities": "pieces"})


@listed
def bert_fur() -> PretrainConfig:
    """Baseline BERT+FUR: a BERT (``--init-from``), further trained on the text of ``entity_bert``.

    The settings of EntityBERT (E-T1) without its entities.
    """
    return change(
        bert(),
        encoder={"entity_width": 64},  # E-M2, for those with entities
        masking={"unit": "piece", "budget": "bernoulli", "draw": "piece"},  # E-D10, B-E8
        data={"max_length": 180},  # E-D9
        optimizer={"lr": 3e-5, "bias_correction": False, "clip": 1.0},  # E-T1
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
