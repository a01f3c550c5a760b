"""Counts of words as BERT's pre-tokenizer cuts them, from which a vocabulary is learned.

The chunks between spaces are counted first, and only distinct chunks are normalised and cut: the
normaliser and the pre-tokenizer look at nothing beyond a space.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.entities.counts import Sums, batches_of
from corpora.matching.arrays import code_points
from corpora.tokenization.tokenizers import MAX_WORD, SPECIALS, wordpiece

_GROUP = 4096  # chunks that are normalised as one text
N_CODES = 0x110000
"""The number of code points in Unicode."""

Ints = NDArray[np.int64]


class WordCounter:
    """A counter of the words of texts; it holds the distinct chunks between their spaces."""

    def __init__(self, *, cased: bool) -> None:
        backend = wordpiece(SPECIALS, cased=cased)
        self._normalizer, self._pre_tokenizer = backend.normalizer, backend.pre_tokenizer
        self._chunks: Counter[str] = Counter()

    def add(self, texts: Iterable[str]) -> None:
        """Count the words of texts."""
        cut = [text.replace("\n", " ").split(" ") for text in texts]
        for chunks in cut:  # the loop above may raise, so nothing is counted before it is done
            self._chunks.update(chunks)

    def table(self) -> pa.Table:
        """Return ``word, count``: normalised words, in no particular order."""
        by_count: dict[int, list[str]] = defaultdict(list)
        for chunk, count in self._chunks.items():
            by_count[count].append(chunk)
        words: Counter[str] = Counter()
        for count, chunks in by_count.items():
            for start in range(0, len(chunks), _GROUP):
                for word, n in self._cut(chunks[start : start + _GROUP]).items():
                    words[word] += n * count
        return pa.table(
            {
                "word": pa.array(list(words), pa.string()),
                "count": pa.array(list(words.values()), pa.int64()),
            }
        )

    def _cut(self, chunks: Sequence[str]) -> Counter[str]:
        text = self._normalizer.normalize_str(" ".join(chunks))
        return Counter(word for word, _ in self._pre_tokenizer.pre_tokenize_str(text))


def total_batches(sums: Sums) -> Iterator[pa.RecordBatch]:
    """Yield rows of ``word_totals``, in the order of the words."""
    yield from batches_of(sums.table().sort_by("word"), "word_totals")


@dataclass(frozen=True)
class WordCounts:
    """Distinct words and their counts."""

    words: list[str]
    counts: Ints

    @cached_property
    def lengths(self) -> Ints:
        """The number of code points of each word."""
        return np.fromiter(map(len, self.words), np.int64, len(self.words))

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The code points of all words, one after the other."""
        return code_points("".join(self.words))

    @cached_property
    def firsts(self) -> Ints:
        """The start of each word in ``codes``."""
        return np.cumsum(self.lengths) - self.lengths

    def consist_of(self, is_kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Flag the words that have only kept characters; ``is_kept`` is by code point."""
        if not self.words:
            return np.empty(0, np.bool_)
        return np.logical_and.reduceat(is_kept[self.codes], self.firsts)


@dataclass(frozen=True)
class WordTable:
    """The merged counts of words on disk, which are read again at each use."""

    paths: Sequence[Path]

    def batches(self) -> Iterator[WordCounts]:
        """Yield the words in batches; each word once."""
        for batch in read_shards(self.paths, SCHEMAS["word_totals"]):
            yield WordCounts(batch.column("word").to_pylist(), batch.column("count").to_numpy())


@dataclass(frozen=True)
class CharacterCounts:
    """Counts of each code point at the start of words (``first``), and at later places (``rest``).

    Words that are too long for BERT do not count: they are unknown, whatever they consist of.
    """

    first: Ints
    rest: Ints

    @cached_property
    def all(self) -> Ints:
        """The counts of each code point in any place."""
        return self.first + self.rest

    @classmethod
    def of(cls, table: WordTable) -> "CharacterCounts":
        """Count the code points of all words that are not too long."""
        first, both = np.zeros(N_CODES, np.int64), np.zeros(N_CODES, np.int64)
        for words in table.batches():
            counts = np.where(words.lengths <= MAX_WORD, words.counts, 0)
            both += _count(words.codes, np.repeat(counts, words.lengths))
            first += _count(words.codes[words.firsts], counts)
        return cls(first, both - first)


def _count(codes: NDArray[np.uint32], counts: Ints) -> Ints:
    """Add up counts by code point; exact below 2**53."""
    return np.bincount(codes, counts, minlength=N_CODES).astype(np.int64)
