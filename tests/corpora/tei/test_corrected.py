"""Names that people corrected in another tool."""

from corpora.tei.corrected import LEFT, write_corrected
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.writer import TeiFile


def test_a_name_of_the_edition_that_the_tool_lacks_stays_and_is_counted():
    data = b"<TEI><text><body><p><persName>Ida</persName> in Ulm</p></body></text></TEI>"
    file = TeiFile.read(data, load_edition(edition_path("tei")), name="a.xml")

    written = write_corrected(file, {file.documents[0].id: ()})

    assert written.data == data
    assert written.counters == {LEFT: 1}
