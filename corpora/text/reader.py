"""From a text file to records: what it is, and the reader that fits."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from corpora.document import Rejected
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_file_records
from corpora.text.characters import read_lines, with_line_feeds
from corpora.text.detection import detect
from corpora.text.encodings import Encoding, decode
from corpora.text.formats import DOC, JSON_LINES, detect_format
from corpora.text.json_lines import Fields, read_json_lines
from corpora.text.opening import TextError, archive_kind, read_chunks
from corpora.text.records import Place, Record
from corpora.text.split import read_whole, split_at, split_at_blanks
from corpora.text.wikiextractor_output import read_docs


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How text files are read; ``None`` and ``auto`` mean: as the file shows."""

    format: str = "auto"
    encoding: str | None = None
    split_pattern: str | None = None
    split_blank: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    metadata: Sequence[str] = ()
    max_bytes: int = 10_000_000_000
    """Of a file, unpacked."""
    max_characters: int = 50_000_000
    """Of a document."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file, or all of it, and what was found out about it."""

    format: str
    encoding: str
    start: int = 0
    """In bytes."""
    end: int | None = None
    line: int = 1
    """The number of its first line."""
    n_invalid: int = 0


def examine(path: Path, settings: Settings, *, name: str) -> Part:
    """Find out encoding and form of a file; raises ``TextError`` where it cannot be read."""
    chunks = partial(read_chunks, path, name=name, max_bytes=settings.max_bytes)
    encoding = detect(chunks, name=name, named=settings.encoding)
    form = settings.format
    if form == "auto":
        text = with_line_feeds(decode(chunks(), encoding, Counter()), Counter())
        form = detect_format(read_lines(text, max_characters=settings.max_characters))
    return Part(form, encoding.name, n_invalid=encoding.n_invalid)


def read_records(
    path: Path, settings: Settings, *, name: str, part: Part | None, counters: Counter[str]
) -> Iterator[Record | Rejected]:
    """Read a file, or a part of one; a file that cannot be read is one that is rejected."""
    records = _read(path, settings, name=name, part=part, counters=counters)
    return read_file_records(records, source=name)


def read_unit(
    unit: Unit, settings: Settings, *, counters: Counter[str]
) -> Iterator[tuple[str, Record | Rejected]]:
    """Read the files of a unit, or its part of one: names of files and records.

    At most as many records as the unit's ``limit``. Raises ``InputChangedError`` where a file is
    not what the plan saw.
    """
    place = {name: value for name, value in unit.part.items() if name != "limit"}
    part = Part(**place) if place else None
    records = (
        (file.name, record)
        for file in unit.inputs
        for record in read_records(
            file.check(), settings, name=file.name, part=part, counters=counters
        )
    )
    return islice(records, unit.part.get("limit"))


def _read(
    path: Path, settings: Settings, *, name: str, part: Part | None, counters: Counter[str]
) -> Iterator[Record | Rejected]:
    try:
        found = part or examine(path, settings, name=name)
        if found.start == 0:
            kind = archive_kind(path)
            counters.update([f"format.{found.format}", f"encoding.{found.encoding}"])
            counters.update([f"archive.{kind}"] if kind else [])
        span = None if found.end is None else (found.start, found.end)
        chunks = read_chunks(path, name=name, max_bytes=settings.max_bytes, span=span)
        encoding = Encoding(found.encoding, found.n_invalid)
        text = decode(chunks, encoding, counters, at_start=found.start == 0)
        place = Place(name, found.line, settings.max_characters)
        yield from _records(
            with_line_feeds(text, counters), found.format, settings, place=place, counters=counters
        )
    except TextError as error:
        yield Rejected(
            source=name, position=error.position, reason=error.reason, message=str(error)
        )


def _records(
    text: Iterable[str],
    form: str,
    settings: Settings,
    *,
    place: Place,
    counters: Counter[str],
) -> Iterator[Record | Rejected]:
    lines = read_lines(text, max_characters=settings.max_characters)
    if form == DOC:
        return read_docs(lines, place, metadata=settings.metadata, counters=counters)
    if form == JSON_LINES:
        fields = Fields(settings.fields, settings.metadata)
        return read_json_lines(lines, fields, place, counters=counters)
    if settings.split_pattern is not None:
        return split_at(lines, re.compile(settings.split_pattern), place)
    if settings.split_blank is not None:
        return split_at_blanks(lines, settings.split_blank, place)
    return read_whole(text, place)
