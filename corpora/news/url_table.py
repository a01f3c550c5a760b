"""The table of saved pages: the URL and the date of each file."""

import csv
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from corpora.errors import UsageError

_COLUMNS = ("file", "url")


def read_url_table(path: Path, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Read a TSV table with the columns ``file``, ``url``, perhaps ``date``, and more to keep.

    Returns the other columns by file. Raises ``UsageError`` where the table cannot be used, names a
    file twice, or names none of ``names``; a row for a file that is not read is no error.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(
                    f"{path}: no column {missing[0]!r}. The first line names the columns, with "
                    "tabs between: file, url, date."
                )
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read ({error}).") from error
    table: dict[str, dict[str, str]] = {}
    for line, row in rows:
        name = _check(row, where=f"{path}:{line}")
        if name in table:
            raise UsageError(f"{path}:{line}: {name} stands there twice. Take one line out.")
        table[name] = {key: value for key, value in row.items() if key != "file" and value}
    if not table.keys() & set(names):
        raise UsageError(
            f"{path}: names none of the pages; they are called like {min(names)}, relative to the "
            "folder that all share."
        )
    return table


def _check(row: dict[str, str], *, where: str) -> str:
    """Return the file that a row names; raise ``UsageError`` for an invalid row."""
    if None in row or None in row.values():
        raise UsageError(f"{where}: has another number of columns than the first line.")
    if date := row.get("date"):
        try:
            datetime.fromisoformat(date)
        except ValueError:
            raise UsageError(f"{where}: date {date!r} is not ISO 8601 (2026-11-01).") from None
    return row["file"]
