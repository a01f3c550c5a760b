"""A type for the context of an ``autograd.Function``, for which torch has no public type."""

from typing import Protocol

from torch import Tensor


class AutogradContext(Protocol):
    """The type of ``ctx`` in forward and backward; functions that store more extend it."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward."""
