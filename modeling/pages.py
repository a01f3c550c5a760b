"""Pages made of blocks, as Markdown or as one HTML file, and their pictures by matplotlib."""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from corpora.errors import CorpusError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem;
       padding: 0 1rem; color: #222; background: #fff; }
h1, h2, p, li { overflow-wrap: anywhere }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.wide { overflow-x: auto } svg { max-width: 100%; height: auto }
table { border-collapse: collapse; margin: .6rem 0 } th, td { padding: .2rem .8rem;
       text-align: right; border-bottom: 1px solid #ddd; vertical-align: top }
th:first-child, td:first-child, td.text { text-align: left }
pre { background: #f5f5f3; padding: .8rem; overflow-x: auto; font-size: 12px }
"""

_SHADE = (42, 111, 187)  # the colour of a cell with shade 1


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
    """Render the page as one HTML file that loads no other files."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    )
    body = "\n".join(["<body><main>", *map(_html, blocks), "</main></body>"])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{body}</html>\n'


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Items(texts):
            return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
        case Table():
            return f'<div class="wide" tabindex="0">{_html_table(block)}</div>'
        case Picture(svg):
            return f'<div class="wide">{svg}</div>'
        case Listing(text):
            return f'<pre tabindex="0">{escape(text)}</pre>'


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.rows[0])
    shades = table.shades or [()] * (len(table.rows) - 1)
    body = (
        "".join(_cells(row, shade, table.n_texts))
        for row, shade in zip(table.rows[1:], shades, strict=True)
    )
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in body) + "</table>"


def _cells(row: Sequence[str], shades: Sequence[float], n_texts: int) -> Iterator[str]:
    for number, cell in enumerate(row):
        style = ' class="text"' if number < n_texts else ""
        if number and shades:
            shade = shades[number - 1]
            red, green, blue = (round(255 + shade * (full - 255)) for full in _SHADE)
            ink = "#fff" if shade > 0.6 else "#222"
            style += f' style="background:rgb({red},{green},{blue});color:{ink}"'
        yield f"<td{style}>{escape(cell)}</td>"


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


def to_svg(figure: "Figure", name: str, *, dpi: float | None = None) -> str:
    """Render a figure as an ``svg`` element; the same picture gives the same bytes."""
    import matplotlib as mpl  # noqa: PLC0415 - slow, and optional

    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, dpi=dpi)
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
