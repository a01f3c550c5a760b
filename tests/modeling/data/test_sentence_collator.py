from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import MaskingConfig
from modeling.data.batches import Collator
from modeling.data.examples import Example
from modeling.data.masking import Masker
from modeling.data.rng import Rng
from modeling.data.sentence_batches import SentenceCollator
from modeling.data.sentences import SentenceEncoder
from modeling.data.tagset import TagSet
from modeling.data.texts import ExamplePart, ExampleView, SubwordIds
from modeling.tagging_config import SentencesConfig
from tests.ner_files import sentences_of

TOKENIZER = Tokenizer(
    wordpiece([*SPECIALS, *"abcd", *(f"##{c}" for c in "abcd")], cased=True), name="t"
)
CLS, SEP = TOKENIZER.special.cls, TOKENIZER.special.sep
TAGSET = TagSet(("LOC", "PER"))
WORDS = st.tuples(
    st.text("abcd", max_size=7), st.sampled_from(("O", "B-PER", "I-PER", "B-LOC", "B-X"))
)
SENTENCES = st.lists(
    st.tuples(st.sampled_from("xyz"), st.lists(WORDS, max_size=12)), min_size=1, max_size=6
)


def subwords_of(token):
    """Return the subwords of a token, one for each letter."""
    ids = {
        subword: TOKENIZER.backend.token_to_id(subword)
        for subword in (*"abcd", *(f"##{c}" for c in "abcd"))
    }
    if not token:
        return [TOKENIZER.special.unk]
    return [ids[token[0]], *(ids[f"##{letter}"] for letter in token[1:])]


def collate(drawn, numbers, *, length=64, overlap=8, context="none", **settings):
    encoder = SentenceEncoder(
        TOKENIZER, SentencesConfig(max_length=length, overlap=overlap, context=context)
    )
    return SentenceCollator(encoder.encode(sentences_of(drawn)), **settings)(numbers)


def sequences(batch):
    """Return the subwords of each window."""
    found = [[] for _ in batch.inputs.ids]
    for sequence, subword in zip(
        batch.inputs.rows.subwords.sequences.tolist(), batch.subwords.tolist(), strict=True
    ):
        found[sequence].append(subword)
    return found


def word_rows(batch):
    """Return the rows of each word."""
    borders = [*batch.word_offsets.tolist(), len(batch.word_subwords)]
    return [batch.word_subwords[start:end].tolist() for start, end in pairwise(borders)]


@given(SENTENCES)
def test_a_sentence_that_fits_is_one_window(drawn):
    batch = collate(drawn, range(len(drawn)), length=12 * 7 + 2)

    expected = [[id for token, _ in words for id in subwords_of(token)] for _, words in drawn]
    assert sequences(batch) == [[CLS, *ids, SEP] for ids in expected]
    assert batch.inputs.ids == batch.ids == tuple(row.id for row in sentences_of(drawn))


@given(SENTENCES, st.data(), st.integers(16, 40), st.sampled_from(("none", "document")))
def test_each_word_has_its_subwords_in_the_window_in_which_it_is_read(drawn, data, length, context):
    numbers = data.draw(st.lists(st.integers(0, len(drawn) - 1), min_size=1, max_size=4))

    batch = collate(drawn, numbers, length=length, overlap=7, context=context)

    tokens = [token for number in numbers for token, _ in drawn[number][1]]
    rows = word_rows(batch)
    assert [batch.subwords[row].tolist() for row in rows] == [
        subwords_of(token) for token in tokens
    ]
    of_row = batch.inputs.rows.subwords.sequences
    assert [set(of_row[row].tolist()) for row in rows] == [{w} for w in batch.windows.tolist()]
    assert batch.words.sequences.tolist() == [
        place for place, number in enumerate(numbers) for _ in drawn[number][1]
    ]
    assert batch.inputs.rows.subwords.longest <= length


@given(SENTENCES, st.integers(3, 40), st.sampled_from(("none", "document")))
def test_each_window_is_framed_and_no_word_is_read_in_its_frame(drawn, length, context):
    batch = collate(drawn, range(len(drawn)), length=length, context=context)

    windows = sequences(batch)
    assert all(window[0] == CLS and window[-1] == SEP for window in windows)
    assert not {CLS, SEP} & {id for window in windows for id in window[1:-1]}
    assert not {CLS, SEP} & set(batch.subwords[batch.word_subwords].tolist())


@given(SENTENCES, st.integers(3, 8))
def test_a_word_that_no_window_holds_is_cut_and_counted(drawn, length):
    batch = collate(drawn, range(len(drawn)), length=length, overlap=2)

    tokens = [token for _, words in drawn for token, _ in words]
    read = [batch.subwords[row].tolist() for row in word_rows(batch)]
    n_cut = sum(ids != subwords_of(token) for ids, token in zip(read, tokens, strict=True))
    assert all(
        ids == subwords_of(token)[: len(ids)] for ids, token in zip(read, tokens, strict=True)
    )
    assert batch.inputs.counts.get("words.cut", 0) == n_cut
    assert batch.inputs.counts.get("words.unknown", 0) == tokens.count("")


@given(SENTENCES)
def test_tags_are_those_of_the_sentences(drawn):
    batch = collate(drawn, range(len(drawn)), tagset=TAGSET)

    expected = [code for row in sentences_of(drawn) for code in TAGSET.encode(row.tags).tolist()]
    assert batch.tags.tolist() == expected
    assert batch.n_targets == {"tags": len(expected)}


@given(SENTENCES)
def test_context_is_read_but_has_no_words(drawn):
    rows = sentences_of(drawn)

    batch = collate(drawn, range(len(drawn)), length=1000, context="document")

    for window, row in zip(sequences(batch), rows, strict=True):
        document = [other for other in rows if other.document_id == row.document_id]
        assert window[1:-1] == [
            id for s in document for token in s.tokens for id in subwords_of(token)
        ]
    assert batch.words.n_sequences == len(rows)
    assert len(batch.words.index) == sum(len(row.tokens) for row in rows)


def test_context_does_not_depend_on_the_batch():
    drawn = [("x", [("ab", "O")] * 9), ("x", [("cd", "O")] * 5), ("y", [("a", "O")] * 3)]

    together = sequences(collate(drawn, [2, 1, 0], length=24, context="document"))

    apart = [sequences(collate(drawn, [n], length=24, context="document"))[0] for n in (2, 1, 0)]
    assert together == apart


def pre_trained_on(texts):
    """Return the batch of plain texts as pre-training makes it, with nothing masked."""
    nothing = np.zeros(0, np.int32)
    views = []
    for number, cut in enumerate(TOKENIZER.encode(texts)):
        example = Example(str(number), "d", cut.ids, cut.word_starts, *[nothing] * 4)
        views.append(ExampleView(example, (ExamplePart(example, 0, len(cut)),)))
    masker = Masker(MaskingConfig(ratio=0.0), SubwordIds.of(TOKENIZER))
    rng = Rng.of(np.zeros(len(views), np.uint64), seed=1, epochs=0)
    return Collator(masker, with_words=True)(views, rng)


@given(st.lists(st.lists(st.text("abcd", min_size=1, max_size=4), min_size=1), min_size=1))
def test_inputs_are_those_of_pre_training(texts):
    drawn = [("x", [(token, "O") for token in tokens]) for tokens in texts]

    batch = collate(drawn, range(len(drawn)), length=1000, with_words=True)

    expected = pre_trained_on([" ".join(tokens) for tokens in texts])
    words, others = batch.inputs.rows.words, expected.rows.words
    assert batch.subwords.tolist() == expected.subwords.tolist()
    assert words.of_subword.tolist() == others.of_subword.tolist()
    assert words.n_subwords.tolist() == others.n_subwords.tolist()
    assert words.layout.sequences.tolist() == others.layout.sequences.tolist()


def test_features_are_those_of_the_words_of_the_batch():
    class Features:
        n_features = 2

        def rows(self, words):
            return np.stack([words, -words], axis=1).astype(np.float32)

    drawn = [("x", [("a", "O")] * 2), ("y", [("b", "O")] * 3), ("x", [("c", "O")])]

    batch = collate(drawn, [2, 1], features=Features())

    assert batch.features.tolist() == [[5, -5], [2, -2], [3, -3], [4, -4]]


def test_a_sentence_without_words_is_an_empty_row():
    batch = collate(
        [("x", []), ("x", [("a", "B-PER")])], [0, 1], tagset=TAGSET, max_span_subwords=4
    )

    assert sequences(batch)[0] == [CLS, SEP]
    assert batch.words.pad(batch.tags).tolist() == [[0], [3]]
    assert batch.spans.sentences.tolist() == [1]


def test_a_sentence_of_ten_thousand_words_is_read():
    words = [("abcd"[n % 4] * (1 + n % 5), "O") for n in range(10_000)]

    batch = collate([("x", words)], [0], length=512, overlap=64)

    read = [batch.subwords[row].tolist() for row in word_rows(batch)]
    assert read == [subwords_of(token) for token, _ in words]
    assert batch.inputs.rows.subwords.longest <= 512


def test_the_batch_of_a_slice_of_memory_can_be_moved():
    batch = collate(
        [("x", [("a", "B-PER")])], [0], tagset=TAGSET, max_span_subwords=2, with_words=True
    )

    moved = batch.to(torch.device("meta"))

    assert moved.spans.labels.is_meta
    assert moved.inputs.rows.words.of_subword.is_meta


@pytest.mark.parametrize("n", [0, 3])
def test_no_tags_are_made_where_no_tag_set_is_given(n):
    assert collate([("x", [("a", "B-PER")] * n)], [0]).tags is None
