"""Names that the edition has: corrected at the desk, saved, undone."""

import json

import pytest

from corpora.tei.undo import undo
from modeling.workbench import saving
from modeling.workbench.names import RefusedError
from tests.corpora.tei.writer.test_schemas import APPARATUS, SCHEMA
from tests.corpora.tei.writer.written_names import tei
from tests.modeling.workbench.conftest import open_desk


def own_names(desk):
    """Yield (letter, document, item) of the names that the edition has."""
    for letter in desk.letters.all:
        for number, names in enumerate(letter.names):
            for item in names.items():
                if item.is_own:
                    yield letter, number, item


def first(desk, *, form="", label=""):
    return next(
        (letter, number, item)
        for letter, number, item in own_names(desk)
        if form in letter.names[number].document.text[item.start : item.end]
        and (not label or item.label == label)
    )


def asked(letter, number, item, **values):
    known = item.to_json()
    place = {"letter": letter.number, "document": number, "id": item.id, "was": known}
    same = {name: known[name] for name in ("start", "end", "label", "entity")}
    return {**place, **same, "status": "accepted", **values}


def item_now(desk, letter, number, item):
    return desk.letters.all[letter.number].names[number].get(item.id)


CHANGES = {
    "link": {"entity": "letters:o1"},
    "retype": {"label": "place"},
    "remove": {"status": "rejected"},
}


LINKS = {"link": 'ref="#o1"', "retype": 'ref="#p2"', "remove": ""}


@pytest.mark.parametrize("change", CHANGES)
def test_a_name_of_the_edition_is_corrected_saved_and_undone(desk, sample, change):
    letter, number, item = first(desk, label="person")
    original = letter.path.read_bytes()

    desk.decide([asked(letter, number, item, **CHANGES[change])])
    report = saving.save(desk)

    saved = (sample / "reviewed" / letter.name).read_bytes()
    assert not report["skipped"]
    assert saved != original
    assert report["reference"] == LINKS[change]
    assert undo(saved, name=letter.name, reviewer="kb") == original
    again = open_desk(sample)
    assert item_now(again, letter, number, item) == item_now(desk, letter, number, item)
    again.undo()
    assert item_now(again, letter, number, item) == item
    assert not saving.save(again)["skipped"]
    assert (sample / "reviewed" / letter.name).read_bytes() == original


def test_what_the_schema_does_not_allow_is_refused_at_once(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.xml").write_bytes(tei("<p><persName>Goethe</persName></p>"))
    schema = tmp_path / "letters.rng"
    schema.write_text(SCHEMA.format(header=APPARATUS))  # persName, and no placeName
    given = {"edition": "tei", "decisions": tmp_path / "d.jsonl", "candidates": None}
    desk = open_desk(tmp_path, register=(), schema=schema, **given)

    with pytest.raises(RefusedError, match=r"letters\.rng does not allow that there\."):
        desk.decide([asked(*first(desk), label="place")])

    assert not desk.journal.entries
    desk.decide([asked(*first(desk), status="rejected")])
    assert desk.journal.entries


NAME_IN_MASTER = """<grammar xmlns="http://relaxng.org/ns/structure/1.0"
ns="http://www.tei-c.org/ns/1.0"><start><element name="TEI"><choice><ref name="all"/>
<element name="TEI"><element name="teiHeader"><ref name="all"/></element><element name="text">
<element name="body"><element name="p"><element name="persName"><text/></element><text/></element>
</element></element></element></choice></element></start>
<define name="all"><zeroOrMore><choice><text/><element><anyName><except><name>TEI</name></except>
</anyName><zeroOrMore><attribute><anyName/></attribute></zeroOrMore><ref name="all"/></element>
</choice></zeroOrMore></define></grammar>"""


def test_a_file_is_validated_with_the_saved_ones_that_it_includes(tmp_path):
    letters = tmp_path / "letters"
    letters.mkdir()
    (letters / "a.xml").write_bytes(tei("<p><persName>Goethe</persName> in Jena</p>"))
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="a.xml"/>'
    (letters / "all.xml").write_text(f'<TEI xmlns="http://www.tei-c.org/ns/1.0">{include}</TEI>')
    schema = tmp_path / "letters.rng"
    schema.write_text(NAME_IN_MASTER)
    given = {"edition": "tei", "decisions": tmp_path / "d.jsonl", "candidates": None}
    desk = open_desk(tmp_path, register=(), schema=schema, **given)

    desk.decide([asked(*first(desk), status="rejected")])
    report = saving.save(desk)

    assert [each["n"] for each in report["written"]] == [0]
    assert {each["n"] for each in report["refused"]} == {1}
    assert "all.xml, with the files that it includes: " in report["refused"][0]["why"]


def test_new_entries_are_offered_for_labels_of_registers(desk):
    listing = desk.listing()

    assert set(listing["labels"]) - set(listing["entryLabels"]) == {"date"}


def test_a_remark_alone_is_saved_as_the_edition_says_and_undone(sample):
    edition = sample / "letters.toml"
    edition.write_text("remarks = \"note[@type='remark']\"\n" + edition.read_text())
    desk = open_desk(sample)
    letter, number, item = first(desk, label="person")

    desk.decide([asked(letter, number, item, remark="so in A")])
    saving.save(desk)

    saved = (sample / "reviewed" / letter.name).read_bytes()
    assert b'<note type="remark" resp="#onoma-review #kb">so in A</note>' in saved
    assert undo(saved, name=letter.name, reviewer="kb") == letter.path.read_bytes()


def test_a_correction_is_in_the_journal_with_the_name_as_it_was(desk):
    letter, number, item = first(desk, label="person")

    desk.decide([asked(letter, number, item, label="place")])

    [line] = [json.loads(each) for each in desk.journal.path.read_text().splitlines()]
    assert (line["verdict"], line["there"], line["model"]) == ("corrected", True, "")
    assert (line["name"]["label"], line["was"]["label"]) == ("place", "person")


def test_a_name_that_is_as_it_was_again_is_undecided(desk):
    letter, number, item = first(desk, label="person")
    desk.decide([asked(letter, number, item, label="place")])

    changed = item_now(desk, letter, number, item)
    desk.decide([asked(letter, number, changed, label="person")])

    assert item_now(desk, letter, number, item) == item
    assert not desk.listing()["letters"][letter.number]["decided"]


def test_a_boundary_inside_another_element_is_refused_and_the_nearest_are_offered(desk, sample):
    path = sample / "letters" / "zz.xml"
    text = "<p>An <persName>Herr Johann Goethe</persName> <hi>aus Ulm</hi></p>"
    path.write_text(
        f'<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>{text}</body></text></TEI>'
    )
    desk = open_desk(sample)
    letter, number, item = first(desk, form="Herr Johann")
    desk.letters._parsed.clear()  # as after many other letters: the file is parsed again

    with pytest.raises(
        RefusedError, match=r"inside another element.*“Herr Johann Goethe aus Ulm” or"
    ):
        desk.decide([asked(letter, number, item, end=item.end + 4)])


def test_a_typed_id_is_read_as_files_have_it_and_written_as_most_names_do(desk, sample):
    letter, number, item = first(desk, label="person")

    desk.decide([asked(letter, number, item, entity="#p1")])
    saving.save(desk)

    assert item_now(desk, letter, number, item).entity == "letters:p1"
    assert b' ref="#p1" resp="#onoma-review #kb"' in (
        (sample / "reviewed" / letter.name).read_bytes()
    )


def test_a_new_entry_gets_the_next_id_is_saved_in_the_register_and_undone(desk, sample):
    letter, number, item = first(desk, label="place")
    names = {path.name: path.read_bytes() for path in (sample / "register").glob("*.xml")}

    desk.make_entry(
        asked(letter, number, item) | {"name": "Aachen", "note": "Bad", "same": "gnd:4000003-3"}
    )
    report = saving.save(desk)

    entity = item_now(desk, letter, number, item).entity
    assert desk.register.find("Aachen", label="place")[0]["entity"] == entity
    saved = {name: (sample / "reviewed" / "register" / name).read_bytes() for name in names}
    assert sorted(report["registers"]) == sorted(names)
    changed = [name for name in names if saved[name] != names[name]]
    assert len(changed) == 1
    assert f'xml:id="{entity.removeprefix("letters:")}"'.encode() in saved[changed[0]]
    again = open_desk(sample)
    assert [entry.name for entry in again.new_entries()] == ["Aachen"]
    again.undo()
    saving.save(again)
    assert not again.register.find("Aachen", label="place")
    assert (sample / "reviewed" / "register" / changed[0]).read_bytes() == names[changed[0]]
