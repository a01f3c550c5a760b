"""JSON Lines: fields become columns, and a broken line costs only itself."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.text.json_lines import Fields, parse_fields, read_json_lines
from corpora.text.records import RecordSource

PLACE = RecordSource("f.jsonl", line=10)
STRINGS = st.text(st.characters(codec=None))


def read(*lines, named=(), metadata=()):
    counters = Counter()
    fields = Fields(parse_fields(named), metadata)
    return list(read_json_lines(lines, fields, PLACE, counters=counters)), counters


def test_fields_with_the_names_of_columns_become_columns():
    line = {"text": "a", "id": 7, "title": "T", "url": "u", "lang": "da", "revid": "3", "x": 1}

    [record], _ = read(json.dumps(line))

    assert (record.text, record.id, record.title) == ("a", "7", "T")
    assert record.columns == {"url": "u", "lang": "da", "revision": "3"}
    assert record.metadata == {}


def test_other_fields_are_named_and_the_rest_is_kept_when_asked():
    line = {"text": 0, "body": "a", "key": "k", "tags": ["ä"], "n": None, "who": "me"}

    [record], _ = read(json.dumps(line), named=["text=body", "id=key"], metadata=["*"])

    assert (record.text, record.id) == ("a", "k")
    assert record.metadata == {"text": "0", "tags": '["ä"]', "who": "me"}


def test_a_record_without_an_id_has_that_of_its_line():
    found, counters = read('{"text": "a"}', "", '{"text": "b", "id": null}')

    assert [(r.id, r.has_own_id) for r in found] == [("f.jsonl#10", False), ("f.jsonl#12", False)]
    assert counters["lines.blank"] == 1


@given(STRINGS, STRINGS, st.booleans())
def test_any_strings_come_back(text, title, ascii):
    line = json.dumps({"text": text, "title": title}, ensure_ascii=ascii)

    [record], _ = read(line)

    parsed = json.loads(line)  # joins halves of characters that stand side by side
    assert (record.text, record.title) == (parsed["text"], parsed["title"])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "a"', "broken_json"),
        ("[" * 100_000, "broken_json"),
        ('{"text": "a", "id": ' + "9" * 5000 + "}", "broken_json"),
        ('["text"]', "no_object"),
        ('{"body": "a"}', "missing_field"),
        ('{"text": null}', "missing_field"),
        ('{"text": 1}', "bad_field"),
        ('{"text": "a", "text": "b"}', "double_field"),
        ('{"text": "a", "x": [{"y": 1, "y": 1}]}', "double_field"),
        (None, "too_large"),
    ],
)
def test_a_broken_line_is_rejected_and_its_neighbours_are_not(line, reason):
    found, _ = read('{"text": "before"}', line, '{"text": "after"}')

    assert [r.text for r in found if not isinstance(r, Rejected)] == ["before", "after"]
    assert (found[1].reason, found[1].position) == (reason, "line 11")
    assert found[1].message.startswith("f.jsonl:11: ")


UNUSABLE = [
    ("id", ["x"]),
    ("id", True),
    ("id", " \0"),
    ("lang", "auf Deutsch"),
    ("group", ""),
    ("title", {}),
    ("timestamp", ["2024"]),
]


@pytest.mark.parametrize(("name", "value"), UNUSABLE)
def test_a_field_that_was_named_must_be_usable(name, value):
    line = json.dumps({"text": "a", "field": value})

    [rejected], counters = read(line, named=[f"{name}=field"])

    assert (rejected.reason, rejected.position) == ("bad_field", "line 10")
    assert not counters


@pytest.mark.parametrize(("name", "value"), UNUSABLE)
def test_a_field_that_only_has_the_name_is_as_if_it_were_not_there(name, value):
    [record], counters = read(json.dumps({"text": "a", name: value}), metadata=["*"])
    [without], _ = read('{"text": "a"}')

    assert (record.id, record.title, record.columns) == (without.id, None, {})
    assert record.metadata.keys() == {name}
    assert counters == {"fields.unusable": 1, f"fields.unusable/{name}": 1}


def test_the_second_name_of_a_column_counts_where_the_first_is_unusable():
    [record], _ = read('{"text": "a", "revision": [], "revid": 7}')

    assert record.columns == {"revision": "7"}


def test_a_field_that_was_named_must_be_there():
    found, _ = read('{"text": "a"}', '{"text": "a", "when": null}', named=["timestamp=when"])

    assert [getattr(r, "reason", "") for r in found] == ["missing_field", ""]


def test_replacement_characters_are_counted_where_they_are_escaped():
    _, counters = read('{"text": "\\ufffd \\uFFFD"}')

    assert counters["characters.replacement"] == 2


@pytest.mark.parametrize("named", [["text"], ["text="], ["body=text"], ["id=a", "id=b"]])
def test_fields_that_make_no_sense_are_refused(named):
    with pytest.raises(UsageError, match="--field"):
        parse_fields(named)
