"""``onoma evaluate`` on a small language."""

import hashlib
import json
import re
from dataclasses import replace

import pytest

from corpora.document import Sentence, TokenSpan
from corpora.tagging import from_iob2, to_iob2
from modeling.evaluate.__main__ import main
from modeling.finetune.data import NerData, chosen_for_training
from modeling.report.__main__ import main as report
from modeling.taggers.archive import files_in, pack
from modeling.taggers.counts import strict_f1
from modeling.taggers.tagger import Tagger


def evaluate(run, ner, *options):
    return main([str(part) for part in (run, "--ner", ner, "--replicates", 50, *options)])


def numbers(folder):
    return json.loads((folder / "evaluation.json").read_text())


def test_the_report_has_the_score_of_the_tagger(tagger_run, ner, tmp_path, capsys):
    expected = strict_f1(Tagger.load(tagger_run).tag(NerData.open(ner).split("test")))

    assert evaluate(tagger_run, ner, "--output", tmp_path / "out") == 0

    found = numbers(tmp_path / "out")
    assert found["runs"]["seed-1"]["scores"]["strict_f1"] == expected
    said = capsys.readouterr().out
    assert f"strict F1 {expected:.4f} (1 scored; 95 %: " in said
    baseline = found["runs"]["seed-1"]["baseline"]["score"]["f1"]
    assert f"the names of train, looked up: {baseline:.4f}" in said
    assert ("has learned too little" in said) == (expected <= baseline)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "evaluation.json",
        "report.md",
        "report.html",
        "errors.tsv",
        "predictions.jsonl",
    }


def test_the_report_names_the_bytes_that_were_scored(tagger_run, ner, tmp_path):
    assert evaluate(tagger_run, ner, "--output", tmp_path / "out") == 0

    weights = tagger_run / "seed-1" / "final" / "model.safetensors"
    expected = {"seed-1": weights, "dataset": ner / "dataset.json"}
    assert numbers(tmp_path / "out")["settings"]["sha256"] == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in expected.items()
    }


def test_each_decoder_gets_a_report(tagger_run, ner, tmp_path):
    assert evaluate(tagger_run, ner, "--output", tmp_path, "--decoder", "free,fix,viterbi") == 0

    settings = {name: numbers(tmp_path / name)["settings"] for name in ("free", "fix", "viterbi")}
    assert {name: found["decoder"] for name, found in settings.items()} == {
        name: name for name in settings
    }


def test_seeds_are_summed_up_and_settings_distinguished(tmp_path, ner, bases, finetune, capsys):
    run = tmp_path / "run"
    settings = ["optimizer.lr=1e-7,5e-3"]
    finetune(run, ner, bases / "plain", epochs=2, seeds="1,2", settings=settings)

    assert evaluate(run, ner, "--output", tmp_path / "best") == 0
    said = capsys.readouterr().out
    assert re.search(r"strict F1 \S+ ± \S+ \(2 scored; 95 %: [\d.]+ to [\d.]+\)", said)
    assert evaluate(run, ner, "--output", tmp_path / "all", "--every-setting") == 0

    all_against = ("--output", tmp_path / "b", "--every-setting", "--against", run)
    assert evaluate(run, ner, *all_against) == 0
    [comparison] = tmp_path.glob("b/against-*/comparison.json")
    assert json.loads(comparison.read_text())["difference"]["value"] == 0  # the best with itself

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


def test_archives_are_scored_and_compared_as_their_taggers_are(tagger_run, ner, tmp_path, capsys):
    archive = tmp_path / "small.onoma"
    pack(files_in(tagger_run / "seed-1" / "final"), archive)
    assert evaluate(archive, ner, "--output", tmp_path / "out") == 0
    assert evaluate(tagger_run, ner, "--output", tmp_path / "run", "--against", archive) == 0
    with pytest.raises(SystemExit):
        evaluate(archive, ner)

    assert "an archive has no room for a report" in capsys.readouterr().err
    assert numbers(tmp_path / "out")["scores"] == numbers(tmp_path / "run")["scores"]
    found = json.loads((tmp_path / "run" / "against-small.onoma" / "comparison.json").read_text())
    assert found["difference"]["value"] == 0


def test_what_is_no_run_to_compare_with_is_said_before_anything_is_scored(
    tagger_run, ner, tmp_path
):
    out = ("--output", tmp_path / "out")

    assert evaluate(tagger_run, ner, *out, "--against", tmp_path / "none") == 1

    assert not (tmp_path / "out").exists()


def test_a_comparison_uses_the_decoder_that_is_asked_for(tagger_run, ner, tmp_path, monkeypatch):
    used, tag = [], Tagger.tag

    def tag_and_note(self, sentences):
        used.append(self.decoder)
        return tag(self, sentences)

    monkeypatch.setattr(Tagger, "tag", tag_and_note)

    options = ["--decoder", "free", "--output", tmp_path / "out", "--against", tagger_run]
    assert evaluate(tagger_run, ner, *options) == 0

    assert set(used) == {"free"}


def test_a_comparison_is_by_one_decoder(tagger_run, ner, tmp_path, capsys):
    options = ["--decoder", "free,fix", "--output", tmp_path / "out", "--against", tagger_run]
    with pytest.raises(SystemExit):
        evaluate(tagger_run, ner, *options)

    assert "--against compares by one" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_only_a_run_that_is_surely_worse_fails(tagger_run, ner, bases, finetune, tmp_path, capsys):
    finetune(tmp_path / "worse", ner, bases / "plain", epochs=1, settings=["optimizer.lr=1e-12"])
    options = ["--output", tmp_path / "out", "--fail-if-worse", "--against"]

    assert evaluate(tmp_path / "worse", ner, *options, tagger_run) == 3
    assert "points below that of" in capsys.readouterr().err
    assert list(tmp_path.glob("out/against-*/comparison.json"))
    assert evaluate(tagger_run, ner, *options, tmp_path / "worse") == 0
    assert evaluate(tagger_run, ner, *options, tagger_run) == 0


def test_worse_than_nothing_is_a_wrong_command(tagger_run, ner):
    with pytest.raises(SystemExit) as end:
        evaluate(tagger_run, ner, "--fail-if-worse")

    assert end.value.code == 2


def test_labels_are_mapped_on_both_sides(tagger_run, ner, tmp_path):
    (tmp_path / "map.toml").write_text('[labels]\npers = "NAME"\nplace = "NAME"\n')

    out = tmp_path / "out"
    assert evaluate(tagger_run, ner, "--output", out, "--labels", tmp_path / "map.toml") == 0

    assert numbers(out)["runs"]["seed-1"]["labels"] == ["NAME"]


def test_a_split_that_is_not_there_is_an_error(tagger_run, ner, make_ner, tmp_path, capsys):
    bare = make_ner(tmp_path / "ner", NerData.open(ner).split("train"))

    assert evaluate(tagger_run, bare, "--output", tmp_path / "out") == 1
    assert "no sentence of the split 'test'; it has train." in capsys.readouterr().err


def test_gold_names_that_the_tagger_has_no_label_for_are_counted(
    tagger_run, make_ner, tmp_path, capsys
):
    tags = ("O", "B-river", "O")
    one = Sentence(id="1", document_id="1", split="test", tokens=("in", "Ulm", "."), tags=tags)
    rivers = make_ner(tmp_path / "rivers", [one])
    nothing = make_ner(tmp_path / "nothing", [replace(one, tags=("O",) * 3)])

    assert evaluate(tagger_run, rivers, "--output", tmp_path / "out") == 0
    assert evaluate(tagger_run, nothing, "--output", tmp_path / "none") == 0

    said = "1 gold name cannot be found: the tagger has no label river, only pers, place"
    printed = capsys.readouterr().out
    assert f"note  {said}" in printed
    assert f"seed-1: {said}" in (tmp_path / "out" / "report.md").read_text()
    assert "note  there is no gold name" in printed


@pytest.mark.parametrize("run", ["nothing", "."])
def test_what_is_no_run_is_an_error(run, ner, tmp_path, capsys):
    assert evaluate(tmp_path / run, ner) == 1
    assert "onoma finetune" in capsys.readouterr().err


def small(finetune, run, ner, bases, recipe="softmax_small", *, size=20, **options):
    sizes = [f"training.train_size={size}"] if size else []
    settings = [*sizes, *options.pop("settings", [])]
    assert finetune(run, ner, bases / "plain", recipe, epochs=1, settings=settings, **options) == 0
    return run


def test_what_is_written_down_scores_in_seqeval_what_the_report_says(tagger_run, ner, tmp_path):
    seqeval = pytest.importorskip("seqeval.metrics")
    from seqeval.scheme import IOB2

    assert evaluate(tagger_run, ner, "--output", tmp_path, "--decoder", "free,fix") == 0

    for decoder in ("free", "fix"):
        lines = (tmp_path / decoder / "predictions.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        gold = [row["gold"] for row in rows]
        found = [row.get("tags") or list(_tags(row)) for row in rows]
        scores = numbers(tmp_path / decoder)["runs"]["seed-1"]["scores"]
        strict = seqeval.f1_score(gold, found, mode="strict", scheme=IOB2)
        assert scores["strict_f1"] == pytest.approx(strict)
        assert scores["lenient_f1"] == pytest.approx(seqeval.f1_score(gold, found))


def _tags(row):
    spans = [TokenSpan(start=start, end=end, label=label) for start, end, label, _ in row["spans"]]
    return to_iob2(spans, len(row["tokens"]))


@pytest.mark.parametrize("decoder", ["nonsense", "cse", "free,greedy"])
def test_a_decoder_that_does_not_go_with_the_head_is_refused_before_anything(
    tagger_run, ner, tmp_path, decoder, capsys
):
    with pytest.raises(SystemExit):
        evaluate(tagger_run, ner, "--output", tmp_path / "out", "--decoder", decoder)

    assert "does not go with head.kind=crf; viterbi, free, fix do" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_training_has_seen_is_that_of_the_sentences_it_had(ner, bases, finetune, tmp_path):
    run = small(finetune, tmp_path / "run", ner, bases, train_sizes="4,0", size=0, settings=[])

    assert evaluate(run, ner, "--output", tmp_path / "out", "--every-setting") == 0

    data = NerData.open(ner)
    for size in (4, 0):
        train = chosen_for_training(data.split("train"), size, where=ner)
        baseline = numbers(tmp_path / "out" / f"size={size}")["runs"]["seed-1"]["baseline"]
        names = {s.tokens[m.start : m.end] for s in train for m in from_iob2(s.tags)}
        assert baseline["forms"] == len(names)


def test_of_another_dataset_it_is_not_said_what_training_has_seen(
    tagger_run, ner, make_ner, tmp_path
):
    other = make_ner(tmp_path / "other" / "ner", NerData.open(ner).sentences[1:])

    assert evaluate(tagger_run, other, "--output", tmp_path / "out") == 0
    assert evaluate(tagger_run, other, "--output", tmp_path / "named", "--train", ner) == 0

    unknown, known = (numbers(tmp_path / name)["runs"]["seed-1"] for name in ("out", "named"))
    assert unknown["baseline"] is None
    assert unknown["mentions"] == []
    assert known["baseline"] is not None
    assert "was trained on another dataset" in (tmp_path / "out" / "report.md").read_text()
    assert "was trained on another dataset" not in (tmp_path / "named" / "report.md").read_text()


def test_a_dataset_without_train_says_nothing_of_training(
    tagger_run, ner, make_ner, tmp_path, capsys
):
    test = make_ner(tmp_path / "test", NerData.open(ner).split("test"))

    with pytest.raises(SystemExit, match="2"):
        evaluate(tagger_run, test, "--output", tmp_path / "out", "--train", test)

    assert f"--train {test}: no sentence of the split 'train'" in capsys.readouterr().err


def test_folds_of_several_seeds_are_scored_seed_by_seed(ner, bases, finetune, tmp_path):
    run = small(finetune, tmp_path / "run", ner, bases, folds=2, seeds="1,2")

    assert evaluate(run, ner, "--output", tmp_path / "out") == 0

    found = numbers(tmp_path / "out")
    n = len(NerData.open(ner).sentences)
    assert {name: one["n_sentences"] for name, one in found["runs"].items()} == {
        "all folds, seed 1": n,
        "all folds, seed 2": n,
    }
    assert found["settings"]["split"] == "folds"


def test_two_cross_validations_are_compared_on_all_sentences(ner, bases, finetune, tmp_path):
    runs = [
        small(finetune, tmp_path / name / "run", ner, bases, folds=2, settings=settings)
        for name, settings in (("one", []), ("other", ["head.dropout=0.5"]))
    ]

    assert evaluate(runs[0], ner, "--output", tmp_path / "out", "--against", runs[1]) == 0

    comparison = tmp_path / "out" / "against-other-run"
    assert "On 200 sentences" in (comparison / "comparison.md").read_text()
    assert "one/run" in (comparison / "comparison.md").read_text()


def test_a_comparison_is_the_same_from_both_sides(tagger_run, ner, bases, finetune, tmp_path):
    other = small(finetune, tmp_path / "other", ner, bases)
    outputs = [tmp_path / "a", tmp_path / "b"]

    assert evaluate(tagger_run, ner, "--output", outputs[0], "--against", other) == 0
    assert evaluate(other, ner, "--output", outputs[1], "--against", tagger_run) == 0

    first, second = (
        json.loads(next(output.glob("against-*/comparison.json")).read_text()) for output in outputs
    )
    assert first["first"] == second["second"]
    assert first["difference"]["value"] == -second["difference"]["value"]
    assert first["difference"]["p"] == second["difference"]["p"]
    ours, theirs = first["difference"]["interval"], second["difference"]["interval"]
    assert (ours["low"], ours["high"]) == pytest.approx((-theirs["high"], -theirs["low"]))
    assert first["only_first"] == second["only_second"]
    assert first["correlations"] == second["correlations"]


def test_gold_spans_that_the_head_cannot_find_are_named_in_the_report(
    ner, bases, finetune, tmp_path
):
    settings = ["head.span_features=words", "head.max_span_subwords=2"]
    run = small(finetune, tmp_path / "run", ner, bases, "span_small", settings=settings)

    assert evaluate(run, ner, "--output", tmp_path / "out") == 0

    test = NerData.open(ner).split("test")
    n = sum(
        s.tokens[m.start : m.end] == ("Karl", "Neu", "mann")
        for s in test
        for m in from_iob2(s.tags)
    )
    report = (tmp_path / "out" / "report.md").read_text()
    assert f"seed-1: {n} gold spans are longer than the head can find" in report
    assert "Karl Neu mann (3 subwords)" in report.replace("\\", "")


def test_settings_without_dev_are_scored_one_by_one(ner, bases, finetune, tmp_path, capsys):
    run = small(finetune, tmp_path / "run", ner, bases, folds=2, settings=["head.dropout=0,0.5"])

    assert evaluate(run, ner, "--output", tmp_path / "out") == 1
    assert "--every-setting" in capsys.readouterr().err
    assert evaluate(run, ner, "--output", tmp_path / "out", "--every-setting") == 0

    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "head.dropout=0",
        "head.dropout=0.5",
    }


def test_a_learning_curve_is_a_table_of_evaluations(ner, bases, finetune, tmp_path, capsys):
    run = small(finetune, tmp_path / "run", ner, bases, train_sizes="4,40", size=0)
    evaluate(run, ner, "--output", run / "evaluation" / "test", "--every-setting")
    (tmp_path / "encoder").mkdir()
    capsys.readouterr()

    table = [tmp_path / "run", tmp_path / "encoder", "--rows", "training.train_size"]
    assert report([str(part) for part in table]) == 0

    out, err = capsys.readouterr()
    assert [line.split(" ")[1] for line in out.splitlines()[4:]] == ["4", "40"]
    assert err == f"without evaluations: {tmp_path / 'encoder'}\n"
