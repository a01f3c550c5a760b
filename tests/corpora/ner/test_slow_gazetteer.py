from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Sentence
from corpora.ner.gazetteer import LEVELS
from corpora.tagging import Score
from tests.corpora.ner.slow_gazetteer import Match, Matcher, Name, learn_names, score_names

FORMS = st.dictionaries(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple), st.integers(), max_size=8
)
TOKENS = st.lists(st.sampled_from("abcd"), max_size=12).map(tuple)


def sentence(text):
    """Read a text such as ``Hannah/B-PER Arendt/I-PER schrieb`` as a sentence."""
    pairs = [word.partition("/") for word in text.split()]
    return Sentence(
        id="1",
        document_id="1",
        split="train",
        tokens=tuple(token for token, _, _ in pairs),
        tags=tuple(tag or "O" for _, _, tag in pairs),
    )


@given(FORMS, TOKENS)
def test_every_match_is_found(entries, tokens):
    expected = [
        Match(start, end, entries[tokens[start:end]])
        for start in range(len(tokens))
        for end in range(len(tokens), start, -1)
        if tokens[start:end] in entries
    ]

    assert list(Matcher(entries).find_all(tokens)) == expected


@given(FORMS, TOKENS)
def test_leftmost_longest_equals_walking_from_left_to_right(entries, tokens):
    expected, start = [], 0
    while start < len(tokens):
        ends = [end for end in range(start + 1, len(tokens) + 1) if tokens[start:end] in entries]
        if ends:
            expected.append(Match(start, ends[-1], entries[tokens[start : ends[-1]]]))
        start = ends[-1] if ends else start + 1

    assert Matcher(entries).find(tokens) == expected


def test_the_longest_wins_even_if_a_later_one_is_lost():
    matcher = Matcher({("a", "b"): 1, ("b", "c", "d"): 2, ("a",): 3})

    assert matcher.find(("a", "b", "c", "d")) == [Match(0, 2, 1)]


def test_empty_form_matches_nothing():
    assert Matcher({(): 1}).find(("a",)) == []


def test_level_is_the_ratio_of_occurrences_that_are_mentions():
    train = [sentence("Essen/B-LOC liegt"), sentence("Essen und Essen am Essen")]
    forms = {("Essen",): Counter({"LOC": 1})}

    assert learn_names(forms, train).find(("Essen",))[0].value == Name("LOC", LEVELS // 4)


def test_occurrence_inside_a_longer_mention_counts_against_a_form():
    train = [sentence("Wien/B-LOC"), sentence("Neue/B-ORG Wien/I-ORG Presse/I-ORG")]
    forms = {("Wien",): Counter({"LOC": 1}), ("Neue", "Wien", "Presse"): Counter({"ORG": 1})}

    assert learn_names(forms, train).find(("Wien",))[0].value.level == LEVELS // 2


def test_label_is_the_most_frequent_and_ties_go_by_name():
    forms = {("a",): Counter({"X": 1, "Y": 2}), ("b",): Counter({"Y": 1, "X": 1})}

    names = learn_names(forms, [])

    assert [match.value.label for match in names.find(("a", "b"))] == ["Y", "X"]


def test_names_below_the_level_leave_room_for_others():
    names = Matcher({("a", "b"): Name("X", 2), ("b",): Name("Y", 20)})

    scores = score_names(names, [sentence("a b/B-Y")])

    assert scores[2] == Score(correct=0, predicted=1, gold=1)
    assert scores[3] == Score(correct=1, predicted=1, gold=1)


def test_score_of_nothing_is_zero():
    score = Score(correct=0, predicted=0, gold=0)

    assert (score.precision, score.recall, score.f1) == (0.0, 0.0, 0.0)
