"""Weights of transformers here: the same hidden states and logits, whatever the files."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from modeling.huggingface.importing import read_pretrained
from modeling.models.weights import WeightsError
from tests.modeling.models.huggingface.small_models import THEIRS, assert_same_outputs, make_theirs


@pytest.mark.parametrize("name", THEIRS)
def test_imported_models_give_the_same_hidden_states_and_logits(name, samples, tmp_path):
    theirs = make_theirs(name, tmp_path)

    ours = read_pretrained(tmp_path).build().eval()

    has_mentions = name.startswith("luke")
    texts = samples.uneven(1, with_mentions=has_mentions)
    assert_same_outputs(theirs, ours, texts, samples)
    assert_same_outputs(theirs, ours, [texts[1]], samples)  # a batch without any mention


@pytest.mark.parametrize("name", ["roberta", "luke"])
def test_a_subword_head_with_another_activation_than_the_layers_is_not_read(
    name, samples, tmp_path
):
    theirs = make_theirs(name, tmp_path, hidden_act="relu")  # these heads have GELU all the same

    given = read_pretrained(tmp_path)

    assert "subwords" not in given.config.heads.weights
    assert "lm_head.dense.weight" in given.unused
    texts = samples.uneven(1, with_mentions=name == "luke")
    assert_same_outputs(theirs, given.build().eval(), texts, samples)


def test_an_entity_head_with_vectors_of_its_own_is_not_read(samples, tmp_path):
    theirs = make_theirs("luke", tmp_path, tie_word_embeddings=False)

    given = read_pretrained(tmp_path)

    assert "entities" not in given.config.heads.weights
    assert "entity_predictions.decoder.weight" in given.unused
    assert_same_outputs(theirs, given.build().eval(), samples.uneven(1), samples)


@pytest.mark.parametrize("name", THEIRS)
def test_every_weight_of_theirs_is_used_or_named(name, tmp_path):
    make_theirs(name, tmp_path)

    unused = read_pretrained(tmp_path).unused

    has_pooler = name.startswith("luke") or name == "bert encoder"
    assert unused == (("pooler.dense.bias", "pooler.dense.weight") if has_pooler else ())


def _as_shards(folder):
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    weight_map = {}
    for number, part in enumerate((names[::2], names[1::2])):
        file = f"model-0000{number + 1}-of-00002.safetensors"
        save_file({name: tensors[name] for name in part}, folder / file)
        weight_map |= dict.fromkeys(part, file)
    text = json.dumps({"metadata": {}, "weight_map": weight_map})
    (folder / "model.safetensors.index.json").write_text(text)


def _as_bin(folder):
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")


def _as_old_names(folder):
    """Rename tensors as in Google's first conversions, with a buffer that newer ones leave out."""
    tensors = load_file(folder / "model.safetensors")
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in tensors.items()
    }
    renamed["bert.embeddings.position_ids"] = torch.arange(32)[None]
    save_file(renamed, folder / "model.safetensors")


def _as_halves(folder):
    tensors = load_file(folder / "model.safetensors")
    save_file({name: t.half() for name, t in tensors.items()}, folder / "model.safetensors")


def _as_adapter(folder):
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")


@pytest.mark.parametrize("change", [_as_shards, _as_bin, _as_old_names])
def test_other_forms_of_the_same_weights_are_read_alike(change, tmp_path):
    make_theirs("bert", tmp_path)
    expected = read_pretrained(tmp_path)

    change(tmp_path)
    found = read_pretrained(tmp_path)

    assert found.unused == ()
    assert all(found.weights[name].equal(expected.weights[name]) for name in expected.weights)


def test_half_precision_is_read_as_float32(tmp_path):
    make_theirs("bert", tmp_path)

    _as_halves(tmp_path)

    assert {t.dtype for t in read_pretrained(tmp_path).weights.values()} == {torch.float32}


class _Harm:
    def __reduce__(self):
        return print, ("code was run",)


def test_a_pickle_with_code_is_refused(tmp_path, capsys):
    make_theirs("bert", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save({"bert.pooler.dense.bias": _Harm()}, tmp_path / "pytorch_model.bin")

    with pytest.raises(WeightsError, match=r"pytorch_model\.bin: not read.*never loaded") as error:
        read_pretrained(tmp_path)

    assert not capsys.readouterr().out
    assert "weights_only" not in str(error.value)  # torch's advice would run the code


@pytest.mark.parametrize("content", [[torch.ones(2)], {"model": {"a": torch.ones(2)}}])
def test_a_pickle_that_is_no_table_of_tensors_is_refused(content, tmp_path):
    make_theirs("bert", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(content, tmp_path / "pytorch_model.bin")

    with pytest.raises(WeightsError, match="no table of tensors by name"):
        read_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "the weights are quantized"),
        ({"hidden_size": "16"}, "config.json is damaged .*'hidden_size' expected int"),
        ({"hidden_size": "16", "model_type": "deberta-v2"}, "damaged .*'hidden_size' expected int"),
    ],
)
def test_settings_of_no_model_in_floating_point_are_refused(changes, message, tmp_path):
    make_theirs("bert", tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    with pytest.raises(ValueError, match=f"(?s){message}"):
        read_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json: no such file"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json: damaged"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "t5"}'), "'t5'"),
        (lambda folder: (folder / "model.safetensors").unlink(), "has no weights"),
        (lambda folder: save_file({}, folder / "model.safetensors"), "missing.*get both again"),
        (_as_adapter, "is an adapter: merge it"),
    ],
)
def test_folders_that_cannot_be_read_are_named(damage, message, tmp_path):
    make_theirs("bert encoder", tmp_path)
    damage(tmp_path)

    with pytest.raises(WeightsError, match=message):
        read_pretrained(tmp_path)


def test_a_config_that_does_not_fit_its_weights_is_refused(tmp_path):
    make_theirs("bert", tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"vocab_size": 61}))

    with pytest.raises(WeightsError, match=r"word_embeddings.*\(60, 16\).*\(61, 16\)"):
        read_pretrained(tmp_path)


def test_weights_without_an_embedding_are_named(tmp_path):
    make_theirs("luke", tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["luke.embeddings.word_embeddings.weight"]
    save_file(tensors, tmp_path / "model.safetensors")

    with pytest.raises(WeightsError, match=r"embeddings\.word_embeddings\.weight"):
        read_pretrained(tmp_path)


def test_an_index_that_leads_out_of_its_folder_is_refused(tmp_path):
    make_theirs("bert", tmp_path)
    _as_shards(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"x": "../elsewhere.safetensors"}}))

    with pytest.raises(WeightsError, match="not beside it"):
        read_pretrained(tmp_path)
