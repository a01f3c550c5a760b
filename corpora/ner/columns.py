"""Sentences as columns: all tokens in sequence, a code for each tag, and the sentences' starts.

Shapes: N sentences, T tokens of all of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import ends_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.document import Sentence

Indices = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

Item = TypeVar("Item")

AT_ONCE = 4096
"""The number of sentences that become columns at once."""


@dataclass(frozen=True, slots=True)
class Tags:
    """A tag for each token: an index into ``names``."""

    codes: Codes  # (T,)
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: pa.Array) -> "Tags":
        """Encode an array of strings."""
        encoded = values.dictionary_encode()
        return cls(np.asarray(encoded.indices), tuple(encoded.dictionary.to_pylist()))

    def where(self, kept: Flags | slice) -> "Tags":
        """Return the tags of selected tokens."""
        return Tags(self.codes[kept], self.names)

    def strings(self) -> pa.StringArray:
        """Return the tags as strings."""
        return pa.array(self.names, pa.string()).take(pa.array(self.codes))


@dataclass(frozen=True)
class SentenceColumns:
    """Sentences with their tags, which are encoded at first use."""

    tokens: pa.StringArray  # (T,)
    begins: Indices
    """(N + 1,): sentence ``i`` has the tokens from ``begins[i]`` to ``begins[i + 1]``."""
    tag_strings: pa.StringArray  # (T,)

    @cached_property
    def tags(self) -> Tags:
        """The tag of each token."""
        return Tags.of(self.tag_strings)

    @classmethod
    def of_batch(cls, batch: pa.RecordBatch) -> "SentenceColumns":
        """Build columns from ``tokens`` and ``tags`` of a ``ner`` dataset; no token is null."""
        tokens = batch.column("tokens")
        return cls(tokens.flatten(), begins_of(tokens), batch.column("tags").flatten())

    @classmethod
    def of_sentences(cls, sentences: Sequence[Sentence]) -> "SentenceColumns":
        """Concatenate sentences to columns."""
        begins = np.cumsum([0, *(len(sentence.tokens) for sentence in sentences)])
        tokens = chain.from_iterable(sentence.tokens for sentence in sentences)
        tags = chain.from_iterable(sentence.tags for sentence in sentences)
        return cls(pa.array(tokens, pa.string()), begins, pa.array(tags, pa.string()))

    def __len__(self) -> int:
        return len(self.begins) - 1

    def tokens_of(self, index: int) -> tuple[str, ...]:
        """Return the tokens of a sentence."""
        return tuple(self.tokens[self.begins[index] : self.begins[index + 1]].to_pylist())

    def tags_of(self, index: int) -> tuple[str, ...]:
        """Return the tags of a sentence."""
        return tuple(self.tag_strings[self.begins[index] : self.begins[index + 1]].to_pylist())


def begins_of(lists: pa.ListArray) -> Indices:
    """Find the start of each list as ``ends_of`` does, as indices."""
    return ends_of(lists).astype(np.int64)


def to_columns(sentences: Iterable[Sentence]) -> Iterator[SentenceColumns]:
    """Convert a stream of sentences to columns of some thousand sentences each."""
    rest = iter(sentences)
    while some := list(islice(rest, AT_ONCE)):
        yield SentenceColumns.of_sentences(some)


def rows_of_split(
    shards: Iterable[Path], split: str, *, columns: Sequence[str] = ("split", "tokens", "tags")
) -> Iterator[pa.RecordBatch]:
    """Read columns of the sentences of a split that have at least one token."""
    for path in shards:
        for batch in read_batches(path, SCHEMAS["ner"], columns=columns):
            lengths = pc.list_value_length(batch.column("tokens"))
            is_in_split = pc.and_(pc.equal(batch.column("split"), split), pc.greater(lengths, 0))
            yield batch if pc.all(is_in_split, min_count=0).as_py() else batch.filter(is_in_split)


def columns_of_split(shards: Iterable[Path], split: str) -> Iterator[SentenceColumns]:
    """Read the sentences of a split, ahead of their use in a thread."""
    return ahead(map(SentenceColumns.of_batch, rows_of_split(shards, split)))


def ahead(source: Iterator[Item]) -> Iterator[Item]:
    """Yield items; the next one is computed in a thread, as Arrow and NumPy release the GIL."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        coming = pool.submit(next, source, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield item


def shifted(values: Codes, begins: Indices) -> Codes:
    """Return the value of the token before each token; -1 at the start of a sentence."""
    before = np.empty_like(values)
    before[1:] = values[:-1]
    before[begins[:-1][np.diff(begins) > 0]] = -1
    return before
