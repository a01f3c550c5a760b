"""Forms in the words of sentences: the leftmost, there the longest, whatever the words are."""

from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.data.entity_forms import EntityForms
from modeling.data.sentence_batches import SentenceCollator
from modeling.data.sentences import SentenceEncoder
from modeling.tagging_config import SentencesConfig


def lookup_of(forms):
    names = pa.array([f"x:{form}" for form in forms], pa.string())
    return EntityForms(pa.array(forms, pa.string()), names, 3 + np.arange(len(forms)))


def naive(text, forms):
    """Find forms by Algorithm 1: the longest at each character, and on after it."""
    found, start = [0] * len(text), 0
    while start < len(text):
        best = max((f for f in forms if text.startswith(f, start)), key=len, default="")
        if best:
            found[start : start + len(best)] = [3 + forms.index(best)] * len(best)
        start += len(best) or 1
    return found


@given(
    st.lists(st.text("甲乙丙", min_size=1, max_size=4), unique=True, max_size=8),
    st.lists(st.text("甲乙丙丁", max_size=12), max_size=4),
)
def test_characters_know_what_maximum_matching_finds(forms, texts):
    found = lookup_of(forms).find([list(text) for text in texts])

    assert found.tolist() == [id for text in texts for id in naive(text, forms)]


def test_words_of_several_characters_know_the_same_and_none_is_cut():
    lookup = lookup_of(["慕容复", "丐帮", "丐帮帮主", "Peter Berg"])

    found = lookup.find([["慕容", "复", "丐帮帮主", "丐", "帮", "主"], ["Peter", "Berg", "Bergs"]])

    assert found.tolist() == [3, 3, 5, 4, 4, 0, 6, 6, 0]


@pytest.mark.parametrize(("form", "written"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_forms_are_found_however_their_letters_are_composed(form, written):
    lookup = lookup_of([normalize(form, "Müller"), normalize(form, "Bad Köstritz")])

    words = normalize(written, "Müller in Bad Köstritz").split()

    assert lookup.find([words]).tolist() == [3, 0, 4, 4]


def test_no_form_stands_across_two_sentences():
    assert lookup_of(["甲乙"]).find([["甲"], ["乙", "甲", "乙"]]).tolist() == [0, 0, 3, 3]


def test_of_equal_forms_the_first_counts():
    names = pa.array(["b:甲", "a:甲"])

    assert EntityForms(pa.array(["甲", "甲"]), names, np.array([9, 4])).find([["甲"]]) == [9]


def test_a_document_of_a_space_knows_the_forms_of_this_space_alone():
    forms = ["甲", "甲乙", "甲", "丙"]
    entities = ["one:甲", "one:甲乙", "two:甲", "two:丙"]
    lookup = EntityForms(pa.array(forms), pa.array(entities), np.array([3, 4, 5, 6]))
    documents = ["one", "two", "two/chapter 1", "two:7", "twofold", "other"]

    found = lookup.find([list("甲乙丙")] * len(documents), documents)

    of_two, of_all = [5, 0, 6], [4, 4, 6]
    assert found.reshape(-1, 3).tolist() == [[4, 4, 0], of_two, of_two, of_two, of_all, of_all]


def test_it_is_saved_and_read_again(tmp_path):
    lookup = lookup_of(["甲乙", "丙"])
    lookup.save(tmp_path / "entities")

    read = EntityForms.load(tmp_path / "entities")

    assert read.find([list("丙甲乙丙丁")]).tolist() == [4, 3, 3, 4, 0]
    assert read.entities.to_pylist() == ["x:甲乙", "x:丙"]


def test_what_is_missing_or_damaged_is_named(tmp_path):
    (tmp_path / "entity_forms.arrow").write_bytes(b"no table")

    for folder in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(CorpusError, match=r"entity_forms\.arrow: no entities"):
            EntityForms.load(folder)


def sentence(number, text):
    return Sentence(
        id=f"d#{number}",
        document_id="d",
        split="train",
        tokens=tuple(text),
        tags=("O",) * len(text),
    )


def test_subwords_of_windows_know_the_entity_of_their_word(characters):
    texts = ["甲乙丙丁甲乙丙丁甲乙", "丁丁", "乙甲"]
    sentences = [sentence(number, text) for number, text in enumerate(texts)]
    encoded = SentenceEncoder(characters, SentencesConfig(max_length=7, overlap=2)).encode(
        sentences
    )
    lookup = lookup_of(["甲乙", "丁甲"])
    collator = SentenceCollator(encoded, entities=lookup)

    batch = collator([2, 0])

    known = dict(
        zip(*(column.tolist() for column in vars_of(batch.inputs.subword_entities)), strict=True)
    )
    subwords = batch.word_subwords.tolist()
    by_word = [known.get(row, 0) for row in subwords]
    assert by_word == [*naive("乙甲", ["甲乙", "丁甲"]), *naive(texts[0], ["甲乙", "丁甲"])]
    assert len(known) > sum(map(bool, by_word))  # of overlapping windows both know


def vars_of(known):
    return known.rows, known.entities


def test_a_batch_in_which_nothing_is_found_has_no_entities(characters):
    encoded = SentenceEncoder(characters, SentencesConfig(max_length=20)).encode(
        [sentence(0, "丁丁")]
    )

    batch = SentenceCollator(encoded, entities=lookup_of(["甲乙"]))([0])

    assert batch.inputs.subword_entities is None


@pytest.fixture(scope="module")
def characters():
    return Tokenizer(wordpiece([*SPECIALS, *"甲乙丙丁"], cased=True), name="characters")
