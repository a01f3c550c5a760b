"""Subwords of texts as arrays, computed fast with a table of what was cut before.

BERT's normaliser and pre-tokenizer look at nothing beyond a space. So the subwords of a text are
those of its *chunks*, the characters between spaces and line ends, one after the other. Most chunks
have occurred before, and are looked up in a table. BERT first puts spaces around each Chinese
character, so in Chinese text each one is a chunk.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

MAX_CACHED = 1 << 21
"""The most subwords, and chunks, in a table (about 200 MB); a table with more is emptied."""

_GROUP = 64  # new chunks that the library cuts as one text; each text costs as much as ten words

_HAN = (0x3400, 0x9FFF)  # the common Chinese characters, and few others
_HAN_CHUNKS = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]|[^ \u3400-\u4dbf\u4e00-\u9fff]+| ")
_HAN_RATIO = 0.1  # least ratio of Han characters for a text to be cut at each; else that is slow

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Subwords:
    """The subwords of one text, without special ones, as arrays of int32."""

    ids: Ints
    starts: Ints
    """In code points of the text, as ``ends``; half-open."""
    ends: Ints
    word_starts: Ints
    """The indices of the subwords that begin a word, ascending."""

    def __len__(self) -> int:
        """Count subwords."""
        return len(self.ids)


class SubwordTable:
    """A table of the subwords of all chunks so far, by which texts are cut.

    ``begins_word`` flags, by id, the subwords that begin a word.
    """

    def __init__(self, backend: "Tokenizer", begins_word: Bools) -> None:
        self._backend, self._begins_word = backend, begins_word
        self._clear()

    def _clear(self) -> None:
        self._numbers = _Numbers()
        self._ids, self._starts, self._ends = _Column(), _Column(), _Column()
        self._firsts, self._counts, self._lengths = _Column(), _Column(), _Column()

    def cut(self, texts: Sequence[str]) -> list[Subwords]:
        """Return the subwords of each text."""
        if not texts:
            return []
        chunks, gap = _chunks_of(texts)
        numbers = self._look_up(chunks)
        counts = self._counts.values[numbers]
        n_before = _starts(counts)  # subwords before each chunk, and their sum
        lengths = self._lengths.values[numbers] + gap
        at = np.repeat(self._firsts.values[numbers] - n_before[:-1], counts)
        at += np.arange(n_before[-1])
        text_starts = _starts(_lengths(texts) + 1)
        chunk_starts = _starts(lengths)
        cuts = n_before[np.searchsorted(chunk_starts, text_starts)]
        shifts = np.repeat(chunk_starts[:-1], counts)
        shifts -= np.repeat(text_starts[:-1], np.diff(cuts))
        ids, starts, ends = (c.values[at] for c in (self._ids, self._starts, self._ends))
        shifts = shifts.astype(np.int32)
        return _split(ids, starts + shifts, ends + shifts, begins=self._begins_word[ids], cuts=cuts)

    def _look_up(self, chunks: list[str]) -> NDArray[np.int64]:
        """Return the numbers of chunks in the table; new chunks are cut and added."""
        if max(len(self._ids.values), len(self._numbers)) > MAX_CACHED:
            self._clear()
        try:
            numbers = np.fromiter(map(self._numbers.__getitem__, chunks), np.int64, len(chunks))
            self._add(self._numbers.new)
        except BaseException:
            self._clear()  # some chunks may have a number but no subwords
            raise
        self._numbers.new = []
        return numbers

    def _add(self, chunks: list[str]) -> None:
        if not chunks:
            return
        groups = [
            " ".join(chunks[start : start + _GROUP]) for start in range(0, len(chunks), _GROUP)
        ]
        encodings = _encode(self._backend, groups)
        subwords = np.fromiter(map(len, encodings), np.int64, len(encodings))
        ids, starts, ends = flatten(encodings, subwords)
        shifts = np.repeat(_starts(_lengths(groups) + 1)[:-1], subwords)
        chunk_starts = _starts(_lengths(chunks) + 1)
        of = np.searchsorted(chunk_starts, starts + shifts, side="right") - 1
        shifts -= chunk_starts[of]
        counts = np.bincount(of, minlength=len(chunks))
        self._firsts.extend(len(self._ids.values) + _starts(counts)[:-1])
        self._counts.extend(counts)
        self._lengths.extend(np.diff(chunk_starts) - 1)
        self._ids.extend(ids)
        self._starts.extend(starts + shifts)
        self._ends.extend(ends + shifts)


def _chunks_of(texts: Sequence[str]) -> tuple[list[str], int]:
    """Return the chunks of all texts, and how many characters (spaces) stand after each."""
    text = "\n".join([*texts, ""]).replace("\n", " ")
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    n_han = np.count_nonzero((codes >= _HAN[0]) & (codes <= _HAN[1]))
    if n_han > _HAN_RATIO * len(codes):
        return _HAN_CHUNKS.findall(text), 0
    return text.split(" "), 1


class _Numbers(dict[str, int]):
    """A mapping that numbers strings in the order of their first look-up."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []

    def __missing__(self, key: str) -> int:
        self.new.append(key)
        number = self[key] = len(self)
        return number


class _Column:
    """An array of int32 that grows."""

    def __init__(self) -> None:
        self._held = np.empty(1 << 10, np.int32)
        self._n = 0

    @property
    def values(self) -> Ints:
        return self._held[: self._n]

    def extend(self, values: NDArray[np.integer]) -> None:
        end = self._n + len(values)
        if end > len(self._held):
            held = np.empty(2 * end, np.int32)
            held[: self._n] = self.values
            self._held = held
        self._held[self._n : end] = values
        self._n = end


@contextmanager
def clear_errors(what: str) -> Iterator[None]:
    """Raise ``CorpusError`` for what the tokenizers library raises, panics of Rust included."""
    try:
        yield
    except (CorpusError, MemoryError):
        raise
    except BaseException as error:
        is_panic = type(error).__module__ == "pyo3_runtime"  # which derives from BaseException
        if not is_panic and not isinstance(error, Exception):
            raise
        raise CorpusError(f"{what} ({error}). Get the tokenizer again, or use another.") from error


def _encode(backend: "Tokenizer", texts: list[str]) -> "list[Encoding]":
    """Cut texts; raise ``UnicodeError`` where a text has half a surrogate pair."""
    try:
        with clear_errors("the tokenizer cannot cut a text"):
            return backend.encode_batch(texts, add_special_tokens=False)
    except CorpusError:
        "".join(texts).encode()
        raise


def flatten(encodings: Sequence["Encoding"], counts: NDArray[np.int64]) -> tuple[Ints, Ints, Ints]:
    """Concatenate ids, starts and ends of encodings, which have ``counts`` subwords."""
    n = int(counts.sum())
    ids = np.fromiter(chain.from_iterable(e.ids for e in encodings), np.int32, n)
    pairs = chain.from_iterable(e.offsets for e in encodings)
    offsets = np.fromiter(chain.from_iterable(pairs), np.int32, 2 * n).reshape(n, 2)
    return ids, offsets[:, 0], offsets[:, 1]


def cut_all(
    backend: "Tokenizer", texts: Sequence[str], begins_word: Bools | None = None
) -> list[Subwords]:
    """Return the subwords of each text, without a table: for tokenizers of any kind.

    Words are those of the library, unless ``begins_word`` flags by id which subwords begin a word.
    """
    encodings = _encode(backend, list(texts))
    counts = np.fromiter(map(len, encodings), np.int64, len(encodings))
    ids, starts, ends = flatten(encodings, counts)
    cuts = _starts(counts)
    if begins_word is not None:
        return _split(ids, starts, ends, begins=begins_word[ids], cuts=cuts)
    words = np.fromiter(chain.from_iterable(e.word_ids for e in encodings), np.int32, len(ids))
    begins = np.diff(words, prepend=-1) != 0
    begins[cuts[:-1][counts > 0]] = True
    starts = _without_spaces(texts, starts, ends, counts=counts)
    return _split(ids, starts, ends, begins=begins, cuts=cuts)


def _without_spaces(
    texts: Sequence[str], starts: Ints, ends: Ints, *, counts: NDArray[np.int64]
) -> Ints:
    """Move starts behind spaces, which byte-level BPE and Unigram take into the next subword.

    A subword of nothing but spaces keeps its last one.
    """
    is_space = np.fromiter(map(str.isspace, chain.from_iterable(texts)), np.bool_)
    shifts = np.repeat(_starts(_lengths(texts))[:-1], counts)
    starts, last = starts + shifts, ends + shifts - 1
    while (inside := (starts < last) & is_space[np.minimum(starts, last)]).any():
        starts[inside] += 1
    return (starts - shifts).astype(np.int32)


def _split(
    ids: Ints, starts: Ints, ends: Ints, *, begins: Bools, cuts: NDArray[np.int64]
) -> list[Subwords]:
    """Cut the arrays of all texts into those of each text."""
    begun = np.flatnonzero(begins)
    word_cuts = np.searchsorted(begun, cuts)
    word_starts = (begun - np.repeat(cuts[:-1], np.diff(word_cuts))).astype(np.int32)
    edges, word_edges = cuts.tolist(), word_cuts.tolist()
    return [
        Subwords(ids[a:b], starts[a:b], ends[a:b], word_starts[c:d])
        for a, b, c, d in zip(edges, edges[1:], word_edges, word_edges[1:], strict=False)
    ]


def _lengths(strings: Iterable[str]) -> NDArray[np.int64]:
    return np.fromiter(map(len, strings), np.int64)


def _starts(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Compute from lengths of adjacent pieces the start of each, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
