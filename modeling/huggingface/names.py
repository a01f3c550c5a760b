"""The names of weights: ours, and those of transformers.

Names of transformers have no prefix of the base model here (``bert.``, ``luke.``, ``roberta.``).
"""

import re
from typing import Final

_EMBEDDINGS: Final = {
    "encoder.embeddings.subwords": "embeddings.word_embeddings",
    "encoder.embeddings.positions.table": "embeddings.position_embeddings",
    "encoder.embeddings.segments": "embeddings.token_type_embeddings",
    "encoder.embeddings.norm": "embeddings.LayerNorm",
    "encoder.entity_embeddings.entities": "entity_embeddings.entity_embeddings",
    "encoder.entity_embeddings.project": "entity_embeddings.entity_embedding_dense",
    "encoder.entity_embeddings.positions": "entity_embeddings.position_embeddings",
    "encoder.entity_embeddings.types": "entity_embeddings.token_type_embeddings",
    "encoder.entity_embeddings.norm": "entity_embeddings.LayerNorm",
}
_LAYER: Final = {
    "attention.query": "attention.self.query",
    "attention.query_to_entities": "attention.self.w2e_query",
    "attention.entity_query_to_words": "attention.self.e2w_query",
    "attention.entity_query": "attention.self.e2e_query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.inner": "intermediate.dense",
    "feed_forward.outer": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}
_DISTIL: Final = {
    "attention.query": "attention.q_lin",
    "attention.key": "attention.k_lin",
    "attention.value": "attention.v_lin",
    "attention.output": "attention.out_lin",
    "attention_norm": "sa_layer_norm",
    "feed_forward.inner": "ffn.lin1",
    "feed_forward.outer": "ffn.lin2",
    "feed_forward_norm": "output_layer_norm",
}
_PAIRS: Final = {"heads.pairs.pooler": "pooler.dense"}
_BERT: Final = {
    "heads.subwords.transform.dense": "cls.predictions.transform.dense",
    "heads.subwords.transform.norm": "cls.predictions.transform.LayerNorm",
    "heads.subwords.matrix": "cls.predictions.decoder",
    "heads.subwords": "cls.predictions",
    "heads.pairs.classifier": "cls.seq_relationship",
}
_LUKE: Final = {
    "heads.subwords.transform.dense": "lm_head.dense",
    "heads.subwords.transform.norm": "lm_head.layer_norm",
    "heads.subwords.matrix": "lm_head.decoder",
    "heads.subwords": "lm_head",
    "heads.entities.transform.dense": "entity_predictions.transform.dense",
    "heads.entities.transform.norm": "entity_predictions.transform.LayerNorm",
    "heads.entities": "entity_predictions",
}
_LAYER_NAME: Final = re.compile(r"encoder\.encoder\.layers\.(\d+)\.(.+)")
_ROBERTAS: Final = ("roberta", "xlm-roberta", "camembert")
_NAMES: Final = {
    "bert": _EMBEDDINGS | _PAIRS | _BERT,
    **dict.fromkeys(("luke", *_ROBERTAS), _EMBEDDINGS | _PAIRS | _LUKE),
    **dict.fromkeys(("electra", "distilbert"), _EMBEDDINGS),
}
"""The names of modules, by ``model_type``. Of ELECTRA and DistilBERT only the encoder is read;
weights of their heads count as unused."""
_LAYERS: Final = {"distilbert": ("transformer", _DISTIL)}
"""The model types whose layers have other names than BERT's."""
PREFIXES: Final = {
    "bert": "bert.",
    "luke": "luke.",
    **dict.fromkeys(_ROBERTAS, "roberta."),
    "electra": "electra.",
    "distilbert": "distilbert.",
}
"""The prefix of the base model, by ``model_type``."""
HEADS: Final = ("cls.", "lm_head.", "entity_predictions.")
"""Beginnings of the names of heads, which have no such prefix."""
BUFFERS: Final = re.compile(r"(?:entity_)?embeddings\.(?:position|token_type)_ids")
"""Buffers that older versions of transformers saved with the weights."""

EMBEDDING, POSITIONS = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
SEGMENTS: Final = "embeddings.token_type_embeddings.weight"
ENTITIES: Final = "entity_embeddings.entity_embeddings.weight"
ENTITY_POSITIONS: Final = "entity_embeddings.position_embeddings.weight"
ENTITY_TYPES: Final = "entity_embeddings.token_type_embeddings.weight"
ENTITY_DECODER: Final = "entity_predictions.decoder.weight"
PAIRS: Final = ("cls.seq_relationship.weight", "cls.seq_relationship.bias")
POOLER: Final = ("pooler.dense.weight", "pooler.dense.bias")
QUERIES: Final = (
    "attention.query_to_entities",
    "attention.entity_query_to_words",
    "attention.entity_query",
)
"""Our names of the queries that entity-aware attention has in addition to plain attention."""
QUERY: Final = "attention.query"


def subword_head(model_type: str) -> str:
    """Return transformers' name of the module that predicts subwords; empty if it is not read."""
    return _NAMES[model_type].get("heads.subwords", "")


def their_name(name: str, model_type: str) -> str | None:
    """Return transformers' name for a weight of ours; None if it has no such weight."""
    module, _, kind = name.rpartition(".")
    if layer := _LAYER_NAME.fullmatch(module):
        number, part = layer.groups()
        where, parts = _LAYERS.get(model_type, ("encoder", _LAYER))
        found = parts.get(part)
        return found and f"{where}.layer.{number}.{found}.{kind}"
    found = _NAMES[model_type].get(module)
    return found and f"{found}.{kind}"


def plain_query(name: str) -> str | None:
    """Return the plain query that a query of entity-aware attention is copied from, or None."""
    for query in QUERIES:
        layer, found, kind = name.partition(f"{query}.")
        if found:
            return f"{layer}{QUERY}.{kind}"
    return None


def our_form(name: str, model_type: str) -> str:
    """Remove the prefix from transformers' name of a weight, and apply ``new_form``."""
    return new_form(name.removeprefix(PREFIXES[model_type]))


def new_form(name: str) -> str:
    """Replace TensorFlow's names for the weights of norms, ``gamma`` and ``beta``."""
    return re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", name))
