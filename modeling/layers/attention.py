"""Self-attention: plain, and entity-aware; and attention of readers, which nobody looks at.

Shapes: B sequences, N positions, T pieces, E mentions, R = T + E rows, H heads, K width of a head,
D = H * K; V readers, at most L in a sequence. Layers map rows (R, D) to rows (R, D), without
residual connection and norm.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import Layout, Rows
from modeling.layers.dropout import drop
from modeling.layers.groups import checked_heads, from_heads, to_heads


class Memory(NamedTuple):
    """What readers look at: pieces, as a layer's attention has made keys and values of them."""

    key: Tensor
    """(B, H, N, K)."""
    value: Tensor
    """(B, H, N, K)."""
    attend: Tensor | None
    """(B, N) bool, True where a piece stands; None: everywhere."""

    def cut(self, sequences: slice) -> "Memory":
        """Some of the sequences."""
        attend = None if self.attend is None else self.attend[sequences]
        return Memory(self.key[sequences], self.value[sequences], attend)


class SelfAttention(nn.Module):
    """Multi-head scaled dot-product attention of all rows of a sequence (Vaswani et al. 2017)."""

    def __init__(self, *, width: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.n_heads = checked_heads(width, n_heads)
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor, rows: Rows) -> Tensor:
        """(R, D) -> (R, D)."""
        return self.remember(x, rows.together)[0]

    def remember(self, x: Tensor, layout: Layout) -> tuple[Tensor, Memory]:
        """(R, D) -> (R, D), and what readers need of these rows."""
        return _attend_all(self, x, layout)

    def read(self, x: Tensor, memory: Memory, readers: Layout) -> Tensor:
        """Attention of readers (V, D) -> (V, D): each looks at its sequence's memory and itself."""
        query = self.query(x)
        return _read(self, x, queries=(query, query), memory=memory, readers=readers)


class EntityAwareAttention(nn.Module):
    """LUKE's attention: the query depends on what looks and on what is looked at.

    Piece or mention x looks at y with the score Q_xy(x) . K(y) / √K; keys, values, and the softmax
    over pieces and mentions are shared (Yamada et al. 2020, section 3.3).
    """

    def __init__(self, *, width: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.n_heads = checked_heads(width, n_heads)
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.query_to_entities = nn.Linear(width, width)
        self.entity_query_to_words = nn.Linear(width, width)
        self.entity_query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor, rows: Rows) -> Tensor:
        """(T + E, D) -> (T + E, D)."""
        n_pieces = len(rows.pieces.index)
        pieces, mentions = x[:n_pieces], x[n_pieces:]
        to_words = torch.cat([self.query(pieces), self.entity_query_to_words(mentions)])
        to_entities = torch.cat([self.query_to_entities(pieces), self.entity_query(mentions)])
        # On a CPU the scores in two parts are cheaper than scores of twice the width; on a GPU
        # these cost next to nothing, as the fused kernel then never writes a score to memory.
        mix = _mix_in_parts if x.device.type == "cpu" else _mix_fused
        mixed = mix(
            (to_words, to_entities),
            self.key(x),
            self.value(x),
            rows=rows,
            n_heads=self.n_heads,
            dropout=self.dropout if self.training else 0.0,
        )
        return self.output(mixed)  # type: ignore[no-any-return]

    def remember(self, x: Tensor, layout: Layout) -> tuple[Tensor, Memory]:
        """Pieces alone (T, D) -> (T, D), and what readers need of them."""
        return _attend_all(self, x, layout)

    def read(self, x: Tensor, memory: Memory, readers: Layout) -> Tensor:
        """Attention of mentions (V, D) -> (V, D): each looks at its pieces and itself."""
        queries = self.entity_query_to_words(x), self.entity_query(x)
        return _read(self, x, queries=queries, memory=memory, readers=readers)


def _attend_all(
    layer: SelfAttention | EntityAwareAttention, x: Tensor, layout: Layout
) -> tuple[Tensor, Memory]:
    """Rows of one kind (R, D) -> (R, D): all look at all of their sequence."""
    query, key, value = (
        to_heads(project(x), layout, layer.n_heads)
        for project in (layer.query, layer.key, layer.value)
    )
    attend = None if layout.attend is None else layout.attend[:, None, None]  # (B, 1, 1, N)
    mixed = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=attend, dropout_p=layer.dropout if layer.training else 0.0
    )
    return layer.output(from_heads(mixed, layout)), Memory(key, value, layout.attend)


def _read(
    layer: SelfAttention | EntityAwareAttention,
    x: Tensor,
    *,
    queries: tuple[Tensor, Tensor],
    memory: Memory,
    readers: Layout,
) -> Tensor:
    """Attention of readers (V, D); ``queries`` are theirs to pieces, and to themselves."""
    to_pieces, to_self = queries
    n_heads = layer.n_heads
    scale = (x.shape[1] // n_heads) ** -0.5
    scores = to_heads(to_pieces * scale, readers, n_heads) @ memory.key.mT  # (B, H, L, N)
    if memory.attend is not None:
        hidden = ~memory.attend[:, None, None]
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    own = (to_self * scale * layer.key(x)).unflatten(1, (n_heads, -1)).sum(2)  # (V, H)
    own = readers.pad(own).transpose(1, 2)[..., None]  # (B, H, L, 1)
    weights = torch.cat([scores, own.to(scores.dtype)], dim=3).softmax(3)
    weights = drop(weights, layer.dropout if layer.training else 0.0)
    to_others, to_own = weights[..., :-1], weights[..., -1:]
    mixed = to_others @ memory.value + to_own * to_heads(layer.value(x), readers, n_heads)
    return layer.output(from_heads(mixed, readers))  # type: ignore[no-any-return]


def _mix_in_parts(
    queries: tuple[Tensor, Tensor],
    key: Tensor,
    value: Tensor,
    *,
    rows: Rows,
    n_heads: int,
    dropout: float,
) -> Tensor:
    """Values of rows (R, D), mixed; ``queries`` are those to words and those to entities."""
    kinds = (rows.pieces, rows.entities or _no_rows_like(rows.pieces))
    sizes = [len(layout.index) for layout in kinds]

    def parts(x: Tensor) -> list[Tensor]:
        """(R, D) -> pieces (B, H, N, K) and mentions (B, H, N', K)."""
        split = zip(torch.split(x, sizes), kinds, strict=True)
        return [to_heads(part, layout, n_heads) for part, layout in split]

    scale = (key.shape[1] // n_heads) ** -0.5
    to_words, to_entities = (parts(query * scale) for query in queries)
    word_key, entity_key = parts(key)
    values = torch.cat(parts(value), dim=2)  # (B, H, N + N', K)
    hidden = _hidden(kinds)
    mixed = []
    for layout, to_word, to_entity in zip(kinds, to_words, to_entities, strict=True):
        scores = torch.cat([to_word @ word_key.mT, to_entity @ entity_key.mT], dim=3)
        if hidden is not None:
            scores.masked_fill_(hidden[:, None, None], torch.finfo(scores.dtype).min)
        weights = drop(scores.softmax(3), dropout)
        mixed.append(from_heads(weights @ values, layout))
    return torch.cat(mixed)


def _mix_fused(
    queries: tuple[Tensor, Tensor],
    key: Tensor,
    value: Tensor,
    *,
    rows: Rows,
    n_heads: int,
    dropout: float,
) -> Tensor:
    """The same by one attention of heads 2K wide: [Q_xw; Q_xe] . [K; 0] or . [0; K]."""
    layout, n_pieces = rows.together, len(rows.pieces.index)
    width = key.shape[1] // n_heads
    to_words, to_entities, key, value = (
        x.view(len(x), n_heads, width) for x in (*queries, key, value)
    )
    word_key, entity_key = key[:n_pieces], key[n_pieces:]  # (T, H, K), (E, H, K)
    key = torch.cat([functional.pad(word_key, (0, width)), functional.pad(entity_key, (width, 0))])
    mixed = functional.scaled_dot_product_attention(
        layout.pad(torch.cat([to_words, to_entities], dim=2)).transpose(1, 2),
        layout.pad(key).transpose(1, 2),
        layout.pad(functional.pad(value, (0, width))).transpose(1, 2),
        attn_mask=None if layout.attend is None else layout.attend[:, None, None],
        dropout_p=dropout,
        scale=width**-0.5,
    )
    return from_heads(mixed[..., :width], layout)


def _no_rows_like(layout: Layout) -> Layout:
    """No row in each of as many sequences."""
    return Layout.of([0] * layout.n_sequences).to(layout.index.device)


def _hidden(layouts: tuple[Layout, ...]) -> Tensor | None:
    """(B, N + N') bool, True where no row stands; None if they stand everywhere."""
    if all(layout.attend is None for layout in layouts):
        return None
    stands = []
    for layout in layouts:
        shape = (layout.n_sequences, layout.longest)
        everywhere = torch.ones(shape, dtype=torch.bool, device=layout.index.device)
        stands.append(everywhere if layout.attend is None else layout.attend)
    return ~torch.cat(stands, dim=1)
