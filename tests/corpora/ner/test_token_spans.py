"""Objects with tokens and names at their numbers, as sets for relations and nested names are."""

import json
import re

import pytest

from corpora.ner.layout import FORMATS
from tests.corpora.ner.reading import read, show

TOKENS = ["Ada", "Lovelace", "kam", "nach", "Bad", "Berg"]
SHOWN = "Ada/B-PER Lovelace/I-PER kam nach Bad/B-LOC Berg/I-LOC"


def read_records(tmp_path, *records, lines=True):
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    return read(path)


def spans(*keys):
    return [dict(zip(keys, name, strict=True)) for name in [(0, 2, "PER"), (4, 6, "LOC")]]


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(
    "record",
    [
        pytest.param({"tokens": TOKENS, "entities": spans("start", "end", "type")}, id="spert"),
        pytest.param(
            {"tokenized_text": TOKENS, "ner": [[0, 1, "PER"], [4, 5, "LOC"]]}, id="gliner"
        ),
        pytest.param(
            {"tokens": TOKENS, "entity_mentions": spans("start", "end", "entity_type")}, id="oneie"
        ),
        pytest.param(
            {
                "text": "Ada …",
                "sentence": TOKENS,
                "ner": [{"index": [0, 1], "type": "PER"}, {"index": [4, 5], "type": "LOC"}],
            },
            id="w2ner",
        ),
    ],
)
def test_names_at_tokens_are_read_however_they_are_written(tmp_path, record, lines):
    empty = {
        key: [] if key in {"ner", "entities", "entity_mentions"} else record[key] for key in record
    }

    layout, rows, made = read_records(tmp_path, empty, record, lines=lines)

    assert layout.format == "tokenspans" in FORMATS
    assert [show(row["tokens"], row["tags"]) for row in rows] == [" ".join(TOKENS), SHOWN]
    assert [row["id"] for row in rows] == ["a.json:1", "a.json:2"]
    assert not made.rejected


def test_documents_of_sentences_count_tokens_through(tmp_path):
    named = {
        "doc_key": "brief",
        "sentences": [["Er", "kam"], ["Ada", "Sá"]],
        "ner": [[], [[2, 3, "PER"]]],
    }
    unnamed = {"sentences": [["Ulm"]], "ner": [[[0, 0, "LOC"]]]}

    _, rows, _ = read_records(tmp_path, named, unnamed)

    assert [(row["id"], row["document_id"], row["tags"]) for row in rows] == [
        ("a.json:1#1", "brief", ["O", "O"]),
        ("a.json:1#2", "brief", ["B-PER", "I-PER"]),
        ("a.json:2#1", "a.json:2", ["B-LOC"]),
    ]


def test_names_inside_names_are_inner_and_others_are_counted(tmp_path):
    names = [[0, 3, "ORG"], [0, 1, "PER"], [0, 0, "GIVEN"], [1, 4, "X"]]

    _, [row], made = read_records(tmp_path, {"tokens": TOKENS, "ner": names})

    assert show(TOKENS, row["tags"]) == "Ada/B-ORG Lovelace/I-ORG kam/I-ORG nach/I-ORG Bad Berg"
    assert show(TOKENS, row["inner_tags"]) == "Ada/B-PER Lovelace/I-PER kam nach Bad Berg"
    assert made.counters["nested names not in ner: GIVEN"] == 1
    assert made.counters["crossing names not in ner: X"] == 1


def test_a_name_of_several_pieces_has_what_is_between_and_is_counted(tmp_path):
    record = {"sentence": TOKENS, "ner": [{"index": [3, 5], "type": "LOC", "text": "nach Berg"}]}

    _, [row], made = read_records(tmp_path, record)

    assert show(TOKENS, row["tags"]) == "Ada Lovelace kam nach/B-LOC Bad/I-LOC Berg/I-LOC"
    assert made.counters["discontinuous names: LOC"] == 1


def test_a_number_that_is_called_index_is_no_place(tmp_path):
    name = {"index": 7, "start": 3, "end": 4, "type": "LOC"}

    _, [row], _ = read_records(tmp_path, {"tokens": TOKENS, "ner": [name]})

    assert show(TOKENS, row["tags"]) == "Ada Lovelace kam nach/B-LOC Bad Berg"


@pytest.mark.parametrize(
    ("record", "reason", "problem"),
    [
        ({"tokens": ["a"], "ner": [[0, 1, "X"]]}, "bad_span", "no place among 1 tokens"),
        ({"tokens": ["a"], "ner": [[-1, 0, "X"]]}, "bad_span", "no place"),
        ({"tokens": ["a"], "ner": ["X"]}, "bad_span", "'X' is no place"),
        ({"tokens": ["a"], "ner": [{"index": [0], "type": " "}]}, "bad_label", "has no label"),
        (
            {
                "tokens": ["a", "b"],
                "entities": [{"start": 0, "end": 1, "type": "X", "text": "a b"}],
            },
            "bad_span",
            "'a b' is 'a' at 0–1 .*ends are exclusive",
        ),
        ({"tokens": ["a", ""], "ner": []}, "empty_token", "an empty token"),
        ({"tokens": [], "ner": []}, "empty_token", "without tokens"),
        ({"tokens": ["a\0"], "ner": []}, "nul", "a NUL"),
        ({"sentences": [["a"]], "ner": []}, "columns", "no object with tokens and names"),
        ({"words": "a"}, "columns", "no object with tokens and names"),
    ],
)
def test_bad_record_is_rejected_with_its_number(tmp_path, record, reason, problem):
    good = {"tokens": ["a"], "ner": [[0, 0, "X"]]}

    _, rows, made = read_records(tmp_path, good, record, good)

    [rejected] = made.rejected
    assert (rejected.reason, rejected.position) == (reason, "record 2")
    assert json.dumps(record)[:40] in rejected.excerpt
    assert re.search(problem, rejected.message)
    assert len(rows) == 2
