"""Train a small tagger that learns from a large one; measure F1, size and speed, also in int8.

    python -m benchmarks.distil runs/sturm --ner build/sturm/ner --model models/e5 \\
        --documents build/letters/documents --output build/distil

Makes the encoder of a student (``--layers`` of MODEL, with the subwords of all these texts), trains
it with the teacher and without, exports all three taggers as ONNX in int8, and scores each on test.
The student without a teacher learns from the tagged sentences alone, in the same number of steps.
What is there is not made again. Prints the table of ``docs/results.md``; ``distil.json`` in the
output folder has the numbers. Speed is sentences of the test part per second of processor time on
one thread; MB is the size of the weights.
"""

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.conditions import Scorer
from benchmarks.inputs import existing
from modeling.finetune.data import NerData
from modeling.taggers.folders import find_tagger
from modeling.taggers.tagger import Tagger


def main() -> None:
    """Make what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("teacher", type=existing, help="a run of modeling.finetune")
    parser.add_argument("--ner", type=existing, required=True, help="what it was trained on")
    parser.add_argument(
        "--model", type=existing, required=True, help="an encoder, whose layers are taken"
    )
    parser.add_argument("--documents", type=existing, nargs="+", required=True, help="other text")
    parser.add_argument("--layers", default="1,5,9,12")
    parser.add_argument("--samples", type=int, default=8000, help="sentences of an epoch")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    args = parser.parse_args()
    torch.set_num_threads(1)
    taggers = {
        "teacher": args.teacher,
        "student, tagged sentences alone": train(args, "alone"),
        "student, taught": train(args, "taught", "--teacher", args.teacher,
                                 "--documents", *args.documents),
    }  # fmt: skip
    for name, run in list(taggers.items()):
        small = args.output / f"{run.name if name != 'teacher' else 'teacher'}-int8"
        if not small.is_dir():
            call("modeling.export", run, "--output", small, "--to", "onnx", "--int8")
        taggers[f"{name}, int8"] = small
    data = NerData.open(args.ner)
    rows = {name: measured(run, data) for name, run in taggers.items()}
    (args.output / "distil.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print("| tagger | F1 on test | 95 % | MB | sentences a second |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, row in rows.items():
        low, high = row["interval"]
        print(f"| {name} | {row['f1']:.1f} | {low:.1f}–{high:.1f} | {row['mb']} | {row['speed']} |")


def train(args: argparse.Namespace, name: str, *options: object) -> Path:
    """Train a student with these options, besides those that all students have.

    Returns the folder of its run. What is there is not made again.
    """
    encoder, run = args.output / "encoder", args.output / name
    if not encoder.is_dir():
        texts = [args.ner, *args.documents]
        of = ["--without-heads", "--keep-layers", args.layers, "--trim-vocabulary", *texts]
        call("modeling.export", args.model, *of, "--output", encoder)
    settings = [f"training.samples={args.samples}", f"training.epochs={args.epochs}"]
    where = ["--ner", args.ner, "--model", encoder, "--output", run, "--threads", "1"]
    if not (run / "summary.json").is_file():
        call("modeling.finetune", "crf", *where, *options, "--set", "optimizer.lr=2e-4", *settings)
    return run


def call(*command: object) -> None:
    """Run a module; raises ``CalledProcessError`` if it fails."""
    words = [sys.executable, "-m", *map(str, command)]
    print("$", shlex.join(words[1:]), file=sys.stderr, flush=True)
    subprocess.run(words, check=True)


def measured(run: Path, data: NerData) -> dict[str, Any]:
    """Score a tagger on test: F1 with its interval, and what a list scores; speed and megabytes."""
    tagger, test = Tagger.load(run), data.split("test")
    tagger.tag(test[: tagger.batch_size])  # warms up: what is made once is made
    begin = time.process_time()
    tagged = tagger.tag(test)
    speed = len(test) / (time.process_time() - begin)
    folder = find_tagger(run).path
    weights = [file for kind in ("*.safetensors", "*.onnx") for file in folder.glob(kind)]
    size = sum(file.stat().st_size for file in weights)
    return Scorer(tagger, data).score(tagged) | {
        "speed": round(speed), "mb": round(size / 1e6),
    }  # fmt: skip


if __name__ == "__main__":
    main()
