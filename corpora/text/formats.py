"""Which form a text file has, and where a large one may be cut."""

import mmap
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from corpora.text.json_lines import is_object
from corpora.text.wikiextractor_output import START, is_start

PLAIN, DOC, JSON_LINES = "plain", "doc", "jsonl"
_LOOKED_AT = 3
BORDERS = {  # of records, each after its first byte
    DOC: re.compile(rb"\n%s[^\r\n]{0,9000}>[ \t]*[\r\n]" % START.encode()),
    JSON_LINES: re.compile(rb"\n"),
}


def detect_format(lines: Iterable[str | None]) -> str:
    """Tell the form by the first lines that are not blank; None, a line too long, is passed over.

    ``doc``: the first is a start tag of WikiExtractor. ``jsonl``: the first begins with ``{``, and
    one of the first three is a JSON object. ``plain``: anything else.
    """
    first = list(islice((line for line in lines if line and line.strip()), _LOOKED_AT))
    if not first:
        return PLAIN
    if is_start(first[0]):
        return DOC
    is_json = first[0].lstrip().startswith("{") and any(map(is_object, first))
    return JSON_LINES if is_json else PLAIN


def cut(path: Path, form: str, *, range_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Cut a file at borders of records: start, end and the number of the first line of each part.

    Parts are at least ``range_bytes`` long, but for the last. In the file's encoding, the byte 0A
    must always be a line feed.
    """
    border = BORDERS[form]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start, line = 0, 1
        while start < len(data):
            found = border.search(data, start + range_bytes - 1)
            end = found.start() + 1 if found else len(data)
            yield start, end, line
            part = data[start:end]
            line += part.count(b"\n") + part.count(b"\r") - part.count(b"\r\n")
            start = end
