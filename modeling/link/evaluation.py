"""Evaluation of links, on documents that were not trained on, against a baseline.

The baseline is the most frequent entity of each form in the training documents. An accuracy means
little without it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corpora.entities.lookup import EntityLookup
from corpora.errors import UsageError
from corpora.hashing.sampling import ratio
from corpora.reports import counted
from modeling.bootstrap import DrawnUnits, Interval, percentiles, ratios, resample
from modeling.link.candidates import KnownEntity
from modeling.link.choice import Linear
from modeling.link.contexts import WindowReader
from modeling.link.linker import (
    MAX_WRONG,
    PRIOR,
    Linker,
    LinkerTraining,
    RankedCandidates,
    grouped,
    linked_labels,
)
from modeling.link.records import Case, LinkRecord, MentionWindow

RANKS: Final = (1, 10, 30)
_SEVERAL: Final = 5
_NOTHING: Final = RankedCandidates((), (), 0.0, ())


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mention of a document that was not trained on, and how it was linked."""

    document: str
    form: str
    label: str | None
    gold: str | None
    baseline: str | None
    """The most frequent entity of the form in training; None if the form has none there."""
    prior: str | None
    """The choice by the prior alone; None without candidates."""
    chosen: str | None
    """The choice by all features; None without candidates."""
    probability: float
    is_written: bool
    rank: int | None
    """The rank of the gold entity among the candidates before the choice, from 1; None if it is not
    one of them."""
    n_senses: int
    """The number of entities that the form has in training."""
    is_known: bool
    """Whether the gold entity is in the register, in a training document, or in the vocabulary."""

    @property
    def is_right(self) -> bool:
        """Whether the chosen entity is the gold one, whether or not the link is written."""
        return self.gold is not None and self.chosen == self.gold


def cross_validate(
    records: Sequence[LinkRecord],
    register: Mapping[str, KnownEntity],
    *,
    vocabulary: EntityLookup | None = None,
    folds: int = 5,
    max_wrong: float = MAX_WRONG,
    reader: WindowReader | None = None,
    descriptions: Mapping[str, MentionWindow] | None = None,
    nil: bool = False,
    log: Callable[[str], object] = lambda _: None,
) -> list[Outcome]:
    """Link each document by a linker that is trained on all folds but the document's own.

    Folds follow from the ids of documents. Raises ``UsageError`` for too few documents.
    """
    labels = linked_labels(records)
    of_fold = [int(ratio(record.id, seed=1) * folds) for record in records]
    if len(set(of_fold)) < 2:
        raise UsageError(
            f"{counted(len(records), 'document')}: too few for {counted(folds, 'fold')}. Link more "
            "documents, or name those that are tested: --test."
        )
    outcomes: list[Outcome] = []
    for fold in sorted(set(of_fold)):
        train = [record for record, f in zip(records, of_fold, strict=True) if f != fold]
        test = [record for record, f in zip(records, of_fold, strict=True) if f == fold]
        training = LinkerTraining(
            train,
            register,
            vocabulary,
            max_wrong=max_wrong,
            nil=nil,
            reader=reader,
            descriptions=descriptions or {},
        )
        prior = training.fit_plain(PRIOR)
        outcomes += judge(test, training.train(), prior=prior, labels=labels, nil=nil)
        log(f"fold {fold + 1} of {folds}: {counted(len(train), 'document')} to {len(test):,}")
    return outcomes


def judge(
    records: Sequence[LinkRecord],
    linker: Linker,
    *,
    prior: Linear | None = None,
    labels: Collection[str | None] = (),
    nil: bool = False,
) -> list[Outcome]:
    """Link documents whose links are known.

    Mentions of ``labels`` are outcomes even if the linker does not link their class, because its
    training data lack it. With ``nil``, so are those of all classes that are not linked.
    """
    outcomes = []
    for some in grouped(records, lambda record: len(record.cases)):
        for record, own in zip(some, linker.rank_all(some, prior=prior), strict=True):
            for case, ranked in zip(record.cases, own, strict=True):
                counts = nil or case.label in labels
                answer = _NOTHING if ranked is None and counts else ranked
                if answer is not None:
                    outcomes.append(_outcome(record, case, answer, linker=linker))
    return outcomes


def _outcome(
    record: LinkRecord, case: Case, ranked: RankedCandidates, *, linker: Linker
) -> Outcome:
    without = record.id if record.id in linker.knowledge.counts else None
    key = ("form", case.form)
    senses = dict(linker.knowledge.counts.among(key, without=without))
    best = min(senses.items(), key=lambda item: (-item[1], item[0]), default=(None, 0))[0]
    is_there = case.entity is not None and case.entity in ranked.by_name
    return Outcome(
        document=record.id,
        form=case.form,
        label=case.label,
        gold=case.entity,
        baseline=best,
        prior=ranked.by_prior,
        chosen=ranked.entities[0] if ranked.entities else None,
        probability=ranked.probability,
        is_written=linker.is_sure(ranked),
        rank=ranked.by_name.index(case.entity) + 1 if is_there and case.entity else None,
        n_senses=len(senses),
        is_known=case.entity is not None and linker.knowledge.holds(case.entity, without=without),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapRatio:
    """A part of a whole, with a confidence interval of their ratio."""

    part: int
    whole: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The ratio; None if the whole is 0."""
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class F1:
    """The precision, recall and F1 of links, with confidence intervals."""

    precision: BootstrapRatio
    recall: BootstrapRatio
    value: float
    interval: Interval | None


class OutcomeRatios:
    """Ratios of outcomes, all computed on the same replicates of documents."""

    def __init__(self, outcomes: Sequence[Outcome], *, replicates: int = 1000) -> None:
        self.outcomes = outcomes
        self._units = DrawnUnits.choose([outcome.document for outcome in outcomes])
        self._settings = {"replicates": replicates}

    def ratio(
        self, part: Callable[[Outcome], bool], whole: Callable[[Outcome], bool]
    ) -> BootstrapRatio:
        """Compute the ratio of the outcomes of ``whole`` that are also of ``part``."""
        columns = self._columns(lambda outcome: whole(outcome) and part(outcome), whole)
        drawn = resample(columns, self._units, **self._settings)
        sums = columns.sum(axis=0)
        return BootstrapRatio(
            part=int(sums[0]), whole=int(sums[1]), interval=percentiles(ratios(*drawn.T))
        )

    def f1(
        self,
        right: Callable[[Outcome], bool],
        predicted: Callable[[Outcome], bool],
        gold: Callable[[Outcome], bool],
    ) -> F1:
        """Compute precision, recall and F1 of predicted links; spans are gold, and always right."""
        columns = self._columns(right, predicted, gold)
        drawn = resample(columns, self._units, **self._settings)
        n_right, n_predicted, n_gold = (int(n) for n in columns.sum(axis=0))
        both = n_predicted + n_gold
        return F1(
            precision=self.ratio(right, predicted),
            recall=self.ratio(right, gold),
            value=2 * n_right / both if both else 0.0,
            interval=percentiles(ratios(2 * drawn[:, 0], drawn[:, 1] + drawn[:, 2])),
        )

    def _columns(self, *tests: Callable[[Outcome], bool]) -> NDArray[np.int64]:
        return np.array(
            [[test(outcome) for test in tests] for outcome in self.outcomes], np.int64
        ).reshape(-1, len(tests))


def groups(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    """Group the mentions that have an id by class, by ambiguity, and by what training has."""
    linked = [outcome for outcome in outcomes if outcome.gold is not None]
    for label, _ in Counter(one.label or "none" for one in linked).most_common():
        yield f"class {label}", [one for one in linked if (one.label or "none") == label]
    for name, low, high in (
        ("form not in training", 0, 0),
        ("form of one entity", 1, 1),
        (f"form of 2 to {_SEVERAL} entities", 2, _SEVERAL),
        ("form of more", _SEVERAL + 1, None),
    ):
        some = [o for o in linked if o.n_senses >= low and (high is None or o.n_senses <= high)]
        yield name, some
    yield "entity is known", [one for one in linked if one.is_known]
    yield "entity is not known", [one for one in linked if not one.is_known]
