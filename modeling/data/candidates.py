"""Candidate spans for a span head (LUKE; published systems, C.4).

All runs of words of a sentence that have at most so many pieces, and each word alone, however long
it is. A span is read in the window of its first word if that holds all of it, or in another one
that does. Where windows share fewer pieces than a span may have, there may be none: such a run of
words is no candidate. ``too_long`` names the gold spans that are none.

Shapes: of a batch S sentences, W words, B windows, P candidates.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from corpora.document import TokenSpan
from modeling.data.chance import Integers
from modeling.data.chosen_sentences import Chosen
from modeling.data.masking import ranges
from modeling.data.sentence_batch import SpanBatch
from modeling.data.sentence_encoder import EncodedSentences
from modeling.data.tagset import TagSet


class TooLong(NamedTuple):
    """A gold span that a span head cannot find."""

    sentence_id: str
    span: TokenSpan
    text: str
    n_pieces: int


def candidates(chosen: Chosen, *, max_pieces: int, tags: Integers | None = None) -> SpanBatch:
    """The candidates of a batch, by sentence, first word and length.

    Args:
        chosen: the sentences.
        max_pieces: of a span that is longer than a word.
        tags: (W,) gold tags, valid IOB2, to label them.
    """
    encoded = chosen.encoded
    starts, ends = encoded.word_starts[chosen.words], encoded.word_ends[chosen.words]
    runs = _runs(starts, ends, n_words=chosen.n_words, max_pieces=max_pieces)
    firsts, lasts = starts[runs.firsts], ends[runs.lasts]
    windows = windows_of(chosen, chosen.word_windows[runs.firsts], firsts=firsts, lasts=lasts)
    lasts = np.where(runs.firsts == runs.lasts, np.minimum(lasts, chosen.ends[windows]), lasts)
    kept = lasts <= chosen.ends[windows]
    labels = None if tags is None else _labels(tags, runs)
    before = (np.cumsum(chosen.n_words) - chosen.n_words)[runs.sentences]
    columns = {
        "sentences": runs.sentences,
        "starts": runs.firsts - before,
        "ends": runs.lasts - before + 1,
        "windows": windows,
        "first_pieces": chosen.rows(firsts, windows),
        "last_pieces": chosen.rows(lasts - 1, windows),
    }
    return SpanBatch(
        **{name: torch.from_numpy(column[kept]) for name, column in columns.items()},
        labels=None if labels is None else torch.from_numpy(labels[kept]),
    )


class _Runs(NamedTuple):
    """Runs of words of a batch, by first word and length."""

    sentences: Integers
    firsts: Integers
    """Words of the batch."""
    lasts: Integers
    """Words of the batch, inclusive."""
    begins: Integers
    """(W + 1,) where the runs of each first word begin."""


def _runs(starts: Integers, ends: Integers, *, n_words: Integers, max_pieces: int) -> _Runs:
    """All runs of words of a sentence with at most so many pieces, and single words."""
    sizes = ends - starts
    borders = np.concatenate([[0], np.cumsum(sizes)])
    words = np.arange(len(sizes))
    reach = np.searchsorted(borders, borders[:-1] + max_pieces, side="right") - 1
    limits = np.repeat(np.cumsum(n_words), n_words)
    counts = np.clip(reach - words, 1, limits - words)
    begins = np.concatenate([[0], np.cumsum(counts)])
    firsts = np.repeat(words, counts)
    sentences = np.repeat(np.arange(len(n_words)), n_words)[firsts]
    return _Runs(sentences, firsts, ranges(words, counts), begins)


def windows_of(chosen: Chosen, windows: Integers, *, firsts: Integers, lasts: Integers) -> Integers:
    """For each span the window of its first word, or where that does not hold it, a later one.

    Windows of a sentence are ordered by their starts and ends, so the last one that begins no
    later than the span is the only other one to ask.
    """
    found = windows.copy()
    outside = np.flatnonzero(lasts > chosen.ends[windows])
    while len(outside):
        nexts = np.minimum(found[outside] + 1, len(chosen.starts) - 1)
        is_other = chosen.sentences[nexts] == chosen.sentences[found[outside]]
        goes_on = is_other & (nexts > found[outside]) & (chosen.starts[nexts] <= firsts[outside])
        outside = outside[goes_on]
        found[outside] = nexts[goes_on]
        outside = outside[lasts[outside] > chosen.ends[found[outside]]]
    return found


def _labels(tags: Integers, runs: _Runs) -> Integers:
    """(P,) 0, or 1 + the id of the label of the gold span that a run is."""
    firsts, lasts = gold_spans(tags)
    labels = np.zeros(len(runs.firsts), np.int64)
    counts = np.diff(runs.begins)
    is_short = lasts - firsts < counts[firsts]
    firsts, lasts = firsts[is_short], lasts[is_short]
    labels[runs.begins[firsts] + lasts - firsts] = 1 + (tags[firsts] - 1) // 2
    return labels


def gold_spans(tags: Integers) -> tuple[Integers, Integers]:
    """First and last words of the spans of tags that are valid IOB2."""
    firsts = np.flatnonzero(tags % 2 == 1)
    is_inside: NDArray[np.bool_] = (tags > 0) & (tags % 2 == 0)
    ends = np.flatnonzero(~np.append(is_inside, False))
    return firsts, ends[np.searchsorted(ends, firsts, side="right")] - 1


def too_long(encoded: EncodedSentences, tagset: TagSet, *, max_pieces: int) -> list[TooLong]:
    """The gold spans of all sentences that are no candidates, in order."""
    chosen = Chosen.of(encoded, np.arange(len(encoded)))
    tags = encoded.tags(tagset)
    firsts, lasts = gold_spans(tags)
    starts, ends = encoded.word_starts[firsts], encoded.word_ends[lasts]
    windows = windows_of(chosen, encoded.word_windows[firsts], firsts=starts, lasts=ends)
    is_long = (ends - starts > max_pieces) | (ends > chosen.ends[windows])
    missed = np.flatnonzero(is_long & (lasts > firsts))
    sentences = np.searchsorted(encoded.word_begins, firsts[missed], side="right") - 1
    named = []
    for of, first, last, n in zip(
        sentences.tolist(),
        firsts[missed].tolist(),
        lasts[missed].tolist(),
        (ends - starts)[missed].tolist(),
        strict=True,
    ):
        sentence, begin = encoded.sentences[of], int(encoded.word_begins[of])
        label = tagset.labels[(int(tags[first]) - 1) // 2]
        span = TokenSpan(start=first - begin, end=last - begin + 1, label=label)
        named.append(
            TooLong(sentence.id, span, " ".join(sentence.tokens[span.start : span.end]), n)
        )
    return named
