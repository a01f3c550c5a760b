"""Words of Chinese examples, as jieba cuts them."""

import pytest

from corpora.segmentation.chinese_words import inner_characters
from tests.corpora.examples.small_examples import document, make

pytest.importorskip("jieba")


def test_a_chinese_word_of_several_characters_begins_once():
    text = "中国 abc 中中国 d"

    by_character, by_word = (
        make(document(text), words=words).examples.column("word_starts").to_pylist()
        for words in ("tokenizer", "jieba")
    )

    assert by_character == [[0, 1, 2, 3, 4, 5, 6]]
    assert by_word == [[0, 2, 3, 4, 6]]


def test_the_subwords_are_the_same_whatever_the_words():
    text = "我来到北京清华大学 café."

    examples = [make(document(text), words=words).examples for words in ("tokenizer", "jieba")]

    assert examples[0].column("input_ids") == examples[1].column("input_ids")


def test_other_scripts_and_single_characters_have_no_inner_characters():
    assert inner_characters("Jena 1806, ab") == []
    assert inner_characters("我来到北京清华大学") == [2, 4, 6, 7, 8]
