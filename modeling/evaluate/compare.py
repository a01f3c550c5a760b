"""The comparison of two runs on the same sentences: differences of scores, and agreement."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusError
from corpora.reports.pages import Block, Heading, Prose, Table, to_markdown
from modeling.bootstrap import DrawnUnits, Interval
from modeling.data.predictions import Tagged
from modeling.evaluate.errors import plain
from modeling.evaluate.evaluation import as_json
from modeling.evaluate.records import ComparisonRecord
from modeling.evaluate.scores import Difference, Rated, draw, subtract, to_ratings
from modeling.taggers.counts import (
    all_labels,
    count_strict,
    gold_keys,
    predicted_keys,
    predicted_tags,
)

Flags = NDArray[np.bool_]
_THINGS = ("sentences", "mentions", "words")
"""The things for which the agreement of two runs is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Counts of things (sentences, mentions or words) by which of two runs has them right."""

    both_right: int
    only_first: int
    only_second: int
    both_wrong: int

    @classmethod
    def of(cls, first: Flags, second: Flags) -> "Agreement":
        """Count things from flags that tell whether each of the two runs has them right."""
        wrong, of_second, of_first, right = np.bincount(2 * first + second, minlength=4).tolist()
        return cls(both_right=right, only_first=of_first, only_second=of_second, both_wrong=wrong)

    @property
    def correlation(self) -> float | None:
        """The correlation of the errors of the two runs (phi; DaLUKE thesis, Table 6.24).

        1: both err at the same places; 0: their errors are independent. None if one of the runs
        has everything right, or everything wrong.
        """
        right = (self.both_right + self.only_first, self.both_right + self.only_second)
        n = sum(right) - self.both_right + self.both_wrong
        product = right[0] * (n - right[0]) * right[1] * (n - right[1])
        if not product:
            return None
        shared = self.both_right * self.both_wrong - self.only_first * self.only_second
        return float(shared / product**0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The comparison of a first and a second run; differences are first minus second."""

    first: Rated
    second: Rated
    difference: Difference
    """The difference of strict micro F1."""
    by_label: dict[str, tuple[Rated, Rated, Difference]]
    sentences: Agreement
    """The agreement on sentences; right: the predicted spans are exactly the gold ones."""
    mentions: Agreement
    """The agreement on gold mentions; right: both ends and the label are found."""
    words: Agreement
    """The agreement on words; right: the label, without B- and I-."""
    kappa: float | None
    """Cohen's kappa of the labels of words in both runs, O included; None: only one label."""
    only_first: tuple[int, ...]
    """Indices of the sentences that only the first run has right."""
    only_second: tuple[int, ...]
    """Indices of the sentences that only the second run has right."""
    tagged: tuple[Sequence[Tagged], Sequence[Tagged]]

    @property
    def is_worse(self) -> bool:
        """Whether strict F1 of the first run is lower, beyond the interval of the difference.

        The whole interval must be below 0; on few sentences intervals are wide.
        """
        interval = self.difference.interval
        return self.difference.value < 0 and interval is not None and interval.high < 0

    def describe_fall(self, other: str) -> str:
        """Say in a sentence how much lower strict F1 of the first run is than that of ``other``."""
        spread = _between(self.difference.interval)
        return (
            f"strict F1 {100 * self.first.f1:.2f} is {-100 * self.difference.value:.2f} points "
            f"below that of {other}{spread and f' (95 %: {spread})'}. Look at comparison.md."
        )

    def to_json(self) -> ComparisonRecord:
        """Convert all numbers, and the ids of sentences that only one run has right, to JSON."""
        ids = [sentence.sentence.id for sentence in self.tagged[0]]
        scores = ("first", "second", "difference", "by_label", *_THINGS)
        record: ComparisonRecord = as_json(
            {
                **{name: getattr(self, name) for name in scores},
                "kappa": self.kappa,
                "correlations": {name: getattr(self, name).correlation for name in _THINGS},
                "only_first": [ids[number] for number in self.only_first],
                "only_second": [ids[number] for number in self.only_second],
            }
        )
        return record

    def to_markdown(self, *, names: Sequence[str], n_examples: int = 10) -> str:
        """Write a page; it shows the first ``n_examples`` sentences that only one run has right."""
        return to_markdown(list(_describe(self, names, n_examples=n_examples)))


def compare(
    first: Sequence[Tagged], second: Sequence[Tagged], *, seed: int = 1, replicates: int = 1000
) -> RunComparison:
    """Compare two runs; raises ``CorpusError`` unless they have the same sentences in one order.

    The bootstrap is paired: a replicate draws the same sentences (or documents) for both runs.
    """
    _check_same(first, second)
    names = all_labels(second, all_labels(first, ()))
    units = DrawnUnits.choose([one.sentence.document_id for one in first])
    columns = {"a": count_strict(first, names).rows, "b": count_strict(second, names).rows}
    a, b = draw(columns, units, replicates=replicates, seed=seed).values()
    runs = [[(gold_keys(one), predicted_keys(one)) for one in run] for run in (first, second)]
    right = [np.array([gold == found for gold, found in run], np.bool_) for run in runs]
    mentions = [
        np.array([key in found for gold, found in run for key in gold], np.bool_) for run in runs
    ]
    words = [
        np.array([plain(tag) for one in run for tag in predicted_tags(one)])
        for run in (first, second)
    ]
    gold = np.array([plain(tag) for one in first for tag in one.sentence.tags])
    return RunComparison(
        first=to_ratings(a.sum())[0],
        second=to_ratings(b.sum())[0],
        difference=subtract(a.sum(), b.sum(), units),
        by_label={
            label: (one, other, subtract(a, b, units, place=number))
            for number, (label, one, other) in enumerate(
                zip(names, to_ratings(a), to_ratings(b), strict=True)
            )
        },
        sentences=Agreement.of(*right),
        mentions=Agreement.of(*mentions),
        words=Agreement.of(words[0] == gold, words[1] == gold),
        kappa=cohen_kappa(*words),
        only_first=tuple(np.flatnonzero(right[0] & ~right[1]).tolist()),
        only_second=tuple(np.flatnonzero(right[1] & ~right[0]).tolist()),
        tagged=(first, second),
    )


def cohen_kappa(first: NDArray[np.str_], second: NDArray[np.str_]) -> float | None:
    """Compute (a - e) / (1 - e), where a is the agreement of two runs on words (Cohen 1960).

    e is the agreement of two runs that choose labels at random with the same ratios. None without
    words, or if both runs have one and the same label only.
    """
    if not len(first):
        return None
    names = np.unique(np.concatenate([first, second]))
    ratios = [np.array([np.mean(run == name) for name in names]) for run in (first, second)]
    expected = float(ratios[0] @ ratios[1])
    if expected >= 1:
        return None
    return float((np.mean(first == second) - expected) / (1 - expected))


def _check_same(first: Sequence[Tagged], second: Sequence[Tagged]) -> None:
    if len(first) != len(second) or not first:
        raise CorpusError(
            f"the runs are on {len(first):,} and {len(second):,} sentences. Compare runs on the "
            "same sentences, one or more."
        )
    for one, other in zip(first, second, strict=True):
        a, b = one.sentence, other.sentence
        if (a.id, a.tokens, a.tags) != (b.id, b.tokens, b.tags):
            raise CorpusError(
                f"where the first run has the sentence {a.id}, the second has {b.id}, or other "
                "words or gold tags in it. Compare runs on the same data set, in the same order."
            )


def _describe(comparison: RunComparison, names: Sequence[str], *, n_examples: int) -> list[Block]:
    first, second = names
    rows = [["strict F1", first, second, "difference", "95 %", "p"]]
    rows.append(["all", *_cells(comparison.first, comparison.second, comparison.difference)])
    rows += [[label, *_cells(*comparison.by_label[label])] for label in comparison.by_label]
    blocks: list[Block] = [
        Heading(f"{first} and {second}", 1),
        Prose(
            f"On {len(comparison.tagged[0]):,} sentences. Differences in points, first minus "
            f"second; the bootstrap is paired and draws {comparison.difference.unit}. The p of the "
            "labels are not corrected for their number."
        ),
        Table(rows),
        Heading("Do they agree?"),
        _agreement_table(comparison, names),
        Prose(f"Cohen's kappa on the labels of words: {_decimal(comparison.kappa)}."),
    ]
    for name, numbers in ((first, comparison.only_first), (second, comparison.only_second)):
        blocks.append(Heading(f"Only {name} has these right"))
        shown = numbers[:n_examples]
        blocks.append(Prose(f"{len(shown)} of {len(numbers):,} sentences."))
        if shown:
            blocks.append(_example_table(comparison, names, shown))
    return blocks


def _cells(first: Rated, second: Rated, difference: Difference) -> list[str]:
    return [
        f"{100 * first.f1:.2f}",
        f"{100 * second.f1:.2f}",
        f"{100 * difference.value:+.2f}",
        _between(difference.interval),
        "" if difference.p is None else f"{difference.p:.3f}",
    ]


def _between(interval: Interval | None) -> str:
    return f"{100 * interval.low:+.2f} to {100 * interval.high:+.2f}" if interval else ""


def _agreement_table(comparison: RunComparison, names: Sequence[str]) -> Table:
    head = ["", "both right", *(f"only {name} right" for name in names), "both wrong"]
    rows = [[*head, "correlation of errors"]]
    for name in _THINGS:
        pair: Agreement = getattr(comparison, name)
        numbers = (pair.both_right, pair.only_first, pair.only_second, pair.both_wrong)
        rows.append([name, *(f"{n:,}" for n in numbers), _decimal(pair.correlation)])
    return Table(rows)


def _decimal(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"


def _example_table(runs: RunComparison, names: Sequence[str], numbers: Sequence[int]) -> Table:
    rows = [["sentence", "words", "gold", *names]]
    for number in numbers:
        first, other = (run[number] for run in runs.tagged)
        words = first.sentence.tokens
        spans = [gold_keys(first), predicted_keys(first), predicted_keys(other)]
        cells = [
            "; ".join(f"{' '.join(words[start:end])} ({label})" for start, end, label in keys)
            for keys in spans
        ]
        rows.append([first.sentence.id, " ".join(words), *cells])
    return Table(rows, n_texts=5)
