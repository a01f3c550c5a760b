"""The encoder that a tagger begins with."""

import json
import shutil

import pytest

from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.models.weights import WeightsError
from modeling.taggers.encoder import Encoder
from modeling.taggers.folders import Base, find_model


@pytest.fixture
def model(bases, tmp_path):
    shutil.copytree(bases / "plain", tmp_path / "run" / "final")
    return tmp_path / "run"


def test_a_run_is_read_as_its_final_model(model):
    assert find_model(model) == find_model(model / "final") == model / "final"
    assert Base.open(model).config == Base.open(model / "final").config


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("first", "first"),
        ("first/final", "first"),
        ("first/checkpoints/step-000200", "first-step-000200"),
    ],
)
def test_it_is_named_by_its_run_whichever_folder_of_it_is_given(bases, tmp_path, place, name):
    shutil.copytree(bases / "plain", tmp_path / place)

    assert Base.open(tmp_path / place).identity["name"] == name


def test_other_weights_are_another_identity(bases):
    plain, entities = (Base.open(bases / name).identity for name in ("plain", "entities"))

    assert plain["sha256"].keys() == entities["sha256"].keys() == {"model.safetensors"}
    assert plain["sha256"] != entities["sha256"]


@pytest.mark.parametrize("folder", ["", "nothing"])
def test_a_folder_without_a_model_is_named(tmp_path, folder):
    with pytest.raises(CorpusError, match=r"no model \(config.json\).*Name a run"):
        Base.open(tmp_path / folder)


def test_a_tokenizer_of_another_model_is_refused(model):
    subwords = [f"w{n}" for n in range(200)]
    Tokenizer(wordpiece([*SPECIALS, *subwords], cased=True), name="other").save(model / "final")

    for open_model in (Base.open, Encoder.load):
        with pytest.raises(CorpusError, match=r"not of one model.*resize_token_embeddings"):
            open_model(model)


def test_settings_of_no_known_model_are_refused(model):
    (model / "final" / "config.json").write_text(json.dumps({"model_type": "t5"}))

    with pytest.raises((CorpusError, WeightsError), match="t5"):
        Base.open(model)
