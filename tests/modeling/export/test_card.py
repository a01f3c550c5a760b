"""The card: read from manifests and reports, and honest about what they do not say."""

import json

import pytest

from corpora.errors import CorpusError
from corpora.system.writing import write_json
from modeling.evaluate.__main__ import main as evaluate
from modeling.evaluate.report import VERSION
from modeling.export.__main__ import main
from modeling.export.card import read_evaluations


def card(folder):
    return (folder / "README.md").read_text(encoding="utf-8")


def test_a_card_has_the_scores_of_the_reports_with_intervals(tmp_path, ner, bases, finetune):
    run = tmp_path / "sturm"
    assert finetune(run, ner, bases / "plain", epochs=1) == 0
    arguments = [str(run), "--ner", str(ner), "--split", "test", "--replicates", "20"]
    assert evaluate(arguments) == 0
    options = ["--facts", "licence=CC-BY-4.0", "language=de,da", "data_licence=CC0-1.0"]

    assert main([str(run), "--output", str(tmp_path / "out"), *options]) == 0

    report = json.loads(next(run.rglob("evaluation.json")).read_text(encoding="utf-8"))
    micro = report["runs"]["seed-1"]["strict"]["micro"]
    text = card(tmp_path / "out")
    low, high = (micro["interval"][end] for end in ("low", "high"))
    assert f"| {micro['f1']:.4f} | {low:.4f} | {high:.4f} |" in text
    manifest = json.loads((run / "seed-1/final/run.json").read_text(encoding="utf-8"))
    assert manifest["examples"][0]["dataset"] in text
    assert manifest["versions"]["torch"] in text
    head = text.split("---\n")[1]
    values = dict(line.split(": ", 1) for line in head.splitlines())
    assert json.loads(values["license"]) == "cc-by-4.0"
    assert json.loads(values["language"]) == ["de", "da"]
    assert "Licence of the data: CC0-1.0" in text
    assert "pers, place" in text


def test_a_card_says_what_nobody_wrote_down(make_tagger, tmp_path):
    assert main([str(make_tagger()), "--output", str(tmp_path / "out")]) == 0

    text = card(tmp_path / "out")
    assert "No test was scored" in text
    assert "Trained on: not stated" in text
    assert "Of the model: not stated" in text
    assert "license" not in text.split("---\n")[1]


def test_a_pretrained_model_has_a_card_too(bases, tmp_path):
    assert main([str(bases / "plain"), "--output", str(tmp_path / "out"), "--without-heads"]) == 0

    assert "AutoModel" in card(tmp_path / "out")
    assert "token-classification" not in card(tmp_path / "out")


def test_reports_of_other_settings_are_not_its_scores(tmp_path):
    settings = {
        "head": {"kind": "crf"},
        "gazetteer": {},
        "optimizer": {"lr": 1.0},
        "training": {"epochs": 2},
        "encoder": "base",
        "trained_on": "sturm",
    }
    config = {**settings, "training": {"epochs": 2, "seed": 2}}
    manifest = {"config": config, "init_from": {"name": "base"}, "data": {"ner": "sturm"}}
    others = [
        {"config": {**config, "optimizer": {"lr": 2.0}}},
        {"config": {**config, "training": {"epochs": 3, "seed": 2}}},
        {"init_from": {"name": "another"}},
        {"data": {"ner": "ddt"}},
    ]
    report = {"runs": {"seed-1": {}, "seed-2": {"n": 1}}, "settings": settings, "scores": {}}
    for folder, version in ("set-test", VERSION), ("older", VERSION - 1):
        (tmp_path / "evaluation" / folder).mkdir(parents=True)
        made = report | {"version": version}
        write_json(tmp_path / "evaluation" / folder / "evaluation.json", made)

    same = read_evaluations(tmp_path, "lr=1/seed-2", manifest)
    of_others = [read_evaluations(tmp_path, "seed-2", manifest | other) for other in others]

    assert [one["own"] for one in same] == [{"n": 1}]
    assert of_others == [[], [], [], []]


def test_a_damaged_report_is_named(tmp_path):
    (tmp_path / "evaluation").mkdir()
    (tmp_path / "evaluation" / "evaluation.json").write_text("{")

    with pytest.raises(CorpusError, match=r"evaluation\.json: damaged"):
        read_evaluations(tmp_path, "", {})
