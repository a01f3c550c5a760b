"""Decoders of spans: names, disjoint or nested, from the probabilities of candidate spans.

Shapes: S sentences, P candidates, L labels, C = 1 + L classes; class 0 is O, no name.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from modeling.data.batch import SpanBatch
from modeling.data.predictions import Prediction, by_sentence

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]
_EVEN: Final = np.log(0.5)


def decode_spans(
    log_probabilities: Tensor,
    spans: SpanBatch,
    n_sentences: int,
    *,
    decoder: Literal["greedy", "schedule", "nest"] | str,
    labels: Sequence[str],
) -> list[Prediction]:
    """Decode candidates, (P, C) -> the spans of each sentence, in order, with their probabilities.

    Each candidate has its best label, whose probability is that of the span, and is left out unless
    the label is more probable than O. Raises ``ValueError`` for any other decoder than these:

    - ``greedy`` takes one span after the other, the most probable first, and leaves out those that
      overlap it. A tie is won by the earlier start, then by the longer span.
    - ``nest`` does so, too, but leaves out only spans that cross one that was taken, and those
      inside or around another that ``take_nested`` names.
    - ``schedule`` takes the most probable set. If candidates are independent but for being
      disjoint, log p(set) is Σ log p(O) over all, which is the same for every set, plus
      Σ (log p(label) − log p(O)) over the spans in it. The largest such sum is found by weighted
      interval scheduling, in O(P log P).
    """
    table = log_probabilities.detach().double().cpu().numpy()
    sentences, starts, ends = (
        column.cpu().numpy() for column in (spans.sentences, spans.starts, spans.ends)
    )
    classes = 1 + table[:, 1:].argmax(axis=1)
    best = np.take_along_axis(table, classes[:, None], axis=1)[:, 0]
    names = np.flatnonzero(best > table[:, 0])
    if (choose := DECODERS.get(decoder)) is None:
        raise ValueError(f"No decoder of spans is called {decoder!r}: {', '.join(DECODERS)} are.")
    scores = best - table[:, 0] if decoder == "schedule" else best
    # Each sentence by itself: the rounding of a sum over a batch would decide ties otherwise.
    parts = np.split(names, np.flatnonzero(np.diff(sentences[names])) + 1)
    chosen = np.concatenate(
        [part[choose(starts[part], ends[part], scores[part])] for part in parts]
    )
    rows = (
        (
            *(int(column[span]) for column in (sentences, starts, ends)),
            labels[classes[span] - 1],
            float(np.exp(min(best[span], 0.0))),
        )
        for span in chosen[np.lexsort((-ends[chosen], starts[chosen], sentences[chosen]))].tolist()
    )
    return by_sentence(rows, n_sentences)


def take_greedily(begins: Indices, ends: Indices, scores: Numbers) -> Indices:
    """Select disjoint spans, the highest score first; then the earlier, then the longer.

    Returns their indices, in this order.
    """
    is_taken = np.zeros(int(ends.max(initial=0)), np.bool_)
    chosen = []
    for span in np.lexsort((-ends, begins, -scores)).tolist():
        place = slice(begins[span], ends[span])
        if not is_taken[place].any():
            is_taken[place] = True
            chosen.append(span)
    return np.array(chosen, np.int64)


def take_nested(begins: Indices, ends: Indices, scores: Numbers) -> Indices:
    """Select spans of which none cross, the highest log-probability first; a tie as above.

    Left out are spans that nest with one that was taken, unless they are more probable than not,
    and spans that begin with one name and end with another: their edges are those of a name, too.
    Returns their indices, in this order.
    """
    order = np.lexsort((-ends, begins, -scores))
    while True:
        chosen: list[int] = []
        for span in order.tolist():
            begin, end = begins[span], ends[span]
            first, last = begins[chosen], ends[chosen]
            meets = (first < end) & (begin < last)
            contains = (first <= begin) & (end <= last) | (begin <= first) & (last <= end)
            if not meets.any() or (contains[meets].all() and scores[span] > _EVEN):
                chosen.append(span)
        first, last = begins[chosen], ends[chosen]
        joined = [
            span
            for span, begin, end in zip(chosen, first, last, strict=True)
            if last[first == begin].min() <= first[last == end].max()
        ]
        if not joined:
            return np.array(chosen, np.int64)
        order = order[~np.isin(order, joined)]


def schedule(begins: Indices, ends: Indices, scores: Numbers) -> Indices:
    """Select the disjoint spans with the largest sum of scores, all of which must be positive.

    Returns their indices. Between several such sets the choice is always the same, whatever the
    order of the candidates.
    """
    order = np.lexsort((begins, ends))
    begins, ends, gains = begins[order], ends[order], scores[order].tolist()
    before = ends.searchsorted(begins, side="right").tolist()  # for each span, those before it
    totals = [0.0]  # the sum of the best set among the first 0, 1, 2 … spans
    for gain, n_before in zip(gains, before, strict=True):
        totals.append(max(totals[-1], totals[n_before] + gain))
    chosen, n = [], len(gains)
    while n:
        if totals[n] > totals[n - 1]:
            chosen.append(order[n - 1])
            n = before[n - 1]
        else:
            n -= 1
    return np.array(chosen[::-1], np.int64)


DECODERS: Final[dict[str, Callable[[Indices, Indices, Numbers], Indices]]] = {
    "greedy": take_greedily,
    "schedule": schedule,
    "nest": take_nested,
}
