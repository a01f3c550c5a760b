"""Our weights in transformers: the same hidden states and logits, there and back."""

import json
from dataclasses import replace

import pytest
import torch
import transformers

from modeling.config import ConfigError, HeadsConfig, PretrainConfig
from modeling.huggingface.exporting import export
from modeling.huggingface.importing import read_pretrained
from tests.modeling.models.huggingface.small_models import (
    BERT,
    CLOSE,
    OURS,
    THEIRS,
    _assert_rows,
    assert_same_outputs,
    make_ours,
    make_theirs,
)


def assert_all_keys_fit(info):
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))


@pytest.mark.parametrize("name", OURS)
def test_exported_models_load_without_a_missing_key_and_give_the_same(
    name, samples, tmp_path, tokenizer
):
    ours = make_ours(OURS[name])

    export(ours, tmp_path, tokenizer)
    kind = json.loads((tmp_path / "config.json").read_text())["architectures"][0]
    theirs, info = getattr(transformers, kind).from_pretrained(tmp_path, output_loading_info=True)

    assert_all_keys_fit(info)
    texts = samples.uneven(2, with_mentions=name.startswith("luke"))
    if not OURS[name].encoder.n_segments:
        texts = [replace(text, segments=None) for text in texts]
    assert_same_outputs(theirs.eval(), ours, texts, samples)


@pytest.mark.parametrize("name", OURS)
def test_exported_encoders_load_by_automodel(name, samples, tmp_path, tokenizer):
    ours = make_ours(OURS[name])

    export(ours, tmp_path, tokenizer, has_heads=False)
    theirs, info = transformers.AutoModel.from_pretrained(tmp_path, output_loading_info=True)

    assert_all_keys_fit(info)
    texts = samples.uneven(2, with_mentions=name.startswith("luke"))
    texts = [replace(text, segments=None) for text in texts]
    expected = theirs.eval()(**samples.padded(texts)).last_hidden_state
    encoded = ours.encoder(samples.batch(texts))
    _assert_rows(expected, encoded.subwords, [len(text.subwords) for text in texts])


@pytest.mark.parametrize("kind", ["auto class", "no entities"])
def test_masked_language_models_load_by_their_auto_class(kind, samples, tmp_path, tokenizer):
    ours = make_ours(OURS["luke" if kind == "auto class" else "bert"])

    export(ours, tmp_path, tokenizer)
    model, info = transformers.AutoModelForMaskedLM.from_pretrained(
        tmp_path, output_loading_info=True
    )

    assert_all_keys_fit(info)
    texts = samples.uneven(2, with_mentions=False)
    inputs = samples.padded(texts)
    logits = model.eval()(**inputs).logits
    encoded = ours.encoder(samples.batch(texts, with_segments=True))
    _assert_rows(logits, ours.heads["subwords"].logits(encoded.subwords), [9, 4, 17, 12, 30])


@pytest.mark.parametrize("name", OURS)
def test_export_and_import_give_the_same_outputs(name, samples, tmp_path, tokenizer):
    ours = make_ours(OURS[name])
    export(ours, tmp_path, tokenizer)

    again = read_pretrained(tmp_path).build().eval()

    batch = samples.batch(samples.uneven(3, with_mentions=name.startswith("luke")))
    encoded, same = ours.encoder(batch), again.encoder(batch)
    torch.testing.assert_close(same.subwords, encoded.subwords, **CLOSE)
    for head in ours.heads.keys() - {"pairs"}:
        states, others = getattr(encoded, head), getattr(same, head)
        torch.testing.assert_close(
            again.heads[head].logits(others), ours.heads[head].logits(states), **CLOSE
        )


@pytest.mark.parametrize("name", sorted(THEIRS.keys() - {"roberta", "luke, one width"}))
def test_import_export_import_is_equal_to_the_bit(name, tmp_path, tokenizer):
    make_theirs(name, tmp_path / "theirs")
    first = read_pretrained(tmp_path / "theirs")

    has_heads = bool(first.config.heads.weights)
    export(first.build(), tmp_path / "ours", tokenizer, has_heads=has_heads)
    second = read_pretrained(tmp_path / "ours")

    assert second.config.encoder == first.config.encoder
    assert second.config.heads == first.config.heads
    assert second.weights.keys() == first.weights.keys()
    assert all(second.weights[name].equal(first.weights[name]) for name in first.weights)


def test_an_exported_tokenizer_cuts_as_ours_and_knows_the_longest_text(tmp_path, tokenizer):
    export(make_ours(OURS["luke"]), tmp_path, tokenizer)

    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)

    ours = tokenizer
    [subwords] = ours.encode(["w3 w54 w0"])
    special = ours.special
    assert theirs("w3 w54 w0")["input_ids"] == [special.cls, *subwords.ids, special.sep]
    assert theirs.model_max_length == 32
    assert theirs.pad_token_id == special.pad


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention": "relative", "positions": "none"}, "encoder.attention=relative"),
        ({"attention": "whole_word"}, "encoder.attention=whole_word"),
        ({"norm": "pre"}, "encoder.norm=pre"),
        ({"scale_embeddings": True, "embedding_norm": False}, "embedding_norm=false"),
    ],
)
def test_what_transformers_has_no_model_for_is_refused(settings, message, tmp_path, tokenizer):
    model = make_ours(PretrainConfig(encoder=replace(BERT, **settings)))

    with pytest.raises(ConfigError, match=message):
        export(model, tmp_path / "new", tokenizer)

    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (HeadsConfig(transform=False), "transform=false"),
        (HeadsConfig(weights={"pairs": 1.0}), "no head for subwords"),
        (HeadsConfig(weights={"subwords": 1, "pairs": 1}, pair_pooling="mean"), "pooling=mean"),
    ],
)
def test_heads_that_transformers_has_not_leave_the_encoder(heads, message, tmp_path, tokenizer):
    model = make_ours(PretrainConfig(encoder=BERT, heads=heads))

    with pytest.raises(ConfigError, match=message):
        export(model, tmp_path, tokenizer)
    export(model, tmp_path, tokenizer, has_heads=False)

    _, info = transformers.AutoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert_all_keys_fit(info)
