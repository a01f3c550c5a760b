"""Taggers: settings that go together, and an encoder that is taken over as it is."""

import json
from dataclasses import replace

import pytest
import torch
import transformers

from corpora.document import Sentence
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import ConfigError, EncoderConfig, HeadsConfig, PretrainConfig
from modeling.data.sentence_batches import SentenceCollator
from modeling.data.sentences import SentenceEncoder
from modeling.data.tagset import TagSet
from modeling.huggingface.transfer import encoder_for, take_encoder
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.tagging_model import TaggingModel
from modeling.models.weights import WeightsError
from modeling.tagging_config import HEADS, HeadConfig, SentencesConfig, TaggerConfig

WORDS = ("a", "b", "c", "d")
TOKENIZER = Tokenizer(wordpiece([*SPECIALS, *WORDS], cased=True), name="letters")
ENCODERS = {
    "absolute": {"positions": "learned", "attention": "plain"},
    "relative": {"positions": "none", "attention": "relative"},
    "whole words": {"positions": "none", "attention": "whole_word_relative"},
    "entity-aware": {"positions": "learned", "attention": "entity_aware", "n_entities": 9},
}


def encoder_config(name="absolute", **settings):
    small = {"width": 16, "n_layers": 2, "n_heads": 2, "inner_width": 32, "max_positions": 24}
    small |= {"n_subwords": TOKENIZER.size, "entity_width": 8}
    return EncoderConfig(**small | ENCODERS[name] | settings)


def tagger_config(kind="softmax", *, encoder=None, labels=("LOC", "PER"), **head):
    return TaggerConfig(
        labels=labels, encoder=encoder or encoder_config(), head=HeadConfig(kind=kind, **head)
    )


def batch(*, with_words=False, max_span_subwords=0):
    rows = [("a b c a", "B-PER I-PER O B-LOC"), ("d", "O"), ("b d a c c", "O O B-LOC O B-PER")]
    sentences = [
        Sentence(
            id=f"s{n}",
            document_id="d",
            split="test",
            tokens=tuple(tokens.split()),
            tags=tuple(tags.split()),
        )
        for n, (tokens, tags) in enumerate(rows)
    ]
    encoded = SentenceEncoder(TOKENIZER, SentencesConfig(max_length=16)).encode(sentences)
    collator = SentenceCollator(
        encoded,
        tagset=TagSet(("LOC", "PER")),
        with_words=with_words,
        max_span_subwords=max_span_subwords,
    )
    return collator(range(3))


@pytest.fixture
def pretrained(tmp_path):
    def make(name):
        torch.manual_seed(3)
        heads = HeadsConfig(weights={"subwords": 1.0})
        model = PretrainingModel.from_config(
            PretrainConfig(encoder=encoder_config(name), heads=heads)
        )
        with torch.no_grad():  # so that nothing is 0 or 1, as it was drawn
            for parameter in model.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
        model.save(tmp_path / name)
        return model.eval(), tmp_path / name

    return make


@pytest.mark.parametrize("name", ENCODERS)
def test_words_are_read_with_the_states_of_the_pretrained_encoder(name, pretrained):
    theirs, folder = pretrained(name)
    encoder = encoder_for(theirs.config.encoder, reads_entities=False)
    model = TaggingModel.from_config(tagger_config(encoder=encoder))
    read = batch(with_words=name == "whole words")

    take_encoder(model, folder)

    model.eval()
    found, expected = model.encoder(read.inputs).subwords, theirs.encoder(read.inputs).subwords
    # Sums of float32 in another order, by the kernels that the processor has: some units of 2^-20.
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_for_spans_the_entities_are_cut_to_the_special_ones(pretrained):
    theirs, folder = pretrained("entity-aware")
    encoder = encoder_for(theirs.config.encoder, reads_entities=True)
    model = TaggingModel.from_config(tagger_config("span", encoder=encoder))

    take_encoder(model, folder)

    own, taken = theirs.encoder.state_dict(), model.encoder.state_dict()
    assert taken.keys() == own.keys()
    for name, weight in taken.items():
        torch.testing.assert_close(weight, own[name][: len(weight)], rtol=0, atol=0)


def test_the_states_of_a_bert_of_transformers_are_kept(tmp_path):
    torch.manual_seed(5)
    theirs = transformers.BertModel(
        transformers.BertConfig(
            vocab_size=TOKENIZER.size,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=24,
        )
    ).eval()
    theirs.save_pretrained(tmp_path)
    read = batch()
    with torch.device("cpu"):
        encoder = encoder_for(_encoder_of(tmp_path), reads_entities=False)
    model = TaggingModel.from_config(tagger_config(encoder=encoder)).eval()

    take_encoder(model, tmp_path)

    found = model.encoder(read.inputs).subwords
    lengths = torch.bincount(read.inputs.rows.subwords.sequences).tolist()
    for own, ids in zip(found.split(lengths), read.subwords.split(lengths), strict=True):
        expected = theirs(input_ids=ids[None]).last_hidden_state[0]
        torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-5)


def _encoder_of(folder):
    from modeling.huggingface.importing import read_pretrained

    return read_pretrained(folder).config.encoder


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (tagger_config(labels=()), "needs labels"),
        (tagger_config("crf", class_weights="inverse"), "class_weights"),
        (tagger_config("span", pooling="mean", span_features="words"), "pooling"),
        (tagger_config("span", span_features="both"), "reads entities"),
        *(
            (tagger_config(kind, decoder=decoder), f"head.decoder={decoder}")
            for kind, own in ((kind, head.decoders) for kind, head in HEADS.items())
            for decoder in sorted(
                {name for head in HEADS.values() for name in head.decoders} - {*own}
            )
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(config, message):
    with pytest.raises(ConfigError, match=message):
        TaggingModel.from_config(config)


@pytest.mark.parametrize("kind", HEADS)
def test_every_decoder_of_a_head_finds_spans_inside_the_sentences(kind):
    torch.manual_seed(1)
    model = TaggingModel.from_config(tagger_config(kind, span_features="words"))
    read = batch(max_span_subwords=3 if kind == "span" else 0)

    for decoder in HEADS[kind].decoders:
        for found, length in zip(model.find(read, decoder=decoder), (4, 1, 5), strict=True):
            assert all(0 <= span.start < span.end <= length for span in found.spans)
            ends = [edge for span in found.spans for edge in (span.start, span.end)]
            assert ends == sorted(ends) or decoder == "nest"
            assert all(0 <= span.probability <= 1 for span in found.spans)


@pytest.mark.parametrize("kind", HEADS)
def test_a_saved_tagger_is_loaded_as_it_was(kind, tmp_path):
    config = replace(tagger_config(kind, span_features="words"), temperature=1.5)
    model = TaggingModel.from_config(config)
    read = batch(max_span_subwords=3 if kind == "span" else 0)

    model.save(tmp_path)
    loaded = TaggingModel.load(tmp_path)

    assert loaded.config == config
    assert loaded.find(read) == model.find(read)


def test_a_temperature_changes_probabilities_and_no_span():
    model = TaggingModel.from_config(tagger_config("crf"))
    with torch.no_grad():
        model.head.linear.bias.copy_(torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0]))
    read = batch()
    cold = model.find(read)

    model.config = replace(model.config, temperature=3.0)
    warm = model.find(read)

    edges = [[(s.start, s.end, s.label) for s in found.spans] for found in cold]
    assert any(edges)
    assert edges == [[(s.start, s.end, s.label) for s in found.spans] for found in warm]
    assert cold != warm


def test_sentences_without_tags_cannot_be_learned_from():
    model = TaggingModel.from_config(tagger_config())

    with pytest.raises(ValueError, match="no tags"):
        model(replace(batch(), tags=None))


@pytest.mark.parametrize(
    ("section", "name", "size", "problem"),
    [
        ("encoder", "width", 10**15, "width=1000000000000000: must be from 1 to"),
        ("encoder", "n_layers", -1, "n_layers=-1: must be from 0 to"),
        ("encoder", "n_subwords", 10**8, "an encoder with 1,600,"),
        ("encoder", "dropout", float("nan"), "dropout = nan: must be a finite number"),
        ("encoder", "max_positions", float("inf"), "max_positions = inf: must be a whole number"),
        (None, "n_features", 10**12, "n_features=1000000000000: must be from 0 to"),
    ],
)
def test_sizes_that_no_tagger_has_are_refused_before_memory_is_taken(
    section, name, size, problem, tmp_path
):
    TaggingModel.from_config(tagger_config()).save(tmp_path)
    file = tmp_path / "tagger.json"
    values = json.loads(file.read_text(encoding="utf-8"))
    (values[section] if section else values)[name] = size
    file.write_text(json.dumps(values), encoding="utf-8")

    with pytest.raises((ConfigError, WeightsError), match=problem):
        TaggingModel.load(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [torch.float32, torch.float8_e5m2])
def test_weights_that_are_no_numbers_are_refused_by_name(value, kind, tmp_path):
    model = TaggingModel.from_config(tagger_config()).to(kind)
    with torch.no_grad():
        next(iter(model.encoder.parameters()))[0] = value
    model.save(tmp_path)

    with pytest.raises(WeightsError, match=r"model\.safetensors: encoder\.\S+ has values that are"):
        TaggingModel.load(tmp_path)
