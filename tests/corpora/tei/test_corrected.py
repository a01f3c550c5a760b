"""Names that people corrected in another tool."""

import pytest

from corpora.document import Mention
from corpora.tei.corrected import LEFT, write_corrected
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.writer import TeiFile, WriteOptions, write_predictions

HEADER = "<teiHeader><fileDesc><titleStmt><title>T</title></titleStmt></fileDesc></teiHeader>"
TEXT = "<text><body><p><persName>Ida</persName> in Ulm</p></body></text>"
DATA = f"<TEI>{HEADER}{TEXT}</TEI>".encode()
TAGGER = Model(id="onoma-1", name="tagger", version="1", sha256="aa")
LINKER = Model(id="onoma-2", name="linker", version="1", sha256="bb", kind="linker")
IDA, ULM = Mention(0, 3, label="person"), Mention(7, 10, label="place")
LINKED = Mention(0, 3, label="person", entity="tei:p1")


@pytest.fixture(scope="module")
def edition():
    return load_edition(edition_path("tei"))


def enriched(edition, mention, *, model=TAGGER, **options):
    written = write_predictions(
        DATA,
        edition,
        {"a.xml": [mention]},
        name="a.xml",
        model=model,
        options=WriteOptions(**options),
    )
    return written.data


def corrected(data, edition, *mentions):
    return write_corrected(TeiFile.read(data, edition, name="a.xml"), {"a.xml": mentions})


def test_a_name_of_the_edition_that_the_tool_lacks_stays_and_is_counted(edition):
    written = corrected(DATA, edition)

    assert written.data == DATA
    assert written.counters == {LEFT: 1}


def test_a_reviewed_name_that_the_tool_lacks_stays_and_is_counted(edition):
    data = enriched(edition, ULM, reviewer="kb")

    written = corrected(data, edition, IDA)

    assert written.data == data
    assert written.counters == {LEFT: 1}


def test_a_changed_name_of_a_model_that_the_tool_lacks_stays_and_is_named(edition):
    data = enriched(edition, ULM).replace(b"<placeName", b'<placeName type="town"')

    written = corrected(data, edition, IDA)

    assert written.data.endswith(data[data.index(b"<text>") :])
    assert written.counters == {LEFT: 1}
    assert [one.text for one in written.kept] == ["Ulm"]


def test_an_id_that_only_the_tool_has_is_written(edition):
    linked = enriched(edition, LINKED, model=LINKER, references=True)
    other = Mention(0, 3, label="person", entity="tei:p2")

    for data in (DATA, linked):
        written = corrected(data, edition, other)

        assert b'<persName key="p2" resp="#onoma-corrected">Ida</persName>' in written.data
        assert written.skipped == []
        assert LEFT not in written.counters
    assert corrected(linked, edition, IDA).data == DATA
    assert corrected(linked, edition, LINKED).data == linked


def test_a_name_of_the_tool_without_a_label_is_not_passed_over(edition):
    written = corrected(DATA, edition, IDA, Mention(7, 10))

    assert written.data == DATA
    assert written.counters == {"skipped: no label": 1}


def test_a_name_that_an_edition_continues_stays_though_the_tool_lacks_it(edition):
    text = DATA.replace(b" in Ulm", b" in Bad <hi>Ulm oder</hi>")
    bad_ulm = {"a.xml": [IDA, Mention(7, 14, label="place")]}
    data = write_predictions(text, edition, bad_ulm, name="a.xml", model=TAGGER).data
    data = data.replace(b" oder", b' <placeName prev="#onoma-1.2">oder</placeName>')

    written = corrected(data, edition, IDA)

    assert written.data == data
    assert written.counters == {LEFT: 1}
