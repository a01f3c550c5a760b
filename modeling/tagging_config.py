"""Settings of name taggers and of their fine-tuning; ``modeling/config.py`` says what these are."""

from dataclasses import dataclass, field
from typing import Final, Literal

from corpora.errors import UsageError
from modeling.config import Config, EncoderConfig, OptimizerConfig, ScheduleConfig

TAGGER_FILE: Final = "tagger.json"
"""Its settings, in the folder of a tagger."""
WEIGHTS_FILE: Final = "model.safetensors"
ONNX_FILE: Final = "model.onnx"
"""Instead of weights, in the folder of an exported tagger."""
HeadKind = Literal["softmax", "cse", "crf", "crf_ner", "span"]
DecoderName = Literal["free", "fix", "viterbi", "cse", "greedy", "schedule"]
DECODERS: Final[dict[str, tuple[DecoderName, ...]]] = {
    "softmax": ("viterbi", "free", "fix"),
    "cse": ("viterbi", "cse", "free", "fix"),
    "crf": ("viterbi", "free", "fix"),
    "crf_ner": ("viterbi", "free", "fix"),
    "span": ("schedule", "greedy"),
}
"""Which decoders go with a head; the first is taken if none is chosen."""


def check_decoder(kind: HeadKind, decoder: str) -> None:
    """Raise ``UsageError`` for a decoder that does not go with a kind of head."""
    if decoder not in DECODERS[kind]:
        raise UsageError(
            f"--decoder {decoder}: does not go with head.kind={kind}; "
            f"{', '.join(DECODERS[kind])} do."
        )


@dataclass(frozen=True, kw_only=True)
class HeadConfig(Config):
    """The settings of a head, which predicts tags or spans from the states of words."""

    kind: HeadKind = "softmax"
    """A tag for each word; Class-Start-End (NEISS paper, section 4.1); a linear chain; the same
    with learned penalties for tags that cannot follow (eq. 7); every span (LUKE)."""
    decoder: DecoderName | None = None
    """``free``: the best tags, valid or not; ``fix``: these, repaired by the Entity-Fix rule
    (section 4.3); ``viterbi``: the best valid tags; ``cse``: section 4.1; ``greedy``: spans by
    probability; ``schedule``: the best disjoint spans. None: the first of ``DECODERS``."""
    pooling: Literal["first", "mean", "max"] = "first"
    """A word is its first subword, or the mean or the maximum of all."""
    dropout: float = 0.0
    """Before the head."""
    class_weights: Literal["none", "inverse"] = "none"
    """``inverse``: 1 / count of the class in training data (D-F6); of softmax, cse and span."""
    boundary_loss: Literal["bce", "l1", "l2"] = "bce"
    """Of the starts and ends of ``cse`` (B-N5)."""
    boundary_weight: float = 6.0
    """How much a start or end weighs there against none: 1 + 5 (B-N5)."""
    crf_init: Literal["off", "on", "neiss"] = "off"
    """Of ``crf_ner``: ω_f=1, ω_a=0, a plain chain at first; ω_f=1, ω_a=10, the rules from the
    start; or all from U(−0.05, 0.05), as NEISS has it (B-N7)."""
    span_features: Literal["both", "words", "entities"] = "both"
    """[first subword; last subword; entity], the first two, or the last (D-F2)."""
    span_reading: Literal["alone", "joint"] = "alone"
    """Entities see the text and themselves, and nothing sees them; or, as in LUKE, all see all, up
    to 128 at once: slower, and all candidates are read."""
    max_span_subwords: int = 16
    """Longest span that ``span`` can find (B-D8); longer gold spans are named, and missed."""
    max_candidates: float = 3.0
    """Spans for each word, at most, that are given an entity of their own after a cheap first
    score; 0: all are. Only for ``span`` with entities."""
    skip_below: float = 0.005
    """In use, spans that by the first score are names with less than this probability are not
    given one, however few there are."""

    @property
    def longest_span(self) -> int:
        """The longest candidate span, in subwords; 0: no spans are scored."""
        return self.max_span_subwords if self.kind == "span" else 0


@dataclass(frozen=True, kw_only=True)
class SentencesConfig(Config):
    """How sentences become windows of subwords."""

    max_length: int = 0
    """Subwords of a window, [CLS] and [SEP] included; 0: as many as the encoder has positions for
    (512 where it has no limit)."""
    overlap: int = 64
    """Subwords that windows of a sentence which is too long share, at least."""
    context: Literal["none", "document"] = "none"
    """``document``: sentences around it, as many subwords as fit, are read with it (L-F1)."""
    max_context: int = 0
    """Subwords of context, on both sides together; 0: as many as fit."""
    entities: str = ""
    """A vocabulary, a lexicon or a file of forms: words know the entities of the forms that they
    are part of (``encoder.entities=subwords``); empty: they know none."""


@dataclass(frozen=True, kw_only=True)
class GazetteerConfig(Config):
    """The source of names that are looked up; matches are features of words beside their states."""

    source: Literal["none", "train", "file", "entities"] = "none"
    """The names of the training set (cross-fitted); a file of names and labels; an entity
    vocabulary with its aliases."""
    path: str = ""
    """Of a file or vocabulary."""
    folds: int = 10
    """Of cross-fitting: a document's names are looked up among those of other documents' folds."""


@dataclass(frozen=True, kw_only=True)
class FinetuningConfig(Config):
    """The length of training, the size of batches, the epoch that is kept, and what is trained."""

    epochs: int = 10
    samples: int = 0
    """Sentences of an epoch, drawn again each time; 0: all, each once (N-F4: 5,000)."""
    max_steps: int = 0
    """Steps after which training ends, whatever the epochs; 0: no such limit."""
    batch_size: int = 16
    """Sentences of a step."""
    evaluate_batch_size: int = 32
    seed: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    choose: Literal["best", "last"] = "best"
    """The epoch with the best strict F1 on dev, or the last one."""
    patience: int = 0
    """Epochs without a better F1 after which training ends; 0: never."""
    train_size: int = 0
    """Training sentences that are used, chosen by hash; 0: all."""
    gold_ratio: float = 0.5
    """How much gold tags count beside what ``--teacher`` says of the same words: 0 to 1."""
    freeze_encoder: bool = False
    """Train the head alone."""
    freeze_embeddings: bool = False
    """Leave the encoder's embeddings as they are."""
    frozen_layers: int = 0
    """So many of the encoder's layers, from below, and its embeddings stay as they are."""
    layer_decay: float = 1.0
    """Each layer has this fraction of the learning rate of the one above, the head all of it."""
    lora_rank: int = 0
    """Width of LoRA's matrices, which learn in place of the encoder's weights, and are added to
    them in the end (peft); 0: none. They want a higher ``lr``, 2e-4 to 1e-3."""
    lora_alpha: int = 16
    """What they learn is multiplied by this, and divided by their rank."""


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

    labels: tuple[str, ...] = ()
    """In the order of their ids."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    head: HeadConfig = field(default_factory=HeadConfig)
    data: SentencesConfig = field(default_factory=SentencesConfig)
    gazetteer: GazetteerConfig = field(default_factory=GazetteerConfig)
    n_features: int = 0
    """G, of the gazetteer."""
    temperature: float = 1.0
    """That probabilities are calibrated with: logits are divided by it (fitted on dev)."""
