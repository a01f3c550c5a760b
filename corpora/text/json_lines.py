"""Records from JSON Lines: an object in each line, whose fields become columns of ``documents``."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.runs.record_errors import read_record
from corpora.segmentation.language_tags import is_tag
from corpora.text.records import RecordSource, TextRecord

_DEFAULTS = {
    "text": ("text",),
    "id": ("id",),
    "title": ("title",),
    "lang": ("lang",),
    "url": ("url",),
    "revision": ("revision", "revid"),
    "timestamp": ("timestamp",),
    "license": ("license",),
    "group": ("group",),
}
_REPLACEMENT = re.compile(r"\\u[fF]{3}[dD]")
_VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f-\x9f]")
_NAMED_FIELDS = "There are " + ", ".join(_DEFAULTS)


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of an object that become columns, and those that are kept as metadata."""

    named: Mapping[str, str]
    """The field of each column that the user named; a record without the field is rejected."""
    metadata: Sequence[str] = ()
    """The fields that become metadata of the same name; ``*``: all that are no column."""


class _BadRecordError(Exception):
    """The error for a line that is no record; its arguments are a reason and a message."""


def parse_fields(arguments: Sequence[str]) -> dict[str, str]:
    """Parse ``COLUMN=FIELD`` …; raise ``UsageError``."""
    named: dict[str, str] = {}
    for argument in arguments:
        column, _, field = argument.partition("=")
        if column not in _DEFAULTS or not field:
            raise UsageError(f"--field {argument}: say COLUMN=FIELD. {_NAMED_FIELDS}.")
        if column in named:
            raise UsageError(f"--field {argument}: {column} is {named[column]} already.")
        named[column] = field
    return named


def read_json_lines(
    lines: Iterable[str | None], fields: Fields, place: RecordSource, *, counters: Counter[str]
) -> Iterator[TextRecord | Rejected]:
    """Read a record from each line; blank lines count as ``lines.blank``.

    A record without an id of its own is ``FILE#LINE``. A field with the default name of a
    column, but an unusable value, is not taken for the column: it counts as
    ``fields.unusable/NAME``.
    """
    for number, line in enumerate(lines, 1):
        if line is None:
            yield place.too_long(number)
        elif not line.strip():
            counters["lines.blank"] += 1
        else:
            yield read_record(
                partial(_read_line, line, fields, place, number=number, counters=counters),
                source=place.source,
                position=f"line {place.line + number - 1}",
                excerpt=line,
            )


def _read_line(
    line: str, fields: Fields, place: RecordSource, *, number: int, counters: Counter[str]
) -> TextRecord | Rejected:
    try:
        values = _parse(line)
        record, unusable = _record(values, fields, place, line=number)
    except _BadRecordError as error:
        reason, what = error.args
        return place.reject(number, reason, what=what, excerpt=line)
    if "\\u" in line and (n := len(_REPLACEMENT.findall(line))):
        counters["characters.replacement"] += n
    for field in unusable:
        counters.update(["fields.unusable", f"fields.unusable/{field}"])
    return record


def _parse(line: str) -> dict[str, object]:
    try:
        values = json.loads(line, strict=False, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        what = f"no JSON at column {error.colno} ({error.msg}). Fix the line."
        raise _BadRecordError("broken_json", what) from error
    except (ValueError, RecursionError) as error:
        what = f"JSON that is not read ({error}). Fix the line."
        raise _BadRecordError("broken_json", what) from error
    if not isinstance(values, dict):
        raise _BadRecordError("no_object", "JSON, but no object {…}. Fix the line.")
    return values


def _without_duplicates(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Build an object; raise where a field stands twice, for one value would be lost."""
    values = dict(pairs)
    if len(values) < len(pairs):
        name, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        what = f"field {name!r} stands twice in an object. Fix the line."
        raise _BadRecordError("double_field", what)
    return values


def is_object(line: str) -> bool:
    """Tell whether a line is a JSON object, even if it is no record."""
    try:
        _parse(line)
    except _BadRecordError as error:
        reason, _ = error.args
        return bool(reason == "double_field")
    return True


def _record(
    values: dict[str, object], fields: Fields, place: RecordSource, *, line: int
) -> tuple[TextRecord, list[str]]:
    """Make the record; return it with the fields that have no usable value for their column."""
    columns: dict[str, str] = {}
    used, unusable = set(), []
    for column, defaults in _DEFAULTS.items():
        for field in _fields_of(column, values, fields, defaults=defaults):
            try:
                columns[column] = _string(values[field], field, column)
            except _BadRecordError:
                if column == "text" or column in fields.named:
                    raise
                unusable.append(field)
            else:
                used.add(field)
                break
    text, title, own_id = columns.pop("text"), columns.pop("title", None), columns.pop("id", None)
    record = TextRecord(
        text,
        own_id if own_id is not None else f"{place.source}#{place.line + line - 1}",
        has_own_id=own_id is not None,
        title=title,
        columns=columns,
        metadata=_metadata(values, fields.metadata, used),
    )
    return record, unusable


def _fields_of(
    column: str, values: Mapping[str, object], fields: Fields, *, defaults: Sequence[str]
) -> list[str]:
    """Return the fields of this object that a column may be taken from, the best first."""
    named = fields.named.get(column)
    candidates = (named,) if named else defaults
    there = [field for field in candidates if field in values]
    found = [field for field in there if values[field] is not None]
    is_needed = named is not None or column == "text"
    if is_needed and not (found if column in ("text", "id") else there):
        what = f"no field {candidates[0]!r}. Say where {column} stands: --field {column}=…"
        raise _BadRecordError("missing_field", what)
    return found


def _string(value: object, field: str, column: str) -> str:
    """Return a string as it is, a number as text; raise for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(value, str) and (column == "text" or not is_number):
        raise _BadRecordError("bad_field", f"field {field!r} is no string. Fix the line.")
    if column == "lang" and not is_tag(str(value)):
        raise _BadRecordError("bad_field", f"field {field!r} is no tag of a language (de, zh-TW).")
    if column in ("id", "group") and not _VISIBLE.search(str(value)):
        raise _BadRecordError("bad_field", f"field {field!r} is empty. Fix the line.")
    return str(value)


def _metadata(
    values: Mapping[str, object], wanted: Sequence[str], used: set[str]
) -> dict[str, str]:
    """Return the fields that are wanted: strings as they are, anything else as JSON."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in values.items()
        if value is not None and (name in wanted or ("*" in wanted and name not in used))
    }
