"""Errors of spans by kind, and the confusion of words by label."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from corpora.document import TokenSpan
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.taggers.counts import (
    Key,
    Numbers,
    all_labels,
    gold_keys,
    predicted_keys,
    predicted_tags,
)

Kind = Literal["correct", "type", "boundary", "both", "missing", "spurious"]
KINDS: Final[tuple[Kind, ...]] = ("correct", "type", "boundary", "both", "missing", "spurious")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A gold span, a predicted span, or two that belong together."""

    index: int
    """Of the sentence."""
    kind: Kind
    gold: TokenSpan | None
    predicted: PredictedSpan | None

    @property
    def label(self) -> str:
        """The gold label, or else the predicted one."""
        span = self.gold or self.predicted
        return span.label if span else ""


def align(gold: Sequence[Key], predicted: Sequence[Key]) -> list[tuple[int | None, int | None]]:
    """Pair gold with predicted spans that share words, each with one at most.

    Pairs are taken one by one: those with the most words in common first, then of the same label,
    then from left to right. As spans of a side are disjoint, two with the same ends always find
    each other. Returns places in the two sequences: pairs, gold ones left, predicted ones left.
    """
    pairs = []
    for g, (start, end, label) in enumerate(gold):
        for p, (other_start, other_end, other_label) in enumerate(predicted):
            if (shared := min(end, other_end) - max(start, other_start)) > 0:
                pairs.append((-shared, label != other_label, g, p))
    left_gold, left_predicted = (dict.fromkeys(range(len(side))) for side in (gold, predicted))
    found: list[tuple[int | None, int | None]] = []
    for _, _, g, p in sorted(pairs):
        if g in left_gold and p in left_predicted:
            del left_gold[g], left_predicted[p]
            found.append((g, p))
    return [*sorted(found), *((g, None) for g in left_gold), *((None, p) for p in left_predicted)]


def find_errors(tagged: Sequence[Tagged]) -> list[Finding]:
    """All gold and predicted spans, sentence by sentence, with what they are.

    ``correct``: both ends and the label are right; ``type``: both ends, but not the label;
    ``boundary``: the label, and words in common; ``both``: words in common alone; ``missing``: a
    gold span that is paired (``align``) with none; ``spurious``: a predicted one. Gold spans are
    the first five together, predicted ones the first four and the last.
    """
    return [finding for index, one in enumerate(tagged) for finding in _find(index, one)]


def _find(index: int, one: Tagged) -> Iterator[Finding]:
    gold, predicted = gold_keys(one), predicted_keys(one)
    for g, p in align(gold, predicted):
        span = None if g is None else gold[g]
        other = None if p is None else predicted[p]
        yield Finding(
            index=index,
            kind=_kind(span, other),
            gold=None if span is None else TokenSpan(start=span[0], end=span[1], label=span[2]),
            predicted=None if p is None else one.spans[p],
        )


def _kind(gold: Key | None, predicted: Key | None) -> Kind:
    if gold is None:
        return "spurious"
    if predicted is None:
        return "missing"
    if gold[:2] == predicted[:2]:
        return "correct" if gold[2] == predicted[2] else "type"
    return "boundary" if gold[2] == predicted[2] else "both"


def count_kinds(findings: Iterable[Finding]) -> dict[str, dict[Kind, int]]:
    """Count each kind by label: the gold one, or else the predicted one."""
    counts: Counter[tuple[str, Kind]] = Counter((found.label, found.kind) for found in findings)
    labels = sorted({label for label, _ in counts})
    return {label: {kind: counts[label, kind] for kind in KINDS} for label in labels}


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Words by gold and predicted label, B- and I- taken off (D-E3)."""

    labels: tuple[str, ...]
    """``O``, then the others."""
    counts: Numbers
    """(L + 1, L + 1): gold down, predicted across."""


def confuse(tagged: Sequence[Tagged], labels: Sequence[str] = ()) -> Confusion:
    """Count words; labels beyond those given are appended."""
    names = ("O", *all_labels(tagged, labels))
    ids = {name: id for id, name in enumerate(names)}
    gold = [ids[plain(tag)] for one in tagged for tag in one.sentence.tags]
    predicted = [ids[plain(tag)] for one in tagged for tag in predicted_tags(one)]
    cells = np.array(gold, np.int64) * len(names) + np.array(predicted, np.int64)
    counts = np.bincount(cells, minlength=len(names) ** 2).reshape(len(names), len(names))
    return Confusion(labels=names, counts=counts.astype(np.int64))


def plain(tag: str) -> str:
    """The label of a tag; ``O`` for none."""
    return "O" if tag == "O" else tag[2:]


COLUMNS = (
    "run", "sentence", "document", "error",
    "gold_start", "gold_end", "gold_label", "gold_text",
    "predicted_start", "predicted_end", "predicted_label", "predicted_text", "probability",
    "text",
)  # fmt: skip
"""Of the list of errors; starts and ends count words and are half-open."""
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def list_errors(runs: Mapping[str, tuple[Sequence[Tagged], Sequence[Finding]]]) -> Iterator[str]:
    """Lines of TSV: ``COLUMNS``, then every span of every run that is not correct.

    Tabs, line ends and backslashes inside words are written with a backslash, as in JSON.
    """
    yield "\t".join(COLUMNS) + "\n"
    for run, (tagged, findings) in runs.items():
        for found in findings:
            if found.kind != "correct":
                cells = _line(run, tagged[found.index], found)
                yield "\t".join(cell.translate(_ESCAPES) for cell in cells) + "\n"


def _line(run: str, one: Tagged, found: Finding) -> Iterator[str]:
    yield from (run, one.sentence.id, one.sentence.document_id, found.kind)
    for span in (found.gold, found.predicted):
        yield from ("", "", "", "") if span is None else _cells(span, one.sentence.tokens)
    yield "" if found.predicted is None else repr(found.predicted.probability)
    yield " ".join(one.sentence.tokens)


def _cells(span: TokenSpan, tokens: Sequence[str]) -> Iterator[str]:
    yield from (str(span.start), str(span.end), span.label)
    yield " ".join(tokens[span.start : span.end])
