"""Plain text to records: where they begin, and that no character is lost."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Rejected
from corpora.text.records import RecordSource, read_whole, split_at, split_at_blanks

PLACE = RecordSource("f.txt")
SHORT = RecordSource("f.txt", max_characters=5)
LINES = st.lists(st.sampled_from(["", " ", "a", "bb ", "# c", "# d"]))
HEADING = re.compile("^#")


def texts(records):
    return {r.id: r.text for r in records}


def test_a_line_in_which_the_pattern_is_found_begins_a_record():
    found = list(split_at(["by me", "# c", "x", "", "# d"], HEADING, PLACE, counters=Counter()))

    assert texts(found) == {"f.txt#0": "by me", "f.txt#1": "# c\nx\n", "f.txt#2": "# d"}
    assert [r.title for r in found] == [None, "# c", "# d"]


@given(LINES)
def test_records_that_begin_at_lines_are_the_whole_text(lines):
    found = list(split_at(lines, HEADING, PLACE, counters=Counter()))

    assert "\n".join(r.text for r in found) == "\n".join(lines)


@given(LINES, st.integers(1, 3))
def test_records_between_blank_lines_are_the_text_without_those(lines, n_blank):
    found = [r.text for r in split_at_blanks(lines, n_blank, PLACE)]

    text = re.sub(r"\A(?:[^\S\n]*\n)+|(?:\n[^\S\n]*)+\Z", "", "\n".join(lines))
    expected = re.split(rf"\n(?:[^\S\n]*\n){{{n_blank},}}", text)
    assert found == [part if part.strip() else "" for part in expected]


@given(LINES)
def test_without_blank_lines_each_line_is_a_record(lines):
    found = [r.text for r in split_at_blanks(lines, 0, PLACE)]

    assert found == ([line for line in lines if line.strip()] or [""])


def test_a_record_that_is_too_long_is_rejected_and_the_next_is_read():
    found = list(
        split_at(["# a", "xxxxx", "# b", None, "# c", "y"], HEADING, SHORT, counters=Counter())
    )

    assert [r.position for r in found if isinstance(r, Rejected)] == ["line 1", "line 3"]
    assert texts(r for r in found if not isinstance(r, Rejected)) == {"f.txt#3": "# c\ny"}


def test_a_bound_is_what_may_be_reached():
    assert [r.text for r in split_at(["# a", "b"], HEADING, SHORT, counters=Counter())] == [
        "# a\nb"
    ]
    assert [r.text for r in read_whole(["# a", "bc"], SHORT)] == ["# abc"]
    [rejected] = read_whole(["# a", "bcd"], SHORT)
    assert rejected.reason == "too_large"


def test_file_without_a_line_with_the_pattern_is_counted():
    counters = Counter()

    found = list(split_at(["a", "", "b"], HEADING, PLACE, counters=counters))

    assert texts(found) == {"f.txt#0": "a\n\nb"}
    assert counters == {"not split/f.txt": 1}
    for lines in (["", " "], ["too", "long"], []):
        found = list(split_at(lines, HEADING, SHORT, counters=counters))
        assert len(found) <= 1
    assert counters == {"not split/f.txt": 1}


def test_an_empty_file_is_a_record():
    for found in (
        split_at([], HEADING, PLACE, counters=Counter()),
        split_at_blanks([], 1, PLACE),
        read_whole([], PLACE),
    ):
        assert [r.text for r in found] == [""]
