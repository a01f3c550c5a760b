"""Decisions: on the disk first, undone and redone, and never on names that nobody has seen."""

import errno
from pathlib import Path
from threading import Event

import pytest

from corpora.errors import CorpusError, UsageError
from corpora.tei import decisions as journal_file
from corpora.tei.edition import load_edition
from corpora.tei.reader import read_tei
from corpora.tei.undo import undo
from modeling.workbench import finding, saving
from modeling.workbench.desk import ConflictError
from modeling.workbench.names import RefusedError
from modeling.workbench.overview import overview
from modeling.workbench.running import Reading, make_desk
from tests.corpora.tei.writer.test_schemas import APPARATUS, SCHEMA
from tests.corpora.tei.writer.written_names import tei
from tests.modeling.workbench.conftest import open_desk, options_of


def asking(number, item, **values):
    known = item.to_json()
    place = {"letter": number, "document": 0, "id": item.id, "was": known}
    return {**place, **{k: known[k] for k in ("start", "end", "label", "entity")}, **values}


def items(desk, number=0):
    return desk.letters.all[number].names[0].items()


def shown(desk):
    """Return all that is decided and open, in all letters."""
    return [
        [item.to_json() | {"time": ""} for names in letter.names for item in names.items()]
        for letter in desk.letters.all
    ]


def decide_some(desk):
    """Accept, reject, correct, label, link and add; decide some a second time."""
    for number in (0, 1):
        first, second, third, *_ = items(desk, number)
        text = desk.letters.all[number].documents[0].text
        for item, values in (
            (first, {"status": "accepted"}),
            (second, {"status": "rejected"}),
            (third, {"status": "accepted", "end": third.end - 1, "label": "work"}),
        ):
            desk.decide([asking(number, item, **values)])
        changed = next(i for i in items(desk, number) if i.id == third.id)
        again = {"start": third.start, "end": third.end, "entity": "letters:p1"}
        desk.decide([asking(number, changed, status="accepted", **again)])
        start = text.rindex("Ihr") if "Ihr" in text else text.rindex("ich")
        new = {"letter": number, "document": 0, "id": "", "start": start, "end": start + 3}
        desk.decide([new | {"label": "person", "status": "accepted"}])


def test_what_was_decided_is_there_again_after_a_kill(desk, sample):
    decide_some(desk)

    assert shown(open_desk(sample)) == shown(desk)


def test_undo_and_redo_have_no_end_and_outlive_a_kill(desk, sample):
    states = [shown(desk)]
    decide = desk.decide
    desk.decide = lambda wanted: (decide(wanted), states.append(shown(desk)))
    decide_some(desk)
    for state in states[-2::-1]:
        desk.undo()
        assert shown(desk) == state
    with pytest.raises(RefusedError, match="nothing to undo"):
        desk.undo()

    again = open_desk(sample)
    for state in states[1:]:
        again.redo()
        assert shown(again) == state
    with pytest.raises(RefusedError, match="nothing to redo"):
        again.redo()


def test_two_pages_cannot_decide_on_one_name_unseen(desk, sample):
    other = open_desk(sample)
    item = items(desk)[0]
    desk.decide([asking(0, item, status="rejected")])

    with pytest.raises(ConflictError, match="meanwhile"):
        other.decide([asking(0, item, status="accepted")])
    assert [one.status for one in items(other)] == [one.status for one in items(desk)]
    assert len(desk.journal.entries) == 1


def test_a_full_disk_decides_nothing_and_says_so(desk, monkeypatch):
    item, before = items(desk)[0], shown(desk)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journal_file.os, "write", full)
    with pytest.raises(CorpusError, match="Nothing was decided"):
        desk.decide([asking(0, item, status="accepted")])
    assert shown(desk) == before
    monkeypatch.undo()
    desk.decide([asking(0, item, status="accepted")])
    assert items(desk)[0].status == "accepted"


def test_decisions_follow_a_text_that_was_edited_and_lost_ones_are_counted(desk, sample):
    first, *_, last = items(desk)
    digest = desk.letters.all[0].sha256
    desk.decide([asking(0, first, status="accepted")])
    desk.decide([asking(0, last, status="accepted")])
    path = sample / "letters" / "01.xml"
    text = desk.letters.all[0].documents[0].text
    form = text[first.start : first.end].encode()
    data = path.read_bytes().replace(b"Sehr geehrter", b"Hochverehrter, sehr geehrter")
    path.write_bytes(data.replace(form, b"Nirgendwo"))

    with pytest.raises(ConflictError, match="changed by somebody"):
        desk.decide([asking(0, last, status="rejected", sha256=digest)])
    row = desk.letter(0)["row"]
    assert row["lost"] == 1
    found = [i for i in items(desk) if i.status == "accepted"]
    new = desk.letters.all[0].documents[0].text
    assert [new[i.start : i.end] for i in found] == [text[last.start : last.end]]


def new_name(start, end, **values):
    place = {"letter": 0, "document": 0, "id": "", "start": start, "end": end, "label": "person"}
    return {**place, "status": "accepted", **values}


@pytest.mark.parametrize("status", ["open", "there", "rejected", ["accepted"]])
def test_a_new_name_is_accepted_and_nothing_else(desk, status):
    with pytest.raises(RefusedError, match="A new name is accepted"):
        desk.decide([new_name(0, 4, status=status)])


@pytest.mark.parametrize("second", [(3, 8), (0, 5)])
def test_names_that_one_request_adds_neither_cross_nor_stand_at_one_place(tmp_path, second):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.xml").write_bytes(tei("<p>Ha Ha Ha Ha</p>"))
    desk = open_desk(tmp_path, register=(), edition="tei", candidates=None)
    before = shown(desk)

    with pytest.raises(RefusedError, match="cross the name"):
        desk.decide([new_name(0, 5), new_name(*second)])

    assert shown(desk) == before
    found = finding.occurrences(desk, "Ha Ha")["found"]
    assert [(hit["start"], hit["end"]) for hit in found] == [(0, 5), (6, 11)]
    desk.decide([{"id": "", **hit, "label": "person", "status": "accepted"} for hit in found])
    assert len(items(desk)) == 2


def test_a_form_is_decided_at_once_wherever_it_stands_and_undone_at_once(desk):
    form = "Leipzig"
    found = finding.occurrences(desk, form)["found"]
    open_ones = [hit for hit in found if hit["status"] in {"open", "none"}]
    assert open_ones
    before = shown(desk)
    desk.decide(
        [
            {"id": "", **hit, "label": "place", "entity": "letters:o2", "status": "accepted"}
            | ({"id": hit["item"]["id"], "was": hit["item"]} if hit["item"] else {})
            for hit in open_ones
        ]
    )

    after = finding.occurrences(desk, form)["found"]
    assert {hit["status"] for hit in after} <= {"accepted", "there"}
    desk.undo()
    assert shown(desk) == before


def test_files_are_saved_again_and_undone_to_the_same_bytes(desk, sample):
    decide_some(desk)
    report = saving.save(desk)
    assert len(report["written"]) == 2
    first = (sample / "reviewed" / "01.xml").read_bytes()
    original = (sample / "letters" / "01.xml").read_bytes()
    assert undo(first, name="01.xml", reviewer="kb") == original
    assert saving.save(desk)["same"] == 2

    item = next(i for i in items(desk) if i.status == "open")
    desk.decide([asking(0, item, status="accepted")])
    assert [one["n"] for one in saving.save(desk)["written"]] == [0]
    assert (sample / "reviewed" / "01.xml").read_bytes() != first


def test_each_name_is_saved_under_the_model_and_the_person_it_is_of(desk, sample):
    first, second, third, *_ = items(desk)
    desk.decide([asking(0, first, status="accepted")])
    desk.models.keep()
    model = sample / "list.tsv.model.json"
    model.write_text(model.read_text().replace("3f2a9c1b0d12", "9d8c7b6a5f4e"))
    other = open_desk(sample, reviewer="ab")  # another person, with another tagger's list
    other.decide([asking(0, items(other)[1], status="accepted")])
    other.decide([{"letter": 0, "document": 0, "start": third.end + 1, "end": third.end + 3}
                  | {"label": "place", "id": ""}])  # fmt: skip

    saving.save(other)

    saved = (sample / "reviewed" / "01.xml").read_bytes()
    by = {m.start: m.attributes.get("@resp") for m in read_saved(sample)[0].document.mentions}
    assert by[first.start] == "#onoma-3f2a9c1b0d12 #kb"
    assert by[second.start] == "#onoma-9d8c7b6a5f4e #ab"
    assert by[third.end + 1] == "#onoma-review #ab"
    original = (sample / "letters" / "01.xml").read_bytes()
    for one, another in (("kb", "ab"), ("ab", "kb")):
        left = undo(saved, name="01.xml", reviewer=one)
        assert left not in (saved, original)
        assert undo(left, name="01.xml", reviewer=another) == original


def read_saved(sample):
    edition = load_edition(sample / "letters.toml")
    return read_tei((sample / "reviewed" / "01.xml").read_bytes(), edition, name="01.xml")


def test_a_persons_file_is_never_overwritten(desk, sample):
    decide_some(desk)
    saving.save(desk)
    saved = sample / "reviewed" / "01.xml"
    edited = saved.read_bytes().replace(b"Jena", b"Jena!", 1)
    saved.write_bytes(edited)
    item = next(i for i in items(desk) if i.status == "open")
    desk.decide([asking(0, item, status="accepted")])

    report = saving.save(desk)

    assert saved.read_bytes() == edited
    [refused] = report["refused"]
    assert "somebody has worked on it" in refused["why"]


def test_letters_themselves_are_never_written(sample):
    desk = open_desk(sample, output=sample / "letters")
    before = {path: path.read_bytes() for path in Path(sample / "letters").iterdir()}
    decide_some(desk)

    report = saving.save(desk)

    assert len(report["refused"]) == 2
    assert {path: path.read_bytes() for path in before} == before


def test_the_markup_of_a_paragraph_is_shown_as_it_will_be(desk):
    item = next(i for i in items(desk) if i.status == "open")
    block = next(
        n
        for n, p in enumerate(desk.letters.all[0].documents[0].paragraphs)
        if p.start <= item.start < p.end
    )
    desk.decide([asking(0, item, status="accepted")])

    shown_ = saving.markup(desk, 0, document=0, block=block)

    assert "onoma-" not in shown_["is"]
    assert 'resp="#onoma-3f2a9c1b0d12 #kb"' in shown_["will"]
    saved = saving.write(desk, desk.letters.all[0]).data.decode("utf-8")
    assert shown_["will"] in saved


def test_the_overview_counts_forms_and_shows_what_disagrees(desk):
    found = overview(desk)
    forms = {row["form"]: row for row in found["forms"]}
    assert forms["Leipzig"]["labels"] == {"place": 2}
    assert forms["Leipzig"]["open"] > 0
    assert found["contradictions"] == []

    item = next(i for i in items(desk) if "Leipzig" in text_of(desk, i))
    desk.decide([asking(0, item, status="accepted", label="person", entity="letters:p2")])

    found = overview(desk)
    [row] = found["contradictions"]
    assert row["form"] == "Leipzig"
    assert row["labels"] == {"place": 2, "person": 1}
    assert row["entities"]["letters:p2"] == 1
    [day] = found["days"]
    assert (day["reviewer"], day["verdicts"]) == ("kb", {"corrected": 1})
    entities = {row["entity"]: row["name"] for row in found["entities"]}
    assert entities["letters:p2"] == "Brackwehl, Theodor"


def test_entries_of_the_register_that_fit_come_with_dates_and_an_example(desk):
    [best, *_] = finding.entries(desk, "", form="Fräulein Lindenrot", label="person")["entries"]

    assert (best["entity"], best["name"]) == ("letters:p1", "Lindenrot, Agathe")
    assert "1871" in best["about"]
    assert "Lindenrot" in best["example"]
    assert finding.entries(desk, "zzz", form="", label="person")["entries"] == []


def text_of(desk, item):
    return desk.letters.all[0].documents[0].text[item.start : item.end]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("straße", ["Straße"]),
        ("STRASSE", ["Straße"]),
        ("GROSS", ["groß"]),
        ("izmir", ["Izmir"]),
        ("ulm", ["Ulm"]),
        ("s", ["S", "s", "s"]),  # not half of an ß
    ],
)
def test_words_are_found_in_any_case(words, found, tmp_path):
    body = "<p>Die Straße nach Ulm ist groß, die nach İstanbul und Izmir.</p>"
    (tmp_path / "letters").mkdir()
    letter = f"<TEI><teiHeader/><text><body>{body}</body></text></TEI>"
    (tmp_path / "letters" / "a.xml").write_text(letter)
    given = {
        "candidates": None,
        "register": (),
        "edition": "tei",
        "decisions": tmp_path / "d.jsonl",
    }
    desk = open_desk(tmp_path, **given)

    places = finding.search(desk, words)["found"]

    assert [place["form"] for place in places] == found
    text = desk.letters.all[0].documents[0].text
    assert [text[place["start"] : place["end"]] for place in places] == found


def test_a_letter_that_was_away_is_read_again(desk):
    decide_some(desk)
    letter, before = desk.letters.all[0], shown(desk)
    away = letter.path.with_suffix(".away")
    letter.path.rename(away)
    with pytest.raises(CorpusError, match="cannot be read"):
        desk.letter(0)

    away.rename(letter.path)

    assert desk.letter(0)["row"]["error"] == ""
    assert shown(desk) == before


def test_decisions_are_undone_where_more_folders_are_given(desk, sample):
    desk.decide([asking(0, items(desk)[0], status="accepted")])
    decided = desk.letters.all[0].path
    (sample / "others").mkdir()
    for letter in desk.letters.all[1:]:
        letter.path.rename(sample / "others" / letter.name)
    wider = open_desk(
        sample, tei=(str(sample / "letters"), str(sample / "others")), candidates=None
    )
    [number] = [one.number for one in wider.letters.all if one.path == decided]
    assert "accepted" in [item.status for item in items(wider, number)]

    wider.undo()

    assert "accepted" not in [item.status for item in items(wider, number)]


def test_a_name_that_would_make_a_saved_file_invalid_is_said_and_not_written(tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.xml").write_bytes(tei("<p>Goethe in Jena</p>"))
    schema = tmp_path / "letters.rng"
    schema.write_text(SCHEMA.format(header=APPARATUS))  # persName, and no placeName
    given = {"edition": "tei", "decisions": tmp_path / "d.jsonl", "candidates": None}
    desk = open_desk(tmp_path, register=(), schema=schema, **given)
    for start, end, label in ((0, 6, "person"), (10, 14, "place")):
        own = {"start": start, "end": end, "label": label, "entity": "", "status": "accepted"}
        desk.decide([{"letter": 0, "document": 0, "id": "", **own}])

    report = saving.save(desk)

    assert report["written"] == [{"n": 0, "names": 1}]
    assert report["skipped"] == [{"n": 0, "form": "Jena", "why": "would not be valid"}]
    saved = (tmp_path / "reviewed" / "a.xml").read_text()
    assert ">Goethe</persName> in Jena</p>" in saved


def test_a_list_of_other_files_is_an_error_and_one_of_more_files_is_said(sample, capsys):
    one = str(sample / "letters" / "01.xml")

    make_desk(options_of(sample, tei=(one,)))

    assert "names of other files left out, as 02.xml" in capsys.readouterr().err
    listed = (sample / "list.tsv").read_text(encoding="utf-8-sig").splitlines(keepends=True)
    of_others = "".join(line for line in listed if not line.startswith("01.xml"))
    (sample / "list.tsv").write_text(of_others, encoding="utf-8")
    with pytest.raises(UsageError, match=r"02\.xml, which is none of the files of --tei \(as 01"):
        make_desk(options_of(sample, tei=(one,)))


def test_a_tagger_suggests_while_letters_are_read_and_each_text_is_tagged_once(
    tagger_run, tmp_path, monkeypatch
):
    body = "<p>ich war in Ulm und sah bei Anna viel.</p>"
    tei = f"<TEI><teiHeader/><text><body>{body}</body></text></TEI>"
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.xml").write_text(tei)
    (tmp_path / "labels.toml").write_text('[labels]\npers = "person"\n')
    given = {"candidates": None, "register": (), "tagger": tagger_run, "edition": "tei"}
    given |= {"labels": str(tmp_path / "labels.toml"), "decisions": tmp_path / "d.jsonl"}
    desk = make_desk(options_of(tmp_path, **given))
    assert desk.letter(0)["row"]["isWaiting"]
    assert items(desk) == []

    desk.suggest(desk.letters.all[0])

    text = desk.letters.all[0].documents[0].text
    found = [(text[i.start : i.end], i.label) for i in items(desk)]
    assert ("Ulm", "place") in found
    monkeypatch.setattr("modeling.taggers.tagger.Tagger.annotate_all", None)
    again = make_desk(options_of(tmp_path, **given))
    assert not again.letter(0)["row"]["isWaiting"]
    assert items(again) == items(desk)
    again.decide([asking(0, items(again)[0], status="accepted")])
    assert [one["names"] for one in saving.save(again)["written"]] == [1]


def test_an_error_in_one_letter_keeps_no_other_from_being_read(sample, monkeypatch, caplog):
    desk = make_desk(options_of(sample))
    first, last = desk.letters.all[0], desk.letters.all[-1]
    suggest, is_read = desk.suggest, Event()

    def broken(letter):
        if letter is first:
            raise RuntimeError("out of memory")
        suggest(letter)
        if letter is last:
            is_read.set()

    monkeypatch.setattr(desk, "suggest", broken)
    reading = Reading(desk)
    reading.start()

    assert is_read.wait(60)
    reading.stop()
    assert f"{first.name}: its names could not be looked for" in caplog.text
    assert "out of memory" in caplog.text


def test_texts_are_tagged_again_where_edition_or_labels_have_changed(tagger_run, tmp_path):
    body = "<head>Brief an Otto</head><p>ich war in Ulm und sah bei Anna viel.</p>"
    (tmp_path / "letters").mkdir()
    letter = f"<TEI><teiHeader/><text><body>{body}</body></text></TEI>"
    (tmp_path / "letters" / "a.xml").write_text(letter)
    edition, labels = tmp_path / "own.toml", tmp_path / "labels.toml"
    given = {"candidates": None, "register": (), "tagger": tagger_run, "edition": str(edition)}
    given |= {"labels": str(labels), "decisions": tmp_path / "d.jsonl"}

    def suggested(person, text=""):
        edition.write_text(f'name = "own"\n{text}')
        labels.write_text(f'[labels]\npers = "{person}"\n')
        desk = make_desk(options_of(tmp_path, **given))
        desk.suggest(desk.letters.all[0])
        text = desk.letters.all[0].documents[0].text
        return {(text[item.start : item.end], item.label) for item in items(desk)}

    assert {("Ulm", "place"), ("Anna", "person")} <= suggested("person")
    without_heads = '[text]\nleave_out = ["...", "head"]\n'
    assert {("Ulm", "place"), ("Anna", "person")} <= suggested("person", without_heads)
    assert {("Ulm", "place"), ("Anna", "work")} <= suggested("work", without_heads)


@pytest.mark.parametrize("login", ["0815", "onoma-x"])
def test_a_reviewer_under_whose_id_nothing_could_be_saved_is_refused_before_anything_is_decided(
    sample, monkeypatch, login
):
    monkeypatch.setattr("getpass.getuser", lambda: login)

    with pytest.raises(UsageError, match=r"--reviewer '[^']+' \(the login name\): expected an id"):
        open_desk(sample, reviewer="")
    with pytest.raises(UsageError, match="--reviewer 'k b': expected an id"):
        open_desk(sample, reviewer="k b")


def test_reviewer_whose_login_name_is_not_known_is_asked_for_it(sample, monkeypatch):
    def getuser():
        raise KeyError("getpwuid(): uid not found: 54321")

    monkeypatch.setattr("getpass.getuser", getuser)

    with pytest.raises(UsageError, match="--reviewer: your login name is not known"):
        open_desk(sample, reviewer="")
