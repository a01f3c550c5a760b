"""Draw what runs of pre-training have told into one HTML page; or put scores into a table.

Examples:
  python -m modeling.report runs/neiss runs/neiss_abs --output report.html
  python -m modeling.report runs/* --table heads
  python -m modeling.report runs/* --table encoders --mean-over dataset --output table.tsv
  python -m modeling.report runs/* --rows head.kind optimizer.lr --columns dataset --value token_f1

Tables are of all evaluations (evaluation.json) below the folders:
  heads      a row for each head, a column for each data set and decoder (NEISS, Table 8)
  encoders   a row for each encoder, a column for each data set (NEISS, Tables 6, 7, 9 and 11;
             DaLUKE, Table 5.3)
  sets       a row for what was trained on, a column for what was tested on (DaLUKE, Table 6.17)
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import ArgumentParser
from corpora.system.parsing import read_json

if TYPE_CHECKING:
    from modeling.report.figures import Told
    from modeling.report.tables import Finished

ABOUT = __doc__
_TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "heads": (("head.kind", "gazetteer.source"), ("dataset", "decoder")),
    "encoders": (("encoder",), ("dataset",)),
    "sets": (("trained_on",), ("dataset",)),
}
"""Rows and columns."""
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem;
       padding: 0 1rem; color: #222; background: #fff; }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.wide { overflow-x: auto } svg { max-width: 100%; height: auto }
table { border-collapse: collapse } th, td { padding: .2rem .8rem; text-align: right;
       border-bottom: 1px solid #ddd } th:first-child, td:first-child { text-align: left }
pre { background: #f5f5f3; padding: .8rem; overflow-x: auto; font-size: 12px }
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page; 1 where a run cannot be read."""
    description, _, epilog = ABOUT.partition("\n\n")
    parser = ArgumentParser(
        prog="python -m modeling.report",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="default: report.html in the first folder"
    )
    _add_table(parser.add_argument_group("tables"))
    arguments = parser.parse_args(argv)
    if arguments.table or arguments.rows:
        return _write_table(parser, arguments)
    output = arguments.output or arguments.runs[0] / "report.html"
    try:
        page = make_page([read_run(folder) for folder in arguments.runs])
    except CorpusError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page, encoding="utf-8")
    sys.stderr.write(f"made {output}\n")
    return 0


def _add_table(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--table", choices=tuple(_TABLES), help="a table instead of a page")
    add("--rows", nargs="+", metavar="SETTING", help="what the rows are, as head.kind")
    add("--columns", nargs="+", metavar="SETTING", default=["dataset"], help="(default: dataset)")
    add("--value", default="strict_f1", metavar="SCORE", help="(default: strict_f1)")
    add("--mean-over", metavar="SETTING", help="a cell is the mean over its values, as dataset")


def _write_table(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """To standard output as Markdown, or to a file: ``.tsv`` with all digits, else Markdown."""
    from modeling.report.tables import table  # noqa: PLC0415 - for --help

    rows, columns = _TABLES[arguments.table or "heads"]
    if arguments.rows:
        rows, columns = tuple(arguments.rows), tuple(arguments.columns)
    columns = tuple(name for name in columns if name != arguments.mean_over) or ("split",)
    try:
        made = table(
            _evaluations(arguments.runs),
            rows=rows,
            columns=columns,
            value=arguments.value,
            mean_over=arguments.mean_over,
        )
    except UsageError as error:
        parser.error(str(error))
    except CorpusError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if arguments.output is None:
        sys.stdout.write(made.to_markdown())
        return 0
    is_tsv = arguments.output.suffix == ".tsv"
    arguments.output.write_text(made.to_tsv() if is_tsv else made.to_markdown(), encoding="utf-8")
    sys.stderr.write(f"made {arguments.output}\n")
    return 0


def _evaluations(folders: Sequence[Path]) -> "list[Finished]":
    """Those below the folders; it is said which hold none, as runs of pre-training do."""
    from modeling.report.tables import find_evaluations  # noqa: PLC0415 - for --help

    found, empty = find_evaluations(folders)
    if empty:
        sys.stderr.write(f"without evaluations: {', '.join(map(str, empty))}\n")
    return found


def read_run(folder: Path) -> "Told":
    """Read what a run has told; ``CorpusError`` where the folder holds none."""
    from modeling.report.figures import Told  # noqa: PLC0415 - for --help
    from modeling.training.run_log import read_metrics  # noqa: PLC0415

    settings, histograms = folder / "settings.json", folder / "histograms.json"
    if not settings.is_file() or not histograms.is_file():
        raise CorpusError(f"{folder}: holds no run (settings.json, histograms.json are missing).")
    return Told(
        name=folder.resolve().name,
        folder=folder,
        settings=read_json(settings),
        lines=list(read_metrics(folder / "metrics.jsonl")),
        histograms=read_json(histograms),
    )


def make_page(runs: Sequence["Told"]) -> str:
    """One page about runs; the first is the one whose baselines are drawn."""
    from modeling.report import figures  # noqa: PLC0415 - for --help

    names = ", ".join(run.name for run in runs)
    parts = [
        f"<h1>Pre-training: {escape(names)}</h1>",
        _section("What came out", _table(_results(runs))),
        _section("What was trained", _table(_models(runs))),
        _section("Learning rate", figures.draw_schedule(runs)),
        _section("Losses", figures.draw_losses(runs)),
        _section("Accuracies on held-out documents", figures.draw_accuracies(runs)),
        _section("Distance of the weights from their start", figures.draw_distances(runs)),
        *(_section(f"Weights of {run.name}", figures.draw_weights(run)) for run in runs),
        *(_section(f"Settings of {run.name}", _settings(run)) for run in runs),
    ]
    head = f'<meta charset="utf-8"><title>{escape(names)}</title><style>{_STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _section(title: str, content: str) -> str:
    return f'<h2>{escape(title)}</h2>\n<div class="wide">{content}</div>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    """An HTML table; the first row is its head."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows[1:])
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in body) + "</table>"


def _results(runs: Sequence["Told"]) -> list[list[str]]:
    """A row for each model and objective: how good it is, and what it is compared with."""
    rows = [["", "objective", "step", "targets", "loss", *(f"top-{k}" for k in _tops(runs))]]
    labels = {
        "evaluation": "",
        "average": ", average of the weights",
        "base": ", untouched base",
        "unigram": ", most frequent",
    }
    for run in runs:
        for kind, label in labels.items():
            for line in _telling(run, kind):
                rows += _result(run.name + label, line, tops=_tops(runs))
    return rows


def _telling(run: "Told", kind: str) -> list[Mapping[str, Any]]:
    """The line that tells of the trained model: the last, or with patience the best evaluation."""
    lines: list[Mapping[str, Any]] = [*run.of_kind(kind)]
    config = run.settings["config"]
    if kind != "evaluation" or not config["training"]["patience"]:
        return lines[-1:]
    weights = config["heads"]["weights"]

    def weighted(line: Mapping[str, Any]) -> float:
        losses = line["loss"].items()
        return math.fsum(weights[n] * (math.inf if loss is None else loss) for n, loss in losses)

    return [min(lines, key=weighted)] if lines else []


def _result(name: str, line: Mapping[str, Any], *, tops: Sequence[str]) -> Iterator[list[str]]:
    for objective, shares in line["accuracy"].items():
        loss = line["loss"].get(objective)
        cells = [f"{shares[k]:.1%}" if k in shares else "" for k in tops]
        n = line["targets"][objective]
        shown = "none" if loss is None else f"{loss:.3f}"
        yield [name, objective, f"{line['step']:,}", f"{n:,}", shown, *cells]


def _tops(runs: Sequence["Told"]) -> list[str]:
    tops = {k for run in runs for line in run.lines for s in _shares(line) for k in s}
    return sorted(tops, key=int)


def _shares(line: Mapping[str, Any]) -> Iterator[Mapping[str, float]]:
    yield from line.get("accuracy", {}).values()


def _models(runs: Sequence["Told"]) -> list[list[str]]:
    """Facts, a row each; a column for each run."""
    columns = [dict(_facts(run)) for run in runs]
    facts = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[fact, *(column.get(fact, "") for column in columns)] for fact in facts]
    return [["", *(run.name for run in runs)], *rows]


def _facts(run: "Told") -> Iterator[tuple[str, str]]:
    settings, steps = run.settings, run.of_kind("train")
    training = settings["config"]["training"]
    yield "recipe", settings["recipe"]
    yield "begun with", (settings["init_from"] or {}).get("name", "nothing")
    for line in run.of_kind("model"):
        for part, n in line["parameters"].items():
            yield f"parameters: {part.replace('_', ' ')}", f"{n:,}"
        yield "parameters transferred", f"{line['transferred']:,}"
        yield "training examples", f"{line['examples']:,}"
        yield "mean length of an example", f"{line['mean_length']:,} pieces"
        yield "mentions of an example", f"{line['mean_mentions']:.1f}"
        yield "operations for a piece", f"{line['flops_per_piece'] / 1e6:,.1f} MFLOP"
        n_steps = steps[-1]["step"] if steps else 0
        yield "epochs", f"{n_steps / line['steps_per_epoch']:.2f}"
    yield "steps", f"{steps[-1]['step'] if steps else 0:,} of {training['max_steps']:,}"
    yield "examples of a step", f"{training['batch_size']:,}"
    yield "processes", f"{settings['world_size']}"
    yield from _speed(steps)


def _speed(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    if not steps:
        return
    seconds = sum(line["seconds"] for line in steps)
    n_pieces = sum(line["seconds"] * line["pieces_per_second"] for line in steps)
    yield "pieces", f"{n_pieces:,.0f}"
    yield "time in steps", f"{seconds / 60:,.1f} min"
    yield "pieces a second, median", f"{median(line['pieces_per_second'] for line in steps):,.0f}"
    if used := [line["mfu"] for line in steps if "mfu" in line]:
        yield "model FLOP utilisation, median", f"{median(used):.1%}"
    for name, n in steps[-1].get("left_out", {}).items():
        yield f"in batches: {name}", f"{n:,}"


def _settings(run: "Told") -> str:
    return f"<pre>{escape(json.dumps(run.settings, indent=1, ensure_ascii=False))}</pre>"


if __name__ == "__main__":
    sys.exit(main())
