"""Line ends and characters that are no text: changed as promised, and counted."""

import unicodedata
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from corpora.text.characters import clean, normalize, read_lines, with_line_feeds

CHUNKS = st.lists(st.text(st.sampled_from("a\r\n\u2028\x85")))
ANY = st.text(st.characters(codec=None, exclude_characters="\r"))


@given(CHUNKS)
def test_line_ends_do_not_depend_on_how_a_text_is_cut(chunks):
    counters = Counter()

    found = "".join(with_line_feeds(chunks, counters))

    text = "".join(chunks)
    assert found == text.replace("\r\n", "\n").replace("\r", "\n")
    assert counters["line_ends.crlf"] == text.count("\r\n")
    assert counters["line_ends.cr"] + counters["line_ends.crlf"] == text.count("\r")


@given(ANY)
def test_what_is_no_text_is_replaced_and_counted_and_nothing_else(text):
    counters = Counter()

    found = clean(text, counters)

    kinds = {"Cc": " ", "Cs": "\ufffd"}
    categories = [unicodedata.category(c) if c not in "\n\t" else "Zs" for c in text]
    assert found == "".join(kinds.get(k, c) for c, k in zip(text, categories, strict=True))
    assert counters["characters.control"] == categories.count("Cc")
    assert counters["characters.surrogate"] == categories.count("Cs")
    assert counters["characters.private_use"] == categories.count("Co")


def test_control_characters_are_counted_by_kind():
    counters = Counter()

    clean("a\0b\0c\x85d\te\n", counters)

    assert counters == {
        "characters.control": 3,
        "characters.control/U+0000": 2,
        "characters.control/U+0085": 1,
    }


@given(st.lists(st.text(st.sampled_from("ab\n\u2028"))))
def test_lines_do_not_depend_on_how_a_text_is_cut(chunks):
    lines = "".join(chunks).split("\n")

    found = list(read_lines(chunks, max_characters=100))

    assert found == (lines if lines[-1] else lines[:-1])


@given(st.lists(st.text(st.sampled_from("ab\n"))))
def test_a_line_that_is_too_long_is_none(chunks):
    lines = read_lines(chunks, max_characters=100)
    short = [line if len(line) <= 3 else None for line in lines]

    assert list(read_lines(chunks, max_characters=3)) == short


@given(st.text(), st.sampled_from(["none", "width", "nfkc"]))
def test_normalization_goes_character_by_character_and_is_counted(text, how):
    counters = Counter()

    found = normalize(text, how, counters)

    assert len(found) == len(text)
    changed = [(old, new) for old, new in zip(text, found, strict=True) if old != new]
    assert counters["characters.normalized"] == len(changed)
    for old, new in changed:
        assert new == unicodedata.normalize("NFKC", old)
        assert how == "nfkc" or (new.isascii() and new.isalnum())
    left = [c for c in text if len(unicodedata.normalize("NFKC", c)) > 1]
    assert counters["characters.not_normalized"] == (len(left) if how == "nfkc" else 0)


def test_width_leaves_chinese_punctuation():
    assert normalize("１９９８年，ＡＢ股！ｋ", "width", Counter()) == "1998年，AB股！k"
    assert normalize("１９９８年，㈱！", "nfkc", Counter()) == "1998年,㈱!"
