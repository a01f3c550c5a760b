"""The form of a file, and where it may be cut."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.document import Rejected
from corpora.text.reader import TextPart, TextSettings, cut, detect_format, examine, read_records

DOC = '<doc id="1" url="u" title="t">'
PIECES = [
    '<doc id="2',
    f"{DOC} \r",
    f"{DOC[:-1]}\r>",
    "{",
    '{"text": "ä"}',
    '{"text": "x"}\r',
    DOC,
    "</doc>",
    "",
    "\r",
    "text",
    "書",
]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "plain"),
        (["", DOC, "x"], "doc"),
        (["x", DOC], "plain"),
        (["", '{"text": 1}'], "jsonl"),
        (['{"text": "cut', '{"text": 1}'], "jsonl"),
        (["{", '"text": 1', "}"], "json"),
        (["[", " {", '  "text": "x",'], "json"),
        (['[{"text": "x"}]'], "json"),
        (["{curly}", '"text": 1'], "plain"),
        (["see {x}", '{"a": 1}'], "plain"),
        ([None, DOC], "doc"),
        ([None, None, '{"a": 1}'], "jsonl"),
        ([None, "x"], "plain"),
        ([None], "plain"),
        (['{"a": 1, "a": 2}'], "jsonl"),
        (["[1]"], "plain"),
    ],
)
def test_the_first_lines_tell_the_form(lines, expected):
    assert detect_format(lines) == expected


@settings(max_examples=100)
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1),
    range_bytes=st.integers(1, 80),
    form=st.sampled_from(["jsonl", "doc"]),
    encoding=st.sampled_from(["utf-8", "gb18030"]),
)
def test_the_parts_of_a_file_hold_what_the_file_holds(
    pieces, range_bytes, form, encoding, tmp_path_factory
):
    path = tmp_path_factory.mktemp("cut") / "f"
    path.write_bytes("\n".join(pieces).encode(encoding, "ignore") + b"\n")
    places = list(cut(path, form, range_bytes=range_bytes))
    known = TextSettings(format=form)

    def read(parts):
        counters = Counter()
        found = [
            record
            for part in parts
            for record in read_records(path, known, name="f", part=part, counters=counters)
        ]
        return found, counters["lines.blank"]

    parts = [TextPart(form, encoding, start, end, line) for start, end, line in places]
    assert read(parts) == read([TextPart(form, encoding)])
    assert [0, *(end for _, end, _ in places)][:-1] == [start for start, _, _ in places]


def test_a_file_that_cannot_be_read_is_rejected_as_one_record(tmp_path):
    (tmp_path / "f").write_bytes(bytes(range(256)) * 4)

    [rejected] = read_records(
        tmp_path / "f", TextSettings(), name="f", part=None, counters=Counter()
    )

    assert isinstance(rejected, Rejected)
    assert rejected.reason == "not_text"


def test_json_whose_records_are_not_lines_is_rejected_unless_it_is_to_be_text(tmp_path):
    (tmp_path / "f").write_text('[\n  {\n    "text": "ä"\n  }\n]\n', "utf-8")

    [found] = read_records(tmp_path / "f", TextSettings(), name="f", part=None, counters=Counter())
    as_text = examine(tmp_path / "f", TextSettings(format="plain"), name="f")

    assert isinstance(found, Rejected)
    assert (found.reason, "jq -c" in found.message) == ("other_format", True)
    assert as_text.format == "plain"


def test_encoding_and_form_are_found_out_together(tmp_path):
    (tmp_path / "f").write_bytes('{"text": "ä"}\n'.encode("utf-16"))

    assert examine(tmp_path / "f", TextSettings(), name="f") == TextPart("jsonl", "utf-16-le")
