"""What pages say of their entities: ids, types, first sentences."""

import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.document import Document, Paragraph, Span
from corpora.entities.pages import MAX_DESCRIPTION, columns_of_pages
from tests.datasets import document_to_row


def batch(*documents):
    return pa.RecordBatch.from_pylist(
        [document_to_row(each) for each in documents], schema=SCHEMAS["documents"].columns
    )


def document(text, paragraphs=(), sentences=(), **metadata):
    return Document(
        id="x:1",
        group="x",
        source="x",
        text=text,
        paragraphs=tuple(Paragraph(*each) for each in paragraphs),
        sentences=tuple(Span(*each) for each in sentences),
        metadata=metadata,
    )


def test_ids_types_and_descriptions_of_pages():
    long = "a" * (MAX_DESCRIPTION + 1)
    documents = batch(
        document(
            "Note\nJena\nist da. Und dort.",
            [(0, 4, "head"), (5, 27, "p")],
            [(0, 4), (5, 17), (18, 27)],
            wikidata="Q3150",
            ids="gnd:4028557-1 wikidata:Q9",
            type="place",
        ),
        document("No sentence", [(0, 11, "p")]),
        document("Head", [(0, 4, "head")], [(0, 4)]),
        document(long, [(0, len(long), "p")], [(0, len(long))], ids="viaf:1"),
    )

    expected = [
        [{"key": "wikidata", "value": "Q3150"}, {"key": "gnd", "value": "4028557-1"}],
        None,
        None,
        [{"key": "viaf", "value": "1"}],
    ]
    for part in (documents, documents.slice(1)):
        ids, types, descriptions = (column.to_pylist() for column in columns_of_pages(part))
        n = len(part)
        assert ids == expected[-n:]
        assert types == ["place", None, None, None][-n:]
        shortened = "a" * (MAX_DESCRIPTION - 1) + "…"
        assert descriptions == ["Jena ist da.", None, None, shortened][-n:]
