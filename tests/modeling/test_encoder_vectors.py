"""Vectors of words, entities and spans are the states of the encoder, however they are read."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers

import modeling
from corpora.document import Mention, Sentence, Span, TokenSpan
from corpora.entities.vocabulary import MASK
from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import ConfigError
from modeling.finetune.data import NerData
from modeling.taggers.encoder import Encoder
from modeling.taggers.tagger import Tagger

TEXT = "ich war bei Anna und in Bad Berg ."
ANNA, BERG = Span(12, 16), Span(24, 32)


@pytest.fixture(scope="module")
def plain(bases):
    return Encoder.load(bases / "plain")


@pytest.fixture(scope="module")
def luke(bases):
    return Encoder.load(bases / "entities")


def states(encoder, text, **options):
    """Return the states (T, D) of a text that is read alone."""
    with torch.inference_mode():
        return encoder.model(encoder.windows(text, **options)).subwords.numpy()


def test_layers_that_are_not_kept_are_not_read(bases):
    encoder = Encoder.load(bases / "plain")
    layers = encoder.model.encoder.layers
    of_one_layer = states(encoder, TEXT)
    layers.append(copy.deepcopy(layers[0]))
    of_two_layers = states(encoder, TEXT)

    encoder.keep_layers(1)

    assert abs(of_two_layers - of_one_layer).max() > 1e-3
    np.testing.assert_array_equal(states(encoder, TEXT), of_one_layer)


def test_words_have_the_states_of_their_first_subwords_and_their_characters(plain):
    [words] = plain.words([TEXT])

    assert [TEXT[start:end] for start, end in words.offsets] == list(words.words)
    np.testing.assert_allclose(words.vectors, states(plain, TEXT)[1:-1], atol=1e-5)


def test_a_string_is_no_list_of_texts(luke):
    for read in (
        luke.words,
        lambda text: luke.spans(text, []),
        lambda text: luke.entities(text, []),
    ):
        with pytest.raises(TypeError, match=r"'Ulm' is one text\. Give a list"):
            read("Ulm")


def test_a_tuple_is_no_place(plain):
    with pytest.raises(TypeError, match=r"^\(0, 3\) is no place\. Write Span\(start, end\)"):
        plain.spans(["Ulm"], [[(0, 3)]])
    with pytest.raises(ValueError, match="1 lists of spans for 2 texts"):
        plain.spans(["Ulm", "Jena"], [[Span(0, 3)]])


def test_pooling_reads_all_subwords_of_a_word(plain):
    [first], [mean], [most] = (plain.words(["Theo"], pooling=p) for p in ("first", "mean", "max"))

    subwords = states(plain, "Theo")[1:-1]
    assert len(subwords) == 2
    np.testing.assert_allclose(first.vectors[0], subwords[0], atol=1e-5)
    np.testing.assert_allclose(mean.vectors[0], subwords.mean(0), atol=1e-5)
    np.testing.assert_allclose(most.vectors[0], subwords.max(0), atol=1e-5)


def test_what_is_read_together_and_in_which_order_does_not_matter(luke):
    texts = [TEXT, "", "Otto .", TEXT + " " + TEXT, "Ulm"]
    spans = [[BERG, ANNA, BERG], [], [Span(0, 4)], [ANNA], []]

    together = luke.spans(texts, spans)
    alone = [luke.spans([text], [own])[0] for text, own in zip(texts, spans, strict=True)]

    assert [len(found) for found in together] == [3, 0, 1, 1, 0]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_array_equal(together[0][0], together[0][2])


def test_a_span_is_its_first_and_last_subword_and_its_entity(luke):
    [both] = luke.spans([TEXT], [[ANNA, BERG]])
    [words] = luke.spans([TEXT], [[ANNA, BERG]], parts="words")
    [entities] = luke.spans([TEXT], [[ANNA, BERG]], parts="entities")

    subwords = states(luke, TEXT)
    expected = [
        np.concatenate([subwords[4], subwords[4]]),
        np.concatenate([subwords[7], subwords[8]]),
    ]
    np.testing.assert_allclose(words, expected, atol=1e-5)
    np.testing.assert_allclose(both, np.concatenate([words, entities], axis=1), atol=1e-5)


def test_the_mean_of_a_span_is_that_of_its_subwords(plain):
    [mean] = plain.spans([TEXT], [[Span(0, 7), BERG]], parts="mean")

    subwords = states(plain, TEXT)
    np.testing.assert_allclose(mean, [subwords[1:3].mean(0), subwords[7:9].mean(0)], atol=1e-5)


def test_one_masked_entity_is_a_span_that_is_read_jointly(luke):
    [entities] = luke.entities([TEXT], [[BERG]])

    [joint] = luke.spans([TEXT], [[BERG]], parts="entities", reading="joint")
    np.testing.assert_allclose(entities, joint, atol=1e-5)


def test_read_jointly_spans_see_each_other(luke):
    [one] = luke.spans([TEXT], [[BERG]], parts="entities", reading="joint")
    [two] = luke.spans([TEXT], [[BERG, ANNA]], parts="entities", reading="joint")
    [alone] = luke.spans([TEXT], [[BERG, ANNA]], parts="entities")

    assert abs(one[0] - two[0]).max() > 1e-4
    [single] = luke.spans([TEXT], [[BERG]], parts="entities")
    np.testing.assert_allclose(alone[0], single[0], atol=1e-5)


def test_entities_are_read_by_name(luke):
    names = [f"e{number}" for number in range(luke.config.n_entities)]
    named = Encoder(luke.model, luke.tokenizer, config=luke.config, entities=names)

    [[known, masked]] = named.entities([TEXT], [[Mention(24, 32, entity="e5"), ANNA]])

    batch = named.windows(TEXT, [Mention(24, 32, entity="e5"), ANNA])
    assert batch.mentions.entities.tolist() == [5, MASK]
    with torch.inference_mode():
        expected = named.model(batch).entities.numpy()
    np.testing.assert_allclose([known, masked], expected, atol=1e-5)


def test_entities_of_several_texts_are_those_of_each(luke):
    texts, mentions = [TEXT, "Ulm .", "Otto", TEXT], [[ANNA, BERG], [], [Span(0, 4)], [BERG]]

    together = luke.entities(texts, mentions)

    for text, own, found in zip(texts, mentions, together, strict=True):
        np.testing.assert_allclose(found, luke.entities([text], [own])[0], atol=1e-5)


def test_a_luke_of_transformers_has_the_same_entities(bases, tmp_path):
    tokenizer = Tokenizer.open(bases / "plain")
    config = transformers.LukeConfig(
        vocab_size=tokenizer.size,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        entity_vocab_size=8,
        entity_emb_size=12,
        max_position_embeddings=40,
        pad_token_id=0,
    )
    torch.manual_seed(2)
    model = transformers.LukeModel(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save(tmp_path)

    [found] = Encoder.load(tmp_path).entities([TEXT], [[BERG]])

    batch = Encoder.load(tmp_path).windows(TEXT)
    with torch.no_grad():
        expected = model(
            input_ids=batch.subwords[None],
            entity_ids=torch.tensor([[MASK]]),
            entity_position_ids=torch.tensor([[[7, 8]]]),
        ).entity_last_hidden_state[0]
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


def test_a_long_text_is_read_in_windows(plain):
    long = " ".join([TEXT] * 20)

    [words] = plain.words([long])

    assert len(words.vectors) == len(words.words) == 180
    with pytest.raises(CorpusError, match="Name a shorter span"):
        plain.spans([long], [[Span(0, 600)]])


def test_sentences_of_a_dataset_are_read_as_they_are(plain):
    tokens = tuple(TEXT.split())
    sentence = Sentence(
        id="s", document_id="s", split="test", tokens=tokens, tags=("O",) * len(tokens)
    )

    [words] = plain.words([sentence])
    [span] = plain.spans([sentence], [[TokenSpan(start=6, end=8, label="place")]])

    np.testing.assert_allclose(words.vectors, plain.words([TEXT])[0].vectors, atol=1e-6)
    assert words.offsets is None
    np.testing.assert_allclose(span, plain.spans([TEXT], [[BERG]])[0], atol=1e-6)


def test_the_encoder_of_a_tagger_is_opened_too(tagger_run):
    encoder = Encoder.load(tagger_run)

    assert encoder.words([TEXT])[0].vectors.shape == (9, encoder.width)


def test_where_words_know_entities_the_encoder_of_a_tagger_reads_them_too(
    tmp_path, ner, bases, finetune
):
    forms = tmp_path / "forms.tsv"
    forms.write_text("Bad Berg\tnew:Bad Berg\nAnna\tnew:Anna\n", encoding="utf-8")
    settings = [f"data.entities={forms}"]
    assert finetune(tmp_path / "run", ner, bases / "plain", epochs=1, settings=settings) == 0
    tagger = Tagger.load(tmp_path / "run")
    sentences = NerData.open(ner).split("dev")[:9]

    found = Encoder.of(tagger).words(sentences)

    collator = tagger._collator(sentences)
    with torch.inference_mode():
        expected = tagger.model._states(collator(range(9))).numpy()
    np.testing.assert_allclose(np.concatenate([w.vectors for w in found]), expected, atol=1e-5)
    tagger.entities = None
    [without] = Encoder.of(tagger).words(["bei Anna"])
    assert (
        abs(without.vectors - Encoder.load(tmp_path / "run").words(["bei Anna"])[0].vectors).max()
        > 0
    )


@pytest.mark.parametrize("ask", ["entities", "spans"])
def test_entities_of_an_encoder_without_any_are_an_error(plain, ask):
    options = {"parts": "both"} if ask == "spans" else {}

    with pytest.raises(ConfigError, match="reads no entities"):
        getattr(plain, ask)([TEXT], [[ANNA]], **options)


def test_an_unknown_entity_is_an_error(luke):
    with pytest.raises(CorpusError, match="'dawiki:Ulm' is no entity"):
        luke.entities([TEXT], [[Mention(0, 3, entity="dawiki:Ulm")]])


def test_nothing_asked_is_nothing_found(luke):
    assert luke.words([]) == []
    assert luke.words([""])[0].vectors.shape == (0, luke.width)
    assert luke.spans([TEXT], [[]])[0].shape == (0, 3 * luke.width)


def test_importing_modeling_loads_nothing_heavy():
    code = "import sys, modeling; print(sorted({'torch', 'transformers'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_modeling_has_both_classes():
    assert modeling.Encoder is Encoder
    assert modeling.Tagger is Tagger
    assert {"Encoder", "Tagger"} <= set(dir(modeling))


def test_an_unknown_name_of_modeling_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Taggr'"):
        _ = modeling.Taggr
