"""Files that other files include: parts without a header, and ids that stay unique."""

import re

import pytest

from corpora.document import Mention
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.undo import undo
from corpora.tei.writer import TeiFile, WriteOptions, write_predictions
from tests.corpora.tei.writer.written_names import MODEL, tei

PART = b"<div><head>Ruth Holm</head><p>Ruth Holm kam nach <hi>Bad</hi> Jena</p></div>"
RUTH, JENA = Mention(0, 9, label="person"), Mention(29, 37, label="place")


@pytest.fixture(scope="module")
def edition():
    return load_edition(edition_path("tei"))


def write(data, edition, *mentions, name="a.xml", **options):
    given = WriteOptions(is_part=True, **options)
    of = {"name": name, "model": MODEL, "options": given}
    return write_predictions(data, edition, {name: mentions}, **of)


def test_names_are_written_into_a_part_without_a_header_and_undone(edition):
    first = write(PART, edition, RUTH, reviewer="kb")

    both = write(first.data, edition, JENA, reviewer="kb")

    assert both.data.startswith(b"<div><?onoma-by onoma-1.")
    assert both.data.count(b"<persName ") == both.data.count(b"<placeName ") == 1
    assert undo(both.data, name="a.xml", reviewer="kb") == PART
    assert undo(both.data, name="a.xml") == both.data
    assert undo(both.data, name="a.xml", resp=MODEL.id, reviewer="kb") == PART


def test_the_ids_in_two_files_differ(edition):
    data = tei("<p>an <hi>die Ruth</hi> Holm</p>")
    [document] = TeiFile.read(data, edition, name="a.xml").documents
    name = Mention(document.text.index("Ruth"), len(document.text), label="person")

    ids = [
        set(re.findall(r'xml:id="([^"]*)"', write(data, edition, name, name=file).data.decode()))
        for file in ("a.xml", "b.xml")
    ]

    assert len(ids[0]) == len(ids[1]) == 3  # of the model, and of two fragments
    assert not ids[0] & ids[1]


def test_a_reviewer_has_an_id_of_the_file_and_takes_back_his_names_by_his_own(edition):
    data = tei("<p>Ruth Holm</p>")

    written = write(data, edition, RUTH, reviewer="kb")

    assert re.search(r'<respStmt xml:id="kb\.[0-9a-f]{4}" .*<name>kb</name>', written.data.decode())
    assert undo(written.data, name="a.xml", reviewer="kb") == data


def test_a_part_is_validated_as_a_part_of_a_text(edition, tmp_path):
    schema = tmp_path / "s.rng"
    schema.write_text(SCHEMA)

    written = write(PART, edition, RUTH, JENA, schema=schema)

    assert [skipped.reason for skipped in written.skipped] == ["would not be valid"]
    assert b"<persName" in written.data


SCHEMA = """<grammar xmlns="http://relaxng.org/ns/structure/1.0">
<start><element name="TEI"><element name="teiHeader"><ref name="any"/></element>
<element name="text"><element name="body"><element name="div"><zeroOrMore><element>
<choice><name>head</name><name>p</name></choice><mixed><zeroOrMore><element>
<choice><name>persName</name><name>hi</name></choice><optional><attribute name="resp"/></optional>
<text/></element></zeroOrMore></mixed></element></zeroOrMore></element></element></element>
</element></start>
<define name="any"><zeroOrMore><choice><text/><element><anyName/>
<zeroOrMore><attribute><anyName/></attribute></zeroOrMore><ref name="any"/></element>
</choice></zeroOrMore></define></grammar>"""
