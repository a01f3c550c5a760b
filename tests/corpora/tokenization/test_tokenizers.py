"""Tokenizers: subwords and offsets against BERT written slowly, and against transformers."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.tokenization import subwords as subwords_module
from corpora.tokenization.subwords import cut_all
from corpora.tokenization.tokenizers import Tokenizer
from tests.corpora.slow_bert import slow_encode
from tests.corpora.small_bert import KINDS, TEXTS, VOCAB, bert, rows_of


@KINDS
@settings(max_examples=100)
@given(texts=TEXTS)
def test_subwords_are_those_of_bert_written_slowly(cased, strip_accents, texts):
    tokenizer = bert(cased, strip_accents)
    strip = strip_accents is None and not cased

    found = tokenizer.encode(texts)

    ids = {subword: id for id, subword in enumerate(VOCAB)}
    assert [rows_of(subwords) for subwords in found] == [
        slow_encode(text, ids, cased=cased, strip=strip) for text in texts
    ]


@settings(max_examples=100)
@given(batches=st.lists(TEXTS, max_size=4))
def test_the_table_changes_nothing(batches):
    tokenizer = bert(cased=False, strip_accents=None)

    found = [rows_of(subwords) for texts in batches for subwords in tokenizer.encode(texts)]

    direct = [
        rows_of(subwords)
        for texts in batches
        for subwords in cut_all(tokenizer.backend, texts, ~tokenizer.continuations)
    ]
    assert found == direct


def test_a_full_table_is_begun_anew(monkeypatch):
    monkeypatch.setattr(subwords_module, "MAX_CACHED", 5)
    tokenizer = bert(cased=True, strip_accents=False)
    texts = ["Haus über Berlin", "Haus, ein Haus", "nur ein Haus am See", "Berlin"]

    found = [rows_of(tokenizer.encode([text])[0]) for text in texts]

    assert found == [rows_of(subwords) for subwords in bert(True, False).encode(texts)]
    assert len(tokenizer._table._numbers) < 5


def test_half_a_surrogate_is_refused_and_leaves_the_table_right():
    tokenizer = bert(cased=True, strip_accents=False)
    tokenizer.encode(["Haus"])

    with pytest.raises(UnicodeError):
        tokenizer.encode(["Berlin \ud83d Haus"])

    [subwords] = tokenizer.encode(["Berlin Haus"])
    assert rows_of(subwords) == rows_of(bert(True, False).encode(["Berlin Haus"])[0])


def test_special_subwords_in_a_text_are_text():
    [subwords] = bert(cased=True, strip_accents=False).encode(["a [SEP] b[MASK]"])

    assert not {0, 2, 3, 4} & set(subwords.ids.tolist())
    assert subwords.starts.tolist()[:2] == [0, 2]


def test_arrays_are_int32_and_one_text_long():
    first, empty, second = bert(cased=True, strip_accents=False).encode(["Berlin", "", "am Haus"])

    for subwords in (first, empty, second):
        for array in (subwords.ids, subwords.starts, subwords.ends, subwords.word_starts):
            assert array.dtype == np.int32
    assert (len(empty), len(empty.word_starts)) == (0, 0)
    assert second.starts[0] == 0
    assert second.word_starts[0] == 0


def test_chinese_is_cut_right_where_chinese_characters_are_no_words(tmp_path):
    bert(True, False).save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    settings["tokenize_chinese_chars"] = False
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))

    [subwords] = Tokenizer.open(tmp_path).encode(["中文"])

    assert [VOCAB[id] for id in subwords.ids.tolist()] == ["中", "##文"]


def test_no_texts_give_no_subwords():
    assert bert(cased=True, strip_accents=False).encode([]) == []


def test_continuations_are_the_subwords_with_hashes():
    tokenizer = bert(cased=True, strip_accents=False)

    continuing = {
        tokenizer.backend.id_to_token(id) for id in np.flatnonzero(tokenizer.continuations)
    }

    assert continuing == {
        subword for subword in VOCAB if subword.startswith("##") and subword != "##"
    }
    assert tokenizer.specials == {0, 1, 2, 3, 4}
    assert tokenizer.size == len(VOCAB)


# Real data


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["bert-base-cased-vocab.txt", "bert-base-chinese-vocab.txt"])
def test_known_vocabularies_cut_real_text_as_transformers_does(realdata, tmp_path, name):
    from transformers import BertTokenizer

    file = realdata("vocab") / name
    cased = "-cased" in name
    subwords = file.read_text("utf-8").rstrip("\n").split("\n")
    theirs = BertTokenizer(
        {subword: id for id, subword in enumerate(subwords)}, do_lower_case=not cased
    )
    lines = (realdata("wiki-text-de") / "wiki_00").read_text("utf-8").split("\n")[:600]
    with (realdata("wiki-text-zh") / "wiki_00.jsonl").open(encoding="utf-8") as chinese:
        lines += json.loads(next(chinese))["text"].split("\n")

    tokenizer = Tokenizer.open(file)
    found = tokenizer.encode(lines)
    tokenizer.save(tmp_path)

    wanted = theirs(lines, add_special_tokens=False, return_offsets_mapping=True)
    assert [subwords.ids.tolist() for subwords in found] == wanted["input_ids"]
    offsets = [list(zip(p.starts.tolist(), p.ends.tolist(), strict=True)) for p in found]
    assert offsets == wanted["offset_mapping"]
    assert [p.ids.tolist() for p in Tokenizer.open(tmp_path).encode(lines)] == wanted["input_ids"]
