"""PubTator: the title and the abstract of an article, ``ID|t|…`` and ``ID|a|…``, then its names.

A name is ``ID TAB start TAB end TAB text TAB label TAB id``; offsets count the title, one more, and
the abstract. Other lines (relations) are counted.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from corpora.document import Rejected
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import Origin, PartSentences, check_characters, label_of
from corpora.ner.layout import FileLayout
from corpora.ner.offsets import WrittenName

_PART = re.compile(r"([\w.:-]+)\|([ta])\|(.*)")
_NAME = re.compile(r"[^\t]*\t(\d+)\t(\d+)\t([^\t]*)\t([^\t]*)(?:\t.*)?")


def read_pubtator(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read articles; each is a document with its id as name, and is cut into sentences."""
    from corpora.ner.texts import NamedText, cut_texts

    texts: list[NamedText] = []
    rejected: list[Rejected] = []
    counters: Counter[str] = Counter()
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    for first, lines in _articles(text):
        try:
            id, content, names = _article(lines, first, counters=counters)
        except BadRecordError as error:
            rejected.append(origin.leave_out("article", error, first))
            continue
        texts.append(NamedText(first, content, names, id))
    return cut_texts(
        texts, origin, what="article", lang=layout.lang, rejected=rejected, counters=counters
    )


def _article(
    lines: Sequence[str], first: int, *, counters: Counter[str]
) -> tuple[str, str, list[WrittenName]]:
    """Read an article: its id, its text, its names; raises ``BadRecordError`` with a line."""
    id, parts, names = "", ["", ""], list[WrittenName]()
    for number, line in enumerate(lines, first):
        try:
            if part := _PART.fullmatch(line):
                id, parts[part[2] == "a"] = part[1], part[3]
                check_characters(part[3])
            elif name := _NAME.fullmatch(line):
                label = label_of(name[4], line)
                names.append(WrittenName(int(name[1]), int(name[2]), label, name[3], number))
            elif "\t" in line:
                counters["lines.relation"] += 1
            else:
                raise BadRecordError("columns", f"{line[:80]!r} is no line of PubTator")
        except BadRecordError as error:
            raise BadRecordError(*error.args, number) from error
    if not "".join(parts).strip():
        raise BadRecordError("empty_token", "an article without a title or an abstract", first)
    return id, "\n".join(parts), names


def _articles(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each article, and the number of the first; a title begins an article."""
    article: list[str] = []
    first = 1
    for number, line in enumerate(text.split("\n"), 1):
        if article and (not line.strip() or "|t|" in line.partition("\t")[0][:80]):
            yield first, article
            article = []
        if line.strip():
            first = first if article else number
            article.append(line)
    if article:
        yield first, article
