import numpy as np
import pytest

from corpora.matching.contexts import SpanContexts

TEXT = "Er kam. Die Universität Jena liegt in New York-Mitte: Am Ende\n生物學家 heißt es"


def span(word):
    start = TEXT.index(word)
    return np.array([start]), np.array([start + len(word)])


@pytest.fixture(scope="module")
def contexts():
    return SpanContexts(TEXT, np.array([0, 8, TEXT.index("生")]), lang="de")


@pytest.mark.parametrize(
    ("word", "before", "after"),
    [
        ("Jena", True, False),
        ("New", False, True),
        ("York", True, True),
        ("Universität", False, True),  # what starts a sentence has a capital anyway
        ("Ende", False, False),
    ],
)
def test_words_with_a_capital_are_seen_on_either_side(contexts, word, before, after):
    starts, ends = span(word)

    assert contexts.words_before(starts)[1].tolist() == [before]
    assert contexts.words_after(ends)[1].tolist() == [after]


@pytest.mark.parametrize(("word", "is_joined"), [("York", True), ("Mitte", True), ("New", False)])
def test_a_hyphen_joins_words_on_either_side(contexts, word, is_joined):
    assert contexts.are_joined(*span(word)).tolist() == [is_joined]


@pytest.mark.parametrize(
    ("word", "starts"), [("Er", True), ("Die", True), ("Am", True), ("Jena", False), ("生物", True)]
)
def test_sentences_lines_and_what_follows_a_colon_are_starts(contexts, word, starts):
    assert contexts.starts_sentence(span(word)[0]).tolist() == [starts]


def test_inflected_forms_of_a_word_have_one_hash_and_each_han_character_is_a_word():
    text = "nūvoda nūvods 生物學 物理學"
    contexts = SpanContexts(text, np.array([0]), lang=None)
    starts = np.array([0, 7, text.index("學"), text.rindex("學"), text.index("生")])

    first, second, school, other_school, life = contexts.words_at(starts).tolist()

    assert first == second
    assert school == other_school
    assert len({first, school, life, 0}) == 4


def test_the_words_of_spans_are_found_with_their_vowel_signs():
    text = "Bank of Finland 生物學 कोल्हापूर शहर"
    contexts = SpanContexts(text, np.array([0]), lang=None)

    spans, offsets = contexts.words_inside(np.array([0, 16, 20]), np.array([15, 19, 33]))

    assert spans.tolist() == [0] * 3 + [1] * 3 + [2] * 2
    assert offsets.tolist() == [0, 5, 8, 16, 17, 18, 20, 30]


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("Then the Battle of the |Nile| began", True, False),
        ("Battle of |Nile| began", False, False),  # what starts a sentence has a capital anyway
        ("the Museum |Fuchs| in Wien", False, True),
        ("the Sultan travelled |Nile| upwards", False, False),
        ("生物の|學家|の生物", False, False),
    ],
)
def test_names_are_seen_beyond_small_words(text, before, after):
    first, name, last = text.split("|")
    contexts = SpanContexts(first + name + last, np.array([0]), lang=None)
    start, end = np.array([len(first)]), np.array([len(first + name)])

    assert contexts.names_before(start)[1].tolist() == [before]
    assert contexts.has_name_after(end).tolist() == [after]
