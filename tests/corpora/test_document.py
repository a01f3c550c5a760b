import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets.rows import document_from_row, sentence_from_row, sentence_to_row
from corpora.document import Document, Mention, Paragraph, Sentence, Span, without_crossing
from corpora.errors import InvalidDocumentError
from tests.datasets import document_to_row


def document(**columns):
    return Document(
        **({"id": "d", "group": "g", "source": "s", "text": "Fz. Marc in Ried"} | columns)
    )


@st.composite
def mentions(draw, length=16):
    start = draw(st.integers(0, length - 1))
    end = draw(st.integers(start + 1, length))
    label = draw(st.sampled_from(["pers", "place", None]))
    return Mention(start, end, label=label, attributes={"byte": str(start)})


@pytest.mark.parametrize(
    "columns",
    [
        {"mentions": (Mention(0, 8), Mention(4, 11))},  # cross
        {"mentions": (Mention(12, 17),)},  # leaves the text
        {"mentions": (Mention(4, 8), Mention(0, 3))},  # out of order
        {"mentions": (Mention(0, 3), Mention(0, 8))},  # the inner before the outer
        {"sentences": (Span(0, 8), Span(7, 16))},  # overlap
        {"paragraphs": (Paragraph(0, 17, "p"),)},
        {"id": ""},
        {"id": 1},
        {"group": None},
        {"text": b"Fz. Marc"},  # its offsets would count bytes
        {"lang": 1},
        {"metadata": None},
        {"mentions": [(0, 3, "pers")]},
        {"mentions": None},
        {"sentences": ["Fz."]},
        {"paragraphs": [Span(0, 3)]},
    ],
)
def test_invalid_document_cannot_be_made(columns):
    with pytest.raises(InvalidDocumentError):
        document(**columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"start": 3, "end": 3},
        {"start": -1, "end": 2},
        {"start": 0.0, "end": 2.5},
        {"end": "2"},
        {"origin": "guess"},
        {"score": 1.5},
        {"label": 3},
        {"entity": 3},
        {"attributes": None},
    ],
)
def test_invalid_mention_cannot_be_made(columns):
    with pytest.raises(InvalidDocumentError):
        Mention(**({"start": 0, "end": 1} | columns))


def test_sentence_needs_a_tag_for_each_token():
    with pytest.raises(InvalidDocumentError, match="2 tokens but 1 tags"):
        Sentence(id="s", document_id="d", split="train", tokens=("a", "b"), tags=("O",))


def test_lists_become_tuples():
    listed = document(mentions=[Mention(0, 3)])

    assert listed == document(mentions=(Mention(0, 3),))
    assert hash(listed) == hash(document(mentions=(Mention(0, 3),)))
    assert document(mentions=(one for one in [Mention(0, 3)])) == listed
    columns = {"id": "s", "document_id": "d", "split": "train"}
    sentence = Sentence(**columns, tokens=["a"], tags=["O"], token_starts=[0])
    assert sentence == Sentence(**columns, tokens=("a",), tags=("O",), token_starts=(0,))
    assert hash(sentence)


def test_whole_numbers_of_numpy_become_those_of_python():
    mention = Mention(np.int64(0), np.int32(3))

    assert repr(mention) == repr(Mention(0, 3))


@given(st.lists(mentions(), max_size=12))
def test_without_crossing_keeps_a_valid_document_and_drops_only_what_crosses(found):
    kept, dropped = without_crossing(found)

    assert document(mentions=tuple(kept)).mentions == tuple(kept)
    assert sorted(map(repr, kept + dropped)) == sorted(map(repr, found))
    for mention in dropped:
        assert any(
            other.start < mention.start < other.end < mention.end
            or mention.start < other.start < mention.end < other.end
            for other in kept
        )


@given(st.lists(mentions(), max_size=6))
def test_document_survives_the_row(found):
    kept, _ = without_crossing(found)
    whole = document(
        mentions=tuple(kept),
        paragraphs=(Paragraph(0, 16, "head"),),
        sentences=(Span(0, 8), Span(9, 16)),
        metadata={"date": "1914", "by": "Marc"},
        lang="de",
    )

    assert document_from_row(document_to_row(whole)) == whole


def test_sentence_survives_the_row():
    sentence = Sentence(
        id="s#1",
        document_id="s",
        split="dev",
        tokens=("Fz.", "Marc"),
        tags=("B-pers", "I-pers"),
        token_starts=(0, 4),
    )

    assert sentence_from_row(sentence_to_row(sentence)) == sentence
