"""Texts that annotation tools and libraries have saved, with their names in them again."""

import json
from pathlib import Path

import pytest

from corpora.document import Document, Mention, Span
from corpora.errors import UsageError
from corpora.ner.exchange import write_documents
from tests.corpora.ner.reading import read, show

TEXT = "👞 Ada Lovelace kam nach Łódź."
SHOWN = "👞 Ada/B-PER Lovelace/I-PER kam nach Łódź/B-LOC ."
DOCUMENT = Document(
    id="a",
    group="",
    source="",
    text=TEXT,
    sentences=(Span(0, len(TEXT)),),
    mentions=(Mention(2, 14, label="PER"), Mention(24, 28, label="LOC")),
)
GATE = """<?xml version='1.0' encoding='windows-1252'?>
<GateDocument version="3">
<TextWithNodes><Node id="0"/>👞 <Node id="3"/>Ada Lovelace<Node id="15"/> kam nach <Node
 id="25"/>Łódź<Node id="29"/>.<Node id="30"/></TextWithNodes>
<AnnotationSet><Annotation Id="9" Type="Token" StartNode="3" EndNode="15"/></AnnotationSet>
<AnnotationSet Name="Original markups">
<Annotation Id="0" Type="p" StartNode="0" EndNode="30"></Annotation></AnnotationSet>
<AnnotationSet Name="ANNIE">
<Annotation Id="1" Type="PER" StartNode="3" EndNode="15"></Annotation>
<Annotation Id="2" Type="LOC" StartNode="25" EndNode="29"></Annotation>
</AnnotationSet></GateDocument>"""
BIOC = """<?xml version='1.0' encoding='utf-8'?><!DOCTYPE collection SYSTEM "BioC.dtd">
<collection><source>PubTator</source><date/><key/><document><id>7</id>
<passage><offset>0</offset><text>Titel.</text></passage>
<passage><offset>7</offset><text>👞 Ada Lovelace kam nach Łódź.</text>
<annotation id="1"><infon key="type">PER</infon><location offset="{0}" length="12"/>
<text>Ada Lovelace</text></annotation>
<annotation id="2"><infon key="type">LOC</infon><location offset="{1}" length="{2}"/>
<text>Łódź</text></annotation></passage></document></collection>"""
CTAKES = """<?xml version="1.0" encoding="UTF-8"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore"
 xmlns:t="http:///org/example/text.ecore" xmi:version="2.0"><cas:NULL xmi:id="0"/>
<t:Person xmi:id="3" sofa="1" begin="3" end="15" value="PER"/>
<t:Place xmi:id="4" sofa="1" begin="25" end="29" certainty="1"/>
<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text"
 sofaString="👞 Ada Lovelace kam nach Łódź."/>
<cas:View sofa="1" members="3 4"/></xmi:XMI>"""


def shown(rows):
    return " ".join(show(row["tokens"], row["tags"]) for row in rows)


@pytest.mark.parametrize(("form", "name"), [("xmi", "a.xmi"), ("spacy", "a.spacy")])
def test_files_that_onoma_writes_for_tools_are_sets_too(tmp_path, form, name):
    list(write_documents([DOCUMENT], form, tmp_path))

    _, rows, made = read(tmp_path / name)

    assert shown(rows) == SHOWN
    assert not made.rejected


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        pytest.param("a.xml", GATE, "gate", id="gate"),
        pytest.param("a.xml", BIOC.format(9, 31, 4), "bioc", id="bioc, characters"),
        pytest.param("a.xml", BIOC.format(10, 32, 4), "bioc", id="bioc, UTF-16"),
        pytest.param("a.xml", BIOC.format(12, 34, 7), "bioc", id="bioc, bytes"),
    ],
)
def test_texts_with_names_beside_them_are_read(tmp_path, name, text, form):
    if form == "bioc":
        pytest.importorskip("bioc")
    (tmp_path / name).write_text(text, "utf-8")

    layout, rows, made = read(tmp_path / name)

    assert layout.format == form
    assert SHOWN in shown(rows)
    assert not made.rejected


def test_bioc_in_json_is_read_with_its_documents(tmp_path):
    pytest.importorskip("bioc")
    annotation = {
        "id": "1", "infons": {"type": "PER"}, "text": "Ada",
        "locations": [{"offset": 10, "length": 3}],
    }  # fmt: skip
    passage = {
        "offset": 10, "infons": {}, "text": "Ada kam.", "sentences": [], "relations": [],
        "annotations": [annotation],
    }  # fmt: skip
    document = {"id": "7", "infons": {}, "passages": [passage], "relations": []}
    whole = {"source": "", "date": "", "key": "", "infons": {}, "documents": [document]}
    (tmp_path / "a.json").write_text(json.dumps(whole, indent=1))

    layout, [row], _ = read(tmp_path / "a.json")

    assert layout.format == "bioc"
    assert (row["document_id"], show(row["tokens"], row["tags"])) == ("7", "Ada/B-PER kam .")


def test_a_type_of_a_cas_that_is_no_name_by_its_own_must_be_named(tmp_path):
    (tmp_path / "a.xmi").write_text(CTAKES, "utf-8")

    with pytest.raises(UsageError, match=r"--tag-column TYPE \(org.example.text.Person"):
        read(tmp_path / "a.xmi")
    _, rows, _ = read(tmp_path / "a.xmi", tag_column="Person")

    assert shown(rows) == "👞 Ada/B-PER Lovelace/I-PER kam nach Łódź ."


@pytest.mark.parametrize(("name", "data"), [("a.spacy", b"x\x9cno"), ("a.xml", b"<GateDocument>")])
def test_a_damaged_file_is_rejected_with_the_reason(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)

    _, rows, made = read(tmp_path / name)

    assert not rows
    assert [(one.reason, "cannot be read as" in one.message) for one in made.rejected] == [
        ("malformed", True)
    ]


AIDA = """-DOCSTART- (1 EU)
EU\tB\tEU\t--NME--
rejects

Peter\tB\tPeter Blackburn\tP_B\turl\t1
Blackburn\tI\tPeter Blackburn\tP_B\turl\t1

-DOCSTART- (2 Rare)
Rare
things

-DOCSTART- ()
Alone
"""


def test_aida_is_read_with_its_documents(tmp_path):
    (tmp_path / "aida.tsv").write_text(AIDA)

    layout, rows, _ = read(tmp_path / "aida.tsv")

    assert layout.format == "aida"
    assert [(row["document_id"], show(row["tokens"], row["tags"])) for row in rows] == [
        ("1 EU", "EU/B-NAME rejects"),
        ("1 EU", "Peter/B-NAME Blackburn/I-NAME"),
        ("2 Rare", "Rare things"),
        ("aida.tsv", "Alone"),
    ]


@pytest.mark.parametrize(
    "line", ["Ada/B-PER Lovelace/I-PER sah 1/2/O ./O", "Ada/PER Lovelace/PER sah/O 1/2/O ./O"]
)
def test_tags_behind_slashes_are_read(tmp_path, line):
    line = line.replace("sah ", "sah/O ")
    (tmp_path / "a.txt").write_text(f"{line}\nEr/O kam/O heute/O ./O\n" * 3)

    layout, rows, _ = read(tmp_path / "a.txt")

    assert layout.format == "slashes"
    assert show(rows[0]["tokens"], rows[0]["tags"]) == "Ada/B-PER Lovelace/I-PER sah 1/2 ."


def test_parts_of_speech_behind_slashes_are_no_names(tmp_path):
    (tmp_path / "a.txt").write_text("迈向/v 充满/v 希望/n 的/u 新/a 世纪/n\n" * 5)

    with pytest.raises(UsageError, match="in no format that is known"):
        read(Path(tmp_path / "a.txt"))
