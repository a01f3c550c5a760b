"""Spellings that are one form are matched as one, at the places of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.matching.variants import as_one


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("台灣", "台湾"),
        ("ＡＢＣ１", "ABC1"),
        ("约翰・史密斯", "约翰•史密斯"),
        ("約翰‧史密斯", "约翰·史密斯"),
    ],
)
def test_both_spellings_are_one(first, other):
    pytest.importorskip("opencc")

    assert as_one(first, lang="zh-TW") == as_one(other, lang="zh")


def test_scripts_are_left_as_they_are_in_other_languages():
    assert as_one("学校・學校", lang="ja") == "学校·學校"


@given(st.text())
def test_no_character_moves(text):
    pytest.importorskip("opencc")

    assert len(as_one(text, lang="zh")) == len(text)
