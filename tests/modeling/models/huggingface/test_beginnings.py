"""Models that begin with the weights of others."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from modeling.config import ConfigError, HeadsConfig, PretrainConfig
from modeling.huggingface.importing import read_pretrained
from modeling.huggingface.transfer import init_from
from tests.modeling.models.huggingface.small_models import (
    BERT,
    LUKE_ENCODER,
    OURS,
    assert_same_outputs,
    make_ours,
    make_theirs,
)


def test_bert_begins_a_luke_with_its_weights_and_copies_of_its_queries(samples, tmp_path):
    theirs = make_theirs("bert", tmp_path)
    luke = make_ours(OURS["luke"], seed=1)

    transfer = init_from(luke, tmp_path)

    assert_same_outputs(theirs, luke, samples.uneven(1, with_mentions=False), samples)
    state = luke.state_dict()
    for name in transfer.copied:
        layer, kind = name.rpartition("attention.")[0], name.rpartition(".")[2]
        assert state[name].equal(state[f"{layer}attention.query.{kind}"])
    assert len(transfer.copied) == 2 * 3 * 2  # layers, queries, weight and bias
    assert set(transfer.transferred) | set(transfer.new) == {n for n, _ in luke.named_parameters()}
    assert not set(transfer.transferred) & set(transfer.new)
    assert all("entit" in name for name in transfer.new)
    assert set(transfer.unused) == {
        f"heads.pairs.{part}.{kind}"
        for part in ("pooler", "classifier")
        for kind in ("weight", "bias")
    }


def test_what_is_new_stays_as_it_was(tmp_path):
    make_theirs("bert", tmp_path)
    luke = make_ours(OURS["luke"], seed=1)
    before = {name: tensor.clone() for name, tensor in luke.state_dict().items()}

    transfer = init_from(luke, tmp_path)

    for name in set(transfer.new) - set(transfer.copied):
        assert luke.state_dict()[name].equal(before[name])


def test_luke_without_queries_for_entities_gets_copies(tmp_path):
    make_theirs("luke", tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    kept = {name: t for name, t in tensors.items() if "2e_query" not in name and "2w_" not in name}
    save_file(kept, tmp_path / "model.safetensors")

    found = read_pretrained(tmp_path)

    assert len(found.copied) == 2 * 3 * 2
    query = found.weights["encoder.encoder.layers.1.attention.query.bias"]
    assert found.weights["encoder.encoder.layers.1.attention.entity_query.bias"].equal(query)


def test_only_the_encoder_begins_a_model_with_other_heads(tmp_path):
    make_theirs("bert", tmp_path)
    heads = HeadsConfig(transform=False, tied=False)
    model = make_ours(PretrainConfig(encoder=BERT, heads=heads), seed=1)

    transfer = init_from(model, tmp_path)

    assert "encoder.encoder.layers.1.attention.output.weight" in transfer.transferred
    assert transfer.copied == ("heads.subwords.matrix.weight",)
    assert transfer.new == ("heads.subwords.matrix.weight",)
    state = model.state_dict()
    assert state["heads.subwords.matrix.weight"].equal(state["encoder.embeddings.subwords.weight"])


def test_relative_attention_can_begin_with_the_maps_of_plain_attention(tmp_path):
    make_theirs("bert", tmp_path)
    config = replace(BERT, attention="relative", positions="none", attention_dropout=0.0)
    model = make_ours(PretrainConfig(encoder=config), seed=1)

    transfer = init_from(model, tmp_path)

    assert "encoder.encoder.layers.0.attention.keys" in transfer.new
    assert "encoder.embeddings.positions.table.weight" in transfer.unused


def test_a_model_of_ours_can_begin_another(samples, tmp_path):
    first = make_ours(OURS["luke"], seed=1)
    first.save(tmp_path)
    second = make_ours(OURS["luke"], seed=2)

    transfer = init_from(second, tmp_path)

    assert transfer.new == transfer.unused == ()
    batch = samples.batch(samples.uneven(1))
    assert second.encoder(batch).subwords.equal(first.encoder(batch).subwords)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_subwords": 61}, r"n_subwords=60 \(here 61\)"),
        ({"n_heads": 4}, r"n_heads=2 \(here 4\)"),
        ({"n_layers": 1, "activation": "relu"}, r"n_layers=2 .*activation=gelu"),
        ({"max_positions": 16}, r"max_positions=32 \(here 16\)"),
        ({"n_segments": 0}, r"n_segments=2 \(here 0\)"),
    ],
)
def test_other_settings_than_the_folder_has_are_refused(settings, message, tmp_path):
    make_theirs("bert", tmp_path)
    model = make_ours(PretrainConfig(encoder=replace(BERT, **settings)))

    with pytest.raises(ConfigError, match=message):
        init_from(model, tmp_path)


def test_another_entity_vocabulary_is_refused_unless_its_table_is_to_be_new(tmp_path):
    make_ours(OURS["luke"]).save(tmp_path)
    config = replace(OURS["luke"], encoder=replace(LUKE_ENCODER, n_entities=25))
    model = make_ours(config, seed=1)

    with pytest.raises(ConfigError, match=r"n_entities=20 \(here 25\)"):
        init_from(model, tmp_path)
    transfer = init_from(model, tmp_path, entity_rows=torch.full((25,), -1))

    assert set(transfer.new) == {"encoder.entity_embeddings.entities.weight", "heads.entities.bias"}
