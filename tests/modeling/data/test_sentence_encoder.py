import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, trainers

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import ConfigError
from modeling.data.sentences import SentenceEncoder, small, wide
from modeling.tagging_config import SentencesConfig

TEXT = [
    "Else Lasker-Schüler schrieb in Berlin.",
    "她住在北京, «wie» 3.14 naïve café",
    "aaa  bbb",
] * 9
ALPHABET = "abElsen ü,.-北京\u200b\u00ad\x07\n😀"
WORDS = st.lists(st.text(ALPHABET, max_size=6), max_size=12).map(tuple)


def byte_level():
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[*SPECIALS], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(TEXT, trainer)
    return Tokenizer(backend, name="bytes")


def unigram():
    backend = Backend(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace(prepend_scheme="never")
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=[*SPECIALS], unk_token=SPECIALS[1], show_progress=False
    )
    backend.train_from_iterator(TEXT, trainer)
    return Tokenizer(backend, name="unigram")


def bert():
    letters = {c for text in (*TEXT, ALPHABET) for c in text if not c.isspace()}
    subwords = [*SPECIALS, *sorted(letters), *(f"##{c}" for c in sorted(letters)), "##se", "El"]
    return Tokenizer(wordpiece(subwords, cased=True), name="bert")


TOKENIZERS = {"bert": bert(), "byte-level": byte_level(), "unigram": unigram()}
every_tokenizer = pytest.mark.parametrize("tokenizer", TOKENIZERS.values(), ids=TOKENIZERS)


def sentence(tokens, number=0, document="d"):
    tags = ("O",) * len(tokens)
    return Sentence(
        id=f"{document}#{number}", document_id=document, split="train", tokens=tokens, tags=tags
    )


WESTERN = st.lists(st.text(ALPHABET.replace("北京", ""), max_size=6), max_size=12).map(tuple)


def slowly(tokens, tokenizer):
    """Return the subwords of each word, found character by character.

    A space belongs to the word after it, but not to a Chinese word.
    """
    owners = []
    for number, token in enumerate(tokens):
        owners += [number] * (len(token) + (number > 0))
    [cut] = tokenizer.encode([" ".join(tokens)])
    words = [[] for _ in tokens]
    for id, start in zip(cut.ids.tolist(), cut.starts.tolist(), strict=True):
        words[owners[start]].append(id)
    for token, word in zip(tokens, words, strict=True):
        if token[:1] in ("北", "京") and not tokenizer.blanks[word].all():
            word[:] = [id for id in word if not tokenizer.blanks[id]]
    return [word or [tokenizer.special.unk] for word in words]


def subwords_of(encoded, number):
    """Return the subwords of each word of a sentence, as they were encoded."""
    words = range(encoded.word_begins[number], encoded.word_begins[number + 1])
    borders = [(encoded.word_starts[word], encoded.word_ends[word]) for word in words]
    return [encoded.subwords[start:end].tolist() for start, end in borders]


@every_tokenizer
@given(sentences=st.lists(WORDS, max_size=5))
def test_words_have_the_subwords_that_start_in_them(tokenizer, sentences):
    encoder = SentenceEncoder(tokenizer, SentencesConfig(max_length=64))

    encoded = encoder.encode([sentence(words) for words in sentences])

    for number, words in enumerate(sentences):
        assert subwords_of(encoded, number) == slowly(words, tokenizer)


@every_tokenizer
@given(words=st.lists(st.text("abElsenü", min_size=1, max_size=6), min_size=1, max_size=12))
def test_subwords_of_plain_words_spell_them(tokenizer, words):
    encoder = SentenceEncoder(tokenizer, SentencesConfig(max_length=64))

    encoded = encoder.encode([sentence(tuple(words))])

    spelled = [tokenizer.backend.decode(ids).strip() for ids in subwords_of(encoded, 0)]
    assert spelled == words


@every_tokenizer
@given(sentences=st.lists(WESTERN, max_size=5))
def test_words_of_the_pre_tokenizer_are_those_of_the_joined_text(tokenizer, sentences):
    encoder = SentenceEncoder(tokenizer, SentencesConfig(max_length=64))

    encoded = encoder.encode([sentence(words) for words in sentences])

    cut = tokenizer.encode([" ".join(words) for words in sentences])
    expected = []
    for subwords in cut:
        begins = np.zeros(len(subwords), bool)
        begins[subwords.word_starts] = True
        expected += begins.tolist()
    of_unknown = np.zeros(len(encoded.subwords), bool)
    of_unknown[encoded.word_starts[encoded.is_unknown]] = True
    assert encoded.begins_word[~of_unknown].tolist() == expected
    assert encoded.begins_word[of_unknown].all()


@every_tokenizer
@given(sentences=st.lists(WORDS, max_size=5))
def test_a_space_is_no_subword_of_a_chinese_character(tokenizer, sentences):
    encoder = SentenceEncoder(tokenizer, SentencesConfig(max_length=64))

    encoded = encoder.encode([sentence(words) for words in sentences])

    for number, words in enumerate(sentences):
        at = range(encoded.word_begins[number], encoded.word_begins[number + 1])
        for word, token in zip(at, words, strict=True):
            if token in ("北", "京"):
                start, end = encoded.word_starts[word], encoded.word_ends[word]
                assert encoded.begins_word[start]
                assert not tokenizer.blanks[encoded.subwords[start:end]].any()


def test_a_word_without_a_subword_is_unknown_and_counted():
    tokenizer = TOKENIZERS["bert"]

    encoded = SentenceEncoder(tokenizer, SentencesConfig(max_length=64)).encode(
        [sentence(("El", "", "n", "\u200b"))]
    )

    unk = tokenizer.special.unk
    assert [word == [unk] for word in subwords_of(encoded, 0)] == [False, True, False, True]
    assert encoded.is_unknown.tolist() == [False, True, False, True]
    assert encoded.counts["words.unknown"] == 2


@given(st.lists(WORDS, min_size=1, max_size=5), st.integers(0, 5))
def test_sentences_may_be_encoded_apart(sentences, shift):
    encoder = SentenceEncoder(TOKENIZERS["bert"], SentencesConfig(max_length=20, overlap=5))
    rows = [sentence(words, n, f"d{n}") for n, words in enumerate(sentences)]
    rows = rows[shift:] + rows[:shift]

    together = encoder.encode(rows)

    apart = [encoder.encode([row]) for row in rows]
    assert together.subwords.tolist() == np.concatenate([e.subwords for e in apart]).tolist()
    assert together.longest.tolist() == [int(e.longest[0]) for e in apart]
    assert together.counts == {name: sum(e.counts[name] for e in apart) for name in together.counts}


def test_a_document_whose_rows_lie_apart_is_put_together():
    documents = "ababc"
    rows = [
        sentence((word,), n, d) for n, (word, d) in enumerate(zip("nsele", documents, strict=True))
    ]
    encoder = SentenceEncoder(
        TOKENIZERS["bert"], SentencesConfig(max_length=64, context="document")
    )

    encoded = encoder.encode(rows)

    shown = [
        "".join(map(TOKENIZERS["bert"].backend.id_to_token, encoded.subwords[start:end].tolist()))
        for start, end in zip(encoded.windows.starts, encoded.windows.ends, strict=True)
    ]
    assert shown == ["ne", "sl", "ne", "sl", "e"]


def test_half_a_surrogate_pair_is_an_error_that_names_the_sentence():
    encoder = SentenceEncoder(TOKENIZERS["byte-level"], SentencesConfig(max_length=64))

    with pytest.raises(CorpusError, match=r"d#3: has half a surrogate pair"):
        encoder.encode([sentence(("a",)), sentence(("b\ud800",), number=3)])


def test_indices_take_four_bytes_if_they_fit():
    encoded = SentenceEncoder(TOKENIZERS["bert"], SentencesConfig(max_length=64)).encode(
        [sentence(("Else", "in", "Berlin"))]
    )

    stored = [encoded.word_starts, encoded.word_ends, encoded.word_windows]

    assert {indices.dtype for indices in stored} == {np.dtype(np.int32)}
    large = np.array([0, 1 << 31])
    assert small(large).tolist() == wide(small(large)).tolist() == large.tolist()
    assert wide(encoded.word_starts).dtype == np.int64


@pytest.mark.parametrize("settings", [{"max_length": 2}, {"max_length": 20, "overlap": -1}])
def test_windows_that_cannot_be_are_an_error(settings):
    with pytest.raises(ConfigError, match=r"data\.(max_length|overlap)="):
        SentenceEncoder(TOKENIZERS["bert"], SentencesConfig(**settings))


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["bert-base-chinese", "bert-base-cased"])
def test_words_of_real_vocabularies_have_the_subwords_that_start_in_them(realdata, name):
    tokenizer = Tokenizer.open(realdata("vocab") / f"{name}-vocab.txt")
    rows = [
        line.split() for text in TEXT[:3] for line in (text, "她 住 在 北京 Straße 3,5 😀 \u200b !")
    ]

    encoded = SentenceEncoder(tokenizer, SentencesConfig(max_length=64)).encode(
        [sentence(tuple(r)) for r in rows]
    )

    for number, words in enumerate(rows):
        assert subwords_of(encoded, number) == slowly(words, tokenizer)
