"""Fine-tuning from beginning to end, on a small language."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

from modeling.finetuning import session
from modeling.finetuning.data import NerData
from modeling.finetuning.summary import find_tagger, find_taggers
from modeling.finetuning.trials import Fold
from modeling.models.pretraining import PretrainingModel
from modeling.models.tagging import TaggingModel
from modeling.scoring.counts import strict_f1
from modeling.tagger import Tagger


def score(run, ner, split="test", **options):
    tagger = Tagger.load(run)
    for name, value in options.items():
        setattr(tagger, name, value)
    return strict_f1(tagger.tag(NerData.open(ner).split(split)))


def weights(run):
    return TaggingModel.load(find_tagger(run).path).state_dict()


@pytest.mark.parametrize(
    ("head", "epochs"), [("softmax", 6), ("cse", 20), ("crf", 6), ("crf_ner", 6)]
)
def test_each_head_learns(tmp_path, ner, bases, finetune, head, epochs):
    recipe = f"{head}_small"
    assert finetune(tmp_path / "run", ner, bases / "plain", recipe, epochs=epochs) == 0

    assert score(tmp_path / "run", ner) > 0.9


@pytest.mark.parametrize(("features", "epochs"), [("words", 6), ("both", 12)])
def test_the_span_head_learns(tmp_path, ner, bases, finetune, features, epochs):
    settings = [f"head.span_features={features}"]
    base = bases / ("plain" if features == "words" else "entities")
    run = tmp_path / "run"
    assert finetune(run, ner, base, "span_small", epochs=epochs, settings=settings) == 0

    assert score(tmp_path / "run", ner) > 0.9


def test_words_are_tagged_by_an_encoder_that_reads_entities(tmp_path, ner, bases, finetune):
    assert finetune(tmp_path / "run", ner, bases / "entities", "crf_small", epochs=6) == 0

    assert score(tmp_path / "run", ner) > 0.95


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, ner, bases, finetune, monkeypatch):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    settings = ["optimizer.ema=0.9"]
    assert finetune(whole, ner, bases / "plain", epochs=3, settings=settings) == 0
    made = session._Session._train_epoch

    def fails_in_the_third(self):
        if self.progress.epoch == 2:
            raise KeyboardInterrupt
        made(self)

    with monkeypatch.context() as patch:
        patch.setattr(session._Session, "_train_epoch", fails_in_the_third)
        assert finetune(cut, ner, bases / "plain", epochs=3, settings=settings) == 130

    assert finetune(cut, ner, bases / "plain", epochs=3, settings=settings) == 0
    torch.testing.assert_close(weights(cut), weights(whole), rtol=0, atol=0)


def test_a_finished_run_is_left_as_it_is(tmp_path, ner, bases, finetune):
    finetune(tmp_path / "run", ner, bases / "plain", epochs=1)
    made = (tmp_path / "run" / "seed-1" / "final" / "model.safetensors").stat().st_mtime_ns

    assert finetune(tmp_path / "run", ner, bases / "plain", epochs=1) == 0
    now = (tmp_path / "run" / "seed-1" / "final" / "model.safetensors").stat().st_mtime_ns
    assert now == made


def test_other_settings_are_refused_unless_forced(tmp_path, ner, bases, finetune, capsys):
    finetune(tmp_path / "run", ner, bases / "plain", epochs=1)

    assert finetune(tmp_path / "run", ner, bases / "plain", "crf_small", epochs=1) == 1
    assert 'config.head.kind: "softmax" there, "crf" here' in capsys.readouterr().err


def test_the_summary_names_the_best_setting_on_dev(tmp_path, ner, bases, finetune):
    settings = ["optimizer.lr=1e-7,5e-3"]
    assert finetune(tmp_path / "run", ner, bases / "plain", seeds="1,2", settings=settings) == 0

    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["best"] == "optimizer.lr=5e-3"
    assert [row["n"] for row in summary["settings"]] == [2, 2]
    assert len(find_taggers(tmp_path / "run")) == 4
    assert find_tagger(tmp_path / "run").setting == "optimizer.lr=5e-3"


def test_folds_are_disjoint_and_together_everything(ner):
    data = NerData.open(ner)
    folds = [Fold(number, 5) for number in range(1, 6)]
    tested = [sentence.id for fold in folds for sentence in data.fold(fold)[1]]

    assert sorted(tested) == sorted(sentence.id for sentence in data.sentences)
    for fold in folds:
        train, test = data.fold(fold)
        assert not {s.document_id for s in train} & {s.document_id for s in test}


def test_without_dev_the_best_epoch_cannot_be_chosen(
    tmp_path, ner, make_ner, bases, finetune, capsys
):
    sentences = NerData.open(ner).split("train")
    bare = make_ner(tmp_path / "ner", sentences)

    assert finetune(tmp_path / "run", bare, bases / "plain", epochs=1) == 1
    assert "training.choose=last" in capsys.readouterr().err
    settings = ["training.choose=last"]
    assert finetune(tmp_path / "run", bare, bases / "plain", epochs=1, settings=settings) == 0


def test_a_dataset_without_names_is_refused(tmp_path, ner, make_ner, bases, finetune, capsys):
    sentences = [replace(s, tags=("O",) * len(s.tags)) for s in NerData.open(ner).sentences]
    bare = make_ner(tmp_path / "ner", sentences)

    assert finetune(tmp_path / "run", bare, bases / "plain", epochs=1) == 1
    assert "no name among 120 training sentences" in capsys.readouterr().err


def test_a_tagger_needs_nothing_but_its_folder(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    settings = ["training.choose=last"]
    finetune(run, ner, bases / "plain", epochs=4, settings=settings, augment_lexicon="train")
    expected = score(run, ner)
    shutil.copytree(run / "seed-1" / "final", tmp_path / "elsewhere")
    shutil.rmtree(run)

    assert score(tmp_path / "elsewhere", ner) == expected > 0.9


def test_averaged_weights_are_what_is_scored_and_kept(tmp_path, ner, bases, finetune):
    table = "encoder.embeddings.pieces.weight"
    before = PretrainingModel.load(bases / "plain").state_dict()[table]
    settings = ["optimizer.ema=0.999999999"]  # the average hardly leaves the start

    finetune(tmp_path / "averaged", ner, bases / "plain", epochs=1, settings=settings)
    finetune(tmp_path / "own", ner, bases / "plain", epochs=1)

    torch.testing.assert_close(weights(tmp_path / "averaged")[table], before)
    assert (weights(tmp_path / "own")[table] - before).abs().max() > 1e-3
