"""The type of what torch passes to an ``autograd.Function``; torch has no public type for it."""

from typing import Protocol

from torch import Tensor


class Context(Protocol):
    """``ctx`` of forward and backward; a function that keeps more extends this protocol."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward."""
