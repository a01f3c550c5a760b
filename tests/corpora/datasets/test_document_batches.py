"""Documents from batches and back, by columns: as by rows, and as their constructors make them."""

import copy
from dataclasses import FrozenInstanceError

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets.columns import DocumentColumns
from corpora.datasets.document_batches import batch_of, documents_of
from corpora.datasets.rows import document_from_row
from corpora.datasets.schemas import SCHEMAS
from corpora.document import Document, Mention, Paragraph, Span, without_crossing
from corpora.errors import InvalidDocumentError
from tests.datasets import document_to_row

COLUMNS = SCHEMAS["documents"].columns
TEXT = "Jena und Weimar, 🎈 Ulm und Jena."
WORDS = st.none() | st.sampled_from(["", "a", "é", "dawiki:Jena"])
MAPS = st.dictionaries(st.sampled_from("abc"), st.text(max_size=3), max_size=2)
PLACES = st.tuples(st.integers(0, 30), st.integers(1, 8)).map(
    lambda place: (place[0], min(sum(place), len(TEXT)))
)


@st.composite
def documents(draw):
    mentions = [
        Mention(
            *draw(PLACES),
            draw(WORDS),
            draw(WORDS),
            origin=draw(st.sampled_from(["link", "lexicon"])),
            score=draw(st.none() | st.sampled_from([0.0, 0.5, 1.0])),
            attributes=draw(MAPS),
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    ends = sorted(draw(st.sets(st.integers(1, len(TEXT)), max_size=4)))
    return Document(
        id=draw(st.text("ab", min_size=1)),
        group="g",
        source="s",
        text=TEXT,
        lang=draw(WORDS),
        title=draw(WORDS),
        paragraphs=tuple(
            Paragraph(0, end, "head", draw(st.none() | st.just(2))) for end in ends[:1]
        ),
        sentences=tuple(Span(start, end) for start, end in zip([0, *ends], ends, strict=False)),
        mentions=tuple(without_crossing(mentions)[0]),
        categories=tuple(draw(st.lists(st.sampled_from("xy"), max_size=2))),
        metadata=draw(MAPS),
    )


@given(st.lists(documents(), max_size=4), st.integers(0, 4))
def test_columns_give_what_rows_give(made, start):
    batch = batch_of(made)

    assert batch.equals(pa.RecordBatch.from_pylist(list(map(document_to_row, made)), COLUMNS))
    assert list(documents_of(batch.slice(start))) == made[start:]
    assert list(map(document_from_row, batch.to_pylist())) == made


def test_a_document_from_a_batch_is_like_any_other():
    mention = Mention(0, 4, "gnd:1", attributes={"a": "b"})
    document = Document(id="1", group="g", source="s", text=TEXT, mentions=(mention,))

    [read] = documents_of(batch_of([document]))

    assert copy.deepcopy(read) == document
    assert hash(read) == hash(document)
    with pytest.raises(FrozenInstanceError):
        read.mentions[0].start = 2


def span(start, end, **more):
    row = {"start": start, "end": end, "entity": None, "label": None, "origin": "link"}
    return row | {"score": None, "attributes": [], "kind": "p", "level": None} | more


@pytest.mark.parametrize(
    "columns",
    [
        {"id": ""},
        {"sentences": [span(3, 3)]},
        {"sentences": [span(-1, 3)]},
        {"sentences": [span(0, 4), span(3, 5)]},
        {"paragraphs": [span(0, len(TEXT) + 1)]},
        {"mentions": [span(0, len(TEXT) + 1)]},
        {"mentions": [span(0, 4), span(2, 6)]},
        {"mentions": [span(5, 8), span(0, 4)]},
        {"mentions": [span(0, 4), span(0, 8)]},
        {"mentions": [span(0, 4, origin="guess")]},
        {"mentions": [span(0, 4, score=1.5)]},
        {"categories": [None]},
        {"paragraphs": [None]},
        {"mentions": [span(0, 4, attributes=[None])]},
        {"metadata": [None]},
    ],
    ids=str,
)
def test_a_wrong_row_is_refused(columns):
    right = document_to_row(Document(id="1", group="g", source="s", text=TEXT))
    batch = pa.RecordBatch.from_pylist([right, right | columns], COLUMNS)

    with pytest.raises(InvalidDocumentError):
        documents_of(batch)


def test_a_list_that_is_null_is_empty_in_a_batch_that_is_read_row_by_row():
    right = document_to_row(Document(id="1", group="g", source="s", text=TEXT))
    lists = dict.fromkeys(("paragraphs", "sentences", "categories", "metadata"))

    assert document_from_row(right | lists) == document_from_row(right)


def test_a_value_without_a_column_is_not_dropped():
    rows = {"blocks": (), "sentences": (), "links": (), "metadata": {}}

    with pytest.raises(KeyError, match="licence"):
        DocumentColumns().add({"id": "a", "text": "", "licence": "CC0"}, **rows)
