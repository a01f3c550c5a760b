"""ONNX: the padded encoder is the encoder, and onnxruntime finds what torch finds."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from modeling.evaluate.__main__ import main as score
from modeling.export import onnx_model
from modeling.export.__main__ import main
from modeling.export.onnx_model import PaddedEncoder, check_onnx, scorer_of
from modeling.finetune.data import NerData
from modeling.layers.dense import Padded
from modeling.models.tagging_model import TaggingModel
from modeling.models.weights import WeightsError
from modeling.predict.__main__ import main as predict
from modeling.taggers.counts import strict_f1
from modeling.taggers.tagger import Tagger
from modeling.training.run_folder import identify
from tests.modeling.export.conftest import run_card, save_tagger

DATA = Path(__file__).resolve().parents[2] / "data"
LETTER, EDITION = DATA / "enrich" / "09.xml", DATA / "letters" / "edition.toml"
ATTENTIONS = {
    "plain": {},
    "pre-norm": {"norm": "pre", "scale_embeddings": True},
    "sinusoidal": {"positions": "sinusoidal", "n_segments": 2, "embedding_norm": False}
    | {"max_positions": 4},  # fewer than the sentence has
    "relative": {"attention": "relative", "positions": "none", "clip": 2},
    "whole-word": {"attention": "whole_word", "window": 1},
    "whole-word relative": {"attention": "whole_word_relative", "positions": "none", "clip": 2},
}


def batch_of(tagger, sentences):
    return tagger._collator(sentences)(range(len(sentences)))


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_the_padded_encoder_is_the_encoder(make_tagger, sentence, kind):
    tagger = Tagger.load(make_tagger(encoder=ATTENTIONS[kind]))
    short = type(sentence)(
        id="short", document_id="short", split="test", tokens=("Peter",), tags=("O",)
    )
    batch = batch_of(tagger, [sentence, short]).inputs
    layout, words = batch.rows.subwords, batch.rows.words
    of_words = None if words is None else layout.pad(words.layout.positions[words.of_subword])

    padded = PaddedEncoder(tagger.model.encoder)(
        layout.pad(batch.subwords), Padded(layout.attend, of_words)
    )

    torch.testing.assert_close(layout.pack(padded), tagger.model.encoder(batch).subwords)


def test_scores_of_words_are_those_that_the_head_gives_their_first_subwords(make_tagger, sentence):
    tagger = Tagger.load(make_tagger(n_features=2, head={"kind": "crf"}))
    scorer = scorer_of(tagger.model)
    batch = tagger.model, tagger._encoder
    model, encoder = batch
    encoded = encoder.encode([sentence])
    assert len(encoded) == 1
    features = torch.rand(1, len(encoded.subwords) + 2, 2)
    ids = torch.cat(
        [torch.tensor([2]), torch.from_numpy(encoded.subwords).long(), torch.tensor([3])]
    )[None]

    model.head.forward = lambda states: 2 * type(model.head).forward(model.head, states)

    scores = scorer(ids, torch.ones_like(ids), features)

    states = PaddedEncoder(model.encoder)(ids, Padded(torch.ones_like(ids) > 0))
    expected = model.head(torch.cat([states, features], dim=2)[0])
    torch.testing.assert_close(scores[0], expected)


def test_a_head_of_spans_of_words_is_the_sum_of_two(make_tagger, sentence):
    tagger = Tagger.load(make_tagger(head={"kind": "span", "span_features": "words"}))
    batch = batch_of(tagger, [sentence])

    [scores] = scorer_of(tagger.model)(batch.subwords[None], torch.ones(1, len(batch.subwords)))

    begins, ends = scores.chunk(2, dim=1)
    spans = batch.spans
    expected = tagger.model.head(tagger.model.encoder, batch).first
    torch.testing.assert_close(begins[spans.first_subwords] + ends[spans.last_subwords], expected)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Export a tagger that reads words, too; returns the folders of both."""
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("exported")
    encoder = ATTENTIONS["whole-word relative"] | {"n_layers": 1}
    run = save_tagger(folder / "run", encoder=encoder, head={"kind": "crf"})
    assert main([str(run), "--output", str(folder / "out"), "--to", "onnx"]) == 0
    return run, folder / "out"


def test_onnxruntime_finds_the_same_scores(exported, tmp_path, sentence):
    onnxruntime = pytest.importorskip("onnxruntime")
    run, made = exported
    shutil.copytree(made, tmp_path / "copy" / "out")

    tagger = Tagger.load(run)
    batch = batch_of(tagger, [sentence])
    session = onnxruntime.InferenceSession(str(tmp_path / "copy" / "out" / "model.onnx"))
    fed = {"input_ids": batch.subwords[None].numpy()}
    fed["attention_mask"] = (batch.subwords[None] >= 0).long().numpy()
    words = batch.inputs.rows.words
    fed["words"] = words.layout.positions[words.of_subword][None].numpy()
    [[scores]] = session.run(None, fed)
    expected = tagger.model.head(tagger.model._states(batch)).detach()
    found = torch.from_numpy(scores)[batch.word_subwords[batch.word_offsets]]
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    settings = json.loads((tmp_path / "copy" / "out" / "onnx.json").read_text(encoding="utf-8"))
    assert settings["scores"] == list(tagger.model.tagset.tags)
    assert settings["transitions"] == tagger.model.head.transitions()[0].tolist()
    made = run_card(tmp_path / "copy" / "out")
    torch.testing.assert_close(made["scores"], scores[None])
    check_that_it_is_a_tagger(run, tmp_path / "copy" / "out", sentence)


def check_that_it_is_a_tagger(run, out, sentence):
    short = replace(sentence, id="short", tokens=sentence.tokens[:2], tags=sentence.tags[:2])
    [whole, other] = (Tagger.load(each).tag([sentence, short]) for each in (run, out))
    for one, exported in zip(whole, other, strict=True):
        assert [label for label, _ in exported.words] == [label for label, _ in one.words]
        assert len(exported.spans) == len(one.spans)
        for found, expected in zip(exported.spans, one.spans, strict=True):
            assert replace(found, probability=0) == replace(expected, probability=0)
            assert found.probability == pytest.approx(expected.probability, abs=1e-3)


@pytest.mark.parametrize("damage", ["cut", "scores", "shape", "inputs"])
def test_a_damaged_onnx_model_is_an_error_when_it_is_read_or_run(
    exported, tmp_path, sentence, damage
):
    onnx = pytest.importorskip("onnx")
    out = tmp_path / "out"
    shutil.copytree(exported[1], out)
    model = onnx.load(out / "model.onnx")
    if damage == "cut":
        (out / "model.onnx").write_bytes((out / "model.onnx").read_bytes()[:-9])
    elif damage == "inputs":
        (out / "onnx.json").write_text('{"inputs": ["features"]}')
    else:
        made = onnx.helper.make_node("Cast", ["input_ids"], ["made"], to=onnx.TensorProto.FLOAT)
        bias = next(tensor for tensor in model.graph.initializer if len(tensor.dims) == 1)
        bias.raw_data = (b"\0\0\xc0\x7f" if damage == "scores" else b"\0\0\0\0") * bias.dims[0]
        if damage == "shape":
            model.graph.node.append(made)
            model.graph.output[0].CopyFrom(onnx.helper.make_empty_tensor_value_info("made"))
        onnx.save(model, out / "model.onnx")

    with pytest.raises(WeightsError, match="Copy or export it again"):
        Tagger.load(out).tag([sentence])


@pytest.mark.parametrize("difference", [0.01, float("nan")])
def test_an_onnx_file_of_other_weights_is_found_out(exported, difference):
    run, out = exported
    model = TaggingModel.load(run)
    with torch.no_grad():
        model.head.linear.bias += difference

    with pytest.raises(Exception, match="differs from torch by"):
        check_onnx(scorer_of(model), out / "model.onnx")


@pytest.mark.parametrize(
    "head",
    [
        {"pooling": "mean"},
        {"kind": "span"},
        {"kind": "span", "span_features": "words", "span_products": 2},
    ],
)
def test_what_onnx_is_not_made_of_is_an_error(make_tagger, entities, tmp_path, capsys, head):
    run = make_tagger(head=head, encoder=entities if "kind" in head else None)

    with pytest.raises(SystemExit):
        main([str(run), "--output", str(tmp_path / "out"), "--to", "onnx"])

    assert "What works" in capsys.readouterr().err


@pytest.mark.parametrize("attention", ["char_entity", "plain", "relative"])
@pytest.mark.parametrize("head", [{"kind": "span", "span_features": "words"}, {"kind": "crf"}])
def test_entities_of_subwords_have_no_place_in_onnx(make_tagger, tmp_path, capsys, attention, head):
    encoder = {"entities": "subwords", "n_entities": 5, "entity_width": 8, "attention": attention}
    encoder |= {"positions": "none"} if attention == "relative" else {}
    run = make_tagger(head=head, encoder=encoder)

    with pytest.raises(SystemExit):
        main([str(run), "--output", str(tmp_path / "out"), "--to", "onnx"])

    assert "encoder.entities=subwords" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_without_the_libraries_the_error_says_how_to_get_them(
    make_tagger, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "onnx", None)

    assert main([str(make_tagger()), "--output", str(tmp_path / "out"), "--to", "onnx"]) == 1

    assert "onoma[onnx]" in capsys.readouterr().err


def test_int8_is_a_quarter_of_the_weights_and_a_gazetteer_goes_with_it(
    tmp_path, ner, bases, finetune, monkeypatch
):
    """Before it is made smaller, the export compares the exact scores with torch's."""
    onnx = pytest.importorskip("onnx")
    monkeypatch.setattr(onnx_model, "_is_large", lambda _: True)  # weights in a file beside it
    run, out = tmp_path / "run", tmp_path / "out"
    names = {"augment_lexicon": "train"}
    assert finetune(run, ner, bases / "plain", "crf_small", epochs=4, **names) == 0
    assert main([str(run), "--output", str(out), "--to", "onnx", "--int8"]) == 0
    sentences = NerData.open(ner).split("test")

    whole, small = (strict_f1(Tagger.load(each).tag(sentences)) for each in (run, out))

    assert whole > 0.9
    assert small == pytest.approx(whole, abs=0.03)
    weights = onnx.load(out / "model.onnx").graph.initializer
    exact = [each.name for each in weights if len(each.dims) == 2 and each.data_type == 1]
    assert exact == ["encoder.encoder.embeddings.positions.table.weight"]
    assert not (out / "model.onnx.data").exists()
    assert score([str(out), "--ner", str(ner), "--output", str(tmp_path / "scores")]) == 0
    texts = ["--tei", str(LETTER), "--edition", str(EDITION), "--output", str(tmp_path / "tei")]
    names = tmp_path / "map.toml"
    names.write_text('[labels]\npers = "person"\nplace = "place"\n')
    assert predict([str(out), *texts, "--labels", str(names)]) == 0
    assert identify(out)["sha256"].keys() == {"head.safetensors", "model.onnx"}
    assert "int8" in (out / "README.md").read_text(encoding="utf-8")


def test_an_archive_is_no_onnx(make_tagger, tmp_path, capsys):
    archive = tmp_path / "a.onnx"

    with pytest.raises(SystemExit):
        main([str(make_tagger()), "--archive", str(archive), "--to", "onnx", "--int8"])

    assert "--to onnx is for --output" in capsys.readouterr().err
    assert not archive.exists()


def test_int8_is_of_onnx(make_tagger, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(make_tagger()), "--output", str(tmp_path / "out"), "--int8"])

    assert "--int8 is for --to onnx" in capsys.readouterr().err
