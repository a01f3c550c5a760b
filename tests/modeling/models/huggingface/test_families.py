"""Encoders of other families than BERT and LUKE: the states of transformers, ours or run by it."""

import json
from dataclasses import replace

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from corpora.errors import CorpusError
from modeling.config import ConfigError
from modeling.data.tagger_inputs import window_settings
from modeling.huggingface.importing import read_pretrained
from modeling.huggingface.transfer import take_encoder
from modeling.models.foreign import ForeignEncoder, encoder_config
from modeling.models.tagging_model import TaggingModel
from modeling.models.text_encoder import build_encoder
from modeling.models.weights import WeightsError
from modeling.tagging_config import HeadConfig, SentencesConfig, TaggerConfig
from tests.modeling.models.huggingface.small_models import CLOSE, SIZES

DISTIL = {"vocab_size": 60, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}
SPECIAL = {"pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1}
DEBERTA = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
}
FAMILIES = {  # class, settings, and whether its layers are ours
    "camembert": ("CamembertForMaskedLM", {"type_vocab_size": 1}, True),
    "electra": ("ElectraForPreTraining", {"embedding_size": 16}, True),
    "distilbert": ("DistilBertForMaskedLM", DISTIL, True),
    "electra, narrow": ("ElectraForPreTraining", {"embedding_size": 8}, False),
    "bert, other activation": ("BertForMaskedLM", {"hidden_act": "gelu_new"}, False),
    "bert, decoder": ("BertLMHeadModel", {"is_decoder": True}, False),
    "distilbert, other activation": (
        "DistilBertForMaskedLM",
        DISTIL | {"activation": "gelu_new"},
        False,
    ),
    "albert": ("AlbertForMaskedLM", {"embedding_size": 8}, False),
    "deberta": ("DebertaForMaskedLM", DEBERTA | {"type_vocab_size": 0}, False),
    "deberta-v3": (
        "DebertaV2ForMaskedLM",
        DEBERTA
        | {"position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True}
        | {"type_vocab_size": 0},
        False,
    ),
    "modernbert": (
        "ModernBertForMaskedLM",
        SPECIAL | {"eos_token_id": 2, "num_hidden_layers": 4, "local_attention": 8},
        False,
    ),
    "mpnet": ("MPNetForMaskedLM", {}, False),
    "rembert": (
        "RemBertForMaskedLM",
        SPECIAL | {"eos_token_id": 2, "input_embedding_size": 8},
        False,
    ),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Save a model of each family; returns its folder and its base model, by name."""
    made = {}
    for name, (kind, settings, _) in FAMILIES.items():
        torch.manual_seed(0)
        model_class = getattr(transformers, kind)
        sizes = {} if name.startswith("distilbert") else SIZES
        model = model_class(model_class.config_class(**sizes | settings)).eval()
        with torch.no_grad():
            for weights in model.parameters():
                weights.normal_(std=0.4)
        folder = tmp_path_factory.mktemp("family")
        model.save_pretrained(folder)
        made[name] = folder, getattr(model, model.base_model_prefix)
    return made


def make_tagger(folder):
    config = TaggerConfig(
        labels=("PER",),
        encoder=read_pretrained(folder).config.encoder,
        head=HeadConfig(kind="softmax"),
    )
    model = TaggingModel.from_config(config).eval()
    take_encoder(model, folder)
    return model


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_the_states_of_transformers(name, folders, samples):
    folder, theirs = folders[name]
    texts = samples.uneven(1, with_mentions=False)
    inputs = samples.padded(texts, pad=theirs.config.pad_token_id)
    inputs.pop("token_type_ids")

    given = read_pretrained(folder)
    encoder = given.build().eval().encoder

    assert isinstance(encoder, ForeignEncoder) != FAMILIES[name][2]
    with torch.no_grad():
        padded = theirs(**inputs).last_hidden_state
        rows = encoder(samples.batch(texts, with_segments=False)).subwords
    expected = torch.cat([row[: len(t.subwords)] for row, t in zip(padded, texts, strict=True)])
    torch.testing.assert_close(rows, expected, **CLOSE)


def test_a_tagger_on_an_encoder_that_transformers_runs_is_read_back_alone(
    folders, samples, tmp_path
):
    model = make_tagger(folders["deberta-v3"][0])

    model.save(tmp_path)
    read = TaggingModel.load(tmp_path).eval()

    batch = samples.batch(samples.uneven(1, with_mentions=False), with_segments=False)
    with torch.no_grad():
        assert model.encoder(batch).subwords.equal(read.encoder(batch).subwords)


@pytest.mark.parametrize(
    ("settings", "longest"),
    [
        ({"model_type": "albert", "max_position_embeddings": 128}, 128),
        ({"model_type": "mpnet", "max_position_embeddings": 128}, 126),  # from the id of [PAD] on
        ({"model_type": "deberta-v2", "max_position_embeddings": 128}, 128),
        ({"model_type": "deberta-v2", "position_biased_input": False}, 512),
        ({"model_type": "modernbert", "max_position_embeddings": 128}, 512),
    ],
)
def test_windows_are_no_longer_than_the_positions_that_a_model_has(settings, longest):
    windows = window_settings(SentencesConfig(), HeadConfig(), encoder_config(settings))

    assert windows.max_length == longest


def test_relative_positions_that_transformers_leaves_out_are_refused(folders, tmp_path):
    folder = folders["electra, narrow"][0]
    values = json.loads((folder / "config.json").read_text())
    text = json.dumps(values | {"position_embedding_type": "relative_key"})
    (tmp_path / "config.json").write_text(text)
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())

    with pytest.raises(ConfigError, match=r"position_embedding_type is 'relative_key'"):
        read_pretrained(tmp_path)


def test_settings_that_ask_for_more_than_the_weights_are_refused_before_memory_is_taken(
    folders, tmp_path
):
    make_tagger(folders["albert"][0]).save(tmp_path)
    file = tmp_path / "tagger.json"
    values = json.loads(file.read_text())
    theirs = json.loads(values["encoder"]["foreign"])
    values["encoder"] |= {
        "foreign": json.dumps(theirs | {"vocab_size": 1 << 26}),
        "n_subwords": 1 << 26,
    }
    file.write_text(json.dumps(values))

    with pytest.raises(WeightsError, match="settings are of an encoder with"):
        TaggingModel.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 32}, "not of one model"),
        ({"model_type": "gpt2"}, "is none of albert"),
        ({"hidden_act": "nothing"}, "builds no model of it"),
    ],
)
def test_damaged_settings_are_named(change, message, folders):
    encoder = read_pretrained(folders["albert"][0]).config.encoder
    changed = json.dumps(json.loads(encoder.foreign) | change)
    with pytest.raises(ConfigError, match=message):
        build_encoder(replace(encoder, foreign=changed))


def test_weights_that_are_missing_or_misshapen_are_named(folders, tmp_path):
    source = folders["modernbert"][0]
    (tmp_path / "config.json").write_bytes((source / "config.json").read_bytes())
    tensors = load_file(source / "model.safetensors")
    name = "model.layers.0.attn.Wqkv.weight"

    save_file({n: t for n, t in tensors.items() if n != name}, tmp_path / "model.safetensors")
    with pytest.raises(WeightsError, match=r"has no layers\.0\.attn\.Wqkv\.weight"):
        read_pretrained(tmp_path)

    save_file(tensors | {name: tensors[name][:1].clone()}, tmp_path / "model.safetensors")
    with pytest.raises(WeightsError, match="another shape"):
        read_pretrained(tmp_path)


def test_other_families_say_what_to_take_instead(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')

    with pytest.raises(CorpusError, match=r"'gpt2'; what can be read is albert.*Take one of"):
        read_pretrained(tmp_path)


def test_an_encoder_that_transformers_runs_reads_no_entities(folders):
    encoder = read_pretrained(folders["mpnet"][0]).config.encoder

    with pytest.raises(ConfigError, match="reads no entities"):
        build_encoder(replace(encoder, n_entities=8))
