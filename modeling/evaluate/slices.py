"""Parts of the sentences and mentions: which of them training has seen, how long they are.

Shapes: N sentences, 3 counts (``counts.py``).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from corpora.document import Sentence
from corpora.matching.sequences import Form
from corpora.tagging import from_iob2
from modeling.data.predictions import Tagged
from modeling.taggers.counts import (
    CORRECT,
    GOLD,
    PREDICTED,
    Key,
    Numbers,
    gold_keys,
    predicted_keys,
)

Group = Literal["mentions", "sentences", "lengths"]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)

N_BUCKETS = 7
"""Parts of the sentences by length (N-E4)."""

MANY_WORDS = 6
"""Shorter sentences stand in train by chance (B-N20 counts those of more than five words)."""


@dataclass(frozen=True, slots=True)
class Known:
    """What stands in the training sentences."""

    sentences: frozenset[Form]
    """By their tokens."""
    labels: Mapping[Form, set[str]] = field(repr=False)
    """Of each form that is a mention there."""

    @classmethod
    def of(cls, train: Iterable[Sentence]) -> "Known":
        """Read the training sentences once."""
        labels: defaultdict[Form, set[str]] = defaultdict(set)
        sentences = set()
        for sentence in train:
            sentences.add(sentence.tokens)
            for span in from_iob2(sentence.tags):
                labels[sentence.tokens[span.start : span.end]].add(span.label)
        return cls(frozenset(sentences), dict(labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of the sentences, or some of the mentions of all sentences."""

    group: Group
    name: str
    rows: Numbers
    """(N, 3): strict counts of what belongs to the part."""
    sentences: int | None = None
    """How many they are; None: a part of the mentions."""


def by_mention(tagged: Sequence[Tagged], known: Known) -> list[Part]:
    """Mentions whose form, or form and label, are those of a training mention, and the others.

    A gold mention belongs to a part by its form and label, a predicted span by its own: what is
    right belongs to the same part both ways, and the parts add up to the whole.
    """
    rows = np.zeros((len(tagged), 3, 3), np.int64)
    for number, one in enumerate(tagged):
        gold = gold_keys(one)
        right = set(gold)
        for key in gold:
            rows[number, _part_of(key, one, known), GOLD] += 1
        for key in predicted_keys(one):
            part = rows[number, _part_of(key, one, known)]
            part[PREDICTED] += 1
            part[CORRECT] += key in right
    both, form_only, new = rows.swapaxes(0, 1)
    return [
        Part(group="mentions", name="form and label in train", rows=both),
        Part(group="mentions", name="form in train, with other labels only", rows=form_only),
        Part(group="mentions", name="form not in train", rows=new),
        Part(group="mentions", name="form in train, whatever its label", rows=both + form_only),
        Part(group="mentions", name="form not in train with this label", rows=form_only + new),
    ]


def _part_of(key: Key, one: Tagged, known: Known) -> int:
    start, end, label = key
    labels = known.labels.get(one.sentence.tokens[start:end])
    if labels is None:
        return 2
    return 0 if label in labels else 1


def by_sentence(tagged: Sequence[Tagged], rows: Numbers, known: Known) -> list[Part]:
    """Sentences whose tokens are those of a training sentence, and the others (B-N20)."""
    leaked = np.array([one.sentence.tokens in known.sentences for one in tagged], np.bool_)
    long = np.array([len(one.sentence.tokens) >= MANY_WORDS for one in tagged], np.bool_)
    return [
        _choose("sentences", "sentence not in train", rows=rows, chosen=~leaked),
        _choose("sentences", "sentence in train", rows=rows, chosen=leaked),
        _choose(
            "sentences",
            f"sentence in train, of {MANY_WORDS} words or more",
            rows=rows,
            chosen=leaked & long,
        ),
    ]


def by_length(tagged: Sequence[Tagged], rows: Numbers, *, n_buckets: int = N_BUCKETS) -> list[Part]:
    """Sentences by their words, in equal parts (N-E4); equal lengths stay in their order.

    Parts differ by one sentence at most; where there are fewer sentences than parts, each is one.
    """
    lengths = np.array([len(one.sentence.tokens) for one in tagged], np.int64)
    order = np.argsort(lengths, kind="stable")
    parts = []
    for bucket in np.array_split(order, min(n_buckets, len(order))):
        chosen = np.zeros(len(order), np.bool_)
        chosen[bucket] = True
        low, high = lengths[bucket[0]], lengths[bucket[-1]]
        span = f"{low}" if low == high else f"{low} to {high}"
        name = "1 word" if high == 1 else f"{span} words"
        parts.append(_choose("lengths", name, rows=rows, chosen=chosen))
    return parts


def _choose(group: Group, name: str, *, rows: Numbers, chosen: NDArray[np.bool_]) -> Part:
    n_sentences = int(np.count_nonzero(chosen))
    return Part(group=group, name=name, rows=rows * chosen[:, None], sentences=n_sentences)
