"""Forms that are a title in another case or number, and forms that are derived from one."""

import numpy as np
import pytest

from corpora.matching.inflection import changes_of, forms_with_rare_endings, names_in_capitals

TITLES = [f"Velm{letter}ia" for letter in "abcdefghijklmnopqrs"]
ONE_MORE = "Korvia"


def refused(pairs):
    """Return the forms of pairs of form and title that count as derived."""
    numbers = {title: number for number, title in enumerate(dict.fromkeys(t for _, t in pairs))}
    changes = changes_of((n, *pair) for n, pair in enumerate(pairs))
    entity_of = np.array([numbers[title] for _, title in pairs])
    return [pairs[n][0] for n in forms_with_rare_endings(changes, entity_of).tolist()]


def test_short_endings_are_inflections():
    assert refused([("Velmaos", "Velmaia"), ("Korvens", "Korvia")]) == ["Korvens"]


@pytest.mark.parametrize(("n_titles", "is_usual"), [(18, False), (19, True)])
def test_long_endings_are_inflections_if_links_show_them_for_many_titles(n_titles, is_usual):
    shown = [(title.replace("ia", "ensis"), title) for title in TITLES[:n_titles]]
    again = [(form.upper(), title) for form, title in shown]  # titles count, not forms

    assert ("Korvensis" not in refused([*shown, *again, ("Korvensis", ONE_MORE)])) == is_usual


@pytest.mark.parametrize(("n_titles", "is_usual"), [(1, False), (2, True)])
def test_what_follows_a_whole_title_needs_few_titles(n_titles, is_usual):
    shown = [(f"{title}nus", title) for title in TITLES[:n_titles]]

    assert ("Korvianus" not in refused([*shown, ("Korvianus", ONE_MORE)])) == is_usual
    assert refused([("Korvians", ONE_MORE)]) == []


def test_accents_make_no_other_ending():
    assert refused([("Πελοποννήσου", "Πελοπόννησος"), ("σωματιδίων", "Σωματίδιο")]) == []


def test_titles_stand_with_a_capital_if_no_link_shows_them_small():
    entity_of, are_small = np.array([0, 1, 1, 2]), np.array([False, False, True, False])

    names = names_in_capitals(entity_of, np.array([2.0, 9, 1, 1]), are_small=are_small)

    assert names.tolist() == [0]
