"""A tagger as a component of spaCy: no span is lost, whatever spaCy takes for a token."""

import pytest

from corpora.document import Mention
from modeling.taggers.tagger import Tagger


def blank(lang):
    import spacy

    if lang == "ko":  # without MeCab: words between spaces, with their particles
        tokenizer = {"nlp": {"tokenizer": {"@tokenizers": "spacy.Tokenizer.v1"}}}
        return spacy.blank("ko", config=tokenizer)
    return spacy.blank(lang)


@pytest.mark.parametrize(
    ("lang", "text", "offsets", "tokens"),
    [
        ("da", "Ane fra Københavnsområdet.", [(0, 3), (8, 17)], ["Ane", "Københavnsområdet"]),
        ("de", "Das Jenaer Werk.", [(4, 8), (4, 15)], ["Jenaer", "Jenaer Werk"]),
        ("zh", "北京大学在北京。", [(0, 4), (0, 2), (5, 7)], ["北京大学", "北京", "北京"]),
        ("ko", "서울은 한국의 수도이다.", [(0, 2), (4, 6)], ["서울은", "한국의"]),
    ],
)
def test_every_name_is_a_span_that_knows_its_characters(lang, text, offsets, tokens):
    from modeling.spacy_component import add_mentions

    doc = blank(lang)(text)

    add_mentions(doc, [Mention(*pair, label="x", entity="y", score=0.5) for pair in offsets])

    group = doc.spans["onoma"]
    assert group.attrs == {"offsets": offsets, "scores": [0.5] * len(offsets)}
    assert [span.text for span in group] == tokens
    assert {(span.label_, span.kb_id_) for span in group} == {("x", "y")}


def test_entities_are_the_outer_names_beside_those_that_are_there():
    from modeling.spacy_component import add_mentions

    doc = blank("de")("Bank Berlin Mitte und Rom")
    doc.ents = [doc.char_span(22, 25, label="old")]
    names = [(0, 17), (5, 11), (22, 25)]

    add_mentions(doc, [Mention(start, end, label="new") for start, end in names])

    assert len(doc.spans["onoma"]) == 3
    assert [(e.text, e.label_) for e in doc.ents] == [("Bank Berlin Mitte", "new"), ("Rom", "old")]


@pytest.mark.parametrize("lang", ["da", "de", "zh", "ko"])
def test_component_finds_what_the_tagger_finds(tagger_run, lang):
    text = "Peter wohnt in Frankfurt am Main.\nAnna Schmidt fuhr nach Jena. 서울은 北京。"
    nlp = blank(lang)
    nlp.add_pipe("onoma", config={"model": str(tagger_run), "spans_key": "names"})

    [doc, again] = nlp.pipe([text, text])

    found = Tagger.load(tagger_run)(text, lang=lang)
    expected = [(mention.start, mention.end) for mention in found]
    assert [tuple(pair) for pair in doc.spans["names"].attrs["offsets"]] == expected
    assert [span.label_ for span in doc.spans["names"]] == [mention.label for mention in found]
    assert again.spans["names"].attrs == doc.spans["names"].attrs
    assert len(expected) > 0
