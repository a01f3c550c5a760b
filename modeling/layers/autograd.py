"""What torch passes to an ``autograd.Function``: it has no public type that says so."""

from typing import Protocol

from torch import Tensor


class Context(Protocol):
    """``ctx`` of forward and backward; what else one keeps is in a protocol of its own."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward."""
