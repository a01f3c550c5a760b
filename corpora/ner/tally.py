"""What is counted of a split for its card, in one pass over columns."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corpora.hashing.tokens import Hashes, Runs, hash_strings, mix
from corpora.ner.card import SplitCounts
from corpora.ner.columns import Codes, SentenceColumns
from corpora.ner.forms import Forms
from corpora.ner.sentence_hashes import SentenceHashes
from corpora.ner.spans import Spans, find_spans


class Labels:
    """Numbers of labels, the same in all splits."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, names: Iterable[str]) -> Codes:
        """The number of each name; new ones get the next."""
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        return np.array(numbers, np.int32)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, by number."""
        return tuple(self._numbers)


class Tally:
    """What is kept of a split: 17 bytes a sentence, and the forms of its mentions."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self.tags: Counter[str] = Counter()
        self.runs: Counter[str] = Counter()
        self.n_stray = self.n_touching = 0
        self.sentences = SentenceHashes()
        self.forms = Forms()

    def add(self, measured: "_Measured") -> None:
        """Count a batch of sentences."""
        sentences, spans = measured.sentences, measured.spans
        self.sentences.add(measured.texts, measured.labelled, np.diff(sentences.begins))
        self._count(sentences)
        self.n_stray += spans.n_stray
        self.n_touching += int(np.count_nonzero(spans.is_touching))
        self._add_spans(sentences, spans, tokens=measured.tokens)

    def _count(self, sentences: SentenceColumns) -> None:
        tags = sentences.tags
        counts = np.bincount(tags.codes, minlength=len(tags.names)).tolist()
        self.tags.update(dict(zip(tags.names, counts, strict=True)))

    def _add_spans(self, sentences: SentenceColumns, spans: Spans, *, tokens: Runs) -> None:
        first_of_runs = spans.labels[~spans.is_touching]
        counts = np.bincount(first_of_runs, minlength=len(spans.label_names)).tolist()
        self.runs.update(dict(zip(spans.label_names, counts, strict=True)))
        labels = self._labels.number(spans.label_names)[spans.labels]
        self.forms.add(sentences, spans, labels, tokens=tokens)

    @property
    def labels(self) -> set[str]:
        """The labels that occur."""
        return {tag[2:] for tag, count in self.tags.items() if tag != "O" and count}

    def count(self) -> SplitCounts:
        """Freeze the numbers that go into the card."""
        labels = sorted(self.labels)
        return SplitCounts(
            sentences=len(self.sentences),
            tokens=self.sentences.n_tokens,
            not_tagged=self.tags["O"],
            entities={label: self.tags[f"B-{label}"] for label in labels},
            runs={label: self.runs[label] for label in labels},
            touching=self.n_touching,
            stray=self.n_stray,
            one_token=self.sentences.n_single,
            longest=self.sentences.longest,
        )


def tally(source: Iterable[SentenceColumns], labels: Labels) -> Tally:
    """Count all batches of a split."""
    counted = Tally(labels)
    for sentences in source:
        counted.add(_measure(sentences))
    return counted


@dataclass(frozen=True, slots=True)
class _Measured:
    """A batch of sentences, and what is found out about it alone."""

    sentences: SentenceColumns
    tokens: Runs
    texts: Hashes
    """(N,): of the tokens of each sentence."""
    labelled: Hashes
    """(N,): of its tokens and tags."""
    spans: Spans


def _measure(sentences: SentenceColumns) -> _Measured:
    tokens = hash_strings(sentences.tokens)
    starts, ends = sentences.begins[:-1], sentences.begins[1:]
    runs = Runs(tokens)
    names = hash_strings(pa.array(sentences.tags.names, pa.string()))
    labelled = Runs(mix(tokens ^ names[sentences.tags.codes]))
    return _Measured(
        sentences,
        runs,
        runs.hash(starts, ends),
        labelled.hash(starts, ends),
        find_spans(sentences),
    )
