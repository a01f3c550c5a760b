"""Training continued from a tagger: what it knows stays, and labels may be added or renamed."""

import random
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from corpora.document import Sentence
from corpora.ner.labels import LabelMap
from modeling.finetune.__main__ import main
from modeling.finetune.continuing import Begun
from modeling.finetune.data import NerData
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.counts import strict_f1
from modeling.taggers.folders import find_tagger
from modeling.taggers.tagger import Tagger
from tests.modeling.conftest import tagged_sentence

STILL = ("--set", "optimizer.lr=0", "training.epochs=1", "training.choose=last")
"""Nothing is learned: the new tagger is the old one, as far as it was taken over."""


def go_on(output, ner, tagger, *options, recipe="crf_small"):
    command = [recipe, "--ner", ner, "--tagger", tagger, "--output", output, *options]
    return main([str(part) for part in command])


def tags_of(run, sentences):
    return [one.spans for one in Tagger.load(run).tag(sentences)]


def scores_of(run, ner):
    """Return the spans of test with their probabilities, without the temperature."""
    tagger = Tagger.load(run)
    tagger.model.config = replace(tagger.model.config, temperature=1.0)
    return [span for one in tagger.tag(NerData.open(ner).split("test")) for span in one.spans]


@pytest.mark.parametrize(
    ("recipe", "base", "settings"),
    [
        ("crf_small", "plain", ()),
        ("crf_small", "plain", ("gazetteer.source=train",)),
        ("crf_ner_small", "plain", ()),
        ("softmax_small", "plain", ()),
        ("cse_small", "plain", ()),
        ("span_small", "entities", ("gazetteer.source=train", "head.span_features=both")),
        ("span_small", "plain", ("gazetteer.source=train", "head.span_products=4")),
    ],
)
def test_a_training_begins_with_all_that_the_tagger_is(
    tmp_path, ner, bases, finetune, recipe, base, settings
):
    old, new = tmp_path / "old", tmp_path / "new"
    assert finetune(old, ner, bases / base, recipe, epochs=2, settings=settings) == 0

    assert go_on(new, ner, old, *STILL) == 0

    before, after = (TaggingModel.load(find_tagger(run).path).state_dict() for run in (old, new))
    torch.testing.assert_close(after, before, rtol=0, atol=0)
    assert scores_of(new, ner) == scores_of(old, ner)


def test_a_head_that_is_continued_has_the_learning_rate_of_the_encoder(tmp_path, ner, tagger_run):
    few = ("training.epochs=1", "training.max_steps=2", "training.choose=last")
    for ratio in (1, 10):
        settings = ("--set", f"training.head_lr_ratio={ratio}", *few)
        assert go_on(tmp_path / str(ratio), ner, tagger_run, *settings, recipe="crf") == 0

    one, ten = (
        TaggingModel.load(find_tagger(tmp_path / ratio).path).state_dict() for ratio in ("1", "10")
    )
    torch.testing.assert_close(ten, one, rtol=0, atol=0)


def test_a_new_label_gets_rows_of_its_own_and_old_ones_stay(tmp_path, ner, make_ner, tagger_run):
    dates = [
        Sentence(
            id=f"date{n // 4}#{n}",
            document_id=f"date{n // 4}",
            split="dev" if n % 4 == 3 else "train",
            tokens=("ich", "war", "dann", "Th", "."),
            tags=("O", "O", "O", "B-date", "O"),
        )
        for n in range(40)
    ]
    more = make_ner(tmp_path / "more", dates)

    options = ("--set", "optimizer.lr=2e-3", "training.epochs=6")
    assert go_on(tmp_path / "new", more, tagger_run, *options) == 0

    tagger = Tagger.load(tmp_path / "new")
    assert tagger.labels == ("date", "pers", "place")
    assert [m.label for m in tagger("ich war dann Th.")] == ["date"]
    old = NerData.open(ner).split("test")
    assert strict_f1(tagger.tag(old)) > 0.8  # what the new sentences have nothing of


def test_labels_are_taken_under_the_names_that_a_map_gives_them(tmp_path, make_ner, tagger_run):
    rng = random.Random(3)
    names = {"pers": "person", "place": "location"}
    sentences = [tagged_sentence(n, rng, split=("train", "dev")[n % 2]) for n in range(40)]
    renamed = [
        replace(one, tags=tuple(t[:2] + names[t[2:]] if t != "O" else t for t in one.tags))
        for one in sentences
    ]
    made = make_ner(tmp_path / "renamed", renamed)
    (tmp_path / "map.toml").write_text('[labels]\npers = "person"\nplace = "location"\n')

    options = ("--labels", tmp_path / "map.toml", *STILL)
    assert go_on(tmp_path / "new", made, tagger_run, *options) == 0

    old, new = (tags_of(run, sentences) for run in (tagger_run, tmp_path / "new"))
    assert [[(s.start, s.end, names[s.label]) for s in row] for row in old] == [
        [(s.start, s.end, s.label) for s in row] for row in new
    ]


def test_of_labels_that_become_one_the_one_of_that_name_is_taken(tagger_run):
    both = LabelMap("one", {"pers": "place"})
    other = LabelMap("new", {"pers": "name", "place": "name"})
    none = LabelMap("none", {"pers": ""})

    made = [Begun.open(tagger_run, labels) for labels in (both, other, none)]

    assert [begun.labels for begun in made] == [{"place"}, {"name"}, {"place"}]
    assert [begun._named(("pers", "place")) for begun in made] == [
        ["\0pers", "place"],
        ["name", "\0place"],
        ["\0pers", "place"],
    ]


@pytest.mark.parametrize(("named", "is_right"), [("words", True), ("both", False)])
def test_the_features_that_a_tagger_of_spans_has_may_be_named(
    tmp_path, ner, bases, finetune, named, is_right
):
    old, new = tmp_path / "old", tmp_path / "new"
    settings = ["training.max_steps=1", "training.choose=last"]
    assert finetune(old, ner, bases / "plain", "span_small", epochs=1, settings=settings) == 0
    options = (*STILL, f"head.span_features={named}")

    with nullcontext() if is_right else pytest.raises(SystemExit):
        assert go_on(new, ner, old, *options, recipe="span_small") == 0


def test_another_head_is_refused(tmp_path, ner, tagger_run, capsys):
    with pytest.raises(SystemExit):
        go_on(tmp_path / "new", ner, tagger_run, "--set", "head.kind=softmax")

    assert "head.kind=softmax: the tagger has crf, and keeps it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "m", "--tagger", "t"), "name one of them"),
        (("--model", "m", "--labels", "x"), "--labels is for --tagger"),
        ((), "--model is needed"),
    ],
)
def test_a_tagger_or_an_encoder_is_named(tmp_path, ner, options, message, capsys):
    with pytest.raises(SystemExit):
        main(["crf", "--ner", str(ner), "--output", str(tmp_path), *options])

    assert message in capsys.readouterr().err
