"""Scores of links, on cases worked out by hand from HIPE-2022's definition."""

import pytest

from corpora.errors import CorpusError
from modeling.link.scores import LinkedSpan, compare, count_right, describe, measure
from tests.modeling.link.samples import letter

GOLD = [LinkedSpan(0, 2, "Q1"), LinkedSpan(5, 6, "Q2"), LinkedSpan(8, 11, "NIL")]


@pytest.mark.parametrize(
    ("predicted", "strict", "fuzzy"),
    [
        (GOLD, 3, 3),
        ([LinkedSpan(0, 2, "q1")], 1, 1),  # upper and lower case of ids do not count
        ([LinkedSpan(0, 1, "Q1")], 0, 1),  # overlaps, and means the same
        ([LinkedSpan(0, 1, "Q3")], 0, 0),
        ([LinkedSpan(0, 2, "Q3")], 0, 0),
        ([LinkedSpan(3, 5, "Q2")], 0, 0),  # touches, and does not overlap
        ([LinkedSpan(0, 1, "Q1"), LinkedSpan(1, 2, "Q1")], 0, 1),  # a gold name counts once
        ([LinkedSpan(0, 2, "Q1"), LinkedSpan(0, 1, "Q1")], 1, 1),
        (
            [LinkedSpan(0, 2, "Q3"), LinkedSpan(1, 2, "Q1")],
            0,
            0,
        ),  # taken by the one with the same ends
        ([LinkedSpan(8, 9, "NIL"), LinkedSpan(20, 21, "NIL")], 0, 1),  # NIL is a link as others are
        ([LinkedSpan(1, 6, "Q2")], 0, 0),  # the first name that it overlaps decides, and that is Q1
        ([], 0, 0),
    ],
)
def test_links_are_right_as_hipe_defines_it(predicted, strict, fuzzy):
    assert count_right(GOLD, predicted, fuzzy=False) == strict
    assert count_right(GOLD, predicted, fuzzy=True) == fuzzy


def test_links_are_found_wherever_they_stand_in_a_long_text():
    gold = [LinkedSpan(n, n + 90, f"Q{n}") for n in range(0, 9_000, 100)]
    predicted = [LinkedSpan(one.start + 40, one.end, one.entity) for one in gold]

    assert count_right(gold, gold, fuzzy=False) == len(gold)
    assert count_right(gold, predicted, fuzzy=True) == len(gold)
    assert count_right(gold, predicted, fuzzy=False) == 0


def test_precision_and_recall_are_over_all_documents():
    text = "Marc und Klee und Anna"
    gold = [letter("a", text, ("Marc", "Q1"), ("Klee", "Q2"), ("Anna", None)), letter("b", text)]
    ours = [letter("a", text, ("Marc", "Q1"), ("Klee", None)), letter("b", text, ("Anna", "Q3"))]

    compared = compare(gold, ours, nil=False)
    with_nil = compare(gold, ours, nil=True)

    assert compared.counts["strict"].sum(axis=0).tolist() == [1, 2, 2]
    assert with_nil.counts["strict"].sum(axis=0).tolist() == [1, 3, 3]
    table = list(describe(measure(compared, replicates=10)))
    assert table[2].startswith("| strict | 0.500 |")
    assert table[2].endswith("| 0.500 | 0.500 | 1 | 2 | 2 |")


def test_other_texts_or_documents_are_refused():
    with pytest.raises(CorpusError, match="texts differ"):
        compare([letter("a", "x")], [letter("a", "y")], nil=False)
    with pytest.raises(CorpusError, match="b: in one of the two"):
        compare([letter("a", "x")], [letter("a", "x"), letter("b", "x")], nil=False)
    with pytest.raises(CorpusError, match="a: is the id of several documents"):
        compare([letter("a", "x"), letter("a", "x")], [letter("a", "x")], nil=False)
    with pytest.raises(CorpusError, match="a: is the id of several documents"):
        compare([letter("a", "x")], [letter("a", "x"), letter("a", "x")], nil=False)
