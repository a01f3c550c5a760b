"""Scores of the news benchmark."""

from collections import Counter

from benchmarks.news import Score


def test_a_page_of_which_nothing_is_found_has_a_score():
    assert str(Score().add(Counter(), Counter("ab"))) == "P 0.000  R 0.000  F1 0.000"


def test_a_score_is_precision_recall_and_their_mean():
    assert str(Score().add(Counter("abc"), Counter("abxyz"))) == "P 0.667  R 0.400  F1 0.500"
