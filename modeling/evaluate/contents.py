"""What a report says of one or more runs on a set of sentences, as blocks of a page.

With several runs, a number is the mean over them, ± the sample deviation, and an interval goes from
the lowest to the highest end of theirs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from corpora.errors import CorpusError
from modeling.evaluate.contents_of_errors import (
    tell_calibration,
    tell_confusion,
    tell_errors,
    tell_examples,
)
from modeling.evaluate.intervals import Spread
from modeling.evaluate.plots import Point, draw_by_length
from modeling.evaluate.scores import Rated
from modeling.pages import Block, Heading, Items, Listing, Picture, Table, Text

if TYPE_CHECKING:
    from modeling.evaluate.evaluation import Evaluation, Slice

DEFINITIONS = (
    "Strict: a span is right if both its ends and its label are; tags against IOB2 make no span.",
    "Lenient: tags are read as the conlleval script and seqeval by default do.",
    "Token F1: of words that have a label, B- and I- taken off, micro, O left out.",
    "Macro F1: mean over the labels that are gold or predicted. F1 is 0 where it is 0/0.",
    "Normal approximation: f ± 1.96 √(f (1 − f) / n), n gold mentions.",
)


def describe(
    runs: Mapping[str, "Evaluation"],
    *,
    title: str,
    notes: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> list[Block]:
    """A page about runs, by name; raises ``CorpusError`` where they were not measured alike."""
    evaluations = list(runs.values())
    _check(evaluations)
    parts: list[Block] = [Heading(title, 1), *(Text(note) for note in notes)]
    parts += [Heading("Scores"), _main_table(runs), Items([*_facts(evaluations), *DEFINITIONS])]
    parts += _tell_floor(runs)
    parts += [Heading("By label"), _label_table(evaluations)]
    parts += _tell_slices(evaluations)
    parts += [Heading("Errors"), *tell_errors(evaluations), *tell_examples(runs)]
    parts += [Heading("Words: gold down, predicted across"), *tell_confusion(evaluations)]
    parts += [Heading("Calibration"), *tell_calibration(evaluations)]
    if settings is not None:
        text = json.dumps(settings, indent=1, ensure_ascii=False, default=str)
        parts += [Heading("Settings"), Listing(text)]
    return parts


def _check(evaluations: Sequence["Evaluation"]) -> None:
    alike = {
        (one.without, one.unit, len(one.mentions), len(one.lengths), one.floor is None)
        for one in evaluations
    }
    if len(alike) != 1:
        raise CorpusError(
            "runs that were measured in different ways (labels left out, units of the bootstrap, "
            "with or without training sentences), or none, do not go into one report. "
            "Evaluate them alike."
        )


def _facts(evaluations: Sequence["Evaluation"]) -> Iterator[str]:
    first = evaluations[0]
    sizes = {
        "sentences": [one.n_sentences for one in evaluations],
        "words": [one.n_words for one in evaluations],
        "documents": [one.n_documents for one in evaluations],
        "gold mentions": [one.strict.micro.gold for one in evaluations],
    }
    yield "; ".join(f"{number(values)} {name}" for name, values in sizes.items()) + "."
    if not first.replicates:
        yield "No intervals by the bootstrap: no replicates were asked for."
        return
    yield (
        f"Intervals hold 95 % of {first.replicates:,} bootstrap replicates, each of "
        f"{number([one.n_units for one in evaluations])} {first.unit} drawn with replacement; "
        "replicates in which nothing is gold or predicted do not count."
    )
    if len(evaluations) > 1:
        yield (
            f"Numbers of the {len(evaluations)} runs together are means, ± the sample deviation; "
            "an interval goes from the lowest to the highest end of theirs."
        )


def _main_table(runs: Mapping[str, "Evaluation"]) -> Table:
    evaluations = list(runs.values())
    without = evaluations[0].without
    head = ["run", "strict F1", "95 %", "precision", "recall", "lenient F1", "token F1", "macro F1"]
    head += [f"strict F1 without {', '.join(without)}", "95 %"] if without else []
    rows = [head, *([name or "run", *_main_cells([run])] for name, run in runs.items())]
    if len(runs) > 1:
        rows.append(["mean", *_main_cells(evaluations)])
    if floors := [one.floor.score for one in evaluations if one.floor]:
        cells = _score_cells(floors[:1] if len(set(floors)) == 1 else floors)
        rows.append(["names of train, looked up", *cells, *[""] * (len(head) - 1 - len(cells))])
    if len(runs) == 1:
        normal = evaluations[0].strict.micro.normal
        cells = ["by normal approximation", "", _between(*normal) if normal else ""]
        rows.append([*cells, *[""] * (len(head) - len(cells))])
    return Table(rows)


def _main_cells(evaluations: Sequence["Evaluation"]) -> list[str]:
    cells = _score_cells([one.strict.micro for one in evaluations])
    cells.append(share([one.lenient.micro.f1 for one in evaluations]))
    cells.append(share([one.words.micro.f1 for one in evaluations]))
    cells.append(share([one.strict.macro_f1 for one in evaluations]))
    if rest := [one.strict.without for one in evaluations if one.strict.without]:
        cells += _score_cells(rest)[:2]
    return cells


def _tell_floor(runs: Mapping[str, "Evaluation"]) -> Iterator[Block]:
    floors = {name: run.floor for name, run in runs.items() if run.floor}
    if not floors:
        yield Text("Not measured: what training has seen, for no training sentences were given.")
        return
    first = next(iter(floors.values()))
    where = "dev" if first.chosen_on == "dev" else "folds of train, there being no mentions in dev"
    yield Text(
        f"A tagger that is not above the {first.forms:,} names of train, looked up from left to "
        "right, the longest first, has learned nothing about new names. A name is used if it is a "
        f"mention in {first.threshold:.0%} or more of its occurrences in train (chosen on {where})."
    )
    rows = [["run", "above the names of train", "95 %", "p"]]
    for name, floor in floors.items():
        above = floor.above
        between = _between(above.interval.low, above.interval.high) if above.interval else ""
        p = "" if above.p is None else f"{above.p:.3f}"
        rows.append([name or "run", f"{100 * above.value:+.2f}", between, p])
    yield Table(rows)


def _label_table(evaluations: Sequence["Evaluation"]) -> Table:
    labels = dict.fromkeys(label for one in evaluations for label in one.labels)
    rows = [
        [
            "label", "gold", "predicted", "strict F1", "95 %", "precision", "recall", "lenient F1",
            "token F1",
        ]
    ]  # fmt: skip
    for label in labels:
        strict, lenient, words = (
            [scores.by_label.get(label, _NOTHING) for scores in kind]
            for kind in zip(
                *((one.strict, one.lenient, one.words) for one in evaluations), strict=True
            )
        )
        sizes = [number([s.gold for s in strict]), number([s.predicted for s in strict])]
        others = [share([s.f1 for s in lenient]), share([s.f1 for s in words])]
        rows.append([label, *sizes, *_score_cells(strict), *others])
    return Table(rows)


_NOTHING = Rated(correct=0, predicted=0, gold=0)


def _tell_slices(evaluations: Sequence["Evaluation"]) -> Iterator[Block]:
    if evaluations[0].mentions:
        yield Heading("What training has seen")
        yield Text(
            "Gold mentions and predicted spans by their own form and label. The first three parts "
            "add up to the whole, the last two are sums of these."
        )
        yield _slice_table([one.mentions for one in evaluations])
        yield Text(
            "Sentences whose words are those of a training sentence, whatever its tags, can have "
            "been learned by heart."
        )
        yield _slice_table([one.sentences for one in evaluations])
    yield Heading("By length of the sentence")
    lengths = [one.lengths for one in evaluations]
    yield _slice_table(lengths)
    yield Picture(draw_by_length(list(_points(lengths)), title="Strict F1 by length"))


def _points(runs: Sequence[Sequence["Slice"]]) -> Iterator[Point]:
    for parts in zip(*runs, strict=True):
        low, high = _ends([part.score for part in parts]) or (None, None)
        mean = sum(part.score.f1 for part in parts) / len(parts)
        yield Point(name=_name(parts), share=mean, low=low, high=high)


def _slice_table(runs: Sequence[Sequence["Slice"]]) -> Table:
    of_sentences = runs[0][0].sentences is not None
    head = ["part", *(["sentences"] if of_sentences else []), "gold", "predicted"]
    rows = [[*head, "strict F1", "95 %", "precision", "recall"]]
    for parts in zip(*runs, strict=True):
        n = [number([part.sentences or 0 for part in parts])] if of_sentences else []
        scores = [part.score for part in parts]
        sizes = [number([s.gold for s in scores]), number([s.predicted for s in scores])]
        rows.append([_name(parts), *n, *sizes, *_score_cells(scores)])
    return Table(rows)


def _name(parts: Sequence["Slice"]) -> str:
    return " / ".join(dict.fromkeys(part.name for part in parts))


def _score_cells(scores: Sequence[Rated]) -> list[str]:
    """F1, its interval, precision, recall; of a score without gold and predictions: nothing."""
    if not any(score.gold or score.predicted for score in scores):
        return ["", "", "", ""]
    ends = _ends(scores)
    return [
        share([score.f1 for score in scores]),
        _between(*ends) if ends else "",
        share([score.precision for score in scores]),
        share([score.recall for score in scores]),
    ]


def _ends(scores: Sequence[Rated]) -> tuple[float, float] | None:
    intervals = [score.interval for score in scores if score.interval]
    if not intervals:
        return None
    return min(one.low for one in intervals), max(one.high for one in intervals)


def share(values: Sequence[float]) -> str:
    """In percent; of several runs the mean ± the deviation."""
    return str(Spread.of(values))


def number(values: Sequence[int]) -> str:
    """A count; of several runs the mean."""
    mean = sum(values) / len(values)
    return f"{mean:,.0f}" if mean.is_integer() else f"{mean:,.1f}"


def _between(low: float, high: float) -> str:
    return f"{100 * low:.2f} to {100 * high:.2f}"
