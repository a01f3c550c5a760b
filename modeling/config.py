"""Settings: frozen, documented, saved beside every checkpoint, overridden by name.

``Config`` is what they share; the settings of a run are ``PretrainConfig``. Layers never see one.
"""

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from corpora.system.parsing import parse_json, read_json

_C = TypeVar("_C", bound="Config")
_RENAMED = {
    "share": "ratio",
    "entity_share": "entity_ratio",
    "chain_init": "crf_init",
    "n_pieces": "n_subwords",
    "max_span_pieces": "max_span_subwords",
}
"""Earlier names of settings: read from files, and refused with the new name on command lines."""


class ConfigError(ValueError):
    """The error for a setting that does not exist, or whose value is not allowed."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The base class of settings.

    A subclass is a frozen dataclass of numbers, strings, tuples, mappings and other settings.
    """

    def to_json(self) -> Any:  # Any: an object, of the shape of the class
        """Convert the settings to plain values for a JSON file."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> Self:
        """Make settings from the values that ``to_json`` returns.

        Earlier names of settings (``_RENAMED``) are accepted. Raises ``ConfigError`` for an unknown
        name or a value of another type.
        """
        hints = get_type_hints(cls)
        values = {n if n in hints else _RENAMED.get(n, n): v for n, v in values.items()}
        for name in values:
            if name not in hints:
                raise ConfigError(_unknown(cls, name, hints))
        checked = {n: _checked(v, hints[n], where=f"{cls.__name__}.{n}") for n, v in values.items()}
        return cls(**checked)

    def save(self, path: Path) -> None:
        """Write the settings to a JSON file."""
        path.write_text(json.dumps(self.to_json(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the settings that ``save`` wrote."""
        return cls.from_json(read_json(path))

    def override(self, settings: Sequence[str]) -> Self:
        """Apply settings like ``optimizer.lr=1e-4``; a value is read as JSON, or else as a string.

        Raises ``ConfigError`` for a wrong value or an unknown name; the message then lists the
        names there are.
        """
        changed = self
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals:
                raise ConfigError(f"--set {setting}: expected NAME=VALUE, as optimizer.lr=1e-4.")
            changed = _replaced(changed, name.strip().split("."), _parse(value.strip()))
        return changed


def _parse(text: str) -> object:
    try:
        return parse_json(text)
    except ValueError:
        return text


def _replaced(config: _C, path: Sequence[str], value: object) -> _C:
    hints = get_type_hints(type(config))
    name, *rest = path
    if name not in hints:
        raise ConfigError(_unknown(type(config), name, hints))
    if rest:
        inner = getattr(config, name)
        if isinstance(inner, Config):
            return replace(config, **{name: _replaced(inner, rest, value)})
        if not isinstance(inner, Mapping):
            raise ConfigError(f"{name} has no settings inside; set {name}=VALUE.")
        value = {**inner, ".".join(rest): value}
    where = f"{type(config).__name__}.{name}"
    return replace(config, **{name: _checked(value, hints[name], where=where)})


def _unknown(cls: type, name: str, hints: Collection[str]) -> str:
    if _RENAMED.get(name) in hints:
        return f"{cls.__name__}.{name} was renamed to {_RENAMED[name]}."
    return f"{cls.__name__} has no setting {name!r}; it has {', '.join(hints)}."


def _checked(value: object, hint: object, *, where: str) -> object:
    """Return the value converted to the type ``hint``; raise ``ConfigError`` if it does not fit."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        [hint] = [argument for argument in arguments if argument is not NoneType]
        return _checked(value, hint, where=where)
    if origin is Literal:
        if value in arguments:
            return value
        raise ConfigError(f"{where}: {value!r} is none of {', '.join(map(str, arguments))}.")
    if origin is tuple and isinstance(value, list | tuple):
        inner = arguments[0]
        return tuple(_checked(item, inner, where=where) for item in value)
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return {key: _checked(item, arguments[1], where=where) for key, item in value.items()}
    if isinstance(hint, type) and is_dataclass(hint) and issubclass(hint, Config):
        if isinstance(value, hint):
            return value
        if isinstance(value, Mapping):
            return hint.from_json(value)
    if (hint is bool and isinstance(value, bool)) or (hint is str and isinstance(value, str)):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and _fits(value, hint):
        return int(value) if hint is int else float(value)
    expected = getattr(hint, "__name__", hint)
    raise ConfigError(f"{where}: {value!r} is no {expected}.")


def _fits(value: float, hint: object) -> bool:
    is_finite = abs(value) <= sys.float_info.max  # False for NaN, too
    return is_finite and (hint is float or (hint is int and int(value) == value))


_MOST: Mapping[str, int] = {
    "n_subwords": 1 << 27,
    "n_entities": 1 << 31,
    "n_segments": 1 << 16,
    "n_layers": 1_000,
    "n_heads": 1 << 12,
    "width": 1 << 16,
    "inner_width": 1 << 20,
    "entity_width": 1 << 16,
    "max_positions": 1 << 20,
    "clip": 1 << 16,
    "window": 1 << 16,
}
"""Sizes of an encoder beyond which settings are damaged: a model is made before it is trained."""


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(Config):
    """The settings of an encoder."""

    n_subwords: int = 0
    """Size of the tokenizer; 0: filled in from the examples."""
    n_entities: int = 0
    """Rows of the entity vocabulary; 0: the encoder reads no entities."""
    entities: Literal["mentions", "subwords"] = "mentions"
    """What knows entities: mentions, which are rows of their own after the subwords (LUKE); or the
    subwords of mentions (EntityBERT), in the keys and values of every layer (``char_entity``), or
    with any other attention, once: added to the embeddings of subwords."""
    width: int = 256
    n_layers: int = 4
    n_heads: int = 4
    inner_width: int = 1024
    """Of the feed-forward layers."""
    attention: Literal[
        "plain", "relative", "whole_word", "whole_word_relative", "entity_aware", "char_entity"
    ] = "plain"
    positions: Literal["learned", "sinusoidal", "none"] = "learned"
    """What is added to the embeddings; ``none`` for relative attention."""
    max_positions: int = 512
    """Longest sequence of learned positions, [CLS] and [SEP] included."""
    clip: int = 16
    """τ, the clipping distance of relative positions (Shaw et al. 2018; B-N15)."""
    window: int = 5
    """ω, subwords to each side that whole-word attention sees (NEISS paper, section 5)."""
    entity_width: int = 256
    """Of an entity's embedding, before it is projected to ``width``."""
    entity_bias: bool = False
    """Whether that projection has a bias (DaLUKE has, LUKE has not: B-D12); of mentions."""
    entity_scale: float = 0.5
    """λ of ``char_entity``: ratio of the entity in keys and values of a subword with one."""
    n_segments: int = 0
    """Rows of the segment embedding; 0: none."""
    norm: Literal["post", "pre"] = "post"
    norm_eps: float = 1e-12
    embedding_norm: bool = True
    scale_embeddings: bool = False
    """Multiply subword embeddings by √width, as NEISS does."""
    activation: Literal["gelu", "relu"] = "gelu"
    dropout: float = 0.1
    """After attention and feed-forward."""
    embedding_dropout: float = 0.1
    attention_dropout: float = 0.0
    """On attention weights; only plain, entity-aware and char-entity attention have it."""
    init: Literal["normal", "keras"] = "normal"
    """N(0, 0.02) as BERT; or Glorot-uniform layers and U(−0.05, 0.05) embeddings as NEISS."""
    foreign: str = ""
    """The ``config.json`` of a model that transformers runs (DeBERTa, ModernBERT …), as text. Of
    the other settings only sizes are read then. Empty: an encoder of ours."""

    def __post_init__(self) -> None:
        """Raise ``ConfigError`` for a size that is negative, or that no encoder has."""
        for name, most in _MOST.items():
            size = getattr(self, name)
            if not 0 <= size <= most:
                raise ConfigError(f"{type(self).__name__}.{name}: {size} is not 0 to {most:,}.")

    @property
    def least_values(self) -> int:
        """A lower bound of the number of weights, the embeddings of entities included.

        0 for an encoder that transformers runs: which weights it shares is not known here.
        """
        if self.foreign:
            return 0
        layer = 4 * self.width**2 + 2 * self.width * self.inner_width
        entities = self.n_entities * self.entity_width
        return self.n_subwords * self.width + entities + self.n_layers * layer

    @property
    def reads_words(self) -> bool:
        """Whether the encoder needs to know the words of its pre-tokenizer."""
        return self.attention.startswith("whole_word")

    @property
    def reads_mentions(self) -> bool:
        """Whether mentions are rows of their own after the subwords (LUKE)."""
        return self.n_entities > 0 and self.entities == "mentions"


@dataclass(frozen=True, kw_only=True)
class HeadsConfig(Config):
    """The objectives of pre-training, and the weight of each in the loss."""

    weights: dict[str, float] = field(default_factory=lambda: {"subwords": 1.0})
    """Weight of ``subwords`` (masked language model), ``entities`` (masked entities),
    ``subword_entities`` (the entity of each subword that has one), ``pairs``."""
    entity_scope: Literal["vocabulary", "group", "document"] = "vocabulary"
    """Among which entities that of a subword is distinguished: all; or those that the examples of
    its group (a novel), or of its document, mention."""
    tied: bool = True
    """The subword head's matrix is the embedding."""
    transform: bool = True
    """Dense, activation and norm before the subword head's matrix, as BERT; NEISS has none."""
    pair_pooling: Literal["cls", "mean"] = "cls"
    """Next sentence and sentence order read [CLS], or the mean of all subwords (B-N13)."""


@dataclass(frozen=True, kw_only=True)
class MaskingConfig(Config):
    """The settings of dynamic masking."""

    unit: Literal["subword", "word", "entity"] = "word"
    """What is masked as one; ``entity``: whole mentions first, as ERNIE, words elsewhere."""
    budget: Literal["bernoulli", "units", "subwords"] = "subwords"
    """Each unit by a draw of its own (NEISS); a fraction of the units (DaLUKE); a fraction of the
    subwords, units that no longer fit being skipped (LUKE: B-D13)."""
    ratio: float = 0.15
    """Of the subwords, or units, chosen."""
    mask: float = 0.8
    """Of the chosen: replaced by [MASK]."""
    random: float = 0.1
    """Of the chosen: replaced by a random subword; the rest stays."""
    draw: Literal["unit", "subword"] = "unit"
    """One 80/10/10 draw for a unit (B-N3), or one for each of its subwords."""
    entity_ratio: float = 0.15
    """Of the mentions, chosen."""
    entity_mask: float = 1.0
    """Of the chosen: their entity replaced by [MASK]."""
    entity_random: float = 0.0
    """Of the chosen: replaced by a random entity; the rest stays (LUKE's code has both, and uses
    neither: C.3)."""
    mention_words: bool = False
    """The subwords of chosen mentions are masked first, one draw for each mention, and count in the
    budget; words follow as long as some of it is left (LUKE: C.3). Needs ``budget=subwords``."""
    hide_entity_when_masked: bool = False
    """Subwords do not know the entity of a mention of which a subword is to be predicted, and of
    ``subword_entities`` only these are predicted (B-E12); or all know, and all are."""
    n_negatives: int = 0
    """Of a sampled softmax over entities; 0: all of the vocabulary, or of ``entity_scope``."""


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config):
    """How examples become batches."""

    pairs: Literal["none", "nsp", "sop"] = "none"
    """Next sentence prediction or sentence order prediction (published systems, C.9)."""
    swap_pairs: bool = False
    """Of ``nsp``: a coin swaps the two texts, whatever the label, as NEISS's code does (B-N4)."""
    max_length: int = 512
    """Subwords with [CLS] and [SEP]; a longer example is cut to a random window of whole words."""
    weights: tuple[float, ...] = ()
    """Of several example datasets; empty: by their size."""
    n_workers: int = 1
    """Processes that make batches; 0: the training process itself. Changes no byte of a batch."""


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(Config):
    """The settings of AdamW."""

    lr: float = 1e-4
    """Peak learning rate."""
    betas: tuple[float, ...] = (0.9, 0.999)
    eps: float = 1e-6
    weight_decay: float = 0.01
    """Of matrices; never of biases and norms."""
    bias_correction: bool = True
    """Of Adam's moments, which begin at 0; EntityBERT, LUKE and DaLUKE's fine-tuning have none
    (E-T1, L-T1, D-F4), and take larger steps at first: 3 times the learning rate in the first one,
    with the usual ``betas``."""
    clip: float | None = 1.0
    """Largest norm of the gradient; null: as it comes."""
    ema: float | None = None
    """Decay of the exponential moving average of the weights; null: none is kept."""
    unlocked_lr: float | None = None
    """Peak once transferred weights are unlocked: schedule and optimizer's state start again
    (LUKE's second stage, L-T1); null: one schedule for the whole run."""


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig(Config):
    """The learning rate over the steps: warm-up, and what follows."""

    shape: Literal["linear", "polynomial", "constant_cosine", "constant"] = "linear"
    warmup: float = 0.06
    """Fraction of the steps; the learning rate climbs linearly from ``start``."""
    start: float = 0.0
    """Where warm-up begins, as a fraction of the peak."""
    end: float = 0.0
    """Where it ends, as a fraction of the peak."""
    power: float = 1.0
    """Of ``polynomial``; DaLUKE √3 to 10 % (D-T3)."""
    constant: float = 0.1
    """``constant_cosine``: fraction of the steps at the peak, after warm-up (N-T6)."""
    cosine: float = 0.1
    """``constant_cosine``: fraction of the steps of the last descent, by a cosine."""
    decay: float = 0.99
    """``constant_cosine``: between the two, what is left of it after each staircase step."""
    stair: float = 0.006
    """``constant_cosine``: fraction of the steps that a staircase step lasts (3 of 500 epochs)."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """The length of training, the size of batches, and how often it is evaluated and saved."""

    max_steps: int = 1_000
    batch_size: int = 256
    """Examples of a step, over all devices and accumulation."""
    micro_batch_size: int = 32
    """Examples that a device works on at once."""
    seed: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of autocast; weights stay float32."""
    compile: bool = False
    deterministic: bool = False
    """On a GPU: only kernels that always give the same bits, slower; on the CPU all do."""
    frozen: float = 0.0
    """Fraction of the steps in which transferred weights stay as they are (C.14)."""
    evaluate_every: int = 100
    """Steps between evaluations on validation examples."""
    evaluate_examples: int = 1_000
    """Validation examples of an evaluation, the same each time; 0: all."""
    patience: int = 0
    """Evaluations without a better validation loss after which training ends; 0: never."""
    checkpoint_every: int = 500
    keep: int = 2
    """Newest checkpoints that are kept."""
    keep_every: int = 0
    """Steps; checkpoints at multiples of it are kept for good."""
    log_every: int = 10


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(Config):
    """All settings of a pre-training run."""

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    heads: HeadsConfig = field(default_factory=HeadsConfig)
    masking: MaskingConfig = field(default_factory=MaskingConfig)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
