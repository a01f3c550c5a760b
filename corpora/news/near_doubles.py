"""Which articles say the same as an earlier one: word for word, or nearly.

Articles are taken in order of time. One whose words are all those of an earlier one is its exact
double; one whose shingles have at least the threshold of Jaccard in common with an earlier one that
is kept is its near double, as is one that has at least half of the shingles, of the shorter of
both, in common with the last one that is kept of the same address. So what is kept is decided by
the articles alone, whatever file they stand in. Candidates share a band of their signatures, at 25
bands of 5 hashes: a pair at Jaccard 0.8 is missed once in 20,000 times; each candidate is then
compared shingle by shingle.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from corpora.hashing.shingles import jaccard, shingles_of, signature_matrix, words_of

_ROWS = 5
_BANDS = 25
_MARGIN = 0.2
"""How far an estimate of Jaccard by 128 hashes may be too low: more than five standard deviations
(0.035 at most near 0.8); below that, a candidate is not compared."""
_SAME_ADDRESS = 0.5
"""Share of the shingles of the shorter of two articles of one address that makes them one."""
_HELD = 4096
"""Sets of shingles that are kept in memory."""


@dataclass(frozen=True, slots=True)
class Item:
    """An article that may be a double, or have one."""

    order: tuple[bool, str, str, str, str]
    """Not from an earlier dataset, when it was published and fetched, URL, fingerprint, id."""
    exact: bytes
    signature: bytes

    @property
    def is_new(self) -> bool:
        """Whether it is of this run; those of earlier datasets are never doubles."""
        return self.order[0]

    @property
    def url(self) -> str:
        """Its address; empty if it is not known."""
        return self.order[2]


@dataclass(frozen=True, slots=True)
class Double:
    """An article that goes."""

    number: int
    twin: int
    """The number of the one that is kept."""
    similarity: float
    """Jaccard; 1 with ``is_exact``."""
    is_exact: bool


def find_doubles(
    items: Sequence[Item], text_of: Callable[[int], str], *, threshold: float
) -> list[Double]:
    """Find the doubles; ``text_of`` gives the text of the item of that number.

    ``threshold`` above 1 finds exact ones only. Keeps about 1.5 KB an article in memory.
    """
    order = sorted(range(len(items)), key=lambda number: items[number].order)
    first: dict[bytes, int] = {}
    exact = []
    for number in order:
        twin = first.setdefault(items[number].exact, number)
        if twin != number and items[number].is_new:
            exact.append(Double(number, twin, 1.0, is_exact=True))
    if threshold > 1:
        return exact
    gone = {double.number for double in exact}
    left = [number for number in order if number not in gone]
    near = _near(items, left, text_of, threshold=threshold)
    kept = {double.number: double.twin for double in near}
    moved = [Double(d.number, kept.get(d.twin, d.twin), d.similarity, d.is_exact) for d in exact]
    return moved + near


def _near(
    items: Sequence[Item],
    order: Sequence[int],
    text_of: Callable[[int], str],
    *,
    threshold: float,
) -> list[Double]:
    """Compare each article with the earlier ones that are kept and share a band with it."""

    @lru_cache(_HELD)
    def shingles(number: int) -> set[str]:
        return shingles_of(words_of(text_of(number)))

    def is_version(number: int, other: int) -> bool:
        one, two = shingles(number), shingles(other)
        return len(one & two) >= _SAME_ADDRESS * min(len(one), len(two)) > 0

    signatures = signature_matrix([items[number].signature for number in order])
    buckets: dict[int, list[int]] = defaultdict(list)  # rows of the signatures
    by_url: dict[str, int] = {}
    """The last one that is kept of each address."""
    doubles = []
    for row, keys in enumerate(_shared_bands(signatures)):
        number, item = order[row], items[order[row]]
        candidates = sorted({other for key in keys for other in buckets[key]})
        if candidates and item.is_new:
            alike = (signatures[candidates] == signatures[row]).mean(axis=1)
            likely = (c for c, a in zip(candidates, alike, strict=True) if a >= threshold - _MARGIN)
            compared = ((c, jaccard(shingles(number), shingles(order[c]))) for c in likely)
            if found := next(((c, s) for c, s in compared if s >= threshold), None):
                doubles.append(Double(number, order[found[0]], found[1], is_exact=False))
                continue
        before = by_url.get(item.url) if item.url and item.is_new else None
        if before is not None and is_version(number, before):
            similarity = jaccard(shingles(number), shingles(before))
            doubles.append(Double(number, before, similarity, is_exact=False))
            continue
        by_url[item.url] = number
        for key in keys:
            buckets[key].append(row)
    return doubles


def _shared_bands(signatures: npt.NDArray[np.uint32]) -> list[list[int]]:
    """For each row, the hashes of those bands that another row has, too."""
    keys = np.zeros((len(signatures), _BANDS), np.uint64)
    for band in range(_BANDS):
        key = np.full(len(signatures), band + 1, np.uint64)
        for column in range(band * _ROWS, (band + 1) * _ROWS):
            key ^= signatures[:, column]
            key *= np.uint64(0x9E3779B97F4A7C15)  # the golden ratio: spreads the bits (Knuth)
            key ^= key >> np.uint64(29)
        keys[:, band] = key
    ordered = np.sort(keys, axis=None)
    shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return [row[mask].tolist() for row, mask in zip(keys, np.isin(keys, shared), strict=True)]
