"""Pictures of vectors and of attention; they need matplotlib (the extra ``plots``)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from modeling.inspect.attention import AttentionMap
from modeling.inspect.geometry import Components, Numbers
from modeling.pages import Colour, add_legend, looks, new_figure, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GREY: Final = "#c4c4c0"  # for spans that are no names
_SHOWN: Final = 20
"""The number of components whose fraction of the variance is drawn."""
_CROSSED: Final = 4
"""The number of components that are drawn against each other."""
_LONGEST: Final = 20
"""The most characters of a word beside a map; a longer one would cover it."""
DPI: Final = 150


def draw_variances(components: Components) -> "Figure":
    """Draw the ratio of the variance of each of the first components, and their running sum."""
    figure, [[panel]] = new_figure(1, 1, (4.5, 4.5))
    ratios = components.ratios[:_SHOWN]
    places = np.arange(1, len(ratios) + 1)
    panel.bar(places, ratios, color="#2a6fbb", label="each")
    panel.plot(places, np.cumsum(ratios), color="#d1702a", marker=".", label="together")
    panel.set_ylim(0, 1)
    panel.set_xlabel("component")
    panel.set_ylabel("ratio of the variance")
    panel.legend(frameon=False)
    return figure


def draw_crossed(components: Components, labels: Sequence[str]) -> "Figure":
    """Plot the first components against each other, coloured by label."""
    n = min(_CROSSED, components.points.shape[1])
    figure, panels = new_figure(n, n, (2.4, 2.4))
    for row in range(n):
        for column in range(n):
            panel = panels[row][column]
            panel.tick_params(labelsize=6)
            if row == column:
                ratio = components.ratios[row]
                panel.text(0.5, 0.5, f"{row + 1}\n{ratio:.1%}", ha="center", va="center")
                panel.set_axis_off()
            else:
                xy = components.points[:, [column, row]]
                _scatter(panel, xy, labels, size=3)
    _legend(figure, labels, width=2.4 * n)
    return figure


def draw_plane(
    points: Numbers, labels: Sequence[str], n_words: Sequence[int], *, title: str
) -> "Figure":
    """Plot (N, 2) points twice: coloured by label, and by length in words."""
    figure, [[left, right]] = new_figure(1, 2, (5.0, 5.0))
    _scatter(left, points, labels, size=6)
    _legend(figure, labels, width=10)
    left.set_title(f"{title}, by label", fontsize=10)
    lengths = np.asarray(n_words)
    shown = right.scatter(
        points[:, 0],
        points[:, 1],
        c=lengths,
        s=6,
        cmap="viridis",
        linewidths=0,
        rasterized=True,
        vmin=1,
    )
    right.set_title(f"{title}, by length", fontsize=10)
    figure.colorbar(shown, ax=right, label="words", shrink=0.8)
    return figure


def draw_attention(found: AttentionMap, heads: Sequence[int]) -> "Figure":
    """Draw a heat map for each of the given heads (counted from 1) of a layer."""
    n_columns = min(len(heads), 4)
    n_rows = -(-len(heads) // n_columns)
    size = float(np.clip(0.14 * len(found.names) + 1, 2.6, 12))
    figure, panels = new_figure(n_rows, n_columns, (size, size))
    flat = [panel for row in panels for panel in row]
    names, places = [shorten(name, _LONGEST) for name in found.names], range(len(found.names))
    for panel, head in zip(flat, heads, strict=False):
        panel.imshow(found.weights[head - 1].numpy(), cmap="Blues", vmin=0, vmax=1)
        panel.set_title(f"head {head}", fontsize=9)
        panel.set_xticks(places, names, rotation=90, fontsize=6)
        panel.set_yticks(places, names, fontsize=6)
        panel.tick_params(length=0)
        for tick in (*panel.get_xticklabels(), *panel.get_yticklabels()):
            tick.set_parse_math(False)
    for panel in flat[len(heads) :]:
        panel.set_axis_off()
    figure.suptitle(f"layer {found.layer}, {found.what}", fontsize=10)
    return figure


def save(figure: "Figure", file: Path) -> None:
    """Write a figure as PNG; the same picture gives the same bytes."""
    figure.savefig(file, dpi=DPI, metadata={"Software": None})


def _looks(labels: Sequence[str]) -> dict[str, tuple[Colour | str, str]]:
    """Assign a colour and a marker to each label in alphabetical order; O is grey and comes first.

    Labels are drawn in this order, so that spans that are no names lie below the others.
    """
    names = sorted(set(labels) - {"O"})
    found = zip(names, looks(len(names)), strict=True)
    return ({"O": (_GREY, "o")} if "O" in labels else {}) | dict(found)


def _scatter(panel: "Axes", points: Numbers, labels: Sequence[str], *, size: float) -> None:
    own = np.asarray(labels)
    for label, (colour, marker) in _looks(labels).items():
        x, y = points[own == label].T
        panel.scatter(x, y, s=size, color=colour, marker=marker, linewidths=0, rasterized=True)


def _legend(figure: "Figure", labels: Sequence[str], *, width: float) -> None:
    """Add a legend of all labels below the panels, which are ``width`` inches wide together."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - slow, and optional

    dots = {
        label: Line2D([], [], color=colour, marker=marker, linestyle="")
        for label, (colour, marker) in _looks(labels).items()
    }
    add_legend(figure, dots, width=width)
