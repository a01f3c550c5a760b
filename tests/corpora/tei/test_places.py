"""Where characters stand in the bytes of the file."""

import pytest

from corpora.tei.edition import edition_path, load_edition
from corpora.tei.writer import TeiFile

BODY = "<p>Ä &amp;\r\n  <hi>x</hi>&who;-<lb break='no'/>y<![CDATA[<z]]></p>"
FILE = (
    '<?xml version="1.0" encoding="{encoding}"?>\n<!DOCTYPE TEI [<!ENTITY who "ab">]>'
    f"<TEI><text>{BODY}<p>é</p></text></TEI>"
)


def bytes_of(places, index):
    """Return where the bytes of a character begin and end."""
    place = places[index]
    return place and (*places.source.bytes_at((place.start, place.end)),)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1"])
def test_each_character_knows_its_bytes(encoding):
    data = FILE.format(encoding=encoding.removesuffix("-sig").removesuffix("-be")).encode(encoding)
    edition = load_edition(edition_path("tei"))

    [(text, places)] = TeiFile.read(data, edition, name="x").texts

    plain = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(encoding, encoding)
    spans = [bytes_of(places, index) for index in range(len(places))]
    written = [span and data[slice(*span)].decode(plain) for span in spans]
    assert text.document.text == "Ä & xaby<z\né"
    expected = ["Ä", None, "&amp;", None, "x", "&who;", "&who;", "y", "<", "z", None, "é"]
    assert written == expected


def test_characters_that_one_element_stands_for_share_its_place(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text('[characters]\n"c[@n=\'3\']" = "..."\n')
    data = b"<TEI><text><p>a<c n='3'/></p></text></TEI>"

    [(text, places)] = TeiFile.read(data, load_edition(path), name="x").texts

    assert text.document.text == "a..."
    assert [data[slice(*bytes_of(places, i))] for i in range(4)] == [b"a", *[b"<c n='3'/>"] * 3]


def test_characters_beside_a_line_end_that_is_no_space_know_their_bytes():
    data = "<TEI><text><p>雒\r\n 邑<lb/>\n講 a\nb</p></text></TEI>".encode()

    [(text, places)] = TeiFile.read(data, load_edition(edition_path("tei")), name="x").texts

    spans = [bytes_of(places, index) for index in range(len(places))]
    assert text.document.text == "雒邑講 a b"
    assert [span and data[slice(*span)].decode() for span in spans] == [
        "雒", "邑", "講", None, "a", None, "b"
    ]  # fmt: skip
