"""Scores of strings: the mutual information of their parts, and the entropies of their neighbours.

EntityBERT (Jia et al. 2020, appendix A) adds up the mutual information of neighbouring strings x
and y, log2 p(xy) / (p(x) p(y)), and the entropies of the left and of the right neighbours. p is the
ratio of a string to all strings of the same length in the same scope.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from corpora.lexicon.counting import Floats
from corpora.lexicon.streams import Ints
from corpora.lexicon.tables import Strings

SCORES: Mapping[str, Callable[[Floats, Floats, Floats, Ints], Floats]] = {
    "product": lambda mi, left, right, _: np.sqrt(np.maximum(mi, 0)) * np.minimum(left, right),
    "paper": lambda mi, left, right, _: mi + left + right,
    "frequency": lambda _, __, ___, counts: counts.astype(np.float64),
}
"""Functions that compute a score from mutual information, left and right entropy (in bits), count.

``product``: the root of the mutual information times the smaller entropy, so that neither can make
up for the other; ``paper``: the sum of the three; ``frequency``: the count alone."""


def fill_scores(strings: Strings, totals: Ints, *, score: str) -> None:
    """Fill in the columns ``mi`` and ``score``; ``totals`` as in ``Vocabulary``."""
    ratios = LogRatios.of_totals(strings, totals)
    for length, rows in strings.chunks():
        values = strings["mi"][rows] = mutual_information(ratios, rows, length)
        columns = (np.asarray(strings[name][rows]) for name in ("left", "right", "counts"))
        strings["score"][rows] = SCORES[score](values, *columns)


@dataclass(frozen=True, slots=True)
class LogRatios:
    """The base-2 logarithms of the ratios of strings to all strings of their length and scope."""

    strings: Strings
    totals: Floats
    """(scopes, lengths) the logarithms of ``Vocabulary.totals``."""

    @classmethod
    def of_totals(cls, strings: Strings, totals: Ints) -> "LogRatios":
        """Make the ratios from ``totals`` as in ``Vocabulary``."""
        with np.errstate(divide="ignore"):
            return cls(strings, np.log2(totals))

    def of(self, rows: Ints, scopes: Ints, *, length: int) -> Floats:
        """Return the logarithms for strings of the same length, each in its scope."""
        counts: Ints = self.strings["counts"][rows]
        ratios: Floats = np.log2(counts) - self.totals[scopes, length - 1]
        return ratios


def information_at_cuts(ratios: LogRatios, rows: Ints, *, length: int) -> list[Floats]:
    """Return the mutual information of the two parts of a string, cut after 1, 2 … symbols."""
    strings = ratios.strings
    scopes = strings.scopes(rows, length=length)
    heads, tails = strings.heads(rows, length=length), strings.tails(rows, length=length)
    whole = ratios.of(rows, scopes, length=length)
    return [
        whole
        - ratios.of(heads[cut], scopes, length=cut)
        - ratios.of(tails[length - cut], scopes, length=length - cut)
        for cut in range(1, length)
    ]


def ties_at_cuts(ratios: LogRatios, rows: Ints, *, length: int) -> list[Floats]:
    """Return the mutual information at each cut as a ratio of the most that it can be.

    That is the information of the string itself: none of its parts stands elsewhere.
    """
    most = _most(ratios, rows, length=length)
    return [part / most for part in information_at_cuts(ratios, rows, length=length)]


def ties_of(ratios: LogRatios, rows: Ints, *, length: int) -> Floats:
    """Return the column ``mi`` as a ratio of the most that it can be."""
    return np.asarray(ratios.strings["mi"][rows] / _most(ratios, rows, length=length))


def _most(ratios: LogRatios, rows: Ints, *, length: int) -> Floats:
    scopes = ratios.strings.scopes(rows, length=length)
    return np.asarray(np.maximum(-ratios.of(rows, scopes, length=length), 1e-9))


def mutual_information(ratios: LogRatios, rows: Ints, length: int) -> Floats:
    """Return the mean mutual information of each two neighbouring symbols of a string."""
    strings = ratios.strings
    tails = strings.tails(rows, length=length) | {length: rows}
    heads = {n: strings.heads(tails[n], length=n) | {n: tails[n]} for n in tails}
    pairs = (heads[size][2] for size in range(length, 1, -1))
    values = [information_at_cuts(ratios, pair, length=2)[0] for pair in pairs]
    return np.asarray(np.mean(values, axis=0))
