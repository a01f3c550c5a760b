"""What people decided: kept in the order it was made, found again, never torn apart."""

import errno
import json
import os
import subprocess
import sys

import pytest

from corpora.document import Mention, Span
from corpora.tei import decisions as module
from corpora.tei.decisions import (
    DecidedName,
    Decision,
    append_decisions,
    decisions_path,
    read_decisions,
)

TEXT = "Goethe fuhr nach Jena. Von Jena kam Goethe nach Weimar."


def decide(verdict, start, end, *, label="place", was=None, reviewer="kb", **more):
    name = DecidedName.of(TEXT, Mention(start, end, label=label))
    of = {"file": "a.xml", "document": "a.xml", "name": name, "was": was}
    return Decision(reviewer=reviewer, verdict=verdict, **of, **more)


def test_what_was_decided_is_read_back_as_it_was(tmp_path):
    path = tmp_path / "letters.decisions.jsonl"
    was = DecidedName.of(TEXT, Mention(17, 21, label="person"))
    made = [
        decide("accepted", 17, 21, model="onoma-1", probability=0.75),
        decide("corrected", 27, 31, was=was, action="undo a1"),
    ]

    append_decisions(path, made[:1])
    append_decisions(path, made[1:])

    found = read_decisions(path)
    assert list(found.entries) == made
    assert found.unreadable == ()
    assert read_decisions(tmp_path / "none").entries == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (TEXT, (27, 31)),
        ("Neu: " + TEXT, (32, 36)),  # the other Jena stands nearer to where it was
        (TEXT.replace("Von Jena", "Aus Jena"), (27, 31)),
        (TEXT.replace("Von Jena kam", "Von Ulm kam"), None),
        ("Jena", None),
        ("", None),
    ],
)
def test_a_place_is_found_again_in_a_text_that_was_edited(text, place):
    found = DecidedName.of(TEXT, Mention(27, 31)).find(text)

    assert found == (Span(*place) if place else None)


def test_a_later_decision_on_a_place_takes_the_place_of_an_earlier_one():
    was = DecidedName.of(TEXT, Mention(17, 21, label="place"))
    entries = [
        decide("accepted", 17, 21),
        decide("corrected", 12, 21, was=was),
        decide("rejected", 27, 31),
        decide("withdrawn", 27, 31),
    ]

    standing, n_lost = module.Decisions(tuple(entries)).of_document("a.xml", "a.xml", TEXT)

    assert [one.decision for one in standing] == entries[1:2]
    assert n_lost == 0


def test_a_suggestion_is_answered_at_its_place_and_over_a_name():
    was = DecidedName.of(TEXT, Mention(36, 42, label="place"))
    entries = (decide("rejected", 17, 21), decide("corrected", 36, 54, was=was))
    standing, _ = module.Decisions(entries).of_document("x/a.xml", "x/a.xml", TEXT)

    def is_answered(start, end):
        return bool(module.Answers(standing).on(Span(start, end)))

    assert is_answered(17, 21)
    assert not is_answered(12, 21)
    assert is_answered(36, 42)
    assert is_answered(48, 54)
    assert not is_answered(27, 31)


def test_a_torn_line_is_reported_and_the_next_writer_does_not_continue_it(tmp_path):
    path = tmp_path / "d.jsonl"
    append_decisions(path, [decide("accepted", 0, 6)])
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])

    append_decisions(path, [decide("rejected", 17, 21)])

    found = read_decisions(path)
    assert [one.verdict for one in found.entries] == ["accepted", "rejected"]
    [line] = found.unreadable
    assert "d.jsonl:2: no decision" in line


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "d.jsonl"
    append_decisions(path, [decide("accepted", 0, 6)])
    before = path.read_bytes()
    write = os.write

    def full(descriptor, data):
        if len(data) < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:-50])

    monkeypatch.setattr(module.os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        append_decisions(path, [decide("rejected", 17, 21)])

    assert path.read_bytes() == before


def test_two_writers_lose_nothing(tmp_path):
    path = tmp_path / "d.jsonl"
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from corpora.document import Mention\n"
        "from corpora.tei.decisions import DecidedName, Decision, append_decisions\n"
        "name = DecidedName.of('Jena' * 9, Mention(0, 4))\n"
        "for number in range(100):\n"
        "    append_decisions(Path(sys.argv[1]), [Decision(reviewer=sys.argv[2], name=name,\n"
        "        verdict='accepted', file=str(number), document='d')])\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(path), who]) for who in ("a", "b")
    ]

    assert [one.wait() for one in started] == [0, 0]
    found = read_decisions(path)
    assert found.unreadable == ()
    for who in ("a", "b"):
        files = [one.file for one in found.entries if one.reviewer == who]
        assert files == [str(number) for number in range(100)]


def test_decisions_stand_beside_the_edition_or_the_files(tmp_path):
    own, files = (
        tmp_path / "mine.toml",
        [tmp_path / "tei" / "x" / "a.xml", tmp_path / "tei" / "b.xml"],
    )

    assert decisions_path(own, files, is_shipped=False) == tmp_path / "mine.decisions.jsonl"
    shipped = decisions_path(own, files, is_shipped=True)
    assert shipped == tmp_path / "tei" / "mine.decisions.jsonl"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("verdict", "maybe"),
        ("file", 3),
        ("action", []),
        ("probability", "x"),
        ("probability", -1),
        ("probability", float("nan")),
        ("name", {"start": 17.0}),
        ("was", [1]),
    ],
)
def test_a_line_whose_values_are_of_another_kind_is_reported(tmp_path, field, value):
    path = tmp_path / "a.jsonl"
    row = json.loads(decide("accepted", 17, 21).to_line())
    row[field] = row["name"] | value if isinstance(value, dict) else value
    deep = "[" * 100_000
    path.write_text(f"{json.dumps(row)}\n{deep}\n{decide('accepted', 27, 31).to_line()}")

    found = read_decisions(path)

    assert [one.name.start for one in found.entries] == [27]
    assert [line.rpartition(":")[0] for line in map(_place_of, found.unreadable)] == [str(path)] * 2


def _place_of(line):
    return line.partition(": no decision")[0]


def test_a_decision_is_on_the_disk_when_it_is_said_to_be(tmp_path, monkeypatch):
    path, synced = tmp_path / "a.jsonl", []
    fsync = os.fsync
    monkeypatch.setattr(
        module.os, "fsync", lambda file: synced.append(os.fstat(file).st_ino) or fsync(file)
    )

    append_decisions(path, [decide("accepted", 17, 21)])

    assert synced == [path.stat().st_ino, tmp_path.stat().st_ino]
