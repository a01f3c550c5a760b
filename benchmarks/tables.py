"""Make the tables of ``docs/results.md``: an encoder, fine-tuned and scored on published sets.

    python -m benchmarks.tables german --model models/multilingual-e5-small --data ../data
    python -m benchmarks.tables german --only 'sturm-crf-*' --model MODEL --data ../data
    python -m benchmarks.tables curves --minutes 120 --model MODEL --data ../data
    python -m benchmarks.tables all --only '*-crf-seed1' '*-crf-seed2' --jobs 12 --model MODEL ...
    python -m benchmarks.tables all

A cell is one fine-tuning run: a set, a head and a seed. Cells of learning curves also have a number
of training sentences, and use names as features or not. The first seed of all other cells is also
scored on noisy text and on the other sets of their table, and timed (``conditions.py``).
``tables.toml`` lists the sets and tables.

A finished cell becomes a line of ``benchmarks/records/TABLE.jsonl``, which is kept in the
repository. A cell that has a line is not run again; an interrupted one resumes after its last
epoch. The tables are written from these lines alone, between the marks in ``docs/results.md``, with
the number of the cells that were not run and the command that runs them. ``all`` also compares the
heads. Without ``--model`` nothing is run.

CRF and span heads with one seed come first on every set, then their other seeds, then the other
heads. With several patterns after ``--only``, the cells of the first pattern come first. ``--jobs``
trains several taggers at once, each in its own process, because one tagger leaves a GPU idle most
of the time. A cell that fails is named at the end, and does not stop the others.

DATA is a folder with the unpacked sets ``neiss-ner``, ``ner-de``, ``ner-da`` and ``ner-zh``.
``--set`` tries other settings, and ``--against`` compares. Their records are written to the folder
``--records``, with a page of their own:

    python -m benchmarks.tables all --only '*-crf-seed*' --set training.head_lr_ratio=1 \\
        --records build/one --output build/one-runs --model MODEL --data ../data
    python -m benchmarks.tables all --against build/one

``--tiny`` tries out cells with any encoder, in a step or two each; records and page are then
written to the output folder.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import redirect_stderr, redirect_stdout
from fnmatch import fnmatch
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import torch

from benchmarks.inputs import existing
from benchmarks.resources import measure
from benchmarks.result_cells import (
    CPU,
    SEEDS,
    Cell,
    NerSet,
    Record,
    read_records,
    read_sets,
    sets_in_order,
)
from benchmarks.result_tables import compare_heads, differences, render, write_results
from modeling.tagging_config import HEADS
from modeling.training.world import best_device

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "records"
PAGE = ROOT / "docs" / "results.md"
LEARNING = ("optimizer.lr=1e-4", "training.head_lr_ratio=10")
SETTINGS = {"span": ["head.span_features=words"]}
"""Settings of heads; the encoders of these tables read no entities."""
SAMPLES, SAMPLED_EPOCHS = 1600, 4
"""Samples in an epoch, and epochs, of learning curves: the same number of steps for all sizes."""
NEW = "form not in train"
STOPPED = {128 + signal.SIGINT, 128 + signal.SIGTERM}
"""Statuses of commands that Ctrl-C or SIGTERM stopped."""

Key = tuple[str, Cell]
"""The name of a table, and one of its cells."""


# --- runs


def run(
    cell: Cell, of: NerSet, args: argparse.Namespace, *, others: Sequence[NerSet] = ()
) -> Record:
    """Train a cell and score it, and return its record.

    Continues what an earlier run left. The tagger is removed at the end.
    """
    torch.set_num_threads(args.threads)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # of the commands
    made = args.output / "runs" / cell.name
    made.mkdir(parents=True, exist_ok=True)
    ner = make_ner(of, args)
    settings = settings_of(cell, of, args)
    names = ["--augment-lexicon", "train"] if cell.has_names else []
    where = ["--ner", ner, "--model", args.model, "--output", made, "--seeds", cell.seed]
    if not (made / "summary.json").is_file():
        command(made, "modeling.finetune", cell.head, *where, *names, "--set", *settings)
    decoders = ",".join(HEADS[cell.head].decoders)
    command(made, "modeling.evaluate", made, "--ner", ner, "--decoder", decoders)
    scores = {
        path.parent.name: json.loads(path.read_text("utf-8"))
        for path in sorted((made / "evaluation").rglob("evaluation.json"))
    }
    record = describe(cell, scores, minutes=spent(made), settings=[cell.head, *names, *settings])
    if not cell.size and cell.seed == SEEDS[0]:
        folders = [make_ner(other, args) for other in others]
        where = ["--ner", ner, "--others", *folders, "--output", made / "conditions.json"]
        command(made, "benchmarks.conditions", made, *where, "--threads", args.threads)
        record |= json.loads((made / "conditions.json").read_text("utf-8"))
    shutil.rmtree(made / f"seed-{cell.seed}")  # removes the tagger, half a gigabyte
    return record


def settings_of(cell: Cell, of: NerSet, args: argparse.Namespace) -> list[str]:
    """Return the settings of a cell's run; those of ``--set`` come before all others."""
    if args.tiny:
        length = ["training.epochs=1", "training.samples=32"]
    elif cell.size:
        length = [f"training.epochs={SAMPLED_EPOCHS}", f"training.samples={SAMPLES}"]
    else:
        length = [f"training.epochs={of.epochs}"]
    if cell.size:
        length += [f"training.train_size={cell.size}"]
    every = [*LEARNING, *length, *SETTINGS.get(cell.head, []), *args.set]
    return list({setting.partition("=")[0]: setting for setting in every}.values())


def describe(
    cell: Cell, scores: Mapping[str, Any], *, minutes: float, settings: Sequence[str]
) -> Record:
    """Return the record of a cell: its scores in percent, minutes, device, encoder and settings.

    Args:
        scores: what ``evaluation.json`` has, for each decoder.
    """
    first = scores[HEADS[cell.head].decoders[0]]
    [measured] = first["runs"].values()
    strict = measured["strict"]["micro"]
    parts = {part["name"]: part["score"] for part in measured["mentions"]}
    percents = {
        name: round(100 * next(iter(one["runs"].values()))["scores"]["strict_f1"], 4)
        for name, one in scores.items()
    }
    return {
        "cell": cell.name,
        "f1": percents,
        "interval": [round(100 * strict["interval"][side], 4) for side in ("low", "high")],
        "names": strict["gold"],
        "new": [round(100 * parts[NEW]["f1"], 4), parts[NEW]["gold"]],
        "list": round(100 * measured["baseline"]["score"]["f1"], 4),
        "ece": round(100 * measured["calibration"]["ece"], 4),
        "minutes": round(minutes, 1),
        "device": device(),
        "encoder": first["settings"]["encoder"],
        "settings": list(settings),
    }


def device() -> str:
    """Return the name of the GPU that taggers are trained on; CPU if there is none."""
    is_cuda = best_device().type == "cuda"
    return torch.cuda.get_device_name() if is_cuda else CPU


def command(folder: Path, module: str, *arguments: object) -> None:
    """Run a command of ours in this process, and note its minutes in ``minutes.jsonl``.

    These are minutes of the processor, or of the clock if there is a GPU. Its output is appended to
    ``log.txt``. Raises ``RuntimeError`` if the command fails, and ``KeyboardInterrupt`` if it was
    stopped by a signal.
    """
    line = [module, *map(str, arguments)]
    print("$ python -m", shlex.join(line), flush=True)
    name = module if module.startswith("benchmarks.") else f"{module}.__main__"
    clock = time.process_time if device() == CPU else time.perf_counter
    path = folder / "log.txt"
    with (
        path.open("a", buffering=1, encoding="utf-8") as log,
        redirect_stdout(log),
        redirect_stderr(log),
    ):
        begin = clock()
        status = importlib.import_module(name).main(line[1:])
    if status in STOPPED:
        raise KeyboardInterrupt
    if status:
        raise RuntimeError(f"{module} failed: the end of {path} says why.")
    with (folder / "minutes.jsonl").open("a", encoding="utf-8") as file:
        minutes = (clock() - begin) / 60
        file.write(json.dumps({"module": module, "minutes": minutes}) + "\n")


def spent(folder: Path) -> float:
    """Return the minutes of all commands that were run in a folder so far."""
    lines = (folder / "minutes.jsonl").read_text("utf-8").splitlines()
    return float(sum(json.loads(line)["minutes"] for line in lines))


def make_ner(of: NerSet, args: argparse.Namespace) -> Path:
    """Make the dataset of a set if it is not there, and return its folder."""
    folder, made = args.data / of.folder, Path(args.output / "ner" / of.name)
    if made.is_dir():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    files = [folder / file for file in of.files]
    if of.blocks:
        files = list(in_blocks(files, args.output / "raw" / of.name, size=of.blocks))
    options = [*shlex.split(of.split), "--output", made]
    line = ["pipelines.benchmark_to_ner", "--input", *map(str, [*files, *options])]
    print("$ python -m", shlex.join(line), flush=True)
    measure([sys.executable, "-m", *line], log=made.parent / "log.txt")
    return made


def in_blocks(files: Sequence[Path], folder: Path, *, size: int) -> Iterator[Path]:
    """Write files of train, dev and test, and yield their paths.

    Of ten blocks of ``size`` sentences the ninth goes to dev, the tenth to test.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sentences = [s for file in files for s in split_blank(file.read_text("utf-8"))]
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for number, sentence in enumerate(sentences):
        parts[{8: "dev", 9: "test"}.get(number // size % 10, "train")].append(sentence)
    for name, some in parts.items():
        path = folder / f"{name}{files[0].suffix}"
        path.write_text("\n\n".join(some) + "\n", "utf-8")
        yield path


def split_blank(text: str) -> list[str]:
    return [part for part in re.split(r"\n[ \t]*\n", text.strip("\n")) if part.strip()]


# --- the command


def main() -> None:
    """Run the cells that are left of the tables that were asked for, and write the tables."""
    args = parse()
    sets, tables = read_sets(Path(__file__).with_suffix(".toml"))
    asked = {name: tables[name] for name in (tables if args.name == "all" else [args.name])}
    failed = list(run_cells(asked, sets, args)) if args.model else []
    every = dict[str, Record]()
    for name, cells in asked.items():
        every |= (records := read_records(args.records / f"{name}.jsonl"))
        lines = list(render(name, cells, sets=sets, records=records))
        args.results.write_text(
            write_results(args.results.read_text("utf-8"), name, lines), encoding="utf-8"
        )
    if args.name == "all":
        lines = list(compare_heads(tables, every))
        args.results.write_text(
            write_results(args.results.read_text("utf-8"), "heads", lines), encoding="utf-8"
        )
    if args.against:
        print("\n".join(differences(asked, every, args.against)))
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}. See log.txt of each in {args.output / 'runs'}.")


def run_cells(
    tables: Mapping[str, Sequence[Cell]], sets: Mapping[str, NerSet], args: argparse.Namespace
) -> Iterator[str]:
    """Run the cells without a record, ``--jobs`` at once, until ``--minutes`` are used up.

    Yields the names of those that failed.
    """
    left = list(cells_left(tables, args))
    others = {(name, cell): others_of(cell, sets, tables[name]) for name, cell in left}
    needed = {of.name: of for (_, cell), own in others.items() for of in (sets[cell.set], *own)}
    for of in needed.values() if args.jobs > 1 else ():
        make_ner(of, args)  # here, or several cells would make the same set at once
    minutes = 0.0
    tasks = (
        ((name, cell), partial(run, cell, sets[cell.set], args, others=own))
        for (name, cell), own in others.items()
    )
    allowed = takewhile(lambda _: minutes < args.minutes, tasks)
    for (name, cell), record in run_each(allowed, args.jobs):
        if record is None:
            yield cell.name
            continue
        print(f"{cell.name}: {record['f1']}, {record['minutes']} minutes", flush=True)
        with (args.records / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        minutes += record["minutes"]


def cells_left(
    tables: Mapping[str, Sequence[Cell]], args: argparse.Namespace
) -> Iterator[tuple[str, Cell]]:
    """Yield the cells that were asked for and have no record, with their table."""
    done = {name: read_records(args.records / f"{name}.jsonl") for name in tables}
    for records in done.values():
        check_encoder(records, args)
    seen = set[str]()
    for pattern in args.only:
        for name, cells in tables.items():
            for cell in cells:
                if fnmatch(cell.name, pattern) and not {cell.name} & (done[name].keys() | seen):
                    seen.add(cell.name)
                    yield name, cell


def run_each(
    tasks: Iterable[tuple[Key, partial[Record]]], jobs: int
) -> Iterator[tuple[Key, Record | None]]:
    """Run tasks, ``jobs`` at once, and yield each record when it is finished.

    The record is None if the task failed.
    """
    if jobs == 1:
        yield from ((key, attempt(task)) for key, task in tasks)
        return
    context = multiprocessing.get_context("spawn")  # a GPU cannot be used after a fork
    pool, waiting = ProcessPoolExecutor(jobs, mp_context=context), iter(tasks)
    running: dict[Future[Record | None], Key] = {}
    try:
        while True:
            for key, task in islice(waiting, jobs - len(running)):
                running[pool.submit(attempt, task)] = key
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def attempt(task: partial[Record]) -> Record | None:
    """Run a task; print the error and return None if it fails."""
    try:
        return task()
    except Exception:  # noqa: BLE001 - printed, and said again at the end
        traceback.print_exc()
        return None


def others_of(cell: Cell, sets: Mapping[str, NerSet], cells: Sequence[Cell]) -> list[NerSet]:
    """Return the sets on which a cell's tagger is scored, too: those of its table.

    There are some only for the first seed with all sentences, and if the set has outer names.
    """
    if sets[cell.set].is_nested or cell.size or cell.seed != SEEDS[0]:
        return []
    return [
        sets[name] for name in sets_in_order(cells) if name != cell.set and not sets[name].is_nested
    ]


def check_encoder(records: Mapping[str, Record], args: argparse.Namespace) -> None:
    """End with an error if there are records of another encoder than ``--model``.

    All cells of a table have the same encoder.
    """
    own = {args.model.resolve().name, args.model.resolve().parent.name} if args.model else set()
    encoders = {record["encoder"] for record in records.values()} - own
    if args.model and encoders:
        sys.exit(
            f"{args.records} holds records of {', '.join(encoders)}, --model is another. Name a "
            "folder for its records: --records DIR."
        )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", help="german, danish, chinese, curves or all")
    parser.add_argument(
        "--model", type=existing, help="a folder of transformers; else nothing is run"
    )
    parser.add_argument("--data", type=existing, help="the folder with the unpacked sets")
    parser.add_argument("--output", type=Path, default=Path("build/tables"))
    parser.add_argument("--only", nargs="+", default=["*"], help="cells, as 'sturm-crf-*'")
    parser.add_argument("--minutes", type=float, default=1e9, help="of all cells; then it ends")
    parser.add_argument("--jobs", type=int, default=1, help="cells at once")
    parser.add_argument(
        "--records", type=Path, default=RECORDS, help="of another folder, which gets a page, too"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="other settings of all cells"
    )
    parser.add_argument(
        "--against", type=existing, metavar="DIR", help="records whose F1 is compared with these"
    )
    parser.add_argument("--tiny", action="store_true", help="a step or two of a cell, to try it")
    args = parser.parse_args()
    if args.model and not args.data:
        parser.error("--model needs --data")
    if args.model and args.set and args.records == RECORDS:
        parser.error("--set needs a folder for its own records: --records DIR")
    if args.tiny:
        args.records = args.output / "records"
    args.records.mkdir(parents=True, exist_ok=True)
    args.results = PAGE if args.records == RECORDS else args.records / PAGE.name
    if not args.results.exists():
        shutil.copy(PAGE, args.results)
    return args


if __name__ == "__main__":
    main()
