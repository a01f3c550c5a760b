"""Settings of name taggers and of their fine-tuning, like those in ``modeling/config.py``."""

from dataclasses import dataclass, field
from typing import Final, Literal

from corpora.errors import UsageError
from corpora.system.typed_tables import bounded
from modeling.config import Config, ConfigError, EncoderConfig, OptimizerConfig, ScheduleConfig

TAGGER_FILE: Final = "tagger.json"
"""The file of settings, in the folder of a tagger."""
WEIGHTS_FILE: Final = "model.safetensors"
ONNX_FILE: Final = "model.onnx"
"""The file that replaces the weights, in the folder of a tagger exported to ONNX."""
HeadKind = Literal["softmax", "cse", "crf", "crf_ner", "span"]
SpanFeatures = Literal["both", "words", "entities"]
DecoderName = Literal[
    "free", "fix", "viterbi", "cse", "cse_published", "greedy", "schedule", "nest"
]


@dataclass(frozen=True, slots=True)
class Head:
    """A kind of head: all that differs between them, except the layers (``build_head``)."""

    about: str
    decoders: tuple[DecoderName, ...]
    """The decoders that go with it; the first is the default."""
    scores: Literal["tags", "classes", "spans"] = "tags"
    """The rows of its weights: a tag each, a class each and the two ends, or a class of spans."""
    is_of_sentences: bool = False
    """Whether its loss is of whole sentences, so that classes of words have no weights."""


HEADS: Final[dict[str, Head]] = {
    "softmax": Head(
        "A head that predicts the tag of each word by itself.", ("viterbi", "free", "fix")
    ),
    "cse": Head(
        "A head that predicts class, start and end of each word (NEISS paper, section 4.1).",
        ("viterbi", "cse", "cse_published", "free", "fix"),
        scores="classes",
    ),
    "crf": Head(
        "A CRF: a head that predicts all tags of a sentence together.",
        ("viterbi", "free", "fix"),
        is_of_sentences=True,
    ),
    "crf_ner": Head(
        "A CRF with learned penalties for invalid sequences of tags (NEISS paper, eq. 7).",
        ("viterbi", "free", "fix"),
        is_of_sentences=True,
    ),
    "span": Head(
        "A head that classifies every span up to the longest name of train (LUKE).",
        ("schedule", "greedy", "nest"),
        scores="spans",
    ),
}
"""The record of each kind of head; a test holds docs/tagging.md to them."""


def check_decoder(kind: HeadKind, decoder: str) -> None:
    """Raise ``UsageError`` for a decoder that does not go with a kind of head."""
    if decoder not in (known := HEADS[kind].decoders):
        raise UsageError(
            f"--decoder {decoder}: does not go with head.kind={kind}; {', '.join(known)} do."
        )


@dataclass(frozen=True, kw_only=True)
class HeadConfig(Config):
    """The settings of a head, which predicts tags or spans from the states of words."""

    part = "head"
    kind: HeadKind = "softmax"
    """``softmax``: a tag for each word; ``cse``: Class-Start-End (NEISS paper, section 4.1);
    ``crf``: a linear chain; ``crf_ner``: a chain with learned penalties for invalid transitions
    (eq. 7); ``span``: candidate spans (LUKE)."""
    decoder: DecoderName | None = None
    """``free``: the best tags, valid or not; ``fix``: these, repaired by the Entity-Fix rule
    (section 4.3); ``viterbi``: the best valid tags; ``cse``: section 4.1, ``cse_published``:
    without our two changes; ``greedy``: spans by probability;
    ``schedule``: the best disjoint spans; ``nest``: spans by probability that may stand inside
    others, but cross none. None: the first of its kind in ``HEADS``."""
    pooling: Literal["first", "mean", "max"] = "first"
    """The state of a word: that of its first subword, or the mean or the maximum of all."""
    dropout: float = bounded(0.0, at_least=0, below=1)
    """The dropout before the head."""
    class_weights: Literal["none", "inverse"] = "none"
    """The weights of classes in the loss; ``inverse``: 1 / count of the class in training data,
    for softmax, cse and span."""
    boundary_loss: Literal["bce", "l1", "l2"] = "bce"
    """The loss of the starts and ends of ``cse``."""
    boundary_weight: float = bounded(6.0, at_least=0)
    """The weight of a start or end in this loss, where other words have 1 (1 + 5)."""
    crf_init: Literal["off", "on", "neiss"] = "off"
    """The initial values of ``crf_ner``. ``off``: ω_f=1, ω_a=0, a plain chain; ``on``: ω_f=1,
    ω_a=10, with penalties from the start; ``neiss``: U(−0.05, 0.05), as in NEISS."""
    span_features: SpanFeatures | Literal["auto"] = "auto"
    """The states that score a span: [first subword; last subword; entity] (``both``), the first two
    (``words``), or the last (``entities``); ``auto``: ``both`` if the encoder reads entities, else
    ``words``."""
    span_products: int = bounded(0, at_least=0, at_most=1 << 10)
    """The number of products of projections of the first and the last subword, by which spans are
    scored by their words, beside a score for each length; 0: none, as in LUKE. ``--level both`` has
    64. They have no effect where all spans are read as entities."""
    span_reading: Literal["alone", "joint"] = "alone"
    """``alone``: the entity of a span attends to the text and to itself, and nothing attends to it.
    ``joint``: as in LUKE, all attend to all, with at most 128 candidates at once; this is slower,
    and reads all candidates."""
    max_span_subwords: int = bounded(16, at_least=0, at_most=1 << 16)
    """The longest span that ``span`` can find, in subwords. Longer gold spans are reported,
    and missed. 0: as long as the longest gold span of train, at least 16 and at most a quarter of
    a window."""
    max_candidates: float = bounded(3.0, at_least=0)
    """For each word of a sentence, the most spans that are read with an entity after a cheap first
    score; 0: all are read. Only for ``span`` with entities."""
    skip_below: float = bounded(0.005, at_least=0, below=1)
    """In prediction, spans that are names with less than this probability by the first score are
    not read, even if ``max_candidates`` allows more."""

    @property
    def scores_spans(self) -> bool:
        """Whether it scores candidate spans, not the tags of words."""
        return HEADS[self.kind].scores == "spans"

    def span_features_of(self, encoder: EncoderConfig) -> SpanFeatures:
        """Return the states that score a span with an encoder: what ``auto`` means there."""
        if self.span_features == "auto":
            return "both" if encoder.reads_mentions else "words"
        return self.span_features

    @property
    def longest_span(self) -> int:
        """The length of the longest candidate span in subwords; 0: the head scores no spans."""
        return self.max_span_subwords if self.scores_spans else 0


def check_head(head: HeadConfig) -> None:
    """Raise ``ConfigError`` for settings of a head that do not go together."""
    record = HEADS[head.kind]
    if head.decoder is not None and head.decoder not in record.decoders:
        raise ConfigError(
            f"head.decoder={head.decoder} does not go with head.kind={head.kind}; "
            f"{', '.join(record.decoders)} do."
        )
    if head.class_weights != "none" and record.is_of_sentences:
        raise ConfigError(
            f"head.class_weights={head.class_weights} weighs words, and head.kind={head.kind} is "
            "trained on whole sentences: leave it out, or take softmax, cse or span."
        )
    if head.scores_spans and head.pooling != "first":
        raise ConfigError("head.pooling: a span is read at its first and last subword; omit it.")


@dataclass(frozen=True, kw_only=True)
class SentencesConfig(Config):
    """The settings of the windows of subwords in which sentences are read."""

    part = "data"
    max_length: int = bounded(0, at_least=0)
    """The most subwords of a window, [CLS] and [SEP] included; 0: as many as the encoder has
    positions for (512 if it has no limit)."""
    overlap: int = bounded(64, at_least=0)
    """The least number of subwords that adjacent windows of a long sentence share."""
    context: Literal["none", "document"] = "none"
    """``document``: a sentence is read with the text around it, as many subwords as fit."""
    max_context: int = bounded(0, at_least=0)
    """The most subwords of context, on both sides together; 0: as many as fit."""
    entities: str = ""
    """The path of an entity vocabulary, a lexicon or a file of forms; words know the entities of
    the forms that they are part of (``encoder.entities=subwords``). Empty: words know no
    entities."""


@dataclass(frozen=True, kw_only=True)
class GazetteerConfig(Config):
    """The source of names that are looked up; matches are features of words beside their states."""

    part = "gazetteer"
    source: Literal["none", "train", "file", "entities"] = "none"
    """``train``: the names of the training set (cross-fitted); ``file``: a file of names and
    labels; ``entities``: the aliases of an entity vocabulary; ``none``: no gazetteer."""
    path: str = ""
    """The path of the file or vocabulary."""
    folds: int = bounded(10, at_least=2)
    """The number of folds of cross-fitting: in each fold, the names of the other folds are looked
    up."""


@dataclass(frozen=True, kw_only=True)
class FinetuningConfig(Config):
    """The length of training, the size of batches, the epoch that is kept, and what is trained."""

    part = "training"
    epochs: int = bounded(10, at_least=1)
    samples: int = bounded(0, at_least=0)
    """The number of sentences of an epoch, which begins where the last one ended; 0: all sentences,
    each once. NEISS took 5,000."""
    max_steps: int = bounded(0, at_least=0)
    """The number of steps after which training ends, whatever the epochs; 0: no such limit."""
    batch_size: int = bounded(16, at_least=1)
    """The number of sentences of a step."""
    micro_batch_size: int = bounded(0, at_least=0)
    """The number of sentences that are processed at once; 0: all of a step."""
    evaluate_batch_size: int = bounded(32, at_least=1)
    seed: int = bounded(1, at_least=0, at_most=(1 << 63) - 1)
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    """The type of autocast; weights stay float32. ``float16`` scales the loss."""
    recompute: bool = False
    """Whether layers are computed again in the backward pass, which saves memory."""
    choose: Literal["best", "last"] = "best"
    """The epoch that is kept: the one with the best strict F1 on dev, or the last one."""
    patience: int = bounded(0, at_least=0)
    """The number of epochs without a better F1 after which training ends; 0: no such limit."""
    train_size: int = bounded(0, at_least=0)
    """The number of training sentences that are used, chosen by hash; 0: all."""
    gold_ratio: float = bounded(0.5, at_least=0, at_most=1)
    """The weight of gold tags, from 0 to 1; the probabilities of ``--teacher`` have the rest."""
    freeze_encoder: bool = False
    """Whether only the head is trained."""
    freeze_embeddings: bool = False
    """Whether the encoder's embeddings are frozen."""
    frozen_layers: int = bounded(0, at_least=0)
    """The number of the encoder's layers, from below, that are frozen together with its embeddings;
    0: none."""
    layer_decay: float = bounded(1.0, above=0, at_most=1)
    """The learning rate of each layer as a fraction of that of the layer above; the highest layer
    has this fraction of ``lr``."""
    head_lr_ratio: float = bounded(1.0, above=0)
    """The learning rate of a new head as a multiple of ``lr``: its random weights are far from what
    they have to be. The head of a tagger that is trained further has ``lr``."""
    lora_rank: int = bounded(0, at_least=0)
    """The rank of LoRA's matrices, which are trained instead of the encoder's weights, and added to
    these at the end (peft); 0: no LoRA. LoRA needs a higher ``lr``, 2e-4 to 1e-3."""
    lora_alpha: int = bounded(16, at_least=1)
    """The scale of LoRA: its update is multiplied by ``lora_alpha / lora_rank``."""


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig(Config):
    """All settings of a fine-tuning run."""

    head: HeadConfig = field(default_factory=HeadConfig)
    data: SentencesConfig = field(default_factory=SentencesConfig)
    gazetteer: GazetteerConfig = field(default_factory=GazetteerConfig)
    optimizer: OptimizerConfig = field(
        default_factory=lambda: OptimizerConfig(lr=5e-5, weight_decay=0.01)
    )
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    training: FinetuningConfig = field(default_factory=FinetuningConfig)


@dataclass(frozen=True, kw_only=True)
class TaggerConfig(Config):
    """All settings that a tagger is built from, saved beside its weights."""

    part = "tagger"
    labels: tuple[str, ...] = ()
    """The labels in the order of their ids."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    head: HeadConfig = field(default_factory=HeadConfig)
    data: SentencesConfig = field(default_factory=SentencesConfig)
    gazetteer: GazetteerConfig = field(default_factory=GazetteerConfig)
    n_features: int = bounded(0, at_least=0, at_most=1 << 16)
    """G, the number of features from the gazetteer; 0: there is no gazetteer."""
    temperature: float = 1.0
    """The temperature of calibration, fitted on dev, by which logits are divided."""

    @property
    def span_features(self) -> SpanFeatures:
        """The states that score a span with this encoder."""
        return self.head.span_features_of(self.encoder)
