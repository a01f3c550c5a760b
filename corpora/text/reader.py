"""Reading of text files as records: encoding and format are detected, and a reader chosen."""

import mmap
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
from corpora.text.json_lines import Fields, is_object, read_json_lines
from corpora.text.opening import TextError, archive_kind, read_chunks
from corpora.text.records import RecordSource, TextRecord, read_whole, split_at, split_at_blanks
from corpora.text.wikiextractor_output import START, is_start, read_docs

PLAIN, DOC, JSON_LINES, JSON = "plain", "doc", "jsonl", "json"
_LOOKED_AT = 3
_JSON = re.compile(r"\s*(?:\[\s*)?\{\s*\"[^\"\n]*\"\s*:")
BORDERS = {  # a record begins after the first byte of a match
    DOC: re.compile(rb"\n%s[^\r\n]{0,9000}>[ \t]*[\r\n]" % START.encode()),
    JSON_LINES: re.compile(rb"\n"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSettings:
    """Settings for reading text files; format ``auto`` and encoding None are detected."""

    format: str = "auto"
    encoding: str | None = None
    split_pattern: str | None = None
    split_blank: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    metadata: Sequence[str] = ()
    max_bytes: int = 10_000_000_000
    """The most bytes of an unpacked file."""
    max_characters: int = 50_000_000
    """The most characters of a document."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a file, or all of it, with the format and encoding of the file."""

    format: str
    encoding: str
    start: int = 0
    """The offset of the first byte."""
    end: int | None = None
    """The offset behind the last byte; None: the whole file."""
    line: int = 1
    """The number of the first line in the file, from 1."""
    n_invalid: int = 0
    """The number of invalid bytes in the file."""


def examine(path: Path, settings: TextSettings, *, name: str) -> TextPart:
    """Detect encoding and format of a file; raise ``TextError`` where it cannot be read."""
    chunks = partial(read_chunks, path, name=name, max_bytes=settings.max_bytes)
    encoding = detect(chunks, name=name, named=settings.encoding)
    form = settings.format
    if form == "auto":
        text = with_line_feeds(decode(chunks(), encoding, Counter()), Counter())
        form = detect_format(read_lines(text, max_characters=settings.max_characters))
    if form == JSON:
        raise TextError(
            "other_format",
            f"{name}: is JSON, but has no record on a line of its own. Write it as JSON Lines (an "
            "array with jq -c '.[]'), or read it as text with --format plain.",
        )
    return TextPart(form, encoding.name, n_invalid=encoding.n_invalid)


def detect_format(lines: Iterable[str | None]) -> str:
    """Detect the format by the first lines that are not blank; None, a line too long, is skipped.

    ``doc``: the first is a start tag of WikiExtractor. ``jsonl``: the first begins with ``{``, and
    one of the first three is a JSON object. ``json``: JSON of another layout begins here.
    ``plain``: anything else.
    """
    first = list(islice((line for line in lines if line and line.strip()), _LOOKED_AT))
    if not first:
        return PLAIN
    if is_start(first[0]):
        return DOC
    is_json = first[0].lstrip().startswith("{") and any(map(is_object, first))
    if is_json:
        return JSON_LINES
    return JSON if _JSON.match("\n".join(first)) else PLAIN


def cut(path: Path, form: str, *, range_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Cut a file at borders of records; yield start, end and first line (from 1) of each part.

    Parts are at least ``range_bytes`` long, except the last. In the file's encoding, the byte 0A
    must always be a line feed.
    """
    border = BORDERS[form]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start, line = 0, 1
        while start < len(data):
            match = border.search(data, start + range_bytes - 1)
            end = match.start() + 1 if match else len(data)
            yield start, end, line
            part = data[start:end]
            line += part.count(b"\n") + part.count(b"\r") - part.count(b"\r\n")
            start = end


def read_unit(
    unit: Unit, settings: TextSettings, *, counters: Counter[str]
) -> Iterator[tuple[str, TextRecord | Rejected]]:
    """Read the files of a unit, or its part of a file; yield each record with its file name.

    Yields at most the ``limit`` of the unit. Raises ``InputChangedError`` where a file is
    not what the plan saw.
    """
    place = {name: value for name, value in unit.part.items() if name != "limit"}
    part = TextPart(**place) if place else None
    records = (
        (file.name, record)
        for file in unit.inputs
        for record in read_records(
            file.check(), settings, name=file.name, part=part, counters=counters
        )
    )
    return islice(records, unit.part.get("limit"))


def read_records(
    path: Path, settings: TextSettings, *, name: str, part: TextPart | None, counters: Counter[str]
) -> Iterator[TextRecord | Rejected]:
    """Read a file, or a part of one; a file that cannot be read is one rejected record."""
    records = _read(path, settings, name=name, part=part, counters=counters)
    return read_file_records(records, source=name)


def _read(
    path: Path, settings: TextSettings, *, name: str, part: TextPart | None, counters: Counter[str]
) -> Iterator[TextRecord | Rejected]:
    try:
        found = part or examine(path, settings, name=name)
        if found.start == 0:
            kind = archive_kind(path)
            counters.update([f"format.{found.format}", f"encoding.{found.encoding}"])
            counters.update([f"archive.{kind}"] if kind else [])
        span = None if found.end is None else (found.start, found.end)
        chunks = read_chunks(path, name=name, max_bytes=settings.max_bytes, span=span)
        encoding = Encoding(found.encoding, found.n_invalid)
        decoded = decode(chunks, encoding, counters, at_start=found.start == 0)
        text = with_line_feeds(decoded, counters)
        place = RecordSource(name, found.line, settings.max_characters)
        lines = read_lines(text, max_characters=settings.max_characters)
        if found.format == DOC:
            yield from read_docs(lines, place, metadata=settings.metadata, counters=counters)
        elif found.format == JSON_LINES:
            fields = Fields(settings.fields, settings.metadata)
            yield from read_json_lines(lines, fields, place, counters=counters)
        elif settings.split_pattern is not None:
            pattern = re.compile(settings.split_pattern)
            yield from split_at(lines, pattern, place, counters=counters)
        elif settings.split_blank is not None:
            yield from split_at_blanks(lines, settings.split_blank, place)
        else:
            yield from read_whole(text, place)
    except TextError as error:
        yield Rejected(
            source=name, position=error.position, reason=error.reason, message=str(error)
        )
