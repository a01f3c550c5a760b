"""Taggers in transformers: the same scores, by the code that their cards show."""

import pytest
import torch
import transformers
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

from corpora.document import Sentence
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer
from modeling.export.__main__ import main
from modeling.layers.embeddings import pool_words
from modeling.models.spans import CHUNK
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.tagger import Tagger, document_of
from tests.modeling.export.conftest import run_card


def batch_of(tagger, sentence):
    return tagger._collator([sentence])([0])


@pytest.mark.parametrize(
    "encoder",
    [{}, {"positions": "sinusoidal"}, {"n_segments": 1}, {"n_segments": 2}, {"activation": "relu"}],
)
def test_a_softmax_head_has_the_same_scores(make_tagger, tmp_path, sentence, encoder):
    run = make_tagger(encoder=encoder)
    assert main([str(run), "--output", str(tmp_path / "out")]) == 0

    model, report = transformers.AutoModelForTokenClassification.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    tagger = Tagger.load(run)
    batch = batch_of(tagger, sentence)
    theirs = model.eval()(input_ids=batch.subwords[None]).logits[0]

    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    ours = tagger.model.head(tagger.model._states(batch)) / tagger.model.config.temperature
    theirs = pool_words(theirs, batch.word_subwords, batch.word_offsets)
    torch.testing.assert_close(theirs, ours, atol=1e-5, rtol=1e-4)
    names = tuple(model.config.id2label[id] for id in range(len(tagger.model.tagset)))
    assert names == tagger.model.tagset.tags


def test_their_tokenizer_cuts_as_ours(make_tagger, tmp_path, sentence):
    run = make_tagger()
    assert main([str(run), "--output", str(tmp_path / "out")]) == 0

    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")

    cut = tokenizer(list(sentence.tokens), is_split_into_words=True)["input_ids"]
    assert cut == batch_of(Tagger.load(run), sentence).subwords.tolist()


def test_their_pipeline_finds_the_best_tags(make_tagger, tmp_path):
    from transformers import pipeline

    run = make_tagger()
    model = TaggingModel.load(run)
    with torch.no_grad():
        model.head.linear.bias[0] -= 3  # so that not all is O
    model.save(run)
    assert main([str(run), "--output", str(tmp_path / "out")]) == 0
    text = "Peter lebt in Frankfurt am Main."

    found = pipeline("token-classification", str(tmp_path / "out"))(text)

    tagger = Tagger.load(run)
    [sentence] = [one.sentence for one in tagger.tag_document(document_of(text))]
    batch = batch_of(tagger, sentence)
    best = tagger.model.head(tagger.model._states(batch)).argmax(1)
    ours = dict(zip(sentence.token_starts, tagger.model.tagset.decode(best), strict=True))
    theirs = {row["start"]: row["entity"] for row in found if row["start"] in ours}
    assert theirs == {start: tag for start, tag in ours.items() if tag != "O"}
    assert theirs


@pytest.mark.parametrize("reading", ["alone", "joint"])
@pytest.mark.parametrize("features", ["both", "entities"])
@pytest.mark.parametrize("attention", ["plain", "entity_aware"])
def test_a_span_head_has_the_same_scores(
    make_tagger, tmp_path, sentence, entities, reading, features, attention
):
    head = {"kind": "span", "span_features": features, "span_reading": reading}
    encoder = entities | {"attention": attention}
    run = make_tagger(head=head | {"max_candidates": 0.0}, encoder=encoder)
    assert main([str(run), "--output", str(tmp_path / "out")]) == 0

    made = run_card(tmp_path / "out")

    tagger = Tagger.load(run)
    batch = batch_of(tagger, sentence)
    temperature = tagger.model.config.temperature
    ours = tagger.model.head.scores(tagger.model.encoder, batch, temperature=temperature)
    assert made["spans"] == list(
        zip(batch.spans.starts.tolist(), (batch.spans.ends - 1).tolist(), strict=True)
    )
    assert len(ours) <= CHUNK
    torch.testing.assert_close(made["logits"].log_softmax(1), ours, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head": {"kind": "crf"}}, "head.kind=crf"),
        ({"head": {"pooling": "mean"}}, "head.pooling=mean"),
        ({"n_features": 3}, "gazetteer"),
        ({"encoder": {"attention": "relative", "positions": "none"}}, "attention=relative"),
        ({"encoder": {"norm": "pre"}}, "norm=pre"),
        ({"head": {"kind": "span", "span_features": "words"}}, "max_candidates=0"),
    ],
)
def test_what_transformers_cannot_do_is_an_error_that_says_what_can_be_done(
    make_tagger, tmp_path, capsys, settings, message
):
    run = make_tagger(**settings)

    with pytest.raises(SystemExit):
        main([str(run), "--output", str(tmp_path / "out")])

    errors = capsys.readouterr().err
    assert message in errors
    assert "--archive" in errors
    assert not (tmp_path / "out").exists()


METASPACES = {
    "alone": pre_tokenizers.Metaspace(),
    "after WhitespaceSplit": pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    ),
    "not before the first word": pre_tokenizers.Metaspace(prepend_scheme="never"),
}


@pytest.mark.parametrize("metaspace", METASPACES)
@pytest.mark.parametrize("normalizer", [None, normalizers.NFKC()], ids=["as it is", "NFKC"])
def test_no_space_stands_alone_before_words_of_scripts_without_spaces(
    make_tagger, tmp_path, normalizer, metaspace
):
    scored = [*"▁abcP北京我在，:.", "▁P", "▁a", "▁我", "▁:", "▁.", "在北"]
    vocabulary = [*((name, 0.0) for name in SPECIALS), *((name, -2.0) for name in scored)]
    backend = Backend(models.Unigram(vocabulary, unk_id=1))
    backend.pre_tokenizer = METASPACES[metaspace]
    if normalizer:
        backend.normalizer = normalizer
    tagger = Tagger.load(make_tagger(tokenizer=Tokenizer(backend, name="unigram")))
    assert main([str(tmp_path / "run"), "--output", str(tmp_path / "out")]) == 0
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")

    for words in (("我", "在北", "京", "，", "P", "：", "aP", "北"), ("P", "在", "."), ("京",)):
        tags = ("O",) * len(words)
        sentence = Sentence(id="s", document_id="s", split="test", tokens=words, tags=tags)
        ours = batch_of(tagger, sentence).subwords.tolist()

        assert theirs(" ".join(words))["input_ids"] == ours
        if metaspace != "not before the first word":  # each word is the first then
            assert theirs(list(words), is_split_into_words=True)["input_ids"] == ours

    names = theirs.convert_ids_to_tokens(theirs("北 我 P 京")["input_ids"])[1:-1]
    assert names == ["北", "▁我", "▁P", "京"]


def test_a_byte_level_tokenizer_cuts_and_frames_words_as_ours(make_tagger, tmp_path, sentence):
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.post_processor = processors.ByteLevel(trim_offsets=False)  # sets no [CLS]
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator([" ".join(sentence.tokens)] * 9, trainer)
    run = make_tagger(tokenizer=Tokenizer(backend, name="bytes"))
    assert main([str(run), "--output", str(tmp_path / "out")]) == 0

    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")

    ours = batch_of(Tagger.load(run), sentence).subwords.tolist()
    assert tokenizer(" ".join(sentence.tokens))["input_ids"] == ours
    assert (
        len(tokenizer("Peter", "Main")["input_ids"]) == len(tokenizer("PeterMain")["input_ids"]) + 1
    )
    assert '" ".join(words)' in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
