"""Decoders of tags: spans and probabilities from the scores of words.

Whatever the decoder, probabilities are those of the CRF without invalid paths: that exactly this
span has this label, or that a word has a label. A temperature changes probabilities, but no tag.

Shapes: W words of S sentences together, N words of the longest, K scores, C tags, L labels,
P spans.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from modeling.data.batch import Layout
from modeling.data.predictions import SentencePredictions, by_sentence
from modeling.data.tagset import OUTSIDE, Codes
from modeling.heads.tagging_heads import CseHead, TokenHead
from modeling.layers.crf import Crf, span_log_probabilities, viterbi, word_log_marginals


def entity_fix(tags: Codes) -> Codes:
    """Repair orphan I- tags, (S, N) -> (S, N): each takes the label before it; O if there is none.

    From left to right, each I- after a repaired tag of its own label stays; after O it becomes O,
    after another label the I- of that label; as first word it becomes the B- of its own label. So a
    run of I- follows the tag before the run, whatever the labels in the run. Valid tags stay as
    they are.

    Scores may rise or fall by it, lenient ones (O, I-X, I-X) and strict ones: of B-Z, I-X the
    strict span is the first word, and after the repair both words.
    """
    is_inside = (tags != OUTSIDE) & (tags % 2 == 0)
    fixed = tags - (is_inside & (np.arange(tags.shape[1]) == 0))  # I- to B-
    is_inside[:, :1] = False
    leaders = np.where(is_inside, 0, np.arange(tags.shape[1]))
    leaders = np.maximum.accumulate(leaders, axis=1)  # the place of the tag before the run
    led_by = np.take_along_axis(fixed, leaders, axis=1)  # O or a B-
    going_on = np.where(led_by == OUTSIDE, OUTSIDE, led_by + 1)
    return np.where(is_inside, going_on, fixed)


Floats = NDArray[np.floating]

_LIKELY = 0.5


def class_start_end(
    classes: Floats, starts: Floats, ends: Floats, *, as_published: bool = False
) -> Codes:
    """Compute the tags of the names in a sentence, shape (N,), from the probabilities of its words.

    ``classes`` (N, 1 + L) are those of O and of each label, ``starts`` (N,) and ``ends`` (N,) those
    that a name begins, and ends, at the word.

    A name opens at a likely start and closes at a likely end. An end without an open name opens one
    at the best start since the last name; a likely start after an open name closes that at its best
    end. The label of a name is the one with the largest sum over its words.

    Two rules differ from the published ones. A start with neither an end nor a start after it is
    closed at the best end of the rest of the sentence; and a name is dropped unless all labels
    together are more likely, on average over its words, than O. ``as_published``: such a start is
    dropped; and so is a name unless the sum of its label is larger than that of O.
    """
    tags = np.zeros(len(starts), np.int64)
    for first, last in _bounds(starts, ends, closes_last=not as_published):
        sums = classes[first : last + 1].sum(0)
        label = int(sums[1:].argmax())
        of_name = sums[1 + label] if as_published else sums[1:].sum()
        if of_name > sums[OUTSIDE]:
            tags[first] = 1 + 2 * label
            tags[first + 1 : last + 1] = 2 + 2 * label
    return tags


def _bounds(starts: Floats, ends: Floats, *, closes_last: bool) -> list[tuple[int, int]]:
    """Find the first and last word of each candidate; disjoint, in order."""
    is_start, is_end = starts > _LIKELY, ends > _LIKELY
    followed_by_start = np.append(is_start[1:], False)
    bounds: list[tuple[int, int]] = []
    open, free = None, 0  # first word of the open name; first word after the last name
    for word in np.flatnonzero(is_start | is_end | followed_by_start).tolist():
        if is_start[word] and open is None:
            open = word
        if is_end[word]:
            first = free + int(starts[free : word + 1].argmax()) if open is None else open
            bounds.append((first, word))
        elif open is not None and followed_by_start[word]:
            bounds.append((open, open + int(ends[open : word + 1].argmax())))
        else:
            continue
        open, free = None, word + 1
    if open is not None and closes_last:
        bounds.append((open, open + int(ends[open:].argmax())))
    return bounds


class _Spans(NamedTuple):
    """P spans, sentence by sentence and word by word."""

    sentences: Codes
    starts: Codes
    ends: Codes
    """The index of the last word of each span, plus one."""
    labels: Codes


@torch.no_grad()
def decode(
    head: TokenHead, scores: Tensor, words: Layout, *, decoder: str, temperature: float = 1.0
) -> list[SentencePredictions]:
    """Decode scores, (W, K) -> the names, words and tags of each sentence.

    ``free``: the strict spans of the best path of the CRF as it is, so that an orphan I- is in no
    span. ``fix``: the same path, repaired by ``entity_fix``. ``viterbi``: the best valid path.
    ``cse``, ``cse_published``: ``class_start_end``, for a ``CseHead`` only. Raises ``ValueError``
    for any other.
    """
    codes = _decode(head, scores, words, decoder=decoder)
    crf, labels = head.valid_crf(scores, words, temperature), head.tagset.labels
    spans, n = _read_spans(codes), words.n_sequences
    sentences, starts, ends, numbers = (column.tolist() for column in spans)
    names = [labels[number] for number in numbers]
    rows = zip(sentences, starts, ends, names, _probabilities(crf, spans), strict=True)
    tags: list[tuple[str, ...]] = [()] * n
    if decoder == "free":
        pairs = zip(codes.tolist(), words.lengths.tolist(), strict=True)
        tags = [head.tagset.decode(row[:length]) for row, length in pairs]
    found = zip(by_sentence(rows, n), _word_probabilities(crf, labels), tags, strict=True)
    return [SentencePredictions(*one) for one in found]


def _decode(head: TokenHead, scores: Tensor, words: Layout, *, decoder: str) -> Codes:
    """Decode scores, (W, K) -> the ids of tags, (S, N), 0 beyond the lengths."""
    if decoder in {"cse", "cse_published"}:
        return _class_start_end(head, scores, words, as_published=decoder == "cse_published")
    if decoder == "viterbi":
        return viterbi(head.valid_crf(scores, words)).cpu().numpy()
    if decoder in {"free", "fix"}:
        tags: Codes = viterbi(head.crf(scores, words)).cpu().numpy()
        return entity_fix(tags) if decoder == "fix" else tags
    raise ValueError(f"{decoder!r} does not decode tags: take viterbi, free, fix or cse.")


def _word_probabilities(crf: Crf, known: Sequence[str]) -> list[list[tuple[str, float]]]:
    """Compute the most probable label (or ``O``) of each word, and its probability.

    B- and I- of a label are added up. The label is that of each word alone; it may differ from that
    of the best spans.
    """
    marginals = word_log_marginals(crf).exp()  # (S, N, C)
    labels = marginals[:, :, 1::2] + marginals[:, :, 2::2]
    best = torch.cat([marginals[:, :, :1], labels], 2).max(2)
    names = np.array(["O", *known], dtype=object)
    rows = zip(
        names[best.indices.cpu().numpy()].tolist(),
        best.values.clamp(max=1.0).tolist(),
        crf.lengths.tolist(),
        strict=True,
    )
    return [list(zip(row, values, strict=True))[:length] for row, values, length in rows]


def _class_start_end(
    head: TokenHead, scores: Tensor, words: Layout, *, as_published: bool
) -> Codes:
    """Decode the scores of a ``CseHead``, (W, K) -> the ids of tags, (S, N)."""
    if not isinstance(head, CseHead):
        raise ValueError(
            f"The decoder cse needs starts and ends, which {type(head).__name__} has not: take "
            "viterbi, free or fix."
        )
    classes, starts, ends = head.parts(scores)
    probabilities = (classes.softmax(1), starts.sigmoid(), ends.sigmoid())
    padded = [words.pad(part).cpu().numpy() for part in probabilities]
    tags = [
        class_start_end(*sentence, as_published=as_published)
        for sentence in zip(*padded, strict=True)
    ]
    return np.stack(tags) if tags else np.zeros((0, words.longest), np.int64)


def _read_spans(tags: Codes) -> _Spans:
    """Read the strict spans of tags, (S, N), which are 0 beyond the lengths."""
    is_begin = tags % 2 == 1
    is_inside = (tags != OUTSIDE) & ~is_begin
    # An I- of label k, tag 2 k + 2, continues the tag before it if that is 2 k + 1 or 2 k + 2.
    goes_on = np.zeros_like(is_begin)
    goes_on[:, 1:] = is_inside[:, 1:] & ((tags[:, 1:] + 1) // 2 == (tags[:, :-1] + 1) // 2)
    sentences, starts = np.nonzero(is_begin)
    stops = np.pad(~goes_on[:, 1:], ((0, 0), (0, 1)), constant_values=True)  # True: a span ends
    n_words = tags.shape[1]
    places = np.flatnonzero(stops.ravel())
    first_stops = places[np.searchsorted(places, sentences * n_words + starts)]
    ends = first_stops - sentences * n_words + 1
    return _Spans(sentences, starts, ends, tags[sentences, starts] // 2)


def _probabilities(crf: Crf, spans: _Spans) -> list[float]:
    device = crf.emissions.device
    sentences, starts, ends, labels = (torch.from_numpy(x).to(device) for x in spans)
    log_probabilities = span_log_probabilities(
        crf, sentences=sentences, starts=starts, ends=ends, labels=labels
    )
    return log_probabilities.exp().clamp(max=1.0).tolist()
