"""Frozen layers, `lr` by depth, LoRA, early stopping: each does what it says.

The result is an ordinary tagger. Every test compares what was trained with the encoder that it
began with.
"""

import json
import shutil
import sys

import pytest
import torch

from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import EncoderConfig, HeadsConfig, PretrainConfig
from modeling.finetune.data import NerData
from modeling.finetune.finetuning import _Session
from modeling.huggingface.importing import read_pretrained
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.counts import strict_f1
from modeling.taggers.folders import find_tagger, read_manifest
from modeling.taggers.tagger import Tagger

LORA = ["training.lora_rank=2"]
QUERY = "encoder.encoder.layers.{}.attention.query.weight"
TABLE = "encoder.embeddings.subwords.weight"


@pytest.fixture(scope="module")
def base(bases, tmp_path_factory):
    """Save an encoder of three layers."""
    folder = tmp_path_factory.mktemp("learning") / "base"
    shutil.copytree(bases / "plain", folder)
    torch.manual_seed(1)
    sizes = {"width": 32, "n_layers": 3, "n_heads": 2, "inner_width": 64, "max_positions": 48}
    encoder = EncoderConfig(n_subwords=Tokenizer.open(folder).size, dropout=0.0, **sizes)
    config = PretrainConfig(encoder=encoder, heads=HeadsConfig(weights={"subwords": 1.0}))
    PretrainingModel.from_config(config).save(folder)
    return folder


@pytest.fixture
def moved(tmp_path, ner, base, finetune):
    """Train, and say how far each parameter went."""

    def train(*settings, epochs=1):
        settings = [f"training.{one}" for one in settings]
        run = tmp_path / "run"
        assert finetune(run, ner, base, epochs=epochs, settings=settings) == 0
        before = read_pretrained(base).weights
        after = TaggingModel.load(find_tagger(run).path).state_dict()
        return {n: float((w - before[n]).abs().mean()) for n, w in after.items() if n in before}

    return train


def test_frozen_layers_and_the_embeddings_under_them_stay(moved):
    far = moved("frozen_layers=2")

    still = {name for name, distance in far.items() if not distance}
    assert {TABLE, QUERY.format(0), QUERY.format(1)} <= still
    assert all(
        "embeddings" in name or ".layers.0." in name or ".layers.1." in name for name in still
    )
    assert far[QUERY.format(2)] > 0


def test_embeddings_stay_alone(moved):
    far = moved("freeze_embeddings=true")

    assert {"embeddings" in name for name, distance in far.items() if not distance} == {True}
    assert not far[TABLE]
    assert far[QUERY.format(0)] > 0


def test_a_lower_layer_goes_less_far(moved):
    far = moved("layer_decay=0.1")

    for low, high in ((TABLE, QUERY.format(0)), (QUERY.format(0), QUERY.format(1))):
        assert far[low] < far[high] / 4
    assert far[QUERY.format(1)] < far[QUERY.format(2)] / 4


def test_the_head_goes_further_at_a_multiple_of_the_rate(tmp_path, ner, base, finetune):
    def head_after(ratio):
        run = tmp_path / f"{ratio}"
        settings = [f"training.head_lr_ratio={ratio}", "training.layer_decay=0.9"]
        assert finetune(run, ner, base, epochs=1, settings=settings) == 0
        after = TaggingModel.load(find_tagger(run).path).state_dict()
        return {name: w for name, w in after.items() if not name.startswith("encoder.")}

    start, slow, fast = (head_after(ratio) for ratio in (1e-12, 1.0, 10.0))

    assert start
    for name, w in start.items():
        assert (fast[name] - w).abs().mean() > 4 * (slow[name] - w).abs().mean() > 0, name


@pytest.fixture(scope="module")
def lora(tmp_path_factory, ner, base, finetune):
    """Train for two epochs; returns the folder of the run."""
    run = tmp_path_factory.mktemp("lora") / "run"
    assert finetune(run, ner, base, epochs=2, settings=LORA) == 0
    return run


def test_lora_is_merged_into_an_ordinary_tagger_of_few_changes(ner, base, lora):
    before = read_pretrained(base).weights
    folder = find_tagger(lora).path
    after = TaggingModel.load(folder).state_dict()

    change = after[QUERY.format(1)] - before[QUERY.format(1)]
    assert torch.linalg.matrix_rank(change, rtol=1e-4) == 2
    for still in (TABLE, "encoder.encoder.layers.1.attention_norm.weight"):
        assert after[still].equal(before[still])
    dev = strict_f1(Tagger.load(lora).tag(NerData.open(ner).split("dev")))
    assert dev == pytest.approx(read_manifest(folder)["dev"]["strict_f1"])


def test_lora_resumes_to_the_same_bits(tmp_path, ner, base, lora, finetune, monkeypatch):
    train = _Session._train_epoch

    def fails_in_the_second(self):
        if self.progress.epoch == 1:
            raise KeyboardInterrupt
        train(self)

    with monkeypatch.context() as patch:
        patch.setattr(_Session, "_train_epoch", fails_in_the_second)
        assert finetune(tmp_path / "cut", ner, base, epochs=2, settings=LORA) == 130
    assert finetune(tmp_path / "cut", ner, base, epochs=2, settings=LORA) == 0

    folders = (find_tagger(run).path for run in (tmp_path / "cut", lora))
    cut, whole = (TaggingModel.load(folder).state_dict() for folder in folders)
    assert all(cut[name].equal(tensor) for name, tensor in whole.items())


def test_without_peft_lora_says_what_to_install(tmp_path, ner, base, finetune, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)

    with pytest.raises(SystemExit):
        finetune(tmp_path / "run", ner, base, settings=["training.lora_rank=2"])
    assert "pip install 'onoma[lora]'" in capsys.readouterr().err


def test_training_ends_early_where_dev_grows_no_better(tmp_path, ner, base, finetune):
    settings = ["training.patience=2", "optimizer.lr=1e-9"]
    assert finetune(tmp_path / "run", ner, base, epochs=9, settings=settings) == 0

    lines = (tmp_path / "run" / "seed-1" / "metrics.jsonl").read_text("utf-8").splitlines()
    scores = [one["strict_f1"] for one in map(json.loads, lines) if one["kind"] == "dev"]
    assert len(scores) == 3  # of nine: the first, and two that are no better


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["training.layer_decay=0"], "must be above 0 and at most 1"),
        (["training.head_lr_ratio=0"], "must be above 0"),
        (["training.freeze_encoder=true", "training.lora_rank=2"], "training.lora_rank would do"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, ner, base, finetune, capsys, settings, message):
    with pytest.raises(SystemExit):
        finetune(tmp_path / "run", ner, base, settings=settings)
    assert message in capsys.readouterr().err


def test_more_layers_than_there_are_cannot_be_frozen(tmp_path, ner, base, finetune, capsys):
    with pytest.raises(SystemExit):
        finetune(tmp_path / "run", ner, base, settings=["training.frozen_layers=4"])
    assert "the encoder has only 3" in capsys.readouterr().err
