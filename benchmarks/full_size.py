"""Run all steps at any size: time, memory, disk space and shards of each, and their growth.

    python -m benchmarks.full_size --articles 5000 --folder build/full-size
    python -m benchmarks.full_size --articles 500000 --folder build/full-size
    python -m benchmarks.full_size --articles 3000000 --steps documents vocabulary tokenizer
    python -m benchmarks.full_size --kind stubs --articles 3000000  # articles of a tenth the length
    python -m benchmarks.full_size --folder build/full-size --table > table.md

Makes a synthetic dump (``synthetic_wiki.py``), and runs the steps of ``--steps`` in their order,
each a command of its own with two workers. What a step took becomes a line of
``FOLDER/results.jsonl``, and a step with a line there is not run again: after a kill, a failure or
a full disk the same command resumes. To run a step again, take its line away.

Before anything starts, the disk space that the steps need is compared with ``--room`` and with the
free space. A folder that no later step reads is deleted at once. ``--table`` prints all lines as
tables: each step at each size, growth (the slope of logarithms between the two largest sizes: 1 is
linear), and what the English Wikipedia would take.

Processor seconds are those of all processes of a step. They can be compared on a busy machine,
too; seconds cannot. Memory is PSS, read every 0.2 seconds, or less often where that would take more
than a fiftieth of a core: of the largest process, and of all together.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.full_size_tables import tables
from benchmarks.resources import measure, room_of
from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 2
RESULTS = "results.jsonl"
ROOM = 40.0  # GB
PRETRAINING = (
    "training.max_steps=100", "training.batch_size=8", "training.micro_batch_size=8",
    "training.evaluate_every=100",
)  # fmt: skip
STUBS, STUBS_ROOM = ("--median", "340"), 0.4
"""Options, and the factor of disk space, of ``stubs``: articles of a tenth of the usual length."""


@dataclass(frozen=True)
class Step:
    """A step: a command, and the names of the folders that it reads and makes."""

    name: str
    command: Callable[[Path, int], list[str]]
    """A function that returns the command line, for the folder of all folders and a size."""
    reads: tuple[str, ...]
    makes: str
    room: float
    """Bytes on disk for each article while the step works, with temporary files."""
    left: float
    """Bytes on disk for each article, once the step is done."""


def module(name: str, *options: str) -> list[str]:
    """Return the command line of a module of ours."""
    return [sys.executable, "-m", name, *options]


def pipeline(name: str, *options: str) -> list[str]:
    """Return the command line of a pipeline."""
    return module(f"pipelines.{name}", *options, "--workers", str(WORKERS))


def dump_of(month: int, *more: str) -> Callable[[Path, int], list[str]]:
    """Return a function from folder and size to the command that writes the dump of a month."""

    def command(at: Path, size: int) -> list[str]:
        options = ["--articles", str(size), "--month", str(month), "--workers", str(WORKERS), *more]
        return module("benchmarks.synthetic_wiki", *options, "--output", f"{at}/dump-{month}")

    return command


def documents_of(month: int, output: str, *options: str) -> Callable[[Path, int], list[str]]:
    """Return a function from folder and size to the command that makes documents of a dump."""

    def command(at: Path, _: int) -> list[str]:
        dump = f"{at}/dump-{month}/*-multistream.xml.bz2"
        placed = [option.format(at=at) for option in options]
        return pipeline(
            "wikipedia_to_documents", "--input", dump, "--output", f"{at}/{output}", *placed
        )

    return command


def of(name: str, *options: str) -> Callable[[Path, int], list[str]]:
    """Return a function from folder and size to a command; its options say ``{at}/NAME``."""

    def command(at: Path, _: int) -> list[str]:
        placed = [option.format(at=at) for option in options]
        return pipeline(name, *placed) if "." not in name else module(name, *placed)

    return command


WIKIPEDIA = (
    Step("dump", dump_of(1), (), "dump-1", 3_300, 3_300),
    Step("documents", documents_of(1, "documents"), ("dump-1",), "documents", 9_900, 4_050),
    Step(
        "redirects",
        of("benchmarks.full_size", "--look-up-redirects", "{at}"),
        ("documents",), "redirects", 200, 200,
    ),
    Step(
        "vocabulary",
        of("documents_to_entity_vocab", "--input", "{at}/documents/documents",
           "--output", "{at}/vocabulary"),
        ("documents",), "vocabulary", 2_300, 240,
    ),
    Step(
        "tokenizer",
        of("documents_to_tokenizer", "--input", "{at}/documents/documents",
           "--output", "{at}/tokenizer"),
        ("documents",), "tokenizer", 1_100, 50,
    ),
    Step(
        "augmentation",
        of("augment_mentions", "--input", "{at}/documents/documents", "--forms", "{at}/vocabulary",
           "--policy", "gated", "--output", "{at}/augmented"),
        ("documents", "vocabulary"), "augmented", 4_200, 4_100,
    ),
    Step(
        "examples",
        of("documents_to_examples", "--input", "{at}/augmented", "--tokenizer", "{at}/tokenizer",
           "--entity-vocab", "{at}/vocabulary", "--output", "{at}/examples"),
        ("augmented", "tokenizer", "vocabulary"), "examples", 9_300, 9_300,
    ),
    Step(
        "pre-training",
        of("modeling.pretrain", "daluke_small", "--examples", "{at}/examples",
           "--output", "{at}/run", "--set", *PRETRAINING),
        ("examples",), "run", 0, 0,
    ),
    Step("next dump", dump_of(2), (), "dump-2", 3_300, 3_300),
    Step(
        "refresh",
        documents_of(2, "refreshed", "--reuse", "{at}/documents"),
        ("dump-2", "documents"), "refreshed", 9_900, 4_050,
    ),
    Step(
        "publishing",
        of("corpora.store", "publish", "{at}/refreshed", "{at}/store/enwiki",
           "--version", "20261101"),
        ("refreshed",), "store", 100, 4_050,
    ),
)  # fmt: skip


def of_stubs(step: Step) -> Step:
    """Return the step for a wiki of as many short articles, as most wikis made by bots have."""
    months = {"dump-1": 1, "dump-2": 2}
    command = dump_of(months[step.makes], *STUBS) if step.makes in months else step.command
    room, left = STUBS_ROOM * step.room, STUBS_ROOM * step.left
    return replace(step, command=command, room=room, left=left)


KINDS = {"wikipedia": WIKIPEDIA, "stubs": tuple(map(of_stubs, WIKIPEDIA))}
"""The steps of each kind of wiki."""
LEAST = 300e6
"""Bytes on disk that are needed in addition to those of the steps."""


# --- running the steps


def run_steps(kind: str, size: int, folder: Path, *, steps: Sequence[Step], room: float) -> None:
    """Do the steps that have no line yet, and delete what no later one reads."""
    at = folder / f"{kind}-{size}"
    at.mkdir(parents=True, exist_ok=True)
    done = {
        line["step"]
        for line in read_results(folder)
        if (line["kind"], line["size"]) == (kind, size)
    }
    pending = [step for step in steps if step.name not in done]
    check_room(pending, at, size, room=room)
    for number, step in enumerate(pending):
        for name in step.reads:
            if not (at / name).exists():
                sys.exit(
                    f"{at / name}: is gone, and {step.name} reads it. Take the line of the "
                    f"step that makes it out of {folder / RESULTS}, and run again."
                )
        print(f"{time.strftime('%H:%M:%S')} {step.name} …", flush=True)
        note(folder, perform(step, at, kind=kind, size=size))
        later = {name for other in pending[number + 1 :] for name in other.reads}
        for name in (*step.reads, step.makes):
            if name not in later:
                shutil.rmtree(at / name, ignore_errors=True)
    if not any(at.glob("*/")):
        shutil.rmtree(at)


def check_room(pending: Sequence[Step], at: Path, size: int, *, room: float) -> None:
    """End where the steps would need more room than there is, or than is allowed."""
    needed = most = LEAST
    held: dict[str, float] = {
        path.name: float(room_of(path)) for path in at.glob("*/") if path.is_dir()
    }
    there = sum(held.values())
    for number, step in enumerate(pending):
        held.pop(step.makes, None)  # a half-made output counts as part of the room of the step
        most = max(most, LEAST + sum(held.values()) + step.room * size)
        held[step.makes] = step.left * size
        later = {name for other in pending[number + 1 :] for name in other.reads}
        held = {name: n for name, n in held.items() if name in later}
    needed = most - there
    free = shutil.disk_usage(at).free
    said = f"{most / 1e9:.1f} GB at most, {free / 1e9:.1f} GB are free"
    if most > room * 1e9:
        sys.exit(f"{at}: the steps need {said}; --room allows {room:g} GB. Choose fewer --steps.")
    if needed > free:
        sys.exit(f"{at}: the steps need {said}. Make room, or choose another --folder.")
    print(f"{at}: {len(pending)} steps; {said}", flush=True)


def perform(step: Step, at: Path, *, kind: str, size: int) -> dict[str, Any]:
    """Run a step; returns its line."""
    is_resumed = (at / step.makes).exists()
    os.environ["PYTHONPATH"] = str(ROOT)
    before = os.getloadavg()[0]
    run = measure(step.command(at, size), watched=at, log=at / "log.txt")
    processes = sorted((round(mb, 1) for mb in run.processes.values()), reverse=True)
    return {
        "kind": kind,
        "size": size,
        "step": step.name,
        "seconds": round(run.seconds, 2),
        "processor": round(run.processor, 2),
        "largest": round(run.largest, 1),
        "all": round(run.pss, 1),
        "processes": processes[:8],
        "made": round(room_of(at / step.makes) / 1e6, 2),
        "disk": round(run.disk, 1),
        **describe(at / step.makes),
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        "resumed": is_resumed,
        "day": time.strftime("%Y-%m-%d"),
    }


def describe(folder: Path) -> dict[str, Any]:
    """Return what a step made: shards of each dataset, bytes of plan, receipts and reports."""
    shards: dict[str, list[int]] = {}
    for path in sorted(folder.rglob("shard-*.arrow")):
        if ".build" not in path.parts:
            name = path.parent.relative_to(folder).as_posix()
            shards.setdefault(name, []).append(path.stat().st_size)
    descriptions = [path.stat().st_size for path in folder.rglob("dataset.json")]
    receipts = [path.stat().st_size for path in folder.glob(".build/*/receipts/**/*.json")]
    reports = [path.stat().st_size for path in folder.glob("*.md")]
    return {
        "shards": {
            name: {"n": len(sizes), "least": min(sizes), "median": sorted(sizes)[len(sizes) // 2],
                   "most": max(sizes)}
            for name, sizes in shards.items()
        },
        "plan": max(descriptions, default=0),
        "receipts": {"n": len(receipts), "bytes": sum(receipts), "most": max(receipts, default=0)},
        "report": sum(reports),
    }  # fmt: skip


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Read the lines so far; none where there is no file yet."""
    path = folder / RESULTS
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def note(folder: Path, line: Mapping[str, Any]) -> None:
    """Add a line to the results, and print it."""
    with (folder / RESULTS).open("a") as file:
        file.write(json.dumps(line) + "\n")
    shown = (
        f"{line['seconds']:.0f} s, {line['processor']:.0f} of the processor's, "
        f"{line['largest']:.0f} and {line['all']:.0f} MB, {line['made']:.0f} MB made"
    )
    print(f"         {line['step']}: {shown}", flush=True)


def look_up_redirects(at: Path) -> None:
    """Build the table of redirects alone, and resolve all their titles."""

    def batches() -> Any:
        for path in sorted((at / "documents/redirects").glob("shard-*.arrow")):
            yield from read_batches(path, SCHEMAS["redirects"], columns=("title", "target"))

    (at / "redirects").mkdir(exist_ok=True)
    summary = build_table(at / "redirects/table", batches())
    table = RedirectTable(at / "redirects/table")
    n = sum(len(table.resolve(pa.array(batch.column("title")))) for batch in batches())
    print(f"{summary.n_redirects} redirects, {n} titles resolved")


def main() -> None:
    """Run the steps, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--kind", choices=KINDS, default="wikipedia")
    parser.add_argument("--articles", type=int, dest="size", metavar="N")
    parser.add_argument("--folder", type=Path, default=Path("build/full-size"), metavar="DIR")
    parser.add_argument(
        "--steps", nargs="+", metavar="NAME", help="and those that make what they read"
    )
    parser.add_argument("--room", type=float, default=ROOM, metavar="GB")
    parser.add_argument("--table", action="store_true", help="print what is known, and do nothing")
    parser.add_argument("--look-up-redirects", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.look_up_redirects:
        look_up_redirects(arguments.look_up_redirects)
        return
    if arguments.table:
        print("\n".join(tables(read_results(arguments.folder))))
        return
    if not arguments.size:
        parser.error("--articles N says how many")
    steps = chosen(KINDS[arguments.kind], arguments.steps, error=parser.error)
    run_steps(arguments.kind, arguments.size, arguments.folder, steps=steps, room=arguments.room)


def chosen(steps: Sequence[Step], names: Sequence[str] | None, *, error: Any) -> list[Step]:
    """Return the steps of these names, and those that make what they read, in their order.

    ``error`` is called with a message where no step has a name.
    """
    if names is None:
        return list(steps)
    known = {step.name: step for step in steps}
    if unknown := sorted(set(names) - known.keys()):
        error(f"--steps {', '.join(unknown)}: there are {', '.join(known)}")
    makers = {step.makes: step.name for step in steps}
    wanted = list(names)
    for name in wanted:
        wanted += [makers[folder] for folder in known[name].reads]
    return [step for step in steps if step.name in wanted]


if __name__ == "__main__":
    main()
