"""Settings of pre-training, which are saved beside every checkpoint, and overridden by name.

``Config`` is the base class; ``PretrainConfig`` has all settings of a run. Layers get plain values.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self, TypeVar, get_type_hints

from corpora.errors import UsageError
from corpora.system.parsing import parse_json, read_json
from corpora.system.typed_tables import TableError, bounded, check_table, out_of_bounds

_C = TypeVar("_C", bound="Config")


class ConfigError(UsageError, ValueError):
    """The error for a setting that does not exist, or whose value is not allowed."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The base class of settings.

    A subclass is a frozen dataclass of numbers, strings, tuples, mappings and other settings. A
    number has its bounds beside its default, so that damaged settings are refused before a model of
    such a size is built.
    """

    part: ClassVar[str] = ""
    """The name of these settings among all, as in ``optimizer.lr``."""

    def __post_init__(self) -> None:
        """Raise ``ConfigError`` for a number outside the bounds of its setting."""
        for setting in fields(self):
            value = getattr(self, setting.name)
            if why := out_of_bounds(value, setting):
                raise ConfigError(f"{self.part}.{setting.name}={value}: {why}.")

    def to_json(self) -> Any:  # Any: a JSON object with the fields of the class
        """Convert the settings to plain values for a JSON file."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> Self:
        """Make settings from the values that ``to_json`` returns.

        Raises ``ConfigError`` for an unknown name or a value of another type.
        """
        return cls(**_checked(cls, values))

    def save(self, path: Path) -> None:
        """Write the settings to a JSON file."""
        path.write_text(json.dumps(self.to_json(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the settings that ``save`` wrote; ``ConfigError`` names the file of wrong ones."""
        try:
            return cls.from_json(read_json(path))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error

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
    name, *rest = path
    inner = getattr(config, name, None)
    if rest and isinstance(inner, Config):
        return replace(config, **{name: _replaced(inner, rest, value)})
    if rest and isinstance(inner, Mapping):
        value = {**inner, ".".join(rest): value}
    elif rest and hasattr(config, name):
        raise ConfigError(f"{name} has no settings inside; set {name}=VALUE.")
    return replace(config, **_checked(type(config), {name: value}))


def _checked(kind: type[Config], values: Mapping[str, object]) -> dict[str, Any]:  # Any: settings
    """Convert values to the types of settings; raise ``ConfigError`` if they do not fit."""
    try:
        hints = get_type_hints(kind)
        types = {setting.name: hints[setting.name] for setting in fields(kind)}
        return check_table(values, types, where=kind.__name__)
    except TableError as error:
        raise ConfigError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(Config):
    """The settings of an encoder."""

    part = "encoder"
    n_subwords: int = bounded(0, at_least=0, at_most=1 << 27)
    """The size of the tokenizer; 0: filled in from the examples."""
    n_entities: int = bounded(0, at_least=0, at_most=1 << 31)
    """The number of rows of the entity vocabulary; 0: the encoder reads no entities."""
    entities: Literal["mentions", "subwords"] = "mentions"
    """``mentions``: each mention is a row of its own after the subwords (LUKE). ``subwords``: the
    entity belongs to the subwords of its mention (EntityBERT), in keys and values of every layer
    with ``char_entity``, else added to the embeddings of subwords."""
    width: int = bounded(256, at_least=1, at_most=1 << 16)
    n_layers: int = bounded(4, at_least=0, at_most=1_000)
    n_heads: int = bounded(4, at_least=1, at_most=1 << 12)
    inner_width: int = bounded(1024, at_least=0, at_most=1 << 20)
    """The inner width of the feed-forward layers."""
    attention: Literal[
        "plain", "relative", "whole_word", "whole_word_relative", "entity_aware", "char_entity"
    ] = "plain"
    positions: Literal["learned", "sinusoidal", "none"] = "learned"
    """The kind of positions that are added to embeddings; ``none`` for relative attention."""
    max_positions: int = bounded(512, at_least=0, at_most=1 << 20)
    """The longest sequence that learned positions allow, [CLS] and [SEP] included."""
    clip: int = bounded(16, at_least=0, at_most=1 << 16)
    """τ, the clipping distance of relative positions (Shaw et al. 2018)."""
    window: int = bounded(5, at_least=0, at_most=1 << 16)
    """ω: how many subwords whole-word attention sees on each side (NEISS paper, section 5)."""
    entity_width: int = bounded(256, at_least=0, at_most=1 << 16)
    """The width of entity embeddings, before they are projected to ``width``."""
    entity_bias: bool = False
    """Whether this projection has a bias (in DaLUKE, not in LUKE); for mentions only."""
    entity_scale: float = bounded(0.5, at_least=0, at_most=1)
    """λ of ``char_entity``: the weight of the entity in the keys and values of its subwords."""
    n_segments: int = bounded(0, at_least=0, at_most=1 << 16)
    """The number of rows of the segment embedding; 0: there is no such embedding."""
    norm: Literal["post", "pre"] = "post"
    norm_eps: float = 1e-12
    embedding_norm: bool = True
    scale_embeddings: bool = False
    """Whether subword embeddings are multiplied by √width, as in NEISS."""
    activation: Literal["gelu", "relu"] = "gelu"
    dropout: float = bounded(0.1, at_least=0, at_most=1)
    """The dropout after attention and after feed-forward."""
    embedding_dropout: float = bounded(0.1, at_least=0, at_most=1)
    attention_dropout: float = bounded(0.0, at_least=0, at_most=1)
    """The dropout of attention weights; only for plain, entity-aware and char-entity attention."""
    init: Literal["normal", "neighbours", "keras"] = "normal"
    """``normal``: N(0, 0.02) as BERT; ``neighbours``: the same, but the heads of the first layer
    attend to the subwords nearby, for learned positions; ``keras``: Glorot-uniform layers and
    U(−0.05, 0.05) embeddings as NEISS."""
    foreign: str = ""
    """The text of the ``config.json`` of a model that transformers runs (DeBERTa, ModernBERT …);
    other settings than sizes, and whether it has learned positions, have then no effect. Empty: an
    encoder of ours."""

    @property
    def least_values(self) -> int:
        """A lower bound of the number of weights, entity embeddings included.

        0 for an encoder that transformers runs, as it is not known here which weights it shares.
        """
        if self.foreign:
            return 0
        layer = 4 * self.width**2 + 2 * self.width * self.inner_width
        entities = self.n_entities * self.entity_width
        return self.n_subwords * self.width + entities + self.n_layers * layer

    @property
    def reads_words(self) -> bool:
        """Whether the encoder needs the words of its pre-tokenizer."""
        return self.attention.startswith("whole_word")

    @property
    def reads_mentions(self) -> bool:
        """Whether mentions are rows of their own after the subwords (LUKE)."""
        return self.n_entities > 0 and self.entities == "mentions"


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective of pre-training: all that differs between them, except head and targets."""

    predicts: str
    target: str
    """What an example must have to be a target, and how to get such examples."""
    rows: Literal["subwords", "mentions", "texts"] = "subwords"
    """The rows whose states its head reads."""
    is_of_entities: bool = False
    """Whether it predicts entities of the vocabulary of the examples."""
    ratio: Literal["", "ratio", "entity_ratio"] = ""
    """The setting of ``MaskingConfig`` that chooses its targets, if one does."""
    lookup: str = ""
    """The baseline ``lookup`` of it, if it has one."""
    n_accuracies: int | None = None
    """How many of the accuracies at k are logged; None: all."""


OBJECTIVES: Final[dict[str, Objective]] = {
    "subwords": Objective(
        "masked language model",
        "a subword to mask: all are [UNK]. Make the examples with another tokenizer",
        ratio="ratio",
        lookup="looking subwords up by the two beside them",
    ),
    "entities": Objective(
        "masked entities (LUKE)",
        "a mention of a known entity: make them with --entity-vocab of the same documents",
        rows="mentions",
        is_of_entities=True,
        ratio="entity_ratio",
        lookup="looking entities up by the form of the mention",
    ),
    "subword_entities": Objective(
        "the entity of each subword that has one (EntityBERT)",
        "a mention to predict: make them with --entity-vocab of the same documents",
        is_of_entities=True,
    ),
    "pairs": Objective(
        "next sentence, or order of sentences",
        "two texts: a pair needs two sentences, and for nsp those of another document. Make "
        "examples of more documents, or with a larger --max-length",
        rows="texts",
        n_accuracies=1,  # there are two classes
    ),
}
"""The record of each objective; a test holds docs/pretraining.md to them."""
OF_ENTITIES: Final = frozenset(name for name, kind in OBJECTIVES.items() if kind.is_of_entities)


@dataclass(frozen=True, kw_only=True)
class HeadsConfig(Config):
    """The objectives of pre-training, and the weight of each in the loss."""

    part = "heads"
    weights: dict[str, float] = field(default_factory=lambda: {"subwords": 1.0})
    """The weight of each objective, by its name in ``OBJECTIVES``."""
    entity_scope: Literal["vocabulary", "group", "document"] = "vocabulary"
    """The entities from which that of a subword is predicted: the whole vocabulary; or those that
    the examples of its group (such as a novel), or of its document, mention."""
    entity_weights: Literal["even", "inverse"] = "even"
    """The weights of masked entities in the loss; ``inverse``: 1 / count of the entity in training,
    scaled so that the mean over mentions is 1 (DaLUKE)."""
    tied: bool = True
    """Whether the matrix of the subword head is the subword embedding."""
    transform: bool = True
    """Whether dense layer, activation and norm precede the matrix of the subword head, as in BERT;
    NEISS has none."""
    pair_pooling: Literal["cls", "mean"] = "cls"
    """The input of next sentence and sentence order prediction: [CLS], or the mean of all
    subwords."""


@dataclass(frozen=True, kw_only=True)
class MaskingConfig(Config):
    """The settings of dynamic masking."""

    part = "masking"
    unit: Literal["subword", "word", "entity"] = "word"
    """The unit of masking; ``entity``: whole mentions first, as in ERNIE, then words."""
    budget: Literal["bernoulli", "units", "subwords"] = "subwords"
    """``bernoulli``: one draw for each unit (NEISS). ``units``: a fraction of the units (DaLUKE).
    ``subwords``: a fraction of the subwords; units that no longer fit are skipped (LUKE)."""
    ratio: float = bounded(0.15, at_least=0, at_most=1)
    """The fraction of subwords, or units, that are chosen."""
    mask: float = bounded(0.8, at_least=0, at_most=1)
    """The fraction of chosen subwords that are replaced by [MASK]."""
    random: float = bounded(0.1, at_least=0, at_most=1)
    """The fraction of chosen subwords that are replaced by random ones; the rest stays."""
    draw: Literal["unit", "subword"] = "unit"
    """Whether the kind of replacement is drawn once for a unit, or for each subword."""
    entity_ratio: float = bounded(0.15, at_least=0, at_most=1)
    """The fraction of mentions that are chosen."""
    entity_mask: float = bounded(1.0, at_least=0, at_most=1)
    """The fraction of chosen mentions whose entity is replaced by [MASK]."""
    entity_random: float = bounded(0.0, at_least=0, at_most=1)
    """The fraction of chosen mentions whose entity is replaced by a random one; the rest stays
    (LUKE's code has both, and uses neither)."""
    mention_words: bool = False
    """Whether the subwords of chosen mentions are masked first, with one draw for each mention;
    they count in the budget, and words take the rest of it (LUKE). Needs
    ``budget=subwords``."""
    hide_entity_when_masked: bool = False
    """Whether the entity of a mention is hidden from its subwords if one of them is to be
    predicted, and only hidden entities are predicted. False: none are hidden, all are
    predicted."""
    n_negatives: int = bounded(0, at_least=0)
    """The number of negatives of a sampled softmax over entities; 0: the softmax is over the whole
    vocabulary, or all of ``entity_scope``."""


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config):
    """The settings of the batches that are made of examples."""

    part = "data"
    pairs: Literal["none", "nsp", "sop"] = "none"
    """``nsp``: next sentence prediction; ``sop``: sentence order prediction."""
    swap_pairs: bool = False
    """For ``nsp``: whether a coin swaps the two texts, whatever the label, as in NEISS's code."""
    max_length: int = bounded(512, at_least=5)
    """The most subwords of an example, [CLS] and [SEP] included; a longer one is cut to a random
    window of whole words."""
    weights: tuple[float, ...] = ()
    """The weights of several example datasets in the mixture; empty: by their size."""
    n_workers: int = bounded(1, at_least=0)
    """The number of processes that make batches; 0: the training process makes them. It does not
    change the batches."""


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(Config):
    """The settings of AdamW."""

    part = "optimizer"
    lr: float = bounded(1e-4, at_least=0)
    """The peak learning rate."""
    betas: tuple[float, ...] = (0.9, 0.999)
    eps: float = bounded(1e-6, above=0)
    weight_decay: float = bounded(0.01, at_least=0)
    """The weight decay of matrices; biases and norms have none."""
    bias_correction: bool = True
    """Whether Adam's moments, which begin at 0, are corrected. EntityBERT, LUKE and DaLUKE's
    fine-tuning do not correct them, and so take larger steps at first: with the
    usual ``betas``, 3 times the learning rate in the first step."""
    clip: float | None = bounded(1.0, above=0)
    """The largest norm of the gradient; null: no clipping."""
    ema: float | None = bounded(None, above=0, below=1)
    """The decay of the exponential moving average of the weights; null: no average is kept."""
    unlocked_lr: float | None = bounded(None, at_least=0)
    """The peak learning rate after transferred weights are unlocked, when the schedule and the
    optimizer's state start again (LUKE's second stage); null: one schedule for the run."""

    def __post_init__(self) -> None:
        """Raise ``ConfigError`` for numbers with which AdamW cannot run, or learns nothing."""
        super().__post_init__()
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError(
                f"optimizer.betas={list(self.betas)}: must be two numbers from 0 to below 1, as "
                "[0.9,0.999]."
            )


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig(Config):
    """The schedule of the learning rate: warm-up and descent."""

    part = "schedule"
    shape: Literal["linear", "polynomial", "constant_cosine", "constant"] = "linear"
    warmup: float = bounded(0.06, at_least=0, at_most=1)
    """The fraction of steps in which the learning rate climbs linearly from ``start``."""
    start: float = bounded(0.0, at_least=0, at_most=1)
    """The learning rate at which warm-up begins, as a fraction of the peak."""
    end: float = bounded(0.0, at_least=0, at_most=1)
    """The learning rate at the end, as a fraction of the peak; for ``constant_cosine``, as a
    fraction of the value at which the cosine begins."""
    power: float = bounded(1.0, above=0)
    """The power of ``polynomial``; DaLUKE: √3, with ``end`` 0.1."""
    constant: float = bounded(0.1, at_least=0, at_most=1)
    """``constant_cosine``: the fraction of steps at the peak, after warm-up."""
    cosine: float = bounded(0.1, at_least=0, at_most=1)
    """``constant_cosine``: the fraction of steps in the last descent, by a cosine."""
    decay: float = bounded(0.99, at_least=0, at_most=1)
    """``constant_cosine``: the factor of each staircase step between the two."""
    stair: float = 0.006
    """``constant_cosine``: the length of a staircase step, as a fraction of the steps (3 of 500
    epochs)."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """The length of training, the sizes of batches, and the intervals of evaluation and saving."""

    part = "training"
    max_steps: int = bounded(1_000, at_least=1)
    batch_size: int = bounded(256, at_least=1)
    """The number of examples of a step, over all devices and micro-batches."""
    micro_batch_size: int = bounded(32, at_least=1)
    """The number of examples that a device processes at once."""
    seed: int = bounded(1, at_least=0, at_most=(1 << 63) - 1)
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    """The type of autocast; weights stay float32. ``float16``, with a scaled loss, is for GPUs
    without bfloat16 (before Ampere)."""
    recompute: bool = False
    """Whether layers are computed again in the backward pass instead of keeping what is inside
    them: a third more time, and the memory of activations of one layer."""
    compile: bool = False
    """Whether ``torch.compile`` compiles the model, which takes minutes at the start."""
    deterministic: bool = False
    """Whether a GPU uses only kernels that always give the same bits, which are slower. On a CPU,
    all kernels do."""
    frozen: float = bounded(0.0, at_least=0, at_most=1)
    """The fraction of steps in which transferred weights are frozen."""
    entity_start: Literal["random", "names"] = "random"
    """The initial embeddings of entities that ``--init-from`` does not know: ``random``, as
    published; ``names``: from the subwords of their names, so that a mention is read at first as
    its name is. Then they count as transferred: ``frozen`` is for them, too."""
    center: bool = False
    """Whether the states of a transferred encoder are shifted so that their mean is 0: new heads
    then learn faster; heads that were transferred score as before."""
    evaluate_every: int = bounded(100, at_least=1)
    """The number of steps between evaluations on validation examples."""
    evaluate_examples: int = bounded(1_000, at_least=0)
    """The number of validation examples of an evaluation, the same ones each time; 0: all."""
    patience: int = bounded(0, at_least=0)
    """The number of evaluations without a lower validation loss after which training ends; 0: no
    such limit."""
    checkpoint_every: int = bounded(500, at_least=1)
    keep: int = bounded(2, at_least=1)
    """The number of newest checkpoints that are kept."""
    keep_every: int = bounded(0, at_least=0)
    """Checkpoints at multiples of this number of steps are kept for good; 0: none are."""
    log_every: int = bounded(10, at_least=1)


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
