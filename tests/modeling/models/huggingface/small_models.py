"""Small models of transformers and of ours with random weights, and how they are compared."""

from dataclasses import replace

import torch
import transformers

from modeling.config import HeadsConfig, PretrainConfig
from modeling.models.pretraining_model import PretrainingModel
from tests.modeling.models.small_encoder import BERT, LUKE_ENCODER

SIZES = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
LUKE = {"entity_vocab_size": 20, "entity_emb_size": 8, "max_position_embeddings": 40} | SIZES
THEIRS = {
    "bert": ("BertForPreTraining", {"max_position_embeddings": 32}),
    "bert untied": ("BertForMaskedLM", {"tie_word_embeddings": False}),
    "bert relu": ("BertForMaskedLM", {"hidden_act": "relu", "layer_norm_eps": 1e-5}),
    "bert encoder": ("BertModel", {"type_vocab_size": 1}),
    "luke": ("LukeForMaskedLM", LUKE | {"type_vocab_size": 1}),
    "luke, plain": ("LukeForMaskedLM", LUKE | {"use_entity_aware_attention": False}),
    "luke, one width": ("LukeForMaskedLM", LUKE | {"entity_emb_size": 16, "pad_token_id": 0}),
    "luke encoder": ("LukeModel", LUKE),
    "roberta": ("RobertaForMaskedLM", {"type_vocab_size": 1, "max_position_embeddings": 40}),
}
CLOSE = {"rtol": 0, "atol": 1e-5}


def make_theirs(name, folder, **changes):
    """Save a model of transformers in a folder, all of whose weights are random."""
    kind, settings = THEIRS[name]
    model_class = getattr(transformers, kind)
    torch.manual_seed(0)
    model = model_class(model_class.config_class(**SIZES | settings | changes)).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(std=0.4)
    model.save_pretrained(folder)
    return model


def assert_same_outputs(theirs, ours, texts, samples):
    """Check that hidden states are the same, and logits as far as both have heads."""
    inputs = samples.padded(texts, pad=theirs.config.pad_token_id)
    if theirs.config.type_vocab_size == 1:
        inputs.pop("token_type_ids")
    has_segments = "token_type_ids" in inputs
    batch = samples.batch(texts, with_segments=has_segments)
    base = getattr(theirs, theirs.base_model_prefix, theirs)
    with torch.no_grad():
        expected, encoded = base(**inputs), ours.encoder(batch)
        logits = theirs(**inputs)
        _assert_rows(expected.last_hidden_state, encoded.subwords, [len(t.subwords) for t in texts])
        entities = getattr(expected, "entity_last_hidden_state", None)
        sizes = [len(t.mentions) for t in texts]
        if entities is not None:
            _assert_rows(entities, encoded.entities, sizes)
        if "subwords" in ours.heads:
            scores = logits["logits" if "logits" in logits else "prediction_logits"]
            head = ours.heads["subwords"].logits(encoded.subwords)
            _assert_rows(scores, head, [len(t.subwords) for t in texts])
        if "entities" in ours.heads and entities is not None:
            head = ours.heads["entities"].logits(encoded.entities)
            _assert_rows(logits.entity_logits, head, sizes)
        if "pairs" in ours.heads:
            head = ours.heads["pairs"]
            scores = head.logits(head.pool(encoded.subwords, batch.rows.subwords))
            torch.testing.assert_close(logits.seq_relationship_logits.flip(1), scores, **CLOSE)


def _assert_rows(padded, rows, sizes):
    expected = torch.cat([row[:size] for row, size in zip(padded, sizes, strict=True)])
    torch.testing.assert_close(rows, expected, **CLOSE)


OURS = {
    "bert": PretrainConfig(encoder=BERT),
    "bert without segments": PretrainConfig(encoder=replace(BERT, n_segments=0)),
    "bert with sines": PretrainConfig(encoder=replace(BERT, positions="sinusoidal")),
    "bert untied": PretrainConfig(encoder=BERT, heads=HeadsConfig(tied=False)),
    "bert with pairs": PretrainConfig(
        encoder=BERT, heads=HeadsConfig(weights={"subwords": 1.0, "pairs": 1.0})
    ),
}
LUKE_HEADS = HeadsConfig(weights={"subwords": 1.0, "entities": 1.0})
OURS |= {
    "luke": PretrainConfig(encoder=LUKE_ENCODER, heads=LUKE_HEADS),
    "luke, plain": PretrainConfig(
        encoder=replace(LUKE_ENCODER, attention="plain", n_segments=0), heads=LUKE_HEADS
    ),
    "luke, one width": PretrainConfig(
        encoder=replace(LUKE_ENCODER, entity_width=16), heads=LUKE_HEADS
    ),
    "luke with bias": PretrainConfig(
        encoder=replace(LUKE_ENCODER, entity_bias=True), heads=LUKE_HEADS
    ),
    "luke untied": PretrainConfig(encoder=LUKE_ENCODER, heads=replace(LUKE_HEADS, tied=False)),
}


def make_ours(config, seed=0):
    torch.manual_seed(seed)
    model = PretrainingModel.from_config(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(std=0.4)
    return model
