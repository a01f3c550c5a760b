"""Names beside the text; lxml counts the characters that the pointers mean."""

import re

import pytest
from lxml import etree

from corpora.document import Mention
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.undo import undo
from corpora.tei.writer import WriteOptions, write_predictions

MODEL = Model(id="onoma-1", name="tagger", version="3", sha256="ab12")
BEGIN = '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/><text><body>'
END = "</body></text></TEI>"


def write(body, name):
    data = (BEGIN + body + END).encode()
    edition = load_edition(edition_path("tei"))
    [text] = read_tei(data, edition, name="x")
    start = text.document.text.index(name)
    mention = Mention(start, start + len(name), label="person", score=0.5, entity="gnd:1")
    options = WriteOptions(crossing="standOff")
    written = write_predictions(
        data, edition, {"x": [mention]}, name="x", model=MODEL, options=options
    )
    return data, written


def meant(data, target):
    """Return the texts that a pointer means, by lxml.

    A pointer is an XPath or an id, then ranges of characters of the element's text.
    """
    name, numbers = re.fullmatch(r"#string-range\((.+?)((?:,\d+,\d+)+)\)", target).groups()
    path = name if name.startswith("/") else f"//*[@xml:id='{name}']"
    [element] = etree.fromstring(data).xpath(path)
    text = "".join(element.itertext())
    places = [int(number) for number in numbers.split(",")[1:]]
    return [text[s : s + n] for s, n in zip(places[::2], places[1::2], strict=True)]


@pytest.mark.parametrize(
    ("body", "pieces"),
    [
        ("<p>a <hi>b Go</hi>ethe kam</p>", ["Goethe"]),
        ("<p xml:id='p1'>a <hi>b Go</hi>ethe kam</p>", ["Goethe"]),
        ("<p>a <hi>b Go</hi><note>Wer?</note>ethe</p>", ["Go", "ethe"]),
        ("<p>a &amp; <hi>b &#71;o</hi>ethe</p>", ["Goethe"]),
        ("<p><w>xGoethe</w></p>", ["Goethe"]),
        ("<p><![CDATA[a & Goethe]]></p>", ["Goethe"]),
    ],
)
def test_the_pointer_means_the_name(body, pieces):
    data, written = write(body, "Goethe")

    tree = etree.fromstring(written.data)
    [span] = tree.iterfind(".//{*}standOff/{*}spanGrp/{*}span")
    assert meant(written.data, span.get("target")) == pieces
    assert (span.get("cert"), span.get("resp")) == ("0.5", "#onoma-1")
    [name] = span
    assert (etree.QName(name).localname, name.text) == ("persName", "Goethe")
    assert name.get("ref") == "http://d-nb.info/gnd/1"
    assert written.counters["written to standOff"] == 1
    assert undo(written.data, name="x") == data


def test_a_name_that_one_element_can_hold_stays_in_the_text():
    _, written = write("<p>a <hi>Goethe</hi></p>", "Goethe")

    assert b"standOff" not in written.data


def test_a_name_that_stands_there_already_is_not_added_again():
    _, first = write("<p>a <hi>b Go</hi>ethe kam</p>", "Goethe")
    body = first.data.decode().partition("<body>")[2].partition(END)[0]
    standoff = first.data.decode().partition("</text>")[2].partition("</TEI>")[0]
    edition = load_edition(edition_path("tei"))
    mention = Mention(4, 10, label="person")

    again = write_predictions(
        first.data, edition, {"x": [mention]}, name="x", model=MODEL,
        options=WriteOptions(crossing="standOff"),
    )  # fmt: skip

    assert body in again.data.decode()
    assert standoff in again.data.decode()
    assert [skipped.reason for skipped in again.skipped] == ["a name is there already"]
