"""Conversion between our settings and those of transformers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from corpora.system.parsing import parse_json
from modeling.config import ConfigError, EncoderConfig, HeadsConfig, PretrainConfig
from modeling.models import foreign
from modeling.models.weights import WeightsError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

Settings = dict[str, object]
"""The content of a ``config.json``; its fields depend on the kind of model."""
FILE: Final = "config.json"
_TYPES: Final = ("bert", "camembert", "distilbert", "electra", "luke", "roberta", "xlm-roberta")
_FROM_ZERO: Final = ("bert", "electra", "distilbert")
_ACTIVATIONS: Final = ("gelu", "relu")


def read_json(folder: Path) -> Settings:
    """Read the settings in a folder.

    Raises ``WeightsError`` if they are missing or damaged, or of a model with quantized weights.
    """
    try:
        values = dict(parse_json((folder / FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise WeightsError(f"{folder / FILE}: no such file. Name the folder of a model.") from None
    except (ValueError, TypeError) as error:
        raise WeightsError(f"{folder / FILE}: damaged ({error}). Get the model again.") from error
    if values.get("quantization_config"):
        raise WeightsError(
            f"{folder / FILE}: the weights are quantized (quantization_config), which is not read. "
            "Take the model that they were made from."
        )
    return values


def is_foreign(values: Settings) -> bool:
    """Tell whether transformers has to run a model, because its layers are not ours.

    Those of a decoder are not: each subword sees only those before it.
    """
    kind = values.get("model_type")
    if kind not in foreign.TYPES:
        return False
    activation = values.get("activation" if kind == "distilbert" else "hidden_act", "gelu")
    if kind not in _TYPES or activation not in _ACTIVATIONS or values.get("is_decoder"):
        return True
    return kind == "electra" and _is_factored(values)


def _is_factored(values: Settings) -> bool:
    from transformers import ElectraConfig  # noqa: PLC0415 - slow

    theirs = ElectraConfig()
    width = values.get("hidden_size", theirs.hidden_size)
    return bool(values.get("embedding_size", theirs.embedding_size) != width)


def to_config(values: Settings, *, where: object) -> "PretrainedConfig":
    """Convert settings to a class of transformers, with defaults filled in.

    Raises ``WeightsError`` for models that are not read.
    """
    model_type = values.get("model_type")
    if model_type not in _TYPES:
        known = ", ".join(sorted({*_TYPES, *foreign.TYPES}))
        raise WeightsError(
            f"{where}: model_type is {model_type!r}; what can be read is {known}. Take one of "
            "these: XLM-RoBERTa, mDeBERTa (deberta-v2) and mmBERT (modernbert) are for a hundred "
            "languages and more."
        )
    from transformers import CONFIG_MAPPING  # noqa: PLC0415 - slow

    try:
        config: PretrainedConfig = CONFIG_MAPPING[model_type].from_dict(values)
    except foreign.settings_errors() as error:
        raise WeightsError(f"{where}: {FILE} is damaged ({error}). Get the model again.") from error
    kind = values.get("position_embedding_type", "absolute")
    activation = config.activation if model_type == "distilbert" else config.hidden_act
    if kind != "absolute" or activation not in _ACTIVATIONS:
        raise WeightsError(
            f"{where}: has the activation {activation} and {kind} positions; what can be "
            f"read is {' or '.join(_ACTIVATIONS)}, and absolute."
        )
    return config


def first_position(config: "PretrainedConfig") -> int:
    """Return the row of position 0 in the table of transformers.

    In RoBERTa and the models derived from it, positions begin after the id of [PAD].
    """
    return 0 if config.model_type in _FROM_ZERO else int(config.pad_token_id or 0) + 1


def read_encoder_config(config: "PretrainedConfig") -> EncoderConfig:
    """Convert transformers' settings of an encoder to ours."""
    is_luke = config.model_type == "luke"
    is_entity_aware = is_luke and config.use_entity_aware_attention
    is_distil = config.model_type == "distilbert"
    dropout = float(config.dropout if is_distil else config.hidden_dropout_prob)
    return EncoderConfig(
        n_subwords=config.vocab_size,
        n_entities=config.entity_vocab_size if is_luke else 0,
        width=config.hidden_size,
        n_layers=config.num_hidden_layers,
        n_heads=config.num_attention_heads,
        inner_width=config.hidden_dim if is_distil else config.intermediate_size,
        attention="entity_aware" if is_entity_aware else "plain",
        positions="learned",
        max_positions=config.max_position_embeddings - first_position(config),
        entity_width=config.entity_emb_size if is_luke else EncoderConfig.entity_width,
        n_segments=0 if is_distil else config.type_vocab_size,
        norm_eps=EncoderConfig.norm_eps if is_distil else config.layer_norm_eps,
        activation=config.activation if is_distil else config.hidden_act,
        dropout=dropout,
        embedding_dropout=dropout,
        attention_dropout=float(
            config.attention_dropout if is_distil else config.attention_probs_dropout_prob
        ),
    )


def make_config(config: PretrainConfig, *, pad: int, has_heads: bool) -> "PretrainedConfig":
    """Convert our settings to transformers'; raise ``ConfigError`` if it has no such model."""
    from transformers import BertConfig, LukeConfig  # noqa: PLC0415 - slow

    encoder, heads = config.encoder, config.heads
    if encoder.foreign:
        raise ConfigError(
            "transformers itself runs this encoder: there is nothing to export. Use the folder "
            "that it was read from."
        )
    model_type = "luke" if encoder.n_entities else "bert"
    if problems := _encoder_problems(encoder):
        raise ConfigError(f"transformers has no model with {', '.join(problems)}: no export.")
    if has_heads and (problems := _head_problems(heads, encoder)):
        raise ConfigError(
            f"transformers has no such model: {', '.join(problems)}. Export the "
            "encoder alone: --without-heads."
        )
    shared: dict[str, Any] = {  # Any: arguments of two classes
        "architectures": [_architecture(heads, model_type) if has_heads else _BASE[model_type]],
        "vocab_size": encoder.n_subwords,
        "hidden_size": encoder.width,
        "num_hidden_layers": encoder.n_layers,
        "num_attention_heads": encoder.n_heads,
        "intermediate_size": encoder.inner_width,
        "hidden_act": encoder.activation,
        "hidden_dropout_prob": encoder.dropout,
        "attention_probs_dropout_prob": encoder.attention_dropout,
        "type_vocab_size": encoder.n_segments or 2,
        "layer_norm_eps": encoder.norm_eps,
        "pad_token_id": pad,
        "dtype": "float32",
    }
    if model_type == "bert":
        is_tied = heads.tied or not has_heads
        shared |= {"max_position_embeddings": encoder.max_positions}
        return BertConfig(**shared, tie_word_embeddings=is_tied)
    return LukeConfig(
        **shared,
        max_position_embeddings=encoder.max_positions + pad + 1,
        entity_vocab_size=encoder.n_entities,
        entity_emb_size=encoder.entity_width,
        use_entity_aware_attention=encoder.attention == "entity_aware",
    )


_BASE: Final = {"bert": "BertModel", "luke": "LukeModel"}


def _architecture(heads: HeadsConfig, model_type: str) -> str:
    if model_type == "luke":
        return "LukeForMaskedLM"
    return "BertForPreTraining" if "pairs" in heads.weights else "BertForMaskedLM"


def _encoder_problems(encoder: EncoderConfig) -> list[str]:
    wrong = {
        f"attention={encoder.attention}": encoder.attention not in {"plain", "entity_aware"},
        f"entities={encoder.entities}": encoder.entities != "mentions",
        f"positions={encoder.positions}": encoder.positions == "none",
        f"norm={encoder.norm}": encoder.norm != "post",
        "embedding_norm=false": not encoder.embedding_norm,
        "scale_embeddings=true": encoder.scale_embeddings,
    }
    return [f"encoder.{name}" for name, is_wrong in wrong.items() if is_wrong]


def _head_problems(heads: HeadsConfig, encoder: EncoderConfig) -> list[str]:
    objectives = set(heads.weights)
    is_luke = encoder.n_entities > 0
    wrong = {
        "heads.transform=false": not heads.transform,
        "heads.pair_pooling=mean": "pairs" in objectives and heads.pair_pooling == "mean",
        "no head for subwords": "subwords" not in objectives,
        "mentions and no head for entities": is_luke and "entities" not in objectives,
        "mentions and a head for pairs": is_luke and "pairs" in objectives,
        "mentions and encoder.activation=relu": is_luke and encoder.activation != "gelu",
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]
