"""Tags of words: heads that score each word, and what a decoder reads of the scores, a CRF.

A head is a linear map of the words' states; heads differ in what the scores mean. Each gives the
loss of gold tags, summed over words, and the log-potentials of all tag sequences, so that decoders
and probabilities are the same for all (``modeling/decoding``).

Shapes: W words of S sentences together, N words of the longest, D width, K scores, L labels,
C = 1 + 2 L tags (``modeling/data/tagset.py``).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
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

_DEVIATION: Final = 0.02  # BERT


def _binary_cross_entropy(logits: Tensor, gold: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(logits, gold, reduction="none")


_BOUNDARY_LOSSES: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "bce": _binary_cross_entropy,
    "l1": lambda logits, gold: (logits.sigmoid() - gold).abs(),
    "l2": lambda logits, gold: (logits.sigmoid() - gold).square(),
}


class TokenHead(nn.Module, ABC):
    """Scores of words, by a linear map: N(0, 0.02), bias 0.

    ``n_scores`` is K (None: C); ``class_weights`` (1 + L,) are of O and of each label.
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
        """(W, D) -> (W, K), float32 or wider."""
        scores: Tensor = self.linear(self.dropout(states))
        return scores.float() if scores.dtype.itemsize < 4 else scores

    @abstractmethod
    def loss(self, scores: Tensor, words: Layout, tags: Tensor) -> Tensor:
        """(W, K), gold tags (W,) -> () float32, summed over words."""

    @abstractmethod
    def crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """(W, K) -> log-potentials of tags; what is learned is divided by the temperature."""

    def valid_crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """The same without the paths that are no valid IOB2."""
        crf = self.crf(scores, words, temperature)
        return constrained(crf, self.tagset.follows, self.tagset.begins)

    def loss_of_expected(self, scores: Tensor, words: Layout, expected: ExpectedTags) -> Tensor:
        """Cross-entropy of all tag sequences with those of a teacher, () float32, summed.

        That is log Z − E[score]: structural knowledge distillation (Wang et al. 2021, eq. 4). Where
        the teacher is sure it is −log-likelihood.
        """
        crf = self.crf(scores, words)
        mean = expected_score(crf, words.pad(expected.words), expected.pairs)
        return (log_partition(crf) - mean).sum().float()


class SoftmaxHead(TokenHead):
    """A tag for each word, by itself (N-F1); B- and I- of a label share its class weight."""

    def loss(self, scores: Tensor, words: Layout, tags: Tensor) -> Tensor:  # noqa: ARG002
        """Cross-entropy."""
        losses = functional.cross_entropy(scores, tags, reduction="none")
        return _weighted_sum(losses, classes_of(tags), self.class_weights).float()

    def crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """Log-probabilities; all transitions are 0."""
        emissions = (scores / temperature).log_softmax(1)
        nothing = emissions.new_zeros(len(self.tagset), len(self.tagset))
        return _make_crf(emissions, words, transitions=nothing, starts=nothing[0])


class CseHead(TokenHead):
    """Class-Start-End (NEISS paper, section 4.1): K = 1 + L + 2.

    A word has a class (O or a label, without B- and I-), and by two sigmoids it begins a name or
    not, and ends one or not. The loss is the class's cross-entropy + both boundary losses (B-N5):
    ``bce``, |σ − y| or (σ − y)², where a start or end weighs ``boundary_weight`` times as much.
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
        """Cross-entropy of classes + losses of starts and of ends."""
        classes, starts, ends = self.parts(scores)
        gold = classes_of(tags)
        losses = functional.cross_entropy(classes, gold, reduction="none")
        total = _weighted_sum(losses, gold, self.class_weights)
        for logits, flags in ((starts, is_start(tags)), (ends, is_end(tags, words))):
            weights = torch.where(flags, self.boundary_weight, 1.0)
            total = total + (weights * self.boundary_loss(logits, flags.to(logits))).sum()
        return total.float()

    def parts(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(W, K) -> logits of classes (W, 1 + L), of starts (W,) and of ends (W,)."""
        return scores[:, :-2], scores[:, -2], scores[:, -1]

    def crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """A path scores Σ log p(class) + log p(start or not) + log p(end or not) of its words.

        A word of a name ends it unless an I- follows, which then stands for "not ended":
        log(1 − p) − log p of the word before, and that is − its logit. An I- without a name before
        it has no such meaning and is forbidden; one that changes the label is not.
        """
        classes, starts, ends = (words.pad(part) / temperature for part in self.parts(scores))
        log_classes = classes.log_softmax(2)  # (S, N, 1 + L)
        is_begun, not_begun = functional.logsigmoid(starts), functional.logsigmoid(-starts)
        is_ended, not_ended = functional.logsigmoid(ends), functional.logsigmoid(-ends)
        gone_on = functional.pad(-ends, (1, 0))[:, :-1]  # of the word before
        outside = log_classes[:, :, :1] + (not_begun + not_ended)[:, :, None]
        begin = log_classes[:, :, 1:] + (is_begun + is_ended)[:, :, None]
        inside = log_classes[:, :, 1:] + (not_begun + is_ended + gone_on)[:, :, None]
        names = torch.stack([begin, inside], 3).flatten(2)  # (S, N, 2 L): B-, I-, B-, I- ...
        transitions = names.new_zeros(len(self.tagset), len(self.tagset))
        transitions[OUTSIDE, 2::2] = FORBIDDEN
        return Crf(torch.cat([outside, names], 2), words.lengths, transitions, transitions[OUTSIDE])


class CrfHead(TokenHead):
    """A linear-chain CRF with learned transitions: LCRF and LCRF_NER (C.6)."""

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
        """−log-likelihood of the sentences."""
        crf = self.crf(scores, words)
        return (log_partition(crf) - score(crf, words.pad(tags))).sum().float()

    def crf(self, scores: Tensor, words: Layout, temperature: float = 1.0) -> Crf:
        """The scores, and the transitions as learned: what must not follow may be a penalty."""
        between, starts = self.transitions()
        return _make_crf(
            scores / temperature,
            words,
            transitions=between / temperature,
            starts=starts / temperature,
        )


def classes_of(tags: Tensor) -> Tensor:
    """Tags -> 0 for O, 1 + the id of the label; any shape."""
    return (tags + 1) // 2


def is_start(tags: Tensor) -> Tensor:
    """Whether a tag is a B-; any shape."""
    return tags % 2 == 1


def is_end(tags: Tensor, words: Layout) -> Tensor:
    """(W,) valid tags -> (W,) bool: whether a word is the last one of a name."""
    padded = words.pad(tags)  # (S, N), O beyond the length
    following = functional.pad(padded, (0, 1))[:, 1:]
    goes_on = (following != OUTSIDE) & ~is_start(following)
    return words.pack((padded != OUTSIDE) & ~goes_on)


def _make_crf(emissions: Tensor, words: Layout, *, transitions: Tensor, starts: Tensor) -> Crf:
    """Of emissions (W, C)."""
    return Crf(words.pad(emissions), words.lengths, transitions, starts)


def _weighted_sum(losses: Tensor, classes: Tensor, class_weights: Tensor | None) -> Tensor:
    """() sum of losses (W,); weighted, it is W times torch's weighted mean.

    So that the loss divided by the number of words is that of torch's ``cross_entropy``.
    """
    if class_weights is None:
        return losses.sum()
    weights = class_weights[classes]
    total = weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)
    return (weights * losses).sum() / total * len(losses)
