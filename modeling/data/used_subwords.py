"""The subwords that sentences have, renumbered: of a large vocabulary only these are trained.

A multilingual encoder has 250,000 subwords, and a training set some thousand of them. Rows of the
embedding that no sentence reads have no gradient; leaving them out of the model while it is trained
saves their gradient, the optimizer's state and the copies of checkpoints, and changes nothing else
but that they do not decay.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpora.tokenization.tokenizers import Special
from modeling.data.sentences import EncodedSentences


@dataclass(frozen=True, slots=True)
class UsedSubwords:
    """U subwords of a vocabulary, special ones among them."""

    ids: NDArray[np.int64]
    """(U,) ascending ids of the vocabulary; the place of each is its id in training."""

    @classmethod
    def of(cls, encoded: Iterable[EncodedSentences]) -> Self:
        """Those that sentences are made of."""
        parts = [np.concatenate([e.subwords, np.array(e.special)]) for e in encoded]
        return cls(np.unique(np.concatenate(parts)).astype(np.int64))

    def __len__(self) -> int:
        """U."""
        return len(self.ids)

    def renumber(self, encoded: EncodedSentences) -> EncodedSentences:
        """The same sentences by the ids of training."""
        places = np.searchsorted(self.ids, encoded.subwords).astype(np.int32)
        special = Special(*np.searchsorted(self.ids, np.array(encoded.special)).tolist())
        return replace(encoded, subwords=places, special=special)

    def take(self, table: Tensor) -> Tensor:
        """(V, D), a row for each subword of the vocabulary -> (U, D)."""
        return table.index_select(0, torch.from_numpy(self.ids))

    def put(self, rows: Tensor, table: Tensor) -> None:
        """(U, D) into (V, D), which is changed."""
        table.index_copy_(0, torch.from_numpy(self.ids), rows.to(table))
