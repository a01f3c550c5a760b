"""Tables of ``benchmarks/chinese.py``: the scores of its taggers."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.chinese_sets import BASELINE, LEXICONS, scores_of, variants_of
from benchmarks.chinese_texts import spent
from corpora.datasets.shards import open_dataset
from corpora.tagging import from_iob2

PARTS = ("form in train, whatever its label", "form not in train")


def table(output: Path, name: str) -> Iterator[str]:
    """Yield the lines of the table of a set: a row for each variant that is scored.

    The F1 of a list of the training names follows.
    """
    yield f"\n## {name}\n"
    heads = ("", "F1", "95 %", "seeds", "seen", "unseen", "against", "words", "known")
    yield f"| {' | '.join(heads)} |"
    yield "| --- |" + " ---: |" * (len(heads) - 1)
    for variant in variants_of(name):
        if (scores_of(output, name, variant) / "evaluation.json").is_file():
            yield f"| {variant} | {' | '.join(cells(output, name, variant))} |"
    scores = scores_of(output, name, BASELINE) / "evaluation.json"
    if scores.is_file():
        [run, *_] = json.loads(scores.read_text("utf-8"))["runs"].values()
        yield f"\nA list of the training names: {percent(run['baseline']['score']['f1'])}."


def cells(output: Path, name: str, variant: str) -> Iterator[str]:
    """Yield the columns of a variant, all figures in percent.

    They are: F1 of the first seed, its interval, F1 of the other seeds; F1 (and recall) of names
    whose form is in train, and of the others; the difference to ``BASELINE``; the number of words
    that the encoder knows as entities, and the part of the test's names that is among them.
    """
    folder = scores_of(output, name, variant)
    runs = list(json.loads((folder / "evaluation.json").read_text("utf-8"))["runs"].values())
    first = runs[0]["strict"]["micro"]
    yield percent(first["f1"])
    yield f"{percent(first['interval']['low'])}–{percent(first['interval']['high'])}"
    yield ", ".join(percent(run["scores"]["strict_f1"]) for run in runs[1:])
    scores = {part["name"]: part["score"] for part in runs[0]["mentions"]}
    for score in (scores[name] for name in PARTS):
        yield f"{percent(score['f1'])} ({percent(score['recall'])} of {score['gold']:,})"
    compared = next(iter(folder.glob("against-*/comparison.json")), None)
    if compared:
        found = json.loads(compared.read_text("utf-8"))["difference"]
        low, high = found["interval"]["low"], found["interval"]["high"]
        yield f"{100 * found['value']:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    else:
        yield ""
    if variant in {"base", BASELINE}:
        yield from ("", "")
        return
    rows = open_dataset(output / "words" / f"{name}-{LEXICONS.get(variant, 'ours')}").rows()
    forms = {row["title"] for row in rows}
    names = list(test_names(output / "ner" / name))
    yield f"{len(forms):,}"
    yield percent(sum(form in forms for form in names) / len(names))


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
