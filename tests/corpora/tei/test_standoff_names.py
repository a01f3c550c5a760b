"""Names beside the text, and spans that reach up to an anchor."""

import pytest

from corpora.store.inspection import mark
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.places import read_source
from corpora.tei.reader import read_tei
from corpora.tei.source import Source

LABELS = """
[labels]
person = ["annotation[@ana='#person']", "span[@type='person']", "milestone[@unit='person']"]
place = ["placeName", "spanGrp[@type='place']/span"]
"""


@pytest.fixture
def edition(tmp_path):
    (tmp_path / "x.toml").write_text(LABELS)
    return load_edition(tmp_path / "x.toml")


def read(xml, edition, *, beside=""):
    data = f"<TEI><text><body>{xml}</body></text>{beside}</TEI>".encode()
    [text] = read_tei(data, edition, name="x.xml")
    return text


def test_annotations_in_stand_off_become_mentions_of_what_they_point_to(edition):
    xml = '<p><w xml:id="a">Ida</w> <w xml:id="b">Roth</w> in <anchor xml:id="c"/>Bad Ulm.</p>'
    beside = (
        '<standOff><listAnnotation><annotation ana="#person" target="#a #b" ref="#p1"/>'
        '</listAnnotation><spanGrp type="place"><span from="#c" to="#e">x</span></spanGrp>'
        "</standOff>"
    )
    xml = xml.replace("Ulm.", 'Ulm<anchor xml:id="e"/>.')

    document = read(xml, edition, beside=beside).document

    assert mark(document) == "[Ida Roth|person|x:p1] in [Bad Ulm|place]."
    assert document.mentions[0].attributes["element"] == "annotation"


@pytest.mark.parametrize(
    ("xml", "marked"),
    [
        (
            """<p><anchor xml:id="a"/>Ida <hi>R<anchor xml:id="b"/></hi>oth.</p>
            <spanGrp><span type="person" from="#a" to="#b">Ida R.</span></spanGrp>""",
            "[Ida R|person]oth.",
        ),
        (
            '<p>Frau <milestone unit="person" spanTo="#z"/>Ida</p><p>Roth<anchor xml:id="z"/>.</p>',
            "Frau [Ida\nRoth|person].",
        ),
    ],
)
def test_span_groups_and_milestones_point_into_the_text_and_are_none(xml, marked, edition):
    assert mark(read(xml, edition).document) == marked


@pytest.mark.parametrize(
    ("xml", "name"),
    [
        ("<p>Ahlen-<anchor xml:id='a'/><lb break='no'/>steg<anchor xml:id='b'/> kam</p>", "steg"),
        ("<p><anchor xml:id='a'/>Ahlen-<anchor xml:id='b'/><lb break='no'/>steg kam</p>", "Ahlen"),
    ],
)
def test_a_hyphen_that_is_removed_before_an_anchor_moves_no_name(xml, name, edition):
    beside = "<standOff><spanGrp><span type='person' from='#a' to='#b'/></spanGrp></standOff>"

    document = read(xml, edition, beside=beside).document

    assert document.text == "Ahlensteg kam"
    [mention] = document.mentions
    assert document.text[mention.start : mention.end] == name


def test_a_pointer_that_leads_nowhere_is_counted(edition):
    text = read(
        '<p>Ida <milestone unit="person" spanTo="#q"/>Roth</p>',
        edition,
        beside='<standOff><annotation ana="#person" target="#no"/></standOff>',
    )

    assert not text.document.mentions
    assert text.counters["names that point nowhere: annotation"] == 1
    assert text.counters["names that point nowhere: milestone"] == 1


@pytest.mark.parametrize(
    ("target", "n"),
    [
        ("string-range(#p,0,3)", 1),
        ("#string-range(p,0,3)", 1),
        ("match(#p,'Ida')", 1),
        ("b.xml#p", 1),
        ("https://example.org/ida", 0),
        ("", 0),
    ],
)
def test_a_pointer_that_is_not_read_is_counted_and_an_address_is_none(target, n, edition):
    beside = f'<standOff><annotation ana="#person" target="{target}"/></standOff>'

    counters = read('<p xml:id="p">Ida</p>', edition, beside=beside).counters

    assert counters["names that point nowhere: annotation"] == n


@pytest.mark.parametrize("documents", ["each = ['note']", "notes = ['note']"])
def test_a_pointer_into_a_part_that_is_a_document_leads_there_and_others_are_counted(
    documents, tmp_path
):
    (tmp_path / "x.toml").write_text(f"{LABELS}[documents]\n{documents}\n")
    xml = '<p>Er.<note><w xml:id="a">Ida</w> kam.</note> <w xml:id="b">Roth</w> auch.</p>'
    names = "".join(f'<annotation ana="#person" target="#{id}"/>' for id in ("a", "b", "no"))
    data = f"<TEI><text>{xml}</text><standOff>{names}</standOff></TEI>".encode()

    texts = read_tei(data, load_edition(tmp_path / "x.toml"), name="x.xml")

    assert [mark(t.document) for t in texts] == ["Er. [Roth|person] auch.", "[Ida|person] kam."]
    counts = [t.counters["names that point nowhere: annotation"] for t in texts]
    assert counts == [1, 0]


def test_deleted_spans_are_left_out_and_added_ones_read():
    xml = (
        '<p>Er <delSpan spanTo="#d"/>ging <placeName>Ulm</placeName><note>N</note></p><p>fort'
        '<anchor xml:id="d"/> kam<addSpan spanTo="#e"/> heim<anchor xml:id="e"/>.</p>'
    )

    text = read(xml, load_edition(edition_path("tei")))

    assert text.document.text == "Er\nkam heim."
    assert text.counters["left out: delSpan (characters)"] == 11
    assert not text.document.mentions


def test_a_deletion_whose_end_is_nowhere_takes_no_text_away():
    text = read('<p>Er <delSpan spanTo="#d"/>ging.</p>', load_edition(edition_path("tei")))

    assert text.document.text == "Er ging."
    assert text.counters["spanTo leads nowhere: delSpan"] == 1


def test_characters_know_their_places_beside_a_deleted_span(edition):
    xml = '<p>Er <delSpan spanTo="#d"/>ging <anchor xml:id="d"/>kam.</p>'
    source = Source(f"<TEI><text>{xml}</text></TEI>".encode(), name="x.xml")

    [(text, places)] = read_source(source, edition)

    found = [places[n] for n in range(len(text.document.text))]
    assert "".join(source.text[p.start] for p in found if p) == "Erkam."
