"""Names written into TEI where a schema says what may stand where."""

import pytest

from corpora.tei.edition import load_edition
from tests.corpora.tei.writer.written_names import body, find, reasons, tei, write

SCHEMA = """<grammar xmlns="http://relaxng.org/ns/structure/1.0"
    ns="http://www.tei-c.org/ns/1.0">
<start><element name="TEI"><element name="teiHeader"><element name="fileDesc">
<ref name="any"/></element>{header}</element><element name="text"><element name="body">
<element name="p"><zeroOrMore><choice><text/><element name="persName"><ref name="any"/></element>
</choice></zeroOrMore></element></element></element></element></start>
<define name="any"><zeroOrMore><choice><text/><attribute><anyName/></attribute>
<element><anyName/><ref name="any"/></element></choice></zeroOrMore></define></grammar>"""
APPARATUS = """<optional><element name="encodingDesc"><ref name="any"/></element></optional>
<optional><element name="revisionDesc"><ref name="any"/></element></optional>"""


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "letters.rng"
    path.write_text(SCHEMA.format(header=APPARATUS))
    return path


def test_a_name_that_would_not_be_valid_is_left_out_and_the_others_are_written(schema, edition):
    data = tei("<p>Goethe und Walden in Jena</p>")
    people = [find(data, edition, name) for name in ("Goethe", "Walden")]
    place = find(data, edition, "Jena", label="place")

    written = write(data, edition, *people, place, schema=schema)

    names = "<persName>Goethe</persName> und <persName>Walden</persName>"
    assert body(written) == f"<p>{names} in Jena</p>"
    assert reasons(written) == ["would not be valid"]
    assert b"<application " in written.data


def test_a_file_with_an_id_twice_is_validated_and_written(schema, edition):
    data = tei(
        "<p><persName xml:id='a'>Ida</persName> und <persName xml:id='a'>Ada</persName> in Rom</p>"
    )

    written = write(data, edition, find(data, edition, "Rom"), schema=schema)

    assert "in <persName>Rom</persName></p>" in body(written)


def test_a_header_gets_what_the_schema_has_a_place_for(schema, edition):
    schema.write_text(SCHEMA.format(header=""))
    data = tei("<p>Goethe</p>")

    written = write(data, edition, find(data, edition, "Goethe"), schema=schema)

    assert written.written == 1
    assert b"<application " not in written.data
    assert b"<respStmt " in written.data
    assert b"<name>tagger 3" in written.data  # not every schema has this value of @type
    assert written.counters["headers without application and change, for the schema has none"] == 1


@pytest.mark.parametrize(
    ("element", "root"), [("bibl", "TEI"), ("seg", "TEI"), ("persName", "TEI.2")]
)
def test_what_cannot_stand_in_stand_off_is_written_in_fragments(element, root, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(f'[labels]\nperson = ["{element}"]\n')
    edition = load_edition(path)
    data = tei("<p><hi>von Go</hi>ethe kam</p>").replace(b"TEI", root.encode())

    written = write(data, edition, find(data, edition, "Goethe"), crossing="standOff")

    assert b"standOff" not in written.data
    assert written.counters["written in fragments"] == 1
