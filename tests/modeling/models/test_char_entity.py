"""Encoders whose subwords know entities: what they are without any, and what they begin with."""

from dataclasses import replace

import pytest
import torch
import transformers

from modeling.config import ConfigError, HeadsConfig, PretrainConfig
from modeling.data.batch import SubwordEntities
from modeling.huggingface.transfer import init_from
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.text_encoder import build_encoder
from tests.modeling.models.small_encoder import LUKE_ENCODER

CONFIG = replace(LUKE_ENCODER, entities="subwords", attention="char_entity")
KINDS = {
    "char-entity": CONFIG,
    "at the input": replace(CONFIG, attention="plain"),
    "at the input, relative": replace(CONFIG, attention="relative", positions="none", clip=3),
    "at the input, whole word": replace(CONFIG, attention="whole_word", window=2),
}
KINDS = {name: replace(config, init="keras") for name, config in KINDS.items()}


@pytest.fixture(params=KINDS)
def config(request):
    return KINDS[request.param]


def batch_of(samples, texts):
    """Make a batch whose subwords know the mention that they are in, the first of several."""
    batch = samples.batch(
        [replace(text, mentions=()) for text in texts], with_segments=True, word_size=2
    )
    rows, start = {}, 0
    for text in texts:
        for entity, begin, end in reversed(text.mentions):
            rows |= dict.fromkeys(range(start + begin, start + end), entity)
        start += len(text.subwords)
    if not rows:
        return batch
    ids = [rows[row] for row in sorted(rows)]
    return replace(
        batch, subword_entities=SubwordEntities(torch.tensor(sorted(rows)), torch.tensor(ids))
    )


def built(config):
    torch.manual_seed(0)
    return build_encoder(config).double().eval()


def without_entities(config):
    """Return the encoder with the same weights that has no place for entities."""
    attention = "plain" if config.attention == "char_entity" else config.attention
    plain = built(replace(config, n_entities=0, entities="mentions", attention=attention))
    weights = built(config).state_dict()
    plain.load_state_dict({name: weights[name] for name in plain.state_dict()})
    return plain


def test_without_any_entity_it_is_the_plain_encoder_to_the_bit(config, samples):
    texts = samples.uneven(1, with_mentions=False)

    encoded = built(config)(batch_of(samples, texts))

    plain = without_entities(config)(batch_of(samples, texts))
    assert torch.equal(encoded.subwords, plain.subwords)
    assert encoded.entities is None


def test_a_text_without_entities_is_encoded_plainly_beside_others_that_have_some(config, samples):
    texts = samples.uneven(2)
    assert not texts[1].mentions

    encoded = built(config)(batch_of(samples, texts)).subwords

    sizes = [len(text.subwords) for text in texts]
    plain = without_entities(config)(batch_of(samples, texts[1:2])).subwords
    torch.testing.assert_close(encoded.split(sizes)[1], plain, rtol=0, atol=1e-10)
    others = without_entities(config)(
        replace(batch_of(samples, texts), subword_entities=None)
    ).subwords
    assert not encoded.split(sizes)[0].allclose(others.split(sizes)[0], atol=1e-6)


def test_each_text_of_a_batch_is_encoded_as_if_alone(config, samples):
    texts = samples.uneven(1)

    together = built(config)(batch_of(samples, texts)).subwords

    alone = [built(config)(batch_of(samples, [text])).subwords for text in texts]
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-10)


def test_every_weight_takes_part_and_of_the_table_the_rows_that_are_known(config, samples):
    texts = samples.uneven(3)
    encoder, batch = build_encoder(config), batch_of(samples, texts)

    encoder(batch).subwords.sin().sum().backward()

    idle = {name for name, p in encoder.named_parameters() if p.grad is None or not p.grad.any()}
    assert idle == set()
    moved = encoder.entity_embeddings.entities.weight.grad.any(1).nonzero().flatten()
    assert set(moved.tolist()) == set(batch.subword_entities.entities.tolist())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"entities": "mentions"}, "encoder.entities=subwords"),
        ({"n_entities": 0}, "needs entities"),
        ({"attention": "entity_aware"}, "char_entity, or"),
        ({"entity_scale": 1.5}, "from 0 to 1"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        build_encoder(replace(CONFIG, **settings))


@pytest.mark.parametrize(
    ("objective", "needed"), [("entities", "mentions"), ("subword_entities", "subwords")]
)
def test_a_head_for_entities_of_another_kind_is_refused(objective, needed):
    other = {"mentions": "subwords", "subwords": "mentions"}[needed]
    encoder = replace(CONFIG, attention="plain", entities=other)
    config = PretrainConfig(encoder=encoder, heads=HeadsConfig(weights={objective: 1.0}))

    with pytest.raises(ConfigError, match=f"set encoder.entities={needed}"):
        PretrainingModel.from_config(config)


def test_entities_that_an_encoder_does_not_read_are_refused(samples):
    batch = batch_of(samples, samples.uneven(1))
    mentions = samples.batch(samples.uneven(1))

    with pytest.raises(ValueError, match="know none"):
        build_encoder(replace(CONFIG, n_entities=0, entities="mentions", attention="plain"))(batch)
    with pytest.raises(ValueError, match="reads none"):
        build_encoder(CONFIG)(mentions)


@pytest.fixture
def bert(tmp_path):
    """Save a BERT of transformers, in the layout of ``bert-base-chinese``."""
    torch.manual_seed(2)
    settings = {
        "vocab_size": 60, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 96, "max_position_embeddings": 32, "type_vocab_size": 2,
    }  # fmt: skip
    model = transformers.BertModel(transformers.BertConfig(**settings)).eval()
    model.save_pretrained(tmp_path / "bert")
    return model


def pretraining_model(**encoder):
    sizes = {"width": 64, "n_heads": 4, "inner_width": 96, "entity_width": 32, "n_entities": 900}
    config = PretrainConfig(
        encoder=replace(CONFIG, **{**sizes, **encoder}),
        heads=HeadsConfig(weights={"subwords": 1.0, "subword_entities": 1.0}),
    )
    torch.manual_seed(4)
    return PretrainingModel.from_config(config).eval()


def test_it_begins_with_a_bert_of_transformers_and_computes_the_same_without_entities(
    bert, tmp_path, samples
):
    model = pretraining_model()
    texts = samples.uneven(1, with_mentions=False)

    transfer = init_from(model, tmp_path / "bert")

    encoded = model.encoder(batch_of(samples, texts)).subwords
    inputs = samples.padded(texts)
    theirs = bert(**inputs).last_hidden_state[inputs["attention_mask"].bool()]
    torch.testing.assert_close(encoded, theirs, rtol=0, atol=1e-5)
    new = {name for name in transfer.new if name.startswith("encoder.")}
    attention = "encoder.encoder.layers.{}.attention.entity_{}.weight"
    assert new == {
        "encoder.entity_embeddings.entities.weight",
        *(attention.format(layer, what) for layer in (0, 1) for what in ("key", "value")),
    }


@pytest.mark.usefixtures("bert")
def test_what_bert_has_not_begins_as_in_the_paper(tmp_path):
    model = pretraining_model()

    transfer = init_from(model, tmp_path / "bert")

    for name in transfer.new:
        weights = model.get_parameter(name).detach()
        if name.startswith("encoder."):
            assert float(weights.std()) == pytest.approx(0.02, rel=0.1)
            assert float(weights.mean()) == pytest.approx(0, abs=0.002)


def test_new_entities_are_rows_after_the_old_ones_which_keep_their_weights(tmp_path, samples):
    old = pretraining_model(n_entities=20)
    torch.nn.init.normal_(old.heads["subword_entities"].bias)
    old.save(tmp_path / "old")
    new = pretraining_model(n_entities=23)
    rows = torch.tensor([*range(20), -1, -1, -1])

    transfer = init_from(new, tmp_path / "old", entity_rows=rows)

    table, bias = new.encoder.entity_embeddings.entities.weight, new.heads["subword_entities"].bias
    assert torch.equal(table[:20], old.encoder.entity_embeddings.entities.weight)
    assert torch.equal(bias[:20], old.heads["subword_entities"].bias)
    assert table[20:].std() > 0
    assert (bias[20:] == 0).all()
    assert set(transfer.new) == {
        "encoder.entity_embeddings.entities.weight", "heads.subword_entities.bias"
    }  # fmt: skip
    batch = batch_of(samples, samples.uneven(1))
    assert torch.equal(new.encoder(batch).subwords, old.encoder(batch).subwords)


def test_it_is_saved_and_read_again(tmp_path, samples):
    model = pretraining_model(entity_scale=0.3)
    model.save(tmp_path)

    read = PretrainingModel.load(tmp_path).eval()

    batch = batch_of(samples, samples.uneven(1))
    assert torch.equal(read.encoder(batch).subwords, model.encoder(batch).subwords)
