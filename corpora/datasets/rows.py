"""Documents and sentences from rows, and sentences to rows; lists of pairs become maps."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from corpora.document import Document, Mention, Paragraph, Sentence, Span
from corpora.errors import InvalidDocumentError

Row = dict[str, Any]
"""Name of a column to its value. Any: Arrow does not tell Python types of columns."""
_SENTENCE = tuple(field.name for field in fields(Sentence))


def _items(values: list[Row] | None) -> list[Row]:
    """Return the items of a list; raise ``InvalidDocumentError`` for one that is null."""
    if values and None in values:
        raise InvalidDocumentError("a list has an item without a value")
    return values or []


def _mapping(pairs: list[Row] | None) -> dict[str, str]:
    return {pair["key"]: pair["value"] for pair in _items(pairs)}


def document_from_row(row: Row) -> Document:
    """Convert a row of a ``documents`` dataset to a document; raises ``InvalidDocumentError``."""
    columns = dict(row)
    columns["paragraphs"] = tuple(Paragraph(**p) for p in _items(row["paragraphs"]))
    columns["sentences"] = tuple(Span(**s) for s in _items(row["sentences"]))
    columns["mentions"] = tuple(
        Mention(**{**m, "attributes": _mapping(m["attributes"])}) for m in _items(row["mentions"])
    )
    columns["categories"] = tuple(row["categories"] or ())
    columns["metadata"] = _mapping(row["metadata"])
    return Document(**columns)


def sentence_to_row(sentence: Sentence) -> Row:
    """Convert a sentence to a row of a ``ner`` dataset."""
    return {name: getattr(sentence, name) for name in _SENTENCE}


def sentence_from_row(row: Row) -> Sentence:
    """Convert a row of a ``ner`` dataset to a sentence; raises ``InvalidDocumentError``."""
    lists = {
        name: None if row[name] is None else tuple(row[name])
        for name in ("tokens", "tags", "inner_tags", "token_starts")
    }
    return Sentence(**{**row, **lists})


FROM_ROW: dict[str, Callable[[Row], Document | Sentence]] = {
    "documents": document_from_row,
    "ner": sentence_from_row,
}


def row_of(record: Document | Sentence) -> tuple[str, Row | Document]:
    """Return the schema of the dataset that a record belongs to, and what its shard takes."""
    if isinstance(record, Document):
        return "documents", record
    return "ner", sentence_to_row(record)
