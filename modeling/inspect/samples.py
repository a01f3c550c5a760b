"""Random samples of the spans of tagged sentences, and their vectors by an encoder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from corpora.document import Sentence, TokenSpan
from corpora.tagging import from_iob2
from modeling.taggers.encoder import Encoder, Vectors

Which = Literal["names", "all"]
OUTSIDE: Final = "O"
MAX_WORDS: Final = 8
"""The words of the longest sequence that is drawn of all."""


@dataclass(frozen=True, slots=True)
class DrawnSpan:
    """A span of a sentence, with its label, or ``O``."""

    sentence: Sentence
    span: TokenSpan

    @property
    def n_words(self) -> int:
        """The length of the span in words."""
        return self.span.end - self.span.start

    @property
    def text(self) -> str:
        """The words of the span, joined by spaces."""
        return " ".join(self.sentence.tokens[self.span.start : self.span.end])


@dataclass(frozen=True, slots=True)
class SpanSample:
    """The spans that were drawn, in the order of the sentences, and the number drawn from."""

    spans: tuple[DrawnSpan, ...]
    n: int


def draw_spans(
    sentences: Sequence[Sentence], *, which: Which = "names", size: int, seed: int = 1
) -> SpanSample:
    """Draw ``size`` spans (0: all) without replacement, each with the same probability.

    ``names``: the spans that are tagged; ``all``: every run of at most ``MAX_WORDS`` words, most of
    them ``O``.
    """
    if which == "names":
        counts = np.array([len(from_iob2(s.tags)) for s in sentences], np.int64)
    else:
        counts = np.array([_count(len(s.tokens)) for s in sentences], np.int64)
    ends = np.cumsum(counts)
    n = int(ends[-1]) if len(ends) else 0
    chosen = np.arange(n)
    if 0 < size < n:
        chosen = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
    found: list[DrawnSpan] = []
    owners = np.searchsorted(ends, chosen, side="right")
    for owner in np.unique(owners).tolist():
        sentence = sentences[owner]
        spans = list(_spans(sentence, which))
        places = chosen[owners == owner] - (ends[owner] - counts[owner])
        found += [DrawnSpan(sentence, spans[place]) for place in places.tolist()]
    return SpanSample(tuple(found), n)


def read_vectors(encoder: Encoder, spans: Sequence[DrawnSpan]) -> NDArray[np.float32]:
    """Compute the (N, F) vectors of spans, in their order; spans of one sentence are adjacent."""
    groups = [list(own) for _, own in groupby(spans, key=lambda one: id(one.sentence))]
    sentences = [group[0].sentence for group in groups]
    places = [[one.span for one in group] for group in groups]
    vectors: list[Vectors] = encoder.spans(sentences, places)
    return np.concatenate(vectors) if vectors else np.zeros((0, encoder.width), np.float32)


def _count(n_words: int) -> int:
    longest = min(n_words, MAX_WORDS)
    return longest * n_words - longest * (longest - 1) // 2


def _spans(sentence: Sentence, which: Which) -> Iterator[TokenSpan]:
    names = from_iob2(sentence.tags)
    if which == "names":
        yield from names
        return
    labels = {(name.start, name.end): name.label for name in names}
    n = len(sentence.tokens)
    for start in range(n):
        for end in range(start + 1, min(start + MAX_WORDS, n) + 1):
            label = labels.get((start, end), OUTSIDE)
            yield TokenSpan(start=start, end=end, label=label)
