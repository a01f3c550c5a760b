"""Tables of ``benchmarks/chinese.py``: the scores of its taggers."""

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chinese_sets import BASELINE, LEXICONS, VARIANTS, scores_of
from benchmarks.chinese_texts import spent
from benchmarks.result_tables import table_lines
from corpora.datasets.shards import open_dataset
from corpora.tagging import from_iob2

SEEN, NEW = "form in train, whatever its label", "form not in train"


def table(output: Path, name: str) -> Iterator[str]:
    """Yield the lines of the table of a set: a row for each variant that is scored.

    The F1 of a list of the training names is the first row.
    """
    yield f"\n## {name}\n"
    heads = ("", "F1", "95 %", "seen", "new", "difference", "words", "names")
    variants = [v for v in VARIANTS if (scores_of(output, name, v) / "evaluation.json").is_file()]
    rows = [[variant, *cells(output, name, variant)] for variant in variants]
    for run in runs_of(output, name, BASELINE)[:1]:
        rows.insert(0, ["a list", percent(run["baseline"]["score"]["f1"]), *[""] * 6])
    yield from table_lines(heads, rows)


def cells(output: Path, name: str, variant: str) -> Iterator[str]:
    """Yield the columns of a variant, all figures in percent.

    They are: the mean of F1 with its sample deviation over seeds, and the interval of the first
    seed; F1 of names whose form is in train, and of the others, with their number; the mean
    difference to ``BASELINE`` of the same seeds with its standard error, and its interval of the
    first seed; the number of words that the encoder knows as entities, and the part of the names of
    test that is among them.
    """
    runs, others = runs_of(output, name, variant), runs_of(output, name, BASELINE)
    yield spread([run["scores"]["strict_f1"] for run in runs], statistics.stdev)
    first = runs[0]["strict"]["micro"]["interval"]
    yield f"{percent(first['low'])}–{percent(first['high'])}"
    for part in (SEEN, NEW):
        scores = [of["score"] for run in runs for of in run["mentions"] if of["name"] == part]
        mean = statistics.fmean(score["f1"] for score in scores)
        yield f"{percent(mean)} of {scores[0]['gold']:,}"
    yield difference(scores_of(output, name, variant), runs, others)
    if variant in {"base", BASELINE}:
        yield from ("", "")
        return
    rows = open_dataset(output / "words" / f"{name}-{LEXICONS.get(variant, 'ours')}").rows()
    forms = {row["title"] for row in rows}
    names = list(test_names(output / "ner" / name))
    yield f"{len(forms):,}"
    yield percent(sum(form in forms for form in names) / len(names))


def runs_of(output: Path, name: str, variant: str) -> list[Any]:
    """Return the scores of a variant, one for each seed; none if it was not scored."""
    path = scores_of(output, name, variant) / "evaluation.json"
    return list(json.loads(path.read_text("utf-8"))["runs"].values()) if path.is_file() else []


def difference(folder: Path, runs: Sequence[Any], others: Sequence[Any]) -> str:
    """Format the difference to ``BASELINE``; an empty string if it was not compared."""
    path = next(iter(folder.glob("against-*/comparison.json")), None)
    if path is None:
        return ""
    interval = json.loads(path.read_text("utf-8"))["difference"]["interval"]
    low, high = 100 * interval["low"], 100 * interval["high"]
    pairs = zip(runs, others, strict=False)
    found = [a["scores"]["strict_f1"] - b["scores"]["strict_f1"] for a, b in pairs]
    error = spread(found, lambda values: statistics.stdev(values) / math.sqrt(len(values)))
    return f"{error} ({low:+.1f} to {high:+.1f})"


def spread(values: Sequence[float], measure: Callable[[Sequence[float]], float]) -> str:
    """Format a mean, and with two values or more how far they lie apart."""
    text = percent(statistics.fmean(values))
    return f"{text} ± {percent(measure(values))}" if len(values) > 1 else text


def test_names(ner: Path) -> Iterator[str]:
    """Yield the text of each name in the test sentences, as often as it occurs."""
    for row in open_dataset(ner).rows():
        if row["split"] == "test":
            for span in from_iob2(row["tags"]):
                yield "".join(row["tokens"][span.start : span.end])


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def write_tables(args: argparse.Namespace) -> None:
    lines = [line for name in args.sets for line in table(args.output, name)]
    text = "\n".join([*lines, "", f"{spent(args.output):.1f} CPU minutes."])
    (args.output / "tables.md").write_text(text + "\n", "utf-8")
    print(text, flush=True)
