"""The file of decisions, to which several processes append."""

from corpora.document import Mention
from corpora.tei.decisions import DecidedName, Decision, append_decisions
from modeling.workbench.journal import Journal

TEXT = "Goethe fuhr nach Jena. Von Jena kam Goethe nach Weimar."


def decide(start, end, *, reviewer="kb"):
    name = DecidedName.of(TEXT, Mention(start, end, label="place"))
    of = {"file": "a.xml", "document": "a.xml", "name": name, "was": None}
    return Decision(reviewer=reviewer, verdict="accepted", **of)


def test_decisions_that_others_append_in_between_are_neither_skipped_nor_read_twice(tmp_path):
    path = tmp_path / "letters.decisions.jsonl"
    journal, ours = Journal(path), [decide(17, 21), decide(27, 31)]
    theirs = decide(48, 54, reviewer="am")
    append_decisions(path, [theirs])

    indexes = journal.append(ours)

    assert indexes == [1, 2]
    assert journal.entries == [theirs, *ours]
    assert [index for index, _ in journal.of_file("a.xml")] == [0, 1, 2]
    assert not journal.refresh()
    assert Journal(path).entries == journal.entries


def test_the_journal_knows_what_it_appended_itself(tmp_path):
    journal = Journal(tmp_path / "letters.decisions.jsonl")

    assert journal.append([decide(17, 21)]) == [0]
    assert journal.append([decide(27, 31)]) == [1]
    assert not journal.refresh()


def test_to_append_nothing_changes_nothing_whatever_others_wrote(tmp_path):
    path = tmp_path / "letters.decisions.jsonl"
    journal = Journal(path)
    path.write_text("half a line")

    assert journal.append([]) == []
    assert path.read_text() == "half a line"
