"""The proof refuses a file that is not the input plus the names: here it is shown lies.

A real file is written, and proven; then one thing of it is told otherwise.
"""

from dataclasses import replace

import pytest

from corpora.document import Mention
from corpora.tei import writer
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.proof import prove
from corpora.tei.provenance import Model
from corpora.tei.source import Edit, Source
from corpora.tei.writer import WriteOptions, write_predictions

MODEL = Model(id="onoma-test", name="test", version="1", sha256="00ff", desc="a test")
TEI = (
    '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>A</title>'
    "</titleStmt></fileDesc></teiHeader><text><body><p>Anna in Ulm und <hi>Bad Urach</hi> am"
    " <placeName>Neckar</placeName>.</p></body></text></TEI>"
)


@pytest.fixture
def told(monkeypatch):
    """Write names into a file; returns a function that proves it, with things told otherwise."""
    calls = []
    monkeypatch.setattr(writer, "prove", lambda *of, **more: calls.append((of, more)))
    mentions = [Mention(8, 11, label="place", score=0.9), Mention(12, 19, label="place", score=0.9)]
    edition, options = load_edition(edition_path("tei")), WriteOptions(crossing="standOff")
    write_predictions(
        TEI.encode(), edition, {"a": mentions}, name="a", model=MODEL, options=options
    )
    (source, written, edits), more = calls[-1]
    given = {"source": source, "written": written, "edits": edits, **more}
    return lambda lie: prove(**given | lie(**given))


def told_with(source, edits):
    return {"edits": edits, "written": Source(source.splice(edits), name="a")}


def a_byte_more(*, written, **_):
    return {"written": Source(written.data.replace(b"Anna", b"Anne"), name="a")}


def a_word_less(*, source, **_):
    start = source.text.index("Urach")
    return told_with(source, [Edit(start, start + len("Urach"), "")])


def names_of_nobody(*, source, edits, **_):
    return told_with(
        source, [edit._replace(text=edit.text.replace("resp=", "n=")) for edit in edits]
    )


def another_text(*, after, **_):
    return {"after": [replace(after[0], text=after[0].text.replace("Anna", "Anne"))]}


def a_document_more(*, after, **_):
    return {"after": [*after, *after]}


def no_name_read(*, before, **_):
    return {"after": before}


def a_name_more(*, after, **_):
    return {"after": [replace(after[0], mentions=(Mention(0, 4), *after[0].mentions))]}


def a_pointer_elsewhere(*, added, **_):
    [beside] = [one for one in added if one.target]
    moved = replace(beside, mention=Mention(0, 4, label="place"))
    return {"added": [moved if one is beside else one for one in added]}


def test_what_was_written_is_proven(told):
    assert told(lambda **_: {}) is None


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (a_byte_more, "other bytes would change"),
        (a_word_less, "other bytes would change"),
        (names_of_nobody, "undo would not give the bytes back"),
        (another_text, "the text would be read differently"),
        (a_document_more, "the text would be read differently"),
        (no_name_read, "would not be read back"),
        (a_name_more, "other names would be read differently"),
        (a_pointer_elsewhere, "the pointer would miss it"),
    ],
)
def test_a_lie_is_found_out(lie, reason, told):
    assert told(lie).reason == reason
