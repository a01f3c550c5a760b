"""Registers in TEI become entries: names, forms, dates, ids, and where they stand."""

import json
from dataclasses import replace

import pytest

from corpora.errors import CorpusError
from corpora.registers.entry import AuthorityId, Date, Entry, Form, to_json
from corpora.registers.identifiers import read_id
from corpora.registers.reader import read_register
from corpora.registers.register import make_register, read_registers
from corpora.system.parsing import typed
from corpora.tei.edition import load_edition
from corpora.tei.xml import XmlError

PERSONS = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><listPerson>
<listPerson><head>A</head>
<person xml:id="P.1" source="http://d-nb.info/gnd/119262177">
  <persName type="pref">Alma, Peter (Maler)</persName>
  <persName>Herr Alma</persName>
</person></listPerson>
<person xml:id="P.2">
  <persName type="birth"><forename>Rosa</forename> <surname>Bernstein</surname></persName>
  <persName type="reg"><roleName>Dr.</roleName> <forename>Rosa</forename>
    <nameLink>von</nameLink> <surname>Wied</surname> <addName>Röschen</addName></persName>
  <birth><date when="1862-05-15">15. 5. 1862</date><settlement>Wien</settlement></birth>
  <death notBefore="1930" notAfter="1931-10"/>
  <idno type="URL" subtype="VIAF">https://viaf.org/viaf/12345/</idno>
  <idno type="GND">118609807</idno>
  <occupation>Malerin</occupation><note>Schrieb selten.</note>
</person>
<person><persName>Niemand</persName></person>
<person xml:id="P.3"><persName></persName></person>
<personGrp xml:id="P.4"><persName>Familie Wied</persName></personGrp>
</listPerson></body></text></TEI>"""

OTHERS = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><standOff>
<listPlace><place xml:id="O.1"><placeName>Wien</placeName>
  <placeName type="old">Vindobona</placeName>
  <country>Österreich</country><idno type="geonames">2761369</idno>
  <place xml:id="O.2"><placeName ref="http://www.wikidata.org/entity/Q1">Prater</placeName></place>
</place></listPlace>
<listOrg><org xml:id="G.1" from="1910" to="1932"><orgName>Der Sturm</orgName></org></listOrg>
<listBibl><bibl xml:id="W.1"><author ref="#P.1">Alma</author><title type="main">Akte</title>
  <title type="link">https://example.org/akte</title><date>um 1913/1914</date>
  <relatedItem type="host"><bibl xml:id="W.2"><title>Mappe</title></bibl></relatedItem></bibl>
</listBibl>
<list n="works"><item xml:id="W.3"><name type="pref">Aktbild</name>
  <name>die Akte</name></item></list>
<list><item>Hut</item><item><persName>Alma</persName></item></list>
</standOff></TEI>"""


def read(text):
    return {entry.id: entry for entry in read_register(text.encode(), name="r.xml").entries}


def test_the_only_person_of_a_file_has_the_id_of_the_file():
    file = (
        '<TEI xmlns="http://www.tei-c.org/ns/1.0" xml:id="PRS1"><text><body><listPerson>{}'
        "<person><persName>Abala</persName><listBibl><bibl><title>Vita</title></bibl></listBibl>"
        "</person></listPerson></body></text></TEI>"
    )

    alone = read_register(file.format("").encode(), name="PRS1.xml")
    two = read_register(file.format("<person><persName>B</persName></person>").encode(), name="")

    assert [(entry.id, entry.name) for entry in alone.entries] == [("PRS1", "Abala")]
    assert alone.counters == {"without an id: bibl": 1}
    assert two.entries == ()
    assert two.counters == {"without an id: person": 2, "without an id: bibl": 1}


def test_parts_of_a_persons_name_become_forms():
    entry = read(PERSONS)["P.2"]

    assert entry.name == "Dr. Rosa von Wied Röschen"
    assert {form.kind: form.text for form in entry.forms if form.kind != "surname"} == {
        "canonical": "Dr. Rosa von Wied Röschen",
        "variant": "Rosa Bernstein",
        "full": "Rosa von Wied",
        "inverted": "Bernstein, Rosa",
        "with_role": "Dr. von Wied",
        "forename": "Rosa",
        "added": "Röschen",
    }
    assert entry.texts("surname") == ["Wied", "von Wied", "Bernstein"]
    assert Form("Rosa Bernstein", "variant", "birth") in entry.forms


def test_a_name_that_is_written_inverted_is_turned_around():
    entry = read(PERSONS)["P.1"]

    assert entry.name == "Alma, Peter (Maler)"
    assert entry.texts("full", "surname", "forename") == ["Peter Alma", "Alma", "Peter"]
    assert entry.texts("variant") == ["Herr Alma"]


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Marc, Franz<note>Maler, auch Tierbilder</note>", ["Marc, Franz", "Franz Marc"]),
        ("<choice><sic>Mark</sic><corr>Marc</corr></choice>, Franz", ["Marc, Franz", "Franz Marc"]),
        ("<app><lem>Marc</lem><rdg>Mark</rdg></app>", ["Marc"]),
        ("<choice><seg>Marc</seg><seg>Mark</seg></choice>", ["Marc"]),
        ("Franz<lb/>Marc", ["Franz Marc"]),
        ("Franz Ma<lb break='no'/>rc <del>Mark</del>", ["Franz Marc"]),
        (
            "<note><surname>K</surname></note><surname>Marc</surname><forename>Franz</forename>",
            ["Marc, Franz", "Franz Marc"],
        ),
    ],
)
def test_of_a_name_one_reading_is_taken_without_notes(written, names):
    persons = f"<person xml:id='p'><persName>{written}</persName></person>"
    entry = read(f"<TEI><listPerson>{persons}</listPerson></TEI>")["p"]

    assert entry.texts("canonical", "full") == names


def test_dates_ids_description_and_place_in_the_file():
    entry = read(PERSONS)["P.2"]

    assert entry.birth == Date("1862-05-15", 1862, 1862)
    assert entry.death == Date("1930/1931-10", 1930, 1931)
    assert entry.ids == (AuthorityId("viaf", "12345"), AuthorityId("gnd", "118609807"))
    assert entry.description == "Malerin; Schrieb selten."
    assert (entry.source, entry.line) == ("r.xml", 7)


@pytest.mark.parametrize(
    ("attributes", "date"),
    [
        ('notBefore="1930"', Date("not before 1930", 1930, None)),
        ('notAfter="1931-10"', Date("not after 1931-10", None, 1931)),
        ('from-iso="1910"', Date("from 1910", 1910, None)),
        ('to="1932" from=""', Date("to 1932", None, 1932)),
    ],
)
def test_a_date_with_one_bound_says_which(attributes, date):
    data = PERSONS.replace('notBefore="1930" notAfter="1931-10"', attributes)

    assert read(data)["P.2"].death == date


@pytest.mark.parametrize(
    ("written", "years"),
    [
        ("um 1810 v. Chr.", (-1810, -1810)),
        ("15. 3. 44 v. Chr.", (-44, -44)),
        ("460–370 v.Chr.", (-460, -370)),
        ("63 BC – 14 AD", (-63, 14)),
        ("um 25 v. u. Z. bis 1. 5. 17 n. u. Z.", (-25, 17)),
        ("um 1850", (1850, 1850)),
        ("1911, B. Cassirer", (1911, 1911)),
        ("um 1850, siehe v. Christen", (1850, 1850)),
    ],
)
def test_years_before_our_era_are_negative(written, years):
    born = f"<person xml:id='p'><persName>A</persName><birth>{written}</birth></person>"
    entry = read(f"<TEI><listPerson>{born}</listPerson></TEI>")["p"]

    assert entry.birth == Date(written, *years)


def test_entries_without_an_id_or_a_name_are_counted():
    found = read_register(PERSONS.encode(), name="r.xml")

    assert [entry.id for entry in found.entries] == ["P.1", "P.2", "P.4"]
    assert found.counters == {"without an id: person": 1, "without a name: person": 1}


def test_places_nest_and_works_point_to_others():
    entries = read(OTHERS)

    assert {entry.id: entry.kind for entry in entries.values()} == {
        "O.1": "place",
        "O.2": "place",
        "G.1": "organization",
        "W.1": "work",
        "W.2": "work",
        "W.3": "work",
    }
    assert entries["O.2"].parent == "O.1"
    assert entries["O.1"].texts() == ["Wien", "Vindobona"]
    assert entries["O.2"].ids == (AuthorityId("wikidata", "Q1"),)
    assert entries["G.1"].active == Date("1910/1932", 1910, 1932)
    assert entries["W.1"].related == ("P.1", "W.2")
    assert entries["W.1"].active == Date("um 1913/1914", 1913, 1914)
    assert entries["W.1"].texts() == ["Akte"]
    assert AuthorityId("url", "https://example.org/akte") in entries["W.1"].ids
    assert entries["W.3"].texts() == ["Aktbild", "die Akte"]


def test_the_name_of_an_object_may_stand_in_its_identifier():
    entries = read(
        "<TEI><listObject><object xml:id='B.1'><objectIdentifier><objectName>Alfred-Juwel"
        "</objectName><idno>1</idno></objectIdentifier></object></listObject></TEI>"
    )

    assert (entries["B.1"].kind, entries["B.1"].texts()) == ("other", ["Alfred-Juwel"])


def test_entries_survive_json():
    for entry in [*read(PERSONS).values(), *read(OTHERS).values()]:
        assert typed(Entry, json.loads(json.dumps(to_json(entry)))) == entry


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("https://d-nb.info/gnd/4127687-5", (), "gnd:4127687-5"),
        ("http://sws.geonames.org/357994", (), "geonames:357994"),
        ("Q42", ("wikidata",), "wikidata:Q42"),
        ("n79021164", ("LCCN",), "lccn:n79021164"),
        (
            "https://example.org/a",
            ("URL", "schnitzler-orte"),
            "schnitzlerorte:https://example.org/a",
        ),
        ("https://example.org/a", ("URL",), "url:https://example.org/a"),
        ("17", (), "None"),
        (" ", ("gnd",), "None"),
    ],
)
def test_ids_are_recognised_by_type_or_address(text, types, expected):
    assert str(read_id(text, types=types)) == expected


def test_a_register_finds_entries_by_any_kind_of_reference():
    register = read_registers([("p.xml", PERSONS.encode()), ("o.xml", OTHERS.encode())])

    for reference in ("P.2", "#P.2", "sturm:P.2", "p.xml#P.2", "gnd:118609807", "psn:P.2"):
        assert register.find(reference) is register.entries["P.2"], reference
    for reference in ("https://d-nb.info/gnd/118609807", "https://example.org/person/P.2/"):
        assert register.find(reference) is register.entries["P.2"], reference
    assert register.find("#P.99") is None


def test_entries_with_one_id_are_merged():
    first, second = read(PERSONS)["P.2"], read(PERSONS.replace("Malerin", "").replace("VIAF", "X"))

    register = make_register([first, *second.values(), *read(OTHERS).values()])

    assert register.entries["P.2"].description == "Malerin; Schrieb selten."
    clash = PERSONS.replace("P.2", "O.1")
    both = make_register([*read(OTHERS).values(), *read(clash).values()])
    assert both.counters["one id, two kinds: place and person"] == 1
    strangers = [Entry(id="p1", kind="person", name=name) for name in ("Anna Müller", "Karl Meier")]
    forms = [(Form(entry.name, "canonical"),) for entry in strangers]
    named = [replace(e, forms=f) for e, f in zip(strangers, forms, strict=True)]
    assert make_register(named).counters["one id, no form in common"] == 1
    assert not make_register([named[0], named[0]]).counters


def test_what_is_no_register_is_refused_with_what_to_do():
    with pytest.raises(CorpusError, match=r"a\.xml: no entry of a register"):
        read_registers([("a.xml", b"<TEI><text><p>Hut</p></text></TEI>")])
    hostile = b'<!DOCTYPE TEI [<!ENTITY x SYSTEM "file:///etc/passwd">]><TEI>&x;</TEI>'
    with pytest.raises(XmlError, match="another file"):
        read_register(hostile, name="a.xml")


def test_an_entry_is_found_by_what_the_edition_reads_for_its_id(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[entities.spaces]\n"#P." = "sturm-p"\n')
    register = read_registers([("p.xml", PERSONS.encode())])

    read = register.read_by(load_edition(path))

    assert register.find("sturm-p:2") is None
    assert read.find("sturm-p:2") is read.entries["P.2"]
    assert read.find("gnd:118609807") is read.find("mine:P.2") is read.entries["P.2"]


def test_an_entry_is_found_by_its_own_address_in_the_space_of_the_edition(tmp_path):
    path = tmp_path / "mine.toml"
    spaces = '"https://pmb.example.org/entity/" = "pmb"\n"https://pmb.example.org/e/" = "pmb"\n'
    path.write_text(f'name = "mine"\n[entities.spaces]\n{spaces}')
    at, name = "https://pmb.example.org", "<persName>A</persName>"
    persons = (
        f"<person xml:id='p1'>{name}<idno type='URI'>{at}/entity/50</idno></person>"
        f"<person xml:id='p2' corresp='{at}/entity/pers:51'>{name}</person>"
        f"<person xml:id='p3'>{name}<idno type='URL' subtype='pmb'>{at}/e/53/</idno></person>"
        f"<person xml:id='p4'>{name}<idno type='URI'>{at}/entity/53</idno></person>"
    )
    data = f"<TEI><listPerson>{persons}</listPerson></TEI>".encode()
    register = read_registers([("r.xml", data)])

    read = register.read_by(load_edition(path))

    entries = [read.find(entity) for entity in ("pmb:50", "pmb:pers:51", "pmb:53")]
    assert [entry and entry.id for entry in entries] == ["p1", "p2", None]  # two have 53
