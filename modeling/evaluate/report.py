"""The files of an evaluation: scores as JSON, two report pages, all errors, all predictions.

With several runs, a number on a page is the mean over runs, ± the sample deviation; an interval
goes from the lowest to the highest end of the runs' intervals; counts of errors are sums over runs.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from corpora.errors import CorpusError
from corpora.reports.pages import (
    Block,
    Heading,
    Items,
    Picture,
    Preformatted,
    Prose,
    Table,
    to_html,
    to_markdown,
)
from corpora.system.writing import remove_leftovers, write_json, write_text
from modeling.bootstrap import Interval
from modeling.data.predictions import Tagged
from modeling.evaluate.calibration import Bin, Calibration
from modeling.evaluate.errors import KINDS, Finding, Kind, list_errors
from modeling.evaluate.evaluation import Evaluation, Slice, as_json
from modeling.evaluate.plots import Point, draw_by_length, draw_reliability
from modeling.evaluate.records import EvaluationRecord, PredictionRecord
from modeling.evaluate.scores import Rated, Spread
from modeling.taggers.counts import predicted_tags

log = logging.getLogger(__name__)
VERSION: Final = 2
"""The version of ``evaluation.json``."""
N_EXAMPLES = 5
"""The number of examples of each kind of error; ``errors.tsv`` lists all errors."""
N_CONTEXT = 8
"""The number of words that are shown on each side of an example."""
DEFINITIONS = (
    "Strict: a span is right if both its ends and its label are; tags against IOB2 make no span.",
    "Lenient: tags are read as the conlleval script and seqeval by default do.",
    "Token F1: of words that have a label, B- and I- taken off, micro, O left out.",
    "Macro F1: mean over the labels that are gold or predicted. F1 is 0 where it is 0/0.",
    "Normal approximation: f ± 1.96 √(f (1 − f) / n), n gold mentions.",
)
_NOTHING = Rated(correct=0, predicted=0, gold=0)
Runs = Mapping[str, Evaluation]


def write_report(
    runs: Runs,
    folder: Path,
    *,
    title: str,
    settings: Mapping[str, object],
    notes: Sequence[str] = (),
) -> None:
    """Write the files of an evaluation of runs, which are named by their seeds, for instance.

    These are ``report.md``, ``report.html``, ``errors.tsv``, ``predictions.jsonl``, and last
    ``evaluation.json``. Tables (``onoma report``) group evaluations by ``settings``. Raises
    ``CorpusError`` without runs, or if they were not measured in the same way.
    """
    blocks = describe(runs, title=title, notes=notes, settings=settings)
    scores = [run.scores for run in runs.values()]
    across = {name: Spread.of([score[name] for score in scores]) for name in scores[0]}
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    write_text(folder / "report.md", [to_markdown(blocks)])
    write_text(folder / "report.html", [to_html(blocks)])
    found = {run: (one.tagged, one.findings) for run, one in runs.items()}
    write_text(folder / "errors.tsv", list_errors(found))
    lines = (_prediction(run, tagged) for run, one in runs.items() for tagged in one.tagged)
    write_text(folder / "predictions.jsonl", lines)
    record: EvaluationRecord = {
        "version": VERSION,
        "title": title,
        "settings": settings,
        "scores": as_json(across),
        "runs": {run: one.to_json() for run, one in runs.items()},
    }
    write_json(folder / "evaluation.json", record)


def _prediction(run: str, one: Tagged) -> str:
    """Format a sentence and its predictions as a line of ``predictions.jsonl``."""
    row: PredictionRecord = {
        "run": run,
        "id": one.sentence.id,
        "document_id": one.sentence.document_id,
        "split": one.sentence.split,
        "tokens": one.sentence.tokens,
        "gold": one.sentence.tags,
        "spans": [(s.start, s.end, s.label, s.probability) for s in one.spans],
    }
    if one.tags:
        row["tags"] = one.tags
    if one.words:
        row["words"] = list(one.words)
    return json.dumps(row, ensure_ascii=False) + "\n"


def describe(
    runs: Runs,
    *,
    title: str,
    notes: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
) -> list[Block]:
    """Build the page about named runs.

    Raises ``CorpusError`` without runs, or if they were not measured in the same way.
    """
    evaluations = list(runs.values())
    _check(evaluations)
    last: list[Block] = []
    if settings is not None:
        text = json.dumps(settings, indent=1, ensure_ascii=False, default=str)
        last = [Heading("Settings"), Preformatted(text)]
    return [
        Heading(title, 1),
        *map(Prose, notes),
        Heading("Scores"),
        _main_table(runs),
        Items([*_facts(evaluations), *DEFINITIONS]),
        *_describe_baseline(runs),
        Heading("By label"),
        _label_table(evaluations),
        *_describe_slices(evaluations),
        Heading("Errors"),
        *_describe_errors(evaluations),
        *_describe_examples(runs),
        Heading("Words: gold down, predicted across"),
        *_describe_confusion(evaluations),
        Heading("Calibration"),
        *_describe_calibration(evaluations),
        Heading("The same by seqeval"),
        *_describe_seqeval(runs),
        *last,
    ]


def _check(evaluations: Sequence[Evaluation]) -> None:
    alike = {
        (
            evaluation.without,
            evaluation.unit,
            len(evaluation.mentions),
            len(evaluation.lengths),
            evaluation.baseline is None,
        )
        for evaluation in evaluations
    }
    if len(alike) != 1:
        raise CorpusError(
            "runs that were measured in different ways (labels left out, units of the bootstrap, "
            "with or without training sentences), or none, do not go into one report. "
            "Evaluate them alike."
        )


def _facts(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    first, n_runs = evaluations[0], len(evaluations)
    sizes = {
        "sentence": [evaluation.n_sentences for evaluation in evaluations],
        "word": [evaluation.n_words for evaluation in evaluations],
        "document": [evaluation.n_documents for evaluation in evaluations],
        "gold mention": [evaluation.strict.micro.gold for evaluation in evaluations],
    }
    facts = (
        f"{_number(values)} {name}{'s' * (set(values) != {1})}" for name, values in sizes.items()
    )
    yield "; ".join(facts) + "."
    if not first.replicates:
        yield "No intervals by the bootstrap: no replicates were asked for."
        return
    n_units = _number([evaluation.n_units for evaluation in evaluations])
    yield (
        f"Intervals hold 95 % of {first.replicates:,} bootstrap replicates, each of {n_units} "
        f"{first.unit} drawn with replacement; replicates in which nothing is gold or predicted "
        "do not count."
    )
    if n_runs > 1:
        yield (
            f"Numbers of the {n_runs} runs together are means, ± the sample deviation; an interval "
            "goes from the lowest to the highest end of theirs."
        )


def _main_table(runs: Runs) -> Table:
    evaluations = list(runs.values())
    without = evaluations[0].without
    head = ["run", "strict F1", "95 %", "precision", "recall", "lenient F1", "token F1", "macro F1"]
    head += [f"strict F1 without {', '.join(without)}", "95 %"] if without else []
    rows = [head, *([name or "run", *_main_cells([run])] for name, run in runs.items())]
    if len(runs) > 1:
        rows.append(["mean", *_main_cells(evaluations)])
    if baselines := [
        evaluation.baseline.score for evaluation in evaluations if evaluation.baseline
    ]:
        scores = baselines[:1] if len(set(baselines)) == 1 else baselines
        rows.append(["names of train, looked up", *_score_cells(scores)])
    if len(runs) == 1:
        normal = evaluations[0].strict.micro.normal
        rows.append(["by normal approximation", "", _between(*normal) if normal else ""])
    return Table([row + [""] * (len(head) - len(row)) for row in rows])


def _main_cells(evaluations: Sequence[Evaluation]) -> list[str]:
    cells = _score_cells([evaluation.strict.micro for evaluation in evaluations])
    cells.append(_percent(evaluation.lenient.micro.f1 for evaluation in evaluations))
    cells.append(_percent(evaluation.words.micro.f1 for evaluation in evaluations))
    cells.append(_percent(evaluation.strict.macro_f1 for evaluation in evaluations))
    if rest := [
        evaluation.strict.without for evaluation in evaluations if evaluation.strict.without
    ]:
        cells += _score_cells(rest)[:2]
    return cells


def _describe_baseline(runs: Runs) -> Iterator[Block]:
    baselines = {name: run.baseline for name, run in runs.items() if run.baseline}
    if not baselines:
        yield Prose("Not measured: what training has seen, for no training sentences were given.")
        return
    first = next(iter(baselines.values()))
    where = "dev" if first.chosen_on == "dev" else "folds of train, there being no mentions in dev"
    yield Prose(
        f"A tagger that is not above the {first.forms:,} names of train, looked up from left to "
        "right, the longest first, has learned nothing about new names. A name is used if it is a "
        f"mention in {first.threshold:.0%} or more of its occurrences in train (chosen on {where})."
    )
    rows = [["run", "above the names of train", "95 %", "p"]]
    for name, baseline in baselines.items():
        above = baseline.above
        p = "" if above.p is None else f"{above.p:.3f}"
        rows.append([name or "run", f"{100 * above.value:+.2f}", _interval([above.interval]), p])
    yield Table(rows)


def _label_table(evaluations: Sequence[Evaluation]) -> Table:
    sizes, f1s = ["gold", "predicted"], ["lenient F1", "token F1"]
    rows = [["label", *sizes, "strict F1", "95 %", "precision", "recall", *f1s]]
    for label in dict.fromkeys(label for evaluation in evaluations for label in evaluation.labels):
        strict, *others = (
            [scores.by_label.get(label, _NOTHING) for scores in kind]
            for kind in zip(
                *(
                    (evaluation.strict, evaluation.lenient, evaluation.words)
                    for evaluation in evaluations
                ),
                strict=True,
            )
        )
        last = [_percent(score.f1 for score in kind) for kind in others]
        rows.append([label, *_sizes(strict), *_score_cells(strict), *last])
    return Table(rows)


def _describe_slices(evaluations: Sequence[Evaluation]) -> Iterator[Block]:
    if evaluations[0].mentions:
        yield Heading("What training has seen")
        yield Prose(
            "Gold mentions and predicted spans by their own form and label. The first three parts "
            "add up to the whole, the last two are sums of these."
        )
        yield _slice_table([evaluation.mentions for evaluation in evaluations])
        yield Prose(
            "Sentences whose words are those of a training sentence, whatever its tags, can have "
            "been learned by heart."
        )
        yield _slice_table([evaluation.sentences for evaluation in evaluations])
    yield Heading("By length of the sentence")
    lengths = [evaluation.lengths for evaluation in evaluations]
    yield _slice_table(lengths)
    yield Picture(draw_by_length(list(_points(lengths))))


def _points(runs: Sequence[Sequence[Slice]]) -> Iterator[Point]:
    for parts in zip(*runs, strict=True):
        low, high = _ends([part.score.interval for part in parts]) or (None, None)
        mean = sum(part.score.f1 for part in parts) / len(parts)
        yield Point(name=_name(parts), ratio=mean, low=low, high=high)


def _slice_table(runs: Sequence[Sequence[Slice]]) -> Table:
    of_sentences = runs[0][0].sentences is not None
    head = ["part", *(["sentences"] if of_sentences else []), "gold", "predicted"]
    rows = [[*head, "strict F1", "95 %", "precision", "recall"]]
    for parts in zip(*runs, strict=True):
        n = [_number([part.sentences or 0 for part in parts])] if of_sentences else []
        scores = [part.score for part in parts]
        rows.append([_name(parts), *n, *_sizes(scores), *_score_cells(scores)])
    return Table(rows)


def _name(parts: Sequence[Slice]) -> str:
    return " / ".join(dict.fromkeys(part.name for part in parts))


def _sizes(scores: Sequence[Rated]) -> list[str]:
    return [_number([s.gold for s in scores]), _number([s.predicted for s in scores])]


def _score_cells(scores: Sequence[Rated]) -> list[str]:
    """Format F1, its interval, precision, recall; empty cells if nothing is gold or predicted."""
    if not any(score.gold or score.predicted for score in scores):
        return ["", "", "", ""]
    return [
        _percent(score.f1 for score in scores),
        _interval([score.interval for score in scores]),
        _percent(score.precision for score in scores),
        _percent(score.recall for score in scores),
    ]


def _ends(intervals: Iterable[Interval | None]) -> tuple[float, float] | None:
    given = [interval for interval in intervals if interval]
    return (min(i.low for i in given), max(i.high for i in given)) if given else None


def _interval(intervals: Iterable[Interval | None]) -> str:
    ends = _ends(intervals)
    return _between(*ends) if ends else ""


def _between(low: float, high: float) -> str:
    return f"{100 * low:.2f} to {100 * high:.2f}"


def _percent(values: Iterable[float]) -> str:
    """Format a ratio in percent; for several runs, the mean ± the sample deviation."""
    return str(Spread.of(list(values)))


def _number(values: Sequence[int]) -> str:
    """Format a count; for several runs, the mean."""
    mean = sum(values) / len(values)
    return f"{mean:,.0f}" if mean.is_integer() else f"{mean:,.1f}"


def _describe_errors(evaluations: Sequence[Evaluation]) -> Iterator[Block]:
    """Yield a table that counts right and wrong spans by kind and label."""
    labels = dict.fromkeys(
        label for evaluation in evaluations for label in (*evaluation.labels, *evaluation.kinds)
    )
    counts = {label: Counter[Kind]() for label in labels}
    for evaluation in evaluations:
        for label, kinds in evaluation.kinds.items():
            counts[label].update(kinds)
    rows = [["label", *KINDS, "gold", "predicted"]]
    for label, own in [*counts.items(), ("all", sum(counts.values(), Counter[Kind]()))]:
        numbers = [own[kind] for kind in KINDS]
        *paired, missing, spurious = numbers
        numbers += [sum(paired) + missing, sum(paired) + spurious]
        rows.append([label, *(f"{n:,}" for n in numbers)])
    yield Prose(
        "Each gold span belongs to the predicted span that it shares most words with, one to one. "
        "type: same ends, other label; boundary: same label, other ends; both: words in common "
        "alone; missing, spurious: nothing on the other side. By the gold label, spurious ones by "
        "the predicted." + _together(evaluations)
    )
    yield Table(rows)


def _together(evaluations: Sequence[Evaluation]) -> str:
    return f" Counts of {len(evaluations)} runs together." if len(evaluations) > 1 else ""


def _describe_examples(runs: Runs) -> Iterator[Block]:
    """Yield a table of the first errors of each kind in the first run."""
    name, first = next(iter(runs.items()))
    n = Counter(finding.kind for finding in first.findings)
    rows = [["error", "gold", "predicted", "words", "probability"]]
    for kind in KINDS[1:]:
        of_kind = (finding for finding in first.findings if finding.kind == kind)
        some = islice(of_kind, N_EXAMPLES)
        rows += [_example(found, first.tagged[found.index].sentence.tokens) for found in some]
    shown = ", ".join(f"{min(n[kind], N_EXAMPLES)} of {n[kind]:,} {kind}" for kind in KINDS[1:])
    of_run = f" of run {name}" if len(runs) > 1 else ""
    yield Prose(
        f"The first errors{of_run}: {shown}. The list of errors (errors.tsv) has all. "
        "In the words, [ ] holds the gold span, { } the predicted one."
    )
    if len(rows) > 1:
        yield Table(rows, n_texts=4)


def _example(found: Finding, words: Sequence[str]) -> list[str]:
    sides = (found.gold, found.predicted)
    shown = [f"{' '.join(words[s.start : s.end])} ({s.label})" if s else "" for s in sides]
    probability = f"{found.predicted.probability:.3f}" if found.predicted else ""
    return [found.kind, *shown, show(words, found), probability]


def show(words: Sequence[str], found: Finding) -> str:
    """Return the words around a finding, with the gold span in [ ] and the predicted one in { }."""
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


def _describe_confusion(evaluations: Sequence[Evaluation]) -> Iterator[Block]:
    """Yield the counts of words by gold and predicted label.

    A cell is darker if it holds a larger fraction of the words of its row.
    """
    labels = list(
        dict.fromkeys(label for evaluation in evaluations for label in evaluation.confusion.labels)
    )
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for evaluation in evaluations:
        places = [labels.index(label) for label in evaluation.confusion.labels]
        counts[np.ix_(places, places)] += evaluation.confusion.counts
    shades = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = [[label, *(f"{n:,}" for n in row)] for label, row in zip(labels, counts, strict=True)]
    yield Prose("B- and I- are taken off." + _together(evaluations))
    yield Table([["", *labels], *rows], shades=shades.tolist())


def _describe_calibration(evaluations: Sequence[Evaluation]) -> Iterator[Block]:
    """Yield tables and a plot of the calibration of spans and words."""
    labels = sorted(
        {label for evaluation in evaluations for label in evaluation.calibration_by_label}
    )
    kinds = {"spans": [evaluation.calibration for evaluation in evaluations]}
    for label in labels:
        of_runs = [evaluation.calibration_by_label.get(label) for evaluation in evaluations]
        kinds[f"spans of {label}"] = [run for run in of_runs if run]
    if words := [
        evaluation.calibration_of_words
        for evaluation in evaluations
        if evaluation.calibration_of_words
    ]:
        kinds["words"] = words
    rows = [["", "n", "ECE", "Brier"]]
    for name, found in kinds.items():
        brier = np.mean([one.brier for one in found])
        ece = _percent(one.ece for one in found)
        rows.append([name, f"{sum(one.n for one in found):,}", ece, f"{brier:.4f}"])
    yield Prose(
        "Expected calibration error: how far, in the mean, the ratio of spans that are right is "
        "from their probability, in points; Brier: the mean square of probability minus right."
        + _together(evaluations)
    )
    yield Table(rows)
    bins = _pool(kinds["spans"])
    rows = [["probability", "spans", "mean probability", "right"]]
    for one in bins:
        ratios = ["" if ratio is None else f"{ratio:.3f}" for ratio in (one.probability, one.right)]
        rows.append([f"{one.low:.1f} to {one.high:.1f}", f"{one.n:,}", *ratios])
    yield Table(rows)
    yield Picture(draw_reliability(bins))


def _pool(runs: Sequence[Calibration]) -> list[Bin]:
    """Merge the bins of all runs; means are weighted by the number of predictions."""
    pooled = []
    for bins in zip(*(run.bins for run in runs), strict=True):
        n = sum(one.n for one in bins)
        probability = sum(one.n * (one.probability or 0) for one in bins)
        right = sum(one.n * (one.right or 0) for one in bins)
        means = {"probability": probability / n, "right": right / n} if n else {}
        pooled.append(Bin(low=bins[0].low, high=bins[0].high, n=n, **means))
    return pooled


def _describe_seqeval(runs: Runs) -> Iterator[Block]:
    """Yield the scores of seqeval, the reference that our strict and lenient F1 must equal."""
    import seqeval.metrics as reference  # noqa: PLC0415 - slow
    from seqeval.scheme import IOB2  # noqa: PLC0415

    for name, run in runs.items():
        if any(one.sentence.inner_tags for one in run.tagged):
            yield Prose(f"{name or 'run'}: seqeval reads no names inside names.")
            continue
        gold = [list(one.sentence.tags) for one in run.tagged]
        found = [list(predicted_tags(one)) for one in run.tagged]
        if not any(tag != "O" for tags in (*gold, *found) for tag in tags):
            yield Prose(f"{name or 'run'}: seqeval makes no report without names.")
            continue
        strict = {"mode": "strict", "scheme": IOB2, "zero_division": 0}
        theirs = [
            reference.f1_score(gold, found, **mode) for mode in (strict, {"zero_division": 0})
        ]
        ours = [run.strict.micro.f1, run.lenient.micro.f1]
        is_same = np.allclose(ours, theirs, rtol=0, atol=1e-9)
        if not is_same:
            log.warning("%s: seqeval finds F1 %s where we find %s", name, theirs, ours)
        same = "the same as above" if is_same else "NOT the same as above: please report it"
        yield Prose(
            f"{name or 'run'}: F1 {100 * theirs[0]:.2f} in strict mode with the scheme IOB2, "
            f"{100 * theirs[1]:.2f} by default: {same}. Its report in strict mode:"
        )
        yield Preformatted(reference.classification_report(gold, found, digits=4, **strict))
