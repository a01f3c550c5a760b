"""Pictures of pages, by matplotlib."""

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corpora.errors import CorpusError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS: Final = "os^Dv*"
"""The markers of the first ten looks, of the next ten, …"""
_LONGEST: Final = 40
"""The most characters of a name in a legend."""
Colour = tuple[float, float, float]


def new_figure(
    n_rows: int, n_columns: int, size: tuple[float, float]
) -> "tuple[Figure, list[list[Axes]]]":
    """Make a matplotlib figure; return it with its panels, one list for each row.

    ``size`` is the width and height of each panel in inches. Raises ``CorpusError`` if matplotlib
    is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow, and optional
    except ImportError as error:
        raise CorpusError(
            "Pictures need matplotlib: pip install 'onoma[plots]', or 'matplotlib'."
        ) from error
    whole = (size[0] * n_columns, size[1] * n_rows)
    figure = Figure(figsize=whole, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False).tolist()


def looks(n: int) -> list[tuple[Colour, str]]:
    """List ``n`` colours with markers, all different as long as ``n`` is at most 60."""
    from matplotlib import colormaps  # noqa: PLC0415 - slow, and optional

    palette = colormaps["tab10"].colors  # type: ignore[attr-defined]
    every = cycle((colour, marker) for marker in _MARKERS for colour in palette)
    return list(islice(every, n))


def distinct_names(folders: Sequence[Path]) -> list[str]:
    """Name folders, each by the last parts of its path, as many as no other path ends with."""
    paths, names = [folder.resolve().parts for folder in folders], []
    for path in paths:
        n = 1
        while n < len(path) and sum(other[-n:] == path[-n:] for other in paths) > 1:
            n += 1
        names.append("/".join(path[-n:]))
    return names


def shorten(name: str, longest: int) -> str:
    """Cut the middle of a name that has more than ``longest`` characters."""
    end = longest // 3
    return name if len(name) <= longest else f"{name[: longest - end - 1]}…{name[-end:]}"


def add_legend(figure: "Figure", handles: "Mapping[str, Artist]", *, width: float) -> None:
    """Add a legend of named lines or dots below the panels, which are ``width`` inches wide.

    The figure grows by its height. Long names are cut in the middle; all are text, not formulas.
    """
    names = [shorten(name, _LONGEST) for name in handles]
    n_columns = max(1, min(len(names), int(width / (0.5 + 0.09 * max(map(len, names))))))
    n_lines = -(-len(names) // n_columns)
    figure.set_size_inches(figure.get_figwidth(), figure.get_figheight() + 0.2 * n_lines)
    legend = figure.legend(
        list(handles.values()),
        names,
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        fontsize=8,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def to_svg(figure: "Figure", name: str, *, dpi: float | None = None) -> str:
    """Render a figure as an ``svg`` element; the same picture gives the same bytes.

    Styles become attributes, which a Content-Security-Policy without inline styles leaves alone.
    """
    import matplotlib as mpl  # noqa: PLC0415 - slow, and optional

    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has other fonts
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, dpi=dpi)
    svg = _OF_ALL.sub("", _STYLED.sub(_with_attributes, text.getvalue()))
    of_all = f'<svg role="img" aria-label="{escape(name)}" stroke-linejoin="round"'
    return svg[svg.index("<svg") :].replace("<svg", of_all, 1)


_STYLED = re.compile(r'(<[^<>]*) style="([^"]*)"')
_OF_ALL = re.compile(r"<style.*?</style>", re.DOTALL)


def _with_attributes(tag: re.Match[str]) -> str:
    """Turn the style of a tag into attributes; the last of each name counts, as in a style."""
    declared = (each.partition(":") for each in tag[2].split(";"))
    found = {name.strip(): value.strip() for name, _, value in declared}
    return tag[1] + "".join(f' {name}="{value}"' for name, value in found.items() if name)
