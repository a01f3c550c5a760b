"""Plain text to records: a whole file, or parts that begin at certain lines or after blank ones."""

import re
from collections.abc import Iterable, Iterator

from corpora.document import Rejected
from corpora.text.records import Lines, Place, Record

SEARCHED = 10_000
"""Characters of a line that may hold a title: a pattern may take the square of what it looks at."""


def read_whole(chunks: Iterable[str], place: Place) -> Iterator[Record | Rejected]:
    """Read a file as one record, not a character left out."""
    held: list[str] = []
    n_characters = 0
    for chunk in chunks:
        n_characters += len(chunk)
        if n_characters > place.max_characters:
            yield place.too_long(1)
            return
        held.append(chunk)
    yield Record("".join(held), place.source, is_plain=True)


def split_at(
    lines: Iterable[str | None], pattern: re.Pattern[str], place: Place
) -> Iterator[Record | Rejected]:
    """Begin a record, ``FILE#1`` …, with each line in which the pattern is found: its title.

    What stands before the first is ``FILE#0``. The pattern is looked for in the first ``SEARCHED``
    characters of a line.
    """
    held, n, title = Lines(place.max_characters), 0, ""
    for number, line in enumerate(lines, 1):
        if line is not None and pattern.search(line, 0, SEARCHED):
            if held.first:
                yield _record(held, place, n, title=title)
            held, n, title = Lines(place.max_characters), n + 1, line.strip()
        held.add(number, line)
    if held.first or not n:  # an empty file is a record, too
        yield _record(held, place, n, title=title)


def split_at_blanks(
    lines: Iterable[str | None], n_blank: int, place: Place
) -> Iterator[Record | Rejected]:
    """Begin a record, ``FILE#1`` …, after ``n_blank`` or more blank lines; 0: with each line.

    Those blank lines belong to no record.
    """
    held, n = Lines(place.max_characters), 1
    blanks: list[tuple[int, str]] = []
    n_blanks = 0
    for number, line in enumerate(lines, 1):
        if line is not None and not line.strip():
            n_blanks += 1
            if n_blanks < n_blank and held.first:  # maybe inside a record
                blanks.append((number, line))
            continue
        if held.first and n_blanks >= n_blank:
            yield _record(held, place, n)
            held, n = Lines(place.max_characters), n + 1
        elif n_blanks:
            for blank in blanks:
                held.add(*blank)
        blanks, n_blanks = [], 0
        held.add(number, line)
    yield _record(held, place, n)


def _record(held: Lines, place: Place, number: int, *, title: str = "") -> Record | Rejected:
    if held.is_too_long:
        return place.too_long(held.first)
    return Record(held.text, f"{place.source}#{number}", is_plain=True, title=title or None)
