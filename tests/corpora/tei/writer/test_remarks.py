"""Remarks of people on names, in the file as the edition says: a note, or an attribute."""

import re

import pytest

from corpora.document import Mention
from corpora.errors import UsageError
from corpora.tei.edition import load_edition
from corpora.tei.review import REVIEW
from corpora.tei.undo import take_out
from corpora.tei.writer import Correction, TeiFile, WriteOptions
from tests.corpora.tei.writer.written_names import tei

TEXT = tei('<p>An <persName ref="#p1">Johann</persName> aus Ulm &amp; Bonn</p>')
NOTE = "note[@type='editor']"


def edition_with(tmp_path, remarks):
    path = tmp_path / "e.toml"
    said = f'remarks = "{remarks}"\n' if remarks else ""
    path.write_text(f'{said}[entities]\nattributes = ["ref"]\n', encoding="utf-8")
    return load_edition(path)


def remark_on(edition, text, *, entity="e:p1", **more):
    """Remark on the name that the file has, and on a new one; return what was written."""
    file = TeiFile.read(TEXT, edition, name="x.xml")
    [document] = file.documents
    [old] = document.mentions
    said = {"attributes": {"remark": text}}
    new = Mention(old.start, old.end, label="person", entity=entity, **said)
    start = document.text.index("Ulm")
    place = Mention(start, start + 3, label="place", **said)
    return file.write(
        {document.id: [place]},
        model=REVIEW,
        options=WriteOptions(reviewer="kb", **more),
        corrections={document.id: [Correction(old, new)]},
    )


def body(written):
    found = re.search("<body>(.*)</body>", written.data.decode(), re.DOTALL)
    return re.sub(r"<\?onoma-was [^?]*\?>| resp=\"#onoma-review #kb\"", "", found[1])


@pytest.mark.parametrize(
    ("remarks", "text", "johann", "ulm"),
    [
        (
            NOTE,
            "so <in> A",
            '<persName ref="#p1">Johann</persName><note type="editor">so &lt;in&gt; A</note>',
            '<placeName>Ulm</placeName><note type="editor">so &lt;in&gt; A</note>',
        ),
        (
            "@ana",
            "#doubtful",
            '<persName ref="#p1" ana="#doubtful">Johann</persName>',
            '<placeName ana="#doubtful">Ulm</placeName>',
        ),
        (None, "so in A", '<persName ref="#p1">Johann</persName>', "<placeName>Ulm</placeName>"),
    ],
)
def test_a_remark_is_written_as_the_edition_says_and_undo_gives_the_bytes_back(
    tmp_path, remarks, text, johann, ulm
):
    edition = edition_with(tmp_path, remarks)

    written = remark_on(edition, text)

    assert body(written) == f"<p>An {johann} aus {ulm} &amp; Bonn</p>"
    undone = take_out(written.data, name="x.xml", reviewer="kb")
    assert undone.data == TEXT
    assert written.counters["remarks written"] == (2 if remarks else 0)


def test_a_remark_on_a_name_that_gets_another_entity_follows_it(tmp_path):
    edition = edition_with(tmp_path, NOTE)

    written = remark_on(edition, "so in A", entity="e:p2")

    name = '<persName ref="#p2">Johann</persName><note type="editor">so in A</note>'
    assert name in body(written)
    assert take_out(written.data, name="x.xml", reviewer="kb").data == TEXT


def test_what_an_attribute_of_pointers_cannot_hold_stays_with_the_decision(tmp_path):
    written = remark_on(edition_with(tmp_path, "@ana"), "see the letter to Ulm")

    assert "ana=" not in body(written)
    kept = "remarks that the file cannot hold: kept with the decision"
    assert written.counters[kept] == 2
    assert written.counters["written"] == 1


def test_a_name_is_written_without_the_note_that_a_schema_forbids(tmp_path):
    schema = tmp_path / "no_notes.rng"
    schema.write_text(NO_NOTES, encoding="utf-8")

    written = remark_on(edition_with(tmp_path, NOTE), "so in A", schema=schema)

    assert "<placeName>Ulm</placeName>" in body(written)
    assert "<note" not in body(written)


def test_a_remark_that_somebody_changed_stays(tmp_path):
    written = remark_on(edition_with(tmp_path, NOTE), "so in A")
    edited = written.data.replace(b"Ulm</placeName><note", b"Ulm</placeName><note n='1'")

    undone = take_out(edited, name="x.xml", reviewer="kb")

    assert undone.data.count(b"<note") == 1
    assert [kept.text for kept in undone.kept] == ["so in A"]


def test_another_element_than_a_note_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"e.toml:1: remarks: 'seg' says neither"):
        edition_with(tmp_path, "seg")


NO_NOTES = """<grammar xmlns="http://relaxng.org/ns/structure/1.0"><start><ref name="any"/></start>
<define name="any"><element><anyName><except><name ns="http://www.tei-c.org/ns/1.0">note</name>
</except></anyName><zeroOrMore><choice><attribute><anyName/></attribute><text/><ref name="any"/>
</choice></zeroOrMore></element></define></grammar>"""
