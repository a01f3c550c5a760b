"""The span head, on real batches of small sentences."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from corpora.document import Sentence
from corpora.entities.vocabulary import MASK
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import EncoderConfig
from modeling.data.sentence_batches import SentenceCollator
from modeling.data.sentences import SentenceEncoder
from modeling.data.tagset import TagSet
from modeling.decoding.spans import decode_spans
from modeling.models.spans import FirstScores, SpanHead, read_alone, remember
from modeling.models.text_encoder import build_encoder
from modeling.tagging_config import SentencesConfig

TAGSET = TagSet(("LOC", "PER"))
WORDS = [f"w{n}" for n in range(20)]
SUBWORDS = [*SPECIALS, *WORDS, "##x"]
WIDTH = 16
TEXTS = [
    ("w1 w2x w3xx w4 w5", "O B-PER I-PER O B-LOC"),
    ("w6", "O"),
    ("w7 w8 w9xxx w10 w11 w12 w13x", "B-LOC O O O B-PER I-PER I-PER"),
    ("w14 w15x", "O O"),
]
KINDS = {
    "words": {"features": "words"},
    "all alone": {"max_candidates": 0},
    "chosen": {"max_candidates": 1.0},
    "entities": {"features": "entities", "max_candidates": 1.0},
    "joint": {"reading": "joint"},
}


class Table:
    """Features of a gazetteer that are known in advance."""

    n_features = 2

    def __init__(self, numbers):
        self.numbers = numbers

    def rows(self, words):
        return self.numbers[words]


def make_collator(texts=TEXTS, *, max_length=64, max_subwords=4, features=None):
    sentences = [
        Sentence(id=str(n), document_id="d", split="train", tokens=tuple(t), tags=tuple(tags))
        for n, (t, tags) in enumerate((text.split(), tags.split()) for text, tags in texts)
    ]
    tokenizer = Tokenizer(wordpiece(SUBWORDS, cased=True), name="small")
    encoded = SentenceEncoder(tokenizer, SentencesConfig(max_length=max_length, overlap=6)).encode(
        sentences
    )
    return SentenceCollator(
        encoded, tagset=TAGSET, features=features, max_span_subwords=max_subwords
    )


def make_batch(numbers=range(4), **settings):
    return make_collator(**settings)(list(numbers))


def make_encoder(n_entities=MASK + 1, **settings):
    torch.manual_seed(0)
    config = EncoderConfig(
        n_subwords=len(SUBWORDS),
        n_entities=n_entities,
        width=WIDTH,
        n_layers=2,
        n_heads=2,
        inner_width=24,
        attention="entity_aware" if n_entities else "plain",
        entity_width=8,
        **settings,
    )
    return build_encoder(config).eval()


def make_head(kind="chosen", **settings):
    torch.manual_seed(1)
    head = SpanHead(width=WIDTH, n_labels=2, **KINDS[kind] | settings).eval()
    for weights in head.parameters():
        torch.nn.init.normal_(weights)
    return head


def cross_entropy(log_probabilities, labels):
    return -log_probabilities.gather(1, labels[:, None]).sum()


@pytest.mark.parametrize("kind", KINDS)
def test_every_candidate_has_a_distribution(kind):
    batch = make_batch()

    scores = make_head(kind).scores(make_encoder(), batch)

    assert scores.shape == (len(batch.spans.starts), 3)
    torch.testing.assert_close(scores.exp().sum(1), torch.ones(len(scores)))


@pytest.mark.parametrize("with_features", [False, True])
def test_first_scores_are_a_linear_map_of_both_edges(with_features):
    numbers = torch.randn(15, 2).numpy()
    batch = make_batch(features=Table(numbers) if with_features else None)
    encoder, head = make_encoder(), make_head("words", n_features=2 * with_features)

    scores = head(encoder, batch).first

    first, subwords, spans = head.scorer.first, encoder(batch.inputs).subwords, batch.spans
    edges = torch.cat([subwords[spans.first_subwords], subwords[spans.last_subwords]], dim=1)
    weight = torch.cat([first.begin.weight, first.end.weight], dim=1)
    if with_features:
        before = torch.tensor([0, 5, 6, 13])[spans.sentences]
        known = [batch.features[before + spans.starts], batch.features[before + spans.ends - 1]]
        edges, weight = (
            torch.cat([edges, *known], dim=1),
            torch.cat([weight, first.beside.weight], 1),
        )
    torch.testing.assert_close(scores, functional.linear(edges, weight, first.begin.bias))


@pytest.mark.parametrize("rank", [0, 4])
def test_only_products_tell_which_edges_belong_together(rank):
    name = "B-PER I-PER"
    texts = [("w1 w2", name), ("w3 w4", name), ("w1 w4", "O O"), ("w3 w2", "O O")]
    batch = make_batch(texts=texts)
    torch.manual_seed(0)
    states = torch.randn(len(SUBWORDS), WIDTH)[batch.inputs.subwords]
    first = FirstScores(width=WIDTH, n_features=0, n_classes=3, dropout=0.0, rank=rank)
    optimizer = torch.optim.Adam(first.parameters(), lr=0.05)

    for _ in range(200):
        optimizer.zero_grad()
        scores = first(states, batch.spans, None)
        functional.cross_entropy(scores, batch.spans.labels).backward()
        optimizer.step()

    assert bool((scores.argmax(1) == batch.spans.labels).all()) == bool(rank)


def test_products_have_one_score_for_all_lengths_beyond_sixteen_words():
    text = " ".join(WORDS[:18])
    batch = make_batch([0], texts=[(text, "O " * 17 + "O")], max_subwords=18)
    first = FirstScores(width=WIDTH, n_features=0, n_classes=3, dropout=0.0, rank=4)
    with torch.no_grad():
        first.begin.weight.zero_()
        first.end.weight.zero_()
        first.begin.bias.zero_()
        first.products.lengths.weight[:, 1] = torch.arange(17.0)

    scores = first(torch.randn(len(batch.inputs.subwords), WIDTH), batch.spans, None)

    lengths = (batch.spans.ends - batch.spans.starts).clamp(max=16)
    assert int((batch.spans.ends - batch.spans.starts).max()) == 18
    torch.testing.assert_close(scores[:, 1], lengths.float())


@pytest.mark.parametrize("kind", ["chosen", "entities"])
def test_what_is_read_is_scored_by_its_state_and_the_rest_by_words(kind):
    batch, encoder, head = make_batch(), make_encoder(), make_head(kind)

    scores = head.scores(encoder, batch)

    found, remembered = head(encoder, batch), remember(encoder, batch.inputs)
    assert 0 < len(found.read) < len(scores)
    states = read_alone(encoder, remembered, batch.spans, chosen=found.read, inputs=batch.inputs)
    parts = states if kind == "chosen" else states[2:]
    expected = head.scorer.first(remembered.subwords, batch.spans, None).log_softmax(1)
    second = head.scorer.second.classifier(torch.cat(parts, dim=1)).log_softmax(1)
    for row, number in enumerate(found.read.tolist()):
        expected[number] = second[row]
    torch.testing.assert_close(scores, expected)


def slow_choice(first, batch, *, max_candidates):
    """Choose the spans to read, sentence by sentence."""
    outside = first.log_softmax(1)[:, 0].tolist()
    chosen = []
    for sentence, n_words in enumerate((5, 1, 7, 2)):
        own = (batch.spans.sentences == sentence).nonzero()[:, 0].tolist()
        chosen += sorted(own, key=lambda n: outside[n])[: math.ceil(max_candidates * n_words)]
    return sorted(chosen)


@pytest.mark.parametrize("max_candidates", [0.3, 1.0, 2.5, 100.0])
def test_those_with_the_least_probability_of_no_name_are_read(max_candidates):
    batch = make_batch()
    head = make_head(max_candidates=max_candidates, skip_below=0.0)

    found = head(make_encoder(), batch)

    expected = slow_choice(found.first, batch, max_candidates=max_candidates)
    assert found.read.tolist() == expected


def test_what_is_surely_no_name_is_not_read():
    batch, head = make_batch(), make_head(max_candidates=100.0, skip_below=0.3)

    found = head(make_encoder(), batch)

    is_name = 1 - found.first.softmax(1)[:, 0]
    assert found.read.tolist() == (is_name >= 0.3).nonzero()[:, 0].tolist()
    assert 0 < len(found.read) < len(is_name)


def test_in_training_gold_spans_are_read_and_sure_ones_too():
    batch = make_batch()
    head = make_head(max_candidates=0.5, skip_below=0.99).train()

    found = head(make_encoder(), batch)

    gold = (batch.spans.labels > 0).nonzero()[:, 0].tolist()
    expected = slow_choice(found.first, batch, max_candidates=0.5)
    assert found.read.tolist() == sorted({*gold, *expected})
    assert not set(gold) <= set(expected)


def test_with_room_for_all_nothing_is_left_to_the_first_score():
    batch, encoder = make_batch(), make_encoder()
    chosen, every = make_head(max_candidates=100.0, skip_below=0.0), make_head("all alone")
    every.scorer.second.load_state_dict(chosen.scorer.second.state_dict())

    torch.testing.assert_close(chosen.scores(encoder, batch), every.scores(encoder, batch))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_length", [64, 10])
def test_a_sentence_alone_is_scored_as_in_a_batch(kind, max_length):
    encoder, head = make_encoder(), make_head(kind)
    together = make_batch(max_length=max_length)
    scores = head.scores(encoder, together)

    for number in range(4):
        alone = make_batch([number], max_length=max_length)
        own = together.spans.sentences == number
        torch.testing.assert_close(head.scores(encoder, alone), scores[own])


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_a_tenth_of_the_summed_cross_entropy(kind):
    batch, encoder, head = make_batch(), make_encoder(), make_head(kind)

    loss = head.loss(encoder, batch)

    found, labels = head(encoder, batch), batch.spans.labels
    expected = torch.zeros(())
    if found.first is not None:
        expected = expected + cross_entropy(found.first.log_softmax(1), labels)
    if found.second is not None:
        read = labels if found.read is None else labels[found.read]
        expected = expected + cross_entropy(found.second.log_softmax(1), read)
    torch.testing.assert_close(loss, expected / 10)


@pytest.mark.parametrize("kind", KINDS)
def test_losses_of_two_batches_add_up_to_that_of_one(kind):
    encoder, head = make_encoder(), make_head(kind)

    losses = [head.loss(encoder, make_batch(numbers)) for numbers in ([0, 1, 2], [3])]

    torch.testing.assert_close(sum(losses), head.loss(encoder, make_batch()))


@pytest.mark.parametrize("kind", ["words", "all alone"])
def test_with_class_weights_the_loss_is_the_weighted_mean_of_torch(kind):
    batch, encoder = make_batch(), make_encoder()
    weights = torch.tensor([0.1, 2.0, 0.7])

    loss = make_head(kind, class_weights=weights).loss(encoder, batch)

    logits = make_head(kind)(encoder, batch)
    logits = logits.first if logits.second is None else logits.second
    mean = functional.cross_entropy(logits, batch.spans.labels, weight=weights)
    torch.testing.assert_close(loss / 15, mean)


def test_class_weights_are_not_saved():
    with_weights, without = make_head(class_weights=torch.ones(3)), make_head()

    assert with_weights.state_dict().keys() == without.state_dict().keys()


def test_temperature_divides_the_logits_of_both_scores():
    batch, encoder, head = make_batch(), make_encoder(), make_head()

    scores = head.scores(encoder, batch, temperature=3.0)

    found = head(encoder, batch)
    expected = (found.first / 3).log_softmax(1)
    expected[found.read] = (found.second / 3).log_softmax(1)
    torch.testing.assert_close(scores, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_may_have_no_candidate(kind):
    batch = make_batch()
    batch = replace(batch, spans=batch.spans.map(lambda column: column[:0]))
    encoder, head = make_encoder(), make_head(kind, class_weights=torch.ones(3))

    assert head.scores(encoder, batch).shape == (0, 3)
    assert head.loss(encoder, batch) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_under_autocast_scores_are_float32_and_nearly_the_same(kind):
    batch, encoder, head = make_batch(), make_encoder(), make_head(kind, max_candidates=0.0)
    exact = head.scores(encoder, batch)

    with torch.autocast("cpu", torch.bfloat16):
        rounded = head.scores(encoder, batch)

    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded.exp(), exact.exp(), rtol=0, atol=0.1)


def rule():
    """Make texts in which w0 to w4 are places, w5 w6x a person, and the rest nothing."""
    generator = torch.Generator().manual_seed(3)
    texts = []
    for _ in range(40):
        words, tags = [], []
        for n in torch.randint(0, 20, (7,), generator=generator).tolist():
            words += ["w5", "w6x"] if n == 5 else [f"w{n}"]
            tags += ["B-PER", "I-PER"] if n == 5 else ["B-LOC" if n < 5 else "O"]
        texts.append((" ".join(words), " ".join(tags)))
    return texts


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_learned(kind):
    collator = make_collator(rule())
    batches = [collator(range(20)), collator(range(20, 40))]
    encoder = make_encoder(dropout=0.0, embedding_dropout=0.0)
    torch.manual_seed(2)
    head = SpanHead(width=WIDTH, n_labels=2, **KINDS[kind]).train()
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-2)

    for step in range(150 if kind == "entities" else 75):  # words say more
        optimizer.zero_grad()
        (head.loss(encoder, batches[step % 2]) / len(batches[step % 2].tags)).backward()
        optimizer.step()

    with torch.no_grad():
        scores = head.eval().scores(encoder, batches[0])
    found = decode_spans(scores, batches[0].spans, 20, decoder="schedule", labels=TAGSET.labels)
    sentences = collator.encoded.sentences[:20]
    tags = [
        TAGSET.encode_spans(spans, len(sentence.tokens))
        for spans, sentence in zip(found, sentences, strict=True)
    ]
    assert np.concatenate(tags).tolist() == batches[0].tags.tolist()


def test_an_encoder_without_entities_takes_words_alone():
    encoder, batch = make_encoder(n_entities=0), make_batch()

    assert make_head("words").scores(encoder, batch).isfinite().all()
    for kind in ("all alone", "chosen", "joint"):
        with pytest.raises(ValueError, match="span_features=words"):
            make_head(kind).scores(encoder, batch)


def test_a_batch_must_have_what_the_head_reads():
    batch, encoder, head = make_batch(), make_encoder(), make_head()

    with pytest.raises(ValueError, match="candidate spans"):
        head.scores(encoder, replace(batch, spans=None))
    with pytest.raises(ValueError, match="no labels"):
        head.loss(encoder, replace(batch, spans=replace(batch.spans, labels=None)))
    with pytest.raises(ValueError, match="the same gazetteer"):
        head.scores(encoder, replace(batch, features=torch.zeros(15, 2)))
