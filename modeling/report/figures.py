"""Pictures of runs, as SVG; needs matplotlib, the extra ``plots``.

The figures are those of the DaLUKE thesis: the schedule (4.1), losses (5.1), top-k accuracies (5.2)
and the distributions of weights before and after (6.1); and distances of weights from their start.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import CorpusError
from modeling.training.metrics import Line
from modeling.training.weights import EDGE, N_BINS

_COLOURS = ("#2a6fbb", "#d1702a", "#2f8f5b", "#8d4fa8", "#b03a48", "#6b6b6b")
_PANEL = (5.0, 3.2)  # inches


@dataclass(frozen=True, slots=True)
class Told:
    """What a run has told."""

    name: str
    folder: Path
    settings: Mapping[str, Any]
    lines: Sequence[Line]
    histograms: Mapping[str, Any]

    def of_kind(self, kind: str) -> list[Line]:
        """Lines of a kind, in the order of steps."""
        return [line for line in self.lines if line["kind"] == kind]

    @property
    def objectives(self) -> list[str]:
        """What is predicted."""
        return list(self.settings["config"]["heads"]["weights"])


def draw_schedule(runs: Sequence[Told]) -> str:
    """Learning rate by step (thesis, figure 4.1)."""
    figure, [panel] = _panels(1)
    for run, colour in _coloured(runs):
        lines = run.of_kind("train")
        panel.plot(*_curve(lines, "lr"), color=colour, label=run.name)
    _finish(panel, "learning rate", n=len(runs))
    return _svg(figure, "schedule")


def draw_losses(runs: Sequence[Told]) -> str:
    """Losses by step: in training, dropout on, and on held-out examples (thesis, figure 5.1)."""
    objectives = _objectives(runs)
    figure, panels = _panels(len(objectives))
    for panel, objective in zip(panels, objectives, strict=True):
        for run, colour in _coloured(_with(runs, objective)):
            curve = _curve(run.of_kind("train"), "loss", objective)
            panel.plot(*curve, color=colour, alpha=0.35, linewidth=1, label=f"{run.name}, training")
            curve = _curve(run.of_kind("evaluation"), "loss", objective)
            panel.plot(*curve, color=colour, marker=".", label=f"{run.name}, held out")
            _mark_unlocking(panel, run, colour)
        _baseline(panel, runs[0], "loss", objective)
        _finish(panel, f"loss: {objective}", n=2)
    return _svg(figure, "losses")


def draw_accuracies(runs: Sequence[Told]) -> str:
    """Top-k accuracies on held-out examples (thesis, figure 5.2); of several runs the best id's."""
    objectives = _objectives(runs)
    figure, panels = _panels(len(objectives))
    for panel, objective in zip(panels, objectives, strict=True):
        if len(runs) == 1:
            _draw_top(panel, runs[0], objective)
        else:
            for run, colour in _coloured(_with(runs, objective)):
                curve = _curve(run.of_kind("evaluation"), "accuracy", objective, "1")
                panel.plot(*curve, color=colour, marker=".", label=run.name)
        _baseline(panel, runs[0], "accuracy", objective, "1")
        panel.set_ylim(0, 1)
        which = "top-k" if len(runs) == 1 else "top-1"
        _finish(panel, f"{which} accuracy: {objective}", n=2)
    return _svg(figure, "accuracies")


def _draw_top(panel: Any, run: Told, objective: str) -> None:
    lines = run.of_kind("evaluation")
    tops = next((list(line["accuracy"].get(objective, {})) for line in lines), [])
    for number, k in enumerate(tops):
        curve = _curve(lines, "accuracy", objective, k)
        panel.plot(*curve, color=_COLOURS[0], alpha=1 - 0.14 * number, marker=".", label=f"k = {k}")


def draw_distances(runs: Sequence[Told]) -> str:
    """L2 distance of the weights from their start, transferred and new ones apart."""
    figure, [panel] = _panels(1)
    styles = {"transferred": "-", "new": "--"}
    for run, colour in _coloured(runs):
        for origin, style in styles.items():
            xs, ys = _curve(run.of_kind("train"), "distance", origin)
            if xs:
                panel.plot(xs, ys, style, color=colour, label=f"{run.name}, {origin}")
    _finish(panel, "distance from the start", n=2)
    return _svg(figure, "distances")


def draw_weights(run: Told) -> str:
    """Distributions of weights before and after, transferred and new ones apart (figure 6.1)."""
    start, end = run.histograms["start"], run.histograms.get("end", {})
    names = [(origin, part) for origin, parts in start.items() for part in parts if part != "all"]
    figure, panels = _panels(len(names))
    for panel, (origin, part) in zip(panels, names, strict=True):
        reach = 0.0
        for when, made, colour in (("start", start, _COLOURS[5]), ("end", end, _COLOURS[0])):
            if origin in made:
                one = made[origin][part]
                reach = max(reach, _reach(one["counts"]))
                shares = [count / max(one["n"], 1) for count in one["counts"]]
                panel.stairs(shares, _EDGES, color=colour, fill=True, alpha=0.45, label=when)
        panel.set_xlim(-reach, reach)
        _finish(panel, f"{part}, {origin}", n=2, x="weight")
    return _svg(figure, f"weights {run.name}")


def _reach(counts: Sequence[int], share: float = 0.99) -> float:
    """How far from 0 most weights are; the ones of norms would squeeze the picture."""
    half, total = N_BINS // 2, sum(counts)
    for n in range(1, half):
        if sum(counts[half - n : half + n]) >= share * total:
            return EDGE * (1.3 * n + 1) / half
    return EDGE


_EDGES = [-EDGE + 2 * EDGE * number / N_BINS for number in range(N_BINS + 1)]


def _objectives(runs: Sequence[Told]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.objectives))


def _with(runs: Sequence[Told], objective: str) -> list[Told | None]:
    """The runs, None in place of those that do not have the objective: colours stay."""
    return [run if objective in run.objectives else None for run in runs]


def _coloured(runs: Sequence[Told | None]) -> Iterator[tuple[Told, str]]:
    for number, run in enumerate(runs):
        if run is not None:
            yield run, _COLOURS[number % len(_COLOURS)]


def _mark_unlocking(panel: Any, run: Told, colour: str) -> None:
    """A line where transferred weights begin to learn."""
    training = run.settings["config"]["training"]
    if step := round(training["frozen"] * training["max_steps"]):
        panel.axvline(step, color=colour, linewidth=0.8, linestyle=(0, (1, 3)))


def _curve(lines: Sequence[Line], *path: str) -> tuple[list[int], list[float]]:
    """Steps and values; lines without the value are passed over."""
    xs, ys = [], []
    for line in lines:
        value: Any = line
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            xs.append(line["step"])
            ys.append(value)
    return xs, ys


def _baseline(panel: Any, run: Told, *path: str) -> None:
    """What one would get without a model, and what the untouched base gets."""
    for kind, style in (("unigram", ":"), ("base", "-.")):
        _, values = _curve(run.of_kind(kind), *path)
        if values:
            panel.axhline(values[0], color="black", linestyle=style, linewidth=1, label=kind)


def _panels(n: int) -> tuple[Any, list[Any]]:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow, and optional
    except ImportError as error:
        raise CorpusError(
            "Pictures need matplotlib: pip install 'onoma[plots]', or 'matplotlib'."
        ) from error
    n_columns = min(n, 3)
    n_rows = -(-n // n_columns)
    size = (_PANEL[0] * n_columns, _PANEL[1] * n_rows)
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for unused in panels[n:]:
        unused.set_axis_off()
    return figure, panels[:n]


def _finish(panel: Any, title: str, *, n: int, x: str = "step") -> None:
    panel.set_title(title, fontsize=10)
    panel.set_xlabel(x, fontsize=9)
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    if n > 1 and panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=7, frameon=False)


def _svg(figure: Any, name: str) -> str:
    """The picture as an element of HTML; the same bytes for the same run."""
    import matplotlib as mpl  # noqa: PLC0415

    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
