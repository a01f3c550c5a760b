"""Predictions as a list that a person reads, changes and has applied: ``candidates.tsv``.

A line is a prediction: where it is, its text in context, and a column ``accept``. Empty means yes;
``no`` (``n``, ``0``, ``false``, ``nein``, ``nej``, ``-``) and a deleted line mean no. Another label
in the column ``label`` is the one that is written.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.document import Document, Mention, reading_order
from corpora.errors import CorpusError, UsageError
from corpora.tei.edition import Edition
from corpora.tei.provenance import Model
from corpora.tei.style import template
from corpora.tei.writer import DEFAULT_OPTIONS, Skipped, TeiFile, WriteOptions, Written

COLUMNS = (
    "file", "document", "start", "end", "text", "label", "entity", "probability", "accept",
)  # fmt: skip
CONTEXT = 40
"""Characters on each side of a name."""
_OPEN, _CLOSE = "⟦", "⟧"
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", _OPEN: "\\(", _CLOSE: "\\)"}
_ESCAPED = str.maketrans(_ESCAPES)
_PLAIN = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_MARKED = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]+){_CLOSE}")
_YES, _NO = (
    {"", "yes", "y", "1", "true", "x", "ja", "j"},
    {"no", "n", "0", "false", "nein", "nej", "-"},
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line of the list."""

    file: str
    document: str
    mention: Mention
    surface: str
    """The name as it stood in the text when the list was written."""
    is_accepted: bool
    where: str
    """File and line of the list, for messages."""


def write_candidates(path: Path, found: Iterable[tuple[str, Document, Sequence[Mention]]]) -> int:
    """Write the list for files, their documents and what was predicted; returns its length."""
    number = 0
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, dialect="excel-tab", lineterminator="\n")
        rows.writerow(COLUMNS)
        for file, document, mentions in found:
            for mention in sorted(mentions, key=reading_order):
                rows.writerow(_row(file, document, mention))
                number += 1
    return number


def _row(file: str, document: Document, mention: Mention) -> list[str]:
    score = "" if mention.score is None else repr(mention.score)
    return [
        _escape(file),
        _escape(document.id),
        str(mention.start),
        str(mention.end),
        _in_context(document.text, mention),
        mention.label or "",
        _escape(mention.entity or ""),
        score,
        "",
    ]


def _in_context(text: str, mention: Mention) -> str:
    """Return the name in brackets, and what stands around it; on one line."""
    start, end = max(0, mention.start - CONTEXT), min(len(text), mention.end + CONTEXT)
    before, after = text[start : mention.start], text[mention.end : end]
    name = _escape(text[mention.start : mention.end])
    return (
        ("…" if start else "") + _escape(before) + f"{_OPEN}{name}{_CLOSE}" + _escape(after)
        + ("…" if end < len(text) else "")
    )  # fmt: skip


def _escape(text: str) -> str:
    return text.translate(_ESCAPED)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: _PLAIN.get(found[0], found[0]), text)


def read_candidates(path: Path) -> list[Candidate]:
    """Read the list as it was left; raises ``UsageError`` with file, line and what to write."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(lines, dialect="excel-tab", strict=True)
            header = next(rows, [])
            if missing := [name for name in COLUMNS if name not in header]:
                raise UsageError(f"{path}:1: has no column {', '.join(missing)}.")
            return [
                _candidate(dict(zip(header, row, strict=False)), f"{path}:{rows.line_num}")
                for row in rows
                if any(row)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read as UTF-8 with tabs ({error}).") from error


def _candidate(cells: Mapping[str, str], where: str) -> Candidate:
    answer = cells.get("accept", "").strip().lower()
    if answer not in _YES | _NO:
        raise UsageError(f"{where}: accept is {answer!r}; write yes, no, or nothing for yes.")
    marked = _MARKED.search(cells.get("text", ""))
    if marked is None:
        raise UsageError(f"{where}: the text does not mark the name as {_OPEN}name{_CLOSE}.")
    label = cells.get("label", "").strip()
    if not label:
        raise UsageError(f"{where}: has no label; to leave the name out, write accept = no.")
    try:
        mention = Mention(
            int(cells["start"]),
            int(cells["end"]),
            label=label,
            entity=_unescape(cells["entity"]) or None,
            score=float(cells["probability"]) if cells["probability"] else None,
            origin="prediction",
        )
    except (KeyError, ValueError, CorpusError) as error:
        message = f"{where}: start, end or probability cannot be read ({error})."
        raise UsageError(message) from error
    return Candidate(
        _unescape(cells["file"]),
        _unescape(cells["document"]),
        mention,
        _unescape(marked[1]),
        answer in _YES,
        where,
    )


def by_file(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """Return the lines of each file, in the order of the list."""
    files: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        files.setdefault(candidate.file, []).append(candidate)
    return files


def apply_candidates(
    data: bytes,
    edition: Edition,
    candidates: Sequence[Candidate],
    *,
    name: str,
    model: Model,
    options: WriteOptions = DEFAULT_OPTIONS,
) -> Written:
    """Write what was accepted for a file, where the text is still what the list says.

    Raises what ``TeiFile`` raises; a label without an element with the line of the list.
    """
    file = TeiFile.read(data, edition, name=name)
    texts = {document.id: document.text for document in file.documents}
    wanted: dict[str, list[Mention]] = {}
    skipped = list(_not_applicable(candidates, texts))
    out = {id(one.mention) for one in skipped}
    for candidate in candidates:
        if id(candidate.mention) not in out:
            try:
                template(edition, candidate.mention.label or "")
            except UsageError as error:
                raise UsageError(f"{candidate.where}: {error}") from error
            wanted.setdefault(candidate.document, []).append(candidate.mention)
    written = file.write(wanted, model=model, options=options)
    counters = written.counters + Counter(f"skipped: {one.reason}" for one in skipped)
    return Written(written.data, written.written, counters, [*skipped, *written.skipped])


def _not_applicable(candidates: Iterable[Candidate], texts: Mapping[str, str]) -> Iterator[Skipped]:
    for candidate in candidates:
        mention = candidate.mention
        text = texts.get(candidate.document)
        if not candidate.is_accepted:
            yield Skipped(candidate.document, mention, "not accepted")
        elif text is None or text[mention.start : mention.end] != candidate.surface:
            yield Skipped(candidate.document, mention, "the text has changed since")
