"""JSON objects with tokens and tags, or with texts and names, as tools and sets have them."""

import json

import pytest

from corpora.errors import UsageError
from corpora.ner.detection import Overrides
from corpora.ner.files import FilePart, describe, read_file
from corpora.ner.sentence_rows import RowMaker
from corpora.tagging import from_iob2

TEXT = "Ada Lovelace kam. Sie sah Bad Berg."
NAMES = [(0, 12, "PER"), (26, 34, "LOC")]
DOCCANO = {"id": 7, "text": TEXT, "label": [list(name) for name in NAMES]}


def read(tmp_path, *records, form=None, lines=True):
    """Read records from JSON Lines, or from an array, as the pipeline does."""
    written = (
        "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
        if lines
        else json.dumps(records, indent=2)
    )
    path = tmp_path / "a.json"
    path.write_text(written, encoding="utf-8")
    layout = describe(path, name=path.name, overrides=Overrides(format=form))
    [(found, origin)] = read_file(path, layout, name=path.name, part=FilePart())
    made = RowMaker(split="train").make(found, layout, origin)
    return [row for batch in made.batches for row in batch.to_pylist()], made, layout


def names_in(rows):
    """Return the names as (start, end, label), in characters of their text."""
    return [
        (
            row["token_starts"][s.start],
            row["token_starts"][s.end - 1] + len(row["tokens"][s.end - 1]),
            s.label,
        )
        for row in rows
        for s in from_iob2(row["tags"])
    ]


def task(*annotations):
    return {
        "id": 1,
        "data": {"text": TEXT},
        "annotations": [
            {
                "was_cancelled": is_cancelled,
                "result": [
                    {"type": "labels", "value": {"start": a, "end": b, "labels": [label]}}
                    for a, b, label in NAMES
                ],
            }
            for is_cancelled in annotations
        ],
    }


def spans(start, end, label):
    """Return the names as objects with these keys."""
    return [{start: a, end: b, label: x} for a, b, x in NAMES]


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(
    "record",
    [
        pytest.param(DOCCANO, id="doccano"),
        pytest.param(
            {"text": TEXT, "entities": spans("start_offset", "end_offset", "label")}, id="relations"
        ),
        pytest.param({"text": TEXT, "spans": spans("start", "end", "label")}, id="prodigy"),
        pytest.param(
            {"text": TEXT, "label": [{"start": a, "end": b, "labels": [x]} for a, b, x in NAMES]},
            id="label studio, minimal",
        ),
        pytest.param(task(False), id="label studio"),
        pytest.param(task(True, False), id="label studio, one cancelled"),
        pytest.param(
            {
                "text": TEXT,
                "entities": [{"name": TEXT[a:b], "span": [a, b], "type": x} for a, b, x in NAMES],
            },
            id="stockmark",
        ),
        pytest.param(
            {"full_text": TEXT, "spans": spans("start_position", "end_position", "entity_type")},
            id="presidio",
        ),
        pytest.param([TEXT, {"entities": NAMES}], id="spacy"),
        pytest.param(
            {
                "content": TEXT,
                "annotation": [
                    {"label": [x], "points": [{"start": a, "end": b - 1, "text": TEXT[a:b]}]}
                    for a, b, x in NAMES
                ],
            },
            id="dataturks, ends inclusive",
        ),
        pytest.param(
            {
                "text": TEXT,
                "entities": [
                    {"start_idx": a, "end_idx": b - 1, "type": x, "entity": TEXT[a:b]}
                    for a, b, x in NAMES
                ],
            },
            id="cmeee, ends inclusive",
        ),
        pytest.param(
            {"originalText": TEXT, "entities": spans("start_pos", "end_pos", "label_type")},
            id="ccks",
        ),
    ],
)
def test_names_of_a_text_are_found_however_they_are_written(tmp_path, record, lines):
    rows, made, layout = read(tmp_path, record, lines=lines and isinstance(record, dict))

    assert layout.format == "spans"
    assert names_in(rows) == NAMES
    assert not made.rejected


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "whole",
    [
        {"classes": ["PER"], "annotations": [[TEXT, {"entities": NAMES}], None, DOCCANO]},
        {
            "examples": [
                {"content": TEXT, "annotations": spans("start", "end", "tag_name")},
                DOCCANO,
            ]
        },
    ],
)
def test_an_object_may_hold_all_texts(tmp_path, whole, indent):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(whole, indent=indent))

    layout = describe(path, name="a.json", overrides=Overrides())
    [(found, _)] = read_file(path, layout, name="a.json", part=FilePart())

    assert layout.format == "spans"
    assert (len(set(found.documents)), len(found.rejected)) == (2, 0)


def test_an_object_is_recognized_by_its_beginning(tmp_path):
    texts = [[TEXT, {"entities": NAMES}]] * 20_000

    path = tmp_path / "a.json"
    path.write_text(json.dumps({"classes": ["PER"], "annotations": texts}))

    assert describe(path, name="a.json", overrides=Overrides()).format == "spans"


def test_blanks_around_a_name_are_not_in_it(tmp_path):
    rows, _, _ = read(tmp_path, {"text": TEXT, "label": [[25, 35, "LOC"]]})

    assert names_in(rows) == [(26, 35, "LOC")]


def test_a_text_is_a_document_of_sentences_named_by_its_line(tmp_path):
    rows, _, _ = read(tmp_path, DOCCANO, DOCCANO)

    ids = [(row["id"], row["document_id"]) for row in rows]
    assert ids == [(f"a.json:{n}#{k}", f"a.json:{n}") for n in (1, 2) for k in (1, 2)]


@pytest.mark.parametrize(
    ("record", "tags", "inner_tags"),
    [
        (
            {"text": "Bad Berg", "label": [[0, 8, "LOC"], [4, 8, "PER"]]},
            ["B-LOC", "I-LOC"],
            ["O", "B-PER"],
        ),
        ({"text": "Ada", "label": [[0, 3, "PER"]], "answer": "42"}, ["B-PER"], None),
        ({"text": "Ada", "label": [[0, 3, "given  name"]]}, ["B-given_name"], None),
    ],
)
def test_names_may_be_nested_and_labels_have_blanks(tmp_path, record, tags, inner_tags):
    [row, other], _, _ = read(tmp_path, record, {"text": "Da", "label": []})

    assert (row["tags"], row["inner_tags"]) == (tags, inner_tags)
    assert (other["tags"], other["inner_tags"]) == (["O"], None)


def test_prodigy_leaves_out_the_list_where_there_is_no_name_and_has_texts_not_accepted(tmp_path):
    ada = {"text": "Ada", "tokens": [{"text": "Ada"}], "_task_hash": 1, "answer": "accept"}
    named = {**ada, "spans": [{"start": 0, "end": 3, "label": "PER"}]}

    rows, made, _ = read(tmp_path, ada, named, {**named, "answer": "ignore"})

    assert [row["tags"] for row in rows] == [["O"], ["B-PER"]]
    assert made.counters["texts.not accepted"] == 1


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"text": "Ada"}, "no_label"),
        ({"text": " ", "label": []}, "empty_token"),
        ({"text": "Ada", "label": [[0, 4, "PER"]]}, "bad_span"),
        ({"text": "Ada", "label": [[2, 2, "PER"]]}, "bad_span"),
        ({"text": "Ada", "label": [["0", 2, "PER"]]}, "bad_span"),
        ({"text": "Ada", "label": [[0, 3]]}, "bad_span"),
        ({"text": "Ada", "label": [[0, 3, " "]]}, "bad_label"),
        ({"text": "Ada", "label": [{"start": 0, "end": 3, "labels": ["A", "B"]}]}, "bad_label"),
        ({"text": "Ada", "spans": [{"span": [0, 3], "type": "A", "text": "Eda"}]}, "bad_span"),
        (task(False, False), "several_annotations"),
        (task(), "no_label"),
        ({"text": "Ada\ud800", "label": []}, "not_utf8"),
    ],
)
def test_bad_record_is_rejected_with_its_number(tmp_path, record, reason):
    rows, made, _ = read(tmp_path, DOCCANO, record, DOCCANO, lines=False)

    assert [(r.reason, r.position) for r in made.rejected] == [(reason, "record 2")]
    assert names_in(rows) == NAMES * 2


def test_broken_line_is_rejected_and_a_broken_array_keeps_what_is_before(tmp_path):
    path = tmp_path / "a.jsonl"
    good = json.dumps(DOCCANO)
    for data, n in ((f"{good}\n{good[:-3]}\n\n{good}\n", 4), (f"[{good}, {good[:-3]}", 2)):
        path.write_text(data)
        layout = describe(path, name="a.jsonl", overrides=Overrides())

        [(found, _)] = read_file(path, layout, name="a.jsonl", part=FilePart())

        assert [r.reason for r in found.rejected] == ["malformed_json"]
        assert len(found) == n


@pytest.mark.parametrize("lines", [True, False])
def test_tokens_and_tags_of_objects_are_rows(tmp_path, lines):
    records = [
        {"words": ["Bad", "Berg"], "tags": ["B-LOC", "I-LOC"]},
        {"words": ["da"], "tags": ["O"]},
    ]

    rows, _, layout = read(tmp_path, *records, lines=lines)

    assert layout.format == "tokens"
    assert [(r["id"], r["tokens"], r["tags"]) for r in rows] == [
        ("a.json:1", ["Bad", "Berg"], ["B-LOC", "I-LOC"]),
        ("a.json:2", ["da"], ["O"]),
    ]


def test_tokens_in_iobes_with_inner_tags_are_two_levels(tmp_path):
    record = {"tokens": ["Bad", "Berg"], "ner_tags": ["B-LOC", "E-LOC"], "inner_tags": ["O", "S-X"]}

    [row], _, layout = read(tmp_path, record)

    assert layout.scheme == "iobes"
    assert (row["tags"], row["inner_tags"]) == (["B-LOC", "I-LOC"], ["O", "B-X"])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"tokens": ["a"], "tags": []}, "columns"),
        ({"tokens": [], "tags": []}, "columns"),
        ({"tokens": ["a"], "tags": [1]}, "columns"),
        ({"tokens": ["a"], "tags": ["O"], "inner_tags": ["O", "O"]}, "columns"),
        ({"tokens": ["a"], "tags": ["LOC"]}, "bad_tag"),
        ({"tokens": [""], "tags": ["O"]}, "empty_token"),
    ],
)
def test_bad_object_with_tokens_is_rejected_with_its_number(tmp_path, record, reason):
    good = {"tokens": ["a"], "tags": ["B-X"]}

    rows, made, _ = read(tmp_path, good, record, good)

    assert [(r.reason, r.position) for r in made.rejected] == [(reason, "record 2")]
    assert [row["tokens"] for row in rows] == [["a"], ["a"]]


@pytest.mark.parametrize(
    "record",
    [
        {"version": 1, "labels": ["PER"]},
        {"text": "good", "label": ["positive"]},
        {"text": "good", "label": "positive", "_task_hash": 1},
        {"text": "good", "cats": {"A": 1.0}},
        {"tokens": ["a"], "upos": ["X"]},
        {"tokens": ["a"], "ner": [["PER", 0, 0]]},
        {"tokens": ["a"], "text": "a", "entities": [{"start": 0, "end": 1, "type": "PER"}]},
    ],
)
def test_objects_without_names_are_in_no_format(tmp_path, record):
    with pytest.raises(UsageError, match="in no format that is known"):
        read(tmp_path, record)


def test_numbers_for_tags_end_the_run_with_what_to_do(tmp_path):
    with pytest.raises(UsageError, match=r"a\.json: its tags are numbers.*Write"):
        read(tmp_path, {"tokens": ["a"], "ner_tags": [0]})


def test_texts_that_become_columns_apart_are_one_set(tmp_path, monkeypatch):
    texts = [DOCCANO, {"text": "Jena liegt hier. Und Ulm.", "label": [[0, 4, "LOC"]]}, DOCCANO]
    whole, *_ = read(tmp_path, *texts)

    monkeypatch.setattr("corpora.ner.texts.AT_ONCE", 3)
    parts, made, _ = read(tmp_path, *texts)

    assert parts == whole
    assert made.counters["documents"] == 3
