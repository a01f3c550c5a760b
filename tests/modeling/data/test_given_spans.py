"""Spans that somebody names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Sentence, Span, TokenSpan
from corpora.errors import CorpusError
from modeling.data.sentence_batches import whole_text, words_of
from modeling.taggers.tagger import document_of

TEXT = "Peter lebt in Frankfurt am Main.\nErich auch, heißt es."


def sentence(text=TEXT, spans=()):
    return whole_text(document_of(text), spans)


def test_all_lines_of_a_text_are_one_sentence():
    words = sentence()

    starts = words.token_starts
    assert words.tokens[:2] == ("Peter", "lebt")
    assert words.tokens[-1] == "."
    assert all(TEXT[s:].startswith(token) for s, token in zip(starts, words.tokens, strict=True))


@given(st.data())
def test_a_span_has_exactly_its_characters_but_for_spaces(data):
    start = data.draw(st.integers(0, len(TEXT) - 1))
    end = data.draw(st.integers(start + 1, len(TEXT)))
    if not TEXT[start:end].strip():
        return
    span = Span(start, end)

    words = sentence(spans=[span])
    first, last = words_of(words, span)

    assert "".join(words.tokens[first:last]) == "".join(TEXT[start:end].split())


def test_without_a_cut_a_span_is_the_words_that_it_touches():
    words = sentence()

    assert words_of(words, Span(3, 8)) == (0, 2)
    assert words_of(words, Span(0, 5)) == (0, 1)
    assert words_of(words, TokenSpan(start=1, end=3, label="")) == (1, 3)


@pytest.mark.parametrize("span", [Span(5, 6), Span(500, 501), TokenSpan(start=0, end=99, label="")])
def test_a_span_of_no_word_is_an_error(span):
    with pytest.raises(CorpusError, match="covers no word"):
        words_of(sentence(), span)


def test_characters_of_a_sentence_without_text_are_an_error():
    bare = Sentence(id="s", document_id="s", split="test", tokens=("a",), tags=("O",))

    with pytest.raises(CorpusError, match="TokenSpan"):
        words_of(bare, Span(0, 1))
