"""Errors of spans by kind, and the confusion of words by label."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from corpora.document import TokenSpan
from corpora.system.cells import cell_of
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
    """A gold span, a predicted span, or a pair of both, with the kind of error."""

    index: int
    """The index of the sentence."""
    kind: Kind
    gold: TokenSpan | None
    predicted: PredictedSpan | None

    @property
    def label(self) -> str:
        """The gold label, or else the predicted one."""
        span = self.gold or self.predicted
        return span.label if span else ""


def align(gold: Sequence[Key], predicted: Sequence[Key]) -> list[tuple[int | None, int | None]]:
    """Pair gold spans with predicted spans that share words; each span is in one pair at most.

    Pairs are chosen greedily: the same ends first, then the most words in common, then the same
    label, then from left to right.
    Returns indices into the two sequences: the pairs, then the unpaired gold spans, then the
    unpaired predicted spans.
    """
    pairs = []
    for g, (start, end, label) in enumerate(gold):
        for p, (other_start, other_end, other_label) in enumerate(predicted):
            if (shared := min(end, other_end) - max(start, other_start)) > 0:
                is_same = (start, end) == (other_start, other_end)
                pairs.append((not is_same, -shared, label != other_label, g, p))
    left_gold, left_predicted = (dict.fromkeys(range(len(side))) for side in (gold, predicted))
    found: list[tuple[int | None, int | None]] = []
    for *_, g, p in sorted(pairs):
        if g in left_gold and p in left_predicted:
            del left_gold[g], left_predicted[p]
            found.append((g, p))
    return [*sorted(found), *((g, None) for g in left_gold), *((None, p) for p in left_predicted)]


def find_errors(tagged: Sequence[Tagged]) -> list[Finding]:
    """Find the kind of each gold and predicted span, sentence by sentence.

    ``correct``: both ends and the label are right; ``type``: both ends are right, the label is not;
    ``boundary``: the label is right, and the spans share words; ``both``: the spans only share
    words; ``missing``: a gold span that ``align`` leaves unpaired; ``spurious``: a predicted span
    that it leaves unpaired. The first five kinds add up to the gold spans, the first four and the
    last to the predicted spans.
    """
    return [finding for index, sentence in enumerate(tagged) for finding in _find(index, sentence)]


def _find(index: int, sentence: Tagged) -> Iterator[Finding]:
    gold, predicted = gold_keys(sentence), predicted_keys(sentence)
    for g, p in align(gold, predicted):
        span = None if g is None else gold[g]
        other = None if p is None else predicted[p]
        yield Finding(
            index=index,
            kind=_kind(span, other),
            gold=None if span is None else TokenSpan(start=span[0], end=span[1], label=span[2]),
            predicted=None if p is None else sentence.spans[p],
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
    """Count the findings of each kind by label: the gold label, or else the predicted one."""
    counts: Counter[tuple[str, Kind]] = Counter(
        (finding.label, finding.kind) for finding in findings
    )
    labels = sorted({label for label, _ in counts})
    return {label: {kind: counts[label, kind] for kind in KINDS} for label in labels}


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Counts of words by gold and predicted label, without B- and I-."""

    labels: tuple[str, ...]
    """``O``, and then the L labels."""
    counts: Numbers
    """(L + 1, L + 1): a row for each gold label, a column for each predicted label."""


def confuse(tagged: Sequence[Tagged], labels: Sequence[str] = ()) -> Confusion:
    """Count words by gold and predicted label; labels beyond the given ones are appended."""
    names = ("O", *all_labels(tagged, labels))
    ids = {name: id for id, name in enumerate(names)}
    gold = [ids[plain(tag)] for sentence in tagged for tag in sentence.sentence.tags]
    predicted = [ids[plain(tag)] for sentence in tagged for tag in predicted_tags(sentence)]
    cells = np.array(gold, np.int64) * len(names) + np.array(predicted, np.int64)
    counts = np.bincount(cells, minlength=len(names) ** 2).reshape(len(names), len(names))
    return Confusion(labels=names, counts=counts.astype(np.int64))


def plain(tag: str) -> str:
    """Return the label of a tag, without B- or I-; ``O`` for the tag ``O``."""
    return "O" if tag == "O" else tag[2:]


COLUMNS = (
    "run", "sentence", "document", "error",
    "gold_start", "gold_end", "gold_label", "gold_text",
    "predicted_start", "predicted_end", "predicted_label", "predicted_text", "probability",
    "text",
)  # fmt: skip
"""The columns of the list of errors; starts and ends count words and are half-open."""


def list_errors(runs: Mapping[str, tuple[Sequence[Tagged], Sequence[Finding]]]) -> Iterator[str]:
    """Yield lines of TSV: ``COLUMNS``, then every finding of every run that is not correct.

    Tabs, line ends and backslashes inside words are escaped with a backslash, as in JSON.
    """
    yield "\t".join(COLUMNS) + "\n"
    for run, (tagged, findings) in runs.items():
        for finding in findings:
            if finding.kind != "correct":
                cells = _line(run, tagged[finding.index], finding)
                yield "\t".join(map(cell_of, cells)) + "\n"


def _line(run: str, sentence: Tagged, finding: Finding) -> Iterator[str]:
    yield from (run, sentence.sentence.id, sentence.sentence.document_id, finding.kind)
    for span in (finding.gold, finding.predicted):
        yield from ("", "", "", "") if span is None else _cells(span, sentence.sentence.tokens)
    yield "" if finding.predicted is None else repr(finding.predicted.probability)
    yield " ".join(sentence.sentence.tokens)


def _cells(span: TokenSpan, tokens: Sequence[str]) -> Iterator[str]:
    yield from (str(span.start), str(span.end), span.label)
    yield " ".join(tokens[span.start : span.end])
