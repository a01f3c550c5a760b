"""Rows of a MySQL dump (``page_props.sql.gz``), read as a stream within bounds, without a database.

Only the ``INSERT`` statements of one table are read, and the names of its columns in
``CREATE TABLE``.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from corpora.errors import CorpusError
from corpora.text.opening import read_chunks

MAX_BYTES = 1 << 40
"""The most bytes of a dump, unpacked."""
MAX_ROW = 1 << 25
"""The most bytes of a row; a value of MediaWiki has at most half as many."""
_STRING = rb"'(?:[^'\\]++|\\.|'')*+'"
_ROW = re.compile(rb"\(((?:[^'()]++|" + _STRING + rb")*+)\)", re.DOTALL)
_VALUE = re.compile(rb"'((?:[^'\\]++|\\.|'')*+)'|([^',\s]++)", re.DOTALL)
_BETWEEN = re.compile(rb"\s*+([,;])\s*+")
_COLUMN = re.compile(rb"\n\s*+`(\w+)`")
_INSERT = rb"INSERT INTO `%b`(?: \([^()]{0,2000}\))? VALUES\s*+\("
_ESCAPED = re.compile(rb"\\(.)|''", re.DOTALL)
_CHARACTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"Z": b"\x1a"}
_KEPT = 4096
"""The bytes kept from the end of what lies between statements, as a statement may begin in them."""

Row = tuple[bytes | None, ...]


class SqlDumpError(CorpusError):
    """A file is no dump of the table, or is damaged."""


def read_rows(path: Path, *, table: str, containing: bytes = b"") -> Iterator[Row]:
    """Yield the rows of a table in the order of the dump; NULL is None, numbers are as written.

    Rows without the bytes ``containing`` are skipped.

    Raises ``SqlDumpError`` for a file without the table, one that ends within a statement, or a
    malformed row; ``TextError`` for a damaged archive.
    """
    reader = _Reader(path.name, table, containing)
    for chunk in read_chunks(path, name=path.name, max_bytes=MAX_BYTES):
        yield from reader.feed(chunk)
    yield from reader.finish()


def read_columns(path: Path, *, table: str) -> tuple[str, ...]:
    """Read the names of the columns; raises ``SqlDumpError`` where the file lacks them."""
    head = b""
    begin = b"CREATE TABLE `%b` (" % table.encode()
    for chunk in read_chunks(path, name=path.name, max_bytes=MAX_BYTES):
        head += chunk
        start = head.find(begin)
        end = head.find(b";", start) if start >= 0 else -1
        if end >= 0:
            return tuple(name.decode() for name in _COLUMN.findall(head[start:end]))
        if len(head) > MAX_ROW:
            break
    raise SqlDumpError(
        f"{path.name}: no CREATE TABLE `{table}`. Take the file that the wiki publishes."
    )


class _Reader:
    """A parser of a dump in chunks, with the bytes not parsed yet."""

    def __init__(self, name: str, table: str, containing: bytes) -> None:
        self.name, self.table, self.containing = name, table, containing
        self.insert = re.compile(_INSERT % re.escape(table.encode()))
        self.rest = bytearray()
        self.enough = 0
        """The length of ``rest`` from which on it is parsed again: twice that of the row whose end
        is missing."""
        self.in_statement = False
        self.n_bytes = 0
        self.found = False

    def feed(self, chunk: bytes) -> Iterator[Row]:
        """Add a chunk; yield complete rows, though not before enough bytes are there."""
        self.rest += chunk
        if len(self.rest) >= self.enough:
            yield from self._read()

    def _read(self) -> Iterator[Row]:
        data = bytes(self.rest)
        position = 0
        while True:
            if not self.in_statement:
                found = self.insert.search(data, position)
                if found is None:
                    position = max(position, len(data) - _KEPT)
                    break
                self.in_statement = self.found = True
                position = found.end() - 1
            row = _ROW.match(data, position)
            between = _BETWEEN.match(data, row.end()) if row else None
            if row is None or between is None:
                break  # the end of the row is not here yet
            if between[1] == b"," and between.end() == len(data):
                break  # the next row is not here yet
            if self.containing in row[1]:
                yield _values(row[1])
            position = between.end()
            if between[1] == b";":
                self.in_statement = False
            elif data[position : position + 1] != b"(":
                raise self._damaged(position, "no row")
        if self.in_statement and len(data) - position > MAX_ROW:  # no further bytes can end it
            raise self._damaged(position, f"a row of more than {MAX_ROW >> 20} MB")
        self.rest = bytearray(data[position:])
        self.enough = 2 * len(self.rest) if self.in_statement else 0
        self.n_bytes += position

    def finish(self) -> Iterator[Row]:
        """Yield the last rows; raises where the file ends too early, or lacks the table."""
        yield from self._read()
        if self.in_statement:
            raise self._damaged(0, "the file ends in a statement")
        if not self.found:
            raise SqlDumpError(
                f"{self.name}: no rows of the table {self.table}. Take {self.table}.sql.gz of the "
                "same wiki."
            )

    def _damaged(self, position: int, what: str) -> SqlDumpError:
        return SqlDumpError(
            f"{self.name}: byte {self.n_bytes + position:,} unpacked: {what} where a row of "
            f"{self.table} should be. Fetch the file again."
        )


def _values(row: bytes) -> Row:
    values: list[bytes | None] = []
    for found in _VALUE.finditer(row):
        if found[2] is not None:
            values.append(None if found[2] == b"NULL" else found[2])
        elif b"\\" in found[1] or b"''" in found[1]:
            values.append(_ESCAPED.sub(_plain, found[1]))
        else:
            values.append(found[1])
    return tuple(values)


def _plain(found: re.Match[bytes]) -> bytes:
    return b"'" if found[1] is None else _CHARACTERS.get(found[1], found[1])


def items_of_pages(path: Path) -> Iterator[tuple[int, int]]:
    """Yield page ids and the numbers of their Wikidata items from ``page_props``."""
    columns = read_columns(path, table="page_props")
    wanted = ("pp_page", "pp_propname", "pp_value")
    if missing := set(wanted) - set(columns):
        raise SqlDumpError(f"{path.name}: page_props has no column {min(missing)}.")
    page, name, value = (columns.index(column) for column in wanted)
    for row in read_rows(path, table="page_props", containing=b"wikibase_item"):
        if len(row) != len(columns):
            raise SqlDumpError(
                f"{path.name}: a row of page_props has {len(row)} values, not {len(columns)}: "
                f"{str(row)[:80]}. Fetch the file again."
            )
        if row[name] == b"wikibase_item":
            item = _ITEM.fullmatch(row[value] or b"")
            number = _NUMBER.fullmatch(row[page] or b"")
            if item and number:
                yield int(number[0]), int(item[1])


_ITEM = re.compile(rb"Q(\d{1,12})")
_NUMBER = re.compile(rb"\d{1,18}")
