"""The spans of IOB2 tags, by arrays: strictly, as ``corpora.tagging.from_iob2`` reads them.

Shapes: N sentences, T tokens, S spans.
"""

from dataclasses import dataclass

import numpy as np

from corpora.errors import InvalidDocumentError
from corpora.ner.columns import Codes, Flags, Indices, SentenceColumns, Tags
from corpora.tagging import IOB2_TAG


@dataclass(frozen=True, slots=True)
class Spans:
    """What a batch of sentences has of spans, and of tags that are in none."""

    starts: Indices  # (S,), tokens of the batch
    ends: Indices  # (S,), half-open
    labels: Codes
    """(S,): an index into ``label_names``."""
    label_names: tuple[str, ...]
    is_touching: Flags
    """(S,): whether a span begins where one of the same label ends."""
    n_stray: int
    """``I-x`` after neither ``B-x`` nor ``I-x``."""


def find_spans(sentences: SentenceColumns) -> Spans:
    """Find the spans, in order; raises ``InvalidDocumentError`` for what is no IOB2 tag."""
    opens, labels, names = read_names(sentences.tags)
    codes = sentences.tags.codes
    label = labels[codes]  # (T,), -1 is outside
    is_open = opens[codes]
    before = shifted(label, sentences.begins)
    goes_on = ~is_open & (label >= 0) & (label == before)  # (T,)
    chains = np.flatnonzero(~goes_on)  # every token begins one, or goes on with it
    ends = np.append(chains, len(codes))[1:]
    is_span = is_open[chains]
    starts, ends = chains[is_span], ends[is_span]
    last = np.full(len(codes) + 1, -1, np.int32)
    last[ends] = label[starts]  # of the span that ends here
    last[sentences.begins] = -1
    return Spans(
        starts=starts,
        ends=ends,
        labels=label[starts],
        label_names=names,
        is_touching=last[starts] == label[starts],
        n_stray=int(np.count_nonzero(~is_open & (label >= 0) & ~goes_on)),
    )


def read_names(tags: Tags) -> tuple[Flags, Codes, tuple[str, ...]]:
    """Whether each tag opens a span, its label (-1: outside), and the names of the labels."""
    labels: dict[str, int] = {}
    opens, numbers = np.zeros(len(tags.names), bool), np.full(len(tags.names), -1, np.int32)
    for code, name in enumerate(tags.names):
        if not IOB2_TAG.fullmatch(name):
            raise InvalidDocumentError(f"{name!r} is none of O, B-x, I-x")
        if name != "O":
            opens[code] = name[0] == "B"
            numbers[code] = labels.setdefault(name[2:], len(labels))
    return opens, numbers, tuple(labels)


def shifted(values: Codes, begins: Indices, *, fill: int = -1) -> Codes:
    """What the token before has; ``fill`` where a sentence begins."""
    before = np.empty_like(values)
    before[1:] = values[:-1]
    before[begins[:-1][np.diff(begins) > 0]] = fill
    return before
