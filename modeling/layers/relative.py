"""Self-attention with relative positions (Shaw et al. 2018; NEISS paper, equations 1 to 4).

Shapes: T pieces, D width, H heads, K width of a head, τ clipping distance.
"""

import torch
from torch import Tensor, nn

from modeling.data.batch import Rows
from modeling.layers.groups import checked_heads, from_heads, to_heads
from modeling.layers.relative_scores import relative_attention


def relative_table(clip: int, width: int) -> nn.Parameter:
    """(2 clip + 1, width), U(-0.05, 0.05) as Keras has it: a vector for each offset.

    ``ValueError`` if ``clip`` is less than 1.
    """
    if clip < 1:
        raise ValueError(f"Relative positions are clipped at 1 or more, not at {clip}.")
    return nn.Parameter(torch.empty(2 * clip + 1, width).uniform_(-0.05, 0.05))


class RelativeSelfAttention(nn.Module):
    """Attention that knows how far apart two pieces are, up to a distance τ = ``clip``.

    e_ij = q_i . (k_j + a_clip(j - i)) / √K and z_i = Σ_j α_ij (v_j + b_clip(j - i)). The tables
    ``keys`` a and ``values`` b belong to the layer and are shared by its heads; their middle row is
    that of offset 0. There is no dropout on the weights, as in NEISS.
    """

    def __init__(self, *, width: int, n_heads: int, clip: int) -> None:
        super().__init__()
        self.n_heads = checked_heads(width, n_heads)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.keys = relative_table(clip, width // n_heads)
        self.values = relative_table(clip, width // n_heads)

    def forward(self, x: Tensor, rows: Rows) -> Tensor:
        """(T, D) -> (T, D); the rows are pieces only."""
        layout = rows.pieces
        query, key, value = (
            to_heads(project(x), layout, self.n_heads)
            for project in (self.query, self.key, self.value)
        )
        mixed = relative_attention(
            query * query.shape[-1] ** -0.5,
            key,
            value,
            keys=self.keys,
            values=self.values,
            attend=layout.attend,
        )
        return self.output(from_heads(mixed, layout))  # type: ignore[no-any-return]
