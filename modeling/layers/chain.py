"""Linear chains: a tag for each word, and what two neighbours have to do with each other.

A path is a tag for each word of a sentence; it scores starts[first tag] + the emissions of its
tags + the transitions between them. Its probability is exp(score) over the sum of all paths'
(Lafferty et al. 2001). All functions take sentences of different lengths, 0 among them, and ignore
what stands beyond; sums are float64, as a sentence's score loses digits otherwise.

Shapes: S sentences, N words of the longest, C tags, P spans.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from modeling.layers.chain_messages import (
    FORBIDDEN,
    LogPartition,
    Potentials,
    log_partition_of_logs,
    messages,
)

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Chain:
    """Log-potentials of a linear chain; of one device."""

    emissions: Tensor
    """(S, N, C) float."""
    lengths: Tensor
    """(S,) int64, of 0 to N words."""
    transitions: Tensor
    """(C, C) float: from, to."""
    starts: Tensor
    """(C,) float, of the first word's tag."""

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for shapes that do not fit."""
        n_sentences, _, n_tags = self.emissions.shape
        shapes = [tuple(x.shape) for x in (self.lengths, self.transitions, self.starts)]
        if shapes != [(n_sentences,), (n_tags, n_tags), (n_tags,)]:
            raise ValueError(
                f"Emissions {tuple(self.emissions.shape)} of a chain need {n_sentences} lengths, "
                f"{n_tags} x {n_tags} transitions and {n_tags} starts, not {shapes}."
            )

    @property
    def stands(self) -> Tensor:
        """(S, N) bool: whether the sentence has the word."""
        places = torch.arange(self.emissions.shape[1], device=self.lengths.device)
        return places < self.lengths[:, None]

    @property
    def potentials(self) -> Potentials:
        """As the sums take them."""
        return Potentials.of(
            self.emissions, self.lengths, transitions=self.transitions, starts=self.starts
        )


def constrained(chain: Chain, follows: Flags, begins: Flags) -> Chain:
    """The chain without the paths in which a tag follows (C, C), or begins (C,), that must not.

    Its other paths score what they did, so that its sums and probabilities are of them alone.
    """
    may_follow = torch.as_tensor(follows, device=chain.transitions.device)
    may_begin = torch.as_tensor(begins, device=chain.starts.device)
    return replace(
        chain,
        transitions=chain.transitions.masked_fill(~may_follow, FORBIDDEN),
        starts=chain.starts.masked_fill(~may_begin, FORBIDDEN),
    )


def score(chain: Chain, tags: Tensor) -> Tensor:
    """(S, N) -> (S,) float64: the score of one path for each sentence."""
    emissions, n_tags = chain.emissions, len(chain.starts)
    if not emissions.shape[1]:
        return emissions.double().sum((1, 2))
    stands = chain.stands
    tags = tags.masked_fill(~stands, 0)
    of_words = emissions.gather(2, tags[:, :, None])[:, :, 0].double()
    of_starts = chain.starts[tags[:, 0]].double().masked_fill(~stands[:, 0], 0.0)
    # Counts, and one product: its gradient scatters nothing.
    pairs = tags[:, :-1] * n_tags + tags[:, 1:]
    counts = of_words.new_zeros(len(tags), n_tags * n_tags)
    counts = counts.scatter_add(1, pairs, stands[:, 1:].double())
    of_pairs = counts @ chain.transitions.double().flatten()
    return of_words.masked_fill(~stands, 0.0).sum(1) + of_starts + of_pairs


def log_partition(chain: Chain) -> Tensor:
    """(S,) float64: the logarithm of the sum of exp(score) over all paths.

    Its gradient, that can be taken once, is marginals.
    """
    if not chain.emissions.shape[1]:
        return chain.emissions.double().sum((1, 2))
    potentials = chain.potentials
    if not potentials.is_scalable():
        return log_partition_of_logs(potentials)
    return LogPartition.apply(  # type: ignore[no-any-return, no-untyped-call]
        chain.emissions, chain.lengths, chain.transitions, chain.starts
    )


@torch.no_grad()
def viterbi(chain: Chain) -> Tensor:
    """(S, N) int64: the path with the highest score; 0 beyond the length.

    No step back is kept: it is found anew, of the one tag that the path goes on with.
    """
    n_tags = len(chain.starts)
    best = _best_scores(chain)
    transitions = chain.transitions.double()
    leading = torch.cat([transitions, transitions.new_zeros(n_tags, 1)], 1)
    end = torch.full_like(chain.lengths, n_tags)  # what follows the last word
    path, tag = [end], end
    for scores, is_word in zip(reversed(best.unbind()), reversed(chain.stands.T), strict=True):
        found = (scores + leading.index_select(1, tag)).argmax(0)
        tag = torch.where(is_word, found, end)
        path.append(tag)
    tags = torch.stack(path[:0:-1] or path, 1)[:, : len(best)]
    return tags.masked_fill(tags == n_tags, 0)


def _best_scores(chain: Chain) -> Tensor:
    """(N, C, S) float64: the highest score of a path up to each word that ends with the tag.

    Sentences stand last, as a maximum over the first dimension is several times faster.
    """
    emissions = chain.emissions.permute(1, 2, 0)
    best = emissions.new_empty(emissions.shape, dtype=torch.float64).copy_(emissions)
    if not len(best):
        return best
    transitions = chain.transitions.double()[:, :, None]
    best[0] += chain.starts.double()[:, None]
    sums = best.new_empty(*transitions.shape[:2], best.shape[2])  # (C, C, S): from, to
    highest = torch.empty_like(best[0])
    for before, now in itertools.pairwise(best.unbind()):
        torch.add(before[:, None], transitions, out=sums)
        now.add_(torch.amax(sums, 0, out=highest))
    return best


def word_log_marginals(chain: Chain) -> Tensor:
    """(S, N, C) float64: log-probability that a word has a tag; −inf beyond the length."""
    if not chain.emissions.shape[1]:
        return chain.emissions.detach().double()
    found = messages(chain.potentials)
    marginals = found.forward + found.backward - found.log_partition[:, None, None]
    return marginals.masked_fill(~chain.stands[:, :, None], -torch.inf)


@torch.no_grad()
def span_log_probabilities(
    chain: Chain, *, sentences: Tensor, starts: Tensor, ends: Tensor, labels: Tensor
) -> Tensor:
    """Log-probability of each span: of all paths in which it stands exactly so.

    That is B- of its label (P,) from 0 at word ``starts`` (P,), I- of it up to ``ends`` (P,), and
    there something else or the end of the sentence. Tags are those of ``modeling/data/tagset.py``.
    (P,) float64; each span must lie in its sentence and have a word.
    """
    if not len(starts):
        return chain.emissions.new_zeros(0, dtype=torch.float64)
    transitions = chain.transitions.double()
    found = messages(chain.potentials)
    begin, inside = 1 + 2 * labels, 2 + 2 * labels
    is_long = ends - starts > 1
    # From the second word on, I- after I-: sums of those up to a word, one less the other.
    emissions = chain.emissions[:, :, 2::2].double()
    stays = (emissions + transitions.diagonal()[2::2]).cumsum(1)  # (S, N, L)
    rest = stays[sentences, ends - 1, labels] - stays[sentences, starts, labels]
    opens = transitions[begin, inside] - transitions[inside, inside]
    within = rest + opens.masked_fill(~is_long, 0.0)
    last = torch.where(is_long, inside, begin)
    after = transitions[last] + _entering(chain, found.backward, sentences=sentences, ends=ends)
    after = after.scatter(1, inside[:, None], -torch.inf).logsumexp(1)
    closes = torch.where(ends == chain.lengths[sentences], 0.0, after)
    before = found.forward[sentences, starts, begin]
    return before + within + closes - found.log_partition[sentences]


def _entering(chain: Chain, backward: Tensor, *, sentences: Tensor, ends: Tensor) -> Tensor:
    """(P, C): log-sum of all that follows a span, by the tag of the word after it."""
    next = ends.clamp(max=chain.emissions.shape[1] - 1)
    return chain.emissions[sentences, next].double() + backward[sentences, next]
