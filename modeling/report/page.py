"""A page about runs of pre-training; its pictures need matplotlib (the extra ``plots``).

The figures are those of the DaLUKE thesis: the schedule (4.1), losses (5.1), top-k accuracies (5.2)
and the distributions of weights before and after training (6.1). Another figure shows distances of
weights from their start.
"""

import json
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from corpora.errors import CorpusError
from corpora.reports.pages import Block, Heading, Items, Picture, Preformatted, Table, to_html
from corpora.system.parsing import read_json
from modeling.pages import Colour, add_legend, distinct_names, looks, new_figure, to_svg
from modeling.training.metrics import Line
from modeling.training.records import Histograms, Manifest
from modeling.training.run_log import read_metrics
from modeling.training.symptoms import conclusions, final_evaluation
from modeling.training.weights import EDGE, N_BINS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLUE, _GREY = "#2a6fbb", "#6b6b6b"
_PANEL = (5.0, 3.2)  # inches


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """The log of a run."""

    name: str
    settings: Manifest
    lines: Sequence[Line]
    histograms: Mapping[str, Histograms]
    """The histograms of weights at ``start`` and at ``end``."""

    def of_kind(self, kind: str) -> list[Line]:
        """Select the log lines of a kind, in the order of steps."""
        return [line for line in self.lines if line["kind"] == kind]

    @property
    def objectives(self) -> list[str]:
        """The names of the objectives."""
        return list(self.settings["config"]["heads"]["weights"])


def read_runs(folders: Sequence[Path]) -> list[LoggedRun]:
    """Read runs, each once; the names of those that are called alike begin with folders above."""
    places = list(dict.fromkeys(folder.resolve() for folder in folders))
    names = distinct_names(places)
    return [replace(read_run(place), name=name) for place, name in zip(places, names, strict=True)]


def read_run(folder: Path) -> LoggedRun:
    """Read what a run has logged; ``CorpusError`` where the folder holds none."""
    settings, histograms = folder / "settings.json", folder / "histograms.json"
    if not settings.is_file() or not histograms.is_file():
        raise CorpusError(f"{folder}: holds no run (settings.json, histograms.json are missing).")
    lines = list(read_metrics(folder / "metrics.jsonl"))
    return LoggedRun(folder.resolve().name, read_json(settings), lines, read_json(histograms))


def make_page(runs: Sequence[LoggedRun]) -> str:
    """Make one page about runs; the first is the one whose baselines are drawn."""
    warnings = [
        f"{run.name}: {text}"
        for run in runs
        for text in conclusions(run.lines, run.settings["config"])
    ]
    parts: list[tuple[str, Block]] = [
        *((("Warnings", Items(warnings)),) if warnings else ()),
        ("What came out", Table(_results(runs), n_texts=2)),
        ("What was trained", Table(_models(runs))),
        ("Learning rate", draw_schedule(runs)),
        ("Losses", draw_losses(runs)),
        ("Accuracies on validation documents", draw_accuracies(runs)),
        ("Distance of the weights from their start", draw_distances(runs)),
        *((f"Weights of {run.name}", draw_weights(run)) for run in runs),
    ]
    for run in runs:
        text = json.dumps(run.settings, indent=1, ensure_ascii=False)
        parts.append((f"Settings of {run.name}", Preformatted(text)))
    head = Heading(f"Pre-training: {', '.join(run.name for run in runs)}", 1)
    return to_html([head, *(block for title, made in parts for block in (Heading(title), made))])


def _results(runs: Sequence[LoggedRun]) -> list[list[str]]:
    """Build a table with a row for each objective of each model and of what it is compared with."""
    rows = [["", "objective", "step", "targets", "loss", *(f"top-{k}" for k in _tops(runs))]]
    labels = {
        "evaluation": "",
        "average": ", average of the weights",
        "base": ", untouched base",
        "unigram": ", most frequent",
        "lookup": ", looked up by neighbours and forms",
    }
    for run in runs:
        for kind, label in labels.items():
            for line in _final_lines(run, kind):
                rows += _result(run.name + label, line, tops=_tops(runs))
    return rows


def _final_lines(run: LoggedRun, kind: str) -> list[Line]:
    """Select one line of a kind, if any: the last; of evaluations, that of the final model."""
    if kind != "evaluation":
        return run.of_kind(kind)[-1:]
    line = final_evaluation(run.lines, run.settings["config"])
    return [] if line is None else [line]


def _result(name: str, line: Line, *, tops: Sequence[str]) -> Iterator[list[str]]:
    for objective, ratios in line["accuracy"].items():
        loss = line["loss"].get(objective)
        cells = [f"{ratios[k]:.1%}" if k in ratios else "" for k in tops]
        n = line["targets"][objective]
        shown = "none" if loss is None else f"{loss:.3f}"
        yield [name, objective, f"{line['step']:,}", f"{n:,}", shown, *cells]


def _tops(runs: Sequence[LoggedRun]) -> list[str]:
    found = (line.get("accuracy", {}).values() for run in runs for line in run.lines)
    return sorted({k for of_line in found for ratios in of_line for k in ratios}, key=int)


def _models(runs: Sequence[LoggedRun]) -> list[list[str]]:
    """Build a table with a row for each fact, and a column for each run."""
    columns = [dict(_facts(run)) for run in runs]
    facts = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[fact, *(column.get(fact, "") for column in columns)] for fact in facts]
    return [["", *(run.name for run in runs)], *rows]


def _facts(run: LoggedRun) -> Iterator[tuple[str, str]]:
    settings, steps = run.settings, run.of_kind("train")
    training, n_steps = settings["config"]["training"], steps[-1]["step"] if steps else 0
    yield "recipe", settings["recipe"]
    yield "begun with", (settings["init_from"] or {}).get("name", "nothing")
    for line in run.of_kind("model"):
        for part, n in line["parameters"].items():
            yield f"parameters: {part.replace('_', ' ')}", f"{n:,}"
        yield "parameters transferred", f"{line['transferred']:,}"
        yield "training examples", f"{line['examples']:,}"
        yield "mean length of an example", f"{line['mean_length']:,} subwords"
        yield "mentions of an example", f"{line['mean_mentions']:.1f}"
        yield "operations for a subword", f"{line['flops_per_subword'] / 1e6:,.1f} MFLOP"
        yield "epochs", f"{n_steps / line['steps_per_epoch']:.2f}"
    yield "steps", f"{n_steps:,} of {training['max_steps']:,}"
    yield "examples of a step", f"{training['batch_size']:,}"
    yield "processes", f"{settings['world_size']}"
    yield from _speed(steps)


def _speed(steps: Sequence[Line]) -> Iterator[tuple[str, str]]:
    if not steps:
        return
    seconds = [line["seconds"] for line in steps]
    speeds = [line["subwords_per_second"] for line in steps]
    yield "subwords", f"{sum(map(operator.mul, seconds, speeds)):,.0f}"
    yield "time in steps", f"{sum(seconds) / 60:,.1f} min"
    yield "subwords a second, median", f"{median(speeds):,.0f}"
    if used := [line["mfu"] for line in steps if "mfu" in line]:
        yield "model FLOP utilisation, median", f"{median(used):.1%}"
    for name, n in steps[-1].get("left_out", {}).items():
        yield f"in batches: {name}", f"{n:,}"


def draw_schedule(runs: Sequence[LoggedRun]) -> Picture:
    """Draw the learning rate by step (thesis, figure 4.1)."""
    figure, [panel] = _panels(1)
    for run, look in _with_looks(runs):
        panel.plot(*_curve(run.of_kind("train"), "lr"), **look, label=run.name)
    _finish(panel, "learning rate")
    return _picture(figure, "schedule")


def draw_losses(runs: Sequence[LoggedRun]) -> Picture:
    """Draw losses by step: in training (with dropout) and in validation (thesis, figure 5.1)."""
    objectives = _objectives(runs)
    figure, panels = _panels(len(objectives))
    for panel, objective in zip(panels, objectives, strict=True):
        for run, look in _with_looks(runs, objective):
            faint = {**look, "marker": "", "alpha": 0.35, "linewidth": 1}
            curve = _curve(run.of_kind("train"), "loss", objective)
            panel.plot(*curve, **faint, label=f"{run.name}, training")
            curve = _curve(run.of_kind("evaluation"), "loss", objective)
            panel.plot(*curve, **look, label=f"{run.name}, validation")
            _mark_unlocking(panel, run, look["color"])
        _baseline(panel, runs[0], "loss", objective)
        _finish(panel, f"loss: {objective}")
    return _picture(figure, "losses")


def draw_accuracies(runs: Sequence[LoggedRun]) -> Picture:
    """Draw top-k accuracies in validation (thesis, figure 5.2); for several runs only top-1."""
    objectives = _objectives(runs)
    figure, panels = _panels(len(objectives))
    for panel, objective in zip(panels, objectives, strict=True):
        if len(runs) == 1:
            _draw_top(panel, runs[0], objective)
        else:
            for run, look in _with_looks(runs, objective):
                curve = _curve(run.of_kind("evaluation"), "accuracy", objective, "1")
                panel.plot(*curve, **look, label=run.name)
        _baseline(panel, runs[0], "accuracy", objective, "1")
        panel.set_ylim(0, 1)
        which = "top-k" if len(runs) == 1 else "top-1"
        _finish(panel, f"{which} accuracy: {objective}")
    return _picture(figure, "accuracies")


def _draw_top(panel: "Axes", run: LoggedRun, objective: str) -> None:
    lines = run.of_kind("evaluation")
    tops = next((list(line["accuracy"].get(objective, {})) for line in lines), [])
    for number, k in enumerate(tops):
        curve = _curve(lines, "accuracy", objective, k)
        panel.plot(*curve, color=_BLUE, alpha=1 - 0.14 * number, marker=".", label=f"k = {k}")


def draw_distances(runs: Sequence[LoggedRun]) -> Picture:
    """Draw the L2 distance of weights from their start, for transferred and for new weights."""
    figure, [panel] = _panels(1)
    styles = {"transferred": "-", "new": "--"}
    for run, look in _with_looks(runs):
        for origin, style in styles.items():
            xs, ys = _curve(run.of_kind("train"), "distance", origin)
            if xs:
                panel.plot(xs, ys, style, **look, label=f"{run.name}, {origin}")
    _finish(panel, "distance from the start")
    return _picture(figure, "distances")


def draw_weights(run: LoggedRun) -> Picture:
    """Draw distributions of transferred and of new weights, before and after (figure 6.1)."""
    start, end = run.histograms["start"], run.histograms.get("end", {})
    names = [(origin, part) for origin, parts in start.items() for part in parts if part != "all"]
    figure, panels = _panels(len(names))
    for panel, (origin, part) in zip(panels, names, strict=True):
        reach = 0.0
        for when, made, colour in (("start", start, _GREY), ("end", end, _BLUE)):
            if origin in made:
                one = made[origin][part]
                reach = max(reach, _reach(one["counts"]))
                ratios = [count / max(one["n"], 1) for count in one["counts"]]
                panel.stairs(ratios, _EDGES, color=colour, fill=True, alpha=0.45, label=when)
        panel.set_xlim(-reach, reach)
        _finish(panel, f"{part}, {origin}", x="weight")
    return _picture(figure, f"weights {run.name}")


def _reach(counts: Sequence[int]) -> float:
    """Find how far from 0 lie 99 % of the weights, and add a margin.

    With all weights, those of norms would squeeze the picture.
    """
    half, total = N_BINS // 2, sum(counts)
    for n in range(1, half):
        if sum(counts[half - n : half + n]) >= 0.99 * total:
            return EDGE * (1.3 * n + 1) / half
    return EDGE


_EDGES = [-EDGE + 2 * EDGE * number / N_BINS for number in range(N_BINS + 1)]


def _objectives(runs: Sequence[LoggedRun]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.objectives))


def _with_looks(
    runs: Sequence[LoggedRun], objective: str = ""
) -> Iterator[tuple[LoggedRun, dict[str, Any]]]:  # Any: keywords of matplotlib
    """Yield each run with the look of its lines, which have about ten markers.

    Runs without ``objective`` are left out; the looks of the other runs do not change.
    """
    for run, (colour, marker) in zip(runs, looks(len(runs)), strict=True):
        if not objective or objective in run.objectives:
            yield run, {"color": colour, "marker": marker, "markersize": 4, "markevery": 0.1}


def _mark_unlocking(panel: "Axes", run: LoggedRun, colour: Colour) -> None:
    """Draw a line at the step where transferred weights begin to learn."""
    training = run.settings["config"]["training"]
    if step := round(training["frozen"] * training["max_steps"]):
        panel.axvline(step, color=colour, linewidth=0.8, linestyle=(0, (1, 3)))


def _curve(lines: Sequence[Line], *path: str) -> tuple[list[int], list[float]]:
    """Collect the steps and values of log lines; lines without the value are skipped."""
    xs: list[int] = []
    ys: list[float] = []
    for line in lines:
        value: object = line
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, int | float):
            xs.append(line["step"])
            ys.append(value)
    return xs, ys


def _baseline(panel: "Axes", run: LoggedRun, *path: str) -> None:
    """Draw the scores of the baselines and of the untouched base, as horizontal lines."""
    for kind, style in (("unigram", ":"), ("lookup", "--"), ("base", "-.")):
        _, values = _curve(run.of_kind(kind), *path)
        if values:
            panel.axhline(values[0], color="black", linestyle=style, linewidth=1, label=kind)


def _finish(panel: "Axes", title: str, *, x: str = "step") -> None:
    panel.set_title(title, fontsize=10)
    panel.set_xlabel(x, fontsize=9)
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def _picture(figure: "Figure", name: str) -> Picture:
    """Render a figure, with one legend for all panels if they have more than one label."""
    artists = (artist for panel in figure.axes for artist in (*panel.lines, *panel.patches))
    named = {str(artist.get_label()): artist for artist in artists}
    handles = {label: one for label, one in named.items() if not _UNNAMED.fullmatch(label)}
    if len(handles) > 1:
        add_legend(figure, handles, width=figure.get_figwidth())
    return Picture(to_svg(figure, name))


_UNNAMED = re.compile(r"_child\d+")  # the label that matplotlib gives where there is none


def _panels(n: int) -> "tuple[Figure, list[Axes]]":
    n_columns = min(n, 3)
    figure, rows = new_figure(-(-n // n_columns), n_columns, _PANEL)
    panels = [panel for row in rows for panel in row]
    for unused in panels[n:]:
        unused.set_axis_off()
    return figure, panels[:n]
