"""INCEpTION's external recommender, asked as ``inception-imls-external`` (55ba8ba) asks it."""

import re

import pytest
from cassis import Cas, TypeSystem, load_cas_from_xmi

from modeling.serve.inception import words_of

LAYER, FEATURE = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity", "value"
SEGMENT = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
TEXT = "\U0001f642 ich war in Ulm . und sah bei Ida Berg viel ."
TAGS = [{"name": "NER", "tags": [{"tag": "PER"}, {"tag": "LOC"}], "targets": None}]


def type_system():
    types = TypeSystem()
    for name in ("Sentence", "Token"):
        types.create_type(f"{SEGMENT}.{name}", "uima.tcas.Annotation")
    layer = types.create_type(LAYER, "uima.tcas.Annotation")
    for name, kind in (
        (FEATURE, "String"),
        (f"{FEATURE}_score", "Double"),
        ("inception_internal_predicted", "Boolean"),
    ):
        types.create_feature(layer, name, f"uima.cas.{kind}")
    return types


def request(*, is_cut=True, tags=False, **metadata):
    types = type_system()
    cas = Cas(types)
    cas.sofa_string, cas.sofa_mime = TEXT, "text/plain"
    if is_cut:
        start = 0
        for sentence in (TEXT[:18], TEXT[18:]):
            bare = sentence.strip()
            begin = TEXT.index(bare)
            cas.add(types.get_type(f"{SEGMENT}.Sentence")(begin=begin, end=begin + len(bare)))
            for word in bare.split():
                start = TEXT.index(word, start)
                cas.add(types.get_type(f"{SEGMENT}.Token")(begin=start, end=start + len(word)))
                start += len(word)
    layer = types.get_type(LAYER)
    old = {"inception_internal_predicted": True, FEATURE: "OLD"}
    cas.add(layer(begin=0, end=1, **old))
    cas.add(layer(begin=2, end=5, value="HAND", inception_internal_predicted=False))
    said = {"layer": LAYER, "feature": FEATURE, "projectId": 1337, "anchoringMode": "tokens"}
    said |= {"crossSentence": False, "range": {"begin": 0, "end": 10_000}}
    tagsets = [TAGS[0] | {"targets": [{"type": LAYER, "feature": FEATURE}]}] if tags else []
    return {
        "metadata": said | metadata,
        "document": {"xmi": cas.to_xmi(), "documentId": 42, "userId": "anna"},
        "typeSystem": types.to_xml(),
        "tagsets": tagsets,
    }


def predicted(answer):
    cas = load_cas_from_xmi(answer.json()["document"], type_system())
    return [
        (one.get_covered_text(), one.value)
        for one in cas.select(LAYER)
        if one.inception_internal_predicted
    ]


@pytest.mark.parametrize("is_cut", [True, False])
def test_names_are_predicted_and_what_was_there_stays(ask, is_cut):
    answer = ask("POST", "/predict", json=request(is_cut=is_cut))

    assert predicted(answer) == [("Ulm", "place"), ("Ida Berg", "person")]
    cas = load_cas_from_xmi(answer.json()["document"], type_system())
    by_value = {one.value: one for one in cas.select(LAYER)}
    assert set(by_value) == {"HAND", "place", "person"}  # an earlier prediction is gone
    assert 0 < by_value["person"].value_score <= 1
    assert cas.sofa_string == TEXT


def test_the_tags_of_the_project_are_used(ask):
    assert predicted(ask("POST", "/predict", json=request(tags=True))) == [
        ("Ulm", "LOC"),
        ("Ida Berg", "PER"),
    ]


def test_only_what_is_shown_is_looked_at(ask):
    shown = request(range={"begin": 25, "end": 60})

    assert predicted(ask("POST", "/predict", json=shown)) == [("Ida Berg", "person")]


def broken(change):
    value = request()
    change(value)
    return value


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.pop("metadata"),
        lambda r: r["metadata"].update(layer="other.Type"),
        lambda r: r["metadata"].update(feature="other"),
        lambda r: r["document"].update(xmi="<xmi"),
        lambda r: r["document"].update(xmi="<a/>"),
        lambda r: r["document"].update(xmi='<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'),
        lambda r: r["document"].update(xmi='<?xml version="1.0" encoding="UTF-7"?>+ADw-a/+AD4-'),
        lambda r: r.update(typeSystem="<x/>"),
    ],
)
def test_what_is_no_cas_is_said(ask, change):
    answer = ask("POST", "/predict", json=broken(change))

    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]


def test_sentences_in_each_other_are_read_once():
    cas = Cas(type_system())
    cas.sofa_string = "Ida Berg"
    for name, places in (("Sentence", [(0, 8)] * 3 + [(2, 8)]), ("Token", [(0, 3), (4, 8)])):
        for begin, end in places:
            cas.add(cas.typesystem.get_type(f"{SEGMENT}.{name}")(begin=begin, end=end))

    assert [one.tokens for one in words_of(cas)] == [("Ida", "Berg")]


def test_words_in_each_other_are_read_once():
    cas = Cas(type_system())
    cas.sofa_string = "Ida Berg"
    places = [("Sentence", 0, 8), ("Token", 0, 8), ("Token", 0, 3), ("Token", 4, 8)]
    for name, begin, end in places:
        cas.add(cas.typesystem.get_type(f"{SEGMENT}.{name}")(begin=begin, end=end))

    assert [one.tokens for one in words_of(cas)] == [("Ida", "Berg")]


@pytest.mark.filterwarnings("default")  # as outside of tests
def test_a_place_outside_the_text_is_refused(ask):
    asked = request()
    xmi = asked["document"]["xmi"]
    asked["document"]["xmi"] = re.sub(r"(<\w+:Token [^>]*end=)\"\d+", r'\1"999', xmi, count=1)

    answer = ask("POST", "/predict", json=asked)

    assert answer.status_code == 422
    assert "offset [999]" in answer.json()["detail"]


def test_a_document_that_says_nothing_of_where_its_words_are_is_refused(ask):
    asked = request()
    xmi = asked["document"]["xmi"]
    asked["document"]["xmi"] = re.sub(r"(<\w+:Token [^>]*)begin=", r"\1x=", xmi)

    assert ask("POST", "/predict", json=asked).status_code == 422
