"""Exact counts of all frequent strings and of their neighbours, in bounded memory.

Every place where a string may begin is a *window*: the first two symbols, those that follow, and
the one before. Windows are divided by their first two symbols into *ranges* of about equal size, so
that all occurrences of a string are in one range, and each range can be counted alone.

The windows of a range are sorted by their first two symbols, and those of rare pairs are dropped.
The others are sorted by pair and third symbol, and so on. Nothing is lost, since no string is more
frequent than its beginning. Each sort gives the counts of the strings of one length, and the right
neighbours of the strings that are one symbol shorter; left neighbours take another sort. Strings
are numbered in the order of the sort, so that the next key is one integer, whatever the length.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.lexicon.streams import BOUNDARY, LINE, Ids, Ints
from corpora.matching.arrays import run_begins

RANGE_WINDOWS = 1 << 21
"""The approximate number of windows of a range; counting takes 100 bytes for each."""
CHUNK = 1 << 20
"""The number of places of a stream whose windows are made at once."""

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Firsts:
    """The symbols that are frequent in a scope, with which its strings may begin."""

    keys: Ints
    """``scope * n_symbols + symbol``, ascending; the index of a key is the number of the symbol."""
    counts: Ints
    n_symbols: int
    """A number above the largest symbol."""

    def numbers(self, ids: Ids, scopes: Ints) -> Ints:
        """Return the number of each symbol of a stream in its scope; -1 where not frequent."""
        if not len(self.keys):
            return np.full(len(ids), -1, np.int64)
        found = np.full(len(ids), -1, np.int64)
        begins = run_begins(scopes)
        if len(begins) * self.n_symbols < len(ids):
            for begin, end in pairwise([*begins, len(ids)]):
                found[begin:end] = self._of_scope(int(scopes[begin]))[ids[begin:end]]
            return found
        keys = scopes * self.n_symbols + ids
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, places, -1)

    def _of_scope(self, scope: int) -> Ints:
        """Return the number of each symbol in a scope; -1 where it is not frequent."""
        base = scope * self.n_symbols
        begin, end = np.searchsorted(self.keys, [base, base + self.n_symbols])
        numbers = np.full(self.n_symbols, -1, np.int64)
        numbers[self.keys[begin:end] - base] = np.arange(begin, end)
        return numbers

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of ``lexicon_firsts``, an intermediate dataset."""
        columns = SCHEMAS["lexicon_firsts"].columns
        table = pa.table([self.keys, self.counts], schema=columns)
        yield from table.to_batches(max_chunksize=1 << 18)

    def edges(self, size: int) -> Ints:
        """Find where ranges of about ``size`` windows begin, except the first: keys of two symbols.

        A symbol with more windows is cut at second symbols, which are assumed to be distributed
        as in all of the text.
        """
        usual = np.zeros(self.n_symbols, np.int64)
        np.add.at(usual, self.keys % self.n_symbols, self.counts)
        ratios = np.cumsum(usual) / max(1, usual.sum())
        ends = np.cumsum(self.counts)
        edges: list[Ints] = []
        begin = 0
        while begin < len(self.counts):
            before = int(ends[begin] - self.counts[begin])
            end = max(begin + 1, int(np.searchsorted(ends, before + size, side="right")))
            n_pieces = -(-int(self.counts[begin]) // size) if end == begin + 1 else 1
            cuts = np.searchsorted(ratios, np.arange(n_pieces) / n_pieces, side="right")
            cuts[0] = 0
            edges.append(begin * self.n_symbols + np.unique(cuts))
            begin = end
        return np.concatenate([np.empty(0, np.int64), *edges])[1:]


@dataclass(frozen=True, slots=True)
class StringWindows:
    """The N windows of some places where strings begin, as columns."""

    firsts: npt.NDArray[np.uint32]
    """(N,) the first symbol, by its number in ``Firsts``."""
    around: npt.NDArray[np.unsignedinteger]
    """(longest + 1, N) the symbol before, then the symbols from the second to the one after the
    longest string."""

    def __len__(self) -> int:
        return len(self.firsts)


def windows_of(ids: Ids, scopes: Ints, firsts: Firsts, *, longest: int) -> Iterator[StringWindows]:
    """Yield the windows of a stream, of ``CHUNK`` places at a time.

    A window is a place where two frequent symbols stand. ``scopes`` holds the scope of each place.
    """
    kind = np.uint16 if firsts.n_symbols <= 1 << 16 else np.uint32
    padded = np.full(len(ids) + longest + 1, LINE, kind)
    padded[1 : len(ids) + 1] = ids
    for start in range(0, len(ids), CHUNK):
        chosen = slice(start, start + CHUNK + 1)
        numbers = np.append(firsts.numbers(ids[chosen], scopes[chosen]), -1)[: CHUNK + 1]
        places = np.flatnonzero((numbers[:-1] >= 0) & (numbers[1:] >= 0))
        around = np.empty((longest + 1, len(places)), kind)
        for row, offset in enumerate([0, *range(2, longest + 2)]):
            around[row] = padded[places + (start + offset)]
        yield StringWindows(numbers[places].astype(np.uint32), around)


def by_range(
    windows: StringWindows, edges: Ints, *, n_symbols: int
) -> Iterator[tuple[int, StringWindows]]:
    """Group windows by range; yield the number and the windows of each range that has some."""
    keys = windows.firsts * np.int64(n_symbols) + windows.around[1]
    ranges = np.searchsorted(edges, keys, side="right").astype(
        np.uint16 if len(edges) < 1 << 16 else np.uint32
    )
    order = np.argsort(ranges, kind="stable")
    begins = run_begins(ranges[order]).tolist()
    for begin, end in pairwise([*begins, len(order)]):
        chosen = order[begin:end]
        yield (
            int(ranges[chosen[0]]),
            StringWindows(windows.firsts[chosen], windows.around[:, chosen]),
        )


@dataclass(frozen=True, slots=True)
class Level:
    """The frequent strings of one length, in the order of their symbols."""

    length: int
    parents: Ints
    """The string without its last symbol, by its index in the level before, or its number in
    ``Firsts``."""
    symbols: Ints
    """The last symbol."""
    counts: Ints
    left: Floats
    """The entropy of the symbols before the string, in bits.

    Each boundary is a distinct one, but the line ends around a string that is alone are one."""
    right: Floats
    """The entropy of the symbols after the string, likewise."""
    is_inner: Flags
    """Whether the string is always preceded, or always followed, by the same symbol."""


def count(windows: StringWindows, *, min_count: int, n_symbols: int) -> Iterator[Level]:
    """Count the strings of two or more symbols in windows; yield the levels by length."""
    left, following = windows.around[0], windows.around[1:]
    alive = np.arange(len(windows))
    numbers = windows.firsts.astype(np.int64)
    level: Level | None = None  # the last one, whose right neighbours are not known yet
    n_alone = np.zeros(0, np.int64)
    for length in range(2, len(following) + 2):
        keys = numbers * n_symbols + following[length - 2][alive]
        order = np.argsort(keys)
        runs = _Runs.of(keys[order], n_symbols)
        if level:
            right, has_one_after = runs.neighbours(level.counts, n_alone)
            yield replace(level, right=right, is_inner=level.is_inner | has_one_after)
        if length > len(following):
            break
        is_kept = (runs.counts >= min_count) & (runs.symbols > LINE)
        alive = alive[order[np.repeat(is_kept, runs.counts)]]
        counts = runs.counts[is_kept]
        numbers = np.repeat(np.arange(len(counts)), counts)
        before = _Runs.of(np.sort(numbers * n_symbols + left[alive]), n_symbols)
        is_alone = (left[alive] == LINE) & (following[length - 1][alive] == LINE)
        n_alone = np.bincount(numbers[is_alone], minlength=len(counts))
        entropy, has_one_before = before.neighbours(counts, n_alone)
        level = Level(
            length=length,
            parents=runs.parents[is_kept],
            symbols=runs.symbols[is_kept],
            counts=counts,
            left=entropy,
            right=entropy,
            is_inner=has_one_before,
        )


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of equal keys: the parent, the symbol and the number of occurrences of each key."""

    parents: Ints
    symbols: Ints
    counts: Ints

    @classmethod
    def of(cls, keys: Ints, n_symbols: int) -> "_Runs":
        begins = run_begins(keys)
        parents, symbols = np.divmod(keys[begins], n_symbols)
        return cls(parents, symbols, np.diff(begins, append=len(keys)))

    def neighbours(self, totals: Ints, n_alone: Ints) -> tuple[Floats, Flags]:
        """Return the entropy of the symbols of each parent in bits, and whether it has only one.

        A parent that is alone on its line has one and the same neighbour there each time.
        """
        is_real = (self.symbols != BOUNDARY) & (self.symbols != LINE)
        counts, parents = self.counts[is_real], self.parents[is_real]
        is_repeated = counts > 1  # log2(1) is 0
        weights = counts[is_repeated] * np.log2(counts[is_repeated])
        sums = np.bincount(parents[is_repeated], weights, minlength=len(totals))
        sums = sums + n_alone * np.log2(np.maximum(n_alone, 1))
        is_only = np.zeros(len(totals), np.bool_)
        is_only[parents[counts == totals[parents]]] = True
        return np.maximum(np.log2(totals) - sums / totals, 0.0), is_only


def joined(windows: Iterable[StringWindows]) -> StringWindows:
    """Concatenate windows."""
    firsts, around = zip(*((some.firsts, some.around) for some in windows), strict=True)
    return StringWindows(np.concatenate(firsts), np.concatenate(around, axis=1))
