"""Texts with names in tags."""

import re

import pytest

from corpora.errors import UsageError
from corpora.ner.detection import Overrides
from corpora.ner.files import describe
from tests.corpora.ner.reading import read, show, write

HAREM = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE colHAREM [
<!ELEMENT EM (#PCDATA)>
]>
<!-- <EM CATEG="X">a comment</EM> of
two lines --><colHAREM versao="2">
<DOC DOCID="H2-1">
  <P>
    Em
    <EM ID="1" CATEG="LOCAL" TIPO="HUMANO">Rio de
    Janeiro</EM>
    (
    <EM ID="2" CATEG="LOCAL|ORGANIZACAO">Brasil</EM>
    ) canta
    <ALT><EM ID="3" CATEG="PESSOA">Ana Sá</EM> | <EM ID="4" CATEG="PESSOA">Ana</EM> Sá</ALT>.
  </P>
</DOC>
<DOC DOCID="H2-2">
  <P>Nada &amp; <i>tudo</i> &lt; 3.</P>
</DOC>
</colHAREM>
"""


def shown(rows):
    return [show(row["tokens"], row["tags"]) for row in rows]


@pytest.mark.parametrize("text", [HAREM, HAREM.replace("\n", "\r\n")])
def test_harem_has_documents_paragraphs_and_alternatives(tmp_path, text):
    layout, rows, made = read(write(tmp_path / "a.xml", text))

    assert layout.format == "markup"
    assert shown(rows) == [
        (
            "Em Rio/B-LOCAL de/I-LOCAL Janeiro/I-LOCAL ( Brasil/B-LOCAL|ORGANIZACAO ) canta "
            "Ana/B-PESSOA Sá/I-PESSOA ."
        ),
        "Nada & tudo < 3 .",
    ]
    assert [row["document_id"] for row in rows] == ["H2-1", "H2-2"]
    assert made.counters["names in other alternatives not in ner: PESSOA"] == 1


def test_sgml_may_have_labels_as_elements_and_paragraphs_over_lines(tmp_path):
    text = (
        "<DOC>\n<DOCID>HAREM-1</DOCID>\n<GENERO>Web</GENERO>\n<TEXTO>\n"
        'A <ORGANIZACAO TIPO="SUB" MORF="F,S">Unidade do\nHospital</ORGANIZACAO> é grande.\n'
        'Fica em <LOCAL|PESSOA TIPO="X">Lisboa</LOCAL|PESSOA>.\n</TEXTO>\n</DOC>\n'
    )

    _, rows, _ = read(write(tmp_path / "a.xml", text))

    assert " ".join(shown(rows)) == (
        "A Unidade/B-ORGANIZACAO do/I-ORGANIZACAO Hospital/I-ORGANIZACAO é grande . "
        "Fica em Lisboa/B-LOCAL|PESSOA ."
    )
    assert {row["document_id"] for row in rows} == {"HAREM-1"}


ENAMEX = (
    '<ENAMEX TYPE="PERSON">Ada</ENAMEX> kam.\n'
    "Sie sah <ENAMEX type='LOC'>Bad <ENAMEX TYPE=\"PERSON\"> Berg </ENAMEX></ENAMEX>.\n"
)


def test_lines_are_texts_and_names_may_nest(tmp_path):
    _, rows, _ = read(write(tmp_path / "a.xml", ENAMEX))

    assert shown(rows) == ["Ada/B-PERSON kam .", "Sie sah Bad/B-LOC Berg/I-LOC ."]
    assert show(rows[1]["tokens"], rows[1]["inner_tags"]) == "Sie sah Bad Berg/B-PERSON ."
    ids = [(row["id"], row["document_id"]) for row in rows]
    assert ids == [("a.xml:1#1", "a.xml"), ("a.xml:2#1", "a.xml")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('Er <ENAMEX TYPE="X">ging.', "<ENAMEX> is never closed"),
        ("Er</ENAMEX> ging.", "</ENAMEX> closes nothing"),
        ("Er \0 ging.", "a NUL"),
    ],
)
def test_a_broken_line_is_rejected_alone(tmp_path, line, problem):
    _, rows, made = read(write(tmp_path / "a.xml", ENAMEX * 100 + line + "\n" + ENAMEX))

    [rejected] = made.rejected
    assert rejected.position == "line 201"
    assert problem in rejected.message
    assert len(rows) == 202


def test_a_broken_document_is_rejected_alone(tmp_path):
    broken = HAREM.replace("</EM>\n    (", "\n    (")

    _, rows, made = read(write(tmp_path / "a.xml", broken))

    assert [r.position for r in made.rejected] == ["line 10"]
    assert shown(rows) == ["Nada & tudo < 3 ."]


def test_signs_that_are_no_tags_are_text(tmp_path):
    _, [row], _ = read(write(tmp_path / "a.xml", "Wenn 1 < 2 > 0, <PER>Ada</PER> &c. <3 kommt"))

    assert show(row["tokens"], row["tags"]) == "Wenn 1 < 2 > 0 , Ada/B-PER & c . < 3 kommt"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<TEI><p>Text <name type="x">Ada</name> text</p></TEI>', "TEI is read by onoma tei"),
        ('<s><m id="1" type="x"/>Ada<m id="1"/> kam aus <m id="2"/>Jena<m id="2"/>.</s>', "is XML"),
        ("<html><p>Text <q>Ada</q> text</p></html>", "is XML or SGML"),
        ('<a><b type="x">1</b><c>2</c></a>', "is XML or SGML"),
        ("Text with <i>markup</i> and <code>code</code> only.", "in no format that is known"),
    ],
)
def test_other_xml_is_refused(tmp_path, text, problem):
    with pytest.raises(UsageError, match=re.escape(problem)):
        describe(write(tmp_path / "a.xml", text), name="a.xml", overrides=Overrides())
