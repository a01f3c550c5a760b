"""NER sets as CSV with a header: a row is a token, a sentence with its tags, or a text with names.

Tokens: ``Sentence #,Word,POS,Tag``, as the Entity Annotated Corpus has them. A sentence ends before
an empty row, and before a row with another number of the sentence; a row without one continues it.
Sentences: ``text,labels`` with blanks between tokens and between tags, or lists as Python and JSON
write them. Texts: ``text,label`` with names as JSON, as Label Studio exports them.
"""

import ast
import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO, TextIOWrapper
from itertools import chain, islice
from typing import NamedTuple

from corpora.errors import UsageError
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import Gathered, Origin, PartSentences, Row, row_of
from corpora.ner.layout import TAB, FileLayout
from corpora.ner.records import read_texts
from corpora.ner.schemes import READABLE
from corpora.reports import counted

_TOKENS = ("word", "words", "token", "tokens", "form", "text", "sentence", "content", "data")
_TAGS = (
    "tag", "tags", "ner", "ner_tag", "ner_tags", "bio", "iob", "label", "labels", "entities",
    "spans", "annotations",
)  # fmt: skip
_SENTENCES = (
    "sentence #", "sentence_id", "sentence id", "sentence_idx", "sent_id", "sentence_number",
    "sentence",
)  # fmt: skip
_SEPARATORS = (",", ";", TAB)
_MAX_CELL = 16 << 20
"""The most characters of a cell: bounds the memory for a file with an open quotation mark."""
_MAX_HEADER = 10_000
"""The most characters of a first line that may name columns."""
_AT_FIRST = 1000
"""The number of rows that are looked at to find what the column of tags holds."""
_MIN_TAGS = 0.9
"""The least ratio of their cells that must hold tags."""

_OPEN = "Is a quotation mark not closed?"


class _Row(NamedTuple):
    """A row that is not empty, and the number of its first line in the file, from 1."""

    line: int
    cells: list[str]

    def cell(self, column: int | None) -> str:
        is_there = column is not None and column < len(self.cells)
        return self.cells[column].strip() if is_there and column is not None else ""


_Sentences = Iterator[tuple[_Row, list[Row] | BadRecordError]]
"""The first row of each sentence, or the one that is bad, and what was found."""


def csv_layout(
    text: str, *, name: str, is_said: bool, tag_column: str | None
) -> tuple[FileLayout, list[str]] | None:
    """Find the columns of a file by its header; returns the layout and the names of the columns.

    ``tag_column`` is what the user names.

    None if no columns of tokens and tags are named. Raises ``UsageError`` for such a file if the
    user says that it is CSV, or its name does, and for a column of tags that holds something else.
    """
    header = text.partition("\n")[0].partition("\r")[0]
    for separator in _SEPARATORS if len(header) <= _MAX_HEADER else ():
        columns = next(csv.reader([header], delimiter=separator), [])
        known = [column.strip().lower() for column in columns]
        token, tag = _first(known, _TOKENS), _first(known, _TAGS)
        if tag is None and is_said and tag_column in columns:
            tag = columns.index(tag_column)
        if token is None or tag is None or token == tag:
            continue
        sentence = _first(known, _SENTENCES)
        layout = FileLayout(
            format="csv",
            separator=separator,
            n_columns=len(columns),
            token=token,
            tag=tag,
            sentence=None if sentence == token else sentence,
        )
        return layout, columns
    if is_said or (name.lower().endswith(".csv") and "," in header):
        raise UsageError(
            f"{name}: its first line, {header[:80]!r}, does not name a column of words "
            f"({', '.join(_TOKENS)}) and one of tags ({', '.join(_TAGS)}). Write such a line, or "
            "leave the file out with --exclude."
        )
    return None


def check_tags(text: str, layout: FileLayout, *, name: str) -> None:
    """Raise ``UsageError`` if the column of tags has no tags at the beginning of a file."""
    rows = _rows(text.encode("utf-8", "surrogateescape"), layout)
    cells = [row.cell(layout.tag) for row in islice(rows, _AT_FIRST)]
    filled = [cell.split()[0] for cell in cells if cell]
    odd = [v for v in filled if v[0] not in "[{" and v != "0" and not READABLE.fullmatch(v)]
    if not filled or len(odd) > (1 - _MIN_TAGS) * len(filled):
        raise UsageError(
            f"{name}: its column {layout.tag + 1} has {', '.join(map(repr, odd[:3])) or 'nothing'}"
            ", no tags as B-PER, I-PER, O, and no names as JSON. Write tags into it, name another "
            "with --tag-column, or leave the file out with --exclude."
        )


def _first(known: Sequence[str], names: Sequence[str]) -> int | None:
    return next((known.index(name) for name in names if name in known), None)


def read_csv(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read the rows of a table; ``layout.lang`` is the language of texts with names."""
    rows = _rows(data, layout)
    first = list(islice(rows, _AT_FIRST))
    rows = chain(first, rows)
    filled = [cell for row in first if (cell := row.cell(layout.tag))]
    if any(cell.startswith(("[{", "[[", "[(", "{")) for cell in filled):
        return read_texts(_texts(rows, layout), origin, lang=layout.lang)
    n_lists = sum(cell[0] == "[" or " " in cell for cell in filled)
    read = _by_row if n_lists > (1 - _MIN_TAGS) * len(filled) else _by_token
    sentences = Gathered()
    rejected = []
    for row, found in read(rows, layout):
        if isinstance(found, BadRecordError):
            excerpt = json.dumps(row.cells)
            rejected.append(origin.leave_out("sentence", found, row.line, excerpt=excerpt))
        else:
            sentences.add(row.line, found)
    return sentences.found(rejected)


def _rows(data: bytes, layout: FileLayout) -> Iterator[_Row]:
    """Yield the rows after the header; an empty one has no cells."""
    csv.field_size_limit(_MAX_CELL)
    has_quotes = layout.separator != TAB or b'""""' in data  # a quotation mark as pandas writes it
    reader = csv.reader(
        TextIOWrapper(BytesIO(data), "utf-8", "surrogateescape", newline=""),
        delimiter=layout.separator,
        quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
    )
    before = 0
    try:
        for cells in reader:
            row, before = _Row(before + 1, cells), reader.line_num
            if row.line > 1:
                yield row if any(cell.strip() for cell in cells) else _Row(row.line, [])
    except csv.Error as error:
        what = f"the rest of the file cannot be read: {error}. {_OPEN}"
        yield _Row(before + 1, [what])


def _by_token(rows: Iterable[_Row], layout: FileLayout) -> _Sentences:
    """Read sentences whose tokens have a row each, and find bad rows."""
    seen: set[str] = set()
    for number, sentence in _sentences(rows, layout):
        if number and number in seen:
            what = f"rows of {number!r} are not beside its others. Sort them"
            yield sentence[0], BadRecordError("columns", what)
            continue
        seen.add(number)
        found: list[Row] = []
        for row in sentence:
            try:
                found.append(_token(row, layout))
            except BadRecordError as error:
                yield row, error
                break
        else:
            yield sentence[0], found


def _sentences(rows: Iterable[_Row], layout: FileLayout) -> Iterator[tuple[str, list[_Row]]]:
    """Yield the rows of each sentence, with its number, which may be empty."""
    number, sentence = "", list[_Row]()
    for row in rows:
        own = row.cell(layout.sentence) if row.cells else ""
        if sentence and (not row.cells or own not in {"", number}):
            yield number, sentence
            sentence = []
        if row.cells:
            number = own or (number if sentence else "")
            sentence.append(row)
    if sentence:
        yield number, sentence


def _token(row: _Row, layout: FileLayout) -> Row:
    _check(row, layout)
    token = row.cell(layout.token)
    if "\n" in token:
        raise BadRecordError("columns", f"a line end in {token[:80]!r}. {_OPEN}")
    inner = [] if layout.inner is None else [_tag(row.cell(layout.inner))]
    return row_of([token, _tag(row.cell(layout.tag)), *inner])


def _check(row: _Row, layout: FileLayout) -> None:
    """Raise ``BadRecordError`` for a row with other columns than the header, unless empty ones."""
    n = len(row.cells)
    if n < layout.n_columns or any(row.cells[layout.n_columns :]):
        there = f"{counted(n, 'column')} in {str(row.cells)[:80]}"
        what = f"{there}, not {layout.n_columns} as in the header"
        is_open = any("\n" in cell for cell in row.cells)
        raise BadRecordError("columns", f"{what}. {_OPEN}" if is_open else what)


def _tag(value: str) -> str:
    return "O" if value == "0" else value


def _by_row(rows: Iterable[_Row], layout: FileLayout) -> _Sentences:
    """Read sentences that have a row each, with lists of tokens and tags."""
    for row in (row for row in rows if row.cells):
        try:
            _check(row, layout)
            tokens = _list(row.cell(layout.token))
            tags = [_tag(tag) for tag in _list(row.cell(layout.tag))]
            if len(tags) != len(tokens) or not tokens:
                raise BadRecordError(
                    "columns", f"{counted(len(tags), 'tag')} for {counted(len(tokens), 'token')}"
                )
            yield row, [row_of([*pair]) for pair in zip(tokens, tags, strict=True)]
        except BadRecordError as error:
            yield row, error


def _list(cell: str) -> list[str]:
    if not cell.startswith("["):
        return cell.split()
    value = _value(cell)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadRecordError("columns", f"{cell[:80]!r} is no list of words")
    return value


def _texts(rows: Iterable[_Row], layout: FileLayout) -> Iterator[tuple[int, object]]:
    """Yield each row as an object with a text and its names."""
    for row in (row for row in rows if row.cells):
        try:
            _check(row, layout)
            names = _value(row.cell(layout.tag) or "[]")
            names = names["entities"] if isinstance(names, dict) and "entities" in names else names
            yield row.line, {"text": row.cells[layout.token], "label": names}
        except BadRecordError as error:
            yield row.line, error


def _value(cell: str) -> object:
    """Read a value that JSON or Python has written; raises ``BadRecordError``."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise BadRecordError("malformed_json", f"{cell[:80]!r} is no list") from error
