"""Names are written into files that hold several documents."""

from corpora.document import Mention
from corpora.tei.edition import load_edition
from corpora.tei.reader import read_tei
from corpora.tei.writer import WriteOptions, write_predictions
from tests.corpora.tei.writer.written_names import MODEL, tei


def test_names_are_written_into_letters_of_a_volume_and_notes_of_their_own(tmp_path):
    (tmp_path / "e.toml").write_text(
        "[documents]\neach = [\"div[@type='letter']\"]\nnotes = ['note']\n"
        "[metadata]\nsent_by = ['persName']\n"
    )
    edition = load_edition(tmp_path / "e.toml")
    data = tei('<p>Ida</p><div type="letter"><p>Ida in Ulm<note>Ida Roth</note>.</p></div>')
    found = {}
    for text in read_tei(data, edition, name="x.xml"):
        document = text.document
        start = document.text.index("Ida")
        found[document.id] = [Mention(start, start + 3, label="person", origin="prediction")]

    result = write_predictions(
        data, edition, found, name="x.xml", model=MODEL, options=WriteOptions()
    )

    assert len(found) == 3
    assert result.data.count(b">Ida</persName>") == 3
    assert b"<note><persName" in result.data
