"""Sentences as columns: their tokens in a row, a code for each tag, and where sentences begin.

Shapes: N sentences, T tokens of all of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.document import Sentence

Indices = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

Item = TypeVar("Item")

AT_ONCE = 4096
"""Sentences that are made columns at once."""


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

    def where(self, kept: Flags) -> "Tags":
        """The tags of some of the tokens."""
        return Tags(self.codes[kept], self.names)

    def strings(self) -> pa.StringArray:
        """The tags themselves."""
        return pa.array(self.names, pa.string()).take(pa.array(self.codes))


@dataclass(frozen=True)
class SentenceColumns:
    """Sentences with their tags, which are encoded when they are asked for."""

    tokens: pa.StringArray  # (T,)
    begins: Indices
    """(N + 1,): sentence ``i`` has the tokens from ``begins[i]`` to ``begins[i + 1]``."""
    tag_strings: pa.StringArray  # (T,)

    @cached_property
    def tags(self) -> Tags:
        """A tag for each token."""
        return Tags.of(self.tag_strings)

    @classmethod
    def of_batch(cls, batch: pa.RecordBatch) -> "SentenceColumns":
        """Take the columns ``tokens`` and ``tags`` of a ``ner`` dataset; None is no token."""
        tokens = batch.column("tokens")
        return cls(tokens.flatten(), begins_of(tokens), batch.column("tags").flatten())

    @classmethod
    def of_sentences(cls, sentences: Sequence[Sentence]) -> "SentenceColumns":
        """Put sentences behind one another."""
        lengths = np.fromiter((len(s.tokens) for s in sentences), np.int64, len(sentences))
        tokens, tags = (
            pa.array(list(chain.from_iterable(rows)), pa.string())
            for rows in ([s.tokens for s in sentences], [s.tags for s in sentences])
        )
        return cls(tokens, np.concatenate([[0], np.cumsum(lengths)]), tags)

    def __len__(self) -> int:
        return len(self.begins) - 1

    def tokens_of(self, number: int) -> tuple[str, ...]:
        """The tokens of a sentence."""
        begin, end = self.begins[number], self.begins[number + 1]
        return tuple(self.tokens[begin:end].to_pylist())

    def tags_of(self, number: int) -> tuple[str, ...]:
        """The tags of a sentence."""
        codes = self.tags.codes[self.begins[number] : self.begins[number + 1]]
        return tuple(self.tags.names[code] for code in codes)


def begins_of(lists: pa.ListArray) -> Indices:
    """Where the lists of an array begin in what ``flatten`` makes of them, and where the last ends.

    ``lists`` may be a slice; a null is an empty list.
    """
    lengths = pa.compute.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def to_columns(sentences: Iterable[Sentence]) -> Iterator[SentenceColumns]:
    """Make columns of a stream of sentences, some thousand at once."""
    rest = iter(sentences)
    while some := list(islice(rest, AT_ONCE)):
        yield SentenceColumns.of_sentences(some)


def ahead(source: Iterator[Item]) -> Iterator[Item]:
    """Make the next item in a thread while this one is used: Arrow and NumPy let others work."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        coming = pool.submit(next, source, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield item
