"""``evaluation.json``, ``comparison.json``, ``predictions.jsonl``: JSON of these shapes.

Of the first two only what is read again is named here.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from modeling.bootstrap import Unit


class IntervalRecord(TypedDict):
    """``Interval``."""

    low: float
    high: float
    replicates: int


class RatedRecord(TypedDict):
    """``Rated``, with what follows from its counts."""

    correct: int
    predicted: int
    gold: int
    interval: IntervalRecord | None
    precision: float
    recall: float
    f1: float


class ScoresRecord(TypedDict):
    """``Scores``."""

    micro: RatedRecord
    by_label: Mapping[str, RatedRecord]


class BaselineRecord(TypedDict):
    """``BaselineScore``."""

    score: RatedRecord


class RunRecord(TypedDict):
    """``Evaluation``: of one tagger."""

    scores: Mapping[str, float]
    n_sentences: int
    unit: Unit
    replicates: int
    strict: ScoresRecord
    baseline: BaselineRecord | None
    floor: NotRequired[BaselineRecord | None]
    """Version 1 named it so."""


class SpreadRecord(TypedDict):
    """``Spread``."""

    mean: float
    deviation: float | None
    values: Sequence[float]


class EvaluationRecord(TypedDict):
    """``evaluation.json``: runs that differ in their seeds, and ``settings`` to make tables by."""

    version: int
    title: str
    settings: Mapping[str, object]
    scores: Mapping[str, SpreadRecord]
    runs: Mapping[str, RunRecord]


class DifferenceRecord(TypedDict):
    """``Difference``."""

    value: float
    interval: IntervalRecord | None
    p: float | None
    unit: Unit
    n_units: int


class ComparisonRecord(TypedDict):
    """``comparison.json``: two runs on the same sentences."""

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
    """Start, end, label, probability."""
    tags: NotRequired[Sequence[str]]
    words: NotRequired[Sequence[tuple[str, float]]]
