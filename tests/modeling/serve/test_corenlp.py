"""CoreNLP's answer, asked as Recogito Studio's plugin (``@recogito/plugin-ner`` 0.5.1) asks."""

import json
from urllib.parse import urlencode

import pytest

PROPERTIES = {"annotators": "ner", "outputFormat": "json"}
TEXT = "\U0001f642 ich war in Ulm.\nund sah bei Ida Berg viel."


def query(properties):
    return "/?" + urlencode({"properties": json.dumps(properties)})


def test_names_have_offsets_as_javascript_counts(ask):
    request = {"content": TEXT.encode(), "headers": {"Content-Type": "text/plain; charset=UTF-8"}}

    answer = ask("POST", query(PROPERTIES), **request).json()

    units = TEXT.encode("utf-16-le")
    mentions = [m for sentence in answer["sentences"] for m in sentence["entitymentions"]]
    assert [(m["text"], m["ner"]) for m in mentions] == [
        ("Ulm", "LOCATION"),
        ("Ida Berg", "PERSON"),
    ]
    for m in mentions:
        start, end = m["characterOffsetBegin"], m["characterOffsetEnd"]
        assert units[2 * start : 2 * end].decode("utf-16-le") == m["text"]
        assert 0 < m["nerConfidences"][m["ner"]] <= 1
    tokens = [token for sentence in answer["sentences"] for token in sentence["tokens"]]
    named = tokens[mentions[1]["docTokenBegin"] : mentions[1]["docTokenEnd"]]
    assert [(token["originalText"], token["ner"]) for token in named] == [
        ("Ida", "PERSON"),
        ("Berg", "PERSON"),
    ]


@pytest.mark.parametrize(
    "properties",
    [
        {"annotators": "parse", "outputFormat": "json"},
        {"annotators": "ner", "outputFormat": "xml"},
        {"annotators": 1},
        [],
    ],
)
def test_what_is_not_offered_is_said(ask, properties):
    assert ask("POST", query(properties), content=b"in Ulm").status_code == 400


def test_properties_that_are_no_json_are_said(ask):
    assert ask("POST", "/?properties=%7B", content=b"in Ulm").status_code == 400


def test_halves_of_characters_are_refused(ask):
    answer = ask("POST", "/", params={"properties": '{"annotators": "\\ud800"}'}, content=b"Ida")

    assert answer.status_code == 400
