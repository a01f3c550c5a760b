"""A tokenizer with only the subwords of a corpus: the same cuts there, no unknown words beyond."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Tokenizer, wordpiece
from corpora.tokenization.trimming import trim
from tests.corpora.small_bert import CHARACTERS, VOCAB
from tests.corpora.tokenization.test_other_tokenizers import SENTENCES, byte_level, unigram


def bert():
    return wordpiece(VOCAB, cased=True)


MAKE = {make.__name__: Tokenizer(make(), name="whole") for make in (bert, byte_level, unigram)}


def cut(tokenizer, texts):
    """Return the subwords of texts, by name."""
    return [
        [tokenizer.backend.id_to_token(id) for id in one.ids.tolist()]
        for one in tokenizer.encode(texts)
    ]


def used(tokenizer, texts):
    return {id for one in tokenizer.encode(texts) for id in one.ids.tolist()}


@pytest.mark.parametrize("name", MAKE)
@settings(max_examples=40)
@given(texts=st.lists(st.text(CHARACTERS, max_size=20) | st.sampled_from(SENTENCES), max_size=3))
def test_texts_of_the_corpus_are_cut_as_before(name, texts):
    whole = MAKE[name]

    smaller, ids = trim(whole, used(whole, texts))

    assert cut(smaller, texts) == cut(whole, texts)
    assert smaller.size == len(ids)
    names = [whole.backend.id_to_token(id) for id in ids.tolist()]
    assert [smaller.backend.id_to_token(id) for id in range(len(ids))] == names
    assert [names[id] for id in smaller.special] == [
        whole.backend.id_to_token(id) for id in whole.special
    ]


@pytest.mark.parametrize("name", MAKE)
def test_a_trimmed_tokenizer_is_saved_and_cuts_other_text_without_unknown_subwords(name, tmp_path):
    whole = MAKE[name]
    smaller, ids = trim(whole, used(whole, SENTENCES[:1]))
    smaller.save(tmp_path)

    again = Tokenizer.open(tmp_path)

    assert len(ids) < whole.size
    assert again.sha256 == smaller.sha256
    other = ["new house"]
    assert again.special.unk not in used(again, other) - used(whole, other)
    assert "".join(again.backend.decode([*used(again, other)]).split())
    encoded = again.backend.encode("old", add_special_tokens=True).ids
    if whole.backend.post_processor is not None:
        assert [encoded[0], encoded[-1]] == [again.special.cls, again.special.sep]


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_characters_without_a_subword_stay_bytes(kind):
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    names = ["<pad>", "<unk>", "<s>", "</s>", "<mask>", *"abn", "an"]
    names += [f"<0x{byte:02X}>" for byte in range(256)]
    model = (
        models.BPE(
            {name: id for id, name in enumerate(names)},
            [("a", "n")],
            unk_token="<unk>",  # noqa: S106 - no password
            byte_fallback=True,
        )
        if kind == "BPE"
        else models.Unigram([(name, -2.0) for name in names], unk_id=1, byte_fallback=True)
    )
    whole = Tokenizer(Backend(model), name="bytes")

    smaller, _ = trim(whole, used(whole, ["ban"]))

    assert cut(smaller, ["ban", "a€"]) == cut(whole, ["ban", "a€"])
    assert cut(smaller, ["€"]) == [["<0xE2>", "<0x82>", "<0xAC>"]]


def test_other_models_are_refused():
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    words = {name: id for id, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}
    backend = Backend(models.WordLevel(words, unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer = Tokenizer(backend, name="words")

    with pytest.raises(CorpusError, match="WordLevel"):
        trim(tokenizer, [])
