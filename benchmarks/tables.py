"""The tables of ``docs/results.md``: a real encoder, fine-tuned and scored on published sets.

    python -m benchmarks.tables german --model models/multilingual-e5-small --data ../data
    python -m benchmarks.tables german --only 'sturm-crf-*' --model MODEL --data ../data
    python -m benchmarks.tables curves --minutes 120 --model MODEL --data ../data
    python -m benchmarks.tables all

A cell is one fine-tuning run: a set, a head, a seed; of learning curves also a number of training
sentences, with or without names as features. Each tagger is also scored on noisy text, on the
other sets of its table, and timed (``conditions.py``). ``tables.toml`` has the sets and tables. A
cell that is finished is a line of ``benchmarks/records/TABLE.jsonl``, which is kept in the
repository: a cell whose line is there is not run again, one that was interrupted resumes after its
last epoch. From these lines alone the tables are written, between the marks in ``docs/results.md``;
cells that were not run are listed with the command that runs them; ``all`` draws time and F1, too.
Without ``--model`` nothing is run.

First come CRF and spans with one seed on every set, then their other seeds, then the other heads.
DATA is a folder with the unpacked sets ``neiss-ner``, ``ner-de``, ``ner-da`` and ``ner-zh``.
``--tiny`` tries a cell out with any encoder: a step or two, records and page in the output folder.
"""

import argparse
import json
import re
import shlex
import shutil
import statistics
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks.resources import measure
from benchmarks.time_picture import Row, draw, in_words
from modeling.tagging_config import DECODERS

ROOT = Path(__file__).resolve().parent.parent
HEADS = ("crf", "span", "softmax", "cse", "crf_ner")
SEEDS = (1, 2, 3)
RATE = "1e-4"
SETTINGS = {"span": ["head.span_features=words"]}
"""Settings of heads, because the encoders of these tables read no entities."""
SAMPLES, SAMPLED_EPOCHS = 1600, 4
"""Samples in an epoch, and epochs, of learning curves: all sizes get the same number of steps."""
NEW = "form not in train"

Record = dict[str, Any]


@dataclass(frozen=True)
class NerSet:
    """A NER set, and how it is split."""

    name: str
    folder: str
    files: tuple[str, ...]
    epochs: int
    test: str
    split: str = ""
    blocks: int = 0
    """Sentences in a block that gets one split, for a set without documents; 0: no blocks."""
    source: str = ""
    published: Mapping[str, float] | None = None
    is_nested: bool = False
    """Whether the set has names inside names; it is then not scored with other sets."""


@dataclass(frozen=True)
class Cell:
    """One fine-tuning run."""

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
    """The sets, and the cells of each table in the order in which they are run."""
    read = tomllib.loads(path.read_text("utf-8"))
    sets = {
        name: NerSet(name=name, **values | {"files": tuple(values["files"])})
        for name, values in read["sets"].items()
    }
    return sets, {name: list(plan(**table)) for name, table in read["tables"].items()}


def plan(
    sets: Sequence[str], heads: Sequence[str] = HEADS, sizes: Sequence[int] = ()
) -> Iterator[Cell]:
    """Every cell: two heads with one seed, their other seeds, other heads."""
    kinds = [(size, names) for size in sizes for names in (False, True)] or [(0, False)]
    for some in (heads[:2], heads[2:]):
        for seed in SEEDS:
            for head in some:
                for size, names in kinds:
                    for name in sets:
                        yield Cell(name, head, seed, size, names)


# --- runs


def run(
    cell: Cell, of: NerSet, args: argparse.Namespace, *, others: Sequence[NerSet] = ()
) -> Record:
    """Train, score, and say what came of it; resumes with what an earlier run left."""
    made = args.output / "runs" / cell.name
    made.mkdir(parents=True, exist_ok=True)
    ner = make_ner(of, args)
    settings = [f"optimizer.lr={RATE}", f"training.epochs={of.epochs}"]
    if args.tiny:
        settings[1:] = ["training.epochs=1", "training.samples=32"]
    elif cell.size:
        settings[1:] = [f"training.epochs={SAMPLED_EPOCHS}", f"training.samples={SAMPLES}"]
    if cell.size:
        settings += [f"training.train_size={cell.size}"]
    settings += SETTINGS.get(cell.head, [])
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
    if not cell.size:
        folders = [make_ner(other, args) for other in others]
        where = ["--ner", ner, "--others", *folders, "--output", made / "conditions.json"]
        command(made, "benchmarks.conditions", made, *where, "--threads", args.threads)
        record |= json.loads((made / "conditions.json").read_text("utf-8"))
    shutil.rmtree(made / f"seed-{cell.seed}")  # removes the tagger, half a gigabyte
    return record


def describe(
    cell: Cell, scores: Mapping[str, Any], *, minutes: float, settings: Sequence[str]
) -> Record:
    """What is kept of a cell, a line of the records."""
    first = scores[DECODERS[cell.head][0]]
    [measured] = first["runs"].values()
    strict = measured["strict"]["micro"]
    parts = {part["name"]: part["score"] for part in measured["mentions"]}
    percents = {
        name: round(100 * next(iter(one["runs"].values()))["scores"]["strict_f1"], 2)
        for name, one in scores.items()
    }
    return {
        "cell": cell.name,
        "f1": percents,
        "interval": [round(100 * strict["interval"][side], 2) for side in ("low", "high")],
        "names": strict["gold"],
        "new": [round(100 * parts[NEW]["f1"], 2), parts[NEW]["gold"]],
        "list": round(100 * measured["baseline"]["score"]["f1"], 2),
        "ece": round(100 * measured["calibration"]["ece"], 2),
        "minutes": round(minutes, 1),
        "encoder": first["settings"]["encoder"],
        "settings": list(settings),
    }


def command(folder: Path, module: str, *arguments: object) -> None:
    """Run a command of ours, and note the processor time that it took."""
    line = [sys.executable, "-m", module, *map(str, arguments)]
    print("$", shlex.join(["python", *line[1:]]), flush=True)
    took = measure(line, log=folder / "log.txt")
    with (folder / "minutes.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"module": module, "minutes": took.processor / 60}) + "\n")


def spent(folder: Path) -> float:
    """Minutes of the processor for all commands so far."""
    lines = (folder / "minutes.jsonl").read_text("utf-8").splitlines()
    return float(sum(json.loads(line)["minutes"] for line in lines))


def make_ner(of: NerSet, args: argparse.Namespace) -> Path:
    """The dataset of a set; a pipeline that finds it made does nothing."""
    folder, made = args.data / of.folder, args.output / "ner" / of.name
    made.parent.mkdir(parents=True, exist_ok=True)
    files = [folder / file for file in of.files]
    if of.blocks:
        files = list(in_blocks(files, args.output / "raw" / of.name, size=of.blocks))
    options = [*shlex.split(of.split), "--card", "off", "--output", made]
    if not made.is_dir():
        command(made.parent, "pipelines.benchmark_to_ner", "--input", *files, *options)
    return made


def in_blocks(files: Sequence[Path], folder: Path, *, size: int) -> Iterator[Path]:
    """Write train, dev and test: of ten blocks of sentences the ninth is dev, the tenth test."""
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
    """A table, in lines: what was scored of each row, and the commands of those that are left."""
    rows: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (sets_in_order(cells).index(cell.set), cell.size)):
        rows.setdefault(cell.row, []).append(cell)
    done = {row: [records[c.name] for c in own if c.name in records] for row, own in rows.items()}
    if any(done.values()):
        encoders = {record["encoder"] for some in done.values() for record in some}
        yield f"Encoder: {', '.join(sorted(encoders))}.\n"
        titles = ("", "F1", "95 %", "other decoders", "new names", "a list", "ECE", "CPU minutes")
        lines = [list(columns(rows[row][0], sets, some)) for row, some in done.items() if some]
        yield from table_lines([*titles, "published"], lines)
        yield from conditions(rows, done)
        yield from notes({own[0].set for row, own in rows.items() if done[row]}, sets)
    yield from not_run(name, cells, records)


def not_run(name: str, cells: Sequence[Cell], records: Mapping[str, Record]) -> Iterator[str]:
    """Say which cells are left, and the command that runs them."""
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


def columns(cell: Cell, sets: Mapping[str, NerSet], records: Sequence[Record]) -> Iterator[str]:
    """The row of a cell's seeds; interval and decoders are of the first seed that was run."""
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
    yield f"{sum(record['minutes'] for record in records):.0f}"
    published = (sets[cell.set].published or {}) if not cell.size else {}
    yield f"{published[cell.head]:.1f}" if cell.head in published else ""


def head_of(cell: Cell) -> str:
    """The first column of its row."""
    more = [f"{cell.size:,} sentences"] if cell.size else []
    more += ["with names"] if cell.has_names else []
    return ", ".join([f"{cell.set}: `{cell.head}`", *more])


def notes(shown: set[str], sets: Mapping[str, NerSet]) -> Iterator[str]:
    """What is scored of each set, and where published figures are from."""
    for name in sorted(shown):
        source = f" Published: {sets[name].source}." if sets[name].published else ""
        what = sets[name].test
        part = "the published test part" if what == "published" else f"{what}, so no paper's figure"
        yield f"- {name}: scored is {part}; {sets[name].epochs} epochs.{source}"
    yield ""


def write_results(text: str, name: str, lines: Sequence[str]) -> str:
    """Replace what stands between the marks of a table."""
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
    """Tables of noise, speed and other sets: of the first seed of a row that has them."""
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
    """F1, its interval, and what a list scores."""
    low, high = one["interval"]
    return f"**{one['f1']:.1f}** ({low:.1f}–{high:.1f}; {one['list']:.1f})"


def picture_rows(
    tables: Mapping[str, Sequence[Cell]], records: Mapping[str, Record]
) -> Iterator[Row]:
    """What is drawn of each row that has a record; learning curves are left out."""
    for cells in tables.values():
        rows: dict[tuple[str, str], list[Record]] = {}
        for cell in cells:
            if cell.name in records and not cell.size:
                rows.setdefault((cell.set, cell.head), []).append(records[cell.name])
        for (of, head), own in rows.items():
            first, speeds = own[0], [record["speed"] for record in own if "speed" in record]
            yield Row(
                f"{of} {head}",
                f1=statistics.fmean(record["f1"][DECODERS[head][0]] for record in own),
                interval=tuple(first["interval"]),
                list=first["list"],
                minutes=statistics.fmean(record["minutes"] for record in own),
                speed=speeds[0] if speeds else None,
            )


def write_picture(page: Path, rows: Sequence[Row]) -> None:
    """Draw time and F1, and show it on the page, with its content in words."""
    file = page.parent / "pictures" / "time.svg"
    file.parent.mkdir(exist_ok=True)
    file.write_text(draw(rows), encoding="utf-8")
    shown = f"![{in_words(rows)}](pictures/{file.name})"
    page.write_text(write_results(page.read_text("utf-8"), "time", [shown]), encoding="utf-8")


# --- the command


def main() -> None:
    """Run what is left of a table, and write the tables."""
    args = parse()
    sets, tables = read_sets(Path(__file__).with_suffix(".toml"))
    minutes, every = 0.0, dict[str, Record]()
    for name in tables if args.name == "all" else [args.name]:
        path = args.records / f"{name}.jsonl"
        records = read_records(path)
        check_encoder(records, args)
        for cell in tables[name] if args.model else ():
            is_asked = cell.name not in records and fnmatch(cell.name, args.only)
            if is_asked and minutes < args.minutes:
                others = others_of(cell, sets, tables[name])
                records[cell.name] = record = run(cell, sets[cell.set], args, others=others)
                minutes += record["minutes"]
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
        every |= read_records(path)
        lines = list(render(name, tables[name], sets=sets, records=read_records(path)))
        args.results.write_text(
            write_results(args.results.read_text("utf-8"), name, lines), encoding="utf-8"
        )
    if rows := list(picture_rows(tables, every)) if args.name == "all" else []:
        write_picture(args.results, rows)


def others_of(cell: Cell, sets: Mapping[str, NerSet], cells: Sequence[Cell]) -> list[NerSet]:
    """The sets on which a cell's tagger is scored, too: those of its table."""
    if sets[cell.set].is_nested:
        return []
    return [
        sets[name] for name in sets_in_order(cells) if name != cell.set and not sets[name].is_nested
    ]


def check_encoder(records: Mapping[str, Record], args: argparse.Namespace) -> None:
    """One table is of one encoder."""
    own = {args.model.resolve().name, args.model.resolve().parent.name} if args.model else set()
    encoders = {record["encoder"] for record in records.values()} - own
    if args.model and encoders:
        sys.exit(
            f"{args.records} holds records of {', '.join(encoders)}, --model is another. Name a "
            "folder for its records (--records DIR), and a copy of the page (--results FILE)."
        )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", help="german, danish, chinese, curves or all")
    parser.add_argument("--model", type=Path, help="a folder of transformers; else nothing is run")
    parser.add_argument("--data", type=Path, help="the folder with the unpacked sets")
    parser.add_argument("--output", type=Path, default=Path("build/tables"))
    parser.add_argument("--only", default="*", help="cells, as 'sturm-crf-*'")
    parser.add_argument("--minutes", type=float, default=1e9, help="of the processor; then it ends")
    parser.add_argument("--records", type=Path, default=ROOT / "benchmarks" / "records")
    parser.add_argument("--results", type=Path, default=ROOT / "docs" / "results.md")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="a step or two of a cell, to try it")
    args = parser.parse_args()
    if args.model and not args.data:
        parser.error("--model needs --data")
    if args.tiny:
        args.records = args.output / "records"
        args.records.mkdir(parents=True, exist_ok=True)
        args.results = Path(shutil.copy(args.results, args.output / "results.md"))
    return args


if __name__ == "__main__":
    main()
