"""What holds a string together, and how free it stands: mutual information and scores.

EntityBERT (Jia et al. 2020, appendix A) adds up mutual information, log2 p(xy) / (p(x) p(y)) for
neighbouring strings x and y, and the entropies of what stands to the left and to the right.
p is the share of all strings of the same length in the same scope.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from corpora.lexicon.counting import Floats
from corpora.lexicon.streams import Ints
from corpora.lexicon.tables import Strings

CHUNK = 1 << 18
"""Strings that are scored at once."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scores are made of; entropies and information in bits."""

    mi: Floats
    left: Floats
    right: Floats
    counts: Ints


def _paper(of: Statistics) -> Floats:
    return of.mi + of.left + of.right


def _product(of: Statistics) -> Floats:
    return np.sqrt(np.maximum(of.mi, 0)) * np.minimum(of.left, of.right)


def _frequency(of: Statistics) -> Floats:
    return of.counts.astype(np.float64)


SCORES: Mapping[str, Callable[[Statistics], Floats]] = {
    "product": _product,
    "paper": _paper,
    "frequency": _frequency,
}
"""``product``: the root of the mutual information times the smaller entropy, so that neither can
make up for the other; ``paper``: the sum; ``frequency``: how often, and nothing else."""


def fill_scores(strings: Strings, totals: Ints, *, mi: str, score: str) -> None:
    """Fill in the columns ``mi`` and ``score``; ``totals`` as in ``Vocabulary``."""
    shares = Shares.of_totals(strings, totals)
    for length in range(2, strings.longest + 1):
        level = strings.level(length)
        for start in range(level.start, level.stop, CHUNK):
            rows = np.arange(start, min(start + CHUNK, level.stop))
            values = MI[mi](shares, rows, length)
            strings["mi"][rows] = values
            columns = (np.asarray(strings[name][rows]) for name in ("left", "right", "counts"))
            strings["score"][rows] = SCORES[score](Statistics(values, *columns))


@dataclass(frozen=True, slots=True)
class Shares:
    """Logarithms of the shares of strings among all of their length and scope."""

    strings: Strings
    totals: Floats
    """Logarithms, a row for each scope."""

    @classmethod
    def of_totals(cls, strings: Strings, totals: Ints) -> "Shares":
        """Take ``totals`` as they are in ``Vocabulary``."""
        with np.errstate(divide="ignore"):
            return cls(strings, np.log2(totals))

    def of(self, rows: Ints, scopes: Ints, *, length: int) -> Floats:
        """The logarithms for strings of that length, in these scopes."""
        counts: Ints = self.strings["counts"][rows]
        shares: Floats = np.log2(counts) - self.totals[scopes, length - 1]
        return shares


def _weakest(shares: Shares, rows: Ints, length: int) -> Floats:
    """The mutual information of the two parts of a string where it is weakest."""
    return np.asarray(np.minimum.reduce(information_at_cuts(shares, rows, length=length)))


def information_at_cuts(shares: Shares, rows: Ints, *, length: int) -> list[Floats]:
    """The mutual information of the two parts of a string, cut after 1, 2 … symbols."""
    strings = shares.strings
    scopes = strings.scopes(rows, length=length)
    heads, tails = heads_of(strings, rows, length=length), tails_of(strings, rows, length=length)
    whole = shares.of(rows, scopes, length=length)
    return [
        whole
        - shares.of(heads[cut], scopes, length=cut)
        - shares.of(tails[length - cut], scopes, length=length - cut)
        for cut in range(1, length)
    ]


def _adjacent(shares: Shares, rows: Ints, length: int) -> Floats:
    """The mean mutual information of each two neighbouring symbols of a string."""
    tails = tails_of(shares.strings, rows, length=length) | {length: rows}
    heads = {n: heads_of(shares.strings, tails[n], length=n) | {n: tails[n]} for n in tails}
    values = [_weakest(shares, heads[size][2], 2) for size in range(length, 1, -1)]
    return np.asarray(np.mean(values, axis=0))


MI = {"weakest": _weakest, "adjacent": _adjacent}
"""What is the mutual information of a string of more than two symbols."""


def heads_of(strings: Strings, rows: Ints, *, length: int) -> dict[int, Ints]:
    """The strings of the first 1, 2 … symbols, but not all."""
    heads = {}
    for size in range(length - 1, 0, -1):
        rows = heads[size] = strings.parents(rows)
    return heads


def tails_of(strings: Strings, rows: Ints, *, length: int) -> dict[int, Ints]:
    """The strings of the last 1, 2 … symbols, but not all."""
    tails = {}
    for size in range(length - 1, 0, -1):
        rows = tails[size] = np.asarray(strings["suffixes"][rows])
    return tails
