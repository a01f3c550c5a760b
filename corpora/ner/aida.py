"""AIDA-CoNLL: a token a line, with B or I and its entity behind a tab if it is in a name.

A document begins with ``-DOCSTART- (1 EU)``. Names have no classes: their label is ``NAME``.
"""

from collections import Counter
from collections.abc import Sequence

from corpora.ner.bad_records import BadRecordError
from corpora.ner.found import Origin, PartSentences, Row, read_blocks, row_of
from corpora.ner.layout import FileLayout
from corpora.ner.schemes import UNLABELLED

_START = "-DOCSTART- ("


def read_aida(data: bytes, _: FileLayout, origin: Origin) -> PartSentences:
    """Read the sentences; a line with a tab, but without ``B`` or ``I``, rejects its sentence."""
    return read_blocks(data, origin, mark=_START, document_of=_document, read=_rows)


def _document(line: str) -> str | None:
    return line.removeprefix(_START).strip().removesuffix(")") if line.strip() else None


def _rows(lines: Sequence[str], first: int, _: Counter[str]) -> list[Row]:
    rows = []
    for number, line in enumerate(lines, first):
        token, *cells = line.split("\t")
        if cells and cells[0] not in {"B", "I"}:
            raise BadRecordError("columns", f"{line[:80]!r} has no B or I behind its token", number)
        rows.append(row_of([token, f"{cells[0]}-{UNLABELLED}" if cells else "O"]))
    return rows
