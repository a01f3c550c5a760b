"""Records of text files, and plain text as one record, or cut at title lines or blank lines."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from corpora.document import Rejected

_EXCERPT = 200
SEARCHED = 10_000
"""The characters of a line in which the pattern of titles is searched; the time for a pattern may
grow with their square."""
NOT_SPLIT = "not split/"
"""Begins the counter of a file in which no line fits the pattern."""


@dataclass(frozen=True, slots=True)
class TextRecord:
    """A document as written in a file."""

    text: str
    id: str
    """The id, which is unique in the file, or in the group if ``has_own_id``."""
    has_own_id: bool = False
    """Whether the file gives the id."""
    is_plain: bool = False
    """Whether the document is plain text, whose format does not mark paragraphs."""
    title: str | None = None
    """The title; if the first line is the same, it is a heading."""
    written_title: str | None = None
    """The title as written in the file, where it is escaped (WikiExtractor)."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Further columns of ``documents``: ``url``, ``timestamp`` …"""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordSource:
    """The file, or part of a file, that records come from, for messages and ids."""

    source: str
    """The relative name of the file."""
    line: int = 1
    """The number of the line with which this part of the file begins, from 1."""
    max_characters: int = 50_000_000
    """The most characters of a record; longer ones are rejected."""

    def reject(self, line: int, reason: str, *, what: str, excerpt: str = "") -> Rejected:
        """Make the rejection of a record; ``line`` counts from 1 in this part of the file."""
        line += self.line - 1
        return Rejected(
            source=self.source,
            position=f"line {line}",
            reason=reason,
            message=f"{self.source}:{line}: {what}",
            excerpt=excerpt[:_EXCERPT],
        )

    def too_long(self, line: int) -> Rejected:
        """Reject the record that begins in this line as too long."""
        what = f"a document of more than {self.max_characters:,} characters. Divide it."
        return self.reject(line, "too_large", what=what)


class RecordLines:
    """The lines of a record that is being read; none are kept if the record is too long."""

    def __init__(self, max_characters: int) -> None:
        self.max_characters = max_characters
        self.first = 0
        """The number of the first line, from 1; 0 while there is none."""
        self._lines: list[str] = []
        self._n_characters = -1  # each line adds a line feed, but the first

    def add(self, number: int, line: str | None) -> None:
        """Add a line; None is a line that is too long by itself."""
        self.first = self.first or number
        self._n_characters += 1 + (self.max_characters + 1 if line is None else len(line))
        if self.is_too_long:
            self._lines.clear()
        elif line is not None:
            self._lines.append(line)

    @property
    def is_too_long(self) -> bool:
        """Whether the record has more than ``max_characters``."""
        return self._n_characters > self.max_characters

    @property
    def text(self) -> str:
        """The lines, joined by line feeds."""
        return "\n".join(self._lines)


def read_whole(chunks: Iterable[str], place: RecordSource) -> Iterator[TextRecord | Rejected]:
    """Read a file as one record, with every character."""
    held: list[str] = []
    n_characters = 0
    for chunk in chunks:
        n_characters += len(chunk)
        if n_characters > place.max_characters:
            yield place.too_long(1)
            return
        held.append(chunk)
    yield TextRecord("".join(held), place.source, is_plain=True)


def split_at(
    lines: Iterable[str | None],
    pattern: re.Pattern[str],
    place: RecordSource,
    *,
    counters: Counter[str],
) -> Iterator[TextRecord | Rejected]:
    """Split lines into records, ``FILE#1`` …; each line with the pattern begins one, as its title.

    The text before the first such line is ``FILE#0``; a file without such a line is counted. The
    pattern is looked for in the first ``SEARCHED`` characters of a line.
    """
    held, n, title = RecordLines(place.max_characters), 0, ""
    for number, line in enumerate(lines, 1):
        if line is not None and pattern.search(line, 0, SEARCHED):
            if held.first:
                yield _record(held, place, n, title=title)
            held, n, title = RecordLines(place.max_characters), n + 1, line.strip()
        held.add(number, line)
    if held.first or not n:  # an empty file is one record
        record = _record(held, place, n, title=title)
        if not n and isinstance(record, TextRecord) and record.text.strip():
            counters[f"{NOT_SPLIT}{place.source}"] += 1
        yield record


def split_at_blanks(
    lines: Iterable[str | None], n_blank: int, place: RecordSource
) -> Iterator[TextRecord | Rejected]:
    """Split lines into records, ``FILE#1`` …, at ``n_blank`` or more blank lines; 0: at each line.

    The blank lines between records belong to no record.
    """
    held, n = RecordLines(place.max_characters), 1
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
            held, n = RecordLines(place.max_characters), n + 1
        elif n_blanks:
            for blank in blanks:
                held.add(*blank)
        blanks, n_blanks = [], 0
        held.add(number, line)
    yield _record(held, place, n)


def _record(
    held: RecordLines, place: RecordSource, number: int, *, title: str = ""
) -> TextRecord | Rejected:
    if held.is_too_long:
        return place.too_long(held.first)
    return TextRecord(held.text, f"{place.source}#{number}", is_plain=True, title=title or None)
