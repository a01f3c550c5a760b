from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import TokenSpan
from corpora.errors import InvalidDocumentError
from corpora.tagging import Score, from_iob2, to_iob2
from tests.corpora.spans_of_tags import count_orphans, join_adjacent

TAGS = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), min_size=1, max_size=9)


@st.composite
def token_spans(draw, n_tokens):
    ends = sorted(draw(st.sets(st.integers(0, n_tokens), max_size=n_tokens)))
    return [
        span(start, end, draw(st.sampled_from(["PER", "LOC", "a-b"])))
        for start, end in pairwise(ends)
        if draw(st.booleans())
    ]


def span(start, end, label):
    return TokenSpan(start=start, end=end, label=label)


@given(token_spans(n_tokens=12))
def test_iob2_round_trip(spans):
    assert from_iob2(to_iob2(spans, 12)) == spans


@given(token_spans(n_tokens=12))
def test_tags_of_spans_read_alike_strictly_and_leniently(spans):
    tags = to_iob2(spans, 12)

    assert from_iob2(tags, strict=False) == spans
    assert count_orphans(tags) == 0


@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=5))
def test_strict_f1_equals_seqeval(pairs):
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    gold, predicted = zip(
        *((g[: min(len(g), len(p))], p[: min(len(g), len(p))]) for g, p in pairs), strict=True
    )
    spans = [
        [{(i, s.start, s.end, s.label) for i, tags in enumerate(side) for s in from_iob2(tags)}]
        for side in (gold, predicted)
    ]
    (g,), (p,) = spans

    ours = Score(correct=len(g & p), predicted=len(p), gold=len(g)).f1

    if g:  # without gold spans seqeval divides by zero
        expected = f1_score(
            list(gold), list(predicted), mode="strict", scheme=IOB2, zero_division=0
        )
        assert ours == pytest.approx(expected)


def test_touching_spans_of_one_class_stay_two():
    assert from_iob2(["B-PER", "B-PER", "I-PER"]) == [span(0, 1, "PER"), span(1, 3, "PER")]


def test_touching_spans_of_one_class_can_be_joined():
    spans = [span(0, 1, "PER"), span(1, 3, "PER"), span(3, 4, "LOC"), span(5, 6, "LOC")]

    assert join_adjacent(spans) == [span(0, 3, "PER"), span(3, 4, "LOC"), span(5, 6, "LOC")]


@pytest.mark.parametrize(
    ("tags", "strict", "lenient"),
    [
        (["O", "I-PER", "I-PER"], [], [span(1, 3, "PER")]),
        (["B-PER", "I-LOC"], [span(0, 1, "PER")], [span(0, 1, "PER"), span(1, 2, "LOC")]),
        (["I-PER", "B-PER"], [span(1, 2, "PER")], [span(0, 1, "PER"), span(1, 2, "PER")]),
    ],
)
def test_stray_inside_tag_opens_a_span_only_leniently(tags, strict, lenient):
    assert from_iob2(tags) == strict
    assert from_iob2(tags, strict=False) == lenient


def test_stray_inside_tags_are_counted():
    assert count_orphans(["I-PER", "I-PER", "B-LOC", "I-LOC", "I-PER", "O", "I-LOC"]) == 3


@pytest.mark.parametrize(
    "spans",
    [
        [span(0, 2, "PER"), span(1, 3, "PER")],
        [span(1, 2, "PER"), span(0, 3, "LOC")],
        [span(2, 4, "PER")],
        [span(-1, 1, "PER")],
        [span(1, 1, "PER")],
        [span(0, 1, "")],
        [span(0, 1, "two words")],
    ],
)
def test_spans_that_cannot_be_written_are_refused(spans):
    with pytest.raises(InvalidDocumentError):
        to_iob2(spans, 3)


@pytest.mark.parametrize("tag", ["", "PER", "B-", "I-", "E-PER", "B PER"])
def test_what_is_no_tag_is_refused(tag):
    with pytest.raises(InvalidDocumentError, match="tag 1"):
        from_iob2(["O", tag])
