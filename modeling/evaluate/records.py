"""The types of ``evaluation.json``, ``comparison.json`` and ``predictions.jsonl``.

Of the first two, only the fields that code reads again are declared here.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from modeling.bootstrap import Unit


class IntervalRecord(TypedDict):
    """An ``Interval`` as JSON."""

    low: float
    high: float
    replicates: int


class RatedRecord(TypedDict):
    """A ``Rated`` as JSON, with the scores that follow from its counts."""

    correct: int
    predicted: int
    gold: int
    interval: IntervalRecord | None
    precision: float
    recall: float
    f1: float


class ScoresRecord(TypedDict):
    """The ``Scores`` as JSON."""

    micro: RatedRecord
    by_label: Mapping[str, RatedRecord]


class BaselineRecord(TypedDict):
    """A ``BaselineScore`` as JSON."""

    score: RatedRecord


class SavedEvaluation(TypedDict):
    """An ``Evaluation``, of one tagger, as JSON."""

    scores: Mapping[str, float]
    n_sentences: int
    unit: Unit
    replicates: int
    strict: ScoresRecord
    baseline: BaselineRecord | None


class SpreadRecord(TypedDict):
    """A ``Spread`` as JSON."""

    mean: float
    deviation: float | None
    values: Sequence[float]


class EvaluationRecord(TypedDict):
    """The file ``evaluation.json``: runs that differ in their seeds, and settings for tables."""

    version: int
    title: str
    settings: Mapping[str, object]
    scores: Mapping[str, SpreadRecord]
    runs: Mapping[str, SavedEvaluation]


class DifferenceRecord(TypedDict):
    """A ``Difference`` as JSON."""

    value: float
    interval: IntervalRecord | None
    p: float | None
    unit: Unit
    n_units: int


class ComparisonRecord(TypedDict):
    """The file ``comparison.json``: two runs on the same sentences."""

    first: RatedRecord
    second: RatedRecord
    difference: DifferenceRecord


class PredictionRecord(TypedDict):
    """A line of ``predictions.jsonl``."""

    run: str
    id: str
    document_id: str
    split: str
    tokens: Sequence[str]
    gold: Sequence[str]
    spans: Sequence[tuple[int, int, str, float]]
    """The start, end, label and probability of each span."""
    tags: NotRequired[Sequence[str]]
    words: NotRequired[Sequence[tuple[str, float]]]
