"""Names written into TEI beside those that are there, of people or of an earlier run."""

import pytest

from corpora.document import Mention
from corpora.tei.decisions import DecidedName, Decision, Decisions
from corpora.tei.undo import CHANGED, take_out, undo
from corpora.tei.writer import TeiFile, WriteOptions
from tests.corpora.tei.writer.written_names import MODEL, body, find, reasons, tei, write


def test_only_new_leaves_every_touched_name_alone(edition):
    data = tei("<p><placeName>Goethehaus</placeName> Walden</p>")
    nested, free = find(data, edition, "Goethe"), find(data, edition, "Walden")

    written = write(data, edition, nested, free, existing="only-new")

    assert reasons(written) == ["touches a name that is there"]
    assert body(written) == "<p><placeName>Goethehaus</placeName> <persName>Walden</persName></p>"


def test_replace_predicted_writes_what_is_written_into_the_original(edition):
    data = tei("<p>Goethe und <persName>Walden</persName></p>")
    first = write(data, edition, find(data, edition, "und"))
    name = find(data, edition, "Goethe")

    again = write(first.data, edition, name, existing="replace-predicted")

    assert again.data == write(data, edition, name).data


def test_a_second_run_of_the_same_model_adds_nothing(edition):
    data = tei("<p><hi>von Go</hi>ethe und Walden</p>")
    names = [find(data, edition, "Goethe"), find(data, edition, "Walden")]
    once = write(data, edition, *names)

    twice = write(once.data, edition, *names)

    assert twice.data == once.data
    assert reasons(twice) == ["a name is there already"] * 2


def test_a_second_run_that_finds_more_says_once_who_found_it(edition):
    data = tei("<p><hi>von Go</hi>ethe und <hi>von Wal</hi>den</p>")
    once = write(data, edition, find(data, edition, "Goethe"))

    twice = write(once.data, edition, find(data, edition, "Walden"))

    both = write(data, edition, *(find(data, edition, n) for n in ("Goethe", "Walden")))
    assert body(twice) == body(both)
    assert twice.data.count(b"<respStmt ") == twice.data.count(b"<application ") == 1
    assert twice.data.count(b"<change ") == 2
    assert undo(twice.data, name="x.xml") == data


@pytest.mark.parametrize(
    ("name", "entity", "is_written"),
    [
        ("Goethe", None, False),
        ("Herr von Goethe", None, False),
        ("Goethe", "gnd:2", True),
        ("Goethe", "gnd:1", False),
    ],
)
def test_no_name_of_a_label_stands_in_or_around_one_of_the_same(name, entity, is_written, edition):
    gnd = "http://d-nb.info/gnd/1"
    data = tei(f"<p>Herr <persName ref='{gnd}'>von Goethe</persName> kam</p>")

    written = write(data, edition, find(data, edition, name, entity=entity))

    assert reasons(written) == ["in or around a name of the same label"] * (not is_written)


def test_a_name_of_another_label_may_stand_in_a_name(edition):
    data = tei("<p><orgName>Verein in Jena</orgName></p>")

    written = write(data, edition, find(data, edition, "Jena", label="place"))

    assert "<orgName>Verein in <placeName>Jena</placeName></orgName>" in body(written)


CHANGES = {
    "a reference": ('cert="0.5"', 'ref="#g" cert="0.5"'),
    "a certainty": ('cert="0.5"', 'cert="high"'),
    "a label": ("persName", "placeName"),
    "a boundary": (">Goethe</persName>", ">Goe</persName>the"),
    "a word": (">Goethe<", ">Göthe<"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_predicted_name_that_somebody_changed_stays_and_is_named(change, edition):
    data = tei("<p>Goethe und Walden</p>")
    names = [find(data, edition, name, score=0.5) for name in ("Goethe", "Walden")]
    once = write(data, edition, *names).data
    start, end = once.index(b"<persName"), once.index(b"und <")
    part = once[start:end].decode().replace(*CHANGES[change])
    edited = once[:start] + part.encode() + once[end:]

    undone = take_out(edited, name="x.xml")
    again = write(edited, edition, names[1], existing="replace-predicted")

    [kept] = undone.kept
    assert (kept.reason, kept.line, undone.n_taken) == (CHANGED, 1, 1)
    assert part.strip().encode() in undone.data
    assert b">Walden</persName>" not in undone.data
    assert part.strip().encode() in again.data
    assert again.counters["predicted names that stay, for somebody changed them"] == 1
    assert undo(undone.data, name="x.xml") == undone.data


def test_white_space_and_the_order_of_attributes_are_no_change(edition):
    data = tei("<p>Anna Berg</p>")
    once = write(data, edition, find(data, edition, "Anna Berg", score=0.5)).data
    formatted = once.replace(b'cert="0.5" resp="#onoma-1"', b"resp='#onoma-1'  cert='0.5'")
    formatted = formatted.replace(b"Anna Berg", b"Anna\n  Berg")

    assert undo(formatted, name="x.xml") == data.replace(b"Anna Berg", b"Anna\n  Berg")


def test_a_name_in_pieces_stays_whole_where_one_was_changed(edition):
    data = tei("<p><hi>von Go</hi>ethe und Walden</p>")
    once = write(data, edition, find(data, edition, "Goethe")).data
    edited = once.replace(b">Go<", b' ref="#g">Go<')

    undone = take_out(edited, name="x.xml")

    assert undone.data.count(b"<persName") == len(undone.kept) == 2


def test_a_reviewer_answers_for_a_name_beside_the_model(edition):
    data = tei("<p>Goethe und Walden</p>")
    options = {"reviewer": "kb", "date": "2026-03-01"}

    once = write(data, edition, find(data, edition, "Goethe", score=0.5), **options).data
    twice = write(once, edition, find(data, edition, "Walden"), **options).data

    assert b'<persName cert="0.5" resp="#onoma-1 #kb">Goethe</persName>' in once
    assert b'<respStmt xml:id="kb" resp="#onoma-1"><resp>names reviewed</resp>' in once
    assert b'<change when="2026-03-01" resp="#onoma-1 #kb">1 name written by Onoma,' in once
    assert twice.count(b'xml:id="kb"') == 1
    assert undo(once, name="x.xml") == once  # a person answers for it
    assert undo(twice, name="x.xml", reviewer="kb") == data
    replaced = write(twice, edition, existing="replace-predicted")
    assert replaced.data == twice


def test_a_reviewer_whom_the_header_knows_is_pointed_to(edition):
    data = tei("<p xml:id='kb'>Goethe</p>")

    written = write(data, edition, find(data, edition, "Goethe"), reviewer="kb").data

    assert written.count(b'xml:id="kb"') == 0
    assert b'resp="#onoma-1 #kb">Goethe' in written
    assert undo(written, name="x.xml", reviewer="kb") == data


def test_what_a_person_decided_is_neither_replaced_nor_written_again(edition):
    data = tei("<p>Goethe und Walden in Jena</p>")
    text = "Goethe und Walden in Jena"
    once = write(data, edition, Mention(0, 6, label="person"), Mention(11, 17, label="person")).data

    def decide(verdict, start, end):
        name = DecidedName.of(text, Mention(start, end, label="person"))
        of = {"reviewer": "kb", "file": "x.xml", "document": "x.xml"}
        return Decision(verdict=verdict, name=name, **of)

    decisions = Decisions((decide("accepted", 0, 6), decide("rejected", 21, 25)))
    standing, _ = decisions.of_document("x.xml", "x.xml", text)
    file = TeiFile.read(once, edition, name="x.xml")
    found = [Mention(21, 25, label="place"), Mention(7, 10, label="place")]
    options = WriteOptions(existing="replace-predicted")
    again = file.write({"x.xml": found}, model=MODEL, options=options, standing={"x.xml": standing})

    names = "<persName>Goethe</persName> <placeName>und</placeName>"
    assert body(again) == f"<p>{names} Walden in Jena</p>"
    assert reasons(again) == ["decided by a person"]
