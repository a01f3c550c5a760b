"""Tokenizers that are not BERT's: byte-level BPE, unigrams, added subwords."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from corpora.tokenization.tokenizers import Tokenizer, wordpiece
from tests.corpora.small_bert import CHARACTERS, VOCAB

SENTENCES = [
    "Hello world, says the old house.",
    "  Two  spaces and a naïve café: 中文 😀!",
    "İstanbul\nis new\tYork",
    "",
]
NAMES = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


def byte_level():
    """Train a tokenizer like RoBERTa's."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(SENTENCES, trainer)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return backend


def unigram():
    """Train a tokenizer like XLM-RoBERTa's."""
    backend = Backend(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=80,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        unk_token="<unk>",  # noqa: S106 - no password
        show_progress=False,
    )
    backend.train_from_iterator(SENTENCES, trainer)
    return backend


@pytest.mark.parametrize("make", [byte_level, unigram])
def test_other_tokenizers_give_the_same_subwords_from_disk(tmp_path, make):
    from transformers import AutoTokenizer

    tokenizer = Tokenizer(make(), name="other")

    tokenizer.save(tmp_path)

    again, theirs = Tokenizer.open(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    ids = [subwords.ids.tolist() for subwords in tokenizer.encode(SENTENCES)]
    assert again.sha256 == tokenizer.sha256
    assert [subwords.ids.tolist() for subwords in again.encode(SENTENCES)] == ids
    assert theirs(SENTENCES, add_special_tokens=False)["input_ids"] == ids
    assert not (tmp_path / "vocab.txt").exists()
    named = {
        role: tokenizer.backend.id_to_token(id) for role, id in again.special._asdict().items()
    }
    assert named == NAMES


@pytest.mark.parametrize("make", [byte_level, unigram])
@settings(max_examples=60)
@given(texts=st.lists(st.text(CHARACTERS, max_size=20) | st.sampled_from(SENTENCES), max_size=3))
def test_subwords_of_other_tokenizers_begin_at_no_space(make, texts):
    tokenizer = Tokenizer(make(), name="other")

    for text, subwords in zip(texts, tokenizer.encode(texts), strict=True):
        for start, end in zip(subwords.starts.tolist(), subwords.ends.tolist(), strict=True):
            assert 0 <= start <= end <= len(text)
            assert end - start <= 1 or not text[start].isspace()


@pytest.mark.parametrize("make", [byte_level, unigram])
def test_words_of_other_tokenizers_are_those_of_their_pre_tokenizer(make):
    tokenizer = Tokenizer(make(), name="other")
    text = "the old house is new"

    [subwords] = tokenizer.encode([text])

    begins = subwords.starts[subwords.word_starts].tolist()
    assert [text[a:b].strip() for a, b in pairwise([*begins, len(text)])] == text.split()
    assert not tokenizer.continuations.any()


def test_an_added_subword_with_a_space_is_found():
    backend = wordpiece(VOCAB, cased=True)
    backend.add_tokens(["Haus am"])

    [subwords] = Tokenizer(backend, name="added").encode(["a Haus am b"])

    assert backend.token_to_id("Haus am") in subwords.ids.tolist()
