"""Cells of tables that people open in spreadsheets, which take ``=1+2`` for a formula and run it.

An apostrophe before such a cell makes it text; readers of the table take it off again.
"""

import re

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = str.maketrans(_ESCAPES)
_PLAIN = {escape: character for character, escape in _ESCAPES.items()}
_FORMULA = re.compile(r"'*[=+\-@\t\n\r＝＋－＠]")


def guarded(cell: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would take for a formula.

    >>> guarded("=HYPERLINK(1)"), guarded("Ada"), guarded("'=1")
    ("'=HYPERLINK(1)", 'Ada', "''=1")
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """Take the apostrophe off that ``guarded`` put there."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def cell_of(text: str) -> str:
    """Write a text as a cell from which ``text_of`` reads it: escapes as in JSON, and guarded."""
    return guarded(text.translate(_ESCAPED))


def text_of(cell: str) -> str:
    """Read what ``cell_of`` wrote."""
    return re.sub(r"(?s)\\.", lambda found: _PLAIN.get(found[0], found[0]), unguarded(cell))


def one_line(cell: object) -> str:
    """Write a cell of a table without quotation marks: white space as one space, and guarded."""
    return guarded(" ".join(str(cell).split()))
