"""Tables of a wiki's database in MySQL dumps, read as streams: ``page_props`` and ``langlinks``.

No parser of SQL is needed: inside a string of a dump each quotation mark is escaped, so that what
looks like the beginning of a row is one.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from corpora.errors import CorpusError
from corpora.text.opening import read_chunks

MAX_BYTES = 1 << 40
"""The most bytes of a dump, unpacked."""
_HEAD = 1 << 20  # bytes before the end of which the columns are named
_COLUMNS = {
    "page_props": ("pp_page", "pp_propname", "pp_value"),
    "langlinks": ("ll_from", "ll_lang", "ll_title"),
}
_DATABASE = re.compile(rb"^-- Host: [^\n]*\bDatabase: (\w+)", re.MULTILINE)
_ITEM = re.compile(rb"\((\d{1,18}), ?'wikibase_item', ?'Q(\d{1,12})'")
_STRING = rb"'((?:[^'\\]|\\.){1,510}+)'"  # 255 bytes, each perhaps escaped
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_LONGEST = 600  # bytes of a match, at most
_ENDS = re.compile(rb"(?:;|-- Dump completed[^\n]*)\s*\Z")


class SqlDumpError(CorpusError):
    """A file is no dump of the table, or ends too early."""


def items_of_pages(path: Path) -> Iterator[tuple[int, int]]:
    """Yield page ids and the numbers of their Wikidata items, in the order of the dump.

    Raises ``SqlDumpError`` for a file without the table ``page_props`` and its usual columns, or
    one that ends within a statement; ``TextError`` for a damaged archive.
    """
    for row in _rows(path, "page_props", _ITEM):
        yield int(row[1]), int(row[2])


def language_links(path: Path, codes: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Yield page ids, codes and titles of links to some languages, in the order of the dump.

    Raises as ``items_of_pages``, for the table ``langlinks``.
    """
    prefixes = "|".join(map(re.escape, codes)).encode()
    row = re.compile(rb"\((\d{1,18}), ?'(%b)', ?%b\)" % (prefixes, _STRING), re.DOTALL)
    for match in _rows(path, "langlinks", row) if prefixes else ():
        title = _ESCAPED.sub(rb"\1", match[3]).decode("utf-8", "replace")
        yield int(match[1]), match[2].decode(), title


def wiki_of_dump(path: Path) -> str:
    """Return the name of the wiki whose table is in a dump (``dawiki``), as its head says.

    Raises ``SqlDumpError`` for a file that does not say it.
    """
    head = next(iter(read_chunks(path, name=path.name, max_bytes=MAX_BYTES)), b"")[:_HEAD]
    if database := _DATABASE.search(head):
        return database[1].decode()
    raise SqlDumpError(
        f"{path.name}: no line '-- Host: …  Database: …' at its beginning, which names the wiki. "
        "Take the file that the wiki publishes."
    )


def _rows(path: Path, table: str, row: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    """Yield the matches of the rows of a table."""
    names = [name.encode() for name in _COLUMNS[table]]
    columns = rb"[^\n]*+\n\s*+".join(b"`%b`" % name for name in names)
    create = re.compile(rb"CREATE TABLE `%b` \(\s*+%b" % (table.encode(), columns))
    data, has_table = b"", False
    for chunk in read_chunks(path, name=path.name, max_bytes=MAX_BYTES):
        data += chunk
        has_table = has_table or create.search(data) is not None
        if not has_table:
            if len(data) > _HEAD:
                break
            continue
        end = max(0, len(data) - _LONGEST)
        for match in row.finditer(data):
            yield match
            end = max(end, match.end())
        data = data[end:]
    if not has_table:
        first, second, third = _COLUMNS[table]
        raise SqlDumpError(
            f"{path.name}: no CREATE TABLE `{table}` with {first}, {second} and {third} as its "
            "first columns. Take the file that the wiki publishes."
        )
    if not _ENDS.search(data):
        raise SqlDumpError(f"{path.name}: the file ends in a statement. Fetch it again.")
