"""The types of files that describe runs: ``settings.json``, ``run.json``, ``histograms.json``.

Settings are compared and shown as a whole; only the fields that code reads are declared here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from modeling.huggingface.hub import HubModel

if TYPE_CHECKING:
    from modeling.data.tagger_inputs import TooLong  # loads torch


class ModelIdentity(HubModel, total=False):
    """A folder with a model: its name, the hashes of its weights, and the commit on a hub."""

    sha256: dict[str, str]
    labels: dict[str, str]
    """New names of labels, by old name, if the training of a tagger is continued."""


class TrainingRecord(TypedDict, total=False):
    """Fields of ``TrainingConfig``, of pre-training or fine-tuning."""

    seed: int
    batch_size: int
    max_steps: int
    frozen: float
    patience: int
    train_size: int


class HeadsRecord(TypedDict):
    """Fields of ``PretrainConfig.heads``."""

    weights: dict[str, float]


class HeadRecord(TypedDict):
    """Fields of ``FinetuneConfig.head``."""

    kind: str


class ConfigRecord(TypedDict, total=False):
    """Fields of ``PretrainConfig`` or ``FinetuneConfig``."""

    training: TrainingRecord
    heads: HeadsRecord
    head: HeadRecord


class FoldRecord(TypedDict):
    """The fold of a cross-validation whose sentences are for testing."""

    number: int
    of: int


class DataRecord(TypedDict, total=False):
    """The data of a tagger; ``train`` and ``dev`` count sentences, words and others."""

    ner: str
    labels: list[str]
    entities: Mapping[str, int] | None
    untagged: int
    train: dict[str, int]
    dev: dict[str, int] | None


class DevRecord(TypedDict, total=False):
    """The scores of a tagger on dev, and the values that were chosen on dev."""

    epoch: int
    too_long: "Mapping[str, TooLong]"
    strict_f1: float
    predicted: int
    """The number of names that it finds."""
    baseline: float
    """The strict F1 of a list of the names of train."""
    temperature: float
    threshold: float | None


def shortfall(scores: DevRecord) -> str:
    """Say what a tagger cannot do on dev; empty if it is above the list of the names of train."""
    if scores.get("predicted") == 0:
        return "predicts no name"
    baseline = scores.get("baseline", 0.0)
    return (
        f"below the list of names ({baseline:.4f})"
        if scores.get("strict_f1", 0.0) < baseline
        else ""
    )


class Manifest(TypedDict, total=False):
    """``settings.json`` of a run, or ``run.json`` of its model, which adds ``dev`` and ``data``.

    Only runs of ``onoma finetune`` have ``setting`` and ``fold``.
    """

    recipe: str
    setting: str
    fold: FoldRecord | None
    config: ConfigRecord
    examples: list[Mapping[str, object]]
    """The hashes of each dataset."""
    example_folders: list[str]
    init_from: ModelIdentity | None
    world_size: int
    versions: dict[str, str]
    dev: DevRecord
    data: DataRecord


class Histogram(TypedDict):
    """A histogram of weights: ``weights.N_BINS`` bins from ``-EDGE`` to ``EDGE``, and the rest."""

    counts: list[int]
    below: int
    above: int
    n: int
    mean: float
    sd: float


Histograms = dict[str, dict[str, Histogram]]
"""Histograms by origin (``transferred``, ``new``) and part of the model."""
