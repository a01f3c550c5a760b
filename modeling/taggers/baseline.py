"""The gazetteer baseline, which looks up the names of the training sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corpora.document import Sentence
from corpora.hashing.sampling import ratio
from corpora.matching.arrays import first_disjoint
from corpora.ner.columns import SentenceColumns, to_columns
from corpora.ner.gazetteer import LEVELS, TrainForms, learn, score
from corpora.ner.tally import Labels, tally
from corpora.tagging import Score
from modeling.bootstrap import MIN_DOCUMENTS
from modeling.data.predictions import PredictedSpan, Tagged

N_FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The sentences tagged by the names of train, and the level that was used."""

    forms: int
    """The number of distinct names."""
    level: int
    """The threshold: a name is used if it is a mention in so many twentieths of its occurrences."""
    chosen_on: Literal["dev", "train"]
    """The sentences that chose the level: dev, or train, each fifth scored by names of the rest."""
    tagged: tuple[Tagged, ...]
    """The sentences; the probability of a span is the level of its name, divided by 20."""


def find_baseline(
    sentences: Sequence[Sentence], *, train: Sequence[Sentence], dev: Sequence[Sentence] = ()
) -> Baseline:
    """Tag sentences by looking up the names of train.

    The level is the one with the best strict F1 on dev; ties go to the smaller level. If dev has no
    mention, F1 is cross-fitted on train, over folds of documents (of sentences, if there are fewer
    than ``MIN_DOCUMENTS`` documents).
    """
    names, labels = _learn(train)
    scores = score(names, to_columns(dev), labels)
    has_dev = scores[0].gold > 0
    if not has_dev:
        scores = _cross_fit(train)
    level = max(range(LEVELS + 1), key=lambda level: (scores[level].f1, -level))
    return Baseline(
        forms=len(names),
        level=level,
        chosen_on="dev" if has_dev else "train",
        tagged=tuple(_tag(names, sentences, labels.names, level=level)),
    )


def _learn(train: Sequence[Sentence]) -> tuple[TrainForms, Labels]:
    labels = Labels()
    forms = tally(to_columns(train), labels).forms.table()
    return learn(forms, to_columns(train), labels), labels


def _tag(
    names: TrainForms, sentences: Sequence[Sentence], labels: Sequence[str], *, level: int
) -> Iterator[Tagged]:
    columns = SentenceColumns.of_sentences(sentences)
    matches = names.lookup.find(columns)
    used = np.flatnonzero(names.levels[matches.forms] >= level)
    kept = used[first_disjoint(matches.starts[used], matches.ends[used])]
    of_sentences = np.searchsorted(columns.begins, matches.starts[kept], side="right") - 1
    spans: list[list[PredictedSpan]] = [[] for _ in sentences]
    for match, index in zip(kept, of_sentences.tolist(), strict=True):
        form, begin = matches.forms[match], columns.begins[index]
        span = PredictedSpan(
            start=int(matches.starts[match] - begin),
            end=int(matches.ends[match] - begin),
            label=labels[names.labels[form]],
            probability=int(names.levels[form]) / LEVELS,
        )
        spans[index].append(span)
    for sentence, own in zip(sentences, spans, strict=True):
        yield Tagged(sentence=sentence, spans=tuple(own))


def _cross_fit(train: Sequence[Sentence]) -> list[Score]:
    """Score each fold with the names of the other folds; return the summed counts of each level."""
    by_document = len({sentence.document_id for sentence in train}) >= MIN_DOCUMENTS
    folds: list[list[Sentence]] = [[] for _ in range(N_FOLDS)]
    for sentence in train:
        name = sentence.document_id if by_document else sentence.id
        folds[int(N_FOLDS * ratio(name))].append(sentence)
    scored = []
    for held_out in folds:
        names, labels = _learn([one for fold in folds if fold is not held_out for one in fold])
        scored.append(score(names, to_columns(held_out), labels))
    return [
        Score(
            correct=sum(score.correct for score in scores),
            predicted=sum(score.predicted for score in scores),
            gold=sum(score.gold for score in scores),
        )
        for scores in zip(*scored, strict=True)
    ]
