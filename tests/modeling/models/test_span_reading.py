"""Spans that are read alone, and jointly as LUKE reads them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from corpora.entities.vocabulary import MASK
from modeling.config import EncoderConfig
from modeling.data.batch import Batch, BatchMentions, LayerRows, Layout, SpanBatch
from modeling.huggingface.importing import read_pretrained
from modeling.models import spans as reading
from modeling.models.spans import read_alone, read_jointly, remember
from modeling.models.text_encoder import build_encoder

LENGTHS = (6, 3, 11, 5)
SIZES = {
    "n_subwords": 50,
    "n_entities": MASK + 1,
    "width": 16,
    "n_layers": 2,
    "n_heads": 2,
    "inner_width": 24,
    "max_positions": 32,
    "entity_width": 8,
}
ENCODERS = {
    "plain": {"attention": "plain"},
    "entity-aware": {"attention": "entity_aware"},
    "norms first": {"attention": "entity_aware", "norm": "pre"},
    "sinusoidal positions": {"attention": "plain", "positions": "sinusoidal", "entity_bias": True},
}


def make_encoder(name="entity-aware", **settings):
    torch.manual_seed(0)
    encoder = build_encoder(EncoderConfig(**SIZES | ENCODERS[name] | settings)).double().eval()
    with torch.no_grad():
        for weights in encoder.parameters():
            weights.normal_(std=0.4)
    return encoder


def make_inputs(lengths=LENGTHS, seed=0):
    layout = Layout.of(lengths)
    ids = torch.from_numpy(np.random.default_rng(seed).integers(5, 50, sum(lengths)))
    return Batch(tuple(map(str, range(len(lengths)))), ids, LayerRows(layout, layout))


def spans_at(lengths, places):
    """Make candidates of (window, first position, last position); each window is a sentence."""
    windows, firsts, lasts = torch.tensor(places, dtype=torch.int64).reshape(-1, 3).T
    begins = torch.tensor([0, *lengths]).cumsum(0)[windows]
    return SpanBatch(
        windows,
        firsts - 1,
        lasts,
        windows,
        first_subwords=begins + firsts,
        last_subwords=begins + lasts,
    )


def all_spans(lengths=LENGTHS, without=1):
    """Make every span of at most 4 subwords between [CLS] and [SEP], but none in one window."""
    return spans_at(
        lengths,
        [
            (window, i, j)
            for window, n in enumerate(lengths)
            for i in range(1, n - 1)
            for j in range(i, min(i + 4, n - 1))
            if window != without
        ],
    )


def read_all(encoder, inputs, spans, chosen=None):
    chosen = torch.arange(len(spans.starts)) if chosen is None else chosen
    return read_alone(encoder, remember(encoder, inputs), spans, chosen=chosen, inputs=inputs)


def places_of(spans, window, lengths=LENGTHS):
    begin = sum(lengths[:window])
    own = spans.windows == window
    pairs = zip(spans.first_subwords[own].tolist(), spans.last_subwords[own].tolist(), strict=True)
    return [(first - begin, last - begin) for first, last in pairs]


def texts_with(inputs, spans, samples, lengths=LENGTHS):
    """Return the windows as texts in which every span is a mention of [MASK]."""
    mentions = [
        tuple((MASK, i, j + 1) for i, j in places_of(spans, window, lengths))
        for window in range(len(lengths))
    ]
    ids = (tuple(part.tolist()) for part in inputs.subwords.split(lengths))
    return [samples.Text(*text) for text in zip(ids, mentions, strict=True)]


def heads(projected, n_heads):
    return projected.unflatten(1, (n_heads, -1)).transpose(0, 1)


def masked_attention(layer, x, n):
    """Attend within n subwords and then entities; nobody sees an entity but itself."""
    if hasattr(layer, "entity_query"):
        to_words = torch.cat([layer.query(x[:n]), layer.entity_query_to_words(x[n:])])
        to_entities = torch.cat([layer.query_to_entities(x[:n]), layer.entity_query(x[n:])])
    else:
        to_words = to_entities = layer.query(x)
    key, value = heads(layer.key(x), layer.n_heads), heads(layer.value(x), layer.n_heads)
    of_words = heads(to_words, layer.n_heads) @ key[:, :n].mT
    of_entities = heads(to_entities, layer.n_heads) @ key[:, n:].mT
    scores = torch.cat([of_words, of_entities], dim=2) / key.shape[2] ** 0.5
    is_seen = torch.eye(len(x), dtype=torch.bool)
    is_seen[:, :n] = True
    weights = scores.masked_fill(~is_seen, -torch.inf).softmax(2)
    return layer.output((weights @ value).transpose(0, 1).flatten(1))


def slow_states(encoder, ids, places):
    """Compute the states of one window, (n + E, D), through masked dense layers.

    Subwords and entities go through together.
    """
    layout = Layout.of([len(ids)])
    mentions = BatchMentions(
        entities=torch.full((len(places),), MASK),
        positions=torch.tensor([p for i, j in places for p in range(i, j + 1)]),
        offsets=torch.tensor([0, *(j - i + 1 for i, j in places)]).cumsum(0)[:-1],
    )
    subwords = encoder.embeddings(ids, LayerRows(layout, layout))
    x = torch.cat([subwords, encoder.entity_embeddings(mentions)])
    for layer in encoder.encoder.layers:
        if layer.norms_first:
            x = x + masked_attention(layer.attention, layer.attention_norm(x), len(ids))
            x = x + layer.feed_forward(layer.feed_forward_norm(x))
        else:
            x = layer.attention_norm(x + masked_attention(layer.attention, x, len(ids)))
            x = layer.feed_forward_norm(x + layer.feed_forward(x))
    return x if encoder.encoder.norm is None else encoder.encoder.norm(x)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_span_sees_the_subwords_and_itself_and_is_seen_by_none(name):
    encoder, inputs, spans = make_encoder(name), make_inputs(), all_spans()

    states = read_all(encoder, inputs, spans)

    expected = []
    for window, ids in enumerate(inputs.subwords.split(LENGTHS)):
        if places := places_of(spans, window):
            expected.append(slow_states(encoder, ids, places)[len(ids) :])
    torch.testing.assert_close(states.entity, torch.cat(expected))


@pytest.mark.parametrize("name", ENCODERS)
def test_gradients_are_those_of_the_masked_layers(name):
    encoder, inputs, spans = (
        make_encoder(name),
        make_inputs((7,)),
        spans_at((7,), [(0, 1, 2), (0, 4, 4)]),
    )
    parameters = list(encoder.parameters())
    weight = torch.randn(2, 16, dtype=torch.float64)

    actual = (read_all(encoder, inputs, spans).entity * weight).sum()

    expected = (slow_states(encoder, inputs.subwords, places_of(spans, 0, (7,)))[7:] * weight).sum()
    for one, other in zip(
        torch.autograd.grad(actual, parameters, allow_unused=True, materialize_grads=True),
        torch.autograd.grad(expected, parameters, allow_unused=True, materialize_grads=True),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", ENCODERS)
def test_subwords_are_what_they_are_without_spans(name):
    encoder, inputs = make_encoder(name), make_inputs()

    remembered = remember(encoder, inputs)

    torch.testing.assert_close(remembered.subwords, encoder(inputs).subwords)


def test_the_edges_are_the_states_of_the_first_and_the_last_subword():
    encoder, inputs, spans = make_encoder(), make_inputs(), all_spans()

    states = read_all(encoder, inputs, spans)

    subwords = encoder(inputs).subwords
    torch.testing.assert_close(states.first, subwords[spans.first_subwords])
    torch.testing.assert_close(states.last, subwords[spans.last_subwords])


def test_a_state_does_not_depend_on_the_other_spans_or_their_order():
    encoder, inputs, spans = make_encoder(), make_inputs(), all_spans()
    every = read_all(encoder, inputs, spans)
    some = torch.randperm(len(spans.starts), generator=torch.Generator().manual_seed(1))[:9]

    states = read_all(encoder, inputs, spans, chosen=some)

    for one, other in zip(states, every, strict=True):
        torch.testing.assert_close(one, other[some])


def test_a_window_alone_is_read_as_in_a_batch():
    encoder, inputs, spans = make_encoder(), make_inputs(), all_spans()
    together = read_all(encoder, inputs, spans).entity[spans.windows == 2]
    alone = replace(make_inputs((11,)), subwords=inputs.subwords.split(LENGTHS)[2])

    states = read_all(encoder, alone, spans_at((11,), [(0, *p) for p in places_of(spans, 2)]))

    torch.testing.assert_close(states.entity, together)


def test_many_spans_are_read_in_parts_without_gradients(monkeypatch):
    encoder, inputs, spans = make_encoder(), make_inputs(), all_spans()
    expected = read_all(encoder, inputs, spans)
    monkeypatch.setattr(reading, "_AT_ONCE", 4)

    with torch.no_grad():
        states = read_all(encoder, inputs, spans)

    torch.testing.assert_close(states.entity, expected.entity.detach())


def test_nothing_may_be_chosen():
    encoder, inputs, spans = make_encoder(), make_inputs(), all_spans()

    states = read_all(encoder, inputs, spans, chosen=torch.zeros(0, dtype=torch.int64))

    assert [part.shape for part in states] == [(0, 16)] * 3


def test_attention_weights_of_spans_are_dropped_in_training_only():
    dropping, plain = make_encoder(attention_dropout=0.5, dropout=0.0), make_encoder()
    inputs, spans = make_inputs(), all_spans()
    remembered, expected = remember(plain, inputs), read_all(plain, inputs, spans).entity
    chosen = torch.arange(len(spans.starts))

    evaluated = read_alone(dropping, remembered, spans, chosen=chosen, inputs=inputs).entity
    for layer in dropping.encoder.layers:
        layer.attention.train()
    trained = read_alone(dropping, remembered, spans, chosen=chosen, inputs=inputs).entity

    torch.testing.assert_close(evaluated, expected)
    assert not torch.allclose(trained, expected)


def test_attention_without_entities_reads_no_spans():
    encoder = make_encoder("plain", attention="relative", positions="none", n_entities=0)

    with pytest.raises(ValueError, match="span_features=words"):
        remember(encoder, make_inputs())


# --- jointly ------------------------------------------------------------------------------------


def test_spans_of_one_chunk_are_the_mentions_of_a_batch(samples):
    encoder = make_encoder()
    spans, inputs = all_spans(), make_inputs()
    texts = texts_with(inputs, spans, samples)

    states = read_jointly(encoder, inputs, spans)

    expected = encoder(samples.batch(texts))
    torch.testing.assert_close(states.entity, expected.entities)
    torch.testing.assert_close(states.first, expected.subwords[spans.first_subwords])
    torch.testing.assert_close(states.last, expected.subwords[spans.last_subwords])


@pytest.mark.parametrize("size", [1, 3, 5])
def test_chunks_are_equal_shares_that_are_read_by_themselves(size, monkeypatch):
    encoder, inputs, spans = make_encoder(), make_inputs(), all_spans()
    monkeypatch.setattr(reading, "CHUNK", size)

    states = read_jointly(encoder, inputs, spans)

    monkeypatch.setattr(reading, "CHUNK", 128)
    for window in (0, 2, 3):
        own = (spans.windows == window).nonzero()[:, 0]
        n_chunks = -(-len(own) // size)
        for share in own.split(-(-len(own) // n_chunks)):
            expected = read_jointly(encoder, inputs, spans.map(lambda x: x[share]))  # noqa: B023
            for one, other in zip(states, expected, strict=True):
                torch.testing.assert_close(one[share], other)


def test_in_one_layer_a_single_span_is_the_same_alone_and_jointly():
    """What subwords see of a span reaches it in the next layer only."""
    encoder, inputs = make_encoder(n_layers=1), make_inputs((9,))
    one, two = spans_at((9,), [(0, 3, 5)]), spans_at((9,), [(0, 3, 5), (0, 1, 1)])

    alone = read_all(encoder, inputs, two).entity[:1]

    torch.testing.assert_close(read_jointly(encoder, inputs, one).entity, alone)
    assert not torch.allclose(read_jointly(encoder, inputs, two).entity[:1], alone)


def test_jointly_nothing_may_be_read():
    states = read_jointly(make_encoder(), make_inputs(), spans_at(LENGTHS, []))

    assert [part.shape for part in states] == [(0, 16)] * 3


@pytest.fixture(scope="module")
def luke(tmp_path_factory):
    """Make a span classifier of transformers, and our encoder with its weights."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    config = transformers.LukeConfig(
        vocab_size=50,
        entity_vocab_size=MASK + 1,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        entity_emb_size=8,
        max_position_embeddings=40,
        type_vocab_size=1,
        pad_token_id=0,
        num_labels=3,
    )
    theirs = transformers.LukeForEntitySpanClassification(config).eval()
    folder = tmp_path_factory.mktemp("luke")
    with torch.no_grad():
        for weights in theirs.parameters():
            weights.normal_(std=0.4)
    theirs.luke.save_pretrained(folder)
    return theirs, read_pretrained(folder).build().eval().encoder


def test_joint_reading_scores_as_the_span_classifier_of_transformers(luke, samples):
    theirs, encoder = luke
    lengths = (9, 14)
    inputs, spans = make_inputs(lengths), all_spans(lengths, without=None)
    texts = texts_with(inputs, spans, samples, lengths)

    states = read_jointly(encoder, inputs, spans)

    padded = samples.padded(texts)
    padded.pop("token_type_ids")
    edges = torch.zeros(2, 2, max(len(text.mentions) for text in texts), dtype=torch.int64)
    for row, text in enumerate(texts):
        for place, (_, begin, end) in enumerate(text.mentions):
            edges[:, row, place] = torch.tensor([begin, end - 1])
    with torch.no_grad():
        expected = theirs(**padded, entity_start_positions=edges[0], entity_end_positions=edges[1])
        logits = theirs.classifier(torch.cat(states, dim=1))
    rows = [expected.logits[row, : len(text.mentions)] for row, text in enumerate(texts)]
    torch.testing.assert_close(logits, torch.cat(rows), rtol=0, atol=1e-5)
