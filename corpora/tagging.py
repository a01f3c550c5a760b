"""Conversion of labelled token spans to IOB2 tags and back, and scores of spans.

In IOB2, ``B-x`` opens a span of class ``x``, ``I-x`` continues it, and ``O`` is outside of spans.
Every span opens with ``B-``, so two adjacent spans stay two. ``corpora/ner/schemes.py`` converts
other schemes to IOB2, and repairs tags.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corpora.document import TokenSpan
from corpora.errors import InvalidDocumentError

IOB2_TAG = re.compile(r"O|[BI]-\S+")
"""The pattern of an IOB2 tag, for ``fullmatch``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts for strict micro scores: a span is correct if both its ends and its label are."""

    correct: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """The fraction of the predicted spans that are right."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The fraction of the gold spans that were found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 0.0


def to_iob2(spans: Sequence[TokenSpan], n_tokens: int) -> tuple[str, ...]:
    """Convert spans, in any order, to ``n_tokens`` tags.

    Raises ``InvalidDocumentError`` if a span is empty, has no proper label, leaves the sentence or
    overlaps another.
    """
    tags = ["O"] * n_tokens
    for span in sorted(spans, key=lambda span: span.start):
        where = f"span {span.start}:{span.end} ({span.label!r})"
        if not 0 <= span.start < span.end <= n_tokens:
            raise InvalidDocumentError(f"{where} is empty or leaves the {n_tokens} tokens")
        if not IOB2_TAG.fullmatch(f"B-{span.label}"):
            raise InvalidDocumentError(f"{where}: a label is not empty and holds no whitespace")
        if tags[span.start] != "O":
            raise InvalidDocumentError(f"{where} overlaps another; keep the outer or the inner one")
        tags[span.start] = f"B-{span.label}"
        tags[span.start + 1 : span.end] = [f"I-{span.label}"] * (span.end - span.start - 1)
    return tuple(tags)


def from_iob2(tags: Sequence[str], *, strict: bool = True) -> list[TokenSpan]:
    """Convert tags to spans, in order.

    An orphan ``I-x``, which continues no span of class ``x``, belongs to no span. With
    ``strict=False`` it opens a span, as in the ``conlleval`` script. Raises
    ``InvalidDocumentError`` for what is no IOB2 tag.
    """
    spans: list[TokenSpan] = []
    if tags.count("O") == len(tags):
        return spans
    start, label = 0, None  # the start and the label of the open span
    for position, tag in enumerate(tags):
        if label is not None and tag == f"I-{label}":
            continue
        if label is not None:
            spans.append(TokenSpan(start=start, end=position, label=label))
            label = None
        if tag == "O":
            continue
        if not IOB2_TAG.fullmatch(tag):
            raise InvalidDocumentError(f"tag {position}: {tag!r} is none of O, B-x, I-x")
        if tag[0] == "B" or not strict:
            start, label = position, tag[2:]
    if label is not None:
        spans.append(TokenSpan(start=start, end=len(tags), label=label))
    return spans
