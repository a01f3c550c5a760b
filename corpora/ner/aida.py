"""AIDA-CoNLL: a token a line, with B or I and its entity behind a tab if it is in a name.

A document begins with ``-DOCSTART- (1 EU)``. Names have no classes: their label is ``NAME``.
"""

from collections.abc import Sequence
from dataclasses import replace

from corpora.document import Rejected
from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import Gathered, Origin, PartSentences, Row, row_of
from corpora.ner.layout import FileLayout
from corpora.ner.schemes import UNLABELLED

_START = "-DOCSTART- ("


def read_aida(data: bytes, _: FileLayout, origin: Origin) -> PartSentences:
    """Read the sentences; a line with a tab, but without ``B`` or ``I``, rejects its sentence."""
    sentences = Gathered()
    documents: list[str | None] = []
    rejected: list[Rejected] = []
    document: str | None = None
    lines: list[str] = []
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip() and not line.startswith(_START):
            lines.append(line)
            continue
        first = number - len(lines)
        try:
            if lines:
                sentences.add(first, _rows(lines, first))
                documents.append(document)
        except BadRecordError as error:
            rejected.append(origin.leave_out("sentence", error, first))
        lines = []
        if line:
            document = line.removeprefix(_START).strip().removesuffix(")")
    found = sentences.found(rejected)
    found.counters["documents"] += len({*documents} - {None})
    return replace(found, documents=documents)


def _rows(lines: Sequence[str], first: int) -> list[Row]:
    rows = []
    for number, line in enumerate(lines, first):
        token, *cells = line.split("\t")
        if cells and cells[0] not in {"B", "I"}:
            raise BadRecordError("columns", f"{line[:80]!r} has no B or I behind its token", number)
        rows.append(row_of([token, f"{cells[0]}-{UNLABELLED}" if cells else "O"]))
    return rows
