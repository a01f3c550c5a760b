"""What runs write about themselves (``settings.json``, ``run.json``, ``histograms.json``).

Settings are compared, and shown, as they are; what is named here is what anything else reads.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict


class ModelIdentity(TypedDict, total=False):
    """A folder with a model: hashes of its weights, and of a hub the commit."""

    name: str
    sha256: dict[str, str]
    revision: str


class TrainingRecord(TypedDict, total=False):
    """``TrainingConfig`` of either kind."""

    seed: int
    batch_size: int
    max_steps: int
    frozen: float
    patience: int
    train_size: int


class HeadsRecord(TypedDict):
    """``PretrainConfig.heads``."""

    weights: dict[str, float]


class ConfigRecord(TypedDict, total=False):
    """``PretrainConfig`` or ``FinetuneConfig``."""

    training: TrainingRecord
    heads: HeadsRecord


class FoldRecord(TypedDict):
    """The part of a cross-validation."""

    number: int
    of: int


class DataRecord(TypedDict, total=False):
    """What a tagger has learned from; ``train`` and ``dev``: counts of sentences and others."""

    ner: str
    labels: list[str]
    entities: Mapping[str, int] | None
    train: dict[str, int]
    dev: dict[str, int] | None


class DevRecord(TypedDict, total=False):
    """How good a tagger is on dev."""

    epoch: int
    too_long: Mapping[str, object]
    strict_f1: float
    temperature: float
    threshold: float | None


class Manifest(TypedDict, total=False):
    """``settings.json`` of a run; ``run.json`` of its model, which has ``dev`` and ``data``, too.

    Of a run of ``modeling.finetune``: ``setting``, ``fold``.
    """

    recipe: str
    setting: str
    fold: FoldRecord | None
    config: ConfigRecord
    examples: Sequence[Mapping[str, object]]
    """The datasets, by their hashes."""
    init_from: ModelIdentity | None
    world_size: int
    versions: dict[str, str]
    dev: DevRecord
    data: DataRecord


class Histogram(TypedDict):
    """Of weights: ``weights.N_BINS`` counts from ``-EDGE`` to ``EDGE``, and what lies outside."""

    counts: list[int]
    below: int
    above: int
    n: int
    mean: float
    sd: float


Histograms = dict[str, dict[str, Histogram]]
"""By origin (``transferred``, ``new``) and part of the model."""
