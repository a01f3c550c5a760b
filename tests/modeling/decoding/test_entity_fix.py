"""The Entity-Fix rule, on tags."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from corpora.document import TokenSpan
from corpora.tagging import from_iob2
from modeling.data.tagset import TagSet
from modeling.decoding.tags import entity_fix
from tests.corpora.spans_of_tags import count_orphans

TAGSET = TagSet(("X", "Y", "Z"))
some_tags = arrays.arrays(
    np.int64,
    st.tuples(st.integers(1, 3), st.integers(0, 9)),
    elements=st.integers(0, len(TAGSET) - 1),
)


def codes(tags):
    return np.array([[TAGSET.tags.index(tag) for tag in tags.split()]])


def fix(tags):
    return " ".join(TAGSET.decode(entity_fix(codes(tags))[0]))


def literal(tags):
    """Fix tags by the published pseudo-code, tag after tag."""
    fixed = []
    for tag in tags:
        if tag[0] == "I" and not fixed:
            fixed.append("B" + tag[1:])
        elif tag[0] == "I" and fixed[-1][1:] != tag[1:]:
            fixed.append(fixed[-1].replace("B-", "I-"))
        else:
            fixed.append(tag)
    return tuple(fixed)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O I-X I-X", "O O O"),
        ("B-Z I-X", "B-Z I-Z"),
        ("B-Z I-X I-Y O", "B-Z I-Z I-Z O"),
        ("I-X I-X O", "B-X I-X O"),
        ("I-X I-Y", "B-X I-X"),
        ("B-X I-X O I-X B-Y I-Y", "B-X I-X O O B-Y I-Y"),
        ("", ""),
    ],
)
def test_an_inside_tag_that_goes_on_with_nothing_takes_the_label_before_it(tags, expected):
    assert fix(tags) == expected


@given(some_tags)
def test_all_words_at_once_are_the_rule_word_by_word(tags):
    fixed = entity_fix(tags)

    for row, found in zip(tags, fixed, strict=True):
        assert TAGSET.decode(found) == literal(TAGSET.decode(row))
        assert count_orphans(TAGSET.decode(found)) == 0


@given(some_tags)
def test_valid_tags_stay_as_they_are(tags):
    fixed = entity_fix(tags)

    np.testing.assert_array_equal(entity_fix(fixed), fixed)


def test_a_right_name_can_be_lost():
    """So strict scores may fall, too."""
    tags = ("B-Z", "I-X")

    fixed = TAGSET.decode(entity_fix(codes(" ".join(tags)))[0])

    assert from_iob2(tags) == [TokenSpan(start=0, end=1, label="Z")]
    assert from_iob2(fixed) == [TokenSpan(start=0, end=2, label="Z")]
