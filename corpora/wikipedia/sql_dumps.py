"""Wikidata items of pages in the MySQL dump ``page_props.sql.gz``, read as a stream.

No parser of SQL is needed: inside a string of a dump each quotation mark is escaped, so that what
looks like the beginning of a row with an item is one.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from corpora.errors import CorpusError
from corpora.text.opening import read_chunks

MAX_BYTES = 1 << 40
"""The most bytes of a dump, unpacked."""
_HEAD = 1 << 20  # bytes before the end of which the columns are named
_TABLE = re.compile(
    rb"CREATE TABLE `page_props` \(\s*+`pp_page`[^\n]*+\n\s*+`pp_propname`[^\n]*+\n\s*+`pp_value`"
)
_ITEM = re.compile(rb"\((\d{1,18}), ?'wikibase_item', ?'Q(\d{1,12})'")
_LONGEST = 64  # bytes of a match, at most
_ENDS = re.compile(rb"(?:;|-- Dump completed[^\n]*)\s*\Z")


class SqlDumpError(CorpusError):
    """A file is no dump of the table, or ends too early."""


def items_of_pages(path: Path) -> Iterator[tuple[int, int]]:
    """Yield page ids and the numbers of their Wikidata items, in the order of the dump.

    Raises ``SqlDumpError`` for a file without the table ``page_props`` and its usual columns, or
    one that ends within a statement; ``TextError`` for a damaged archive.
    """
    data, has_table = b"", False
    for chunk in read_chunks(path, name=path.name, max_bytes=MAX_BYTES):
        data += chunk
        has_table = has_table or _TABLE.search(data) is not None
        if not has_table:
            if len(data) > _HEAD:
                break
            continue
        end = max(0, len(data) - _LONGEST)
        for found in _ITEM.finditer(data):
            yield int(found[1]), int(found[2])
            end = max(end, found.end())
        data = data[end:]
    if not has_table:
        raise SqlDumpError(
            f"{path.name}: no CREATE TABLE `page_props` with pp_page, pp_propname and pp_value as "
            "its first columns. Take the file that the wiki publishes."
        )
    if not _ENDS.search(data):
        raise SqlDumpError(f"{path.name}: the file ends in a statement. Fetch it again.")
