"""What a tagger says of a sentence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corpora.document import Sentence, TokenSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedSpan(TokenSpan):
    """Words ``start`` to ``end`` of a sentence, half-open, with a label and its probability."""

    probability: float
    """That exactly this span with this label stands there, by the model."""


Prediction = tuple[PredictedSpan, ...]
"""The spans of a sentence, disjoint and in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """A sentence with its gold tags, and what a tagger found in it."""

    sentence: Sentence
    spans: Prediction
    words: Sequence[tuple[str, float]] = ()
    """For each word the label that is most probable (``O`` for none) and its probability, of the
    word alone; empty where a head has no such thing."""
    tags: tuple[str, ...] = ()
    """For each word the tag that was decoded, where tags may be invalid (``free``): lenient scores
    read them, ``spans`` are their strict reading. Empty: the tags are those of ``spans``."""


def by_sentence(
    spans: Iterable[tuple[int, int, int, str, float]], n_sentences: int
) -> list[Prediction]:
    """Group spans (sentence, start, end, label, probability), in order, by sentence."""
    found: list[list[PredictedSpan]] = [[] for _ in range(n_sentences)]
    for sentence, start, end, label, probability in spans:
        span = PredictedSpan(start=start, end=end, label=label, probability=probability)
        found[sentence].append(span)
    return [tuple(own) for own in found]
