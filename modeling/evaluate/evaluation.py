"""The evaluation of a tagger on a set of sentences, with all measures."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.ner.gazetteer import LEVELS
from corpora.tagging import from_iob2
from modeling.bootstrap import DrawnUnits, Unit
from modeling.data.predictions import Tagged, outermost
from modeling.evaluate.calibration import Calibration, calibrate_spans, calibrate_words
from modeling.evaluate.errors import Confusion, Finding, Kind, confuse, count_kinds, find_errors
from modeling.evaluate.records import SavedEvaluation
from modeling.evaluate.scores import (
    Difference,
    DrawnCounts,
    Rated,
    Scores,
    draw,
    rate_labels,
    subtract,
    to_ratings,
)
from modeling.taggers.baseline import Baseline, find_baseline
from modeling.taggers.counts import (
    CORRECT,
    GOLD,
    PREDICTED,
    Key,
    Numbers,
    count_lenient,
    count_strict,
    count_words,
    gold_keys,
    predicted_keys,
)

N_BUCKETS = 7
"""The number of parts into which sentences are grouped by length."""

MANY_WORDS = 6
"""Words of a long sentence, at least: shorter ones are often in train by chance (over 5)."""


@dataclass(frozen=True, slots=True)
class TrainingNames:
    """The mentions and sentences of the training set."""

    sentences: frozenset[tuple[str, ...]]
    """The tokens of each sentence."""
    labels: Mapping[tuple[str, ...], set[str]] = field(repr=False)
    """The labels of each form that is a mention in train."""

    @classmethod
    def of(cls, train: Iterable[Sentence]) -> "TrainingNames":
        """Collect the mentions and sentences of ``train``, which is read once."""
        labels: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        sentences = set()
        for sentence in train:
            sentences.add(sentence.tokens)
            for span in from_iob2(sentence.tags):
                labels[sentence.tokens[span.start : span.end]].add(span.label)
        return cls(frozenset(sentences), dict(labels))


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset of the sentences, or of the mentions of all sentences, with its counts."""

    name: str
    rows: Numbers
    """(N, 3): the strict counts of the part in each sentence."""
    sentences: int | None = None
    """The number of sentences; None for a part of the mentions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The strict score of a ``Subset``, a subset of the mentions or sentences."""

    name: str
    sentences: int | None
    """The number of sentences; None for a part of the mentions of all sentences."""
    score: Rated


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineScore:
    """The score of the gazetteer baseline (``baseline.py``) on the same sentences."""

    forms: int
    threshold: float
    """The least fraction of a name's occurrences in train that are mentions, for it to be used."""
    chosen_on: Literal["dev", "train"]
    score: Rated
    above: Difference
    """Strict F1 of the tagger minus that of the baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The evaluation of one run on one set of sentences."""

    labels: tuple[str, ...]
    """The labels that were asked for, then others that are gold or predicted."""
    without: tuple[str, ...]
    """Labels that ``Scores.without`` leaves out."""
    n_sentences: int
    n_words: int
    n_documents: int
    unit: Unit
    """The unit that the bootstrap draws."""
    n_units: int
    replicates: int
    seed: int
    """The seed of the bootstrap."""
    strict: Scores
    lenient: Scores
    words: Scores
    """The scores of words (token F1), without B- and I-."""
    mentions: tuple[Slice, ...]
    """Mentions by whether train has them; empty without training sentences."""
    sentences: tuple[Slice, ...]
    """Sentences by whether train has them; empty without training sentences."""
    lengths: tuple[Slice, ...]
    baseline: BaselineScore | None
    kinds: Mapping[str, Mapping[Kind, int]]
    """Counts of right and wrong spans, by label and kind (``errors.py``)."""
    confusion: Confusion
    calibration: Calibration
    """The calibration of the predicted spans."""
    calibration_by_label: Mapping[str, Calibration]
    calibration_of_words: Calibration | None
    findings: Sequence[Finding]
    tagged: Sequence[Tagged]

    @property
    def strict_f1(self) -> float:
        """Strict micro F1, the main score."""
        return self.strict.micro.f1

    @property
    def scores(self) -> dict[str, float]:
        """The scores for tables, by name."""
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

    def to_json(self) -> SavedEvaluation:
        """Convert all numbers to JSON; predictions and single errors are in other files."""
        names = [field.name for field in fields(self) if field.name not in {"tagged", "findings"}]
        record: SavedEvaluation = as_json(
            {"scores": self.scores} | {name: getattr(self, name) for name in names}
        )
        return record


def as_json(value: object) -> Any:  # Any: ``records.py`` names the shapes
    """Convert a value to JSON: dataclasses to objects, arrays and tuples to lists.

    A ``Rated`` also gets its precision, recall, F1 and interval by the normal approximation.
    """
    if is_dataclass(value):
        values = {item.name: as_json(getattr(value, item.name)) for item in fields(value)}
        derived = ("precision", "recall", "f1", "normal") if isinstance(value, Rated) else ()
        return values | {name: as_json(getattr(value, name)) for name in derived}
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
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
    """Measure the predictions of a tagger.

    The labels in ``without`` are left out, gold and predicted, of a second micro score. Without
    ``train`` there is no baseline, and no score by what training has seen. ``seed`` is that of the
    bootstrap. Raises ``CorpusError`` if there is no sentence, or an unknown label in ``without``.
    """
    strict = count_strict(tagged, labels)
    _check(tagged, strict.labels, without)
    units = DrawnUnits.choose([one.sentence.document_id for one in tagged])
    rows = strict.micro()
    parts = {"lengths": by_length(tagged, rows)}
    baseline: Baseline | None = None
    columns = {
        "strict": strict.rows,
        "lenient": count_lenient(tagged, labels).rows,
        "words": count_words(tagged, labels).rows,
    }
    if train is not None:
        train = list(train)
        known, own = TrainingNames.of(train), [one.sentence for one in tagged]
        parts["mentions"] = by_mention(tagged, known)
        parts["sentences"] = by_sentence(tagged, rows, known)
        baseline = find_baseline(own, train=train, dev=list(dev or ()))
        columns["baseline"] = count_strict(baseline.tagged, labels).rows
    columns |= {name: np.stack([part.rows for part in of], axis=1) for name, of in parts.items()}
    drawn = draw(columns, units, replicates=replicates, seed=seed)
    slices = {name: _rate_parts(of, drawn[name]) for name, of in parts.items()}
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
        mentions=slices.get("mentions", ()),
        sentences=slices.get("sentences", ()),
        lengths=slices["lengths"],
        baseline=_rate_baseline(baseline, drawn, units) if baseline else None,
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


def _rate_parts(parts: Sequence[Subset], drawn: DrawnCounts) -> tuple[Slice, ...]:
    return tuple(
        Slice(name=part.name, sentences=part.sentences, score=score)
        for part, score in zip(parts, to_ratings(drawn), strict=True)
    )


def _rate_baseline(
    baseline: Baseline, drawn: Mapping[str, DrawnCounts], units: DrawnUnits
) -> BaselineScore:
    found = drawn["baseline"].sum()
    return BaselineScore(
        forms=baseline.forms,
        threshold=baseline.level / LEVELS,
        chosen_on=baseline.chosen_on,
        score=to_ratings(found)[0],
        above=subtract(drawn["strict"].sum(), found, units),
    )


def by_mention(tagged: Sequence[Tagged], known: TrainingNames) -> list[Subset]:
    """Split mentions by whether train has a mention with their form, or their form and label.

    Each gold mention and each predicted span belongs to a part by its own form and label. So a
    correct span is in the same part on both sides, and the first three parts add up to the whole;
    the last two are sums of these.
    """
    rows = np.zeros((len(tagged), 3, 3), np.int64)
    for number, one in enumerate(tagged):
        gold = gold_keys(one)
        right = set(gold)
        for key in gold:
            rows[number, _part_of(key, one, known), GOLD] += 1
        for key in predicted_keys(one):
            part = rows[number, _part_of(key, one, known)]
            part[PREDICTED] += 1
            part[CORRECT] += key in right
    both, form_only, new = rows.swapaxes(0, 1)
    return [
        Subset("form and label in train", both),
        Subset("form in train, with other labels only", form_only),
        Subset("form not in train", new),
        Subset("form in train, whatever its label", both + form_only),
        Subset("form not in train with this label", form_only + new),
        *by_level(tagged),
    ]


def by_level(tagged: Sequence[Tagged]) -> list[Subset]:
    """Split mentions by whether they are inside another; empty if no inner names are scored.

    A name counts as right only at its level. The sum of both levels is the first metric of GermEval
    2014.
    """
    if not any(one.sentence.inner_tags for one in tagged):
        return []
    rows = np.zeros((len(tagged), 2, 3), np.int64)
    for counts, one in zip(rows, tagged, strict=True):
        gold = from_iob2(one.sentence.tags), from_iob2(one.sentence.inner_tags or ())
        outer = outermost(one.spans)
        inner = [span for span in one.spans if span not in outer]
        for level, (own, predicted) in enumerate(zip(gold, (outer, inner), strict=True)):
            keys, found = ({(s.start, s.end, s.label) for s in some} for some in (own, predicted))
            counts[level] = len(keys & found), len(found), len(keys)
    outer_rows, inner_rows = rows.swapaxes(0, 1)
    return [
        Subset("outer names", outer_rows),
        Subset("inner names", inner_rows),
        Subset("both levels, each name at its own (GermEval 2014)", outer_rows + inner_rows),
    ]


def _part_of(key: Key, one: Tagged, known: TrainingNames) -> int:
    start, end, label = key
    labels = known.labels.get(one.sentence.tokens[start:end])
    if labels is None:
        return 2
    return 0 if label in labels else 1


def by_sentence(tagged: Sequence[Tagged], rows: Numbers, known: TrainingNames) -> list[Subset]:
    """Split sentences by whether a training sentence has the same tokens."""
    leaked = np.array([one.sentence.tokens in known.sentences for one in tagged], np.bool_)
    long = np.array([len(one.sentence.tokens) >= MANY_WORDS for one in tagged], np.bool_)
    return [
        _choose("sentence not in train", rows, ~leaked),
        _choose("sentence in train", rows, leaked),
        _choose(f"sentence in train, of {MANY_WORDS} words or more", rows, leaked & long),
    ]


def by_length(
    tagged: Sequence[Tagged], rows: Numbers, *, n_buckets: int = N_BUCKETS
) -> list[Subset]:
    """Group sentences by length into parts of nearly equal size, each length in one part.

    A length is in the part that would hold the middle one of its sentences if all parts were equal.
    """
    lengths = np.array([len(one.sentence.tokens) for one in tagged], np.int64)
    values, inverse, counts = np.unique(lengths, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - counts / 2
    buckets = (middles * n_buckets // max(1, len(lengths))).astype(np.int64)
    parts = []
    for bucket in np.unique(buckets):
        chosen = (buckets == bucket)[inverse]
        [low, *_], [*_, high] = values[buckets == bucket], values[buckets == bucket]
        span = f"{low}" if low == high else f"{low} to {high}"
        name = "1 word" if high == 1 else f"{span} words"
        parts.append(_choose(name, rows, chosen))
    return parts


def _choose(name: str, rows: Numbers, chosen: NDArray[np.bool_]) -> Subset:
    return Subset(name, rows * chosen[:, None], int(np.count_nonzero(chosen)))
