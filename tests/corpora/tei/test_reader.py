"""The golden files in tests/data/tei were written by hand from the rules, before the reader."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from corpora.inspection import mark
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from corpora.tei.xml import XmlError

DATA = Path(__file__).resolve().parents[2] / "data"
CASES = sorted(path.stem for path in (DATA / "tei").glob("*.xml"))
LETTERS = sorted((DATA / "letters").glob("*.xml"))
BAD = {
    "malformed": "malformed_xml",
    "external_entity": "external_entity",
    "billion_laughs": "entity_expansion",
    "undeclared_entity": "undeclared_entity",
    "empty": "empty_file",
    "not_tei": "not_tei",
    "zip": "not_xml",
    "bad_encoding": "malformed_xml",
}


@pytest.fixture(scope="session")
def tei():
    return load_edition(edition_path("tei"))


def read(path, edition):
    [text] = read_tei(path.read_bytes(), edition, name=path.name)
    return text.document


def with_plain_entities(document):
    mentions = (
        replace(m, entity=m.entity and m.entity.replace("tei:", "")) for m in document.mentions
    )
    return replace(document, mentions=tuple(mentions))


@pytest.mark.parametrize("case", CASES)
def test_case_matches_the_golden_file(case, tei):
    golden = (DATA / "tei" / f"{case}.txt").read_text(encoding="utf-8")

    document = read(DATA / "tei" / f"{case}.xml", tei)

    assert mark(with_plain_entities(document)).splitlines() == golden.replace("#", "").splitlines()


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_letter_matches_the_golden_file(letter, tei, golden):
    document = read(letter, tei)

    blocks = [
        f"{p.kind:<10}{mark(slice_of(document, p.start, p.end))}" for p in document.paragraphs
    ]
    golden(f"letters/{letter.stem}.txt", "\n".join(blocks) + "\n")


def slice_of(document, start, end):
    mentions = tuple(
        replace(m, start=m.start - start, end=m.end - start)
        for m in document.mentions
        if start <= m.start and m.end <= end
    )
    return replace(
        document, text=document.text[start:end], mentions=mentions, paragraphs=(), sentences=()
    )


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_mention_can_be_traced_to_the_byte_of_its_element(letter, tei):
    data = letter.read_bytes()
    encoding = {"05": "utf-16-le", "06": "iso-8859-1"}.get(letter.stem, "utf-8")

    mentions = read(letter, tei).mentions

    assert mentions
    for mention in mentions:
        start = data[int(mention.attributes["byte"]) :].decode(encoding, "replace")
        tag = re.match(r"<(?:tei:)?(\w+)|&\w+;", start)  # an entity may hold the element
        assert tag, start[:40]
        assert tag[1] in {mention.attributes["element"], None}


@pytest.mark.parametrize("letter", LETTERS, ids=lambda path: path.stem)
def test_sentence_never_ends_inside_a_mention(letter, tei):
    document = read(letter, tei)

    for mention in document.mentions:
        assert any(s.start <= mention.start and mention.end <= s.end for s in document.sentences)


@pytest.mark.parametrize(("name", "reason"), BAD.items())
def test_bad_file_is_refused_with_place_and_remedy(name, reason, tei):
    path = DATA / "tei" / "bad" / f"{name}.xml"

    with pytest.raises(XmlError, match=rf"{name}\.xml") as caught:
        read_tei(path.read_bytes(), tei, name=path.name)

    assert caught.value.reason == reason
    if reason not in {"empty_file", "not_tei", "not_xml"}:
        assert re.match(r"line \d+, column \d+", caught.value.position)


def test_file_without_text_has_no_document(tei):
    path = DATA / "tei" / "bad" / "no_text.xml"

    [text] = read_tei(path.read_bytes(), tei, name=path.name)

    assert text.document is None


def test_deep_nesting_is_refused(tei):
    data = b"<TEI><text>" + b"<hi>" * 5_000 + b"</hi>" * 5_000 + b"</text></TEI>"

    with pytest.raises(XmlError, match="nest more than"):
        read_tei(data, tei, name="deep.xml")


def test_elements_from_entities_are_bounded(tei):
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
    data = f'<!DOCTYPE TEI [<!ENTITY e0 "<p/>">{levels}]><TEI><text>&e8;</text></TEI>'.encode()

    with pytest.raises(XmlError, match="expand to more"):
        read_tei(data, tei, name="laughs.xml")


def test_external_entity_that_is_not_used_does_no_harm(tei):
    data = b'<!DOCTYPE TEI [<!ENTITY x SYSTEM "x.xml">]><TEI><text><p>Wien</p></text></TEI>'

    [text] = read_tei(data, tei, name="a.xml")

    assert text.document.text == "Wien"


def test_entity_of_an_external_dtd_is_refused(tei):
    data = b'<!DOCTYPE TEI SYSTEM "tei.dtd"><TEI><text><p>W&auml;hrung</p></text></TEI>'

    with pytest.raises(XmlError, match=r"a.xml:1:.*&auml;.*Declare it") as caught:
        read_tei(data, tei, name="a.xml")

    assert caught.value.reason == "undeclared_entity"


def test_corpus_gives_a_document_for_each_text(tei):
    data = (
        b'<teiCorpus><teiHeader/><TEI xml:id="one"><text><p>Ulm</p></text></TEI>'
        b"<TEI><text><p>Ried</p></text></TEI></teiCorpus>"
    )

    texts = read_tei(data, tei, name="all.xml")

    assert [(t.document.id, t.document.text) for t in texts] == [
        ("all.xml#one", "Ulm"),
        ("all.xml#2", "Ried"),
    ]


def test_foreign_namespace_is_text_but_no_name(tei):
    data = (
        b'<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><p>'
        b'<m:date xmlns:m="urn:m">1914</m:date> <date>1915</date></p></text></TEI>'
    )

    [text] = read_tei(data, tei, name="a.xml")

    assert text.document.text == "1914 1915"
    assert [text.document.text[m.start : m.end] for m in text.document.mentions] == ["1915"]


def test_capital_after_a_hyphen_at_a_line_end_keeps_the_hyphen(tei):
    data = b"<TEI><text><p>Sturm-<lb/>Buch, Ein-<lb/>und Ausgang</p></text></TEI>"

    [text] = read_tei(data, tei, name="a.xml")

    assert text.document.text == "Sturm-Buch, Ein- und Ausgang"


def test_header_becomes_columns(tei):
    document = read(DATA / "letters" / "05.xml", tei)

    assert document.lang == "de"
    assert document.title == "Ottilie Ahlensteg an Agathe Lindenrot, 9. Mai 1907"
    assert document.license == "https://creativecommons.org/publicdomain/zero/1.0/"
    assert document.metadata["sent_by"] == "Ottilie Ahlensteg"
    assert document.metadata["sent_date"] == "1907-05-09"


def test_arendt_markup_reads_as_the_published_set():
    edition = load_edition(edition_path("arendt"))

    document = read(DATA / "arendt" / "essay.xml", edition)

    labels = {m.attributes["@type"]: m.label for m in document.mentions}
    assert "ship" not in labels
    assert {labels[kind] for kind in ("person", "deity", "biblicalFigure")} == {"person"}
    assert {labels[kind] for kind in ("place", "country")} == {"place"}
    assert {"ethnicity", "organization", "event", "language"} <= set(labels.values())
