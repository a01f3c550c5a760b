from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.data.rng import Rng
from modeling.data.texts import ExamplePart, whole


def rngs(n):
    return [Rng.of(np.array([number], np.uint64), seed=1, epochs=0) for number in range(n)]


@given(n=st.integers(1, 40), room=st.integers(1, 45), seed=st.integers(0, 200))
def test_a_window_has_whole_words_and_as_many_as_fit(samples, n, room, seed):
    row = samples.row(f"a#{seed}", n)
    borders = [*row["word_starts"], n]

    [part] = whole(samples.example(row), room, rngs(1)[0]).parts

    if n <= room:
        assert (part.start, part.end) == (0, n)
        return
    fitting = [border for border in borders if part.start < border <= part.start + room]
    assert part.start in borders
    assert part.end == (max(fitting) if fitting else part.start + room)


@pytest.mark.parametrize("last", [5, 6])  # the first word from which all the rest fits
def test_each_window_is_as_likely(samples, last):
    row = samples.row("a#0", 10) | {"word_starts": [0, 2, 3, last, 7, 9]}
    example = samples.example(row)

    starts = Counter(whole(example, 5, rng).parts[0].start for rng in rngs(2000))

    assert sorted(starts) == [0, 2, 3, last]
    expected = 2000 / 4
    assert sum((n - expected) ** 2 / expected for n in starts.values()) < 3 + 5 * np.sqrt(6)


def test_each_subword_is_in_some_window(samples):
    row = samples.row("a#0", 30)
    example = samples.example(row)

    parts = [whole(example, 8, rng).parts[0] for rng in rngs(500)]

    assert {place for part in parts for place in range(part.start, part.end)} == set(range(30))


def test_a_word_that_is_longer_than_the_room_is_cut_and_counted(samples):
    row = samples.row("a#0", 9) | {"word_starts": [0]}

    view = whole(samples.example(row), 4, rngs(1)[0])

    assert [part[1:] for part in view.parts] == [(0, 4)]
    assert view.count()["words.cut"] == view.count()["examples.cut"] == 1


@given(n=st.integers(2, 40), seed=st.integers(0, 200), data=st.data())
def test_words_and_mentions_of_a_part_are_those_wholly_inside(samples, n, seed, data):
    row = samples.row(f"a#{seed}", n)
    example = samples.example(row)
    start, end = sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True)))

    part = ExamplePart(example, start, end)

    mentions = zip(row["entity_ids"], row["entity_starts"], row["entity_ends"], strict=True)
    inside = [(id, s - start, e - start) for id, s, e in mentions if start <= s and e <= end]
    assert part.word_starts.tolist() == [w - start for w in row["word_starts"] if start <= w < end]
    assert list(zip(*(column.tolist() for column in part.mentions), strict=True)) == inside


def test_what_a_window_leaves_out_is_counted(samples):
    row = samples.row("a#0", 40)
    example = samples.example(row)

    view = whole(example, 10, rngs(1)[0])

    [part] = view.parts
    assert view.count() == {
        "examples.cut": 1,
        "subwords.left_out": 40 - part.size,
        "mentions.left_out": len(row["entity_ids"]) - len(part.mentions[0]),
    }


def test_nothing_is_counted_where_all_is_shown(samples):
    view = whole(samples.example(samples.row("a#0", 40)), 40, rngs(1)[0])

    assert not view.count()


@pytest.mark.parametrize("word_starts", [[], [3]])
def test_subwords_before_the_first_word_are_a_word(samples, word_starts):
    row = samples.row("a#0", 6) | {"word_starts": word_starts}

    starts = {whole(samples.example(row), 3, rng).parts[0].start for rng in rngs(50)}

    assert starts == {0, *word_starts}
