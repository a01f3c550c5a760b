"""Weights of transformers here, and ours there: the same hidden states and logits."""

import json
from dataclasses import replace

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from corpora.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import ConfigError, EncoderConfig, HeadsConfig, PretrainConfig
from modeling.huggingface import export, init_from, read_pretrained
from modeling.models.pretraining import PretrainingModel
from modeling.models.weights import WeightsError

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


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    pieces = [*SPECIALS, *(f"w{n}" for n in range(55))]
    Tokenizer(wordpiece(pieces, cased=True), name="small").save(folder)
    return folder


def make_theirs(name, folder):
    """A model of transformers with random weights, biases and norms included, in a folder."""
    kind, settings = THEIRS[name]
    model_class = getattr(transformers, kind)
    torch.manual_seed(0)
    model = model_class(model_class.config_class(**SIZES | settings)).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(std=0.4)
    model.save_pretrained(folder)
    return model


def assert_same_outputs(theirs, ours, texts, samples):
    """Hidden states and, as far as both have heads, logits are the same."""
    inputs = samples.padded(texts, pad=theirs.config.pad_token_id)
    if theirs.config.type_vocab_size == 1:
        inputs.pop("token_type_ids")
    has_segments = "token_type_ids" in inputs
    batch = samples.batch(texts, with_segments=has_segments)
    base = getattr(theirs, theirs.base_model_prefix, theirs)
    with torch.no_grad():
        expected, encoded = base(**inputs), ours.encoder(batch)
        logits = theirs(**inputs)
        _assert_rows(expected.last_hidden_state, encoded.pieces, [len(t.pieces) for t in texts])
        entities = getattr(expected, "entity_last_hidden_state", None)
        sizes = [len(t.mentions) for t in texts]
        if entities is not None:
            _assert_rows(entities, encoded.entities, sizes)
        if "pieces" in ours.heads:
            scores = logits["logits" if "logits" in logits else "prediction_logits"]
            head = ours.heads["pieces"].logits(encoded.pieces)
            _assert_rows(scores, head, [len(t.pieces) for t in texts])
        if "entities" in ours.heads and entities is not None:
            head = ours.heads["entities"].logits(encoded.entities)
            _assert_rows(logits.entity_logits, head, sizes)
        if "pairs" in ours.heads:
            head = ours.heads["pairs"]
            scores = head.logits(head.pool(encoded.pieces, batch.rows.pieces))
            torch.testing.assert_close(logits.seq_relationship_logits.flip(1), scores, **CLOSE)


def _assert_rows(padded, rows, sizes):
    expected = torch.cat([row[:size] for row, size in zip(padded, sizes, strict=True)])
    torch.testing.assert_close(rows, expected, **CLOSE)


@pytest.mark.parametrize("name", THEIRS)
def test_imported_models_give_the_same_hidden_states_and_logits(name, samples, tmp_path):
    theirs = make_theirs(name, tmp_path)

    ours = read_pretrained(tmp_path).build().eval()

    has_mentions = name.startswith("luke")
    texts = samples.uneven(1, with_mentions=has_mentions)
    assert_same_outputs(theirs, ours, texts, samples)
    assert_same_outputs(theirs, ours, [texts[1]], samples)  # a batch without any mention


@pytest.mark.parametrize("name", THEIRS)
def test_every_weight_of_theirs_is_used_or_named(name, tmp_path):
    make_theirs(name, tmp_path)

    unused = read_pretrained(tmp_path).unused

    has_pooler = name.startswith("luke") or name == "bert encoder"
    assert unused == (("pooler.dense.bias", "pooler.dense.weight") if has_pooler else ())


BERT = EncoderConfig(
    n_pieces=60, width=16, n_layers=2, n_heads=2, inner_width=24, max_positions=32, n_segments=2
)
OURS = {
    "bert": PretrainConfig(encoder=BERT),
    "bert without segments": PretrainConfig(encoder=replace(BERT, n_segments=0)),
    "bert with sines": PretrainConfig(encoder=replace(BERT, positions="sinusoidal")),
    "bert untied": PretrainConfig(encoder=BERT, heads=HeadsConfig(tied=False)),
    "bert with pairs": PretrainConfig(
        encoder=BERT, heads=HeadsConfig(weights={"pieces": 1.0, "pairs": 1.0})
    ),
}
LUKE_HEADS = HeadsConfig(weights={"pieces": 1.0, "entities": 1.0})
LUKE_ENCODER = replace(BERT, n_entities=20, entity_width=8, attention="entity_aware")
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
    _assert_rows(expected, encoded.pieces, [len(text.pieces) for text in texts])


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
    _assert_rows(logits, ours.heads["pieces"].logits(encoded.pieces), [9, 4, 17, 12, 30])


@pytest.mark.parametrize("name", OURS)
def test_export_and_import_give_the_same_outputs(name, samples, tmp_path, tokenizer):
    ours = make_ours(OURS[name])
    export(ours, tmp_path, tokenizer)

    again = read_pretrained(tmp_path).build().eval()

    batch = samples.batch(samples.uneven(3, with_mentions=name.startswith("luke")))
    encoded, same = ours.encoder(batch), again.encoder(batch)
    torch.testing.assert_close(same.pieces, encoded.pieces, **CLOSE)
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

    ours = Tokenizer.open(tokenizer)
    [pieces] = ours.encode(["w3 w54 w0"])
    special = ours.special
    assert theirs("w3 w54 w0")["input_ids"] == [special.cls, *pieces.ids, special.sep]
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
        (HeadsConfig(weights={"pairs": 1.0}), "no head for pieces"),
        (HeadsConfig(weights={"pieces": 1, "pairs": 1}, pair_pooling="mean"), "pooling=mean"),
    ],
)
def test_heads_that_transformers_has_not_leave_the_encoder(heads, message, tmp_path, tokenizer):
    model = make_ours(PretrainConfig(encoder=BERT, heads=heads))

    with pytest.raises(ConfigError, match=message):
        export(model, tmp_path, tokenizer)
    export(model, tmp_path, tokenizer, has_heads=False)

    _, info = transformers.AutoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert_all_keys_fit(info)


def test_a_tokenizer_with_more_pieces_than_the_model_is_refused(tmp_path, tokenizer):
    model = make_ours(PretrainConfig(encoder=replace(BERT, n_pieces=59)))

    with pytest.raises(ConfigError, match="has 60 pieces, but the model 59"):
        export(model, tmp_path, tokenizer)


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
    """As Google's checkpoints were first converted, with a buffer that newer ones leave out."""
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

    with pytest.raises(WeightsError, match=r"pytorch_model\.bin: not read"):
        read_pretrained(tmp_path)

    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json: no such file"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json: damaged"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "t5"}'), "'t5'"),
        (lambda folder: (folder / "model.safetensors").unlink(), "has no weights"),
        (lambda folder: save_file({}, folder / "model.safetensors"), "missing"),
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
    assert transfer.copied == ("heads.pieces.matrix.weight",)
    assert transfer.new == ("heads.pieces.matrix.weight",)
    state = model.state_dict()
    assert state["heads.pieces.matrix.weight"].equal(state["encoder.embeddings.pieces.weight"])


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
    assert second.encoder(batch).pieces.equal(first.encoder(batch).pieces)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_pieces": 61}, r"n_pieces=60 \(here 61\)"),
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
    new = ("encoder.entity_embeddings.entities", "heads.entities.bias")
    transfer = init_from(model, tmp_path, new=new)

    assert set(transfer.new) == {"encoder.entity_embeddings.entities.weight", "heads.entities.bias"}
