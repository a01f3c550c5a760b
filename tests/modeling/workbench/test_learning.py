"""Learning from what was decided: letters held out, scores before and after, new suggestions."""

import json

import pytest

from modeling.evaluate.__main__ import main as evaluate
from modeling.finetune.__main__ import main as finetune
from modeling.finetune.process import TrainSettings
from modeling.workbench import learning
from modeling.workbench.names import RefusedError
from modeling.workbench.session import make_desk
from tests.modeling.workbench.conftest import options_of
from tests.modeling.workbench.test_desk import asking, items

WORDS = ("Ulm", "Jena", "Bern", "Graz")
FAST = ("--set", "optimizer.lr=5e-3", "training.epochs=4")


class JobHere:
    """The commands, one after the other and in this process (``test_training`` has others)."""

    def __init__(self, folder, commands):
        self.folder, self.status = folder, None
        for name, *options in commands:
            main, more = (finetune, FAST) if name == "modeling.finetune" else (evaluate, ())
            assert main([*map(str, options), *more]) == 0
        self.status = 0

    def log(self):
        return "made run/final\n"


@pytest.fixture
def letters(tmp_path, tagger_run):
    """A desk on twelve letters with a place each, which its tagger suggests."""
    (tmp_path / "letters").mkdir()
    for n in range(12):
        body = f"<p>ich war in {WORDS[n % 4]} und sah bei Anna viel.</p><p>Brief {n}.</p>"
        tei = f"<TEI><teiHeader/><text><body>{body}</body></text></TEI>"
        (tmp_path / "letters" / f"{n:02}.xml").write_text(tei)
    (tmp_path / "labels.toml").write_text('[labels]\npers = "person"\n')
    given = {"candidates": None, "register": (), "tagger": tagger_run, "edition": "tei"}
    given |= {"labels": str(tmp_path / "labels.toml"), "decisions": tmp_path / "d.jsonl"}
    return options_of(tmp_path, **given)


def accept_all(desk, numbers):
    for number in numbers:
        desk.suggest(desk.letters.all[number])
        for item in items(desk, number):
            desk.decide([asking(number, item, status="accepted")])


def test_a_tagger_learns_is_scored_on_letters_held_out_and_suggests(
    letters, bases, ner, monkeypatch
):
    monkeypatch.setattr(learning, "Job", JobHere)
    desk, woken = make_desk(letters), []
    folder = letters.output / ".workbench" / "training"
    settings = TrainSettings(folder=folder, encoder=bases / "plain", recipe="crf_small")
    teaching = learning.Teaching(
        settings=settings, tagger=letters.tagger, labels=letters.labels, ner=ner
    )
    learner = learning.Learner(desk, teaching, on_use=lambda: woken.append(True))
    accept_all(desk, range(3))
    with pytest.raises(RefusedError, match="3 letters are decided to the end; 4 are needed"):
        learner.start()
    accept_all(desk, range(3, 8))

    state = learner.start()

    assert (state["done"], state["heldOut"], state["isTaken"]) == (8, 2, False)
    scores = state["scores"]
    assert scores["names"] == 4
    assert all(low <= value <= high for value, low, high in (scores["before"], scores["after"]))
    held_out = set(json.loads((folder / "split.json").read_text())["held_out"])
    learned = learning.open_dataset(folder / "1" / "ner", "ner").records()
    assert {one.document_id for one in learned if one.split == "test"} == held_out

    desk.suggest(desk.letters.all[9])
    old, decided = items(desk, 9), items(desk, 0)
    learner.use()
    assert woken == [True]
    assert items(desk, 0) == decided
    assert desk.letters.all[9].is_waiting
    desk.suggest(desk.letters.all[9])
    assert [one.label for one in items(desk, 9)] != []
    assert [one.suggestion for one in items(desk, 9)] != [one.suggestion for one in old]
    again = make_desk(letters)  # the same command suggests with what was taken
    assert again.letters.suggester.model == desk.letters.suggester.model


def test_who_was_held_out_once_stays_so():
    first = learning._deal([f"{n}.xml" for n in range(8)], {"learned": [], "held_out": []})
    second = learning._deal([f"{n}.xml" for n in range(40)], first)

    assert (len(first["held_out"]), len(second["held_out"])) == (2, 10)
    assert set(first["held_out"]) <= set(second["held_out"])
    assert set(first["learned"]) <= set(second["learned"])
