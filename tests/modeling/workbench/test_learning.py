"""Learning from what was decided: letters held out, scores before and after, new suggestions."""

import json
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace

import pytest

from corpora.ner.labels import load_label_map
from corpora.runs.plain import write_dataset
from modeling.evaluate.__main__ import main as evaluate
from modeling.finetune import process
from modeling.finetune.__main__ import main as finetune
from modeling.finetune.data import NerData
from modeling.finetune.process import TrainSettings
from modeling.taggers.folders import find_tagger, read_manifest
from modeling.training.run_folder import identify
from modeling.workbench import learning
from modeling.workbench.names import RefusedError
from modeling.workbench.running import make_desk
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
        return "made  run/final\n"


@pytest.fixture
def letters(tmp_path, tagger_run):
    """Return options for twelve letters with a place each, which their tagger suggests."""
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


@pytest.fixture
def make_learner(letters, monkeypatch):
    """Return what makes a learner on these letters, whose commands run in this process."""
    monkeypatch.setattr(process, "CommandChain", JobHere)

    def make(desk, *, encoder=None, ner=None, on_use=lambda: None):
        folder = letters.output / ".workbench" / "training"
        settings = TrainSettings(folder=folder, encoder=encoder)
        given = {"tagger": letters.tagger, "labels": letters.labels, "ner": ner}
        return learning.Learner(desk, settings, on_use=on_use, **given)

    return make


def final_of(run):
    return find_tagger(run).path


def run_of(learner, number):
    return learner.folder / str(number) / "run"


def begun_with(run):
    return read_manifest(final_of(run))["init_from"]


def test_the_tagger_that_suggests_learns_on_and_then_the_one_that_it_became(
    letters, ner, make_learner
):
    desk = make_desk(letters)
    learner = make_learner(desk, ner=ner)
    accept_all(desk, range(8))

    first = learner.start()
    learner.use()
    accept_all(desk, range(12))
    second = learner.start()

    of_first, of_second = begun_with(run_of(learner, 1)), begun_with(run_of(learner, 2))
    weights = [identify(final_of(run))["sha256"] for run in (letters.tagger, run_of(learner, 1))]
    assert [of_first["sha256"], of_second["sha256"]] == weights
    assert (of_first["labels"], "labels" in of_second) == ({"pers": "person"}, False)
    assert first["isKnown"]
    assert second["isKnown"]
    assert (first["heldOut"], second["heldOut"]) == (2, 3)
    comparison = run_of(learner, 2).parent / "scores"
    [compared] = comparison.glob("against-*/comparison.json")
    assert second["scores"]["before"][0] == pytest.approx(
        100 * json.loads(compared.read_text())["second"]["f1"], abs=0.05
    )


def test_of_two_pages_that_start_at_once_only_one_does(letters, make_learner, monkeypatch):
    class Running:
        status = None

        def __init__(self, folder, commands):
            made.append((folder, commands))

        def log(self):
            return ""

    def write_slowly(*given):
        both_are_here.wait()
        write_dataset(*given)

    def start(_):
        try:
            learner.start()
        except RefusedError as error:
            return str(error)
        return "started"

    made, both_are_here, desk = [], threading.Event(), make_desk(letters)
    accept_all(desk, range(4))
    learner = make_learner(desk)
    monkeypatch.setattr(process, "CommandChain", Running)
    monkeypatch.setattr(learning, "write_dataset", write_slowly)

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(start, n) for n in range(2)]
        wait(answers, 0.5, return_when=FIRST_COMPLETED)
        both_are_here.set()

    assert sorted(each.result() for each in answers) == ["It is learning already.", "started"]
    assert len(made) == 1


def test_any_label_of_a_map_is_learned_with(letters, tmp_path, make_learner):
    (tmp_path / "labels.toml").write_text('[labels]\npers = "person"\n"ort🏰" = "place"\n')
    desk = make_desk(letters)
    accept_all(desk, range(4))

    learner = make_learner(desk)
    learner.start()

    written = load_label_map(learner.folder / "1" / "labels.toml")
    assert written.labels["ort🏰"] == "place"


def test_letters_that_the_tagger_has_learned_are_not_held_out(
    letters, ner, make_learner, make_ner, tmp_path
):
    desk = make_desk(letters)
    sentences = [
        replace(one, document_id=f"{n % 6:02}.xml")
        for n, one in enumerate(NerData.open(ner).sentences)
    ]
    learner = make_learner(desk, ner=make_ner(tmp_path / "ner", sentences))
    accept_all(desk, range(6))
    with pytest.raises(RefusedError, match=r"All letters .* \(6\) .* the tagger has learned"):
        learner.start()
    accept_all(desk, range(6, 12))

    state = learner.start()

    held_out = json.loads((learner.folder / "split.json").read_text())["held_out"]
    assert state["heldOut"] == len(held_out) == 2
    assert min(held_out) >= "06.xml"
    assert not state["isKnown"]  # these sentences are not those that it was trained on


def test_without_a_dev_the_last_epoch_is_taken(letters, make_learner):
    desk = make_desk(letters)
    learner = make_learner(desk)
    accept_all(desk, range(4))

    state = learner.start()

    assert state["scores"]["names"] == 2
    assert not state["isKnown"]


def test_a_tagger_learns_is_scored_on_letters_held_out_and_suggests(
    letters, bases, ner, make_learner
):
    desk, woken = make_desk(letters), []
    learner = make_learner(
        desk, encoder=bases / "plain", ner=ner, on_use=lambda: woken.append(True)
    )
    folder = learner.folder
    accept_all(desk, range(3))
    with pytest.raises(RefusedError, match="decided to the end: 3; 4 are needed"):
        learner.start()
    accept_all(desk, range(3, 8))

    state = learner.start()

    assert (state["done"], state["heldOut"], state["isTaken"]) == (8, 2, False)
    scores = state["scores"]
    assert scores["names"] == 4
    assert all(low <= value <= high for value, low, high in (scores["before"], scores["after"]))
    held_out = set(json.loads((folder / "split.json").read_text())["held_out"])
    learned = NerData.open(folder / "1" / "ner").sentences
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
    nothing = {"learned": [], "held_out": []}
    first = learning._deal(dict.fromkeys((f"{n}.xml" for n in range(8)), False), nothing)
    second = learning._deal(dict.fromkeys((f"{n}.xml" for n in range(40)), False), first)

    assert (len(first["held_out"]), len(second["held_out"])) == (2, 10)
    assert set(first["held_out"]) <= set(second["held_out"])
    assert set(first["learned"]) <= set(second["learned"])


def test_what_the_first_tagger_has_learned_is_never_held_out():
    learned = {f"{n}.xml": n % 2 == 0 for n in range(20)}

    dealt = learning._deal(learned, {"learned": ["1.xml"], "held_out": ["2.xml", "3.xml"]})

    assert not [name for name in dealt["held_out"] if learned[name]]
    assert len(dealt["held_out"]) == 3  # of ten
    assert sorted([*dealt["learned"], *dealt["held_out"]]) == sorted(learned)


def test_a_training_runs_in_a_process_of_its_own_and_is_stopped(letters, ner):
    desk = make_desk(letters)
    settings = TrainSettings(folder=letters.output / ".workbench" / "training")
    given = {"tagger": letters.tagger, "labels": letters.labels, "ner": ner}
    learner = learning.Learner(desk, settings, on_use=lambda: None, **given)
    accept_all(desk, range(4))

    assert learner.start()["isRunning"]
    with pytest.raises(RefusedError, match="learning already"):
        learner.start()
    job = learner._job
    state = learner.stop()

    assert (state["isRunning"], state["hasFailed"], state["scores"]) == (False, False, None)
    assert job.status not in {0, None}
    with pytest.raises(RefusedError, match="no tagger that was trained"):
        learner.use()
