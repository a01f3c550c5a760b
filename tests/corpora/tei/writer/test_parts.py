"""Files that other files include: parts without a header, and ids that stay unique."""

import re

import pytest

from corpora.document import Mention
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.undo import undo
from corpora.tei.writer import WriteOptions, write_predictions
from tests.corpora.tei.writer.written_names import MODEL, tei

PART = b"<div><head>Ruth Holm</head><p>Ruth Holm kam nach <hi>Bad</hi> Jena</p></div>"
RUTH, JENA = Mention(0, 9, label="person"), Mention(29, 37, label="place")


@pytest.fixture(scope="module")
def edition():
    return load_edition(edition_path("tei"))


def write(data, edition, *mentions, name="a.xml", **options):
    given = WriteOptions(is_part=True, **options)
    of = {"name": name, "model": MODEL, "options": given}
    return write_predictions(data, edition, {name: mentions}, **of)


def test_names_are_written_into_a_part_without_a_header_and_undone(edition):
    first = write(PART, edition, RUTH, reviewer="kb")

    both = write(first.data, edition, JENA, reviewer="kb")

    assert both.data.startswith(b"<div><?onoma-by onoma-1.")
    assert both.data.count(b"<persName ") == both.data.count(b"<placeName ") == 1
    assert undo(both.data, name="a.xml", reviewer="kb") == PART
    assert undo(both.data, name="a.xml") == both.data
    assert undo(both.data, name="a.xml", resp=MODEL.id, reviewer="kb") == PART


def test_a_reviewer_has_an_id_of_the_file_and_takes_back_his_names_by_his_own(edition):
    data = tei("<p>Ruth Holm</p>")

    written = write(data, edition, RUTH, reviewer="kb")

    assert re.search(r'<respStmt xml:id="kb\.[0-9a-f]{4}" .*<name>kb</name>', written.data.decode())
    assert undo(written.data, name="a.xml", reviewer="kb") == data
