"""CoNLL-2012 (OntoNotes): a token a line, its names in brackets, ``(ORG*``, ``*``, ``*)``.

Columns stand between blanks; the token is in the fourth, names are in the eleventh. How many follow
differs between sentences (cemantix.org/conll/2012/data.html).
"""

import re
from collections import Counter
from collections.abc import Sequence

from corpora.document import Mention
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import Origin, PartSentences, Row, check_characters, read_blocks
from corpora.ner.layout import FileLayout
from corpora.ner.token_spans import tagged

START = "#begin document"
_DOCUMENT = re.compile(r"#begin document \((.*)\);\s*part\s*(\d+)\s*")
_TOKEN, _NAMES, _LEAST = 3, 10, 12
"""The columns of the token and of names, from 0, and how many there are at least."""
_CELL = re.compile(r"((?:\([^()*\s]+)*)\*?(\)*)")


def has_names(text: str) -> bool:
    """Tell whether the first row has a name in brackets, or ``*``."""
    rows = (line.split() for line in text.split("\n") if line.strip() and not line.startswith("#"))
    cells = next(rows, [])
    return text.startswith(START) and bool(_CELL.fullmatch("".join(cells[_NAMES : _NAMES + 1])))


def read_brackets(data: bytes, _: FileLayout, origin: Origin) -> PartSentences:
    """Read the sentences; a bad line rejects its sentence."""
    return read_blocks(data, origin, mark="#", document_of=_document, read=_sentence)


def _document(line: str) -> str | None:
    match = _DOCUMENT.fullmatch(line)
    return f"{match[1]}#{match[2]}" if match else None


def _sentence(lines: Sequence[str], first: int, counters: Counter[str]) -> list[Row]:
    """Read a sentence; raises ``BadRecordError`` with the number of a line."""
    tokens: list[str] = []
    names: list[Mention] = []
    open_: list[tuple[str, int]] = []
    for number, line in enumerate(lines, first):
        cells = line.split()
        if len(cells) < _LEAST:
            what = f"{len(cells)} columns in {line[:80]!r}, not {_LEAST} or more"
            raise BadRecordError("columns", what, number)
        match = _CELL.fullmatch(cells[_NAMES])
        if not match:
            raise BadRecordError("bad_tag", f"{cells[_NAMES]!r} is no name in brackets", number)
        try:
            check_characters(cells[_TOKEN])
        except BadRecordError as error:
            raise BadRecordError(*error.args, number) from error
        open_ += [(label, len(tokens)) for label in match[1].split("(")[1:]]
        tokens.append(cells[_TOKEN])
        for _ in match[2]:
            if not open_:
                raise BadRecordError("bad_tag", "a bracket closes nothing", number)
            label, start = open_.pop()
            names.append(Mention(start, len(tokens), label=label))
    if open_:
        raise BadRecordError("bad_tag", f"({open_[-1][0]} is never closed", first + open_[-1][1])
    return tagged(tokens, names, counters)
