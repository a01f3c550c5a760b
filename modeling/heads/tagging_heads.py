"""Heads that score the words to be tagged, and turn the scores into a CRF for decoders.

A head is a linear map of the states of words; heads differ in what their scores mean. Each head
computes the loss of gold tags, summed over words, and a CRF: the log-potentials of all tag
sequences. So all heads share the decoders and probabilities of ``modeling/decoding``. The head of
spans is in ``modeling/models/spans.py``, because it reads candidates with the encoder.

Shapes: W words of S sentences together, N words of the longest, D width, K scores, L labels,
C = 1 + 2 L tags (``modeling/data/tagset.py``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import ExpectedTags, Layout
from modeling.data.tagset import OUTSIDE, TagSet
from modeling.layers.crf import (
    FORBIDDEN,
    Crf,
    RuledTransitions,
    Transitions,
    constrained,
    expected_score,
    log_partition,
    score,
)
from modeling.layers.transformer import Dropout

BoundaryLoss = Literal["bce", "l1", "l2"]

_DEVIATION: Final = 0.02  # as BERT


_BOUNDARY_LOSSES: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "bce": partial(functional.binary_cross_entropy_with_logits, reduction="none"),
    "l1": lambda logits, gold: (logits.sigmoid() - gold).abs(),
    "l2": lambda logits, gold: (logits.sigmoid() - gold).square(),
}


class TokenHead(nn.Module, ABC):
    """A head that scores words by a linear map, initialized with N(0, 0.02) and bias 0.

    ``n_scores`` is K (None: C); ``class_weights`` (1 + L,) are the loss weights of O and of each
    label.
    """

    class_weights: Tensor | None

    def __init__(
        self,
        *,
        width: int,
        tagset: TagSet,
        dropout: float,
        n_scores: int | None = None,
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__()
        n_classes = 1 + len(tagset.labels)
        if class_weights is not None and class_weights.shape != (n_classes,):
            raise ValueError(
                f"Class weights have the shape {tuple(class_weights.shape)}; there must be "
                f"{n_classes}: of no name, and of each label."
            )
        self.register_buffer("class_weights", class_weights, persistent=False)
        self.tagset = tagset
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(width, n_scores or len(tagset))
        nn.init.normal_(self.linear.weight, std=_DEVIATION)
        nn.init.zeros_(self.linear.bias)

    def forward(self, states: Tensor) -> Tensor:
        """Compute the scores of words, float32 or wider: (W, D) -> (W, K)."""
        scores: Tensor = self.linear(self.dropout(states))
        return scores.float() if scores.dtype.itemsize < 4 else scores

    @abstractmethod
    def loss(self, scores: Tensor, words: Layout, tags: Tensor) -> Tensor:
        """Compute the loss of gold tags (W,) from scores (W, K): () float32, summed over words."""

    @abstractmethod
    def crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """Convert scores (W, K) to log-potentials of tags.

        Scores and learned transitions are divided by ``temperature``.
        """

    def valid_crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """Convert scores as ``crf`` does, without the paths that are not valid IOB2."""
        crf = self.crf(scores, words, temperature)
        return constrained(crf, self.tagset.follows, self.tagset.begins)

    def loss_of_expected(self, scores: Tensor, words: Layout, expected: ExpectedTags) -> Tensor:
        """Compute the cross-entropy of tag sequences with a teacher's, () float32, summed.

        It is log Z − E[score]: structural knowledge distillation (Wang et al. 2021, eq. 4). Where
        the teacher is certain, it is the negative log-likelihood.
        """
        crf = self.crf(scores, words)
        mean = expected_score(crf, words.pad(expected.words), expected.pairs)
        return (log_partition(crf) - mean).sum().float()


class SoftmaxHead(TokenHead):
    """A head that tags each word by itself; B- and I- of a label share its class weight."""

    def loss(self, scores: Tensor, words: Layout, tags: Tensor) -> Tensor:  # noqa: ARG002
        """Compute the cross-entropy of the gold tags, weighted by class if there are weights."""
        losses = functional.cross_entropy(scores, tags, reduction="none")
        return _weighted_sum(losses, classes_of(tags), self.class_weights).float()

    def crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """Return a CRF with log-probabilities as emissions; all transitions are 0."""
        emissions = (scores / temperature).log_softmax(1)
        nothing = emissions.new_zeros(len(self.tagset), len(self.tagset))
        return _make_crf(emissions, words, transitions=nothing, starts=nothing[0])


class CseHead(TokenHead):
    """Class-Start-End (NEISS paper, section 4.1): K = 1 + L + 2.

    Each word has a class (O or a label, without B- and I-), and two sigmoids say whether the word
    begins a name and whether it ends one. The loss is the cross-entropy of the class + both
    boundary losses: ``bce``, ``l1`` (|σ − y|) or ``l2`` ((σ − y)²), where a gold start or
    end has ``boundary_weight`` times the weight of other words.
    """

    def __init__(
        self,
        *,
        width: int,
        tagset: TagSet,
        dropout: float,
        boundary_loss: BoundaryLoss,
        boundary_weight: float,
        class_weights: Tensor | None,
    ) -> None:
        super().__init__(
            width=width,
            tagset=tagset,
            n_scores=1 + len(tagset.labels) + 2,
            dropout=dropout,
            class_weights=class_weights,
        )
        self.boundary_loss = _BOUNDARY_LOSSES[boundary_loss]
        self.boundary_weight = boundary_weight

    def loss(self, scores: Tensor, words: Layout, tags: Tensor) -> Tensor:
        """Compute the cross-entropy of classes + the losses of starts and of ends."""
        classes, starts, ends = self.parts(scores)
        gold = classes_of(tags)
        losses = functional.cross_entropy(classes, gold, reduction="none")
        total = _weighted_sum(losses, gold, self.class_weights)
        for logits, flags in ((starts, is_start(tags)), (ends, is_end(tags, words))):
            weights = torch.where(flags, self.boundary_weight, 1.0)
            total = total + (weights * self.boundary_loss(logits, flags.to(logits))).sum()
        return total.float()

    def parts(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Split scores (W, K) into logits of classes (W, 1 + L), starts (W,) and ends (W,)."""
        return scores[:, :-2], scores[:, -2], scores[:, -1]

    def crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """Return a CRF whose paths score Σ log p(class) + log p(start or not) + log p(end or not).

        The sum is over the words of the path. Emissions of B- and I- assume that the word ends its
        name. If an I- follows, it does not: so the emission of I- adds log(1 − p) − log p of the
        word before, which is minus its end logit. An orphan I- (after O, or first in the sentence)
        is forbidden; an I- that changes the label is not.
        """
        classes, starts, ends = (words.pad(part) / temperature for part in self.parts(scores))
        log_classes = classes.log_softmax(2)  # (S, N, 1 + L)
        is_begun, not_begun = functional.logsigmoid(starts), functional.logsigmoid(-starts)
        is_ended, not_ended = functional.logsigmoid(ends), functional.logsigmoid(-ends)
        gone_on = functional.pad(-ends, (1, 0))[:, :-1]  # those of the word before
        outside = log_classes[:, :, :1] + (not_begun + not_ended)[:, :, None]
        begin = log_classes[:, :, 1:] + (is_begun + is_ended)[:, :, None]
        inside = log_classes[:, :, 1:] + (not_begun + is_ended + gone_on)[:, :, None]
        names = torch.stack([begin, inside], 3).flatten(2)  # (S, N, 2 L): B-, I-, B-, I- ...
        transitions = names.new_zeros(len(self.tagset), len(self.tagset))
        transitions[OUTSIDE, 2::2] = FORBIDDEN
        return Crf(torch.cat([outside, names], 2), words.lengths, transitions, transitions[OUTSIDE])


class CrfHead(TokenHead):
    """A linear-chain CRF with learned transitions: LCRF and LCRF_NER."""

    def __init__(
        self,
        *,
        width: int,
        tagset: TagSet,
        transitions: Transitions | RuledTransitions,
        dropout: float,
    ) -> None:
        super().__init__(width=width, tagset=tagset, dropout=dropout)
        self.transitions = transitions

    def loss(self, scores: Tensor, words: Layout, tags: Tensor) -> Tensor:
        """Compute the negative log-likelihood of the gold tags, summed over sentences."""
        crf = self.crf(scores, words)
        return (log_partition(crf) - score(crf, words.pad(tags))).sum().float()

    def crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """Return a CRF of the scores and the learned transitions.

        Invalid transitions stay possible; at most they have a penalty (``RuledTransitions``).
        """
        between, starts = self.transitions()
        return _make_crf(
            scores / temperature,
            words,
            transitions=between / temperature,
            starts=starts / temperature,
        )


def classes_of(tags: Tensor) -> Tensor:
    """Map tags, of any shape, to classes: 0 for O, else 1 + the id of the label."""
    return (tags + 1) // 2


def is_start(tags: Tensor) -> Tensor:
    """Tell whether each tag, of any shape, is a B-."""
    return tags % 2 == 1


def is_end(tags: Tensor, words: Layout) -> Tensor:
    """Tell whether each word is the last one of a name: valid tags (W,) -> (W,) bool."""
    padded = words.pad(tags)  # (S, N), O beyond the length
    following = functional.pad(padded, (0, 1))[:, 1:]
    goes_on = (following != OUTSIDE) & ~is_start(following)
    return words.pack((padded != OUTSIDE) & ~goes_on)


def _make_crf(emissions: Tensor, words: Layout, *, transitions: Tensor, starts: Tensor) -> Crf:
    """Build a CRF of emissions (W, C), padded to (S, N, C)."""
    return Crf(words.pad(emissions), words.lengths, transitions, starts)


def _weighted_sum(losses: Tensor, classes: Tensor, class_weights: Tensor | None) -> Tensor:
    """Sum losses (W,) to (); with class weights, compute W times torch's weighted mean.

    So the loss divided by the number of words equals torch's ``cross_entropy``.
    """
    if class_weights is None:
        return losses.sum()
    weights = class_weights[classes]
    total = weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)
    return (weights * losses).sum() / total * len(losses)
