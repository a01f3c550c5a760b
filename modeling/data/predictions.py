"""The predictions of a tagger for a sentence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corpora.document import Sentence, TokenSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedSpan(TokenSpan):
    """A span of words of a sentence, half-open, with a label and its probability."""

    probability: float
    """The model's probability of exactly this span with this label."""


Prediction = tuple[PredictedSpan, ...]
"""The spans of a sentence, by start, the longer first; disjoint, unless the decoder is ``nest``."""


def outermost(spans: Prediction) -> Prediction:
    """Select the spans that are not inside another; all, where spans are disjoint."""
    kept: list[PredictedSpan] = []
    for span in spans:
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return tuple(kept)


class SentencePredictions(NamedTuple):
    """The predictions for a sentence."""

    spans: Prediction
    words: list[tuple[str, float]]
    """The most probable label of each word, and its probability; empty for span heads."""
    tags: tuple[str, ...] = ()
    """The decoded tags, if the decoder may return invalid ones (``free``); else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """A sentence with its gold tags, and the predictions of a tagger for it."""

    sentence: Sentence
    spans: Prediction
    words: Sequence[tuple[str, float]] = ()
    """For each word by itself, its most probable label (``O`` for none) and the probability; empty
    for heads that do not compute it."""
    tags: tuple[str, ...] = ()
    """The decoded tag of each word, if the decoder may return invalid tags (``free``): lenient
    scores use them; ``spans`` is their strict reading. Empty: the tags are those of ``spans``."""


def by_sentence(
    spans: Iterable[tuple[int, int, int, str, float]], n_sentences: int
) -> list[Prediction]:
    """Group spans (sentence, start, end, label, probability), in order, by sentence."""
    found: list[list[PredictedSpan]] = [[] for _ in range(n_sentences)]
    for sentence, start, end, label, probability in spans:
        span = PredictedSpan(start=start, end=end, label=label, probability=probability)
        found[sentence].append(span)
    return [tuple(own) for own in found]
