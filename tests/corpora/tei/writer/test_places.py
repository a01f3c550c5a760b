"""Where names are written into TEI: each case is a piece of a text before and after."""

import re

import pytest

from corpora.document import Mention
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from corpora.tei.undo import undo
from tests.corpora.tei.writer.written_names import ROOT, body, find, reasons, tei, write

SAMPLES = sorted(
    file for folder in ("tei", "letters") for file in (ROOT / "tests/data" / folder).glob("*.xml")
)


PLACES = {
    "in plain text": (
        "<p>der alte Goethe kam</p>",
        "<p>der alte <persName>Goethe</persName> kam</p>",
    ),
    "inside the element that holds it": (
        "<p><hi>Goethe</hi> kam</p>",
        "<p><hi><persName>Goethe</persName></hi> kam</p>",
    ),
    "around an element that it ends in": (
        "<p>von Go<hi>ethe</hi> kam</p>",
        "<p>von <persName>Go<hi>ethe</hi></persName> kam</p>",
    ),
    "around elements within elements": (
        "<p><hi><add>Go</add></hi>e<hi>the</hi> kam</p>",
        "<p><persName><hi><add>Go</add></hi>e<hi>the</hi></persName> kam</p>",
    ),
    "split where an element begins with other text": (
        "<p><hi>von Go</hi>ethe kam</p>",
        (
            '<p><hi>von <persName xml:id="onoma-1.1" next="#onoma-1.2">Go</persName></hi>'
            '<persName xml:id="onoma-1.2" prev="#onoma-1.1">ethe</persName> kam</p>'
        ),
    ),
    "around a word that is a name, where no name may stand in the word": (
        "<p>Goe</p><p><w><placeName ref='#g'>the</placeName></w></p>",
        (
            '<p><persName xml:id="onoma-1.1" next="#onoma-1.2">Goe</persName></p>'
            '<p><persName xml:id="onoma-1.2" prev="#onoma-1.1">'
            "<w><placeName ref='#g'>the</placeName></w></persName></p>"
        ),
    ),
    "with all markup inside": (
        "<p>Go<!-- ' --><?x y?><pb n='1'/><lb break='no'/>ethe</p>",
        "<p><persName>Go<!-- ' --><?x y?><pb n='1'/><lb break='no'/>ethe</persName></p>",
    ),
    "with the hyphen at a line end inside": (
        "<p>Goe-<lb/>the</p>",
        "<p><persName>Goe-<lb/>the</persName></p>",
    ),
    "with a note inside, whose text stands elsewhere": (
        "<p>Go<note>Wer?</note>ethe</p>",
        "<p><persName>Go<note>Wer?</note>ethe</persName></p>",
    ),
    "inside a note": (
        "<p>Wer?<note><p>Goethe</p></note></p>",
        "<p>Wer?<note><p><persName>Goethe</persName></p></note></p>",
    ),
    "around a choice of which it needs all that is read": (
        "<p><choice><abbr>G.</abbr><expan>Goe</expan></choice>the</p>",
        "<p><persName><choice><abbr>G.</abbr><expan>Goe</expan></choice>the</persName></p>",
    ),
    "inside a choice": (
        "<p><choice><abbr>G.</abbr><expan>Goethe</expan></choice></p>",
        "<p><choice><abbr>G.</abbr><expan><persName>Goethe</persName></expan></choice></p>",
    ),
    "around a word, which may hold no name": (
        "<p><w>Goethe</w> kam</p>",
        "<p><persName><w>Goethe</w></persName> kam</p>",
    ),
    "around what holds characters alone": (
        "<p>in <ident>Goethe</ident>, <geo>51.3 12.4</geo></p>",
        "<p>in <persName><ident>Goethe</ident></persName>, <geo>51.3 12.4</geo></p>",
    ),
    "in each utterance by itself": (
        "<p>x</p><u>Herr Goe</u><u>the kam</u>",
        (
            '<p>x</p><u>Herr <persName xml:id="onoma-1.1" next="#onoma-1.2">Goe</persName></u>'
            '<u><persName xml:id="onoma-1.2" prev="#onoma-1.1">the</persName> kam</u>'
        ),
    ),
    "around a CDATA section": (
        "<p>x <![CDATA[Goethe]]></p>",
        "<p>x <persName><![CDATA[Goethe]]></persName></p>",
    ),
    "with references": (
        "<p>&#71;oeth&#x65; kam</p>",
        "<p><persName>&#71;oeth&#x65;</persName> kam</p>",
    ),
    "in a name that is there": (
        "<p><placeName>Goethehaus</placeName></p>",
        "<p><placeName><persName>Goethe</persName>haus</placeName></p>",
    ),
    "in a name without a class": (
        "<p><rs>Goethe</rs></p>",
        "<p><rs><persName>Goethe</persName></rs></p>",
    ),
    "with CRLF as it is": (
        "<p>\r\n Goethe\r\n kam</p>",
        "<p>\r\n <persName>Goethe</persName>\r\n kam</p>",
    ),
    "in a division that holds text against TEI": (
        "<div>Lieber Goethe!<lb/><p>Ja</p></div>",
        "<div>Lieber <persName>Goethe</persName>!<lb/><p>Ja</p></div>",
    ),
    "over an element in such a division": (
        "<div>Lieber Goe<hi>the</hi>!</div>",
        "<div>Lieber <persName>Goe<hi>the</hi></persName>!</div>",
    ),
    "inside each item and not in the list": (
        "<list><item>Goe</item> <item>the</item></list>",
        (
            '<list><item><persName xml:id="onoma-1.1" next="#onoma-1.2">Goe</persName></item> '
            '<item><persName xml:id="onoma-1.2" prev="#onoma-1.1">the</persName></item></list>'
        ),
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_name_is_written(case, edition):
    before, after = PLACES[case]
    data = tei(before)

    written = write(data, edition, find(data, edition, "Goethe"))

    assert reasons(written) == []
    assert body(written) == after
    assert undo(written.data, name="x.xml") == data


@pytest.mark.parametrize(
    ("text", "start", "end", "reason"),
    [
        ("<p>a <persName>Goethe</persName></p>", 2, 8, "a name is there already"),
        ("<p>a <persName>Goethe</persName></p>", 0, 4, "crosses a name that is there"),
        ("<p>Goethe</p>", 4, 9, "leaves the text"),
        ("<p>a Goethe</p>", 1, 8, "begins or ends with white space"),
        ("<p><w>Goethe</w></p>", 0, 3, "no name may stand inside w"),
        ("<p><locus>Goethe 1r</locus></p>", 0, 6, "no name may stand inside locus"),
        ("<p><![CDATA[Goethe]]></p>", 0, 3, "no name may stand inside a CDATA section"),
        ("<p>a<c n='3'/></p>", 0, 2, "cuts what one entity reference or element stands for"),
        ("<p>a<note>b</note> c</p>", 2, 5, "goes on in a part that stands elsewhere in the file"),
    ],
)
def test_a_name_without_a_place_is_skipped_with_a_reason(text, start, end, reason, edition):
    data = tei(text)

    written = write(data, edition, Mention(start, end, label="person"))

    assert reasons(written) == [reason]
    assert written.data == data


def test_an_entity_is_never_parted(edition):
    data = b"<!DOCTYPE TEI [<!ENTITY who 'von Goethe'>]>" + tei("<p>Herr &who; kam</p>")

    part = write(data, edition, find(data, edition, "Goethe"))
    whole = write(data, edition, find(data, edition, "Herr von Goethe"))

    assert reasons(part) == ["cuts what one entity reference or element stands for"]
    assert body(whole) == "<p><persName>Herr &who;</persName> kam</p>"


def test_predictions_that_are_doubtful_double_or_crossing_are_skipped(edition):
    data = tei("<p>Johann Wolfgang Goethe</p>")
    name = find(data, edition, "Johann Wolfgang", score=0.9)
    crossing = find(data, edition, "Wolfgang Goethe", score=0.9)
    doubtful = find(data, edition, "Goethe", score=0.4)

    written = write(data, edition, name, name, crossing, doubtful, threshold=0.5)

    assert sorted(reasons(written)) == [
        "below the threshold",
        "crosses another prediction",
        "given twice",
    ]
    assert written.written == 1


def test_nested_predictions_are_nested_even_in_fragments(edition):
    data = tei("<p><hi>von Goe</hi>the <hi>in</hi> Jena</p>")
    inner = find(data, edition, "Goethe")
    outer = find(data, edition, "Goethe in Jena", label="event", entity=None)

    written = write(data, edition, inner, outer)

    [text] = read_tei(written.data, edition, name="x.xml")
    assert reasons(written) == []
    assert [(m.start, m.end, m.label) for m in text.document.mentions] == [
        (outer.start, outer.end, "event"),
        (inner.start, inner.end, "person"),
    ]


def test_one_name_that_would_change_the_text_does_not_keep_the_others_out(edition):
    # A tag after "und" makes it look like a conjunction: the hyphen would be read as suspended.
    data = tei("<p xml:lang='de'>Kultur-<lb/>undine und Goethe</p>").replace(
        b"<TEI ", b"<TEI xml:lang='de' "
    )
    bad, good = find(data, edition, "Kulturund"), find(data, edition, "Goethe")

    written = write(data, edition, bad, good)

    assert reasons(written) == ["the text would be read differently"]
    assert b">Goethe</persName>" in written.data


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_word_of_every_sample_is_written_or_explained(file):
    data, edition = file.read_bytes(), load_edition(edition_path("tei"))
    [text] = read_tei(data, edition, name="x.xml")
    words = re.finditer(r"\w+", text.document.text)
    names = [Mention(*word.span(), label="person") for word in words]

    written = write(data, edition, *names)

    explained = {
        "a name is there already",
        "crosses a name that is there",
        "cuts what one entity reference or element stands for",
        "no name may stand inside a CDATA section",
        "in or around a name of the same label",
        "other names would be read differently",  # around two of the three pieces of a name
    }
    assert set(reasons(written)) <= explained
    assert undo(written.data, name="x.xml") == data
