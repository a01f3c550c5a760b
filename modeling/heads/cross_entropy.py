"""Cross-entropy over a large vocabulary, in chunks of targets.

All logits together would be the largest tensor of a step: 1.2 GB in float32 for 10,000 targets and
30,000 subwords, and as much for their gradient. So only one chunk of logits exists at a time, and
the forward pass computes the chunk's part of the gradients as well. Nothing is computed twice.

Shapes: M targets, F width of the features, V classes.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from modeling.layers.compilation import AutogradContext, uncompiled

_CHUNK: Final = 2**25  # logits of a chunk: 128 MiB; products of this size keep a GPU busy


class LabelRanks(NamedTuple):
    """The loss and the ranks of the labels of an objective."""

    loss_sum: Tensor
    """() float32: the summed cross-entropy, with a softmax over the whole vocabulary."""
    ranks: Tensor
    """(M,) int64: how many ids score higher than the label; 0: a hit; below k: in the top k."""


@uncompiled  # else it would be compiled again for each number of chunks
def summed_cross_entropy(
    features: Tensor, weight: Tensor, *, bias: Tensor, labels: Tensor
) -> Tensor:
    """Sum over targets of −log softmax(features @ weightᵀ + bias)[label], in float32.

    (M, F), (V, F), (V,), (M,) -> (). Under autocast, matrix products have the type of autocast, and
    the softmax is float32. The gradient can be taken only once. Without targets the sum is 0.
    """
    product_type = _product_type(features)
    if not torch.is_grad_enabled():
        return _score(features, weight, bias=bias, labels=labels, product_type=product_type)[0]
    apply: Callable[..., Tensor] = _SummedCrossEntropy.apply
    return apply(features, weight, bias, labels, product_type)


@uncompiled
@torch.no_grad()
def score(features: Tensor, weight: Tensor, *, bias: Tensor, labels: Tensor) -> LabelRanks:
    """Compute summed cross-entropy and ranks, in float32: in bfloat16 many ids would score alike.

    A logit that is NaN counts as higher than the label's.
    """
    return _score(features, weight, bias=bias, labels=labels, product_type=bias.dtype)


def _score(
    features: Tensor, weight: Tensor, *, bias: Tensor, labels: Tensor, product_type: torch.dtype
) -> LabelRanks:
    loss = torch.zeros((), dtype=bias.dtype, device=features.device)
    ranks = torch.empty_like(labels)
    with torch.autocast(features.device.type, enabled=False):
        weight = weight.to(product_type)
        for part in _chunks(len(labels), len(weight)):
            logits = _logits(features[part].to(product_type), weight, bias)
            own = logits.gather(1, labels[part, None])
            ranks[part] = (~(logits <= own)).sum(1)
            loss += (logits.logsumexp(1) - own[:, 0]).sum()
    return LabelRanks(loss, ranks)


def _product_type(features: Tensor) -> torch.dtype:
    device = features.device.type
    is_autocast = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if is_autocast else features.dtype


def _chunks(n_targets: int, n_classes: int) -> Iterator[slice]:
    size = max(1, _CHUNK // n_classes)
    return (slice(start, start + size) for start in range(0, max(1, n_targets), size))


def _logits(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Compute logits, float32 or wider: (m, F), (V, F), (V,) -> (m, V)."""
    if features.dtype == bias.dtype:
        return torch.addmm(bias, features, weight.T)
    return (features @ weight.T).to(bias.dtype).add_(bias)


class _Context(AutogradContext, Protocol):
    gradients: tuple[Tensor | None, ...] | None


class _SummedCrossEntropy(torch.autograd.Function):
    """A loss whose gradients are computed in ``forward``; ``backward`` only scales them."""

    @staticmethod
    def forward(  # noqa: PLR0917 - as torch calls it
        ctx: _Context,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        labels: Tensor,
        product_type: torch.dtype,
    ) -> Tensor:
        loss = torch.zeros((), dtype=bias.dtype, device=features.device)
        of_features = [features.new_zeros((0, features.shape[1]), dtype=product_type)]
        of_weight, of_bias = (
            torch.zeros_like(x) if is_needed else None
            for x, is_needed in zip((weight, bias), ctx.needs_input_grad[1:3], strict=True)
        )
        with torch.autocast(features.device.type, enabled=False):
            vectors = weight.to(product_type)
            for part in _chunks(len(labels), len(weight)):
                inputs = features[part].to(product_type)
                errors = _add_loss(loss, _logits(inputs, vectors, bias), labels[part, None])
                if of_bias is not None:
                    of_bias += errors.sum(0)
                errors = errors.to(product_type)
                if ctx.needs_input_grad[0]:
                    of_features.append(errors @ vectors)
                if of_weight is None:
                    continue
                if weight.dtype == product_type:
                    of_weight.addmm_(errors.T, inputs)
                else:
                    of_weight += errors.T @ inputs
        needed = torch.cat(of_features).to(features.dtype) if ctx.needs_input_grad[0] else None
        ctx.gradients = (needed, of_weight, of_bias)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, gradient: Tensor) -> tuple[Tensor | None, ...]:
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            raise RuntimeError("The gradient of this loss was taken before, and is freed.")
        scaled = [None if each is None else each.mul_(gradient) for each in gradients]
        return *scaled, None, None


def _add_loss(loss: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """Add the loss of labels (m, 1); replace logits (m, V) by their gradient, softmax − one-hot."""
    loss -= logits.gather(1, labels).sum()
    highest = logits.amax(1, keepdim=True)
    exponentials = logits.sub_(highest).exp_()
    total = exponentials.sum(1, keepdim=True)
    loss += (total.log() + highest).sum()
    return exponentials.div_(total).scatter_add_(1, labels, -torch.ones_like(total))
