"""Cross-entropy in chunks against torch's own, over all logits at once."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from modeling.heads import cross_entropy
from modeling.heads.cross_entropy import score, summed_cross_entropy


def draw(n_targets, n_classes, *, width=6, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    features, weight, bias = (
        torch.randn(shape, dtype=dtype, generator=generator, requires_grad=True)
        for shape in ((n_targets, width), (n_classes, width), (n_classes,))
    )
    return features, weight, bias, torch.randint(n_classes, (n_targets,), generator=generator)


def plain(features, weight, bias, labels):
    logits = functional.linear(features, weight, bias)
    return functional.cross_entropy(logits, labels, reduction="sum")


@settings(max_examples=50)
@given(st.integers(0, 9), st.integers(1, 7), st.integers(1, 60))
def test_loss_and_gradients_are_those_of_all_logits_at_once(n_targets, n_classes, chunk):
    features, weight, bias, labels = draw(n_targets, n_classes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cross_entropy, "_CHUNK", chunk)

        loss = summed_cross_entropy(features, weight, bias=bias, labels=labels)
        gradients = torch.autograd.grad(3 * loss, (features, weight, bias))

    expected = plain(features, weight, bias, labels)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(
        gradients, torch.autograd.grad(3 * expected, (features, weight, bias))
    )


def test_frozen_weights_get_no_gradient():
    features, weight, bias, labels = draw(5, 4)
    weight.requires_grad_(False)

    summed_cross_entropy(features, weight, bias=bias, labels=labels).backward()

    assert weight.grad is None
    assert features.grad is not None


def test_taking_the_gradient_twice_is_refused():
    features, weight, bias, labels = draw(5, 4)
    loss = summed_cross_entropy(features, weight, bias=bias, labels=labels)
    loss.backward(retain_graph=True)

    with pytest.raises(RuntimeError, match="before"):
        loss.backward()


def test_large_logits_do_not_overflow():
    features, weight, bias, labels = draw(5, 4, dtype=torch.float32)
    scaled = features.detach() * 1e4

    loss = summed_cross_entropy(scaled, weight, bias=bias, labels=labels)

    assert loss.isfinite()
    torch.testing.assert_close(loss, plain(scaled, weight, bias, labels))


def test_autocast_gives_a_float32_loss_and_gradients_of_the_type_of_the_weights():
    features, weight, bias, labels = draw(64, 50, dtype=torch.float32)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = summed_cross_entropy(features, weight, bias=bias, labels=labels)
    loss.backward()

    exact = torch.autograd.grad(plain(features, weight, bias, labels), (weight, features))
    assert loss.dtype == weight.grad.dtype == features.grad.dtype == torch.float32
    for gradient, other in zip((weight.grad, features.grad), exact, strict=True):
        assert (gradient - other).norm() < 0.02 * other.norm()


def test_ranks_count_the_ids_that_score_strictly_higher():
    features = torch.ones(4, 1)
    weight, bias = torch.zeros(5, 1), torch.tensor([1.0, 3.0, 2.0, 3.0, 0.0])

    found = score(features, weight, bias=bias, labels=torch.tensor([0, 1, 3, 4]))

    assert found.ranks.tolist() == [3, 0, 0, 4]


def test_scores_are_of_float32_under_autocast():
    """In bfloat16 256 and 257 would be alike, and the second best would look like a hit."""
    features, weight = torch.ones(1, 1), torch.zeros(2, 1)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = score(features, weight, bias=torch.tensor([256.0, 257.0]), labels=torch.tensor([0]))

    assert found.ranks.tolist() == [1]


def test_a_logit_that_is_no_number_is_no_hit():
    features = torch.full((1, 1), torch.nan)

    found = score(features, torch.ones(5, 1), bias=torch.zeros(5), labels=torch.tensor([2]))

    assert found.ranks.tolist() == [5]


def test_scores_in_chunks_are_scores_at_once(monkeypatch):
    features, weight, bias, labels = draw(9, 7)
    at_once = score(features, weight, bias=bias, labels=labels)
    monkeypatch.setattr(cross_entropy, "_CHUNK", 14)

    in_chunks = score(features, weight, bias=bias, labels=labels)

    assert in_chunks.ranks.equal(at_once.ranks)
    torch.testing.assert_close(in_chunks.loss_sum, at_once.loss_sum)
