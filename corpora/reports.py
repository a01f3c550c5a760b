"""Tables in Markdown, tables, lists and pages in HTML, and counts with their nouns, for reports."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from numbers import Integral

Row = Sequence[object]


def counted(n: int, noun: str) -> str:
    """Write a number before its noun, which is given in the singular: ``2,000 entities``."""
    if n == 1:
        return f"1 {noun}"
    is_ies = noun.endswith("y") and noun[-2] not in "aeiou"
    return f"{n:,} {f'{noun[:-1]}ies' if is_ies else f'{noun}s'}"


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
    shown = (c if c.isprintable() or c in _JOINERS else " " for c in text)
    return " ".join("".join(shown).split())


_JOINERS = "\u200c\u200d"  # in emoji, and in words of Persian and Indian languages


def html_table(head: Row, rows: Iterable[Row], *, n_texts: int = 1) -> str:
    """Write a table whose first ``n_texts`` columns hold texts, the others numbers."""
    lines = [_html_row(head, n_texts, tag="th"), *(_html_row(row, n_texts) for row in rows)]
    return wide(f"<table>\n{''.join(lines)}</table>")


def _html_row(row: Row, n_texts: int, *, tag: str = "td") -> str:
    return f"<tr>{''.join(_cells(row, n_texts, tag=tag))}</tr>\n"


def _cells(row: Row, n_texts: int, *, tag: str) -> Iterator[str]:
    for number, cell in enumerate(row):
        style = "" if number < n_texts else ' class="n"'
        text = escape(_text(cell))
        kind = tag if text else "td"  # a heading has a text
        yield f"<{kind}{style}>{text}</{kind}>"


def wide(html: str) -> str:
    """Let a part of a page be wider than the page: it can be scrolled, also by keys."""
    return f'<div class="wide" tabindex="0">{html}</div>\n'


def html_list(items: Iterable[str]) -> str:
    """Write a list of texts."""
    return "".join(["<ul>\n", *(f"<li>{escape(_text(item))}</li>\n" for item in items), "</ul>\n"])


def html_page(title: str, body: str, *, style: str = "") -> str:
    """Write a page without outside resources; ``style`` is added to the style of all pages."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{body}</main>\n</body>\n</html>\n"
    )


_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
h1, h2, h3, p, li, dd, th, td, pre { unicode-bidi: plaintext; text-align: left; }
code { font-size: .9em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0; }
th, td { padding: .15rem .8rem .15rem 0; min-width: 6.5rem; border-bottom: 1px solid #ddd;
  vertical-align: top; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; } td.n { white-space: nowrap; }
th.n, td.n, td:empty { min-width: 0; } th { overflow-wrap: break-word; max-width: 12rem; }
summary { cursor: pointer; padding: .2rem 0; }
@media screen and (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } th, td { border-color: #444; }
}
@media print { :root { color-scheme: light; } body { max-width: none; margin: 0; }
  .wide { overflow: visible; }
  tr, svg { break-inside: avoid; } h1, h2, h3 { break-after: avoid; } }
"""
