"""The subwords of a batch of documents as arrays, one text after the other.

Offsets count the characters of all texts of the batch, with one more character after each text. So
one search finds the subwords of all mentions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.segmentation.chinese_words import inner_characters
from corpora.tokenization.tokenizers import Tokenizer

SENTENCES_AT_ONCE = 4096
"""The sentences that the tokenizer cuts at once, which bounds the memory for long documents."""
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class BatchSentences:
    """The sentences of a batch of documents."""

    texts: list[str]
    starts: Ints
    """The start of each sentence, in characters of the batch."""
    documents: Ints
    """The row of the document of each sentence; ascending."""
    bases: Ints
    """The start of the text of each document, in characters of the batch."""
    outside: Ints
    """The number of characters of each document, without white space, that are in no sentence."""

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> "BatchSentences":
        """Cut the texts of a batch of ``documents`` into their sentences."""
        documents = batch.column("text").to_pylist()
        column = batch.column("sentences")
        counts = pc.list_value_length(column).fill_null(0).to_numpy()
        starts, ends = (column.flatten().field(name).to_pylist() for name in ("start", "end"))
        texts: list[str] = []
        outside: list[int] = []
        spans = pairwise(accumulate(counts.tolist(), initial=0))
        for text, (begin, end) in zip(documents, spans, strict=True):
            inside = starts[begin:end], ends[begin:end]
            texts += [text[a:b] for a, b in zip(*inside, strict=True)]
            outside.append(_count_outside(text, *inside))
        lengths = np.fromiter(map(len, documents), np.int64, len(documents))
        bases = np.cumsum(lengths + 1) - lengths - 1
        of = np.repeat(np.arange(len(documents)), counts)
        return cls(
            texts, np.array(starts, np.int64) + bases[of], of, bases, np.array(outside, np.int64)
        )


def _count_outside(text: str, starts: Sequence[int], ends: Sequence[int]) -> int:
    gaps = zip([0, *ends], [*starts, len(text)], strict=True)
    return sum(map(len, " ".join([text[a:b] for a, b in gaps]).split()))


@dataclass(frozen=True, slots=True, eq=False)
class SubwordRow:
    """P subwords in a row, and S spans of them: sentences, or parts of long sentences."""

    ids: npt.NDArray[np.int32]  # (P,)
    starts: Ints  # (P,) in characters of the batch; half-open
    ends: Ints  # (P,)
    is_word_start: Bools  # (P,)
    bounds: Ints  # (S + 1,) the index of the first subword of each span, and P
    documents: Ints  # (S,) the row of the document of each span

    @property
    def sizes(self) -> Ints:
        """The number of subwords of each span."""
        return np.diff(self.bounds)

    def spans_of(self, subwords: Ints) -> Ints:
        """Return the index of the span of each subword."""
        return np.searchsorted(self.bounds, subwords, side="right") - 1

    def without(self, is_left_out: Bools) -> "SubwordRow":
        """Return the row without some spans and their subwords."""
        kept = np.repeat(~is_left_out, self.sizes)
        return SubwordRow(
            self.ids[kept],
            self.starts[kept],
            self.ends[kept],
            self.is_word_start[kept],
            np.append(0, np.cumsum(self.sizes[~is_left_out])),
            self.documents[~is_left_out],
        )


def encode(sentences: BatchSentences, tokenizer: Tokenizer) -> SubwordRow:
    """Cut each sentence into subwords, as it stands."""
    n = len(sentences.texts)
    starts = range(0, n, SENTENCES_AT_ONCE)
    texts = (sentences.texts[start : start + SENTENCES_AT_ONCE] for start in starts)
    cut = [of for some in texts for of in tokenizer.encode(some)]
    sizes = np.fromiter(map(len, cut), np.int64, n)
    bounds = np.append(0, np.cumsum(sizes))
    nothing = np.empty(0, np.int32)
    ids, begins, ends, words = (
        np.concatenate([nothing, *columns])
        for columns in (
            [of.ids for of in cut],
            [of.starts for of in cut],
            [of.ends for of in cut],
            [of.word_starts for of in cut],
        )
    )
    n_words = np.fromiter((len(of.word_starts) for of in cut), np.int64, n)
    is_word_start = np.zeros(len(ids), np.bool_)
    is_word_start[np.repeat(bounds[:-1], n_words) + words] = True
    base = np.repeat(sentences.starts, sizes)
    return SubwordRow(ids, base + begins, base + ends, is_word_start, bounds, sentences.documents)


def with_chinese_words(row: SubwordRow, sentences: BatchSentences) -> SubwordRow:
    """Join the characters of each Chinese word, as jieba cuts them, to one word."""
    starts = zip(sentences.texts, sentences.starts.tolist(), strict=True)
    inner = [start + place for text, start in starts for place in inner_characters(text)]
    is_inner = np.isin(row.starts, np.array(inner, np.int64))
    return replace(row, is_word_start=row.is_word_start & ~is_inner)


def split_long(row: SubwordRow, length: int) -> SubwordRow:
    """Split sentences of more than ``length`` subwords before the word that does not fit.

    No two neighbouring parts of a sentence fit into ``length``. No sentence may be empty.
    """
    cuts: list[int] = []
    for sentence in np.flatnonzero(row.sizes > length).tolist():
        begin, end = row.bounds[sentence : sentence + 2].tolist()
        words = begin + np.flatnonzero(row.is_word_start[begin:end])
        while end - begin > length:
            last = np.searchsorted(words, begin + length, side="right") - 1
            begin = int(words[last]) if last >= 0 and words[last] > begin else begin + length
            cuts.append(begin)
    bounds = np.sort(np.append(row.bounds, np.array(cuts, np.int64)))
    return replace(row, bounds=bounds, documents=row.documents[row.spans_of(bounds[:-1])])


def pack(parts: SubwordRow, n_entities: Ints, *, length: int, max_entities: int) -> Ints:
    """Put as many neighbouring parts of a document into each example as it can hold.

    Returns the index of the part that each example begins with. ``n_entities`` is the number of
    entities of each part; a part with more than ``max_entities`` has an example of its own.
    """
    begins: list[int] = []
    document, subwords, entities = -1, 0, 0
    columns = (parts.sizes.tolist(), parts.documents.tolist(), n_entities.tolist())
    for part, (size, of, n) in enumerate(zip(*columns, strict=True)):
        if of != document or subwords + size > length or entities + n > max_entities:
            begins.append(part)
            document, subwords, entities = of, 0, 0
        subwords += size
        entities += n
    return np.array(begins, np.int64)
