"""What is said of names written into TEI: their attributes, the model, and in which form."""

import re

import pytest

from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.undo import undo
from corpora.tei.writer import UnprovenError, write_predictions
from tests.corpora.tei.writer.written_names import HEADER, ROOT, body, find, tei, write


def test_what_is_known_of_a_name_stands_in_its_attributes(edition):
    data = tei("<p>Goethe</p>")
    name = find(data, edition, "Goethe", entity="gnd:118540238", score=0.98765)

    written = write(data, edition, name)

    reference = 'ref="http://d-nb.info/gnd/118540238"'
    assert body(written) == f'<p><persName {reference} cert="0.988">Goethe</persName></p>'


@pytest.mark.parametrize(
    ("entity", "attribute"),
    [
        ("e:P.1", ' key="P.1"'),
        ("gnd:1 wikidata:Q2", ' ref="http://d-nb.info/gnd/1 http://www.wikidata.org/entity/Q2"'),
        ('e:a"<b>&', ' key="a&quot;&lt;b&gt;&amp;"'),
        ("dawiki:Goethe", ""),
        ("e:\x00", ""),
        (None, ""),
    ],
)
def test_an_entity_is_written_as_it_is_read_or_counted(entity, attribute, edition):
    data = tei("<p>Goethe</p>")

    written = write(data, edition, find(data, edition, "Goethe", entity=entity))

    assert body(written) == f"<p><persName{attribute}>Goethe</persName></p>"
    lost = bool(entity) and not attribute
    assert written.counters["entities without an attribute"] == lost


@pytest.mark.parametrize(
    ("score", "cert"), [(None, ""), (0.0, "0"), (1.0, "1"), (0.5, "0.5"), (0.12349, "0.123")]
)
def test_a_probability_has_at_most_three_decimals(score, cert, edition):
    data = tei("<p>Goethe</p>")

    written = write(data, edition, find(data, edition, "Goethe", score=score))

    attribute = f' cert="{cert}"' if cert else ""
    assert body(written) == f"<p><persName{attribute}>Goethe</persName></p>"


def test_the_statement_on_the_model_stands_in_the_style_of_the_header(edition):
    header = HEADER.replace("<title>", "\n    <title>").replace("</titleStmt>", "\n  </titleStmt>")
    data = tei("<p>Goethe</p>", header=header)

    written = write(data, edition, find(data, edition, "Goethe"))

    assert (
        "    <title>T</title>\n"
        '    <respStmt xml:id="onoma-1"><resp>names found by a model (SHA-256 ab12)</resp>'
        '<name type="model">tagger 3: letters</name><?onoma ' in written.data.decode()
    )
    assert "?></respStmt>\n  </titleStmt>" in written.data.decode()
    assert undo(written.data, name="x.xml") == data


@pytest.mark.parametrize(
    "header",
    [
        "",
        "<teiHeader/>",
        "<teiHeader></teiHeader>",
        "<teiHeader><fileDesc><titleStmt/></fileDesc></teiHeader>",
    ],
)
def test_a_header_that_lacks_its_parts_gets_them_and_loses_them_again(header, edition):
    data = tei("<p>Goethe</p>", header=header)

    written = write(data, edition, find(data, edition, "Goethe"))

    assert b'<title resp="#onoma-1"></title><respStmt xml:id="onoma-1">' in written.data
    assert written.data.count(b"<teiHeader") == written.data.count(b"<titleStmt") == 1
    assert undo(written.data, name="x.xml") == data


def test_a_header_inside_the_text_is_the_one_that_is_read_and_gets_the_statement(edition):
    data = tei("<p>Goethe</p>", header="").replace(b"<text>", b"<text>" + HEADER.encode())

    written = write(data, edition, find(data, edition, "Goethe"))

    assert b'<title>T</title><respStmt xml:id="onoma-1">' in written.data
    assert written.data.count(b"<teiHeader") == 1
    assert undo(written.data, name="x.xml") == data


def test_elements_have_the_prefix_of_the_file(edition):
    data = (
        b'<t:TEI xmlns:t="http://www.tei-c.org/ns/1.0"><t:text><t:body><t:p>Goethe</t:p></t:body>'
        b"</t:text></t:TEI>"
    )

    written = write(data, edition, find(data, edition, "Goethe"))

    assert b'<t:p><t:persName resp="#onoma-1">Goethe</t:persName></t:p>' in written.data
    assert b'<t:respStmt xml:id="onoma-1">' in written.data


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_what_is_added_is_in_the_encoding_of_the_file(encoding, edition):
    declaration = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    data = (declaration + tei("<p>Müller</p>").decode()).encode(encoding)
    name = find(data, edition, "Müller", entity="e:Mü€")

    written = write(data, edition, name)

    expected = '<persName key="Mü€" resp="#onoma-1">Müller</persName>'
    latin = expected.replace("€", "&#8364;") if encoding == "iso-8859-1" else expected
    assert latin in written.data.decode(encoding)


def test_a_file_whose_header_hides_in_an_entity_is_refused(edition):
    subset = f"<!DOCTYPE TEI [<!ENTITY header '{HEADER}'>]>"
    data = subset.encode() + tei("<p>Goethe</p>", header="&header;")

    with pytest.raises(UnprovenError, match=r"x\.xml: nothing can be added"):
        write(data, edition, find(data, edition, "Goethe"))


def test_the_example_in_the_docs_is_what_is_written():
    docs = (ROOT / "docs" / "enriching.md").read_text(encoding="utf-8")
    *_, before, after, _ = (
        block.encode() for block in re.findall(r"```xml\n(.*?)```", docs, re.DOTALL)
    )
    edition = load_edition(edition_path("tei"))
    model = Model(id="onoma-3f2a9c1b", name="letters", version="1", sha256="3f2a9c1b")
    names = [
        find(before, edition, "Konrad Ahlensteg", score=0.98),
        find(before, edition, "Jena", score=1.0, label="place", entity="geonames:2895044"),
        find(before, edition, "Brackwehl", score=0.7),
    ]

    written = write_predictions(before, edition, {"x.xml": names}, name="x.xml", model=model)

    assert written.data.decode() == after.decode()
