"""Strings are found where a plain search finds them, however characters are written."""

import ahocorasick_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.matching.automaton import _MAX_CHARACTERS, Automaton

CHARACTERS = "天地玄黄\U00020000ก a."


def found(strings, text, *, finds_all):
    matches = Automaton(strings, finds_all=finds_all).find(text)
    return list(zip(*(column.tolist() for column in matches), strict=True))


def everywhere(strings, text):
    """Return every place of every string: (number of the string, start, end)."""
    return {
        (number, start, start + len(string))
        for number, string in enumerate(strings)
        for start in range(len(text))
        if text.startswith(string, start)
    }


STRINGS = st.lists(st.text(CHARACTERS, min_size=1, max_size=4), min_size=1, max_size=9, unique=True)


@given(STRINGS, st.text(CHARACTERS + "é宇", max_size=40))
def test_all_places_are_those_of_the_slow_way(strings, text):
    matches = found(strings, text, finds_all=True)

    assert len(matches) == len(set(matches))
    assert set(matches) == everywhere(strings, text)


@given(STRINGS, st.text(CHARACTERS + "é宇", max_size=40))
def test_of_those_that_overlap_the_leftmost_and_longest_is_found(strings, text):
    expected, end = [], 0
    for number, start, stop in sorted(everywhere(strings, text), key=lambda m: (m[1], -m[2])):
        if start >= end:
            expected.append((number, start, stop))
            end = stop

    assert found(strings, text, finds_all=False) == expected


@pytest.mark.parametrize("n", [127, 128, _MAX_CHARACTERS, _MAX_CHARACTERS + 1])
def test_so_many_characters_are_distinguished(n):
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + n) if not 0xD800 <= code < 0xE000]
    text = "".join(letters) + "\U0002fa1d" + letters[0]
    peer = ahocorasick_rs.AhoCorasick(letters).find_matches_as_indexes(text)

    assert found(letters, text, finds_all=False) == peer


def test_nothing_to_find_or_to_search_is_nothing_found():
    assert found([], "天地", finds_all=False) == []
    assert found(["天"], "", finds_all=True) == []
