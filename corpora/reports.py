"""Tables in Markdown, and tables, lists and pages in HTML, for reports."""

from collections.abc import Iterable, Sequence
from html import escape
from numbers import Integral

Row = Sequence[object]


def markdown_table(head: Row, rows: Iterable[Row], *, align: str = "") -> list[str]:
    """Write the lines of a table; ``align`` has ``l`` or ``r`` for each column (default: ``lrr…``).

    Whole numbers get commas. Characters that would end a cell are escaped; all other Markdown
    works.
    """
    rules = [{"l": "---", "r": "---:"}[side] for side in align or "l".ljust(len(head), "r")]
    return [f"| {' | '.join(map(_markdown, row))} |" for row in (head, rules, *rows)]


def _markdown(cell: object) -> str:
    return _text(cell).replace("|", r"\|")


def _text(cell: object) -> str:
    """Format a value on one line, without control characters."""
    text = f"{cell:,}" if isinstance(cell, Integral) else str(cell)
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def html_table(head: Row, rows: Iterable[Row]) -> str:
    """Write a table whose first column holds text, the others numbers."""
    lines = [_html_row("th", head), *(_html_row("td", row) for row in rows)]
    return "".join(["<table>\n", *lines, "</table>\n"])


def _html_row(tag: str, row: Row) -> str:
    kinds = ["", *[' class="n"'] * (len(row) - 1)]
    cells = (f"<{tag}{k}>{escape(_text(c))}</{tag}>" for k, c in zip(kinds, row, strict=True))
    return f"<tr>{''.join(cells)}</tr>\n"


def html_list(items: Iterable[str]) -> str:
    """Write a list of texts."""
    return "".join(["<ul>\n", *(f"<li>{escape(_text(item))}</li>\n" for item in items), "</ul>\n"])


def html_page(title: str, body: str, *, style: str = "") -> str:
    """Write a page without outside resources; ``style`` is added to the style of all pages."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}</body>\n</html>\n"
    )


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
code { font-size: .9em; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; border-bottom: 1px solid #ddd; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } th, td { border-color: #444; }
}
"""
