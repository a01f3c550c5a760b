"""Linear-chain CRFs over tags: scores, sums over all paths, the best path, and probabilities.

A path is a tag for each word of a sentence. Its score is starts[first tag] + the emissions of its
tags + the transitions between them; its probability is exp(score), divided by the sum of exp(score)
over all paths (Lafferty et al. 2001). All functions take sentences of different lengths, also 0,
and ignore values beyond the length. Sums are float64, because the score of a sentence would lose
digits otherwise.

Forward and backward messages are computed at once, as two chains of one batch. Sums of exponentials
are matrix products, with no exponential inside the loop; each step is scaled to a sum of 1 (Rabiner
1989, section V.A). In float64 this works for tags that are up to e^250 times less likely than
others. ``Potentials.is_scalable`` tells whether that is enough; if not, the same sums are computed
in logarithms, which is several times slower.

Shapes: S sentences, N words of the longest, C tags, P spans.
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from modeling.layers.compilation import AutogradContext

Flags = NDArray[np.bool_]
CrfInit = Literal["off", "on", "neiss"]

_DEVIATION: Final = 0.02
_LIMIT: Final = 0.05  # as in Keras
_PENALTY: Final = 10.0


class Transitions(nn.Module):
    """Free transitions, T = W: LCRF of the NEISS paper, without tags for [CLS], [SEP]."""

    def __init__(self, n_tags: int) -> None:
        super().__init__()
        self.between = nn.Parameter(torch.randn(n_tags, n_tags) * _DEVIATION)
        self.starts = nn.Parameter(torch.randn(n_tags) * _DEVIATION)

    def forward(self) -> tuple[Tensor, Tensor]:
        """Return the transitions (C, C), from and to, and the scores (C,) of the first tag."""
        return self.between, self.starts


class RuledTransitions(nn.Module):
    """Transitions T = (A + ω_f F) ⊙ W − ω_a F: LCRF_NER (NEISS paper, eq. 7); starts likewise.

    A is 1 where a tag may follow another; F = 1 − A is 1 where it must not. W, ω_f and ω_a are
    learned, and ω_a may become negative. ``init`` is ``off``: ω_f = 1 and ω_a = 0 at first, which
    equals ``Transitions``; ``on``: ω_f = 1 and ω_a = 10; or ``neiss``: W, ω_f and ω_a are drawn
    from U(−0.05, 0.05), as in the published code.
    """

    def __init__(self, *, follows: Flags, begins: Flags, init: CrfInit) -> None:
        super().__init__()
        self.may_follow: Tensor
        self.may_begin: Tensor
        for name, flags in (("may_follow", follows), ("may_begin", begins)):
            self.register_buffer(name, torch.tensor(flags), persistent=False)
        free = Transitions(len(begins))
        self.between, self.starts = free.between, free.starts
        self.factor = nn.Parameter(torch.tensor(1.0))
        self.penalty = nn.Parameter(torch.tensor(_PENALTY if init == "on" else 0.0))
        if init == "neiss":
            for parameter in self.parameters():
                nn.init.uniform_(parameter, -_LIMIT, _LIMIT)

    def forward(self) -> tuple[Tensor, Tensor]:
        """Return the transitions (C, C), from and to, and the scores (C,) of the first tag."""
        return self._ruled(self.between, self.may_follow), self._ruled(self.starts, self.may_begin)

    def _ruled(self, weights: Tensor, allowed: Tensor) -> Tensor:
        return torch.where(allowed, weights, self.factor * weights - self.penalty)


FORBIDDEN: Final = -1e9
"""The log-potential of forbidden transitions and first tags. It is finite, so that no difference is
NaN, within the range of float32 and bfloat16, and outweighs any sum of other potentials."""
_SPREAD: Final = 250.0  # messages span at most twice as much, e^-500; float64 reaches e^-708


class Messages(NamedTuple):
    """The log-sums over parts of paths, in float64."""

    forward: Tensor
    """(S, N, C): over the words up to and including this word, which has the tag."""
    backward: Tensor
    """(S, N, C): over the words after this word, which has the tag."""
    log_partition: Tensor
    """(S,): over whole paths; 0 for an empty sentence, which has one path."""


class Potentials(NamedTuple):
    """A CRF in float64, with words as the first dimension and emissions of 0 beyond the lengths."""

    emissions: Tensor
    """(N, S, C)."""
    lengths: Tensor
    """(S,) the number of words of each sentence."""
    transitions: Tensor
    """(C, C): from, to."""
    starts: Tensor
    """(C,) the scores of the first word's tag."""

    @property
    def stands(self) -> Tensor:
        """(N, S) bool: whether the sentence has a word at this index."""
        places = torch.arange(len(self.emissions), device=self.lengths.device)
        return places[:, None] < self.lengths

    @property
    def mirror(self) -> Tensor:
        """(N, S): the index of the n-th word from the end of each sentence; 0 beyond the length."""
        places = torch.arange(len(self.emissions), device=self.lengths.device)
        return (self.lengths - 1 - places[:, None]).clamp(min=0)

    @torch.no_grad()
    def is_scalable(self) -> bool:
        """Tell whether scaled float64 messages can hold all tags of a word; False for NaN.

        They can if the potentials of one word and one transition differ by at most ``_SPREAD``
        between tags. Forbidden transitions do not count, because each tag is reached from each
        other one by two transitions at most (IOB2: O, B-, I-).
        """
        steps = torch.maximum(_spread(self.transitions.flatten()), _spread(self.starts))
        return bool(steps + _spread(self.emissions).max() <= _SPREAD)


def _spread(x: Tensor) -> Tensor:
    """Compute highest − lowest, without forbidden values: (..., C) -> (...)."""
    highest = x.amax(-1)
    allowed = torch.where(x > FORBIDDEN / 2, x, highest[..., None])
    return highest - allowed.amin(-1)


def mirrored(x: Tensor, mirror: Tensor) -> Tensor:
    """Reverse the order of the words of each sentence: (N, S, C) -> (N, S, C)."""
    return x.gather(0, mirror[:, :, None].expand_as(x))


def at_ends(x: Tensor, lengths: Tensor) -> Tensor:
    """Select the value at the last word of each sentence, 0 if it is empty: (N, S) -> (S,)."""
    last = x.gather(0, (lengths - 1).clamp(min=0)[None])[0]
    return last.masked_fill(lengths == 0, 0.0)


class _Scaled(NamedTuple):
    """The messages of a CRF, scaled by a different factor for each word."""

    forward: Tensor
    """(N, S, C): forward messages; the sum is 1 for each word."""
    backward: Tensor
    """(N, S, C): backward messages, without the word's own emission."""
    entering: Tensor
    """(N, S, C): backward messages with the word's own emission; the sum is 1 for each word."""
    overlap: Tensor
    """(N, S): the sum of forward · backward, by which the product becomes probabilities."""
    log_sums: Tensor
    """(N, S): the log-sum over all paths up to the word."""
    weights: Tensor
    """(C, C): exp(transitions), scaled so that the highest is 1."""


def _scaled(potentials: Potentials) -> _Scaled:
    emissions, _, transitions, starts = potentials
    peaks = emissions.amax(2)  # (N, S)
    factors = (emissions - peaks[:, :, None]).exp_()
    mirror = potentials.mirror
    both = torch.stack([factors, mirrored(factors, mirror)], 1)  # (N, 2, S, C)
    weights = (transitions - transitions.max()).exp()
    before, after, sums = _walk(
        both, torch.stack([weights, weights.T]), first=(starts - starts.max()).exp()
    )
    logs = sums[:, 0].log() + peaks  # (N, S)
    logs[0] += starts.max()
    logs[1:] += transitions.max()
    backward = mirrored(before[:, 1], mirror)
    forward = after[:, 0]
    return _Scaled(
        forward=forward,
        backward=backward,
        entering=mirrored(after[:, 1], mirror),
        overlap=torch.linalg.vecdot(forward, backward),
        log_sums=logs.cumsum(0),
        weights=weights,
    )


def _walk(factors: Tensor, weights: Tensor, *, first: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pass messages along two chains with factors (N, 2, S, C) and weights (2, C, C).

    ``first`` (C,) is the message that enters the first chain; 1 enters the second. Returns the
    messages without and with the factors of their word, the latter scaled to the sum 1, and the
    sums (N, 2, S) that they were divided by.
    """
    before, after = torch.ones_like(factors), torch.empty_like(factors)
    sums = factors.new_empty((*factors.shape[:3], 1))
    before[0, 0] = first
    message = weights.new_empty(0)
    steps = zip(before.unbind(), after.unbind(), factors.unbind(), sums.unbind(), strict=True)
    for n, (arriving, leaving, factor, sum) in enumerate(steps):
        if n:
            torch.bmm(message, weights, out=arriving)
        torch.mul(arriving, factor, out=leaving)
        torch.sum(leaving, 2, keepdim=True, out=sum)
        message = leaving.div_(sum)
    return before, after, sums[..., 0]


def _log_walk(emissions: Tensor, transitions: Tensor, starts: Tensor) -> Tensor:
    """Compute forward messages in logarithms: (N, S, C), (C, C), (C,) -> (N, S, C).

    Autograd can differentiate this.
    """
    message = emissions[0] + starts
    messages = [message]
    for emission in emissions[1:].unbind():
        message = (message[:, :, None] + transitions).logsumexp(1) + emission
        messages.append(message)
    return torch.stack(messages)


class LogPartition(torch.autograd.Function):
    """``log_partition`` of CRFs that can be scaled: ``Potentials`` -> (S,).

    The gradients are marginals: of words for emissions, of pairs of words for transitions.
    """

    @staticmethod
    def forward(ctx: AutogradContext, *inputs: Tensor) -> Tensor:
        """Compute log Z of each sentence, (S,), in float64."""
        potentials = Potentials(*inputs)
        scaled = _scaled(potentials)
        ctx.save_for_backward(potentials.stands, *scaled)
        return at_ends(scaled.log_sums, potentials.lengths)

    @staticmethod
    @once_differentiable
    def backward(ctx: AutogradContext, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the marginals, each times the gradient (S,) of its sentence."""
        stands, forward, backward, entering, overlap, _, weights = ctx.saved_tensors
        factors = torch.where(stands, gradients[0].double() / overlap, 0.0)  # (N, S)
        weighted = forward * factors[:, :, None]
        of_words = weighted * backward
        leaving = (weighted[:-1] * stands[1:, :, None]).flatten(0, 1)  # ((N − 1) · S, C)
        of_pairs = weights * (leaving.T @ entering[1:].flatten(0, 1))
        return of_words, None, of_pairs, of_words[0].sum(0)


def log_partition_of_logs(potentials: Potentials) -> Tensor:
    """Compute ``log_partition`` (S,) of any potentials; slower than ``LogPartition``.

    Autograd can differentiate this.
    """
    messages = _log_walk(potentials.emissions, potentials.transitions, potentials.starts)
    return at_ends(messages.logsumexp(2), potentials.lengths)


@torch.no_grad()
def messages(potentials: Potentials) -> Messages:
    """Compute the messages of all words; values beyond the lengths have no meaning."""
    if not potentials.is_scalable():
        return messages_of_logs(potentials)
    scaled = _scaled(potentials)
    log_partition = at_ends(scaled.log_sums, potentials.lengths)
    forward = scaled.forward.log() + scaled.log_sums[:, :, None]
    # At each word, Σ forward · backward must equal the partition, which gives backward's scale.
    rest = log_partition - scaled.log_sums - scaled.overlap.log()  # (N, S)
    backward = scaled.backward.log() + rest[:, :, None]
    return Messages(forward.transpose(0, 1), backward.transpose(0, 1), log_partition)


def messages_of_logs(potentials: Potentials) -> Messages:
    """Compute ``messages`` of any potentials; several times slower."""
    emissions, mirror = potentials.emissions, potentials.mirror
    forward = _log_walk(emissions, potentials.transitions, potentials.starts)
    nothing = torch.zeros_like(potentials.starts)
    back = _log_walk(mirrored(emissions, mirror), potentials.transitions.T, nothing)
    backward = mirrored(back, mirror) - emissions
    log_partition = at_ends(forward.logsumexp(2), potentials.lengths)
    return Messages(forward.transpose(0, 1), backward.transpose(0, 1), log_partition)


@dataclass(frozen=True)
class Crf:
    """The log-potentials of a linear chain; all tensors are on one device."""

    emissions: Tensor
    """(S, N, C) float."""
    lengths: Tensor
    """(S,) int64: the number of words of each sentence, from 0 to N."""
    transitions: Tensor
    """(C, C) float: from, to."""
    starts: Tensor
    """(C,) float: the scores of the first word's tag."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for shapes that do not fit."""
        n_sentences, _, n_tags = self.emissions.shape
        shapes = [tuple(x.shape) for x in (self.lengths, self.transitions, self.starts)]
        if shapes != [(n_sentences,), (n_tags, n_tags), (n_tags,)]:
            raise ValueError(
                f"Emissions {tuple(self.emissions.shape)} of a CRF need {n_sentences} lengths, "
                f"{n_tags} x {n_tags} transitions and {n_tags} starts, not {shapes}."
            )

    @property
    def stands(self) -> Tensor:
        """(S, N) bool: whether the sentence has a word at this index."""
        places = torch.arange(self.emissions.shape[1], device=self.lengths.device)
        return places < self.lengths[:, None]

    @property
    def potentials(self) -> Potentials:
        """The same log-potentials in the form that the sums over paths take."""
        emissions = self.emissions.transpose(0, 1).double()
        emissions = emissions.masked_fill(~self.stands.T[:, :, None], 0.0)
        return Potentials(emissions, self.lengths, self.transitions.double(), self.starts.double())

    @cached_property
    def messages(self) -> Messages:
        """The messages of all words, computed once for all that is asked of the CRF."""
        return messages(self.potentials)


def constrained(crf: Crf, follows: Flags, begins: Flags) -> Crf:
    """Return the CRF without the paths that have a forbidden transition or first tag.

    ``follows`` (C, C) says whether the second tag may follow the first, ``begins`` (C,) whether a
    tag may be the first. The scores of all other paths stay the same; so sums and probabilities of
    the CRF are over these paths alone.
    """
    may_follow = torch.as_tensor(follows, device=crf.transitions.device)
    may_begin = torch.as_tensor(begins, device=crf.starts.device)
    return replace(
        crf,
        transitions=crf.transitions.masked_fill(~may_follow, FORBIDDEN),
        starts=crf.starts.masked_fill(~may_begin, FORBIDDEN),
    )


def score(crf: Crf, tags: Tensor) -> Tensor:
    """Compute the score of one path for each sentence: tags (S, N) -> (S,) float64."""
    emissions, n_tags = crf.emissions, len(crf.starts)
    if not emissions.shape[1]:
        return emissions.double().sum((1, 2))
    stands = crf.stands
    tags = tags.masked_fill(~stands, 0)
    of_words = emissions.gather(2, tags[:, :, None])[:, :, 0].double()
    of_starts = crf.starts[tags[:, 0]].double().masked_fill(~stands[:, 0], 0.0)
    # Pairs are counted, then multiplied by transitions once, so the gradient needs no scatter.
    pairs = tags[:, :-1] * n_tags + tags[:, 1:]
    counts = of_words.new_zeros(len(tags), n_tags * n_tags)
    counts = counts.scatter_add(1, pairs, stands[:, 1:].double())
    of_pairs = counts @ crf.transitions.double().flatten()
    return of_words.masked_fill(~stands, 0.0).sum(1) + of_starts + of_pairs


def expected_score(crf: Crf, words: Tensor, pairs: Tensor) -> Tensor:
    """Compute the mean score (S,) float64 of paths that are drawn from another distribution.

    The score is a sum over words and over pairs of neighbours, so only these marginals of the
    distribution are needed (Wang et al. 2021, section 3.1). ``words`` (S, N, C): how likely each
    word has each tag; it has no meaning beyond the length. ``pairs`` (S, C, C): how often, on
    average, the second tag follows the first.
    """
    if not crf.emissions.shape[1]:
        return crf.emissions.double().sum((1, 2))
    words = words.double().masked_fill(~crf.stands[:, :, None], 0.0)
    emissions = crf.emissions.double().masked_fill(~crf.stands[:, :, None], 0.0)
    of_words = (emissions * words).sum((1, 2)) + words[:, 0] @ crf.starts.double()
    return of_words + pairs.double().flatten(1) @ crf.transitions.double().flatten()


def log_partition(crf: Crf) -> Tensor:
    """Compute the logarithm of the sum of exp(score) over all paths, (S,) float64.

    The gradients are marginals; there is no second derivative.
    """
    if not crf.emissions.shape[1]:
        return crf.emissions.double().sum((1, 2))
    potentials = crf.potentials
    if not potentials.is_scalable():
        return log_partition_of_logs(potentials)
    return LogPartition.apply(*potentials)  # type: ignore[no-any-return, no-untyped-call]


@torch.no_grad()
def viterbi(crf: Crf) -> Tensor:
    """Find the path with the highest score, (S, N) int64; 0 beyond the length.

    No back-pointers are kept: on the way back, the best previous tag is computed again, only for
    the tag that is on the path.
    """
    n_tags = len(crf.starts)
    best = _best_scores(crf)
    transitions = crf.transitions.double()
    leading = torch.cat([transitions, transitions.new_zeros(n_tags, 1)], 1)
    end = torch.full_like(crf.lengths, n_tags)  # a virtual tag after the last word
    path, tag = [end], end
    for scores, is_word in zip(reversed(best.unbind()), reversed(crf.stands.T), strict=True):
        found = (scores + leading.index_select(1, tag)).argmax(0)
        tag = torch.where(is_word, found, end)
        path.append(tag)
    tags = torch.stack(path[:0:-1] or path, 1)[:, : len(best)]
    return tags.masked_fill(tags == n_tags, 0)


def _best_scores(crf: Crf) -> Tensor:
    """Compute the highest score of a path that ends at each word with each tag, (N, C, S) float64.

    Sentences are the last dimension, as a maximum over the first dimension is several times faster.
    """
    emissions = crf.emissions.permute(1, 2, 0)
    best = emissions.new_empty(emissions.shape, dtype=torch.float64).copy_(emissions)
    if not len(best):
        return best
    transitions = crf.transitions.double()[:, :, None]
    best[0] += crf.starts.double()[:, None]
    sums = best.new_empty(*transitions.shape[:2], best.shape[2])  # (C, C, S): from, to
    highest = torch.empty_like(best[0])
    for before, now in itertools.pairwise(best.unbind()):
        torch.add(before[:, None], transitions, out=sums)
        now.add_(torch.amax(sums, 0, out=highest))
    return best


def word_log_marginals(crf: Crf) -> Tensor:
    """Compute log-probabilities of tags of words, (S, N, C) float64; −inf beyond the length."""
    if not crf.emissions.shape[1]:
        return crf.emissions.detach().double()
    found = crf.messages
    marginals = found.forward + found.backward - found.log_partition[:, None, None]
    return marginals.masked_fill(~crf.stands[:, :, None], -torch.inf)


@torch.no_grad()
def pair_counts(crf: Crf) -> Tensor:
    """Compute how often, on average over all paths, a tag follows another: (S, C, C) float64."""
    n_tags = len(crf.starts)
    if crf.emissions.shape[1] < 2:
        return crf.emissions.new_zeros(len(crf.lengths), n_tags, n_tags, dtype=torch.float64)
    found = crf.messages
    after = crf.emissions.double() + found.backward - found.log_partition[:, None, None]
    logs = found.forward[:, :-1, :, None] + crf.transitions.double() + after[:, 1:, None]
    return logs.exp().masked_fill(~crf.stands[:, 1:, None, None], 0.0).sum(1)


@torch.no_grad()
def span_log_probabilities(
    crf: Crf, *, sentences: Tensor, starts: Tensor, ends: Tensor, labels: Tensor
) -> Tensor:
    """Compute the log-probability of each span: of all paths with exactly this span, (P,) float64.

    Such a path has B- of the label (P,), an id from 0, at word ``starts`` (P,), then I- of the
    label up to ``ends`` (P,), exclusive. At ``ends`` it has another tag, or the sentence ends. Tags
    are those of ``modeling/data/tagset.py``. Each span must lie in its sentence, given by
    ``sentences`` (P,), and have at least one word.
    """
    if not len(starts):
        return crf.emissions.new_zeros(0, dtype=torch.float64)
    transitions = crf.transitions.double()
    found = crf.messages
    begin, inside = 1 + 2 * labels, 2 + 2 * labels
    is_long = ends - starts > 1
    # The words from the second on are summed as if each were an I- after an I-, by differences of
    # cumulative sums. ``opens`` corrects the second word, which follows a B-.
    emissions = crf.emissions[:, :, 2::2].double()
    stays = (emissions + transitions.diagonal()[2::2]).cumsum(1)  # (S, N, L)
    rest = stays[sentences, ends - 1, labels] - stays[sentences, starts, labels]
    opens = transitions[begin, inside] - transitions[inside, inside]
    within = rest + opens.masked_fill(~is_long, 0.0)
    last = torch.where(is_long, inside, begin)
    after = transitions[last] + _entering(crf, found.backward, sentences=sentences, ends=ends)
    after = after.scatter(1, inside[:, None], -torch.inf).logsumexp(1)
    closes = torch.where(ends == crf.lengths[sentences], 0.0, after)
    before = found.forward[sentences, starts, begin]
    return before + within + closes - found.log_partition[sentences]


def _entering(crf: Crf, backward: Tensor, *, sentences: Tensor, ends: Tensor) -> Tensor:
    """Compute the log-sum of all that follows a span, by the tag of the next word: (P, C)."""
    next = ends.clamp(max=crf.emissions.shape[1] - 1)
    return crf.emissions[sentences, next].double() + backward[sentences, next]
