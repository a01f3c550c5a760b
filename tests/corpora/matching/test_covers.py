"""The choice among matches that overlap is the best of all choices."""

from itertools import chain, combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpora.matching.form_table import Cover

SPANS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 5)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=8,
    unique=True,
)


LENGTH = 17


def cover(spans, *, piece=LENGTH):
    """Return the spans that are chosen where matches are added a piece of the text at a time.

    Pieces come from the last to the first; a match belongs to the piece in which it begins.
    """
    columns = np.array([(*span, number) for number, span in enumerate(spans)], np.int64)
    starts, ends, forms = columns.reshape(-1, 3).T
    cover = Cover(LENGTH)
    for begin in reversed(range(0, LENGTH, piece)):
        here = (starts >= begin) & (starts < begin + piece)
        cover.add(starts[here], ends[here], forms[here], limit=begin + 5)
    starts, ends, forms = (column.tolist() for column in cover.chosen())
    assert [spans[number] for number in forms] == list(zip(starts, ends, strict=True))
    return [spans[number] for number in forms]


def disjoint_choices(spans):
    every = chain.from_iterable(combinations(sorted(spans), n) for n in range(len(spans) + 1))
    return (choice for choice in every if all(a[1] <= b[0] for a, b in pairwise(choice)))


@given(SPANS)
def test_squared_lengths_have_the_largest_sum_and_ties_go_left(spans):
    def rank(choice):
        gain = sum((end - start) ** 2 for start, end in choice)
        return -gain, [(start, -end) for start, end in choice]

    assert cover(spans) == list(min(disjoint_choices(spans), key=rank))


@given(SPANS, st.integers(1, LENGTH))
def test_pieces_change_no_choice(spans, piece):
    assert cover(spans, piece=piece) == cover(spans)


def test_the_longer_of_two_matches_wins_over_the_leftmost():
    assert cover([(0, 2), (1, 4)]) == [(1, 4)]
