"""Layers of an encoder, composed of given parts, and a dropout that is fast on a CPU.

On a CPU, torch's dropout draws a random number for each element, which takes a sixth of a training
step. Here an element needs only sixteen random bits, and four elements share one draw.

Shapes: R rows, D width.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import LayerRows
from modeling.layers.compilation import AutogradContext

_BITS: Final = 16


class Dropout(nn.Module):
    """Dropout: in training, zeroes a fraction ``p`` of elements; scales others by 1 / (1 − p)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout {p}: must lie between 0 and 1.")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Apply dropout in training, to any shape."""
        return drop(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        """Return what ``print`` shows of the layer."""
        return f"p={self.p}"


def drop(x: Tensor, p: float) -> Tensor:
    """Zero random elements with probability ``p``, and scale the others by 1 / (1 − p).

    On a CPU, ``p`` is rounded to a multiple of 1/65,536.
    """
    if not p:
        return x
    if x.device.type != "cpu" or p == 1 or torch.compiler.is_compiling():
        return functional.dropout(x, p)
    dropped: Tensor = _Drop.apply(x, p)  # type: ignore[no-untyped-call]
    return dropped


def draw_kept(x: Tensor, p: float) -> tuple[Tensor, float]:
    """Draw which elements of ``x`` dropout keeps, and return the factor for them; 0 < p < 1."""
    n_dropped = min(round(p * 2**_BITS), 2**_BITS - 1)
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[: x.numel()].view(x.shape)
    return bits >= n_dropped - 2 ** (_BITS - 1), 2**_BITS / (2**_BITS - n_dropped)


class _DropContext(AutogradContext, Protocol):
    scale: float


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _DropContext, x: Tensor, p: float) -> Tensor:
        kept, ctx.scale = draw_kept(x, p)
        ctx.save_for_backward(kept)
        dropped: Tensor = (x * kept).mul_(ctx.scale)
        return dropped

    @staticmethod
    def backward(ctx: _DropContext, gradient: Tensor) -> tuple[Tensor, None]:
        kept: Tensor = ctx.saved_tensors[0]
        return (gradient * kept).mul_(ctx.scale), None


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "relu": functional.relu,
}


class FeedForward(nn.Module):
    """Two linear maps with GELU or ReLU between them."""

    def __init__(
        self, *, width: int, inner_width: int, activation: Literal["gelu", "relu"] = "gelu"
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner_width)
        self.outer = nn.Linear(inner_width, width)
        self.activation: Callable[[Tensor], Tensor] = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """Apply both maps, with the activation between them: (R, D) -> (R, D)."""
        return self.outer(self.activation(self.inner(x)))  # type: ignore[no-any-return]


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each with dropout, residual connection and norm.

    ``norm`` is ``post``: norm(x + f(x)), as in Vaswani et al. 2017 and BERT; or ``pre``:
    x + f(norm(x)), with which an encoder needs a last norm.
    """

    def __init__(
        self,
        *,
        attention: nn.Module,
        feed_forward: nn.Module,
        width: int,
        norm: Literal["post", "pre"] = "post",
        norm_eps: float = 1e-12,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_norm = nn.LayerNorm(width, eps=norm_eps)
        self.feed_forward_norm = nn.LayerNorm(width, eps=norm_eps)
        self.dropout = Dropout(dropout)
        self.norms_first = norm == "pre"

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        """Apply attention and feed-forward: (R, D) -> (R, D)."""
        return self.around(lambda x: self.attention(x, rows), x)

    def around(self, attend: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """Apply the layer with ``attend`` instead of its attention: (R, D) -> (R, D)."""
        if self.norms_first:
            x = x + self.dropout(attend(self.attention_norm(x)))
            return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))  # type: ignore[no-any-return]
        x = self.attention_norm(x + self.dropout(attend(x)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))  # type: ignore[no-any-return]


class LayerStack(nn.Module):
    """A stack of layers, and a last norm if one is given.

    If ``recomputes`` is set, training keeps only the input of each layer, and computes the layer
    again in the backward pass (gradient checkpointing; Chen et al. 2016).
    """

    def __init__(self, layers: Iterable[nn.Module], *, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.recomputes = False
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(self, x: Tensor, rows: LayerRows) -> Tensor:
        """Apply all layers and the last norm: (R, D) -> (R, D)."""
        for layer in self.layers:
            x = self._recomputed(layer, x, rows) if self._is_recomputing else layer(x, rows)
        return self.normed(x)

    @property
    def _is_recomputing(self) -> bool:
        return self.recomputes and self.training and torch.is_grad_enabled()

    def _recomputed(self, layer: nn.Module, x: Tensor, rows: LayerRows) -> Tensor:
        from torch.utils.checkpoint import checkpoint  # noqa: PLC0415 - is rarely needed

        made: Tensor = checkpoint(layer, x, rows, use_reentrant=False)
        return made

    def normed(self, x: Tensor) -> Tensor:
        """Apply the last norm, if there is one."""
        return x if self.norm is None else self.norm(x)
