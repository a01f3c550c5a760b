"""Pre-train small encoders on real text, and compare them on the same masks of validation.

    python -m benchmarks.pretraining text --input 'wiki-text-de/wiki_*' --lang de --output build/de
    python -m benchmarks.pretraining dump --input ltgwiki-latest.xml.bz2 --output build/ltg

``text`` makes documents, a tokenizer and examples of plain text, and trains ``neiss_small``
(relative positions, whole-word masking) and ``neiss_abs_subwords_small`` (absolute positions,
subwords masked one by one) for the same number of steps. ``dump`` makes documents of a Wikipedia
dump, its entity vocabulary and examples, and trains ``daluke_small`` with entity-aware and with
plain attention.

All models of a run predict the same masked subwords (and mentions) of the same validation
documents. The unigram predicts the most frequent subword (entity) everywhere. Each step is a
command of users; it is printed, and resumes if this script is run again.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.inputs import pattern

TOPS = ("1", "5", "10", "50")


def command(module: str, *arguments: object) -> float:
    """Run a command; returns the CPU minutes that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = [sys.executable, "-m", module, *map(str, arguments)]
    print("$ python", *line[1:], flush=True)
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds / 60


def make_examples(arguments: argparse.Namespace, output: Path) -> float:
    """Make examples of raw input; returns CPU minutes."""
    documents, vocab = output / "documents", []
    if arguments.source == "text":
        settings = ["--lang", arguments.lang, "--output", documents]
        minutes = command("pipelines.text_to_documents", "--input", *arguments.input, *settings)
    else:
        source = ["--input", *arguments.input, "--output", output / "wiki", "--allow-truncated"]
        minutes = command("pipelines.wikipedia_to_documents", *source)
        documents = output / "wiki" / "documents"
        source = ["--input", documents, "--existing", arguments.existing]
        source += ["--output", output / "vocab"]
        minutes += command("pipelines.documents_to_entity_vocab", *source)
        vocab = ["--entity-vocab", output / "vocab", "--min-entity-count", arguments.min_count]
    tokenizer = output / "tokenizer"
    settings = ["--size", arguments.size, "--min-count", 2, "--output", tokenizer]
    minutes += command("pipelines.documents_to_tokenizer", "--input", documents, *settings)
    settings = ["--tokenizer", tokenizer, *vocab, "--max-length", arguments.length]
    settings += ["--validation", arguments.validation, "--output", output / "examples"]
    return minutes + command("pipelines.documents_to_examples", "--input", documents, *settings)


def train(recipe: str, run: Path, settings: Sequence[str]) -> float:
    """Train a model; returns CPU minutes."""
    options = ["--examples", run.parent.parent / "examples", "--output", run]
    return command("modeling.pretrain", recipe, *options, "--set", *settings)


def lines(run: Path) -> Iterator[dict[str, Any]]:
    """Yield the metrics that a run has logged."""
    with (run / "metrics.jsonl").open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def row(name: str, line: dict[str, Any], minutes: float | None = None) -> str:
    """Return the losses and accuracies of a model as a row of a table."""
    cells = [name, f"{line['step']:,}", "" if minutes is None else f"{minutes:.1f}"]
    for objective in ("subwords", "entities"):
        if objective in line["loss"]:
            top = line["accuracy"][objective]
            cells.append(f"{line['loss'][objective]:.3f}")
            cells += [f"{100 * top[k]:.1f}" for k in TOPS]
    return f"| {' | '.join(cells)} |"


def show(output: Path, minutes: dict[str, float]) -> None:
    """Print a table of all models."""
    first = lines(output / "runs" / next(iter(minutes)))
    unigram = next(line for line in first if line["kind"] == "unigram")
    heads = ["model", "steps", "CPU minutes"]
    for objective in ("subwords", "entities"):
        if objective in unigram["loss"]:
            heads += [f"{objective}: loss", *(f"top {k} %" for k in TOPS)]
    print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    print(row("unigram", unigram))
    for name, spent in minutes.items():
        validation = [n for n in lines(output / "runs" / name) if n["kind"] == "evaluation"]
        print(row(name, validation[-1], spent))
    print(f"\nTargets: {unigram['targets']}")


def main() -> None:
    """Make examples, train, compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("source", choices=("text", "dump"))
    parser.add_argument("--input", type=pattern, nargs="+", required=True)
    parser.add_argument("--lang", default="de")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--size", type=int, default=16_000, help="of the tokenizer")
    parser.add_argument("--length", type=int, default=128, help="longest example")
    parser.add_argument("--validation", type=float, default=0.01)
    parser.add_argument("--min-count", type=int, default=3, help="mentions of an entity")
    parser.add_argument("--existing", default="auto", help="any: for a dump that is a sample")
    parser.add_argument("--steps", type=int, default=2_000, help="of the first model")
    parser.add_argument("--batch", type=int, default=32)
    arguments = parser.parse_args()
    output = arguments.output
    prepared = make_examples(arguments, output)
    settings = [f"training.batch_size={arguments.batch}"]
    settings += [f"training.micro_batch_size={arguments.batch}", "training.checkpoint_every=500"]
    settings += [f"data.max_length={arguments.length}", "training.evaluate_every=500"]
    settings += ["training.evaluate_examples=1000"]
    steps = f"training.max_steps={arguments.steps}"
    minutes, runs = {}, output / "runs"
    if arguments.source == "text":
        for name in ("neiss_small", "neiss_abs_subwords_small"):
            minutes[name] = train(name, runs / name, [*settings, steps])
    else:
        for name, attention in (("entity-aware", "entity_aware"), ("plain", "plain")):
            kind = [f"encoder.attention={attention}"]
            minutes[name] = train("daluke_small", runs / name, [*settings, steps, *kind])
    show(output, minutes)
    print(f"\nCPU minutes in all: {prepared + sum(minutes.values()):.1f}")


if __name__ == "__main__":
    main()
