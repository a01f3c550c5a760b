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
a list of the cells that were not run and the command that runs them. ``all`` also compares the
heads, and draws a picture of time and F1. Without ``--model`` nothing is run.

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
import re
import shlex
import shutil
import signal
import statistics
import sys
import time
import tomllib
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import torch

from benchmarks.resources import measure
from benchmarks.time_picture import Row, draw, in_words
from modeling.tagging_config import DECODERS
from modeling.training.world import best_device

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks" / "records"
PAGE = ROOT / "docs" / "results.md"
HEADS = ("crf", "span", "softmax", "cse", "crf_ner")
SEEDS = (1, 2, 3)
LEARNING = ("optimizer.lr=1e-4", "training.head_lr_ratio=10")
SETTINGS = {"span": ["head.span_features=words"]}
"""Settings of heads; the encoders of these tables read no entities."""
SAMPLES, SAMPLED_EPOCHS = 1600, 4
"""Samples in an epoch, and epochs, of learning curves: the same number of steps for all sizes."""
NEW = "form not in train"
CPU = "CPU"
STOPPED = {128 + signal.SIGINT, 128 + signal.SIGTERM}
"""Statuses of commands that Ctrl-C or SIGTERM stopped."""

Record = dict[str, Any]
Key = tuple[str, "Cell"]
"""The name of a table, and one of its cells."""


@dataclass(frozen=True)
class NerSet:
    """A NER set: its files, how they are split, and what others published about it."""

    name: str
    folder: str
    files: tuple[str, ...]
    epochs: int
    test: str
    split: str = ""
    blocks: int = 0
    """Sentences in a block, which is in one split, for a set without documents; 0: no blocks."""
    source: str = ""
    published: Mapping[str, float] | None = None
    is_nested: bool = False
    """Whether the set has names inside names; it is then not scored with other sets."""


@dataclass(frozen=True)
class Cell:
    """One fine-tuning run: a set, a head, a seed, and what a learning curve varies."""

    set: str
    head: str
    seed: int
    size: int = 0
    has_names: bool = False

    @property
    def row(self) -> str:
        """The name of the cell without the seed."""
        more = [f"{self.size}"] if self.size else []
        return "-".join([self.set, self.head, *more, *(["names"] if self.has_names else [])])

    @property
    def name(self) -> str:
        """The name of the cell in the records."""
        return f"{self.row}-seed{self.seed}"


def read_sets(path: Path) -> tuple[dict[str, NerSet], dict[str, list[Cell]]]:
    """Read the sets, and the cells of each table in the order in which they are run."""
    read = tomllib.loads(path.read_text("utf-8"))
    sets = {
        name: NerSet(name=name, **values | {"files": tuple(values["files"])})
        for name, values in read["sets"].items()
    }
    return sets, {name: list(plan(**table)) for name, table in read["tables"].items()}


def plan(
    sets: Sequence[str],
    heads: Sequence[str] = HEADS,
    *,
    sizes: Sequence[int] = (),
    left_out: Sequence[str] = (),
) -> Iterator[Cell]:
    """Yield the cells of a table in the order in which they are run.

    The first two heads come with their first seed on all sets, then with the other seeds, and then
    the other heads. ``left_out`` has patterns of names of cells that are not run.
    """
    kinds = [(size, names) for size in sizes for names in (False, True)] or [(0, False)]
    for some in (heads[:2], heads[2:]):
        for seed in SEEDS:
            for head in some:
                for size, names in kinds:
                    for name in sets:
                        cell = Cell(name, head, seed, size, names)
                        if not any(fnmatch(cell.name, pattern) for pattern in left_out):
                            yield cell


# --- runs


def run(
    cell: Cell, of: NerSet, args: argparse.Namespace, *, others: Sequence[NerSet] = ()
) -> Record:
    """Train a cell and score it, and return its record.

    Continues what an earlier run left. The tagger is removed at the end.
    """
    torch.set_num_threads(args.threads)
    made = args.output / "runs" / cell.name
    made.mkdir(parents=True, exist_ok=True)
    ner = make_ner(of, args)
    settings = settings_of(cell, of, args)
    names = ["--augment-lexicon", "train"] if cell.has_names else []
    where = ["--ner", ner, "--model", args.model, "--output", made, "--seeds", cell.seed]
    if not (made / "summary.json").is_file():
        threads = ["--threads", args.threads]
        command(made, "modeling.finetune", cell.head, *where, *names, *threads, "--set", *settings)
    decoders = ",".join(DECODERS[cell.head])
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
    first = scores[DECODERS[cell.head][0]]
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
    options = [*shlex.split(of.split), "--card", "off", "--output", made]
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


# --- tables


def render(
    name: str, cells: Sequence[Cell], *, sets: Mapping[str, NerSet], records: Mapping[str, Record]
) -> Iterator[str]:
    """Yield the lines of a table: the scores of each row, and commands for the cells left."""
    rows: dict[str, list[Cell]] = {}
    for cell in by_set(cells):
        rows.setdefault(cell.row, []).append(cell)
    done = {row: [records[c.name] for c in own if c.name in records] for row, own in rows.items()}
    if any(done.values()):
        every = [record for some in done.values() for record in some]
        encoders = {record["encoder"] for record in every}
        gpus = {device_of(record) for record in every} - {CPU}
        yield f"Encoder: {', '.join(sorted(encoders))}. GPU: {', '.join(sorted(gpus)) or 'none'}.\n"
        titles = ("", "F1", "95 %", "other decoders", "new names", "a list", "ECE", "minutes")
        lines = [list(columns(rows[row][0], sets, some)) for row, some in done.items() if some]
        yield from table_lines([*titles, "published"], lines)
        yield from conditions(rows, done)
        yield from notes({own[0].set for row, own in rows.items() if done[row]}, sets)
    yield from not_run(name, cells, records)


def not_run(name: str, cells: Sequence[Cell], records: Mapping[str, Record]) -> Iterator[str]:
    """Yield lines that name the cells that are left, and the command that runs them."""
    left = [cell for cell in cells if cell.name not in records]
    if not left:
        return
    yield f"Not run: {len(left)} of {len(cells)}. This runs those of a name or pattern:"
    yield f"`python -m benchmarks.tables {name} --model MODEL --data DATA --only 'NAME'`.\n"
    for of in sets_in_order(left):
        own = [cell for cell in left if cell.set == of]
        n_all = sum(cell.set == of for cell in cells)
        named = [f"`{cell.name}`" for cell in own]
        shown = f"all {n_all}" if len(own) == n_all else ", ".join(named)
        yield f"- `{of}-*`: {shown}"


def sets_in_order(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.set for cell in cells))


def by_set(cells: Sequence[Cell]) -> list[Cell]:
    """Sort the cells by set and size; those of one set and size stay in the order they have."""
    order = sets_in_order(cells)
    return sorted(cells, key=lambda cell: (order.index(cell.set), cell.size))


def columns(cell: Cell, sets: Mapping[str, NerSet], records: Sequence[Record]) -> Iterator[str]:
    """Yield the columns of a row, which has the records of a cell's seeds.

    F1 is the mean over the seeds; interval, other decoders, new names, list and ECE are those of
    the first seed that was run.
    """
    main, *others = DECODERS[cell.head]
    first, f1 = records[0], [record["f1"][main] for record in records]
    yield head_of(cell)
    spread = f" ± {statistics.stdev(f1):.1f}" if len(f1) > 1 else ""
    yield f"**{statistics.fmean(f1):.1f}**{spread} ({len(f1)})"
    yield "–".join(f"{value:.1f}" for value in first["interval"])
    yield ", ".join(f"`{name}` {first['f1'][name]:.1f}" for name in others)
    yield f"{first['new'][0]:.1f} of {first['new'][1]:,}"
    yield f"{first['list']:.1f}"
    yield f"{first['ece']:.1f}"
    yield ", ".join(in_minutes(records))
    published = (sets[cell.set].published or {}) if not cell.size else {}
    yield f"{published[cell.head]:.1f}" if cell.head in published else ""


def in_minutes(records: Sequence[Record]) -> Iterator[str]:
    """Yield the minutes of the processor, and those on a GPU."""
    on_cpu = [record["minutes"] for record in records if device_of(record) == CPU]
    on_gpu = [record["minutes"] for record in records if device_of(record) != CPU]
    if on_cpu:
        yield f"{sum(on_cpu):.0f}"
    if on_gpu:
        yield f"GPU {sum(on_gpu):.1f}"


def device_of(record: Record) -> str:
    """Return the device of a record; the first records were all made on a CPU."""
    return str(record.get("device", CPU))


def head_of(cell: Cell) -> str:
    """Return the first column of the cell's row."""
    more = [f"{cell.size:,} sentences"] if cell.size else []
    more += ["with names"] if cell.has_names else []
    return ", ".join([f"{cell.set}: `{cell.head}`", *more])


def notes(shown: set[str], sets: Mapping[str, NerSet]) -> Iterator[str]:
    """Yield lines that say what is scored of each set, and where published figures are from."""
    for name in sorted(shown):
        source = f" Published: {sets[name].source}." if sets[name].published else ""
        what = sets[name].test
        part = "the published test part" if what == "published" else f"{what}, so no paper's figure"
        yield f"- {name}: scored is {part}; {sets[name].epochs} epochs.{source}"
    yield ""


def write_results(text: str, name: str, lines: Sequence[str]) -> str:
    """Return the text of a page with other lines between the marks of a table.

    Raises ``ValueError`` if a mark is missing.
    """
    begin, end = f"<!-- table {name} -->", f"<!-- end of table {name} -->"
    before, found, rest = text.partition(begin)
    _, also_found, after = rest.partition(end)
    if not found or not also_found:
        raise ValueError(f"there is no {begin} … {end}: write both where the table shall stand")
    return "\n\n".join([before + begin, "\n".join(lines).strip(), end + after])


def read_records(path: Path) -> dict[str, Record]:
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return {record["cell"]: record for record in map(json.loads, lines)}


def conditions(
    rows: Mapping[str, Sequence[Cell]], done: Mapping[str, Sequence[Record]]
) -> Iterator[str]:
    """Yield the lines of two tables: noise and speed; scores on other sets.

    Of each row the first record counts that has these figures.
    """
    found = {
        head_of(rows[row][0]): one
        for row, some in done.items()
        for one in [record for record in some if "noise" in record][:1]
    }
    if not found:
        return
    noise = list(dict.fromkeys(percent for one in found.values() for percent in one["noise"]))
    titles = [f"{percent} % noise" for percent in noise]
    titles += ["without `deriv`, `part`", "sentences a second"]
    yield from table_lines(
        ["", *titles],
        [
            [
                name,
                *(scored(one["noise"][percent]) for percent in noise),
                scored(one["without"]) if "without" in one else "",
                f"{one['speed']:.0f}",
            ]
            for name, one in found.items()
        ],
    )
    others = {name: one["others"] for name, one in found.items() if "others" in one}
    names = list(dict.fromkeys(other for own in others.values() for other in own))
    if names:
        yield from table_lines(
            ["trained on; tested, persons, places and organizations alone, on", *names],
            [
                [name, *(scored(own[other]) if other in own else "" for other in names)]
                for name, own in others.items()
            ],
        )


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"| --- |{' ---: |' * (len(titles) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def scored(one: Mapping[str, Any]) -> str:
    """Format F1, its interval, and the F1 of a list."""
    low, high = one["interval"]
    return f"**{one['f1']:.1f}** ({low:.1f}–{high:.1f}; {one['list']:.1f})"


def differences(
    tables: Mapping[str, Sequence[Cell]], records: Mapping[str, Record], against: Path
) -> Iterator[str]:
    """Yield lines that compare the F1 of records with that of the same cells in another folder.

    Each row has the means of both and that of the differences, over the cells that both have; the
    last one those of all cells. ``±`` is the standard error of the mean difference.
    """
    pairs: dict[str, list[tuple[float, float]]] = {}
    for name, cells in tables.items():
        theirs = read_records(against / f"{name}.jsonl")
        for cell in by_set(cells):
            if cell.name in records and cell.name in theirs:
                decoder = DECODERS[cell.head][0]
                own, other = (of[cell.name]["f1"][decoder] for of in (records, theirs))
                pairs.setdefault(head_of(cell), []).append((own, other))
    every = [pair for some in pairs.values() for pair in some]
    yield from table_lines(
        ["", "seeds", "F1", f"F1 of {against.name}", "difference"],
        [
            [name, f"{len(some)}", *compared(some)]
            for name, some in [*pairs.items(), *([("all", every)] if every else [])]
        ],
    )


def compared(pairs: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Yield both means, and the mean difference with its standard error."""
    for side in zip(*pairs, strict=True):
        yield f"{statistics.fmean(side):.1f}"
    yield mean_difference([own - other for own, other in pairs])


def mean_difference(found: Sequence[float]) -> str:
    """Format the mean of differences with its standard error."""
    error = f" ± {statistics.stdev(found) / len(found) ** 0.5:.1f}" if len(found) > 1 else ""
    return f"{statistics.fmean(found):+.1f}{error}"


def compare_heads(
    tables: Mapping[str, Sequence[Cell]], records: Mapping[str, Record]
) -> Iterator[str]:
    """Yield the lines of a table that compares each head with a CRF on the same sets and seeds.

    A difference is that of a set: the mean over its seeds. ``±`` is the standard error over sets.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for cell in dict.fromkeys(cell for cells in tables.values() for cell in cells):
        chain = replace(cell, head=HEADS[0])
        if cell.head != chain.head and {cell.name, chain.name} <= records.keys():
            own, other = (records[one.name]["f1"][DECODERS[one.head][0]] for one in (cell, chain))
            found.setdefault(cell.head, {}).setdefault(cell.set, []).append(own - other)
    yield from table_lines(
        ["", "sets", "cells", f"F1 minus that of `{HEADS[0]}`", "least", "most"],
        [[f"`{head}`", *differences_of(found[head])] for head in HEADS if head in found],
    )


def differences_of(by_set: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the numbers of sets and cells, the mean difference, and the least and the largest."""
    means = {name: statistics.fmean(some) for name, some in by_set.items()}
    yield f"{len(means)}"
    yield f"{sum(map(len, by_set.values()))}"
    yield mean_difference(list(means.values()))
    for name in (min(means, key=means.__getitem__), max(means, key=means.__getitem__)):
        yield f"{means[name]:+.1f} ({name})"


def picture_rows(
    tables: Mapping[str, Sequence[Cell]], records: Mapping[str, Record]
) -> Iterator[Row]:
    """Yield what is drawn of each row that has a record; learning curves are left out."""
    for cells in tables.values():
        rows: dict[tuple[str, str], list[Record]] = {}
        for cell in by_set(cells):
            if cell.name in records and not cell.size:
                rows.setdefault((cell.set, cell.head), []).append(records[cell.name])
        for (of, head), own in rows.items():
            first, speeds = own[0], [record["speed"] for record in own if "speed" in record]
            minutes = [record["minutes"] for record in own if device_of(record) == CPU]
            yield Row(
                f"{of} {head}",
                f1=statistics.fmean(record["f1"][DECODERS[head][0]] for record in own),
                interval=tuple(first["interval"]),
                list=first["list"],
                minutes=statistics.fmean(minutes) if minutes else None,
                speed=speeds[0] if speeds else None,
            )


def write_picture(page: Path, rows: Sequence[Row]) -> None:
    """Draw the picture of time and F1, and show it on the page, with its content in words."""
    file = page.parent / "pictures" / "time.svg"
    file.parent.mkdir(exist_ok=True)
    file.write_text(draw(rows), encoding="utf-8")
    shown = f"![{in_words(rows)}](pictures/{file.name})"
    page.write_text(write_results(page.read_text("utf-8"), "time", [shown]), encoding="utf-8")


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
    if rows := list(picture_rows(tables, every)) if args.name == "all" else []:
        write_picture(args.results, rows)
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
    """Return the sets on which a cell's tagger is scored, too: those of its table."""
    if sets[cell.set].is_nested:
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
    parser.add_argument("--model", type=Path, help="a folder of transformers; else nothing is run")
    parser.add_argument("--data", type=Path, help="the folder with the unpacked sets")
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
        "--against", type=Path, metavar="DIR", help="records whose F1 is compared with these"
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
