"""Fine-tuning from beginning to end, on a small language."""

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import EncoderConfig, HeadsConfig, PretrainConfig
from modeling.evaluate.__main__ import main as evaluate
from modeling.finetune import finetuning
from modeling.finetune.data import NerData, chosen_for_training
from modeling.finetune.trials import Fold
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.counts import count_strict, strict_f1
from modeling.taggers.folders import find_tagger, find_taggers
from modeling.taggers.tagger import Tagger


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
    base = bases / ("plain" if features == "words" else "entities")
    run = tmp_path / "run"
    assert finetune(run, ner, base, "span_small", epochs=epochs) == 0

    assert score(run, ner) > 0.9
    assert TaggingModel.load(find_tagger(run).path).config.span_features == features


def test_words_are_tagged_by_an_encoder_that_reads_entities(tmp_path, ner, bases, finetune):
    assert finetune(tmp_path / "run", ner, bases / "entities", "crf_small", epochs=6) == 0

    assert score(tmp_path / "run", ner) > 0.95


def test_layers_that_are_computed_again_and_micro_batches_learn_the_same(
    tmp_path, ner, bases, finetune
):
    base, still = bases / "plain", ["head.dropout=0.0", "training.max_steps=3"]
    saving = ["training.recompute=true", "training.micro_batch_size=5"]
    assert finetune(tmp_path / "whole", ner, base, epochs=1, settings=still) == 0
    assert finetune(tmp_path / "parts", ner, base, epochs=1, settings=[*still, *saving]) == 0

    parts = weights(tmp_path / "parts")
    for name, whole in weights(tmp_path / "whole").items():
        torch.testing.assert_close(parts[name], whole, rtol=1e-3, atol=1e-4)


def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, ner, bases, finetune, monkeypatch):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    settings = ["optimizer.ema=0.9"]
    assert finetune(whole, ner, bases / "plain", epochs=3, settings=settings) == 0
    made = finetuning._Session._train_epoch

    def fails_in_the_third(self):
        if self.progress.epoch == 2:
            raise KeyboardInterrupt
        made(self)

    with monkeypatch.context() as patch:
        patch.setattr(finetuning._Session, "_train_epoch", fails_in_the_third)
        assert finetune(cut, ner, bases / "plain", epochs=3, settings=settings) == 130

    assert finetune(cut, ner, bases / "plain", epochs=3, settings=settings) == 0
    torch.testing.assert_close(weights(cut), weights(whole), rtol=0, atol=0)


@pytest.mark.parametrize(("learned", "is_reported"), [(0.25, True), (1.0, False), (4.0, True)])
def test_a_temperature_at_its_bound_is_reported(
    tmp_path, ner, bases, finetune, monkeypatch, capsys, learned, is_reported
):
    monkeypatch.setattr("modeling.finetune.finetuning.calibrate", lambda *_, **__: learned)

    finetune(tmp_path / "run", ner, bases / "plain", epochs=1)

    assert ("which is the bound" in capsys.readouterr().err) == is_reported


def test_a_finished_run_is_left_as_it_is_and_other_settings_are_refused(
    tagger_run, ner, bases, finetune, capsys
):
    weights_file = tagger_run / "seed-1" / "final" / "model.safetensors"
    made = weights_file.stat().st_mtime_ns

    assert finetune(tagger_run, ner, bases / "plain", "crf_small", epochs=6) == 0
    assert finetune(tagger_run, ner, bases / "plain", "softmax_small", epochs=6) == 1
    assert 'config.head.kind: "crf" there, "softmax" here' in capsys.readouterr().err
    assert weights_file.stat().st_mtime_ns == made


def test_the_summary_names_the_best_setting_on_dev(tmp_path, ner, bases, finetune):
    settings = ["optimizer.lr=1e-7,5e-3"]
    options = {"seeds": "1,2", "settings": settings, "epochs": 2}
    assert finetune(tmp_path / "run", ner, bases / "plain", **options) == 0

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

    with pytest.raises(SystemExit):
        finetune(tmp_path / "run", bare, bases / "plain", epochs=1)
    assert "training.choose=last" in capsys.readouterr().err
    settings = ["training.choose=last"]
    assert finetune(tmp_path / "run", bare, bases / "plain", epochs=1, settings=settings) == 0
    assert f"next  onoma predict {tmp_path / 'run'} --text FILE\n" in capsys.readouterr().err


def test_a_dataset_without_names_is_refused(tmp_path, ner, make_ner, bases, finetune, capsys):
    sentences = [replace(s, tags=("O",) * len(s.tags)) for s in NerData.open(ner).sentences]
    bare = make_ner(tmp_path / "ner", sentences)

    assert finetune(tmp_path / "run", bare, bases / "plain", epochs=1) == 1
    said = capsys.readouterr().err
    assert "no name among 120 training sentences (it has 120 of train, 40 of dev, 40" in said


def test_names_of_dev_that_no_tagger_can_find_are_counted(
    tmp_path, ner, make_ner, bases, finetune, capsys
):
    one, *others = NerData.open(ner).split("dev")
    river = replace(one, tags=("B-river", *["O"] * (len(one.tags) - 1)))
    both = make_ner(tmp_path / "ner", [*NerData.open(ner).split("train"), river, *others])

    assert finetune(tmp_path / "run", both, bases / "plain", epochs=1) == 0

    said = "warning: 1 name of dev cannot be found: no name of train has the label river."
    assert said in capsys.readouterr().err


def test_a_folder_with_a_dataset_takes_no_run(ner, bases, finetune, capsys):
    assert finetune(ner, ner, bases / "plain", epochs=1) == 1
    assert f"{ner}: holds datasets" in capsys.readouterr().err
    assert not (ner / "seed-1").exists()


def test_a_tagger_needs_nothing_but_its_folder(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    settings = ["training.choose=last"]
    finetune(run, ner, bases / "plain", epochs=4, settings=settings, augment_lexicon="train")
    expected = score(run, ner)
    shutil.copytree(run / "seed-1" / "final", tmp_path / "elsewhere")
    shutil.rmtree(run)

    assert score(tmp_path / "elsewhere", ner) == expected > 0.9


def test_averaged_weights_are_what_is_scored_and_kept(tmp_path, ner, bases, finetune):
    table = "encoder.embeddings.subwords.weight"
    before = PretrainingModel.load(bases / "plain").state_dict()[table]
    settings = ["optimizer.ema=0.999999999"]  # the average hardly leaves the start

    finetune(tmp_path / "averaged", ner, bases / "plain", epochs=1, settings=settings)
    finetune(tmp_path / "own", ner, bases / "plain", epochs=1)

    torch.testing.assert_close(weights(tmp_path / "averaged")[table], before)
    assert (weights(tmp_path / "own")[table] - before).abs().max() > 1e-3


def settings_of(run, name="seed-1"):
    return json.loads((run / name / "final" / "run.json").read_text())


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [([0.0, 0.0, 0.0], 3), ([0.0, 0.5, 0.0], 2), ([0.5, 0.0, 0.0], 1), ([0.4, 0.4, 0.3], 1)],
)
def test_the_best_epoch_is_kept_and_of_those_that_find_nothing_the_last(
    tmp_path, ner, bases, finetune, monkeypatch, scores, chosen
):
    given = iter([*scores, scores[chosen - 1]])
    monkeypatch.setattr(finetuning, "strict_f1", lambda _: next(given))

    settings = ["training.train_size=8"]
    finetune(tmp_path / "run", ner, bases / "plain", epochs=3, settings=settings)

    assert settings_of(tmp_path / "run")["dev"]["epoch"] == chosen


def test_the_last_epoch_is_recorded_where_it_is_taken(tmp_path, ner, bases, finetune, monkeypatch):
    given = iter([0.9, 0.1, 0.1])
    monkeypatch.setattr(finetuning, "strict_f1", lambda _: next(given))
    settings = ["training.choose=last", "training.train_size=8"]

    finetune(tmp_path / "run", ner, bases / "plain", epochs=2, settings=settings)

    assert settings_of(tmp_path / "run")["dev"]["epoch"] == 2


@pytest.mark.parametrize(
    ("lr", "said"), [(1.0, "predicts no name"), (1e-3, "below the list of names (1.0")]
)
def test_a_tagger_below_the_names_of_train_is_warned_of(
    tmp_path, ner, bases, finetune, capsys, lr, said
):
    settings = [f"optimizer.lr={lr}"]

    finetune(tmp_path / "run", ner, bases / "plain", epochs=1, settings=settings)

    lines = capsys.readouterr().err.splitlines()
    [at_dev] = [line for line in lines if " · dev · " in line]
    [warning] = [line for line in lines if line.startswith("warning: seed-1: on dev: ")]
    assert said in at_dev
    assert said in warning
    assert "--augment-lexicon train" in lines[lines.index(warning) + 1]


def with_inner_names(sentences):
    """Make every further word of a name an inner name."""
    for sentence in sentences:
        inner = tuple("B-part" if tag.startswith("I-") else "O" for tag in sentence.tags)
        yield replace(sentence, inner_tags=inner)


def test_inner_names_are_counted_and_have_taggers_of_their_own(
    tmp_path, ner, make_ner, bases, finetune, capsys
):
    nested = make_ner(tmp_path / "nested", list(with_inner_names(NerData.open(ner).sentences)))
    n_inner = sum(tag[0] == "I" for s in NerData.open(ner).sentences for tag in s.tags)

    finetune(tmp_path / "outer", nested, bases / "plain", epochs=1)
    assert f"note  {n_inner} inner names of {nested} are neither" in capsys.readouterr().err
    finetune(tmp_path / "inner", nested, bases / "plain", epochs=6, level="inner")
    assert "inner names of" not in capsys.readouterr().err
    assert evaluate([str(tmp_path / "inner"), "--ner", str(nested)]) == 0

    assert Tagger.load(tmp_path / "inner").labels == ("part",)
    report = tmp_path / "inner" / "evaluation" / "nested-test" / "evaluation.json"
    assert json.loads(report.read_text())["scores"]["strict_f1"]["mean"] > 0.9


def test_a_tagger_of_spans_finds_names_inside_names(
    tmp_path, ner, make_ner, bases, finetune, capsys
):
    nested = make_ner(tmp_path / "nested", list(with_inner_names(NerData.open(ner).sentences)))
    base, run = bases / "plain", tmp_path / "run"
    options = {"epochs": 8, "settings": ["head.span_features=words"], "level": "both"}

    with pytest.raises(SystemExit, match="2"):
        finetune(tmp_path / "crf", nested, base, "crf_small", level="both")
    assert "--level both: head.kind=crf" in capsys.readouterr().err
    assert finetune(run, nested, base, "span_small", **options) == 0
    assert evaluate([str(run), "--ner", str(nested)]) == 0

    report = json.loads((run / "evaluation/nested-test/evaluation.json").read_text())
    [measured] = report["runs"].values()
    parts = {part["name"]: part["score"]["f1"] for part in measured["mentions"]}
    assert measured["strict"]["micro"]["f1"] > 0.8
    assert parts["inner names"] > 0.8
    found = Tagger.load(run)("ich war mit Ida Berg in Ulm.")
    assert all(a.end <= b.start or b.end <= a.end for a, b in pairwise(found))


def test_inner_names_with_the_words_of_the_outer_name_are_counted(tmp_path, ner, make_ner):
    [first, *others] = NerData.open(ner).sentences
    tags = ("B-PER",) + ("O",) * (len(first.tokens) - 1)
    hidden = replace(first, tags=tags, inner_tags=("B-part", *tags[1:]))
    same = replace(others[0], tags=("B-PER", *others[0].tags[1:]), inner_tags=None)

    data = NerData.open(make_ner(tmp_path / "nested", [hidden, same]), level="both")

    assert data.left_out.startswith("note  1 inner name of ")
    assert "another label: a span has one" in data.left_out


def test_sentences_without_inner_names_have_no_inner_level(tmp_path, ner, bases, finetune, capsys):
    assert finetune(tmp_path / "run", ner, bases / "plain", level="inner") == 1

    assert "--level inner: no sentence has inner names" in capsys.readouterr().err


def without_names(sentences, split):
    return [replace(s, tags=("O",) * len(s.tags)) if s.split == split else s for s in sentences]


def test_no_epoch_is_chosen_on_a_dev_without_names(
    tmp_path, ner, make_ner, bases, finetune, capsys
):
    bare = make_ner(tmp_path / "ner", without_names(NerData.open(ner).sentences, "dev"))

    with pytest.raises(SystemExit):
        finetune(tmp_path / "run", bare, bases / "plain", epochs=1)
    assert "has no name in it" in capsys.readouterr().err


def test_more_training_sentences_than_there_are_stop_the_command_before_anything(
    tmp_path, ner, bases, finetune, capsys
):
    run = tmp_path / "run"

    assert finetune(run, ner, bases / "plain", epochs=1, train_sizes="10,121") == 1

    assert "there are 120 training sentences" in capsys.readouterr().err
    assert not run.exists()


def test_a_smaller_training_set_is_part_of_a_larger_one(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    sentences = NerData.open(ner).split("train")
    chosen = [
        {s.id for s in chosen_for_training(sentences, size, where=ner)} for size in (10, 40, 0)
    ]

    assert finetune(run, ner, bases / "plain", epochs=1, train_sizes="10,40,0") == 0

    assert chosen[0] < chosen[1] < chosen[2]
    sizes = [settings_of(run / f"size={n}")["data"]["train"]["sentences"] for n in (10, 40, 0)]
    assert sizes == [len(ids) for ids in chosen] == [10, 40, 120]
    summary = json.loads((run / "summary.json").read_text())
    assert [row["setting"] for row in summary["settings"]] == ["size=10", "size=40", "size=0"]


@pytest.mark.parametrize("n_documents", [1, 5, 10, 23, 50])
def test_folds_are_even(ner, n_documents):
    data = NerData.open(ner)
    named = [
        replace(sentence, document_id=f"d{number % n_documents}")
        for number, sentence in enumerate(data.sentences)
    ]
    data = replace(data, sentences=tuple(named))

    tests = [data.fold(Fold(number, 5))[1] for number in range(1, 6)]

    has_documents = n_documents >= 10
    sizes = [len({s.document_id for s in test} if has_documents else test) for test in tests]
    assert max(sizes) - min(sizes) <= 1


def test_more_folds_than_sentences_are_an_error(ner):
    data = NerData.open(ner)

    with pytest.raises(CorpusError, match="make no 5 folds"):
        replace(data, sentences=data.sentences[:4]).fold(Fold(1, 5))


def test_a_lexicon_that_has_changed_is_another_run(tmp_path, ner, bases, finetune, capsys):
    lexicon = tmp_path / 'my "names".tsv'
    lexicon.write_text("Ulm\tplace\n")
    run = tmp_path / "run"
    assert finetune(run, ner, bases / "plain", epochs=1, augment_lexicon=lexicon) == 0
    lexicon.write_text("Jena\tplace\n")

    assert finetune(run, ner, bases / "plain", epochs=1, augment_lexicon=lexicon) == 1
    assert "examples.1.gazetteer" in capsys.readouterr().err


def test_forced_a_run_begins_anew_where_it_is_another_one(tmp_path, ner, bases, finetune, capsys):
    run = tmp_path / "run"
    small = ["training.train_size=20"]
    finetune(run, ner, bases / "plain", epochs=1, settings=small)
    assert finetune(run, ner, bases / "plain", "cse_small", epochs=1, settings=small) == 1
    assert "begin again with --force" in capsys.readouterr().err
    (run / "seed-1" / "settings.json").write_text("{")

    from modeling.finetune.__main__ import main

    options = ["--ner", ner, "--model", bases / "plain", "--output", run, "--force"]
    options += ["--set", "training.epochs=1", *small]
    assert main([str(part) for part in ("cse_small", *options)]) == 0

    assert settings_of(run)["config"]["head"]["kind"] == "cse"


def test_a_run_that_is_being_made_anew_is_not_used_half(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    finetune(run, ner, bases / "plain", epochs=1, seeds="1,2", settings=["training.train_size=9"])
    shutil.rmtree(run / "seed-2" / "final")

    with pytest.raises(CorpusError, match="run the command of"):
        find_tagger(run)


def test_what_a_killed_command_left_beside_a_finished_tagger_is_taken_away(
    tmp_path, ner, bases, finetune
):
    run = tmp_path / "run"
    settings = ["training.train_size=9"]
    finetune(run, ner, bases / "plain", epochs=1, settings=settings)
    left = run / "seed-1" / "checkpoints" / "step-000001"
    left.mkdir(parents=True)
    (run / "seed-1" / "best.safetensors").write_bytes(b"")

    finetune(run, ner, bases / "plain", epochs=1, settings=settings)

    assert not left.parent.exists()
    assert not (run / "seed-1" / "best.safetensors").exists()


def test_settings_without_dev_have_no_best_one(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    settings = ["head.dropout=0,0.2", "training.train_size=9"]
    assert finetune(run, ner, bases / "plain", epochs=1, folds=2, settings=settings) == 0

    assert json.loads((run / "summary.json").read_text())["best"] is None
    with pytest.raises(CorpusError, match="none is the best"):
        find_tagger(run)


def test_gold_spans_beyond_a_head_are_named_without_dev_too(
    tmp_path, ner, make_ner, bases, finetune
):
    sentences = NerData.open(ner).split("train")
    bare = make_ner(tmp_path / "ner", sentences)
    settings = ["training.choose=last", "head.span_features=words", "head.max_span_subwords=2"]

    run = tmp_path / "run"
    assert finetune(run, bare, bases / "plain", "span_small", epochs=1, settings=settings) == 0

    n = sum(
        tuple(s.tokens[i : i + 3]) == ("Karl", "Neu", "mann") for s in sentences for i in range(99)
    )
    assert settings_of(run)["dev"]["too_long"]["train"]["spans"] == n > 0


def test_a_span_head_finds_names_as_long_as_those_of_train(
    tmp_path, ner, make_ner, bases, finetune
):
    first, *others = NerData.open(ner).sentences
    name = ("Karl",) * 20
    long = replace(first, tokens=name, tags=("B-pers", *("I-pers",) * 19), token_starts=None)
    longer = make_ner(tmp_path / "ner", [replace(long, split="train"), *others])
    base, tokenizer = tmp_path / "base", Tokenizer.open(bases / "plain")
    sizes = {"width": 16, "n_layers": 1, "n_heads": 2, "inner_width": 16, "max_positions": 96}
    encoder = EncoderConfig(n_subwords=tokenizer.size, **sizes)
    heads = HeadsConfig(weights={"subwords": 1.0})
    PretrainingModel.from_config(PretrainConfig(encoder=encoder, heads=heads)).save(base)
    tokenizer.save(base)

    run, settings = tmp_path / "run", ["head.span_features=words", "training.choose=last"]
    assert finetune(run, longer, base, "span_small", epochs=1, settings=settings) == 0

    assert settings_of(run)["dev"]["too_long"]["train"]["spans"] == 0
    assert Tagger.load(run).model.config.head.max_span_subwords == 20


def test_labels_that_train_has_not_are_misses(tmp_path, ner, make_ner, bases, finetune):
    sentences = [
        s
        if s.split == "train"
        else replace(s, tags=tuple(t.replace("pers", "thing") for t in s.tags))
        for s in NerData.open(ner).sentences
    ]
    other = make_ner(tmp_path / "ner", sentences)

    finetune(tmp_path / "run", other, bases / "plain", epochs=4)

    tagger = Tagger.load(tmp_path / "run")
    assert tagger.labels == ("pers", "place")
    tagged = tagger.tag(NerData.open(other).split("test"))
    counts = count_strict(tagged)
    rows = dict(zip(counts.labels, counts.rows.sum(0).tolist(), strict=True))
    assert rows["thing"][0] == rows["thing"][1] == 0 < rows["thing"][2]
    assert rows["pers"][2] == 0 < rows["pers"][1]
    assert settings_of(tmp_path / "run")["dev"]["strict_f1"] < 0.9


def test_the_document_around_a_sentence_is_read_and_not_tagged(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    settings = ["data.context=document"]
    finetune(run, ner, bases / "plain", epochs=6, settings=settings)
    sentences = NerData.open(ner).split("test")
    tagger = Tagger.load(run)

    together, alone = tagger.tag(sentences), [tagger.tag([s])[0] for s in sentences]

    assert strict_f1(together) > 0.9
    assert [one.sentence for one in together] == sentences
    moved = [
        abs(a - b)
        for one, other in zip(together, alone, strict=True)
        for (_, a), (_, b) in zip(one.words, other.words, strict=True)
    ]
    assert max(moved) > 1e-4  # what stands around is seen
    unrelated = [replace(s, document_id=s.id) for s in sentences]
    for one, other in zip(tagger.tag(unrelated), alone, strict=True):
        assert [label for label, _ in one.words] == [label for label, _ in other.words]


@pytest.mark.parametrize("text", [None, "{", "[1]", '{"labels": 3}'])
@pytest.mark.parametrize("name", ["tagger.json", "run.json"])
def test_a_damaged_tagger_is_named(tagger_run, ner, tmp_path, name, text, capsys):
    folder = tmp_path / "tagger"
    shutil.copytree(tagger_run / "seed-1" / "final", folder)
    (folder / name).unlink() if text is None else (folder / name).write_text(text)
    from modeling.evaluate.__main__ import main

    with suppress(SystemExit):  # 2, or
        assert main([str(folder), "--ner", str(ner), "--output", str(tmp_path / "out")]) == 1
    assert "agger" in capsys.readouterr().err
