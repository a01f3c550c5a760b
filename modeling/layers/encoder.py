"""Layers of an encoder, composed of parts that are given.

Shapes: R rows, D width.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import Rows
from modeling.layers.dropout import Dropout

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
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
        self.activation: Callable[[Tensor], Tensor] = _ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """(R, D) -> (R, D)."""
        return self.outer(self.activation(self.inner(x)))  # type: ignore[no-any-return]


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each with dropout, residual connection and norm.

    ``post``: norm(x + f(x)), as in Vaswani et al. 2017 and BERT; ``pre``: x + f(norm(x)), after
    which an encoder needs a last norm.
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

    def forward(self, x: Tensor, rows: Rows) -> Tensor:
        """(R, D) -> (R, D)."""
        return self.around(lambda x: self.attention(x, rows), x)

    def around(self, attend: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """The layer with another attention in the place of its own, (R, D) -> (R, D)."""
        if self.norms_first:
            x = x + self.dropout(attend(self.attention_norm(x)))
            return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))  # type: ignore[no-any-return]
        x = self.attention_norm(x + self.dropout(attend(x)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """Layers, one after the other, and where given a last norm."""

    def __init__(self, layers: Iterable[nn.Module], *, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(self, x: Tensor, rows: Rows) -> Tensor:
        """(R, D) -> (R, D)."""
        for layer in self.layers:
            x = layer(x, rows)
        return x if self.norm is None else self.norm(x)
