"""Dropout that costs little on a CPU.

torch draws a number for each element there, which takes a sixth of a training step. Sixteen random
bits an element are enough, and four elements share a draw.
"""

from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

_BITS: Final = 16


class Dropout(nn.Module):
    """Zeros a share ``p`` of the elements in training, and scales the others by 1 / (1 − p)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = checked_share(p)

    def forward(self, x: Tensor) -> Tensor:
        """Any shape; the same shape."""
        return drop(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        """What ``print`` shows of it."""
        return f"p={self.p}"


def checked_share(p: float) -> float:
    """The share; ``ValueError`` if it is none."""
    if not 0 <= p <= 1:
        raise ValueError(f"Dropout {p}: must lie between 0 and 1.")
    return p


def drop(x: Tensor, p: float) -> Tensor:
    """Zero elements by chance, and scale the others; on a CPU, p counts in 1/65,536."""
    if not p:
        return x
    if x.device.type != "cpu" or p == 1 or torch.compiler.is_compiling():
        return functional.dropout(x, p)
    dropped: Tensor = _Drop.apply(x, p)  # type: ignore[no-untyped-call]
    return dropped


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        n_dropped = round(p * 2**_BITS)
        draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
        kept = bits >= n_dropped - 2 ** (_BITS - 1)
        ctx.save_for_backward(kept)
        ctx.scale = 2**_BITS / (2**_BITS - n_dropped)
        dropped: Tensor = (x * kept).mul_(ctx.scale)
        return dropped

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        kept: Tensor = ctx.saved_tensors[0]
        return (gradient * kept).mul_(ctx.scale), None
