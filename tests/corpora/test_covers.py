"""The choice among matches that overlap is the best of all choices."""

from itertools import chain, combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpora.covers import longest_cover

SPANS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 5)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=8,
    unique=True,
)


def cover(spans):
    columns = np.array(spans, np.int64).reshape(-1, 2)
    return [spans[index] for index in longest_cover(columns[:, 0], columns[:, 1]).tolist()]


def disjoint_choices(spans):
    every = chain.from_iterable(combinations(sorted(spans), n) for n in range(len(spans) + 1))
    return (choice for choice in every if all(a[1] <= b[0] for a, b in pairwise(choice)))


@given(SPANS)
def test_squared_lengths_have_the_largest_sum_and_ties_go_left(spans):
    def rank(choice):
        gain = sum((end - start) ** 2 for start, end in choice)
        return -gain, [(start, -end) for start, end in choice]

    assert cover(spans) == list(min(disjoint_choices(spans), key=rank))


def test_the_longer_of_two_matches_wins_over_the_leftmost():
    assert cover([(0, 2), (1, 4)]) == [(1, 4)]
