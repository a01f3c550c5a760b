"""The set of tags of a tagger: O, and B- and I- of each label.

Shapes: L labels, C = 1 + 2 L tags. O is tag 0; B- and I- of label k (from 0) are 1 + 2 k and
2 + 2 k. There are no tags for [CLS] and [SEP]: heads never see them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from corpora.document import Sentence, TokenSpan
from corpora.tagging import from_iob2

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]

OUTSIDE = 0


@dataclass(frozen=True)
class TagSet:
    """The labels in the order of their ids, and the tags made from them."""

    labels: tuple[str, ...]

    @classmethod
    def of(cls, tags: Iterable[Sequence[str]]) -> "TagSet":
        """Collect the labels of some tags, in alphabetical order."""
        return cls(tuple(sorted({tag[2:] for row in tags for tag in row if tag != "O"})))

    def with_labels(self, labels: Iterable[str]) -> "TagSet":
        """Return a tag set with these labels as well, in alphabetical order."""
        return TagSet(tuple(sorted({*self.labels, *labels})))

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """(C,) the tags in the order of their ids."""
        return ("O", *(f"{letter}-{label}" for label in self.labels for letter in "BI"))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {tag: id for id, tag in enumerate(self.tags)}

    def __len__(self) -> int:
        """Return the number of tags, 1 + 2 L."""
        return len(self.tags)

    def encode(self, tags: Sequence[str]) -> Codes:
        """Convert IOB2 tags to the ids of their strict spans; spans of unknown labels become O.

        An orphan I-, which continues no span of its label, is no part of a span
        (``corpora.tagging``), hence O.
        """
        return self.encode_spans(from_iob2(tags), len(tags))

    def encode_spans(self, spans: Iterable[TokenSpan], n_tokens: int) -> Codes:
        """Convert disjoint spans to the ids of their tags; spans of unknown labels become O."""
        codes = np.zeros(n_tokens, np.int64)
        for span in spans:
            if (begin := self._ids.get(f"B-{span.label}")) is not None:
                codes[span.start] = begin
                codes[span.start + 1 : span.end] = begin + 1
        return codes

    def encode_all(self, sentences: Iterable[Sentence]) -> Codes:
        """Convert the tags of sentences to ids, one sentence after the other, shape (W,)."""
        codes = (self.encode(sentence.tags).tolist() for sentence in sentences)
        return np.fromiter(chain.from_iterable(codes), np.int64)

    def decode(self, codes: Sequence[int] | NDArray[np.integer]) -> tuple[str, ...]:
        """Convert ids to tags."""
        return tuple(self.tags[int(code)] for code in codes)

    @cached_property
    def follows(self) -> Flags:
        """(C, C) bool: may the second tag follow the first? I- only B- or I- of its label."""
        allowed = np.ones((len(self), len(self)), np.bool_)
        allowed[:, 2::2] = False
        for inside in range(2, len(self), 2):
            allowed[[inside - 1, inside], inside] = True
        return allowed

    @cached_property
    def begins(self) -> Flags:
        """(C,) bool: whether IOB2 allows a sentence to begin with the tag."""
        allowed = np.ones(len(self), np.bool_)
        allowed[2::2] = False
        return allowed


def gold_spans(tags: Codes) -> tuple[Codes, Codes]:
    """Find the first and last words of the spans of tags (W,) that are valid IOB2."""
    firsts = np.flatnonzero(tags % 2 == 1)
    is_inside: NDArray[np.bool_] = (tags > 0) & (tags % 2 == 0)
    ends = np.flatnonzero(~np.append(is_inside, False))
    return firsts, ends[np.searchsorted(ends, firsts, side="right")] - 1
