"""Sentences of ``ner`` datasets, their subwords, and the windows in which these are read.

A *word* here is a token of a ``ner`` row. The words of a sentence are joined by single spaces, and
the tokenizer cuts the result into subwords. A subword belongs to the word in which it starts; one
that begins with the space before a word belongs to that word. A word without subwords (control
characters, the empty string) gets one [UNK]. Each sentence is cut alone: for tokenizers whose
subwords mark spaces, the first word of a sentence has no space before it, whether the sentence is
read with context or without. If a word is of a script without spaces (Han, Kana, Thai …), a subword
that is only the space before it is left out: running text has no space there, and as the first
subword of the word it would carry no information.

The subwords of a set are one array in which the sentences of a document are adjacent, so that a
window, context included, is a range of this array.

Shapes: N sentences, W words, Q subwords, B windows; V subwords of a vocabulary, D width.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.segmentation.scripts import UNSPACED, WIDE
from corpora.tokenization.tokenizers import Special, Subwords, Tokenizer
from modeling.config import ConfigError
from modeling.data.batch import borders_of, ranges
from modeling.data.rng import Integers
from modeling.tagging_config import SentencesConfig

Flags = NDArray[np.bool_]
Indices = NDArray[np.int32] | NDArray[np.int64]
"""Indices that are stored in four bytes each if they fit (``wide``)."""

_NO_SPACE: Final = [
    np.array(sorted(map(ord, (UNSPACED + WIDE)[at::3])), np.uint32) for at in (0, 2)
]
"""The first and the last code point of each range of the scripts without spaces."""
_AT_ONCE: Final = 4096  # sentences of a call of the tokenizer


def word_counts(sentences: Iterable[Sentence]) -> Integers:
    """Count the words of each sentence, shape (N,)."""
    return np.array([len(sentence.tokens) for sentence in sentences], np.int64)


def document_numbers(sentences: Iterable[Sentence]) -> Integers:
    """Number the document of each sentence, shape (N,), in the order in which documents come."""
    numbers: dict[str, int] = {}
    found = (numbers.setdefault(one.document_id, len(numbers)) for one in sentences)
    return np.fromiter(found, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SentenceWindows:
    """The windows of all sentences, sentence by sentence, from left to right."""

    begins: Integers
    """(N + 1,) sentence ``n`` has the windows ``begins[n]`` to ``begins[n + 1]``, half-open."""
    starts: Integers
    """(B,) the index of the first subword of each window."""
    ends: Integers
    """(B,) the index of its last subword, plus one."""

    @classmethod
    def cut(cls, starts: Integers, ends: Integers, *, room: int, overlap: int) -> Self:
        """Cut sentences, ranges of subwords, into windows of at most ``room`` subwords.

        A sentence that fits is one window, even where it is empty. A longer one is cut into as few
        windows as possible that share at least ``overlap`` subwords with the next; they are of one
        size, evenly spread. Every run of at most ``overlap + 1`` subwords lies in one of them.
        """
        lengths = ends - starts
        counts = np.maximum(1, -(-(lengths - overlap) // (room - overlap)))
        counts[lengths <= room] = 1
        sizes = -(-(lengths + (counts - 1) * overlap) // counts)
        begins = borders_of(counts)
        of = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(of)) - begins[of]
        firsts = starts[of] + place * (lengths - sizes)[of] // np.maximum(counts - 1, 1)[of]
        return cls(begins, firsts, firsts + sizes[of])

    def with_context(
        self, starts: Integers, ends: Integers, *, room: int, most: int | None = None
    ) -> Self:
        """Add the subwords before and after, up to the document's ends.

        The side that has fewer leaves what it does not need to the other.

        Args:
            starts: (N,) where the document of each sentence begins.
            ends: (N,) where it ends.
            room: subwords of a window.
            most: subwords that are added to a window, on both sides together.
        """
        of = np.repeat(np.arange(len(starts)), np.diff(self.begins))
        left, right = self.starts - starts[of], ends[of] - self.ends
        budget = room - (self.ends - self.starts)
        if most is not None:
            budget = np.minimum(budget, most)
        is_left_less = left < right
        n_less = np.minimum(np.minimum(left, right), budget // 2)
        n_more = np.minimum(np.maximum(left, right), budget - n_less)
        n_left = np.where(is_left_less, n_less, n_more)
        n_right = np.where(is_left_less, n_more, n_less)
        return type(self)(self.begins, self.starts - n_left, self.ends + n_right)

    def of_words(self, begins: Integers, starts: Indices, ends: Indices) -> Integers:
        """Choose the window in which each word is read, shape (W,).

        Of the windows that hold its first subword, it is the one in which the word is furthest from
        both edges; of equals, the first. Only a word that no window holds wholly is cut by its
        window.

        Args:
            begins: (N + 1,) words of each sentence.
            starts: (W,) subwords of each word, half-open.
            ends: (W,)
        """
        chosen = np.repeat(self.begins[:-1], np.diff(begins))
        for sentence in np.flatnonzero(np.diff(self.begins) > 1).tolist():
            own = slice(begins[sentence], begins[sentence + 1])
            self._choose(chosen[own], sentence, starts=starts[own], ends=ends[own])
        return chosen

    def _choose(self, chosen: Integers, sentence: int, *, starts: Indices, ends: Indices) -> None:
        """Write the windows in which the words of one sentence are read into ``chosen``."""
        furthest = np.full(len(starts), np.iinfo(np.int64).min)
        for window in range(self.begins[sentence], self.begins[sentence + 1]):
            edges = self.starts[window], self.ends[window]
            held = slice(*np.searchsorted(starts, edges))
            distance = np.minimum(starts[held] - edges[0], edges[1] - ends[held])
            is_further = distance > furthest[held]
            furthest[held][is_further] = distance[is_further]
            chosen[held][is_further] = window


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSentences:
    """The subwords and the windows of a set of sentences, from which batches are made."""

    sentences: Sequence[Sentence]
    special: Special
    subwords: NDArray[np.int32]
    """(Q,) ids, without [CLS] and [SEP], sentence by sentence, document by document."""
    begins_word: Flags
    """(Q,) whether each subword begins a word of the pre-tokenizer."""
    word_begins: Integers
    """(N + 1,) sentence ``n`` has the words ``word_begins[n]`` to ``word_begins[n + 1]``."""
    word_starts: Indices
    """(W,) the index of the first subword of each word."""
    word_ends: Indices
    """(W,) the index of its last subword, plus one; each word has at least one."""
    is_unknown: Flags
    """(W,) whether the tokenizer gave the word no subword, so that it has [UNK]."""
    windows: SentenceWindows
    word_windows: Indices
    """(W,) the index of the window in which each word is read."""
    counts: dict[str, int] = field(default_factory=dict)
    """``sentences.in_windows``: sentences of more than one window; ``words.unknown``: words without
    a subword of their own; ``words.cut``: words that no window holds whole, and that are read in
    part."""

    def __len__(self) -> int:
        return len(self.word_begins) - 1

    @property
    def n_words(self) -> Integers:
        """(N,) the number of words of each sentence."""
        return np.diff(self.word_begins)

    @property
    def n_windows(self) -> Integers:
        """(N,) the number of windows of each sentence."""
        return np.diff(self.windows.begins)

    @property
    def longest(self) -> Integers:
        """(N,) the subwords of the longest window of each sentence, [CLS] and [SEP] included."""
        sizes = self.windows.ends - self.windows.starts + 2
        longest: Integers = np.maximum.reduceat(sizes, self.windows.begins[:-1])
        return longest


@dataclass(frozen=True, slots=True)
class UsedSubwords:
    """The U subwords of a large vocabulary that occur in sentences, special ones included.

    Only these are trained. A multilingual encoder has 250,000 subwords, of which a training set has
    some thousand. The other rows of the embedding have no gradient. Leaving them out of the model
    during training saves memory for gradients and the optimizer's state, and space in checkpoints.
    The result is the same, except that these rows have no weight decay.
    """

    ids: NDArray[np.int64]
    """(U,) ids in the vocabulary, ascending; the index of each is its id in training."""

    @classmethod
    def of(cls, encoded: Iterable[EncodedSentences]) -> Self:
        """Collect the subwords of sentences, and the special ones."""
        parts = [part for e in encoded for part in (np.array(e.special), _distinct(e.subwords))]
        return cls(np.unique(np.concatenate(parts)).astype(np.int64))

    def __len__(self) -> int:
        """Return U, the number of used subwords."""
        return len(self.ids)

    def renumber(self, encoded: EncodedSentences) -> EncodedSentences:
        """Replace ids of the vocabulary by ids of training."""
        places = np.searchsorted(self.ids, encoded.subwords).astype(np.int32)
        special = Special(*np.searchsorted(self.ids, np.array(encoded.special)).tolist())
        return replace(encoded, subwords=places, special=special)

    def take(self, table: Tensor) -> Tensor:
        """Select the rows of the used subwords, (V, D) -> (U, D)."""
        return table.index_select(0, torch.from_numpy(self.ids))

    def put(self, rows: Tensor, table: Tensor) -> None:
        """Write rows (U, D) back to the table (V, D), which is changed."""
        table.index_copy_(0, torch.from_numpy(self.ids), rows.to(table))


class SentenceEncoder:
    """A converter of words into subwords, and of sentences into windows.

    Args:
        tokenizer: the tokenizer of the encoder that will read the sentences.
        config: the settings of windows; their length must be set. An overlap of more than half a
            window is reduced to half a window.

    Raises ``ConfigError`` for a length of less than 3, or a negative overlap.
    """

    def __init__(self, tokenizer: Tokenizer, config: SentencesConfig) -> None:
        length, overlap = config.max_length, config.overlap
        if length < 3:
            raise ConfigError(f"data.max_length={length}: [CLS], a subword and [SEP] need 3.")
        if overlap < 0:
            raise ConfigError(f"data.overlap={overlap}: windows cannot share less than nothing.")
        self.tokenizer, self.context, self.room = tokenizer, config.context, length - 2
        self.overlap = min(overlap, self.room // 2)
        self.max_context = config.max_context or None

    def encode(self, sentences: Sequence[Sentence]) -> EncodedSentences:
        """Cut sentences into subwords, and these into windows."""
        documents = document_numbers(sentences)
        order = np.argsort(documents, kind="stable")
        stored = [sentences[number] for number in order.tolist()]
        blocks = [
            _cut(stored[start : start + _AT_ONCE], self.tokenizer)
            for start in range(0, max(len(stored), 1), _AT_ONCE)
        ]
        subwords, begins_word, n_words, n_subwords, unknown = map(
            np.concatenate, zip(*blocks, strict=True)
        )
        del blocks  # which take as much again
        places, stored_begins = np.argsort(order, kind="stable"), borders_of(n_words)
        words, word_begins = (
            ranges(stored_begins[places], n_words[places]),
            borders_of(n_words[places]),
        )
        borders = small(borders_of(n_subwords))
        starts, ends = (borders[stored_begins[at]].astype(np.int64) for at in (places, places + 1))
        windows = self._windows(starts, ends, documents=documents)
        word_starts, word_ends, is_unknown = borders[:-1][words], borders[1:][words], unknown[words]
        word_windows = small(windows.of_words(word_begins, word_starts, word_ends))
        return EncodedSentences(
            sentences=sentences,
            special=self.tokenizer.special,
            subwords=subwords,
            begins_word=begins_word,
            word_begins=word_begins,
            word_starts=word_starts,
            word_ends=word_ends,
            is_unknown=is_unknown,
            windows=windows,
            word_windows=word_windows,
            counts={
                "sentences.in_windows": int(np.count_nonzero(np.diff(windows.begins) > 1)),
                "words.unknown": int(np.count_nonzero(is_unknown)),
                "words.cut": int(np.count_nonzero(word_ends > windows.ends[word_windows])),
            },
        )

    def _windows(self, starts: Integers, ends: Integers, *, documents: Integers) -> SentenceWindows:
        windows = SentenceWindows.cut(starts, ends, room=self.room, overlap=self.overlap)
        if self.context == "none" or not len(documents):
            return windows
        n = int(documents.max()) + 1
        firsts, lasts = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
        np.minimum.at(firsts, documents, starts)
        np.maximum.at(lasts, documents, ends)
        return windows.with_context(
            firsts[documents], lasts[documents], room=self.room, most=self.max_context
        )


def _distinct(ids: NDArray[np.int32]) -> Integers:
    """Return the distinct ids, ascending, without the copy that ``unique`` sorts."""
    is_used = np.zeros(int(ids.max(initial=-1)) + 1, np.bool_)
    is_used[ids] = True
    return np.flatnonzero(is_used)


def small(indices: Integers) -> Indices:
    """Store indices in four bytes each, if they fit."""
    return indices.astype(np.int32) if indices.max(initial=0) < 1 << 31 else indices


def wide(indices: Indices) -> Integers:
    """Return indices in eight bytes each, to compute with."""
    return indices.astype(np.int64, copy=False)


def _cut(
    sentences: Sequence[Sentence], tokenizer: Tokenizer
) -> tuple[NDArray[np.int32], Flags, Integers, Integers, Flags]:
    """Cut sentences into subwords.

    Returns the subwords, which of them begin a word of the pre-tokenizer, the number of words of
    each sentence, the number of subwords of each word, and which words are unknown.
    """
    n_words = word_counts(sentences)
    sizes = np.fromiter(map(len, chain.from_iterable(s.tokens for s in sentences)), np.int64)
    cut = _encode(sentences, tokenizer)
    n_cut = np.array([len(subwords) for subwords in cut], np.int64)
    # Offsets in all texts, joined by single spaces: words end at `ends`, texts begin at `shifts`.
    borders, edges = borders_of(sizes + 1), borders_of(n_words)
    shifts, ends = borders[edges[:-1]], borders[1:] - 1
    starts = _joined([subwords.starts for subwords in cut]) + np.repeat(shifts, n_cut)
    words = np.searchsorted(ends, starts, side="right")
    words = np.maximum.accumulate(np.minimum(words, np.repeat(edges[1:] - 1, n_cut)))
    cut_ids, begins = _joined([subwords.ids for subwords in cut]), np.zeros(len(words), np.bool_)
    begun = [subwords.word_starts for subwords in cut]
    begins[_joined(begun) + np.repeat(borders_of(n_cut)[:-1], list(map(len, begun)))] = True
    blanks = tokenizer.blanks[cut_ids]
    if blanks.any():
        kept = _without_blanks(sentences, words, blanks, begins=begins)
        words, cut_ids, begins = words[kept], cut_ids[kept], begins[kept]
    counts = np.bincount(words, minlength=len(sizes))
    n_subwords = np.maximum(counts, 1)
    at = borders_of(n_subwords)[words] + np.arange(len(words)) - borders_of(counts)[words]
    ids = np.full(int(n_subwords.sum()), tokenizer.special.unk, np.int32)
    begins_word = np.ones(len(ids), np.bool_)
    ids[at], begins_word[at] = cut_ids, begins
    return ids, begins_word, n_words, n_subwords, counts == 0


def _without_blanks(
    sentences: Sequence[Sentence], words: Integers, blanks: Flags, *, begins: Flags
) -> Flags:
    """Tell which subwords are kept, and correct ``begins``, which subwords begin a word.

    ``words`` has the index of the word of each subword. Blank subwords of a word in a script
    without spaces are left out if the word has others; then the first that is kept begins the word.
    """
    tokens = list(chain.from_iterable(sentence.tokens for sentence in sentences))
    text = "".join(token[:1] or " " for token in tokens)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    n_other = np.bincount(words[~blanks], minlength=len(tokens))
    kept = ~(blanks & (_need_no_space(codes) & (n_other > 0))[words])
    changed = np.unique(words[~kept])
    begins[np.flatnonzero(kept)[np.searchsorted(words[kept], changed)]] = True
    return kept


def _need_no_space(codes: NDArray[np.uint32]) -> Flags:
    """Tell which code points are of a script without spaces, or a mark of one."""
    firsts, lasts = _NO_SPACE
    at = np.searchsorted(firsts, codes, side="right") - 1
    return (at >= 0) & (codes <= lasts[at])


def _encode(sentences: Sequence[Sentence], tokenizer: Tokenizer) -> Sequence[Subwords]:
    texts = [" ".join(sentence.tokens) for sentence in sentences]
    try:
        return tokenizer.encode(texts)
    except (UnicodeError, CorpusError):  # the tokenizers library may raise either
        for sentence, text in zip(sentences, texts, strict=True):
            try:
                text.encode()
            except UnicodeError as error:
                raise CorpusError(
                    f"{sentence.id}: has half a surrogate pair ({error}). Repair the text, or "
                    "replace it: text.encode('utf-8', 'replace').decode()."
                ) from error
        raise


def _joined(columns: Sequence[NDArray[np.int32]]) -> Integers:
    return np.concatenate([np.zeros(0, np.int32), *columns]).astype(np.int64)
