"""Compare heads and decoders on published sets, with a small encoder, for ``docs/results.md``.

Example, the runs of the tables there:
  python -m benchmarks.heads --model runs/small --ner build/sturm build/ddt --output runs/heads

Trains every head on every set with one seed, on the first set also with the names of the training
set as features. Then trains the two heads that are best on dev (mean over the sets) with two more
seeds, scores all taggers on test with every decoder, and writes the tables. All steps are commands
that users have; the same command resumes.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from benchmarks.inputs import existing
from modeling.evaluate.__main__ import main as evaluate
from modeling.finetune.__main__ import main as finetune
from modeling.report.tables import read_evaluations, table
from modeling.tagging_config import DECODERS

HEADS = ("softmax", "cse", "crf", "crf_ner", "span")


def main() -> None:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    begin = time.process_time()
    settings = [f"training.epochs={arguments.epochs}", *arguments.set]
    for head in HEADS:
        for ner in arguments.ner:
            for variant in variants(arguments, head, ner):
                train(arguments, ner, head=head, variant=variant, seeds=(1,), settings=settings)
    best = best_heads(arguments.output, arguments.ner)
    for head in best:
        for ner in arguments.ner:
            train(arguments, ner, head=head, variant="", seeds=(1, 2, 3), settings=settings)
    for head in HEADS:
        for ner in arguments.ner:
            for variant in variants(arguments, head, ner):
                score(arguments, ner, head=head, variant=variant)
    write_tables(arguments.output, best=best, minutes=(time.process_time() - begin) / 60)


def variants(arguments: argparse.Namespace, head: str, ner: Path) -> Iterator[str]:
    """Yield the sets of features: none, and the names of the training set on the first set.

    The head ``span`` has none with names.
    """
    yield ""
    if head != "span" and ner == arguments.ner[0]:
        yield "names"


def folder_of(output: Path, ner: Path, *, head: str, variant: str) -> Path:
    return output / "-".join(part for part in (ner.name, head, variant) if part)


def train(
    arguments: argparse.Namespace,
    ner: Path,
    *,
    head: str,
    variant: str,
    seeds: Sequence[int],
    settings: Sequence[str],
) -> None:
    output = folder_of(arguments.output, ner, head=head, variant=variant)
    command = [f"{head}_small", "--ner", ner, "--model", arguments.model, "--output", output]
    command += ["--seeds", ",".join(map(str, seeds)), "--threads", arguments.threads]
    command += ["--augment-lexicon", "train"] if variant else []
    more = ["head.span_features=words"] if head == "span" else []
    check(finetune([*map(str, command), "--set", *settings, *more]))


def score(arguments: argparse.Namespace, ner: Path, *, head: str, variant: str) -> None:
    output = folder_of(arguments.output, ner, head=head, variant=variant)
    for split in ("dev", "test"):
        command = [output, "--ner", ner, "--split", split, "--decoder", ",".join(DECODERS[head])]
        check(evaluate([*map(str, command), "--threads", str(arguments.threads)]))


def check(status: int) -> None:
    if status:
        raise SystemExit(status)


def best_heads(output: Path, sets: Sequence[Path]) -> list[str]:
    """Return the two heads that have the best mean on dev over the sets, without features."""
    means = {}
    for head in HEADS:
        paths = [folder_of(output, ner, head=head, variant="") / "summary.json" for ner in sets]
        read = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        means[head] = statistics.fmean(one["settings"][0]["mean"] for one in read)
    return sorted(means, key=means.__getitem__)[-2:]


def write_tables(output: Path, *, best: Sequence[str], minutes: float) -> None:
    found = read_evaluations(output)
    parts = [f"The two heads that are best on dev: {', '.join(best)}. {minutes:.0f} CPU minutes.\n"]
    for split in ("dev", "test"):
        some = [one for one in found if one.settings["split"] == split]
        for value in ("strict_f1", "lenient_f1"):
            made = table(
                some,
                rows=("head.kind", "gazetteer.source"),
                columns=("dataset", "decoder"),
                value=value,
            )
            parts.append(f"## {split}\n\n{made.to_markdown()}")
    (output / "tables.md").write_text("\n".join(parts), encoding="utf-8")
    print("\n".join(parts))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=existing, required=True)
    parser.add_argument("--ner", type=existing, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", nargs="+", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    main()
