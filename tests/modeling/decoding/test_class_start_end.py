"""The rules of Class-Start-End, on probabilities of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.data.tagset import TagSet
from modeling.decoding.tags import class_start_end
from tests.corpora.spans_of_tags import count_orphans

TAGSET = TagSet(("X", "Y"))
N, X, Y = np.eye(3)  # no name, and two labels
TORN = (0.4, 0.35, 0.25)  # no name is the most probable class, but less than both labels


def decode(classes, starts, ends, **options):
    sentence = (np.array(part, float) for part in (classes, starts, ends))
    return " ".join(TAGSET.decode(class_start_end(*sentence, **options)))


def literal(classes, starts, ends):
    """Decode by the published pseudo-code: between SOS and EOS, which neither begin nor end."""
    n = len(starts) + 2
    s, e = [0.0, *starts, 0.0], [0.0, *ends, 0.0]
    c = [np.zeros(3), *classes, np.zeros(3)]
    y, open, last_end = ["O"] * n, None, 0
    for i in range(n):
        close = None
        if s[i] > 0.5 and open is None:
            open = i
        if e[i] > 0.5:
            if open is None:
                open = last_end + 1 + int(np.argmax(s[last_end + 1 : i + 1]))
            close = i
        if open is not None and close is None and i + 1 < n and s[i + 1] > 0.5:
            close = open + int(np.argmax(e[open : i + 1]))
        if open is not None and close is not None:
            k = int(np.argmax(sum(c[open : close + 1])))
            if k:
                y[open] = f"B-{TAGSET.labels[k - 1]}"
                y[open + 1 : close + 1] = [f"I-{TAGSET.labels[k - 1]}"] * (close - open)
            open, last_end = None, i
    return " ".join(y[1:-1])


probability = st.integers(0, 100).map(lambda n: n / 100)


@st.composite
def sentences(draw):
    n = draw(st.integers(0, 8))
    drawn = st.lists(st.lists(st.integers(1, 50), min_size=3, max_size=3), min_size=n, max_size=n)
    classes = [np.array(row) / sum(row) for row in draw(drawn)]
    flags = st.lists(probability, min_size=n, max_size=n)
    return np.array(classes).reshape(n, 3), np.array(draw(flags)), np.array(draw(flags))


@pytest.mark.parametrize(
    ("classes", "starts", "ends", "expected"),
    [
        ([X, X, N, Y], [0.9, 0, 0, 0.9], [0, 0.9, 0, 0.9], "B-X I-X O B-Y"),
        # an end without a start: opened at the best start
        ([N, X, X], [0.1, 0.4, 0.2], [0, 0, 0.9], "O B-X I-X"),
        # but not before the end of the last name
        ([X, X, X], [0.9, 0.1, 0.2], [0.9, 0, 0.9], "B-X O B-X"),
        # a start while a name is open: closed at its best end
        ([X, X, N, Y], [0.9, 0, 0, 0.9], [0.1, 0.4, 0.2, 0.9], "B-X I-X O B-Y"),
        # a second end, without a start, is that of a name of its own
        ([X, X, N], [0.9, 0, 0], [0.9, 0.8, 0.3], "B-X B-X O"),
        # a start without any end: closed at the best one
        ([N, X, X, X], [0, 0.9, 0, 0], [0, 0.1, 0.3, 0.2], "O B-X I-X O"),
        # the label of most of the words
        ([X, Y, Y], [0.9, 0, 0], [0, 0, 0.9], "B-Y I-Y I-Y"),
        ([N, N, X], [0.9, 0, 0], [0, 0, 0.9], "O O O"),
        ([TORN], [0.9], [0.9], "B-X"),
        ([], [], [], ""),
    ],
)
def test_names_are_those_of_the_rules(classes, starts, ends, expected):
    classes = np.array(classes, float).reshape(-1, 3)

    assert decode(classes, starts, ends) == expected


@pytest.mark.parametrize(
    ("classes", "starts", "ends"),
    [([TORN], [0.9], [0.9]), ([N, X], [0, 0.9], [0, 0.3])],
    ids=["O over torn labels", "no end"],
)
def test_the_published_rules_find_less(classes, starts, ends):
    assert decode(classes, starts, ends) != "O" + " O" * (len(starts) - 1)
    assert decode(classes, starts, ends, as_published=True) == "O" + " O" * (len(starts) - 1)


@given(sentences())
def test_published_rules_are_the_published_algorithm(sentence):
    assert decode(*sentence, as_published=True) == literal(*sentence)


@given(sentences(), st.booleans())
def test_tags_are_valid(sentence, as_published):
    tags = decode(*sentence, as_published=as_published).split()

    assert len(tags) == len(sentence[1])
    assert count_orphans(tags) == 0
