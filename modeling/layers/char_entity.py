"""Char-entity self-attention: pieces of mentions know which entity they are part of.

From Jia, Shi, Yang and Zhang, "Entity Enhanced BERT Pre-training for Chinese NER" (EMNLP 2020),
section 3.2; published systems, C.12. The paper's characters are pieces here.

Shapes: T pieces, C of them that know an entity, N entities, F width of an entity's vector, D width.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import Known, PieceEntities, Rows
from modeling.layers.groups import checked_heads, from_heads, to_heads


class EntityTable(nn.Module):
    """A vector for each entity (E-M2); all layers read the same."""

    def __init__(self, *, n_entities: int, entity_width: int) -> None:
        super().__init__()
        self.entities = nn.Embedding(n_entities, entity_width)

    def forward(self, of_pieces: PieceEntities) -> Known:
        """What pieces know: (C,) ids -> (C, F)."""
        return Known(of_pieces.rows, self.entities(of_pieces.entities))


class CharEntityAttention(nn.Module):
    """Self-attention in which keys and values of a piece are mixed with those of its entity.

    Equation 3: a piece t with the state h_t and the entity vector g_t has the key
    (1 − λ)(h_t W_k + b_k) + λ g_t W_ek, a piece without an entity h_t W_k + b_k; values alike. With
    λ = ½ the weight of t is the geometric mean of the weights that the piece alone and the entity
    alone would have (equation 4). Without any entity this is ``SelfAttention``, whose weights have
    the same names. (The code of the paper gives pieces without an entity half of row 0: B-E4.)
    """

    def __init__(
        self,
        *,
        width: int,
        n_heads: int,
        entity_width: int,
        scale: float = 0.5,
        dropout: float = 0.0,
    ) -> None:
        """``scale``: λ, the share of the entity."""
        super().__init__()
        self.n_heads = checked_heads(width, n_heads)
        self.dropout, self.scale = dropout, scale
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.entity_key = nn.Linear(entity_width, width, bias=False)
        self.entity_value = nn.Linear(entity_width, width, bias=False)

    def forward(self, x: Tensor, rows: Rows) -> Tensor:
        """(T, D) -> (T, D)."""
        layout, query, key, value = rows.together, self.query(x), self.key(x), self.value(x)
        if rows.known is not None:
            shares = self._shares(key, rows.known)
            key = self._mixed(key, self.entity_key, known=rows.known, shares=shares)
            value = self._mixed(value, self.entity_value, known=rows.known, shares=shares)
        query, key, value = (to_heads(part, layout, self.n_heads) for part in (query, key, value))
        mixed = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=None if layout.attend is None else layout.attend[:, None, None],
            dropout_p=self.dropout if self.training else 0.0,
        )
        return self.output(from_heads(mixed, layout))  # type: ignore[no-any-return]

    def _shares(self, x: Tensor, known: Known) -> Tensor:
        """(T, 1): 1 − λ for pieces that know an entity, else 1."""
        return x.new_ones(len(x), 1).index_fill_(0, known.rows, 1 - self.scale)

    def _mixed(
        self, projected: Tensor, project: nn.Linear, *, known: Known, shares: Tensor
    ) -> Tensor:
        """(T, D), and the vectors of C entities projected -> (T, D)."""
        of_entities = project(known.vectors).to(projected.dtype)
        return torch.index_add(projected * shares, 0, known.rows, of_entities, alpha=self.scale)
