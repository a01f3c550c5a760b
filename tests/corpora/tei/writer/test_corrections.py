"""Names of the edition that a person corrects: bytes, undo, and what cannot be done."""

import re

import pytest

from corpora.document import Mention
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.review import REVIEW
from corpora.tei.undo import take_out, undo
from corpora.tei.writer import ACROSS, Correction, TeiFile, WriteOptions
from tests.corpora.tei.writer.written_names import MODEL, reasons, tei, write

LABELS = """
[labels]
person = ["persName", "rs[@type='person']"]
place = ["placeName", "rs[@type='place']"]
[entities]
attributes = ["ref"]
"""
NAME = "<persName xml:id='x' ref=\"#p1\"  cert='low'>Herr <hi>Johann</hi> Goethe</persName>"
TEXT = f"<p>An {NAME} aus Ulm</p>"
PERSON = {"label": "person", "entity": "e:p1"}


@pytest.fixture(scope="module")
def own_edition(tmp_path_factory):
    path = tmp_path_factory.mktemp("editions") / "e.toml"
    path.write_text(LABELS, encoding="utf-8")
    return load_edition(path)


def correct(data, edition, new, *, old=0, **options):
    """Correct a name of the only document, by its index; ``new`` are a mention's arguments."""
    file = TeiFile.read(data, edition, name="x.xml")
    [document] = file.documents
    mention = Mention(*new[:2], **new[2]) if new else None
    given = WriteOptions(**{"reviewer": "kb", **options})
    corrections = {document.id: [Correction(document.mentions[old], mention)]}
    return file.write({}, model=REVIEW, options=given, corrections=corrections)


def body(written):
    """Return the body without the records of what was there."""
    found = re.search("<body>(.*)</body>", written.data.decode(), re.DOTALL)
    return re.sub(r"<\?onoma-was [^?]*\?>", "", found[1])


@pytest.mark.parametrize(
    ("new", "name"),
    [
        (None, "An Herr <hi>Johann</hi> Goethe aus Ulm"),
        (
            (3, 21, {"label": "person", "entity": "e:p2"}),
            (
                "An <persName xml:id='x' ref=\"#p2\"  cert='low' resp=\"#onoma-review #kb\">"
                "Herr <hi>Johann</hi> Goethe</persName> aus Ulm"
            ),
        ),
        (
            (3, 21, {"label": "person"}),
            (
                "An <persName xml:id='x'  cert='low' resp=\"#onoma-review #kb\">"
                "Herr <hi>Johann</hi> Goethe</persName> aus Ulm"
            ),
        ),
        (
            (3, 21, {"label": "place", "entity": "e:p1"}),
            (
                "An <placeName xml:id='x' ref=\"#p1\"  cert='low' resp=\"#onoma-review #kb\">"
                "Herr <hi>Johann</hi> Goethe</placeName> aus Ulm"
            ),
        ),
        (
            (8, 21, PERSON),
            (
                "An Herr <persName xml:id='x' ref=\"#p1\"  cert='low' resp=\"#onoma-review #kb\">"
                "<hi>Johann</hi> Goethe</persName> aus Ulm"
            ),
        ),
        (
            (0, 14, PERSON),
            (
                "<persName xml:id='x' ref=\"#p1\"  cert='low' resp=\"#onoma-review #kb\">"
                "An Herr <hi>Johann</hi></persName> Goethe aus Ulm"
            ),
        ),
    ],
)
def test_a_name_is_corrected_in_place_and_undo_gives_the_bytes_back(own_edition, new, name):
    data = tei(TEXT)

    written = correct(data, own_edition, new)

    assert body(written) == f"<p>{name}</p>"
    assert undo(written.data, name="x.xml", reviewer="kb") == data
    assert undo(written.data, name="x.xml") == written.data  # kb answers for it


def test_the_type_of_a_general_element_changes_with_the_label(own_edition):
    written = correct(
        tei('<p><rs type="person" n="1">Ulm</rs></p>'), own_edition, (0, 3, {"label": "place"})
    )

    assert "<placeName n=" in body(written)


def test_a_name_is_corrected_twice_and_each_person_takes_back_what_he_did(own_edition):
    data = tei(TEXT)
    first = correct(data, own_edition, (3, 21, {"label": "place", "entity": "e:p1"}))

    second = correct(first.data, own_edition, (8, 21, PERSON), reviewer="xy")

    assert undo(second.data, name="x.xml", reviewer="xy") == first.data
    assert undo(first.data, name="x.xml", reviewer="kb") == data


def test_a_model_s_name_that_was_corrected_comes_back_and_can_be_taken_out(own_edition):
    data = tei("<p>In Ulm</p>")
    tagged = write(data, own_edition, Mention(3, 6, label="person"))

    written = correct(tagged.data, own_edition, (3, 6, {"label": "place"}))

    assert "<placeName" in body(written)
    assert undo(written.data, name="x.xml", resp=REVIEW.id, reviewer="kb") == tagged.data
    assert undo(written.data, name="x.xml", reviewer="kb") == data
    assert undo(tagged.data, name="x.xml", resp=MODEL.id) == data


def test_a_link_of_a_name_without_one_is_only_inserted(own_edition):
    data = tei("<p>In <placeName>Ulm</placeName></p>")

    written = correct(data, own_edition, (3, 6, {"label": "place", "entity": "e:o1"}))

    linked = '<p>In <placeName ref="#o1" resp="#onoma-review #kb">Ulm</placeName></p>'
    assert linked.encode() in written.data
    assert undo(written.data, name="x.xml", reviewer="kb") == data


def test_a_boundary_inside_another_element_is_refused(own_edition):
    written = correct(tei(TEXT), own_edition, (10, 21, PERSON))

    assert reasons(written) == [ACROSS]
    assert written.data == tei(TEXT)


def test_a_name_whose_words_changed_since_stays_as_corrected_and_is_named(own_edition):
    written = correct(tei(TEXT), own_edition, None)
    edited = written.data.replace(b"Goethe", b"Schiller")

    undone = take_out(edited, name="x.xml", reviewer="kb")

    assert body(undone) == "<p>An Herr <hi>Johann</hi> Schiller aus Ulm</p>"
    assert b'<respStmt xml:id="onoma-review">' in undone.data
    assert [kept.text for kept in undone.kept] == ["Herr Johann Schiller"]


def test_the_shipped_edition_adds_no_schema_error(tmp_path):
    edition = load_edition(edition_path("tei"))
    schema = tmp_path / "s.rng"
    schema.write_text(SCHEMA)

    linked = correct(tei("<p>In <persName>Ulm</persName></p>"), edition, None, schema=schema)
    refused = correct(
        tei("<p>In <persName>Ulm</persName></p>"),
        edition,
        (3, 6, {"label": "place"}),
        schema=schema,
    )

    assert body(linked) == "<p>In Ulm</p>"
    assert reasons(refused) == ["would not be valid"]


SCHEMA = """<grammar xmlns="http://relaxng.org/ns/structure/1.0" ns="http://www.tei-c.org/ns/1.0">
<start><element name="TEI"><ref name="header"/><element name="text"><element name="body">
<element name="p"><mixed><zeroOrMore><element name="persName"><text/></element></zeroOrMore></mixed>
</element></element></element></element></start>
<define name="header"><element name="teiHeader"><ref name="any"/></element></define>
<define name="any"><zeroOrMore><choice><text/><element><anyName/>
<zeroOrMore><attribute><anyName/></attribute></zeroOrMore><ref name="any"/></element>
</choice></zeroOrMore></define></grammar>"""
