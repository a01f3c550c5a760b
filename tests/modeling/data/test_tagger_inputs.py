"""How a tagger reads sentences."""

from dataclasses import replace

import pytest

from corpora.document import Sentence
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import ConfigError, EncoderConfig
from modeling.data.sentences import SentenceEncoder
from modeling.data.tagger_inputs import name_too_long, span_settings, window_settings
from modeling.data.tagset import TagSet
from modeling.tagging_config import HeadConfig, SentencesConfig, TaggerConfig

TOKENIZER = Tokenizer(wordpiece([*SPECIALS, "a"], cased=True), name="one")
ENCODER = EncoderConfig(positions="learned", max_positions=48)
SPANS = HeadConfig(kind="span", max_span_subwords=3)


def length(encoder=ENCODER, **settings):
    return window_settings(SentencesConfig(**settings), HeadConfig(), encoder).max_length


def test_windows_are_as_long_as_the_encoder_reads():
    assert length() == 48
    assert length(max_length=20) == 20
    assert length(EncoderConfig(positions="none")) == 512
    assert length(EncoderConfig(positions="none"), max_length=2000) == 2000


def test_a_length_beyond_the_positions_is_refused_and_not_cut():
    with pytest.raises(ConfigError, match=r"max_length=49: the encoder reads 48"):
        length(max_length=49)


def test_windows_for_spans_share_two_of_the_longest():
    head = HeadConfig(kind="span", max_span_subwords=16)

    assert window_settings(SentencesConfig(overlap=8), head, ENCODER).overlap == 32


@pytest.mark.parametrize(
    ("kind", "asked", "name", "positions", "longest"),
    [
        ("span", 0, 20, 512, 20),
        ("span", 0, 5, 512, 16),  # no shorter than LUKE's
        ("span", 0, 200, 512, 128),  # a quarter of a window
        ("span", 0, 20, 48, 16),
        ("span", 3, 20, 512, 3),
        ("softmax", 0, 20, 512, 0),
    ],
)
def test_the_longest_span_is_the_longest_name_of_train(kind, asked, name, positions, longest):
    tags = ("O", "B-X", *("I-X",) * (name - 1), "B-X", "O")
    sentence = Sentence(id="s", document_id="d", split="test", tokens=("a",) * len(tags), tags=tags)

    head = span_settings(
        HeadConfig(kind=kind, max_span_subwords=asked),
        SentencesConfig(),
        lambda windows: SentenceEncoder(TOKENIZER, windows).encode([sentence]),
        encoder=replace(ENCODER, max_positions=positions),
        tagset=TagSet(("X",)),
    )

    assert head.max_span_subwords == longest


def test_gold_spans_that_a_span_head_cannot_find_are_counted_and_named():
    tags = ("B-X", "I-X", "I-X", "I-X", "O", "B-X", "I-X", "I-X")
    sentence = Sentence(id="s", document_id="d", split="test", tokens=("a",) * len(tags), tags=tags)
    config = TaggerConfig(labels=("X",), head=SPANS, data=SentencesConfig(max_length=48))
    encoded = SentenceEncoder(TOKENIZER, config.data).encode([sentence] * 30)

    found = name_too_long(config, encoded)

    assert found["spans"] == 30
    assert found["some"][0] == "s: a a a a (4 subwords)"
    assert len(found["some"]) < 30
