"""Pre-training models: what counts in the loss, scores, and files."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from modeling.config import ConfigError, HeadsConfig, PretrainConfig
from modeling.data.batch import Targets
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.weights import WeightsError
from tests.modeling.models.small_encoder import LUKE_ENCODER

EVERY = HeadsConfig(weights={"subwords": 1.0, "entities": 1.0, "pairs": 1.0})
CONFIG = PretrainConfig(encoder=LUKE_ENCODER, heads=EVERY)
TARGETS = {
    "subwords": Targets(torch.tensor([1, 5, 40]), torch.tensor([7, 59, 7])),
    "entities": Targets(torch.tensor([0, 9]), torch.tensor([3, 19])),
    "pairs": Targets(torch.tensor([0, 2, 4]), torch.tensor([1, 0, 1])),
}


@pytest.fixture
def batch(samples):
    return samples.batch(samples.uneven(1), targets=TARGETS, with_segments=True)


def build(config=CONFIG, seed=0):
    torch.manual_seed(seed)
    return PretrainingModel.from_config(config)


def states_of(model, batch):
    """Run the model; returns its losses, and what the encoder gave, with gradients kept."""
    kept = {}

    def keep(_module, _inputs, encoded):
        kept.update(encoded._asdict())
        for states in encoded:
            states.retain_grad()

    with model.encoder.register_forward_hook(keep):
        losses = model(batch)
    return losses, kept


def test_loss_is_the_cross_entropy_of_the_labels_at_their_rows(batch):
    model = build().eval()

    losses, states = states_of(model, batch)

    for name, pooled in (("subwords", states["subwords"]), ("entities", states["entities"])):
        logits = model.heads[name].logits(pooled)[TARGETS[name].rows]
        expected = functional.cross_entropy(logits, TARGETS[name].labels, reduction="sum")
        torch.testing.assert_close(losses[name], expected)
    starts = [0, 9, 13, 30, 42]
    logits = model.heads["pairs"].logits(states["subwords"][starts])[TARGETS["pairs"].rows]
    expected = functional.cross_entropy(logits, TARGETS["pairs"].labels, reduction="sum")
    torch.testing.assert_close(losses["pairs"], expected)


@pytest.mark.parametrize("objective", ["subwords", "entities"])
def test_loss_touches_exactly_the_labelled_rows(batch, objective):
    losses, states = states_of(build(), batch)

    losses[objective].backward()

    touched = states[objective].grad.abs().sum(1).nonzero().flatten()
    assert touched.tolist() == TARGETS[objective].rows.tolist()


def test_an_objective_without_targets_is_absent(batch):
    only_subwords = replace(batch, targets={"subwords": TARGETS["subwords"]})

    losses = build()(only_subwords)

    assert set(losses) == {"subwords"}
    assert build()(replace(batch, targets={})) == {}


def test_empty_targets_give_a_loss_of_zero_and_gradients_of_zero(batch):
    nothing = torch.zeros(0, dtype=torch.int64)
    targets = {name: Targets(nothing, nothing) for name in TARGETS}
    model = build()

    losses = model(replace(batch, targets=targets))
    sum(losses.values()).backward()

    assert [loss.item() for loss in losses.values()] == [0.0, 0.0, 0.0]
    assert not any(p.grad.any() for p in model.parameters() if p.grad is not None)


def test_losses_of_single_texts_sum_to_the_loss_of_the_batch(samples):
    texts = samples.uneven(4)
    model = build().double().eval()
    row = Targets(torch.tensor([1]), torch.tensor([9]))
    starts = torch.tensor([0, 9, 13, 30, 42])
    together = Targets(starts + 1, torch.full((5,), 9))

    whole = model(samples.batch(texts, targets={"subwords": together}))
    alone = [model(samples.batch([text], targets={"subwords": row})) for text in texts]

    torch.testing.assert_close(whole["subwords"], sum(each["subwords"] for each in alone))


def test_targets_that_the_model_does_not_predict_are_refused(batch):
    model = build(replace(CONFIG, heads=HeadsConfig(weights={"subwords": 1.0})))

    with pytest.raises(ValueError, match=r"heads\.weights\.entities"):
        model(batch)


def test_scores_are_without_dropout_and_leave_the_model_training(batch):
    dropped = replace(CONFIG, encoder=replace(LUKE_ENCODER, dropout=0.5, embedding_dropout=0.5))
    model = build(dropped).train()

    first, second = model.scores(batch), model.scores(batch)

    assert model.training
    assert model.encoder.training
    for name in TARGETS:
        assert first[name].loss_sum.equal(second[name].loss_sum)
        assert first[name].ranks.equal(second[name].ranks)
        assert not first[name].loss_sum.requires_grad


def test_scores_have_the_loss_of_evaluation_and_ranks_of_the_logits(batch):
    model = build().eval()

    scores = model.scores(batch)
    losses, states = states_of(model, batch)

    for name in TARGETS:
        torch.testing.assert_close(scores[name].loss_sum, losses[name])
    targets = TARGETS["entities"]
    logits = model.heads["entities"].logits(states["entities"])[targets.rows]
    own = logits.gather(1, targets.labels[:, None])
    assert scores["entities"].ranks.tolist() == (logits > own).sum(1).tolist()


def test_entity_head_needs_mentions():
    encoder = replace(LUKE_ENCODER, n_entities=0, attention="plain")

    with pytest.raises(ConfigError, match=r"heads\.weights\.entities"):
        build(replace(CONFIG, encoder=encoder))


def test_unknown_objectives_are_refused():
    with pytest.raises(ConfigError, match="no such objective"):
        build(replace(CONFIG, heads=HeadsConfig(weights={"words": 1.0})))


@pytest.mark.parametrize("is_tied", [True, False])
def test_a_saved_model_is_the_same_when_loaded(batch, tmp_path, is_tied):
    model = build(replace(CONFIG, heads=replace(EVERY, tied=is_tied))).eval()

    model.save(tmp_path / "model")
    loaded = PretrainingModel.load(tmp_path / "model").eval()

    assert loaded.config == model.config
    expected = {name: loss.item() for name, loss in model(batch).items()}
    assert {name: loss.item() for name, loss in loaded(batch).items()} == expected


def test_weights_of_another_model_are_refused_by_name(tmp_path):
    model = build(replace(CONFIG, encoder=replace(LUKE_ENCODER, n_layers=1)))
    model.save(tmp_path)
    CONFIG.save(tmp_path / "config.json")

    with pytest.raises(WeightsError, match=r"missing: encoder\.encoder\.layers\.1\.") as raised:
        PretrainingModel.load(tmp_path)

    assert "more" in str(raised.value)


def test_weights_of_another_shape_are_refused_by_name(tmp_path):
    build(replace(CONFIG, encoder=replace(LUKE_ENCODER, n_subwords=61))).save(tmp_path)
    CONFIG.save(tmp_path / "config.json")

    with pytest.raises(WeightsError, match=r"subwords\.weight \(61, 16\), here \(60, 16\)"):
        PretrainingModel.load(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    build().save(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x08")

    with pytest.raises(WeightsError, match=r"model\.safetensors: damaged"):
        PretrainingModel.load(tmp_path)


def test_under_autocast_losses_are_float32_and_nearly_the_same(batch):
    model = build().eval()
    exact = model(batch)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = model(batch)
    sum(losses.values()).backward()

    for name, loss in losses.items():
        assert loss.dtype == torch.float32
        torch.testing.assert_close(loss, exact[name], rtol=0.02, atol=0)
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_sampled_entities_leave_scores_over_the_whole_vocabulary(batch):
    model = build().eval()
    sampled = replace(TARGETS["entities"], negatives=torch.tensor([4, 5]))
    few = replace(batch, targets={"entities": sampled})

    scores, losses = model.scores(few), model(few)

    whole = model(replace(batch, targets={"entities": TARGETS["entities"]}))
    torch.testing.assert_close(scores["entities"].loss_sum, whole["entities"])
    assert losses["entities"] != whole["entities"]
