"""The pieces of all sentences of a batch of documents, in a row: arrays, no object for each piece.

Offsets count the characters of all texts of the batch, one text after the other with one more
character after each, so that one search finds the pieces of every mention.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.tokenization.tokenizers import Pieces, Tokenizer

SENTENCES_AT_ONCE = 4096
"""Handed to the tokenizer at once; bounds what it holds of a long document."""
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sentences:
    """The sentences of a batch of documents."""

    texts: list[str]
    starts: Numbers
    """In the characters of the batch."""
    documents: Numbers
    """The row of the document of each; ascending."""
    bases: Numbers
    """Where the text of each document begins, in the characters of the batch."""
    outside: Numbers
    """Of each document: characters other than white space that are in no sentence."""

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> "Sentences":
        """Cut the texts of a batch of ``documents``."""
        documents = batch.column("text").to_pylist()
        column = batch.column("sentences")
        counts = pc.list_value_length(column).fill_null(0).to_numpy()
        structs = column.flatten()
        starts, ends = (structs.field(name).to_pylist() for name in ("start", "end"))
        texts: list[str] = []
        outside: list[int] = []
        for text, (begin, end) in zip(
            documents, pairwise(accumulate(counts.tolist(), initial=0)), strict=True
        ):
            inside = starts[begin:end], ends[begin:end]
            texts += [text[a:b] for a, b in zip(*inside, strict=True)]
            outside.append(_count_outside(text, *inside))
        lengths = np.fromiter(map(len, documents), np.int64, len(documents))
        bases = np.concatenate([[0], np.cumsum(lengths + 1)])[:-1]
        of = np.repeat(np.arange(len(documents)), counts)
        return cls(
            texts, np.array(starts, np.int64) + bases[of], of, bases, np.array(outside, np.int64)
        )


def _count_outside(text: str, starts: Sequence[int], ends: Sequence[int]) -> int:
    gaps = zip([0, *ends], [*starts, len(text)], strict=True)
    return sum(map(len, " ".join([text[a:b] for a, b in gaps]).split()))


@dataclass(frozen=True, slots=True, eq=False)
class PieceRow:
    """The pieces of sentences, in a row; P pieces, S sentences."""

    ids: npt.NDArray[np.int32]  # (P)
    starts: Numbers  # (P) in the characters of the batch; half-open
    ends: Numbers  # (P)
    is_word_start: npt.NDArray[np.bool_]  # (P)
    bounds: Numbers  # (S + 1) where the pieces of each sentence begin
    documents: Numbers  # (S) the row of its document

    @property
    def sizes(self) -> Numbers:
        """The number of pieces of each sentence."""
        return np.diff(self.bounds)

    def sentences_of(self, pieces: Numbers) -> Numbers:
        """The sentence of each piece."""
        return np.searchsorted(self.bounds, pieces, side="right") - 1

    def without(self, is_left_out: npt.NDArray[np.bool_]) -> "PieceRow":
        """Leave out sentences and their pieces."""
        if not is_left_out.any():
            return self
        sizes = self.sizes
        kept = np.repeat(~is_left_out, sizes)
        return PieceRow(
            self.ids[kept],
            self.starts[kept],
            self.ends[kept],
            self.is_word_start[kept],
            np.concatenate([[0], np.cumsum(sizes[~is_left_out])]),
            self.documents[~is_left_out],
        )


def encode(sentences: Sentences, tokenizer: Tokenizer) -> PieceRow:
    """Cut each sentence into pieces, as it stands."""
    texts = iter(sentences.texts)
    parts = [_in_a_row(tokenizer.encode(some)) for some in iter(lambda: _take(texts), [])] or [
        _in_a_row([])
    ]
    sizes, ids, starts, ends, is_word_start = map(np.concatenate, zip(*parts, strict=True))
    base = np.repeat(sentences.starts, sizes)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    return PieceRow(ids, base + starts, base + ends, is_word_start, bounds, sentences.documents)


def _take(texts: Iterator[str]) -> list[str]:
    return list(islice(texts, SENTENCES_AT_ONCE))


def _in_a_row(pieces: Sequence[Pieces]) -> tuple[npt.NDArray[Any], ...]:
    """Sizes, ids, starts, ends, and which begin a word."""
    sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
    nothing = np.empty(0, np.int32)
    ids = np.concatenate([nothing, *(of.ids for of in pieces)])
    starts = np.concatenate([nothing, *(of.starts for of in pieces)])
    ends = np.concatenate([nothing, *(of.ends for of in pieces)])
    words = np.concatenate([nothing, *(of.word_starts for of in pieces)])
    n_words = np.fromiter((len(of.word_starts) for of in pieces), np.int64, len(pieces))
    is_word_start = np.zeros(len(ids), np.bool_)
    is_word_start[np.repeat(np.cumsum(sizes) - sizes, n_words) + words] = True
    return sizes, ids, starts, ends, is_word_start


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Sentences, and the parts of those that are longer than an example; T parts."""

    row: PieceRow
    bounds: Numbers  # (T + 1) where the pieces of each begin
    documents: Numbers  # (T) the row of its document
    n_split: int
    """Sentences that have several parts."""
    n_cut_words: int
    """Cuts inside a word, for it is longer than an example."""

    def of(self, pieces: Numbers) -> Numbers:
        """The part of each piece."""
        return np.searchsorted(self.bounds, pieces, side="right") - 1


def split_long(row: PieceRow, length: int) -> Parts:
    """Split sentences of more than ``length`` pieces before the word that is too much.

    No two neighbouring parts of a sentence fit into ``length``. No sentence may be empty.
    """
    long = np.flatnonzero(row.sizes > length).tolist()
    cuts = [cut for sentence in long for cut in _cuts(row, sentence, length)]
    bounds = np.sort(np.concatenate([row.bounds, np.array(cuts, np.int64)]))
    documents = row.documents[row.sentences_of(bounds[:-1])]
    n_cut_words = len(cuts) - int(row.is_word_start[cuts].sum()) if cuts else 0
    return Parts(row, bounds, documents, len(long), n_cut_words)


def _cuts(row: PieceRow, sentence: int, length: int) -> Iterator[int]:
    begin, end = (int(bound) for bound in row.bounds[sentence : sentence + 2])
    words = begin + np.flatnonzero(row.is_word_start[begin:end])
    while end - begin > length:
        last = np.searchsorted(words, begin + length, side="right") - 1
        begin = int(words[last]) if last >= 0 and words[last] > begin else begin + length
        yield begin


def pack(parts: Parts, n_entities: Numbers, *, length: int, max_entities: int) -> Numbers:
    """Put as many neighbouring parts of a document into an example as it can hold.

    Returns the part that each example begins with. A part with more than ``max_entities``, which
    are given for each part, has an example of its own.
    """
    begins: list[int] = []
    document, pieces, entities = -1, 0, 0
    columns = (np.diff(parts.bounds).tolist(), parts.documents.tolist(), n_entities.tolist())
    for number, (size, of, n) in enumerate(zip(*columns, strict=True)):
        if of != document or pieces + size > length or entities + n > max_entities:
            begins.append(number)
            document, pieces, entities = of, 0, 0
        pieces += size
        entities += n
    return np.array(begins, np.int64)
