"""Lines of a NER file that hold no token: document marks, comments, headers."""

import re
from dataclasses import dataclass

import numpy as np

from corpora.ner.columns import Flags, Indices
from corpora.ner.layout import Layout
from corpora.ner.lines import Lines
from corpora.ner.schemes import READABLE

_DOCUMENT = re.compile(r"#\s*(?:newdoc id|[\w.-]+:document_id)\s*=\s*(.*\S)\s*")
_SOURCE = re.compile(
    r"#\t([^\t]*[^\s])\s*(?:\t.*)?"
)  # GermEval: where a sentence is from, and when
TITLE, DOCSTART, HEADER = "<title>", "-DOCSTART-", "TOKEN\t"


@dataclass(frozen=True, slots=True)
class Marks:
    """What the lines without a token say."""

    is_token: Flags
    """(L,): whether a line should hold a token."""
    ends_sentence: Flags
    """(L,): whether a sentence ends before a line."""
    lines: Indices
    """Lines that name a document, in order."""
    names: tuple[str, ...]
    """The names; empty: it has none."""
    n_comments: int


def find_marks(lines: Lines, layout: Layout) -> Marks:
    """Find the lines that hold no token."""
    is_token = ~lines.is_blank
    ends_sentence = lines.is_blank.copy()
    named: dict[int, str] = {}
    for line in _beginning(lines, "#") if layout.has_comments else ():
        if layout.is_numbered or not _is_row(lines, line, layout):
            is_token[line] = False
            text = lines.text(line)
            if match := _DOCUMENT.fullmatch(text) or _SOURCE.fullmatch(text):
                named[line] = match[1]
    n_comments = int(np.count_nonzero(~is_token & ~lines.is_blank))
    for mark in (DOCSTART, TITLE, HEADER):
        for line in _beginning(lines, mark[0]):
            if (text := lines.text(line)).startswith(mark) and _is_mark(text, mark, layout):
                is_token[line] = False
                ends_sentence[line] = True
                if mark != HEADER:
                    named[line] = text.removeprefix(TITLE).strip() if mark == TITLE else ""
    ordered = sorted(named)
    return Marks(
        is_token,
        ends_sentence,
        np.array(ordered, np.int64),
        tuple(named[line] for line in ordered),
        n_comments,
    )


def _beginning(lines: Lines, character: str) -> list[int]:
    return np.flatnonzero(lines.first_bytes == ord(character)).tolist()


def _is_row(lines: Lines, line: int, layout: Layout) -> bool:
    """Whether a line that begins like a comment is the row of a token."""
    if lines.n_columns[line] != layout.n_columns:
        return False
    [tag] = lines.values(layout.tag, np.array([line]))
    return bool(READABLE.fullmatch(tag.decode("utf-8", "replace")))


def _is_mark(text: str, mark: str, layout: Layout) -> bool:
    if mark == HEADER:
        return layout.format == "hipe" and "\tNE-" in text
    if mark == TITLE:
        return layout.format == "titles"
    return text[len(mark) :].strip() == "" or text[len(mark)].isspace()
