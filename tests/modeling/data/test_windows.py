from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from modeling.data.sentences import SentenceWindows

SENTENCES = st.lists(st.lists(st.integers(1, 9), max_size=40), min_size=1, max_size=6)
"""Of each sentence the subwords of its words."""


@st.composite
def rooms(draw):
    """Draw the room of a window, and an overlap that leaves half of it."""
    room = draw(st.integers(1, 30))
    return room, draw(st.integers(0, room // 2))


def borders(sentences):
    """Return starts and ends of sentences, borders of words, and first words of sentences."""
    words = np.cumsum([0, *(n for sentence in sentences for n in sentence)])
    begins = np.cumsum([0, *map(len, sentences)])
    return words[begins[:-1]], words[begins[1:]], words, begins


def windows_of(windows, sentence):
    own = range(windows.begins[sentence], windows.begins[sentence + 1])
    return [(windows.starts[window], windows.ends[window]) for window in own]


@given(SENTENCES, rooms())
def test_windows_cover_a_sentence_from_its_start_to_its_end(sentences, limits):
    starts, ends, _, _ = borders(sentences)

    windows = SentenceWindows.cut(starts, ends, room=limits[0], overlap=limits[1])

    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        own = windows_of(windows, number)
        assert own[0][0] == start
        assert own[-1][1] == end
        assert all(left[1] - right[0] >= limits[1] for left, right in pairwise(own))


@given(SENTENCES, rooms())
def test_windows_of_a_sentence_have_one_size_that_fits(sentences, limits):
    starts, ends, _, _ = borders(sentences)

    windows = SentenceWindows.cut(starts, ends, room=limits[0], overlap=limits[1])

    for number in range(len(sentences)):
        sizes = {end - start for start, end in windows_of(windows, number)}
        assert len(sizes) == 1
        assert sizes.pop() <= limits[0]


@given(SENTENCES, rooms())
def test_there_are_no_more_windows_than_are_needed(sentences, limits):
    starts, ends, _, _ = borders(sentences)
    room, overlap = limits

    windows = SentenceWindows.cut(starts, ends, room=room, overlap=overlap)

    for number, length in enumerate(ends - starts):
        n = len(windows_of(windows, number))
        assert n == 1 or (n - 1) * (room - overlap) + overlap < length


@given(SENTENCES, rooms())
def test_a_run_of_subwords_one_longer_than_the_overlap_lies_in_one_window(sentences, limits):
    starts, ends, _, _ = borders(sentences)
    size = limits[1] + 1

    windows = SentenceWindows.cut(starts, ends, room=limits[0], overlap=limits[1])

    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        own = windows_of(windows, number)
        for run in range(start, end - size + 1):
            assert any(left <= run and run + size <= right for left, right in own)


@given(SENTENCES, rooms(), st.booleans(), st.one_of(st.none(), st.integers(1, 12)))
def test_a_word_is_read_where_it_is_furthest_from_the_edges(sentences, limits, context, most):
    starts, ends, words, begins = borders(sentences)
    windows = SentenceWindows.cut(starts, ends, room=limits[0], overlap=limits[1])
    if context:
        document = (np.zeros_like(starts), np.full_like(ends, words[-1]))
        windows = windows.with_context(*document, room=limits[0], most=most)

    found = windows.of_words(begins, words[:-1], words[1:])

    expected = []
    for number in range(len(sentences)):
        own = list(range(windows.begins[number], windows.begins[number + 1]))
        for start, end in pairwise(words):
            if starts[number] <= start < ends[number]:
                holding = [w for w in own if windows.starts[w] <= start < windows.ends[w]]
                expected.append(
                    max(
                        holding, key=lambda w: min(start - windows.starts[w], windows.ends[w] - end)
                    )
                )
    assert found.tolist() == expected


@given(SENTENCES, rooms())
def test_only_a_word_that_no_window_holds_is_cut(sentences, limits):
    starts, ends, words, begins = borders(sentences)
    windows = SentenceWindows.cut(starts, ends, room=limits[0], overlap=limits[1])

    found = windows.of_words(begins, words[:-1], words[1:])

    of = np.repeat(np.arange(len(sentences)), np.diff(begins))
    for word, window in enumerate(found):
        start, end = words[word], words[word + 1]
        held = any(left <= start and end <= right for left, right in windows_of(windows, of[word]))
        assert held == (end <= windows.ends[window])


def c4(left, right, size, room, most):
    """Return the context of one sentence by the published pseudo-code."""
    budget = room - size if most is None else min(room - size, most)
    half = budget // 2
    if left < right:
        n_left = min(left, half)
        return n_left, min(right, budget - n_left)
    n_right = min(right, half)
    return min(left, budget - n_right), n_right


@given(SENTENCES, rooms(), st.one_of(st.none(), st.integers(1, 12)))
def test_context_follows_the_pseudo_code(sentences, limits, most):
    starts, ends, words, _ = borders(sentences)
    plain = SentenceWindows.cut(starts, ends, room=limits[0], overlap=limits[1])

    windows = plain.with_context(
        np.zeros_like(starts), np.full_like(ends, words[-1]), room=limits[0], most=most
    )

    for window, (start, end) in enumerate(zip(plain.starts, plain.ends, strict=True)):
        left, right = c4(start, words[-1] - end, end - start, limits[0], most)
        assert (windows.starts[window], windows.ends[window]) == (start - left, end + right)


def test_context_stays_in_the_document():
    starts, ends = np.array([0, 4, 8]), np.array([4, 8, 12])
    plain = SentenceWindows.cut(starts, ends, room=100, overlap=0)

    windows = plain.with_context(np.array([0, 0, 8]), np.array([8, 8, 12]), room=100)

    assert windows.starts.tolist() == [0, 0, 8]
    assert windows.ends.tolist() == [8, 8, 12]


def test_no_sentence_has_no_window():
    nothing = np.zeros(0, np.int64)

    windows = SentenceWindows.cut(nothing, nothing, room=10, overlap=5)

    assert windows.begins.tolist() == [0]
    assert windows.of_words(np.zeros(1, np.int64), nothing, nothing).tolist() == []
