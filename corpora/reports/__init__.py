"""Tables in Markdown, and counts with their nouns; pages are in ``corpora.reports.pages``."""

from collections.abc import Iterable, Sequence
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
    return [f"| {' | '.join(map(_cell, row))} |" for row in (head, rules, *rows)]


_LONG = 12
"""The most lines of a list that readers see without unfolding it."""


def folded(lines: Sequence[str], *, n_items: int, what: str) -> list[str]:
    """Fold a long list of a Markdown page behind a line that says how long it is."""
    if n_items <= _LONG:
        return list(lines)
    return ["<details>", f"<summary>{n_items:,} {what}</summary>", "", *lines, "", "</details>"]


def _cell(value: object) -> str:
    return on_one_line(value).replace("|", r"\|")


def on_one_line(value: object) -> str:
    """Format a value on one line, without control characters; whole numbers get commas."""
    text = f"{value:,}" if isinstance(value, Integral) else str(value)
    shown = (c if c.isprintable() or c in _JOINERS else " " for c in text)
    return " ".join("".join(shown).split())


_JOINERS = "\u200c\u200d"  # in emoji, and in words of Persian and Indian languages
