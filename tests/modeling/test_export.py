import json
import shutil

import pytest
import torch
import transformers

from corpora.entities.exports import tokenizer_vocabulary
from corpora.entities.vocabulary import SPECIAL
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import EncoderConfig, HeadsConfig, PretrainConfig
from modeling.export.__main__ import main
from modeling.finetune.data import NerData
from modeling.huggingface.importing import read_pretrained
from modeling.models.pretraining_model import PretrainingModel
from modeling.taggers.encoder import Encoder


def save(folder, examples, **encoder):
    tokenizer = Tokenizer.open(examples)
    sizes = {"width": 32, "n_layers": 2, "n_heads": 2, "inner_width": 64, "max_positions": 40}
    weights = {"subwords": 1.0} | ({"entities": 1.0} if "n_entities" in encoder else {})
    config = PretrainConfig(
        encoder=EncoderConfig(n_subwords=tokenizer.size, **(sizes | encoder)),
        heads=HeadsConfig(weights=weights),
    )
    torch.manual_seed(1)
    PretrainingModel.from_config(config).save(folder)
    tokenizer.save(folder)
    return folder


@pytest.mark.parametrize(
    ("encoder", "architecture"),
    [
        ({"n_segments": 2}, "BertForMaskedLM"),
        ({"n_entities": 11, "attention": "entity_aware"}, "LukeForMaskedLM"),
    ],
)
def test_a_run_becomes_a_folder_that_transformers_loads_whole(
    encoder, architecture, tmp_path, examples
):
    save(tmp_path / "run" / "final", examples, **encoder)

    assert main([str(tmp_path / "run"), "--output", str(tmp_path / "out")]) == 0

    model, report = transformers.AutoModelForMaskedLM.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    assert type(model).__name__ == architecture
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer("w1 w3")["input_ids"] == [
        2,
        *Tokenizer.open(examples).encode(["w1 w3"])[0].ids,
        3,
    ]


def test_an_exported_luke_has_the_names_of_its_entities_as_their_tokenizer_reads_them(
    tmp_path, make_examples
):
    names = [*SPECIAL, *(f"dawiki:{title}" for title in ("Ulm", "Bonn: by", "Rom"))]
    examples = make_examples(tmp_path / "examples", entities=names)
    folder = save(tmp_path / "model", examples, n_entities=6, attention="entity_aware")
    shutil.copyfile(examples / "_entities.ipc", folder / "entities.arrow")

    assert main([str(folder), "--output", str(tmp_path / "out")]) == 0

    assert json.loads((tmp_path / "out" / "entity_vocab.json").read_text("utf-8")) == {
        "[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "Ulm": 3, "Bonn: by": 4, "Rom": 5, "[MASK2]": 2
    }  # fmt: skip


def test_entities_of_several_languages_have_these_in_their_names():
    names = [*SPECIAL, "dawiki:Rom", "dewiki:Rom"]

    ids = tokenizer_vocabulary(names)

    assert (ids["da:Rom"], ids["de:Rom"], ids["[MASK2]"]) == (3, 4, 2)


def test_weights_may_be_read_by_whom_other_files_may(tmp_path, examples):
    folder = save(tmp_path / "model", examples, n_segments=2)

    assert main([str(folder), "--output", str(tmp_path / "out")]) == 0

    for made in (folder, tmp_path / "out"):
        modes = {f.name: f.stat().st_mode for f in made.iterdir() if f.name.startswith("model")}
        assert modes
        assert set(modes.values()) == {(made / "config.json").stat().st_mode}


def test_without_heads_it_is_the_encoder(tmp_path, examples):
    save(tmp_path / "model", examples, n_segments=2)

    arguments = [str(tmp_path / "model"), "--output", str(tmp_path / "out"), "--without-heads"]
    assert main(arguments) == 0

    _, report = transformers.AutoModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]


def test_what_transformers_has_no_model_for_is_an_error_and_leaves_nothing(
    tmp_path, examples, capsys
):
    save(tmp_path / "model", examples, attention="relative", positions="none")

    with pytest.raises(SystemExit):
        main([str(tmp_path / "model"), "--output", str(tmp_path / "out")])

    assert "relative" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(("model", "message"), [("none", "has no model"), ("run", "has no model")])
def test_a_folder_without_a_model_is_a_wrong_command(model, message, tmp_path, capsys):
    (tmp_path / "run").mkdir()

    with pytest.raises(SystemExit):
        main([str(tmp_path / model), "--output", str(tmp_path / "out")])

    assert message in capsys.readouterr().err


def test_an_encoder_with_the_subwords_of_a_dataset_gives_the_same_states_there(
    tmp_path, bases, ner, capsys
):
    arguments = ["--output", str(tmp_path / "small"), "--trim-vocabulary", str(ner)]
    assert main([str(bases / "plain"), *arguments]) == 0

    whole, small = (read_pretrained(path) for path in (bases / "plain", tmp_path / "small"))
    texts = [" ".join(s.tokens) for s in NerData.open(ner).sentences]
    encoders = [Encoder.load(path) for path in (bases / "plain", tmp_path / "small")]
    before, after = (encoder.words(texts[:20]) for encoder in encoders)
    assert small.config.encoder.n_subwords <= whole.config.encoder.n_subwords
    assert f"kept {small.config.encoder.n_subwords:,} subwords" in capsys.readouterr().out
    for one, other in zip(before, after, strict=True):
        assert (one.vectors == other.vectors).all()
    transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "small")


@pytest.mark.parametrize("to", ["huggingface", "onnx"])
def test_a_vocabulary_that_is_larger_than_the_model_is_not_exported(
    to, tmp_path, bases, examples, capsys
):
    shutil.copytree(bases / "plain", tmp_path / "base")
    Tokenizer.open(examples).save(tmp_path / "base")

    arguments = ["--output", str(tmp_path / "small"), "--to", to]
    assert main([str(tmp_path / "base"), *arguments]) == 1

    assert "base: its tokenizer has 65 subwords, its encoder only" in capsys.readouterr().err


def test_a_vocabulary_is_trimmed_by_a_dataset_of_text_alone(
    tmp_path, bases, examples, make_ner, capsys
):
    empty = make_ner(tmp_path / "empty", [])
    for given, said in (
        (examples, "a dataset of examples. Name one of documents"),
        (empty, f"--trim-vocabulary {empty}: no text"),
        (examples.parent, f"holds datasets, but is none. Name one: {examples.name}"),
    ):
        arguments = ["--output", str(tmp_path / "small"), "--trim-vocabulary", str(given)]

        with pytest.raises(SystemExit, match="2"):
            main([str(bases / "plain"), *arguments])

        assert said in capsys.readouterr().err
    assert not (tmp_path / "small").exists()


def test_some_layers_of_an_encoder_are_a_smaller_one(tmp_path, examples):
    whole = save(tmp_path / "whole", examples, n_layers=3)

    arguments = ["--output", str(tmp_path / "small"), "--keep-layers", "1,3"]
    assert main([str(whole), *arguments]) == 0

    before, after = (read_pretrained(path) for path in (whole, tmp_path / "small"))
    assert after.config.encoder.n_layers == 2
    kept = {n: tensor for n, tensor in after.weights.items() if ".layers." in n}
    assert len(kept) == 2 * sum(".layers.0." in name for name in before.weights)
    for name, tensor in kept.items():
        assert torch.equal(tensor, before.weights[name.replace("layers.1.", "layers.2.")])


@pytest.mark.parametrize("layers", ["0,1", "1,4", "2,1", "1,1"])
def test_layers_that_are_not_there_cannot_be_kept(tmp_path, examples, capsys, layers):
    whole = save(tmp_path / "whole", examples, n_layers=3)

    with pytest.raises(SystemExit):
        main([str(whole), "--output", str(tmp_path / "x"), "--keep-layers", layers])

    assert "ascending numbers from 1 to 3" in capsys.readouterr().err
