import sys

import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from modeling.config import OptimizerConfig
from modeling.training.optimizer import Optimizer, decaying


def give_gradients(optimizer, seed=0):
    generator = torch.Generator().manual_seed(seed)
    optimizer.gradients.flat.copy_(torch.randn(len(optimizer.gradients.flat), generator=generator))


def step(optimizer, lr=0.01):
    optimizer.step(lr, optimizer.gradients.norm())


def test_matrices_decay_and_biases_and_norms_do_not(toy):
    matrices = {"embedding.weight", "inner.weight", "head.weight", "parity.weight"}

    assert decaying(toy()) == matrices


def test_without_a_gradient_only_matrices_shrink(toy):
    model = toy()
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = Optimizer(model, OptimizerConfig(weight_decay=0.5))

    step(optimizer, lr=0.1)

    for name, parameter in model.named_parameters():
        factor = 0.95 if name in decaying(model) else 1.0
        torch.testing.assert_close(parameter.detach(), start[name] * factor)


def test_steps_are_those_of_torch(toy):
    model, theirs = toy(), toy()
    optimizer = Optimizer(model, OptimizerConfig(clip=None, eps=1e-7, weight_decay=0.0))
    adam = torch.optim.Adam(theirs.parameters(), lr=0.01, eps=1e-7)

    for seed in range(3):
        give_gradients(optimizer, seed)
        for ours, parameter in zip(model.parameters(), theirs.parameters(), strict=True):
            parameter.grad = ours.grad.clone()
        step(optimizer)
        adam.step()

    for ours, parameter in zip(model.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter, rtol=0, atol=1e-6)


def test_training_does_not_load_the_compiler_of_torch(toy, monkeypatch):
    model = toy()
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # to import it is an error
    optimizer = Optimizer(model, OptimizerConfig())

    give_gradients(optimizer)
    step(optimizer)
    optimizer.load_state(optimizer.state())
    optimizer.unlock(resets=True)


def test_clipping_shortens_long_gradients_as_torch_does_and_leaves_short_ones(toy):
    model = toy()
    optimizer = Optimizer(model, OptimizerConfig(clip=1.0))
    give_gradients(optimizer)
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    copies = [nn.Parameter(torch.zeros_like(gradient)) for gradient in expected]
    for copy, gradient in zip(copies, expected, strict=True):
        copy.grad = gradient
    nn.utils.clip_grad_norm_(copies, 1.0)

    step(optimizer)

    for parameter, copy in zip(model.parameters(), copies, strict=True):
        torch.testing.assert_close(parameter.grad, copy.grad)
    short = optimizer.gradients.flat.mul_(0.5).clone()
    step(optimizer)
    assert optimizer.gradients.flat.equal(short)


def test_the_average_follows_the_weights(toy):
    model = toy()
    expected = model.head.weight.detach().clone()
    optimizer = Optimizer(model, OptimizerConfig(ema=0.9))

    for seed in range(3):
        give_gradients(optimizer, seed)
        step(optimizer)
        expected = 0.9 * expected + 0.1 * model.head.weight.detach()

    torch.testing.assert_close(optimizer.average["head.weight"], expected)


def test_state_survives_saving(toy):
    one, other = toy(), toy()
    first = Optimizer(one, OptimizerConfig(), frozen={"inner.weight"}, precision="float16")
    first.loss_scale.value = 8.0
    give_gradients(first)
    step(first)
    other.load_state_dict(one.state_dict())

    second = Optimizer(other, OptimizerConfig(), frozen={"inner.weight"}, precision="float16")
    second.load_state({name: tensor.clone() for name, tensor in first.state().items()})
    for optimizer in (first, second):
        optimizer.unlock()
        give_gradients(optimizer, seed=3)
        step(optimizer)

    assert second.loss_scale == first.loss_scale
    for ours, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert ours.equal(theirs)


def literal_adam(weights, gradients, *, lr, decay, betas=(0.9, 0.98), eps=1e-6):
    """Apply AdamW without bias correction, one step after the other, in float64."""
    weights = weights.double()
    first = second = torch.zeros_like(weights)
    for gradient in gradients:
        first = betas[0] * first + (1 - betas[0]) * gradient
        second = betas[1] * second + (1 - betas[1]) * gradient**2
        weights = weights - lr * (first / (second.sqrt() + eps) + decay * weights)
    return weights


UNCORRECTED = OptimizerConfig(betas=(0.9, 0.98), bias_correction=False, clip=None)


def test_moments_are_not_corrected_if_so_asked(toy):
    model = toy()
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    gradients = {name: [] for name in start}
    optimizer = Optimizer(model, UNCORRECTED)

    for seed in range(5):
        give_gradients(optimizer, seed)
        for name, parameter in model.named_parameters():
            gradients[name].append(parameter.grad.double())
        step(optimizer)

    for name, parameter in model.named_parameters():
        decay = UNCORRECTED.weight_decay if name in decaying(model) else 0.0
        expected = literal_adam(start[name], gradients[name], lr=0.01, decay=decay)
        torch.testing.assert_close(parameter.double(), expected, rtol=1e-6, atol=1e-6)


def test_uncorrected_moments_survive_saving_and_begin_where_parameters_are_unlocked(toy):
    one, other = toy(), toy()
    first = Optimizer(one, UNCORRECTED, frozen={"inner.weight"})
    give_gradients(first)
    step(first)
    inner = one.inner.weight.detach().clone()
    other.load_state_dict(one.state_dict())
    second = Optimizer(other, UNCORRECTED, frozen={"inner.weight"})

    second.load_state(load(save(first.state())))
    gradients = []
    for optimizer in (first, second):
        optimizer.unlock()
        give_gradients(optimizer, seed=3)
        gradients.append(optimizer.names["inner.weight"].grad.double())
        step(optimizer)

    for ours, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert ours.equal(theirs)
    expected = literal_adam(inner, gradients[:1], lr=0.01, decay=UNCORRECTED.weight_decay)
    torch.testing.assert_close(one.inner.weight.double(), expected, rtol=1e-6, atol=1e-6)


def test_a_state_that_was_corrected_goes_on_without(toy):
    gone, model = toy(), toy()
    corrected = Optimizer(gone, OptimizerConfig(betas=(0.9, 0.98), clip=None))
    optimizer = Optimizer(model, UNCORRECTED)
    give_gradients(corrected)
    step(corrected)

    optimizer.load_state({name: tensor.clone() for name, tensor in corrected.state().items()})
    start = model.head.bias.detach().clone()
    gradients = []
    for seed in (0, 1):
        give_gradients(optimizer, seed)
        gradients.append(model.head.bias.grad.double())
    step(optimizer)

    first, both = (literal_adam(start, gradients[:n], lr=0.01, decay=0.0) for n in (1, 2))
    torch.testing.assert_close(model.head.bias.double(), start + both - first, rtol=0, atol=1e-6)


def test_an_unknown_name_cannot_be_frozen(toy):
    with pytest.raises(ValueError, match="elsewhere"):
        Optimizer(toy(), OptimizerConfig(), frozen={"elsewhere"})
