"""What a report says of errors and of probabilities; counts are those of all runs together."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from modeling.data.predictions import Tagged
from modeling.evaluate.calibration import Bin, Calibration
from modeling.evaluate.errors import KINDS, Finding
from modeling.evaluate.intervals import Spread
from modeling.evaluate.plots import draw_reliability
from modeling.pages import Block, Picture, Table, Text

if TYPE_CHECKING:
    from modeling.evaluate.evaluation import Evaluation

N_EXAMPLES = 5
"""Of each kind of error; the list of errors has all."""

N_CONTEXT = 8
"""Words on each side that an example is shown with."""


def tell_errors(evaluations: Sequence["Evaluation"]) -> Iterator[Block]:
    """How many spans are right and wrong in which way, by label."""
    labels = dict.fromkeys(label for one in evaluations for label in (*one.labels, *one.kinds))
    counts: dict[str, list[int]] = {}
    for label in labels:
        of_runs = [one.kinds.get(label, {}) for one in evaluations]
        counts[label] = [sum(kinds.get(kind, 0) for kinds in of_runs) for kind in KINDS]
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)] or [0] * len(
        KINDS
    )
    rows = [["label", *KINDS, "gold", "predicted"]]
    for label, (*paired, missing, spurious) in counts.items():
        ends = (sum(paired) + missing, sum(paired) + spurious)
        rows.append([label, *(f"{n:,}" for n in (*paired, missing, spurious, *ends))])
    yield Text(
        "Each gold span belongs to the predicted span that it shares most words with, one to one. "
        "type: same ends, other label; boundary: same label, other ends; both: words in common "
        "alone; missing, spurious: nothing on the other side. By the gold label, spurious ones by "
        "the predicted." + _together(evaluations)
    )
    yield Table(rows)


def _together(evaluations: Sequence["Evaluation"]) -> str:
    return f" Counts of {len(evaluations)} runs together." if len(evaluations) > 1 else ""


def tell_examples(runs: Mapping[str, "Evaluation"]) -> Iterator[Block]:
    """The first errors of each kind of the first run."""
    name, first = next(iter(runs.items()))
    n = Counter(found.kind for found in first.findings)
    rows = [["error", "gold", "predicted", "words", "probability"]]
    for kind in KINDS[1:]:
        of_kind = (found for found in first.findings if found.kind == kind)
        rows += [
            _example(found, first.tagged[found.number]) for found in islice(of_kind, N_EXAMPLES)
        ]
    told = ", ".join(f"{min(n[kind], N_EXAMPLES)} of {n[kind]:,} {kind}" for kind in KINDS[1:])
    of_run = f" of run {name}" if len(runs) > 1 else ""
    yield Text(
        f"The first errors{of_run}: {told}. The list of errors (errors.tsv) has all. "
        "In the words, [ ] holds the gold span, { } the predicted one."
    )
    if len(rows) > 1:
        yield Table(rows, n_texts=4)


def _example(found: Finding, one: Tagged) -> list[str]:
    spans = [span for span in (found.gold, found.predicted) if span]
    shown = [f"{' '.join(one.sentence.tokens[s.start : s.end])} ({s.label})" for s in spans]
    if found.gold is None:
        shown.insert(0, "")
    if found.predicted is None:
        shown.append("")
    probability = f"{found.predicted.probability:.3f}" if found.predicted else ""
    return [found.kind, *shown, show(one.sentence.tokens, found), probability]


def show(words: Sequence[str], found: Finding) -> str:
    """The words around, with the spans marked."""
    marked = list(words)
    spans = [span for span in (found.gold, found.predicted) if span]
    for span, (opening, closing) in ((found.predicted, "{}"), (found.gold, "[]")):
        if span:
            marked[span.start] = opening + marked[span.start]
            marked[span.end - 1] += closing
    start = max(0, min(span.start for span in spans) - N_CONTEXT)
    end = max(span.end for span in spans) + N_CONTEXT
    before, after = "… " if start else "", " …" if end < len(words) else ""
    return before + " ".join(marked[start:end]) + after


def tell_confusion(evaluations: Sequence["Evaluation"]) -> Iterator[Block]:
    """Words by gold and predicted label; a row is darker where more of its words are."""
    labels = list(dict.fromkeys(label for one in evaluations for label in one.confusion.labels))
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for one in evaluations:
        places = [labels.index(label) for label in one.confusion.labels]
        counts[np.ix_(places, places)] += one.confusion.counts
    shades = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = [["", *labels]]
    rows += [[label, *(f"{n:,}" for n in row)] for label, row in zip(labels, counts, strict=True)]
    yield Text("B- and I- are taken off." + _together(evaluations))
    yield Table(rows, shades=shades.tolist())


def tell_calibration(evaluations: Sequence["Evaluation"]) -> Iterator[Block]:
    """How far probabilities are from what is right."""
    labels = sorted({label for one in evaluations for label in one.calibration_by_label})
    kinds = {"spans": [one.calibration for one in evaluations]} | {
        f"spans of {label}": [
            one.calibration_by_label[label]
            for one in evaluations
            if label in one.calibration_by_label
        ]
        for label in labels
    }
    if words := [one.calibration_of_words for one in evaluations if one.calibration_of_words]:
        kinds["words"] = words
    rows = [["", "n", "ECE", "Brier"]]
    for name, found in kinds.items():
        n = sum(one.n for one in found)
        ece = Spread.of([one.ece for one in found])
        rows.append([name, f"{n:,}", str(ece), f"{np.mean([one.brier for one in found]):.4f}"])
    yield Text(
        "Expected calibration error: how far, in the mean, the share of spans that are right is "
        "from their probability, in points; Brier: the mean square of probability minus right."
        + _together(evaluations)
    )
    yield Table(rows)
    bins = _pool(kinds["spans"])
    yield _bin_table(bins)
    yield Picture(draw_reliability(bins, title="Spans by probability"))


def _bin_table(bins: Sequence[Bin]) -> Table:
    rows = [["probability", "spans", "mean probability", "right"]]
    for one in bins:
        shares = ["" if share is None else f"{share:.3f}" for share in (one.probability, one.right)]
        rows.append([f"{one.low:.1f} to {one.high:.1f}", f"{one.n:,}", *shares])
    return Table(rows)


def _pool(runs: Sequence[Calibration]) -> list[Bin]:
    """The bins of all runs together."""
    pooled = []
    for bins in zip(*(run.bins for run in runs), strict=True):
        n = sum(one.n for one in bins)
        probability = sum(one.n * (one.probability or 0) for one in bins)
        right = sum(one.n * (one.right or 0) for one in bins)
        pooled.append(
            Bin(
                low=bins[0].low,
                high=bins[0].high,
                n=n,
                probability=probability / n if n else None,
                right=right / n if n else None,
            )
        )
    return pooled
