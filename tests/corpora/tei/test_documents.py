"""Several documents of a file, and what they know of themselves."""

import pytest

from corpora.datasets.shards import open_dataset
from corpora.errors import UsageError
from corpora.tei.edition import load_edition
from corpora.tei.places import read_source
from corpora.tei.reader import read_tei
from corpora.tei.source import Source
from pipelines.tei_to_ner import main

HEADER = """<teiHeader><fileDesc><titleStmt><title>Band 1</title></titleStmt></fileDesc>
<profileDesc><correspDesc><correspAction type="sent"><persName ref="#p1">Ida A</persName>
<orgName>Verlag B</orgName><persName key="p3">Carl C</persName><placeName ref="#o1">Ulm</placeName>
<date notBefore="1901-05" notAfter="1901-07">im Sommer</date></correspAction></correspDesc>
</profileDesc></teiHeader>"""
VOLUME = f"""<TEI xml:lang="de">{HEADER}<text><body><p>Vorwort.</p>
<div type="letter" xml:id="b1"><head>An Ida</head><dateline><date when="1901-05-02"/></dateline>
<p>Ulm ist schön.<note type="c" n="1">Ulm: <placeName>Ulm</placeName>.</note> Ja.</p></div>
<pb n="7"/><div type="letter"><p>Rom<note>eigene</note></p></div></body></text></TEI>"""
EDITION = """
[documents]
each = ["div[@type='letter']"]
notes = ["note[@type='c']"]
[metadata]
date = ["dateline/date", "correspAction/date/@notBefore"]
title = ["head", "titleStmt/title"]
archive = ["repository"]
"""


@pytest.fixture
def edition(tmp_path):
    def load(toml):
        (tmp_path / "mine.toml").write_text(toml, "utf-8")
        return load_edition(tmp_path / "mine.toml")

    return load


def read(edition, xml=VOLUME):
    return [t.document for t in read_tei(xml.encode(), edition, name="v.xml") if t.document]


def test_each_letter_of_a_volume_and_each_note_is_a_document_and_no_text_is_lost(edition):
    documents = {document.id: document for document in read(edition(EDITION))}

    assert {id: document.text for id, document in documents.items()} == {
        "v.xml": "Vorwort.",
        "v.xml#b1": "An Ida\nUlm ist schön. Ja.",
        "v.xml#div1": "Rom\neigene",
        "v.xml#note1": "Ulm: Ulm.",
    }
    assert [documents[id].title for id in documents] == ["Band 1", "An Ida", "Band 1", "An Ida"]
    assert documents["v.xml#div1"].metadata["page"] == "7"
    [mention] = documents["v.xml#note1"].mentions
    assert mention.attributes["in"] == "note"


def test_a_note_is_tied_to_its_place(edition):
    documents = {document.id: document for document in read(edition(EDITION))}

    metadata = documents["v.xml#note1"].metadata
    text = documents[metadata["in_document"]].text
    assert text[: int(metadata["at"])].endswith("Ulm ist schön.")
    assert VOLUME.encode()[int(metadata["byte"]) :].startswith(b'<note type="c"')


def test_white_space_is_kept_in_parts_of_what_says_so(edition):
    notes = '<note>c  d</note><note type="c">e  f</note><note xml:space="default">g  h</note>'
    xml = (
        f'<TEI><text><body><div xml:space="preserve"><p>a  b{notes}</p></div>'
        "<p>i  j<note>k  l</note></p></body></text></TEI>"
    )

    whole, note = read(edition(EDITION), xml)

    assert whole.text.splitlines() == ["a  b", "i j", "c  d", "g h", "k l"]
    assert note.text == "e  f"


def test_metadata_is_found_where_the_edition_says_first_in_the_letter_then_in_the_header(edition):
    documents = {document.id: document for document in read(edition(EDITION))}

    assert documents["v.xml#b1"].metadata["date"] == "1901-05-02"
    assert documents["v.xml#div1"].metadata["date"] == "1901-05"
    assert "archive" not in documents["v.xml#b1"].metadata


def test_metadata_of_a_letter_is_not_that_of_the_notes_in_it_which_are_documents(edition):
    note = '<note type="c"><dateline><date when="1950"/></dateline>So der Herausgeber.</note>'
    xml = VOLUME.replace("<p>Rom<note>eigene</note>", f"<p>{note}Rom")

    documents = {document.id: document for document in read(edition(EDITION), xml)}

    assert documents["v.xml#div1"].metadata["date"] == "1901-05"
    assert documents["v.xml#note2"].metadata["date"] == "1950"
    whole = read(edition(EDITION.replace("each = ", "# ")), xml)[0]
    assert whole.metadata["date"] == "1901-05-02"  # the first outside notes


def test_all_senders_with_their_ids_and_both_bounds_of_a_date_are_kept(edition):
    [document] = read(edition(""))

    sent = {key: value for key, value in document.metadata.items() if key.startswith("sent_")}
    assert sent == {
        "sent_by": "Ida A; Verlag B; Carl C",
        "sent_by_ref": "#p1; ; p3",
        "sent_place": "Ulm",
        "sent_place_ref": "#o1",
        "sent_date": "1901-05",
        "sent_date_not_before": "1901-05",
        "sent_date_not_after": "1901-07",
    }


def test_what_several_senders_and_empty_elements_say_is_one_letter(edition):
    second = """<correspAction type="sent"><persName>Dora D</persName><placeName/>
<placeName>Rom</placeName><date/><date when="1905-01-01"/></correspAction></correspDesc>"""

    [both] = read(edition(""), VOLUME.replace("</correspDesc>", second))
    first = HEADER[HEADER.index("<correspAction") : HEADER.index("</profileDesc>")]
    again = second.replace("Dora D", "Carl C").replace("<persName>", '<persName key="p3">')
    [once] = read(edition(""), VOLUME.replace("</correspDesc>", again))
    assert once.metadata["sent_by"] == "Ida A; Verlag B; Carl C"
    [only] = read(edition(""), VOLUME.replace(first, second))

    assert both.metadata["sent_by"] == "Ida A; Verlag B; Carl C; Dora D"
    assert (both.metadata["sent_place"], both.metadata["sent_date"]) == ("Ulm", "1901-05")
    assert both.metadata["sent_date_not_after"] == "1901-07"
    assert (only.metadata["sent_place"], only.metadata["sent_date"]) == ("Rom", "1905-01-01")


def test_a_rule_outweighs_what_is_read_anyway_with_its_ids_and_bounds(edition):
    mine = edition('[metadata]\nsent_by = ["signed"]\nsent_date = ["dateline/date"]\n')
    xml = VOLUME.replace("Vorwort.", "</p><signed>Dora D</signed><p>")

    [document] = read(mine, xml)

    sent = {key: value for key, value in document.metadata.items() if key.startswith("sent_")}
    assert sent == {
        "sent_by": "Dora D",
        "sent_place": "Ulm",
        "sent_place_ref": "#o1",
        "sent_date": "1901-05-02",
    }


def test_every_character_of_every_document_knows_its_place_in_the_file(edition):
    source = Source(VOLUME.encode(), name="v.xml")

    for text, places in read_source(source, edition(EDITION)):
        document = text.document
        found = [places[n] for n in range(len(document.text))]
        written = "".join(source.text[p.start : p.end] for p in found if p)
        assert written.replace(" ", "") == "".join(document.text.split())


def test_a_rule_with_a_typo_is_an_error_with_its_line(edition):
    with pytest.raises(UsageError, match=r"mine.toml:2: .*cannot read"):
        edition('[metadata]\ndate = ["date[@when=x]"]\n')


def test_letters_of_one_file_go_to_different_splits_and_notes_with_their_letter(tmp_path):
    letters = "".join(
        f'<div type="letter" xml:id="b{n}"><p>Ulm {n}.<note type="c">Ja.</note></p></div>'
        for n in range(30)
    )
    (tmp_path / "v.xml").write_text(f"<TEI><text><body>{letters}</body></text></TEI>")
    (tmp_path / "mine.toml").write_text(EDITION)
    command = ["--input", str(tmp_path / "v.xml"), "--edition", str(tmp_path / "mine.toml")]

    assert main([*command, "--output", str(tmp_path / "out")]) == 0

    documents = {d.id: d for d in open_dataset(tmp_path / "out" / "documents").records()}
    split_of = {s.document_id: s.split for s in open_dataset(tmp_path / "out" / "ner").records()}
    assert len(documents) == 60
    assert set(split_of.values()) == {"train", "dev", "test"}
    for id, document in documents.items():
        if "#note" in id:
            assert split_of[id] == split_of[document.metadata["in_document"]]


def test_a_note_at_a_hyphen_that_is_removed_stands_where_the_word_goes_on(edition):
    data = b"<TEI><text><body><p>Ahlen-<note>N</note><lb break='no'/>steg</p></body></text></TEI>"

    letter, note = read_tei(data, edition('[documents]\nnotes = ["note"]\n'), name="a.xml")

    assert letter.document.text == "Ahlensteg"
    assert note.document.metadata["at"] == "5"
