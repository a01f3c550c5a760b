"""Records from WikiExtractor's output.

Articles stand between ``<doc id="…" url="…" title="…">`` and ``</doc>``, each tag on a line of its
own. The title is HTML-escaped; the text is taken unchanged. A line that is a start tag begins an
article, even inside another one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import unescape

from corpora.document import Rejected
from corpora.runs.record_errors import read_record
from corpora.text.records import RecordLines, RecordSource, TextRecord

START = '<doc id="'
_END = "</doc>"
_MAX_TAG = 10_000  # characters; a longer line is text
_ATTRIBUTE = re.compile(r'([\w:-]+)="(.*?)"(?=\s+[\w:-]+="|\s*$)')  # titles may hold bare quotes
_COLUMNS = {"url": "url", "revid": "revision"}


def is_start(line: str) -> bool:
    """Tell whether an article begins with this line."""
    return line.startswith(START) and len(line) <= _MAX_TAG and line.rstrip().endswith(">")


def read_docs(
    lines: Iterable[str | None],
    place: RecordSource,
    *,
    metadata: Sequence[str],
    counters: Counter[str],
) -> Iterator[TextRecord | Rejected]:
    """Read the articles; reject text outside of articles and articles without an end.

    ``metadata`` are names of attributes to keep, ``*`` for all others. Blank lines between articles
    count as ``lines.blank``.
    """
    held, tag, begin = RecordLines(place.max_characters), "", 0
    for number, line in enumerate(lines, 1):
        if line is not None and is_start(line):
            yield from _broken(held, tag, place, begin=begin)
            held, tag, begin = RecordLines(place.max_characters), line, number
        elif tag and line is not None and line.rstrip() == _END:
            yield read_record(
                partial(_record, held, tag, place, begin=begin, metadata=metadata),
                source=place.source,
                position=f"line {place.line + begin - 1}",
                excerpt=tag,
            )
            held, tag = RecordLines(place.max_characters), ""
        elif tag or line is None or line.strip():
            held.add(number, line)
        else:
            counters["lines.blank"] += 1
    yield from _broken(held, tag, place, begin=begin)


def _broken(held: RecordLines, tag: str, place: RecordSource, *, begin: int) -> Iterator[Rejected]:
    """Reject an article without an end tag, or text outside of articles."""
    if tag:
        what = "<doc …> without </doc>: the file was cut, or the article is damaged."
        yield place.reject(begin, "unclosed_doc", what=what, excerpt=tag)
    elif held.first:
        what = "text outside of <doc …> and </doc>. Fix it, or take it out."
        yield place.reject(held.first, "outside_doc", what=what, excerpt=held.text)


def _record(
    held: RecordLines, tag: str, place: RecordSource, *, begin: int, metadata: Sequence[str]
) -> TextRecord | Rejected:
    if held.is_too_long:
        return place.too_long(begin)
    attributes = dict(_ATTRIBUTE.findall(tag.rstrip()[len("<doc") : -1]))
    id, title = attributes.pop("id", ""), attributes.pop("title", "")
    if not id.strip():
        return place.reject(begin, "missing_field", what="an empty id. Fix it.", excerpt=tag)
    columns = {_COLUMNS[name]: attributes.pop(name) for name in _COLUMNS if name in attributes}
    return TextRecord(
        held.text,
        id,
        has_own_id=True,
        title=unescape(title),
        written_title=title,
        columns=columns,
        metadata={n: v for n, v in attributes.items() if "*" in metadata or n in metadata},
    )
