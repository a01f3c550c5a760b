"""What a list of the names of training finds, with no model at all: what a tagger must be above."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from corpora.document import Sentence
from corpora.hashing.sampling import share
from corpora.matching.sequences import (
    LEVELS,
    Form,
    Matcher,
    Name,
    Score,
    learn_names,
    leftmost_longest,
    score_names,
)
from corpora.tagging import from_iob2
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.evaluate.scores import MIN_DOCUMENTS

N_FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Sentences tagged by the names of train."""

    forms: int
    """Distinct names."""
    level: int
    """A name is used if it is a mention in so many twentieths of its occurrences in train."""
    chosen_on: Literal["dev", "train"]
    """Where the level scores best: on dev, or on each fifth of train with the names of the rest."""
    tagged: tuple[Tagged, ...]
    """The sentences; the probability of a span is that of its name (the level's lower end)."""


def find_baseline(
    sentences: Sequence[Sentence], *, train: Sequence[Sentence], dev: Sequence[Sentence] = ()
) -> Baseline:
    """Tag sentences with the names of train; a level's ties go to the smaller.

    The level is that with the best strict F1 on dev; where dev has no mention, on train, by folds
    of documents (of sentences, where there are fewer than ``MIN_DOCUMENTS``).
    """
    names = learn_names(_count_forms(train), train)
    scores = score_names(names, dev)
    has_dev = scores[0].gold > 0
    if not has_dev:
        scores = _cross_fit(train)
    level = max(range(LEVELS + 1), key=lambda level: (scores[level].f1, -level))
    return Baseline(
        forms=len(_count_forms(train)),
        level=level,
        chosen_on="dev" if has_dev else "train",
        tagged=tuple(_tag(names, sentence, level=level) for sentence in sentences),
    )


def _tag(names: Matcher[Name], sentence: Sentence, *, level: int) -> Tagged:
    used = (match for match in names.find_all(sentence.tokens) if match.value.level >= level)
    return Tagged(
        sentence=sentence,
        spans=tuple(
            PredictedSpan(
                start=match.start,
                end=match.end,
                label=match.value.label,
                probability=match.value.level / LEVELS,
            )
            for match in leftmost_longest(used)
        ),
    )


def _count_forms(sentences: Sequence[Sentence]) -> dict[Form, Counter[str]]:
    forms: defaultdict[Form, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for span in from_iob2(sentence.tags):
            forms[sentence.tokens[span.start : span.end]][span.label] += 1
    return dict(forms)


def _cross_fit(train: Sequence[Sentence]) -> list[Score]:
    """Each fold scored with the names of the others; their counts added up, by level."""
    by_document = len({sentence.document_id for sentence in train}) >= MIN_DOCUMENTS
    folds: list[list[Sentence]] = [[] for _ in range(N_FOLDS)]
    for sentence in train:
        name = sentence.document_id if by_document else sentence.id
        folds[int(N_FOLDS * share(name))].append(sentence)
    scored = []
    for held_out in folds:
        rest = [sentence for fold in folds if fold is not held_out for sentence in fold]
        scored.append(score_names(learn_names(_count_forms(rest), rest), held_out))
    return [_add(scores) for scores in zip(*scored, strict=True)]


def _add(scores: Sequence[Score]) -> Score:
    return Score(
        correct=sum(score.correct for score in scores),
        predicted=sum(score.predicted for score in scores),
        gold=sum(score.gold for score in scores),
    )
