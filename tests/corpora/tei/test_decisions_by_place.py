"""Decisions are found by place as they are by comparing each with all (small texts, by chance)."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Mention, Span
from corpora.tei import decisions as module
from corpora.tei.decisions import Answers, DecidedName, Decision, Decisions, Settled

TEXTS = st.text("ab", min_size=1, max_size=24)


@st.composite
def places(draw, length=24):
    start = draw(st.integers(0, length - 1))
    return Span(start, draw(st.integers(start + 1, length)))


def found_by_comparing(name, text):
    """Rank all occurrences: sides that agree (the old place wins over both), nearness, place."""
    ranked = []
    for start in range(len(text)):
        if text.startswith(name.form, start):
            end = start + len(name.form)
            before = text[max(0, start - module.CONTEXT) : start] == name.before
            after = text[end : end + module.CONTEXT] == name.after
            rank = 3 if before + after and start == name.start else before + after
            ranked.append((rank, -abs(start - name.start), start))
    rank, _, start = max(ranked, default=(0, 0, 0))
    return Span(start, start + len(name.form)) if rank else None


@patch.object(module, "CONTEXT", 2)
@given(TEXTS, st.data())
def test_a_place_is_found_as_by_looking_at_each_occurrence(text, data):
    place = data.draw(places(len(text)))
    name = DecidedName.of(text, Mention(place.start, place.end))
    edited = data.draw(TEXTS | st.just("b" + text) | st.just(text[1:]) | st.just(text + text))

    assert name.find(edited) == found_by_comparing(name, edited)


def answers(one, span):
    overlaps = span.start < one.span.end and one.span.start < span.end
    return (span.start, span.end) in one.places() or (one.is_name and overlaps)


VERDICTS = st.sampled_from(["accepted", "corrected", "rejected", "added", "withdrawn"])
TEXT = "abcdefghijklmnopqrstuvwxyz"[:24]


@given(st.lists(st.tuples(VERDICTS, places(), st.none() | places()), max_size=12), places())
def test_what_stands_and_what_answers_are_as_by_comparing_each_with_all(made, asked):
    def named(place):
        return DecidedName.of(TEXT, Mention(place.start, place.end))

    entries = tuple(
        Decision(reviewer="r", verdict=v, file="a", document="a", name=named(p), was=w and named(w))
        for v, p, w in made
    )
    expected = []
    for entry, (_, place, was) in zip(entries, made, strict=True):
        one = Settled(entry, place, was)
        expected = [old for old in expected if not old.places() & one.places()]
        if entry.verdict != "withdrawn":
            expected.append(one)

    standing, n_lost = Decisions(entries).of_document("a", "a", TEXT)

    assert (standing, n_lost) == (expected, 0)
    found = {id(one) for one in Answers(standing).on(asked)}
    assert found == {id(one) for one in standing if answers(one, asked)}
