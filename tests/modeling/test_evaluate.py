"""``python -m modeling.evaluate`` on a small language."""

import json

import pytest

from modeling.evaluate import main
from modeling.finetuning.data import NerData
from modeling.scoring.counts import strict_f1
from modeling.tagger import Tagger


def evaluate(run, ner, *options):
    return main([str(part) for part in (run, "--ner", ner, "--replicates", 50, *options)])


def numbers(folder):
    return json.loads((folder / "evaluation.json").read_text())


def test_the_report_has_the_score_of_the_tagger(tagger_run, ner, tmp_path, capsys):
    expected = strict_f1(Tagger.load(tagger_run).tag(NerData.open(ner).split("test")))

    assert evaluate(tagger_run, ner, "--output", tmp_path / "out") == 0

    found = numbers(tmp_path / "out")
    assert found["runs"]["seed-1"]["scores"]["strict_f1"] == expected
    assert f"strict F1 {expected:.4f}" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "evaluation.json",
        "report.md",
        "report.html",
        "errors.tsv",
        "predictions.jsonl",
    }


def test_each_decoder_gets_a_report(tagger_run, ner, tmp_path):
    assert evaluate(tagger_run, ner, "--output", tmp_path, "--decoder", "free,fix,viterbi") == 0

    settings = {name: numbers(tmp_path / name)["settings"] for name in ("free", "fix", "viterbi")}
    assert {name: found["decoder"] for name, found in settings.items()} == {
        name: name for name in settings
    }


def test_seeds_are_summed_up_and_settings_told_apart(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    settings = ["optimizer.lr=1e-7,5e-3"]
    finetune(run, ner, bases / "plain", epochs=2, seeds="1,2", settings=settings)

    assert evaluate(run, ner, "--output", tmp_path / "best") == 0
    assert evaluate(run, ner, "--output", tmp_path / "all", "--every-setting") == 0

    assert set(numbers(tmp_path / "best")["runs"]) == {"seed-1", "seed-2"}
    assert {path.name for path in (tmp_path / "all").iterdir()} == {
        "optimizer.lr=1e-7",
        "optimizer.lr=5e-3",
    }


def test_each_sentence_is_scored_once_over_all_folds(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    finetune(run, ner, bases / "plain", epochs=2, folds=3)

    assert evaluate(run, ner, "--output", tmp_path / "out") == 0

    n = len(NerData.open(ner).sentences)
    assert numbers(tmp_path / "out")["runs"]["all folds"]["n_sentences"] == n


def test_two_runs_are_compared(tagger_run, ner, bases, finetune, tmp_path):
    finetune(tmp_path / "other", ner, bases / "plain", epochs=1)

    out = tmp_path / "out"
    assert evaluate(tagger_run, ner, "--output", out, "--against", tmp_path / "other") == 0

    comparison = json.loads((out / "against-other" / "comparison.json").read_text())
    assert comparison["first"]["f1"] > comparison["second"]["f1"]


def test_labels_are_mapped_on_both_sides(tagger_run, ner, tmp_path):
    (tmp_path / "map.toml").write_text('[labels]\npers = "NAME"\nplace = "NAME"\n')

    out = tmp_path / "out"
    assert evaluate(tagger_run, ner, "--output", out, "--labels", tmp_path / "map.toml") == 0

    assert numbers(out)["runs"]["seed-1"]["labels"] == ["NAME"]


def test_a_split_that_is_not_there_is_an_error(tagger_run, ner, make_ner, tmp_path, capsys):
    bare = make_ner(tmp_path / "ner", NerData.open(ner).split("train"))

    assert evaluate(tagger_run, bare, "--output", tmp_path / "out") == 1
    assert "'test'" in capsys.readouterr().err


@pytest.mark.parametrize("run", ["nothing", "."])
def test_what_is_no_run_is_an_error(run, ner, tmp_path, capsys):
    assert evaluate(tmp_path / run, ner) == 1
    assert "modeling.finetune" in capsys.readouterr().err
