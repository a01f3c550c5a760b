"""Names that touch a place, found without looking at all of them."""

from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Span, SpanIndex

PLACES = st.tuples(st.integers(0, 200), st.integers(1, 150)).map(lambda p: Span(p[0], sum(p)))


@given(st.lists(PLACES), st.lists(st.integers(0, 20)), PLACES)
def test_those_that_touch_a_place_are_those_that_share_characters_with_it(spans, removed, place):
    index = SpanIndex()
    for span in spans:
        index.add(span.start, span.end, span)
    for number in removed:
        if number < len(spans):
            gone = spans.pop(number)
            index.remove(gone.start, gone.end, gone)

    found = index.touching(place.start, place.end)

    assert sorted(found) == sorted(s for s in spans if s.start < place.end and place.start < s.end)


@given(st.lists(PLACES), PLACES)
def test_what_was_filed_in_reading_order_is_found_in_it(spans, place):
    spans.sort(key=lambda span: (span.start, -span.end))
    index = SpanIndex()
    for span in spans:
        index.add(span.start, span.end, span)

    found = index.touching(place.start, place.end)

    assert found == sorted(found, key=lambda span: (span.start, -span.end))
