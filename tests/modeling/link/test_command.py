"""``onoma link``, from letters to a linker, to links, to their scores."""

import json
import os
import re
from dataclasses import replace

import pytest

from corpora.datasets.rows import sentence_to_row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, open_dataset
from corpora.document import Mention, Sentence
from modeling.link.__main__ import main
from modeling.predict.__main__ import main as predict
from tests.datasets import write_dataset
from tests.modeling.link.samples import FRANZ, PAUL, letter, letters

REGISTER = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><listPerson>
<person xml:id="P.3"><persName>Klee, Paul</persName></person>
<person xml:id="P.4"><persName>Großmann, Anna</persName></person>
</listPerson></body></text></TEI>"""


def write_sentences(folder, sentences):
    write_dataset(folder, [])
    with ShardWriter(folder / "shard.arrow", SCHEMAS["ner"]) as writer:
        for sentence in sentences:
            writer.write(sentence_to_row(sentence))
    about = json.loads((folder / "dataset.json").read_text())
    names = ("name", "rows", "bytes", "sha256")
    about |= {"schema": "ner", "version": SCHEMAS["ner"].version}
    about["shards"] = [{name: getattr(writer.shard, name) for name in names}]
    (folder / "dataset.json").write_text(json.dumps(about))
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Train a linker; returns the folder that it and its letters lie in."""
    folder = tmp_path_factory.mktemp("link")
    write_dataset(folder / "letters", letters(40))
    (folder / "persons.xml").write_text(REGISTER, encoding="utf-8")
    learned = [str(folder / "letters"), "--register", str(folder / "persons.xml")]
    assert main(["train", *learned, "--max-wrong", "0.1", "--output", str(folder / "linker")]) == 0
    return folder


@pytest.mark.parametrize("name", ["train", "evaluate", "apply", "index", "score"])
def test_the_help_of_each_command_begins_with_what_it_does(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])

    _, about, *_ = capsys.readouterr().out.split("\n\n")
    assert about[0].isupper()
    assert about.endswith(".")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--space", "sturm"], "--space is for --register"),
        (["--test", "x", "--folds", "3"], "--folds is for a cross-validation"),
    ],
)
def test_options_without_effect_or_meaning_are_refused(given, said, tmp_path, capsys):
    assert main(["evaluate", str(tmp_path), "--output", str(tmp_path / "out"), *given]) == 2

    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("4", "4")])
def test_numpy_gets_one_thread_unless_the_environment_says_more(tmp_path, monkeypatch, given, used):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")

    status = main(["apply", str(tmp_path / "no"), "--documents", "no", "--output", "no"])

    assert status == 1
    assert os.environ["OPENBLAS_NUM_THREADS"] == used


def test_new_documents_are_linked_and_scored(made, tmp_path, capsys):
    new = letter(
        "new", "Marc und Anna Grossmann", ("Marc", None), ("Anna Grossmann", None), by="Herwarth"
    )
    write_dataset(tmp_path / "new", [new])

    assert (
        main(
            [
                *("apply", str(made / "linker"), "--documents", str(tmp_path / "new")),
                *("--output", str(tmp_path / "linked")),
            ]
        )
        == 0
    )

    [linked] = open_dataset(tmp_path / "linked")
    assert linked.mentions[0].entity == FRANZ
    assert "links: " in capsys.readouterr().out
    gold = letter("new", new.text, ("Marc", FRANZ), ("Anna Grossmann", "s:P.4"), by="Herwarth")
    write_dataset(tmp_path / "gold", [gold])
    assert (
        main(["score", "--gold", str(tmp_path / "gold"), "--predicted", str(tmp_path / "linked")])
        == 0
    )
    assert "| strict |" in capsys.readouterr().out


def test_documents_that_are_read_are_not_replaced(made, tmp_path, capsys):
    first = [str(made / "linker"), "--documents", str(made / "letters"), "--output"]
    assert main(["apply", *first, str(tmp_path / "run")]) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "run").glob("[!.]*")}
    again = [str(made / "linker"), "--documents", str(tmp_path / "run"), "--threshold", "1"]

    assert main(["apply", *again, "--output", str(tmp_path / "run")]) == 2

    assert "is an output of an earlier run, which this run would replace" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in (tmp_path / "run").glob("[!.]*")} == before


def test_a_file_of_the_sentences_that_are_read_is_not_replaced(made, tmp_path, capsys):
    write_sentences(
        tmp_path / "ner",
        [Sentence(id="a", document_id="a", split="train", tokens=("Marc",), tags=("B-person",))],
    )
    about = (tmp_path / "ner" / "dataset.json").read_bytes()
    output = ["--output", str(tmp_path / "ner" / "dataset.json")]

    assert main(["apply", str(made / "linker"), "--ner", str(tmp_path / "ner"), *output]) == 2

    assert "lies in the dataset that is read" in capsys.readouterr().err
    assert (tmp_path / "ner" / "dataset.json").read_bytes() == about


def test_sentences_are_linked_document_by_document(made, tmp_path):
    tokens, tags = ("Heute", "kommt", "Klee", "."), ("O", "O", "B-person", "O")
    sentence = Sentence(id="a#1", document_id="a", split="test", tokens=tokens, tags=tags)
    write_sentences(tmp_path / "ner", [sentence])

    assert (
        main(
            [
                *("apply", str(made / "linker"), "--ner", str(tmp_path / "ner")),
                *("--output", str(tmp_path / "out.jsonl"), "--candidates", "2"),
            ]
        )
        == 0
    )

    [line] = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    [name] = json.loads(line)["names"]
    assert (name["start"], name["end"], name["text"], name["entity"]) == (2, 3, "Klee", PAUL)
    assert name["candidates"][0][0] == PAUL


def test_evaluate_writes_a_report(made, tmp_path):
    arguments = [str(made / "letters"), "--register", str(made / "persons.xml")]

    assert main(["evaluate", *arguments, "--output", str(tmp_path)]) == 0

    found = json.loads((tmp_path / "report.json").read_text())
    assert found["accuracy, all features"]["value"] == 1
    assert found["accuracy, baseline"]["value"] < 1


def test_a_linker_that_writes_nothing_is_warned_of(made, tmp_path, capsys):
    arguments = [str(made / "letters"), "--max-wrong", "0"]

    assert main(["evaluate", *arguments, "--output", str(tmp_path)]) == 0

    assert "warning: no link is sure enough to be written" in capsys.readouterr().out


def test_other_documents_are_linked_by_what_these_teach_and_nil_is_an_answer(made, tmp_path):
    seen = letter("new", "Klee sah Marc und Otto.", ("Klee", PAUL), ("Marc", FRANZ), ("Otto", None))
    unseen = Mention(18, 22, label="date")  # "Otto", of a class that is not linked
    other = replace(letter("other", seen.text), mentions=(unseen,))
    write_dataset(tmp_path / "new", [seen, other])
    arguments = [str(made / "letters"), "--test", str(tmp_path / "new"), "--nil"]

    assert main(["evaluate", *arguments, "--output", str(tmp_path)]) == 0

    found = json.loads((tmp_path / "report.json").read_text())
    assert found["accuracy, baseline"]["whole"] == 2
    baseline = found["NIL is an answer: baseline"]
    assert (baseline["part"], baseline["whole"]) == (4, 4)  # names that are not known are NIL
    assert found["NIL is an answer: all features"]["whole"] == 4


def test_names_of_other_documents_count_though_nothing_teaches_their_class(made, tmp_path):
    seen = letter("new", "Klee sah Jena.", ("Klee", PAUL))
    place = Mention(9, 13, label="place", entity="s:jena")
    write_dataset(tmp_path / "new", [replace(seen, mentions=(*seen.mentions, place))])
    arguments = [str(made / "letters"), "--test", str(tmp_path / "new")]

    assert main(["evaluate", *arguments, "--output", str(tmp_path)]) == 0

    found = json.loads((tmp_path / "report.json").read_text())["accuracy, all features"]
    assert (found["part"], found["whole"]) == (1, 2)


def test_documents_that_two_datasets_hold_are_an_error(made, tmp_path, capsys):
    write_dataset(tmp_path / "few", letters(3))
    write_dataset(tmp_path / "new", [letter("x", "Marc kam.", ("Marc", FRANZ))])
    output = ["--output", str(tmp_path / "out")]
    both = [str(tmp_path / "few"), str(made / "letters")]
    said = f"{' '.join(both)}: 3 documents are in both ('0' …) and would count twice"

    for command in (["train", *both], ["evaluate", *both]):
        assert main([*command, *output]) == 2
        assert f"error: {said}" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "new"), "--test", *both, *output]) == 2
    assert f"error: --test {said}" in capsys.readouterr().err
    assert main(["train", both[1], both[1], *output]) == 2
    assert "40 documents are in both" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_documents_that_teach_are_not_linked_as_others(made, tmp_path, capsys):
    letters = str(made / "letters")

    assert main(["evaluate", letters, "--test", letters, "--output", str(tmp_path / "out")]) == 2

    assert "are among those that teach" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["apply", "nowhere", "--documents", "x", "--output", "y"], 1, "no linker"),
        (["train", "nowhere", "--output", "y"], 2, "error: nowhere: matches nothing"),
        (["evaluate", "x", "--output", "y"], 2, "error: x: matches nothing"),
        (["train", "x", "--max-wrong", "2", "--output", "y"], 2, "from 0 to 1"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, monkeypatch, capsys, arguments, status, message):
    monkeypatch.chdir(tmp_path)

    assert main(arguments) == status

    assert message in capsys.readouterr().err


def test_options_that_lead_nowhere_are_named(made, tmp_path, capsys):
    for given in ("--documents", "--ner"):
        arguments = [str(made / "linker"), given, "nowhere", "--output", str(tmp_path / "out")]
        assert main(["apply", *arguments]) == 2
        assert f"{given} nowhere: matches nothing" in capsys.readouterr().err
    letters = [str(made / "letters"), "--test", "nowhere", "--output", str(tmp_path / "out")]

    assert main(["evaluate", *letters]) == 2

    assert "--test nowhere: matches nothing" in capsys.readouterr().err


def test_linkers_reports_and_indexes_replace_nothing_but_their_like(made, tmp_path, capsys):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "records.jsonl").write_text("mine\n")
    (tmp_path / "file").write_text("mine\n")
    learning = [str(made / "letters"), "--max-wrong", "0.1", "--output"]

    (mine / "report.md").write_text("mine\n")

    for output, said in ((mine, "holds something else"), (tmp_path / "file", "is no folder")):
        # documents that are not there: what is wrong is said before they are read
        for command in ("train", "evaluate", "index"):
            assert main([command, "nowhere", "--output", str(output)]) == 2
            assert f"--output {output}: {said}" in capsys.readouterr().err
    assert [path.read_text() for path in mine.iterdir()] == ["mine\n", "mine\n"]

    assert main(["train", "nowhere", "--output", str(made / "letters")]) == 2
    assert "holds something else" in capsys.readouterr().err

    assert main(["train", *learning, str(tmp_path / "new")]) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    (tmp_path / "new" / "linker.json").write_text("{}\n")  # as after a kill
    assert main(["train", *learning, str(tmp_path / "new")]) == 0
    assert {path: path.read_bytes() for path in (tmp_path / "new").iterdir()} == before


def test_names_that_an_edition_marks_get_its_kind_of_reference_and_lose_it_again(made, tmp_path):
    text = (
        "<TEI><teiHeader><fileDesc><titleStmt><title>T</title></titleStmt></fileDesc></teiHeader>"
        "<text><body><p>Heute <persName>Klee</persName>, morgen "
        "<persName ref='leute.xml#P.3'>Klee</persName> und <persName>Niemand</persName>.</p>"
        "</body></text></TEI>"
    )
    (tmp_path / "a.xml").write_text(text)
    (tmp_path / "s.toml").write_text('name = "s"\n[labels]\nperson = ["persName"]\n')
    tei = ("--edition", str(tmp_path / "s.toml"), "--tei")
    link = ("--link", str(made / "linker"), *tei, str(tmp_path / "a.xml"))

    assert predict([*link, "--output", str(tmp_path / "linked")]) == 0
    assert predict([*link, "--candidates", str(tmp_path / "list.tsv")]) == 0
    undo = ("--tei", str(tmp_path / "linked" / "a.xml"), "--undo")
    assert predict([*undo, "--output", str(tmp_path / "back")]) == 0

    linked = (tmp_path / "linked" / "a.xml").read_text()
    assert re.search('<persName ref="leute.xml#P.3" cert="[0-9.]+" resp="#onoma-.*">Klee<', linked)
    assert "<persName>Niemand</persName>" in linked
    rows = (tmp_path / "list.tsv").read_text(encoding="utf-8-sig").splitlines()
    assert len(rows) == 2
    assert "s:leute.xml#P.3" in rows[1]
    assert (tmp_path / "back" / "a.xml").read_text() == text
    applying = (*tei, str(tmp_path / "a.xml"), "--apply", str(tmp_path / "list.tsv"))
    assert predict([*applying, "--reviewer", "kb", "--output", str(tmp_path / "applied")]) == 0
    assert re.search(' resp="#onoma-.* #kb">Klee<', (tmp_path / "applied" / "a.xml").read_text())


def test_files_without_any_reference_get_those_of_the_documents_that_the_linker_learned(tmp_path):
    def with_reference(mention):
        id = mention.entity.removeprefix("s:")
        return replace(mention, attributes={"@ref": f"leute.xml#{id}", "@n": id})

    learned = [
        replace(one, mentions=tuple(map(with_reference, one.mentions))) for one in letters(40)
    ]
    write_dataset(tmp_path / "letters", learned)
    train = ["train", str(tmp_path / "letters"), "--max-wrong", "0.1"]
    assert main([*train, "--output", str(tmp_path / "linker")]) == 0
    (tmp_path / "s.toml").write_text('name = "s"\n[labels]\nperson = ["persName"]\n')
    (tmp_path / "a.xml").write_text(
        "<TEI><teiHeader><fileDesc><titleStmt><title>T</title></titleStmt></fileDesc></teiHeader>"
        "<text><body><p>Heute <persName>Klee</persName>.</p></body></text></TEI>"
    )

    tei = ("--edition", str(tmp_path / "s.toml"), "--tei", str(tmp_path / "a.xml"))
    link = ("--link", str(tmp_path / "linker"))
    assert predict([*link, *tei, "--output", str(tmp_path / "linked")]) == 0

    assert ' ref="leute.xml#P.3" cert' in (tmp_path / "linked" / "a.xml").read_text()
