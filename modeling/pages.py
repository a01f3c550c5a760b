"""Pages made of blocks, as Markdown or as one HTML file, and their pictures by matplotlib."""

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corpora.errors import CorpusError
from corpora.reports import html_page, wide

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE = """
body { max-width: 72rem; } h2 { margin-top: 2.2rem; } th, td { padding-left: .8rem; }
pre { background: #f5f5f3; padding: .8rem; overflow-x: auto; font-size: 12px; }
svg { max-width: max(100%, 40rem); height: auto; background: #fff; }
@media screen and (prefers-color-scheme: dark) { pre { background: #262624; } }
@media print { pre { white-space: pre-wrap; } svg { max-width: 100%; } }
"""
_MARKERS: Final = "os^Dv*"
"""The markers of the first ten looks, of the next ten, …"""
_LONGEST: Final = 40
"""The most characters of a name in a legend."""
Colour = tuple[float, float, float]
_SHADE = (106, 160, 218)  # the colour of a cell with shade 1, on which dark ink can be read


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of the page (level 1) or of a section (level 2)."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first row is the head, and the first column names the rows."""

    rows: Sequence[Sequence[str]]
    shades: Sequence[Sequence[float]] = ()
    """The darkness, from 0 to 1, of each cell outside the first row and column; HTML only."""
    n_texts: int = 1
    """The number of columns, from the left, that hold texts; the others hold numbers."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An ``svg`` element; Markdown leaves it out, because a table has its numbers as well."""

    svg: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Preformatted text, such as settings."""

    text: str


Block = Heading | Text | Items | Table | Picture | Listing


_MARKUP = re.compile(r"[\\`*_\[\]<>|#$]|&(?=#?\w+;)|~(?=~)|(?<=~)~")
"""Matches what is markup in Markdown, also GitHub's: formulas, entities, text struck through."""


def to_markdown(blocks: Sequence[Block]) -> str:
    """Render the page as Markdown, without its pictures."""
    return "\n\n".join(text for block in blocks for text in _markdown(block)) + "\n"


def _markdown(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {_plain(text)}"
        case Text(text):
            yield _plain(text)
        case Items(texts):
            yield "\n".join(f"- {_plain(text)}" for text in texts)
        case Table(rows, _, n_texts):
            head, *body = rows
            lines = ["---"] * n_texts + ["---:"] * (len(head) - n_texts)
            cells = [[_plain(cell) for cell in row] for row in (head, *body)]
            yield "\n".join("| " + " | ".join(row) + " |" for row in (cells[0], lines, *cells[1:]))
        case Listing(text):
            fence = "```"
            while fence in text:
                fence += "`"
            yield f"{fence}\n{text}\n{fence}"
        case Picture():
            pass


def _plain(text: str) -> str:
    """Escape the characters that are markup in Markdown, and collapse white space."""
    return " ".join(_MARKUP.sub(r"\\\g<0>", text).split())


def to_html(blocks: Sequence[Block]) -> str:
    """Render the page as one HTML file that loads no other files; the first block is its title."""
    title, *rest = blocks
    assert isinstance(title, Heading)  # noqa: S101 - all pages have one
    return html_page(title.text, "".join(f"{_html(block)}\n" for block in rest), style=_STYLE)


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Items(texts):
            return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
        case Table():
            return wide(_html_table(block))
        case Picture(svg):
            return wide(svg)
        case Listing(text):
            return f'<pre tabindex="0">{escape(text)}</pre>'


def _html_table(table: Table) -> str:
    head = "".join(_cells(table.rows[0], (), table.n_texts, tag="th"))
    shades = table.shades or [()] * (len(table.rows) - 1)
    body = (
        "".join(_cells(row, shade, table.n_texts))
        for row, shade in zip(table.rows[1:], shades, strict=True)
    )
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in body) + "</table>"


def _cells(
    row: Sequence[str], shades: Sequence[float], n_texts: int, *, tag: str = "td"
) -> Iterator[str]:
    for number, cell in enumerate(row):
        style = "" if number < n_texts else ' class="n"'
        if number and shades:
            red, green, blue = (round(255 + shades[number - 1] * (full - 255)) for full in _SHADE)
            style += f' style="background:rgb({red},{green},{blue});color:#222"'
        kind = tag if cell else "td"  # a heading has a text
        yield f"<{kind}{style}>{escape(cell)}</{kind}>"


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
    with (
        mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}),
        warnings.catch_warnings(),
    ):
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
