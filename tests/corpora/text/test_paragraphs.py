"""Paragraphs and sentences of a text."""

import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Span
from corpora.segmentation.sentences import segmenter
from corpora.text.paragraphs import find_blocks, find_sentences, is_hard_wrapped, sign_of_paragraphs

WORDS = st.lists(st.sampled_from(["und", "die", "Mühle", "Wasserrades", "a", "3."]), min_size=80)
TEXTS = st.text(st.sampled_from("ab.A \t\u3000\n\n。"), max_size=80)


@given(TEXTS)
def test_paragraphs_are_lines(text):
    found = [text[start:end] for start, end in find_blocks(text, "line")]

    assert found == [line.strip() for line in text.split("\n") if line.strip()]


@given(TEXTS)
def test_paragraphs_are_what_is_between_blank_lines(text):
    found = [text[start:end] for start, end in find_blocks(text, "blank")]

    parts = re.split(r"\n[^\S\n]*(?=\n)", text)
    assert found == [part.strip() for part in parts if part.strip()]


@given(TEXTS, st.sampled_from(["line", "blank"]), st.sampled_from(["de", "zh"]))
def test_sentences_are_those_of_each_paragraph_alone(text, how, lang):
    blocks = find_blocks(text, how)

    found = find_sentences(segmenter(lang), text, blocks, has_heading=False)

    alone = [segmenter(lang).sentences(text, Span(start, end)) for start, end in blocks]
    assert found == [(span.start, span.end) for spans in alone for span in spans]


def test_a_heading_is_one_sentence():
    text = "Er kam. Er ging.\nEr kam. Er ging.\n"
    blocks = find_blocks(text, "line")

    found = find_sentences(segmenter("de"), text, blocks, has_heading=True)

    assert [text[start:end] for start, end in found] == ["Er kam. Er ging.", "Er kam.", "Er ging."]


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(40, 100))
def test_text_that_was_wrapped_is_recognized(paragraphs, width):
    text = "\n\n".join(textwrap.fill(" ".join(words), width) for words in paragraphs)

    assert is_hard_wrapped(text)


@given(st.lists(st.text("天地玄黄宇宙洪荒", min_size=200), min_size=1, max_size=3))
def test_chinese_that_was_wrapped_is_recognized(paragraphs):
    text = "\n\n".join(re.sub("(.{30})(?=.)", r"\1\n", p) for p in paragraphs)

    assert is_hard_wrapped(text)


def wrapped(paragraphs, indent, width=30):
    lines = ("\n".join(re.findall(f".{{1,{width}}}", indent + text)) for text in paragraphs)
    return "\n".join(lines)


SHORT = st.lists(st.text("天地玄黄宇宙洪荒", min_size=5, max_size=99), min_size=9, max_size=20)


@given(SHORT, st.sampled_from(["　　", "  ", "\t"]))
def test_in_wrapped_text_without_blank_lines_an_indent_begins_a_paragraph(paragraphs, indent):
    long = "天地玄黄宇宙洪荒" * 20
    text = wrapped([long, *paragraphs, long], indent)

    found = find_blocks(text, sign_of_paragraphs(text))

    surfaces = [text[start:end].replace("\n", "") for start, end in found]
    assert surfaces == [long, *paragraphs, long]


@given(TEXTS)
def test_paragraphs_by_indents_are_lines_of_those_between_blank_lines(text):
    found = [text[start:end] for start, end in find_blocks(text, "indent")]

    assert "\n".join(found).split() == text.split()
    assert all(paragraph == paragraph.strip() for paragraph in found)


def test_a_table_of_contents_above_lines_that_are_set_in_is_not_wrapped():
    contents = [f"第{n}回　兩遼王安葬白虎山 狄仁傑拒色臨清店" for n in "一二三四五六七八九"]
    text = "\n".join(contents + ["　　" + "話說當日。" * n for n in range(1, 60)])

    assert sign_of_paragraphs(text) == "line"


def test_a_quotation_that_is_set_in_does_not_make_indents_a_sign():
    prose = textwrap.fill("und die Mühle des Wasserrades " * 20, 60)
    text = "\n\n".join([prose, textwrap.indent(textwrap.fill(prose, 56), "    ")] * 4)

    assert sign_of_paragraphs(text) == "blank"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Eine Zeile",
        "Füllest wieder Busch und Tal\nStill mit Nebelglanz,\nLösest endlich auch einmal\n",
        "床前明月光，\n疑是地上霜。\n举头望明月，\n低头思故乡。\n",
        "apple\nbanana\ncherry\n",
        "\n".join(["Ein Absatz ist eine Zeile. " * n for n in (9, 3, 17, 6, 12)]),
        "\n".join(["Kurze Absätze. " * n for n in (2, 5, 1, 4, 3, 5, 2, 1)]),
    ],
    ids=["nothing", "line", "verse", "chinese verse", "list", "long lines", "short lines"],
)
def test_text_that_was_not_wrapped_is_recognized(text):
    assert not is_hard_wrapped(text)


@pytest.mark.realdata
def test_real_texts_are_recognized_before_and_after_they_are_wrapped(realdata):
    source = (realdata("wiki-text-de") / "wiki_05").read_text(encoding="utf-8")
    articles = re.findall(r"<doc [^\n]*>\n(.*?)\n</doc>", source, re.DOTALL)
    long = [article for article in articles if len(article) > 2000]

    wrapped = ["\n\n".join(map(textwrap.fill, article.split("\n\n"))) for article in long]

    assert len(long) > 50
    assert not any(map(is_hard_wrapped, articles))
    assert all(map(is_hard_wrapped, wrapped))
