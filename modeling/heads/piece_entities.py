"""Entity classification: which entity a piece is part of (EntityBERT, equation 8).

The equation multiplies a vector of an entity with a wider one of a piece: between them stand a
dense layer, GELU and a norm, as in the paper's code (B-E6).

Shapes: M targets, D width of the encoder, F width of the features, S negatives.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from modeling.data.batch import Choices, Targets
from modeling.heads.cross_entropy import Scores, score, summed_cross_entropy, uncompiled
from modeling.heads.pretraining import EntityHead


class PieceEntityHead(EntityHead):
    """Scores entities as ``EntityHead`` does, over the vocabulary or over scopes (C.13, B-E5).

    Where targets have choices, the softmax is over all entities of the target's scope, in training
    and in evaluation. Where they have negatives of their own, the sum over the n_others other
    entities of the scope is estimated as n_others / S times the sum over S of them, drawn evenly
    and none twice: its expectation is the whole sum, and with S = n_others it is the whole sum.
    """

    def loss(self, states: Tensor, targets: Targets) -> Tensor:
        """Summed cross-entropy in float32 of states (M, D) of targets."""
        if targets.n_others is not None:
            return self._sampled(states, targets)
        if targets.choices is None:
            return super().loss(states, targets)
        return _loss(*self._tables(states, targets.choices), choices=targets.choices)

    def score(self, states: Tensor, targets: Targets) -> Scores:
        """Loss and ranks, over the whole vocabulary or the scopes, of states (M, D) of targets."""
        if targets.choices is None:
            return super().score(states, targets)
        return _score(*self._tables(states, targets.choices), choices=targets.choices)

    def _tables(self, states: Tensor, choices: Choices) -> tuple[Tensor, Tensor, Tensor]:
        """Features of targets (M, F); vectors and biases of the ids of all scopes."""
        vectors, biases = (each.index_select(0, choices.ids) for each in (self.weight, self.bias))
        return self._features(states), vectors, biases

    def _sampled(self, states: Tensor, targets: Targets) -> Tensor:
        features, labels, negatives = self._features(states), targets.labels, targets.negatives
        assert negatives is not None  # noqa: S101 - n_others is of negatives
        assert targets.n_others is not None  # noqa: S101 - as above
        is_other = negatives != labels[:, None]  # (M, S)
        dtype = self.bias.dtype
        ids = torch.cat([labels[:, None], negatives], dim=1)  # (M, 1 + S)
        logits = torch.einsum("mf,msf->ms", features, self.weight[ids].to(features.dtype))
        logits = logits.to(dtype) + self.bias[ids]
        own, drawn = logits[:, 0], logits[:, 1:]
        n_drawn = is_other.sum(1).clamp(min=1)
        weights = (targets.n_others.clamp(min=1).to(dtype) / n_drawn).log()
        drawn = (drawn + weights[:, None]).masked_fill(~is_other, -torch.inf)
        both = torch.cat([own[:, None], drawn], dim=1)
        return (both.logsumexp(1) - own).sum()


@uncompiled
def _loss(features: Tensor, vectors: Tensor, biases: Tensor, *, choices: Choices) -> Tensor:
    """Summed over scopes."""
    parts = _by_scope(features, vectors, biases, choices=choices)
    return torch.stack(
        [summed_cross_entropy(f, w, bias=b, labels=places) for f, w, b, places in parts]
    ).sum()


@uncompiled
def _score(features: Tensor, vectors: Tensor, biases: Tensor, *, choices: Choices) -> Scores:
    """Each scope by itself."""
    parts = _by_scope(features, vectors, biases, choices=choices)
    scores = [score(f, w, bias=b, labels=places) for f, w, b, places in parts]
    losses, ranks = zip(*scores, strict=True)
    return Scores(torch.stack(losses).sum(), torch.cat(ranks))


def _by_scope(
    features: Tensor, vectors: Tensor, biases: Tensor, *, choices: Choices
) -> Iterator[tuple[Tensor, ...]]:
    """Features, vectors, biases and places of labels, of each scope."""
    sizes, n_targets = list(choices.sizes), list(choices.n_targets)
    return zip(
        torch.split(features, n_targets),
        torch.split(vectors, sizes),
        torch.split(biases, sizes),
        torch.split(choices.places, n_targets),
        strict=True,
    )
