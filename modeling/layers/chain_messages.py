"""Forward–backward of linear chains: sums over all paths, and their gradients.

Both directions run at once, as two chains of one batch: words from the first to the last, and from
the last to the first. Sums of exponentials are matrix products, for which no exponential is taken
inside the loop; each step is scaled to a sum of 1 (Rabiner 1989, section V.A). In float64 that
covers tags which are e^250 times less likely than others; ``Potentials.is_scalable`` says whether
that is enough, and if not, the same sums are taken of logarithms, several times slower.

Shapes: S sentences, N words of the longest, C tags.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

FORBIDDEN: Final = -1e9
"""Log-potential of what must not be. Finite, so that no difference is NaN; float32 and bfloat16
have it; and no sum of other potentials outweighs it."""
_SPREAD: Final = 250.0  # a message spans at most twice as much: e^-500, and float64 ends at e^-708


class Messages(NamedTuple):
    """Log-sums over parts of paths, float64."""

    forward: Tensor
    """(S, N, C): of the words up to this one, which has the tag."""
    backward: Tensor
    """(S, N, C): of the words after this one, which has the tag."""
    log_partition: Tensor
    """(S,): of whole paths; 0 of an empty sentence, which has one."""


@dataclass(frozen=True, slots=True)
class Potentials:
    """A chain with its words in front, in float64, and nothing (0) beyond the lengths."""

    emissions: Tensor
    """(N, S, C)."""
    lengths: Tensor
    """(S,)."""
    transitions: Tensor
    """(C, C): from, to."""
    starts: Tensor
    """(C,)."""

    @classmethod
    def of(
        cls, emissions: Tensor, lengths: Tensor, *, transitions: Tensor, starts: Tensor
    ) -> "Potentials":
        """(S, N, C), (S,), (C, C), (C,), of any float type."""
        places = torch.arange(emissions.shape[1], device=emissions.device)
        stands = places[:, None] < lengths  # (N, S)
        words_first = emissions.transpose(0, 1).double().masked_fill(~stands[:, :, None], 0.0)
        return cls(words_first, lengths, transitions.double(), starts.double())

    @property
    def stands(self) -> Tensor:
        """(N, S) bool: whether the sentence has the word."""
        places = torch.arange(len(self.emissions), device=self.lengths.device)
        return places[:, None] < self.lengths

    @property
    def mirror(self) -> Tensor:
        """(N, S): the n-th word from the end of each sentence; 0 beyond the length."""
        places = torch.arange(len(self.emissions), device=self.lengths.device)
        return (self.lengths - 1 - places[:, None]).clamp(min=0)

    @torch.no_grad()
    def is_scalable(self) -> bool:
        """Whether no step parts tags by more than float64 can hold; False if one is no number.

        After two steps at most each tag is reached from each other (IOB2: O, B-, I-), so that what
        is forbidden does not count.
        """
        steps = torch.maximum(_spread(self.transitions.flatten()), _spread(self.starts))
        return bool(steps + _spread(self.emissions).max() <= _SPREAD)


def _spread(x: Tensor) -> Tensor:
    """(..., C) -> (...): highest − lowest, what is forbidden left out."""
    highest = x.amax(-1)
    allowed = torch.where(x > FORBIDDEN / 2, x, highest[..., None])
    return highest - allowed.amin(-1)


def mirrored(x: Tensor, mirror: Tensor) -> Tensor:
    """(N, S, C): the words of each sentence in the reverse order."""
    return x.gather(0, mirror[:, :, None].expand_as(x))


def at_ends(x: Tensor, lengths: Tensor) -> Tensor:
    """(N, S) -> (S,): what stands at the last word of each sentence; 0 where there is none."""
    last = x.gather(0, (lengths - 1).clamp(min=0)[None])[0]
    return last.masked_fill(lengths == 0, 0.0)


class _Scaled(NamedTuple):
    """Messages, each word's scaled by a number of its own."""

    forward: Tensor
    """(N, S, C), sum 1 for each word."""
    backward: Tensor
    """(N, S, C), the word's own emission left out."""
    entering: Tensor
    """(N, S, C), sum 1: the same with the word's own emission."""
    overlap: Tensor
    """(N, S): sum of forward · backward, what scales their product to probabilities."""
    log_sums: Tensor
    """(N, S): log-sum of all paths up to the word."""
    weights: Tensor
    """(C, C): exp(transitions), the highest 1."""


def _scaled(potentials: Potentials) -> _Scaled:
    emissions, transitions, starts = (
        potentials.emissions,
        potentials.transitions,
        potentials.starts,
    )
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
    """Walk along two chains (N, 2, S, C) with weights (2, C, C); ``first`` (C,) is of the one.

    Returns the messages without and with the factors of their word, the latter with the sum 1, and
    the sums (N, 2, S) that they were divided by.
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
    """(N, S, C), (C, C), (C,) -> (N, S, C): forward messages; differentiable."""
    message = emissions[0] + starts
    messages = [message]
    for emission in emissions[1:].unbind():
        message = (message[:, :, None] + transitions).logsumexp(1) + emission
        messages.append(message)
    return torch.stack(messages)


class LogPartition(torch.autograd.Function):
    """(S, N, C), (S,), (C, C), (C,) -> (S,): ``log_partition`` of chains that can be scaled.

    The gradient is marginals: of words for emissions, of pairs of words for transitions.
    """

    @staticmethod
    def forward(  # noqa: PLR0917 - as torch calls it
        ctx: Any, emissions: Tensor, lengths: Tensor, transitions: Tensor, starts: Tensor
    ) -> Tensor:
        """In float64, whatever the type of the potentials."""
        potentials = Potentials.of(emissions, lengths, transitions=transitions, starts=starts)
        scaled = _scaled(potentials)
        ctx.save_for_backward(
            potentials.stands, scaled.forward, scaled.backward, scaled.entering,
            scaled.overlap, scaled.weights,
        )  # fmt: skip
        return at_ends(scaled.log_sums, lengths)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Marginals, each times the gradient (S,) of its sentence; autograd casts them."""
        stands, forward, backward, entering, overlap, weights = ctx.saved_tensors
        shares = torch.where(stands, gradient.double() / overlap, 0.0)  # (N, S)
        weighted = forward * shares[:, :, None]
        of_words = weighted * backward
        leaving = (weighted[:-1] * stands[1:, :, None]).flatten(0, 1)  # ((N − 1) · S, C)
        of_pairs = weights * (leaving.T @ entering[1:].flatten(0, 1))
        return of_words.transpose(0, 1), None, of_pairs, of_words[0].sum(0)


def log_partition_of_logs(potentials: Potentials) -> Tensor:
    """(S,), of any potentials; slower than ``LogPartition``, and differentiable by autograd."""
    messages = _log_walk(potentials.emissions, potentials.transitions, potentials.starts)
    return at_ends(messages.logsumexp(2), potentials.lengths)


@torch.no_grad()
def messages(potentials: Potentials) -> Messages:
    """Of all words; what stands beyond the lengths has no meaning."""
    if not potentials.is_scalable():
        return messages_of_logs(potentials)
    scaled = _scaled(potentials)
    log_partition = at_ends(scaled.log_sums, potentials.lengths)
    forward = scaled.forward.log() + scaled.log_sums[:, :, None]
    # At each word all paths together, forward · backward, are the partition: so it is scaled.
    rest = log_partition - scaled.log_sums - scaled.overlap.log()  # (N, S)
    backward = scaled.backward.log() + rest[:, :, None]
    return Messages(forward.transpose(0, 1), backward.transpose(0, 1), log_partition)


def messages_of_logs(potentials: Potentials) -> Messages:
    """``messages`` of any potentials, several times slower."""
    emissions, mirror = potentials.emissions, potentials.mirror
    forward = _log_walk(emissions, potentials.transitions, potentials.starts)
    nothing = torch.zeros_like(potentials.starts)
    back = _log_walk(mirrored(emissions, mirror), potentials.transitions.T, nothing)
    backward = mirrored(back, mirror) - emissions
    log_partition = at_ends(forward.logsumexp(2), potentials.lengths)
    return Messages(forward.transpose(0, 1), backward.transpose(0, 1), log_partition)
