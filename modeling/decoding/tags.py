"""Spans and probabilities from the scores of words.

Whatever the decoder, probabilities are those of the chain without invalid paths: of a span, that it
stands exactly so; of a word, that it has the label. A temperature changes them, and no tag.

Shapes: W words of S sentences together, N words of the longest, K scores, C tags, L labels,
P spans.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from modeling.data.batch import Layout
from modeling.data.predictions import PredictedSpan, Prediction
from modeling.data.tagset import OUTSIDE, Codes, TagSet
from modeling.decoding.class_start_end import ClassStartEnd, class_start_end
from modeling.decoding.entity_fix import entity_fix
from modeling.heads.tagging import CseHead, TokenHead
from modeling.layers.chain import (
    Chain,
    constrained,
    span_log_probabilities,
    viterbi,
    word_log_marginals,
)


class _Spans(NamedTuple):
    """P spans, sentence by sentence and word by word."""

    sentences: Codes
    starts: Codes
    ends: Codes
    """After the last word."""
    labels: Codes


@torch.no_grad()
def decode(
    head: TokenHead,
    scores: Tensor,
    words: Layout,
    *,
    decoder: str,
    tagset: TagSet,
    temperature: float = 1.0,
) -> list[Prediction]:
    """(W, K) -> the spans of each sentence, disjoint and in order.

    ``free``: the best path of the chain as it is, of whose tags strict spans are read, so that an
    I- which goes on with nothing is in none. ``fix``: the same, repaired by ``entity_fix``.
    ``viterbi``: the best valid path. ``cse``: ``class_start_end``, of such a head only.
    ``ValueError`` for any other.
    """
    spans = _read_spans(_decode(head, scores, words, decoder=decoder, tagset=tagset))
    chain = _valid_chain(head, scores, words, tagset=tagset, temperature=temperature)
    return _predictions(
        spans, _probabilities(chain, spans), words.n_sequences, labels=tagset.labels
    )


@torch.no_grad()
def decode_tags(
    head: TokenHead, scores: Tensor, words: Layout, *, decoder: str, tagset: TagSet
) -> list[tuple[str, ...]]:
    """(W, K) -> the tags of each sentence as decoded: those of ``free`` may be invalid."""
    codes = _decode(head, scores, words, decoder=decoder, tagset=tagset)
    lengths = torch.bincount(words.sequences, minlength=words.n_sequences).tolist()
    return [tagset.decode(row[:n]) for row, n in zip(codes.tolist(), lengths, strict=True)]


def _decode(
    head: TokenHead, scores: Tensor, words: Layout, *, decoder: str, tagset: TagSet
) -> Codes:
    """(S, N)."""
    if decoder == "cse":
        return _class_start_end(head, scores, words)
    if decoder == "viterbi":
        return viterbi(_valid_chain(head, scores, words, tagset=tagset)).cpu().numpy()
    if decoder in {"free", "fix"}:
        tags: Codes = viterbi(head.chain(scores, words)).cpu().numpy()
        return entity_fix(tags) if decoder == "fix" else tags
    raise ValueError(f"{decoder!r} does not decode tags: take viterbi, free, fix or cse.")


@torch.no_grad()
def word_probabilities(
    head: TokenHead,
    scores: Tensor,
    words: Layout,
    *,
    tagset: TagSet,
    temperature: float = 1.0,
) -> list[list[tuple[str, float]]]:
    """(W, K) -> of each sentence, for each word, its most probable label (or ``O``) and how much.

    B- and I- of a label are one. The labels of a sentence's words are of each word alone; they may
    differ from those of the best spans.
    """
    chain = _valid_chain(head, scores, words, tagset=tagset, temperature=temperature)
    marginals = word_log_marginals(chain).exp()  # (S, N, C)
    labels = marginals[:, :, 1::2] + marginals[:, :, 2::2]
    best = torch.cat([marginals[:, :, :1], labels], 2).max(2)
    names = np.array(["O", *tagset.labels], dtype=object)
    rows = zip(
        names[best.indices.cpu().numpy()].tolist(),
        best.values.clamp(max=1.0).tolist(),
        chain.lengths.tolist(),
        strict=True,
    )
    return [list(zip(row, values, strict=True))[:length] for row, values, length in rows]


def _valid_chain(
    head: TokenHead, scores: Tensor, words: Layout, *, tagset: TagSet, temperature: float = 1.0
) -> Chain:
    chain = head.chain(scores, words, temperature)
    return constrained(chain, tagset.follows, tagset.begins)


def _class_start_end(head: TokenHead, scores: Tensor, words: Layout) -> Codes:
    """(S, N)."""
    if not isinstance(head, CseHead):
        raise ValueError(
            f"The decoder cse needs starts and ends, which {type(head).__name__} has not: take "
            "viterbi, free or fix."
        )
    classes, starts, ends = head.parts(scores)
    probabilities = (classes.softmax(1), starts.sigmoid(), ends.sigmoid())
    padded = [words.pad(part).cpu().numpy() for part in probabilities]
    tags = [class_start_end(ClassStartEnd(*sentence)) for sentence in zip(*padded, strict=True)]
    return np.stack(tags) if tags else np.zeros((0, words.longest), np.int64)


def _read_spans(tags: Codes) -> _Spans:
    """(S, N), 0 beyond the lengths -> the strict spans."""
    is_begin = tags % 2 == 1
    is_inside = (tags != OUTSIDE) & ~is_begin
    # A tag goes on with the one before if that has its label: 2 k + 1 or 2 k + 2, and it is I-.
    goes_on = np.zeros_like(is_begin)
    goes_on[:, 1:] = is_inside[:, 1:] & ((tags[:, 1:] + 1) // 2 == (tags[:, :-1] + 1) // 2)
    sentences, starts = np.nonzero(is_begin)
    stops = np.pad(~goes_on[:, 1:], ((0, 0), (0, 1)), constant_values=True)  # nothing goes on here
    n_words = tags.shape[1]
    places = np.flatnonzero(stops.ravel())
    first_stops = places[np.searchsorted(places, sentences * n_words + starts)]
    ends = first_stops - sentences * n_words + 1
    return _Spans(sentences, starts, ends, tags[sentences, starts] // 2)


def _probabilities(chain: Chain, spans: _Spans) -> list[float]:
    device = chain.emissions.device
    sentences, starts, ends, labels = (torch.from_numpy(x).to(device) for x in spans)
    log_probabilities = span_log_probabilities(
        chain, sentences=sentences, starts=starts, ends=ends, labels=labels
    )
    return log_probabilities.exp().clamp(max=1.0).tolist()


def _predictions(
    spans: _Spans, probabilities: list[float], n_sentences: int, *, labels: tuple[str, ...]
) -> list[Prediction]:
    found: list[list[PredictedSpan]] = [[] for _ in range(n_sentences)]
    rows = zip(*(column.tolist() for column in spans), probabilities, strict=True)
    for sentence, start, end, label, probability in rows:
        span = PredictedSpan(start=start, end=end, label=labels[label], probability=probability)
        found[sentence].append(span)
    return [tuple(spans_) for spans_ in found]
