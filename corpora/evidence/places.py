"""Places where a form stands, described by features, and whether each is a mention.

Shapes: N places, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.hashing.strings import long_hashes

Floats = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TruthPlaces:
    """Places of known truth; see ``of``."""

    names: tuple[str, ...]
    """The names of the features."""
    features: Floats
    """Shape (N, F)."""
    truth: Floats
    """Shape (N,): 1 for a mention, 0 for none, or its probability."""
    groups: Groups
    """Shape (N,): the number of the document of each place."""
    weights: Floats
    """Shape (N,): how often each place counts."""

    @classmethod
    def of(
        cls,
        features: Floats,
        truth: Floats,
        documents: Sequence[str],
        *,
        names: Sequence[str],
        weights: Floats | None = None,
    ) -> "TruthPlaces":
        """Describe places; ``documents`` are numbered in the order of their hashes."""
        hashes = long_hashes(pa.array(documents, pa.string()))
        groups = np.unique(hashes, return_inverse=True)[1].astype(np.int64)
        counts = np.ones(len(truth)) if weights is None else weights
        return cls(tuple(names), features, truth.astype(np.float64), groups, counts)

    def __len__(self) -> int:
        return len(self.truth)

    def part(self, rows: npt.NDArray[np.generic]) -> "TruthPlaces":
        """Select places, by index or by flag."""
        columns = (self.features, self.truth, self.groups, self.weights)
        return TruthPlaces(self.names, *(column[rows] for column in columns))
