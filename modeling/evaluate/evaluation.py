"""All that is measured of a tagger on a set of sentences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.matching.sequences import LEVELS
from modeling.data.predictions import Tagged
from modeling.evaluate.baseline import Floor, find_floor
from modeling.evaluate.calibration import Calibration, calibrate_spans, calibrate_words
from modeling.evaluate.errors import Confusion, Finding, Kind, confuse, count_kinds, find_errors
from modeling.evaluate.intervals import Difference, Unit, Units
from modeling.evaluate.scores import Drawn, Rated, Scores, draw, rate, rate_labels, subtract
from modeling.evaluate.slices import (
    GROUPS,
    Group,
    Known,
    Part,
    by_length,
    by_mention,
    by_sentence,
)
from modeling.taggers.counts import Counts, count_lenient, count_strict, count_words

UNTOLD = {"tagged", "findings"}
"""Fields that are lists of what the numbers are of; they have files of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Strict score of a part of the mentions or sentences."""

    name: str
    sentences: int | None
    """How many they are; None: a part of the mentions of all sentences."""
    score: Rated


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorScore:
    """What the names of train score on the same sentences (``floor.py``)."""

    forms: int
    threshold: float
    """A name is used if it is a mention in at least this share of its occurrences in train."""
    chosen_on: Literal["dev", "train"]
    score: Rated
    above: Difference
    """By how much the tagger is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Of one run on one set of sentences."""

    labels: tuple[str, ...]
    """Those asked for, then others that are gold or predicted."""
    without: tuple[str, ...]
    """Labels that ``Scores.without`` leaves out."""
    n_sentences: int
    n_words: int
    n_documents: int
    unit: Unit
    """What the bootstrap draws."""
    n_units: int
    replicates: int
    seed: int
    """Of the bootstrap."""
    strict: Scores
    lenient: Scores
    words: Scores
    """Token F1: of words, B- and I- taken off."""
    mentions: tuple[Slice, ...]
    """Seen in training or not; empty without training sentences."""
    sentences: tuple[Slice, ...]
    """In training or not; the same."""
    lengths: tuple[Slice, ...]
    floor: FloorScore | None
    kinds: Mapping[str, Mapping[Kind, int]]
    """What is right and wrong, by label (``errors.py``)."""
    confusion: Confusion
    calibration: Calibration
    """Of the predicted spans."""
    calibration_by_label: Mapping[str, Calibration]
    calibration_of_words: Calibration | None
    findings: Sequence[Finding]
    tagged: Sequence[Tagged]

    @property
    def strict_f1(self) -> float:
        """The main number: strict micro F1."""
        return self.strict.micro.f1

    @property
    def scores(self) -> dict[str, float]:
        """The numbers that tables are made of, by name."""
        named = {
            "strict_f1": self.strict.micro.f1,
            "strict_precision": self.strict.micro.precision,
            "strict_recall": self.strict.micro.recall,
            "strict_macro_f1": self.strict.macro_f1,
            "lenient_f1": self.lenient.micro.f1,
            "token_f1": self.words.micro.f1,
            "ece": self.calibration.ece,
        }
        if self.strict.without and self.lenient.without:
            named["strict_f1_without"] = self.strict.without.f1
            named["lenient_f1_without"] = self.lenient.without.f1
        return named

    def to_json(self) -> dict[str, Any]:
        """All numbers; the predictions and errors themselves have files of their own."""
        told = {
            field.name: as_json(getattr(self, field.name))
            for field in fields(self)
            if field.name not in UNTOLD
        }
        return {"scores": self.scores, **told}

    def to_markdown(self, *, title: str, notes: Sequence[str] = ()) -> str:
        """A page that a person can read."""
        from modeling.evaluate.contents import describe  # noqa: PLC0415 - it knows this module
        from modeling.pages import to_markdown  # noqa: PLC0415

        return to_markdown(describe({"": self}, title=title, notes=notes))


def as_json(value: Any) -> Any:
    """Dataclasses as objects, scores with what follows from them, arrays as lists."""
    if is_dataclass(value):
        made = {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
        derived = ("precision", "recall", "f1", "normal") if isinstance(value, Rated) else ()
        return made | {name: as_json(getattr(value, name)) for name in derived}
    if isinstance(value, Mapping):
        return {key: as_json(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    return value


def evaluate(
    tagged: Sequence[Tagged],
    *,
    labels: Sequence[str],
    train: Iterable[Sentence] | None = None,
    dev: Iterable[Sentence] | None = None,
    without: Sequence[str] = (),
    seed: int = 1,
    replicates: int = 1000,
) -> Evaluation:
    """Measure what was predicted.

    ``without`` labels are left out, gold and predicted, of a second micro score. Without ``train``
    nothing is said of what training has seen, and there is no floor. ``seed`` is the bootstrap's.
    Raises ``CorpusError`` where there is no sentence, or ``without`` holds an unknown label.
    """
    strict = count_strict(tagged, labels)
    _check(tagged, strict.labels, without)
    units = Units.choose([one.sentence.document_id for one in tagged])
    sentences = None if train is None else list(train)
    parts, floor = _look_at_train(tagged, strict, train=sentences, dev=list(dev or ()))
    columns = {
        "strict": strict.rows,
        "lenient": count_lenient(tagged, labels).rows,
        "words": count_words(tagged, labels).rows,
        "parts": np.stack([part.rows for part in parts], axis=1),
    }
    if floor:
        columns["floor"] = count_strict(floor.tagged, labels).rows
    drawn = draw(columns, units, replicates=replicates, seed=seed)
    slices = _rate_parts(parts, drawn["parts"])
    findings = find_errors(tagged)
    calibration, by_label = calibrate_spans(tagged)
    return Evaluation(
        labels=strict.labels,
        without=tuple(without),
        n_sentences=len(tagged),
        n_words=sum(len(one.sentence.tokens) for one in tagged),
        n_documents=len({one.sentence.document_id for one in tagged}),
        unit=units.kind,
        n_units=units.n,
        replicates=replicates,
        seed=seed,
        strict=rate_labels(drawn["strict"], strict.labels, without=without),
        lenient=rate_labels(drawn["lenient"], strict.labels, without=without),
        words=rate_labels(drawn["words"], strict.labels, without=without),
        mentions=slices["mentions"],
        sentences=slices["sentences"],
        lengths=slices["lengths"],
        floor=_rate_floor(floor, drawn, units) if floor else None,
        kinds=count_kinds(findings),
        confusion=confuse(tagged, labels),
        calibration=calibration,
        calibration_by_label=by_label,
        calibration_of_words=calibrate_words(tagged),
        findings=findings,
        tagged=tagged,
    )


def _check(tagged: Sequence[Tagged], labels: Sequence[str], without: Sequence[str]) -> None:
    if not tagged:
        raise CorpusError("there is no sentence to evaluate. Is the split empty?")
    if unknown := set(without).difference(labels):
        raise CorpusError(
            f"to be left out: {', '.join(sorted(unknown))}, but the labels are "
            f"{', '.join(labels)}. Name some of these."
        )


def _look_at_train(
    tagged: Sequence[Tagged],
    strict: Counts,
    *,
    train: Sequence[Sentence] | None,
    dev: Sequence[Sentence],
) -> tuple[list[Part], Floor | None]:
    """All parts, those that training has seen among them if it is known; and the floor."""
    rows = strict.micro()
    parts = by_length(tagged, rows)
    if train is None:
        return parts, None
    known = Known.of(train)
    parts += [*by_mention(tagged, known), *by_sentence(tagged, rows, known)]
    return parts, find_floor([one.sentence for one in tagged], train=train, dev=dev)


def _rate_parts(parts: Sequence[Part], drawn: Drawn) -> dict[Group, tuple[Slice, ...]]:
    rated = [
        (part.group, Slice(name=part.name, sentences=part.sentences, score=score))
        for part, score in zip(parts, rate(drawn), strict=True)
    ]
    return {group: tuple(one for of, one in rated if of == group) for group in GROUPS}


def _rate_floor(floor: Floor, drawn: Mapping[str, Drawn], units: Units) -> FloorScore:
    found = drawn["floor"].sum()
    return FloorScore(
        forms=floor.forms,
        threshold=floor.level / LEVELS,
        chosen_on=floor.chosen_on,
        score=rate(found)[0],
        above=subtract(drawn["strict"].sum(), found, units),
    )
