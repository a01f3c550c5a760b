"""Heads of pre-training, for masked subwords, masked entities, and pairs of texts.

A head gets only the rows of targets, so that no logits are computed that the loss does not need.

Shapes: M targets, D width of the encoder, F width of the features, V classes, S negatives.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import Choices, Layout, Targets
from modeling.heads.cross_entropy import LabelRanks, score, summed_cross_entropy
from modeling.layers.compilation import uncompiled
from modeling.layers.transformer import ACTIVATIONS

Activation = Literal["gelu", "relu"]


class Transform(nn.Module):
    """A dense layer, an activation, and a norm."""

    def __init__(
        self,
        *,
        width: int,
        out_width: int,
        activation: Activation = "gelu",
        norm_eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.dense = nn.Linear(width, out_width)
        self.activation = ACTIVATIONS[activation]
        self.norm = nn.LayerNorm(out_width, eps=norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        """Map states (M, D) to features (M, F)."""
        return self.norm(self.activation(self.dense(x)))  # type: ignore[no-any-return]


class Classifier(nn.Module):
    """A head that scores classes by a linear map of features: ``weight`` (V, F), ``bias`` (V,)."""

    @property
    @abstractmethod
    def weight(self) -> Tensor:
        """The (V, F) vectors of the classes."""

    bias: Tensor

    @property
    @abstractmethod
    def first(self) -> tuple[Tensor, Tensor]:
        """The weight (·, D) and the bias of the first linear map of states."""

    def logits(self, states: Tensor) -> Tensor:
        """Compute the logits (M, V) of all classes from states (M, D)."""
        return functional.linear(self._features(states), self.weight, self.bias)

    def loss(self, states: Tensor, targets: Targets) -> Tensor:
        """Compute the cross-entropy of targets from their states (M, D), summed, in float32."""
        return summed_cross_entropy(
            self._features(states), self.weight, bias=self.bias, labels=targets.labels
        )

    def score(self, states: Tensor, targets: Targets) -> LabelRanks:
        """Compute loss and ranks of targets over all classes from their states (M, D)."""
        return score(self._features(states), self.weight, bias=self.bias, labels=targets.labels)

    @abstractmethod
    def _features(self, states: Tensor) -> Tensor:
        """Map states (M, D) to features (M, F)."""


class VocabularyHead(Classifier):
    """A head that scores each id of a vocabulary: features · vector of the id + bias of the id.

    The vectors are those of an embedding of the encoder (``tied``: the weights belong to the
    encoder and are saved with it), or a matrix of the head.
    """

    def __init__(self, *, table: nn.Embedding, transform: Transform | None, tied: bool) -> None:
        super().__init__()
        self.transform = transform
        self.matrix = (
            None if tied else nn.Linear(table.embedding_dim, len(table.weight), bias=False)
        )
        self.bias = nn.Parameter(torch.zeros(len(table.weight)))
        self._tied = (table,)  # in a tuple, so that torch does not make it a submodule

    @property
    def weight(self) -> Tensor:
        """The (V, F) vectors of the ids."""
        return (self._tied[0] if self.matrix is None else self.matrix).weight

    @property
    def first(self) -> tuple[Tensor, Tensor]:
        """The weight (·, D) and the bias of the first linear map of states."""
        dense = self if self.transform is None else self.transform.dense
        return dense.weight, dense.bias

    def _features(self, states: Tensor) -> Tensor:
        return states if self.transform is None else self.transform(states)


class EntityHead(VocabularyHead):
    """A head for masked entities: dense to entity width, GELU, norm; tied to the embedding.

    If targets have negatives, the softmax is sampled: the sum over the vocabulary is
    estimated from S ids drawn with probabilities Q, as exp(label) + Σ exp(draw) / (S · Q(draw)),
    where draws of the label are left out. The expectation of this estimate is the whole sum
    (log-Q correction).
    """

    def __init__(self, *, table: nn.Embedding, transform: Transform) -> None:
        super().__init__(table=table, transform=transform, tied=True)
        self.log_q: Tensor
        n_entities = len(table.weight)
        uniform = torch.full((n_entities,), -math.log(n_entities))
        self.register_buffer("log_q", uniform, persistent=False)
        self.label_weights: Tensor | None
        self.register_buffer("label_weights", None, persistent=False)

    def set_proposal(self, log_q: Tensor) -> None:
        """Set the log-probabilities (V,) of drawing each id as a negative; by default uniform.

        Raises ``ValueError`` if these are not V log-probabilities of sum 1.
        """
        if log_q.shape != self.log_q.shape or not abs(float(log_q.exp().sum()) - 1) <= 1e-3:
            raise ValueError(
                f"A proposal must have {len(self.log_q)} log-probabilities that sum to 1; "
                f"these are {tuple(log_q.shape)}, with the sum {float(log_q.exp().sum()):.4g}."
            )
        self.log_q = log_q.to(self.log_q)

    def loss(self, states: Tensor, targets: Targets) -> Tensor:
        """Compute the summed cross-entropy in float32; sampled if the targets have negatives.

        If ``label_weights`` (V,) are set, each target has the weight of its entity.
        """
        if targets.negatives is None and self.label_weights is None:
            return super().loss(states, targets)
        losses = self._losses(states, targets)
        if self.label_weights is None:
            return losses.sum()
        return (self.label_weights[targets.labels] * losses).sum()

    def _losses(self, states: Tensor, targets: Targets) -> Tensor:
        if targets.negatives is None:
            logits = self.logits(states).to(self.bias.dtype)
            return functional.cross_entropy(logits, targets.labels, reduction="none")
        own, drawn = self._sampled_logits(self._features(states), targets.labels, targets.negatives)
        drawn = drawn - (self.log_q[targets.negatives] + math.log(max(1, drawn.shape[1])))
        is_label = targets.negatives == targets.labels[:, None]  # (M, S)
        both = torch.cat([own[:, None], drawn.masked_fill(is_label, -torch.inf)], dim=1)
        return both.logsumexp(1) - own

    def _sampled_logits(
        self, features: Tensor, labels: Tensor, negatives: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Compute float32 logits of labels (M,) and of negatives (M, S) from features (M, F)."""
        own = (features * self.weight[labels]).sum(1, dtype=self.bias.dtype) + self.bias[labels]
        drawn = functional.linear(features, self.weight[negatives])
        return own, drawn.to(self.bias.dtype) + self.bias[negatives]


class PairHead(Classifier):
    """A head for next sentence and sentence order prediction: does text 2 follow text 1?

    Class 1 means that it does. ``pooling`` is ``cls``: [CLS] through BERT's pooler (dense,
    tanh), or ``mean``: the mean of all subwords. As the classifier is linear, the latter equals
    NEISS's mean of logits.
    """

    def __init__(self, *, width: int, pooling: Literal["cls", "mean"]) -> None:
        super().__init__()
        self.pooler = nn.Linear(width, width) if pooling == "cls" else None
        self.classifier = nn.Linear(width, 2)

    @property
    def weight(self) -> Tensor:
        """The (2, F) vectors of the classes."""
        return self.classifier.weight

    @property
    def bias(self) -> Tensor:  # type: ignore[override]
        """The (2,) biases of the classes."""
        return self.classifier.bias

    @property
    def first(self) -> tuple[Tensor, Tensor]:
        """The weight (·, D) and the bias of the first linear map of states."""
        linear = self.classifier if self.pooler is None else self.pooler
        return linear.weight, linear.bias

    def pool(self, subwords: Tensor, layout: Layout) -> Tensor:
        """Pool subwords, (T, D) -> (B, D): [CLS] of each sequence, or the mean of its subwords."""
        if self.pooler is not None:
            starts = torch.arange(layout.n_sequences, device=subwords.device) * layout.longest
            # Rows are ordered by sequence, and each sequence has at least one subword, [CLS].
            return subwords.index_select(0, torch.searchsorted(layout.index, starts))
        if subwords.dtype.itemsize < 4:  # bfloat16 cannot represent every count above 256
            subwords = subwords.float()
        sums = subwords.new_zeros(layout.n_sequences, subwords.shape[1])
        ones = torch.ones_like(layout.sequences, dtype=subwords.dtype)
        sizes = subwords.new_zeros(layout.n_sequences).index_add(0, layout.sequences, ones)
        return sums.index_add(0, layout.sequences, subwords) / sizes[:, None]

    def _features(self, states: Tensor) -> Tensor:
        return states if self.pooler is None else torch.tanh(self.pooler(states))


class SubwordEntityHead(EntityHead):
    """An ``EntityHead`` with a softmax over the vocabulary or over scopes.

    If targets have ``choices``, the softmax is over all entities of the target's scope, in training
    and in evaluation. If each target has its own negatives (``n_others`` is set), the sum over the
    ``n_others`` other entities of the scope is estimated as n_others / S times the sum over S of
    them, drawn uniformly without replacement. The expectation of this estimate is the whole sum;
    with S = n_others the estimate is exact.
    """

    def loss(self, states: Tensor, targets: Targets) -> Tensor:
        """Compute the cross-entropy of targets from their states (M, D), summed, in float32."""
        if targets.n_others is not None:
            return self._sampled(states, targets)
        if targets.choices is None:
            return super().loss(states, targets)
        return _loss(*self._tables(states, targets.choices), choices=targets.choices)

    def score(self, states: Tensor, targets: Targets) -> LabelRanks:
        """Compute loss and ranks, over the vocabulary or scopes, from states (M, D) of targets."""
        if targets.choices is None:
            return super().score(states, targets)
        return _score(*self._tables(states, targets.choices), choices=targets.choices)

    def _tables(self, states: Tensor, choices: Choices) -> tuple[Tensor, Tensor, Tensor]:
        """Return features of targets (M, F), and vectors and biases of the ids of all scopes."""
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
    """Sum the cross-entropy over all scopes; each softmax is over one scope."""
    parts = _by_scope(features, vectors, biases, choices=choices)
    return torch.stack(
        [summed_cross_entropy(f, w, bias=b, labels=places) for f, w, b, places in parts]
    ).sum()


@uncompiled
def _score(features: Tensor, vectors: Tensor, biases: Tensor, *, choices: Choices) -> LabelRanks:
    """Score each scope by itself; sum the losses and concatenate the ranks."""
    parts = _by_scope(features, vectors, biases, choices=choices)
    scores = [score(f, w, bias=b, labels=places) for f, w, b, places in parts]
    losses, ranks = zip(*scores, strict=True)
    return LabelRanks(torch.stack(losses).sum(), torch.cat(ranks))


def _by_scope(
    features: Tensor, vectors: Tensor, biases: Tensor, *, choices: Choices
) -> Iterator[tuple[Tensor, ...]]:
    """Iterate over scopes: the features, vectors, biases and label places of each."""
    sizes, n_targets = list(choices.sizes), list(choices.n_targets)
    return zip(
        torch.split(features, n_targets),
        torch.split(vectors, sizes),
        torch.split(biases, sizes),
        torch.split(choices.places, n_targets),
        strict=True,
    )
