"""Encoders that the library transformers runs.

DeBERTa, ModernBERT and others have kinds of attention that this project does not implement. The
library runs them, with their weights, on our batches; inputs and outputs are rows without padding.
Such encoders are for taggers and vectors; pre-training can only continue from our own encoders.

Shapes: T subwords, B sequences of at most N, D width.
"""

import json
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from corpora.system.parsing import parse_json
from modeling.config import ConfigError, EncoderConfig
from modeling.data.batch import Batch
from modeling.models.text_encoder import Encoded, TextEncoder

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

TYPES: Final = (
    "albert",
    "bert",
    "camembert",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "modernbert",
    "mpnet",
    "rembert",
    "roberta",
    "xlm-roberta",
)
"""The values of ``model_type`` that are accepted; deberta-v2 includes DeBERTa-v3. Models like BERT
come here only if their activation is not one of ours, or if they are decoders, ELECTRA models also
if their embeddings have another width than their layers; otherwise our own encoder runs them."""
_LEFT_OUT: Final = frozenset(
    {"_attn_implementation", "attn_implementation", "auto_map", "dtype", "torch_dtype"}
)
"""Settings that are removed: they have no effect on a model in float32 that the library runs."""
_AFTER_PADDING: Final = frozenset({"camembert", "mpnet", "roberta", "xlm-roberta"})
"""The model types in which the first position is the id of [PAD] plus 1."""


_SIZES: Final = {
    "n_subwords": "vocab_size",
    "width": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "inner_width": "intermediate_size",
}
"""The names of sizes: ours, and those of transformers."""


class ForeignEncoder(TextEncoder):
    """A model of transformers, with the interface of our own encoders; it reads no entities."""

    def __init__(self, config: EncoderConfig) -> None:
        """Build the model, weights still to be read; ``ConfigError`` if ``foreign`` is damaged."""
        torch.nn.Module.__init__(self)
        self.entity_embeddings = None
        self.model = build_model(config)

    def forward(self, batch: Batch) -> Encoded:
        """Encode the subwords of a batch, (T, D)."""
        layout = batch.rows.subwords
        mask = torch.ones_like(batch.subwords)
        segments = None if batch.segments is None else layout.pad(batch.segments)
        named = {} if segments is None else {"token_type_ids": segments}
        states: Tensor = self.model(
            input_ids=layout.pad(batch.subwords), attention_mask=layout.pad(mask), **named
        ).last_hidden_state
        return Encoded(states.flatten(0, 1).index_select(0, layout.index), None)


def build_model(config: EncoderConfig) -> "PreTrainedModel":
    """Build the model of transformers, without heads.

    The class is one of the library's: code that came with a model is never run. Raises
    ``ConfigError`` where the settings contradict each other, or transformers rejects them.
    """
    from transformers import AutoModel  # noqa: PLC0415 - 200 MB, for other encoders in vain
    from transformers.initialization import no_init_weights  # noqa: PLC0415

    theirs = read_settings(config.foreign)
    ours, sizes = {name: getattr(config, name) for name in _SIZES}, _sizes(theirs)
    if ours != sizes:
        raise ConfigError(
            f"encoder.foreign says {sizes}, encoder {ours}: they are not of one model. Copy the "
            "folder again."
        )
    try:
        with no_init_weights():  # all weights are read from a file afterwards
            model: PreTrainedModel = AutoModel.from_config(  # type: ignore[no-untyped-call]
                theirs, dtype=torch.float32
            )
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise ConfigError(
            f"encoder.foreign: transformers builds no model of it ({error!r}). Copy the folder "
            "again."
        ) from error
    for name in ("pooler", "pooler_activation"):
        if getattr(model, name, None) is not None:
            setattr(model, name, None)
    return model


def count_values(config: EncoderConfig) -> int:
    """Count the values of the weights of a model, without taking memory for them."""
    with torch.device("meta"):
        return sum(weights.numel() for weights in build_model(config).parameters())


def encoder_config(values: dict[str, object]) -> EncoderConfig:
    """Convert the ``config.json`` of a model of transformers to our settings.

    Raises ``ConfigError`` for relative positions that transformers no longer computes.
    """
    kind = values.get("position_embedding_type", "absolute")
    if kind != "absolute":
        raise ConfigError(
            f"config.json: position_embedding_type is {kind!r}, which transformers has no more; it "
            "would leave these weights out. Take a model with absolute positions, or a DeBERTa."
        )
    kept = {name: value for name, value in values.items() if name not in _LEFT_OUT}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False)
    theirs = read_settings(text)
    first = int(theirs.pad_token_id or 0) + 1 if theirs.model_type in _AFTER_PADDING else 0
    n_positions = theirs.max_position_embeddings - first
    positions = "learned" if _has_table(theirs) else "none"
    settings = {"foreign": text, "max_positions": n_positions, "positions": positions}
    return EncoderConfig.from_json({**_sizes(theirs), **settings})


def _has_table(theirs: "PretrainedConfig") -> bool:
    """Tell whether a model has a vector for each position, and so a longest sequence."""
    return theirs.model_type != "modernbert" and getattr(theirs, "position_biased_input", True)


def read_settings(text: str) -> "PretrainedConfig":
    """Read settings of transformers (``encoder.foreign``); ``ConfigError`` if they are damaged."""
    from transformers import CONFIG_MAPPING  # noqa: PLC0415 - slow

    try:
        values = dict(parse_json(text))
        kind = values.get("model_type")
        if kind not in TYPES:
            raise ConfigError(f"encoder.foreign: model_type {kind!r} is none of {', '.join(TYPES)}")
        return CONFIG_MAPPING[kind].from_dict(values)
    except ConfigError:
        raise
    except settings_errors() as error:
        raise ConfigError(f"encoder.foreign: damaged ({error}). Copy the folder again.") from error


def settings_errors() -> tuple[type[Exception], ...]:
    """Return the errors that transformers raises for settings of a wrong type."""
    from huggingface_hub.errors import StrictDataclassError  # noqa: PLC0415 - a tenth of a second

    return ValueError, TypeError, AttributeError, StrictDataclassError


def _sizes(theirs: "PretrainedConfig") -> dict[str, int]:
    """Look up the sizes in settings of transformers, by our names."""
    inner = {"inner_width": "hidden_dim"} if theirs.model_type == "distilbert" else {}
    return {ours: getattr(theirs, name) for ours, name in (_SIZES | inner).items()}
