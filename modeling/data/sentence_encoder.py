"""The pieces of words, and the windows of sentences.

A *word* here is a token of a ``ner`` row. The words of a sentence are joined by single spaces and
cut by the tokenizer; a piece belongs to the word in which it starts, or before which, where it
begins with the space. A word that has no piece then (control characters, the empty string) gets
one [UNK]. Each sentence is cut alone: where pieces mark spaces, its first word has none before
it, be it read with context or without.

Shapes: N sentences, W words, Q pieces, B windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Special, Tokenizer
from modeling.config import ConfigError
from modeling.data.chance import Integers
from modeling.data.masking import ranges
from modeling.data.sentences import SentenceSet
from modeling.data.tagset import TagSet
from modeling.data.windows import Windows

Flags = NDArray[np.bool_]

_AT_ONCE: Final = 4096  # sentences that are cut into pieces at once


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSentences:
    """The pieces of a set of sentences, and their windows: all that batches are made of."""

    sentences: SentenceSet
    special: Special
    pieces: NDArray[np.int32]
    """(Q,) ids, without special pieces, sentence by sentence; a document's sentences together."""
    begins_word: Flags
    """(Q,) whether a piece begins a word of the pre-tokenizer."""
    word_begins: Integers
    """(N + 1,) the words of sentence ``n`` are those from ``word_begins[n]``."""
    word_starts: Integers
    """(W,) pieces of each word, half-open; at least one."""
    word_ends: Integers
    """(W,)"""
    is_unknown: Flags
    """(W,) whether the word has no piece of its own, but [UNK]."""
    windows: Windows
    word_windows: Integers
    """(W,) in which each is read."""
    counts: dict[str, int] = field(default_factory=dict)
    """``sentences.in_windows``: longer than a window; ``words.unknown``: without a piece of their
    own; ``words.cut``: longer than a window, or than windows overlap, and read in part."""

    def __len__(self) -> int:
        """How many sentences."""
        return len(self.word_begins) - 1

    @property
    def n_words(self) -> Integers:
        """(N,) words of each sentence."""
        return np.diff(self.word_begins)

    @property
    def n_windows(self) -> Integers:
        """(N,) windows of each sentence."""
        return np.diff(self.windows.begins)

    @property
    def longest(self) -> Integers:
        """(N,) pieces of the longest window of each sentence, [CLS] and [SEP] included."""
        sizes = self.windows.ends - self.windows.starts + 2
        longest: Integers = np.maximum.reduceat(sizes, self.windows.begins[:-1])
        return longest

    def tags(self, tagset: TagSet) -> Integers:
        """(W,) the gold tags of all words; what is of a label that is not the tagger's is O."""
        codes = [np.zeros(0, np.int64)]
        codes += [tagset.encode(sentence.tags) for sentence in self.sentences]
        return np.concatenate(codes)


class SentenceEncoder:
    """Cuts words into pieces, and sentences into windows.

    Args:
        tokenizer: of the encoder that will read them.
        max_length: pieces of a window, [CLS] and [SEP] included.
        overlap: pieces that windows of a sentence share, at least; where that is more than half a
            window, half a window.
        context: ``document``: windows are filled with what stands before and after.
        max_context: pieces of it, on both sides of a window together; 0: as many as fit.

    Raises ``ConfigError`` for a ``max_length`` that leaves no room.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        max_length: int,
        overlap: int = 64,
        context: Literal["none", "document"] = "none",
        max_context: int = 0,
    ) -> None:
        self.room = max_length - 2
        if self.room < 1:
            raise ConfigError(f"data.max_length={max_length}: [CLS], a piece and [SEP] need 3.")
        if overlap < 0:
            raise ConfigError(f"data.overlap={overlap}: windows cannot share less than nothing.")
        self.tokenizer, self.context = tokenizer, context
        self.overlap = min(overlap, self.room // 2)
        self.max_context = max_context or None

    def encode(self, sentences: Sequence[Sentence]) -> EncodedSentences:
        """Encode a set; what is no ``SentenceSet`` is made one."""
        if not isinstance(sentences, SentenceSet):
            sentences = SentenceSet.of(sentences)
        order = np.argsort(sentences.documents, kind="stable")
        stored = _Stored.of([sentences[number] for number in order.tolist()], self.tokenizer)
        places = np.argsort(order, kind="stable")
        n_words = np.diff(stored.word_begins)
        words = ranges(stored.word_begins[places], n_words[places])
        word_begins = _offsets(n_words[places])
        borders = _offsets(stored.n_pieces)
        starts, ends = borders[stored.word_begins[places]], borders[stored.word_begins[places + 1]]
        windows = self._windows(starts, ends, documents=sentences.documents)
        word_starts, word_ends = borders[:-1][words], borders[1:][words]
        word_windows = windows.of_words(word_begins, word_starts, word_ends)
        is_unknown = stored.is_unknown[words]
        return EncodedSentences(
            sentences=sentences,
            special=self.tokenizer.special,
            pieces=stored.pieces,
            begins_word=stored.begins_word,
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

    def _windows(self, starts: Integers, ends: Integers, *, documents: Integers) -> Windows:
        windows = Windows.cut(starts, ends, room=self.room, overlap=self.overlap)
        if self.context == "none" or not len(documents):
            return windows
        n = int(documents.max()) + 1
        firsts, lasts = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
        np.minimum.at(firsts, documents, starts)
        np.maximum.at(lasts, documents, ends)
        return windows.with_context(
            firsts[documents], lasts[documents], room=self.room, most=self.max_context
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """Words and pieces of sentences, one after the other."""

    pieces: NDArray[np.int32]
    begins_word: Flags
    word_begins: Integers
    """(N + 1,)"""
    n_pieces: Integers
    """(W,)"""
    is_unknown: Flags
    """(W,)"""

    @classmethod
    def of(cls, sentences: Sequence[Sentence], tokenizer: Tokenizer) -> Self:
        blocks = [
            _cut(sentences[start : start + _AT_ONCE], tokenizer)
            for start in range(0, max(len(sentences), 1), _AT_ONCE)
        ]
        pieces, begins_word, n_words, n_pieces, is_unknown = map(
            np.concatenate, zip(*blocks, strict=True)
        )
        return cls(pieces, begins_word, _offsets(n_words), n_pieces, is_unknown)


def _cut(
    sentences: Sequence[Sentence], tokenizer: Tokenizer
) -> tuple[NDArray[np.int32], Flags, Integers, Integers, Flags]:
    """Pieces, which of them begin a word, words of each sentence, pieces of each word, unknown."""
    n_words = np.array([len(sentence.tokens) for sentence in sentences], np.int64)
    sizes = np.fromiter(map(len, chain.from_iterable(s.tokens for s in sentences)), np.int64)
    cut = _encode(sentences, tokenizer)
    n_cut = np.array([len(pieces) for pieces in cut], np.int64)
    # All texts as if joined by single spaces, too: words end at `ends`, texts begin at `shifts`.
    borders, edges = _offsets(sizes + 1), _offsets(n_words)
    shifts, ends = borders[edges[:-1]], borders[1:] - 1
    starts = _joined([pieces.starts for pieces in cut]) + np.repeat(shifts, n_cut)
    words = np.searchsorted(ends, starts, side="right")
    words = np.minimum(words, np.repeat(edges[1:] - 1, n_cut))
    words = np.maximum.accumulate(words)
    counts = np.bincount(words, minlength=len(sizes))
    n_pieces = np.maximum(counts, 1)
    firsts = np.cumsum(n_pieces) - n_pieces
    at = firsts[words] + np.arange(len(words)) - (np.cumsum(counts) - counts)[words]
    ids = np.full(int(n_pieces.sum()), tokenizer.special.unk, np.int32)
    ids[at] = _joined([pieces.ids for pieces in cut])
    begins_word = np.ones(len(ids), np.bool_)
    begins_word[at] = False
    before = np.cumsum(n_cut) - n_cut
    begun = _joined([p.word_starts for p in cut])
    begins_word[at[begun + np.repeat(before, [len(p.word_starts) for p in cut])]] = True
    return ids, begins_word, n_words, n_pieces, counts == 0


def _encode(sentences: Sequence[Sentence], tokenizer: Tokenizer) -> Sequence[Any]:
    texts = [" ".join(sentence.tokens) for sentence in sentences]
    try:
        return tokenizer.encode(texts)
    except (UnicodeError, CorpusError):  # whatever the library made of it
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


def _offsets(sizes: Integers) -> Integers:
    """Where each begins, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
