"""What it adds to a path that one tag follows another, or begins a sentence: learned (C.6).

Shapes: C tags.
"""

from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Flags = NDArray[np.bool_]
ChainInit = Literal["off", "on", "neiss"]

_DEVIATION: Final = 0.02
_LIMIT: Final = 0.05  # Keras
_PENALTY: Final = 10.0


class Transitions(nn.Module):
    """T = W, all of it free: LCRF of the NEISS paper, without tags for the frame (B-N6)."""

    def __init__(self, n_tags: int) -> None:
        super().__init__()
        self.between = nn.Parameter(torch.randn(n_tags, n_tags) * _DEVIATION)
        self.starts = nn.Parameter(torch.randn(n_tags) * _DEVIATION)

    def forward(self) -> tuple[Tensor, Tensor]:
        """(C, C) from, to; (C,) of the first word's tag."""
        return self.between, self.starts


class RuledTransitions(nn.Module):
    """T = (A + ω_f F) ⊙ W − ω_a F: LCRF_NER (NEISS paper, eq. 7); the same for the starts.

    A is 1 where a tag may follow, F = 1 − A where it must not. W, ω_f and ω_a are learned; nothing
    keeps ω_a above 0. ``init``: ``off`` has ω_f = 1 and ω_a = 0, which is ``Transitions``; ``on``
    ω_a = 10; ``neiss`` draws all from U(−0.05, 0.05), as the published code does (B-N7).
    """

    def __init__(self, *, follows: Flags, begins: Flags, init: ChainInit) -> None:
        super().__init__()
        self.may_follow: Tensor
        self.may_begin: Tensor
        for name, flags in (("may_follow", follows), ("may_begin", begins)):
            self.register_buffer(name, torch.tensor(flags), persistent=False)
        free = Transitions(len(begins))
        self.between, self.starts = free.between, free.starts
        self.factor = nn.Parameter(torch.tensor(1.0))
        self.penalty = nn.Parameter(torch.tensor(_PENALTY if init == "on" else 0.0))
        if init == "neiss":
            for parameter in self.parameters():
                nn.init.uniform_(parameter, -_LIMIT, _LIMIT)

    def forward(self) -> tuple[Tensor, Tensor]:
        """(C, C) from, to; (C,) of the first word's tag."""
        return self._ruled(self.between, self.may_follow), self._ruled(self.starts, self.may_begin)

    def _ruled(self, weights: Tensor, allowed: Tensor) -> Tensor:
        return torch.where(allowed, weights, self.factor * weights - self.penalty)
