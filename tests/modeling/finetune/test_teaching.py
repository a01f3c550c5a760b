"""Distillation: a tagger learns what another one says, of text that nobody tagged, too."""

import io
import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from corpora.document import Document, Span
from corpora.errors import UsageError
from modeling.data.tagset import TagSet
from modeling.finetune.data import NerData
from modeling.finetune.teaching import FILE, Teacher
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.counts import strict_f1
from modeling.taggers.folders import find_tagger, read_manifest
from modeling.taggers.tagger import Tagger
from tests.datasets import write_dataset
from tests.modeling.conftest import tagged_sentence


def document(number, rng):
    sentences = [tagged_sentence(n, rng, split="train") for n in range(4)]
    spans, texts, start = [], [], 0
    for sentence in sentences:
        texts.append(" ".join(sentence.tokens))
        spans.append(Span(start, start + len(texts[-1])))
        start += len(texts[-1]) + 1
    return Document(
        id=f"letter{number}", group="g", source="s", text=" ".join(texts), sentences=tuple(spans)
    )


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """Write a hundred sentences without tags."""
    rng = random.Random(11)
    documents = [document(number, rng) for number in range(25)]
    return write_dataset(tmp_path_factory.mktemp("text") / "documents", documents)


@pytest.fixture(scope="module")
def few(tmp_path_factory, make_ner, ner):
    """Write two tagged sentences to learn from, with one label of two; dev and test as ever."""
    sentences = NerData.open(ner).sentences
    train = [s for s in sentences if s.split == "train" and "B-place" not in s.tags][:2]
    rest = [s for s in sentences if s.split != "train"]
    return make_ner(tmp_path_factory.mktemp("few") / "ner", [*train, *rest])


def f1(run, ner):
    return strict_f1(Tagger.load(run).tag(NerData.open(ner).split("test")))


def test_documents_that_two_datasets_hold_are_an_error(tmp_path, letters, tagger_run):
    again = write_dataset(tmp_path / "documents", [document(3, random.Random(1))])

    with pytest.raises(UsageError, match=r"--documents .*: a document is in both \('letter3'\)"):
        Teacher.open(tagger_run, [letters, again])


@pytest.mark.parametrize("head", ["softmax", "crf"])
def test_a_student_learns_from_text_without_tags(
    tmp_path, few, letters, bases, finetune, tagger_run, head
):
    """Its two own sentences do not even have all labels."""
    taught, run = {"teacher": tagger_run, "documents": letters}, tmp_path / "taught"

    assert finetune(run, few, bases / "plain", f"{head}_small", epochs=8, **taught) == 0

    assert Tagger.load(run).labels == Tagger.load(tagger_run).labels
    assert f1(run, few) > 0.9
    manifest = read_manifest(find_tagger(run).path)
    assert manifest["data"]["untagged"] == 100
    assert manifest["data"]["train"]["sentences"] == 102
    assert manifest["examples"][-1]["teacher"]["sha256"].keys() == {"model.safetensors"}


def test_a_teacher_that_is_sure_teaches_what_gold_tags_do(ner, tagger_run):
    model = TaggingModel.load(find_tagger(tagger_run).path)
    tagger = Tagger(model, Tagger.load(tagger_run).tokenizer)
    [[_, batch]] = batches = list(tagger_batches(tagger, NerData.open(ner).split("dev")[:8]))
    assert len(batches) == 1
    scores = model.head(model._states(batch))
    tags = torch.randint(5, (len(batch.word_offsets),), generator=torch.Generator().manual_seed(1))
    padded, lengths = batch.words.pad(tags), model.head.crf(scores, batch.words).lengths
    pairs = torch.zeros(len(lengths), 5, 5)
    for n, length in enumerate(lengths.tolist()):
        np.add.at(pairs[n].numpy(), (padded[n, : length - 1], padded[n, 1:length]), 1)
    expected = model.expect(batch)
    sure = replace(expected, words=torch.nn.functional.one_hot(tags, 5).float(), pairs=pairs)

    torch.testing.assert_close(
        model.head.loss_of_expected(scores, batch.words, sure),
        model.head.loss(scores, batch.words, tags),
    )
    torch.testing.assert_close(expected.words.sum(1), torch.ones(len(tags)))
    n_pairs = (lengths - 1).clamp(min=0).float()
    torch.testing.assert_close(expected.pairs.sum((1, 2)), n_pairs)


def tagger_batches(tagger, sentences):
    from modeling.data.sentence_batches import batches_by_length

    return batches_by_length(tagger._collator(sentences))


def test_gold_tags_count_as_much_as_asked(tmp_path, few, letters, tagger_run):
    tagged = NerData.open(few).split("train")
    lessons = Teacher.open(tagger_run, [letters], n_sentences=10).teach(
        tagged, tmp_path / FILE, io.StringIO()
    )
    tagset = TagSet(("org", "pers", "place"))  # one that the teacher does not know

    alone, mixed, gold = (
        lessons.learn(tagged[1:], tagset, gold_ratio=ratio) for ratio in (0, 0.25, 1)
    )

    codes = tagset.encode(tagged[1].tags)
    own = slice(len(codes))
    assert len(alone.pairs) == 11
    np.testing.assert_array_equal(gold.words[own], np.eye(len(tagset))[codes])
    for of in ("words", "pairs"):
        a, m, g = (getattr(each, of).astype(float) for each in (alone, mixed, gold))
        np.testing.assert_allclose(m, 0.75 * a + 0.25 * g, atol=2e-3)
    rest = slice(len(codes), None)
    np.testing.assert_array_equal(alone.words[rest], gold.words[rest])
    assert not alone.words[:, [1, 2]].any()
    assert gold.pairs[0].sum() == len(codes) - 1


def test_a_teacher_is_asked_once(tmp_path, few, letters, bases, finetune, tagger_run, monkeypatch):
    taught = {"teacher": tagger_run, "documents": letters, "sentences": 20, "seeds": "1,2"}
    run = tmp_path / "run"
    assert finetune(run, few, bases / "plain", epochs=1, **taught) == 0
    asked, ask = [], Tagger.expect_by_batch
    monkeypatch.setattr(
        Tagger, "expect_by_batch", lambda tagger, of: asked.append(len(of)) or ask(tagger, of)
    )

    again = {**taught, "seeds": "1,2,3"}
    assert finetune(run, few, bases / "plain", epochs=1, **again) == 0
    assert not asked

    before, other = (run / FILE).read_bytes(), {**taught, "sentences": 21}
    assert finetune(run, few, bases / "plain", epochs=1, **other) == 1  # another run's folder
    assert not asked
    assert (run / FILE).read_bytes() == before
    assert finetune(tmp_path / "other", few, bases / "plain", epochs=1, **other) == 0
    assert asked == [23]


def test_damage_is_asked_again(tmp_path, few, letters, tagger_run):
    tagged, teacher = NerData.open(few).split("train"), Teacher.open(tagger_run, [letters])
    first = teacher.teach(tagged, tmp_path / FILE, io.StringIO()).said
    (tmp_path / FILE).write_bytes(b"half")

    again = teacher.teach(tagged, tmp_path / FILE, io.StringIO()).said

    np.testing.assert_array_equal(first.words, again.words)


def test_other_tagged_sentences_are_asked_again(tmp_path, few, letters, tagger_run):
    tagged, teacher = NerData.open(few).split("train"), Teacher.open(tagger_run, [letters])
    teacher.teach(tagged, tmp_path / FILE, io.StringIO())

    said = teacher.teach(tagged[:1], tmp_path / FILE, io.StringIO()).said

    expected = teacher.teach(tagged[:1], tmp_path / "new", io.StringIO()).said
    np.testing.assert_array_equal(said.words, expected.words)


def test_progress_is_logged(tmp_path, few, letters, tagger_run, monkeypatch):
    monkeypatch.setattr("modeling.finetune.teaching._EVERY", 40)
    stream = io.StringIO()

    Teacher.open(tagger_run, [letters]).teach(
        NerData.open(few).split("train"), tmp_path / FILE, stream
    )

    assert "of 102" in stream.getvalue()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 2}, "Train a teacher for each fold"),
        ({"recipe": "span_small"}, "head.kind=span"),
        ({"settings": ["head.class_weights=inverse"]}, "without class weights"),
        ({"settings": ["training.gold_ratio=2"]}, "from 0 to 1"),
    ],
)
def test_what_cannot_be_taught_is_an_error(
    tmp_path, few, bases, finetune, tagger_run, capsys, options, message
):
    recipe = options.pop("recipe", "softmax_small")
    with pytest.raises(SystemExit) as ended:
        finetune(tmp_path / "run", few, bases / "plain", recipe, teacher=tagger_run, **options)

    assert ended.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_tagger_of_spans_teaches_nothing(tmp_path, few, bases, finetune, capsys):
    teacher = tmp_path / "spans"
    words = ["head.span_features=words"]
    assert finetune(teacher, few, bases / "plain", "span_small", epochs=1, settings=words) == 0

    with pytest.raises(SystemExit):
        finetune(tmp_path / "run", few, bases / "plain", teacher=teacher)
    assert "Take a tagger with another head" in " ".join(capsys.readouterr().err.split())


def test_text_is_for_a_teacher(tmp_path, few, letters, bases, finetune, capsys):
    with pytest.raises(SystemExit):
        finetune(tmp_path / "run", few, bases / "plain", documents=letters)

    assert "--documents and --sentences are for --teacher" in capsys.readouterr().err
