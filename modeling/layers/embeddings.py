"""Embeddings of subwords and mentions, before the first layer; pooling of words, after the last.

Shapes: T subwords, E mentions, W words, Q subwords of all words, D width.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from modeling.data.batch import BatchMentions, LayerRows
from modeling.layers.transformer import Dropout


class LearnedPositions(nn.Module):
    """A table with a learned vector for each position."""

    def __init__(self, *, max_positions: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(max_positions, width)

    def forward(self, rows: LayerRows) -> Tensor:
        """Look up the positions of subwords, (T, D).

        Raises ``ValueError`` if a sequence is longer than the table.
        """
        n_positions = self.table.num_embeddings
        if rows.subwords.longest > n_positions:
            raise ValueError(
                f"A sequence has {rows.subwords.longest} subwords, but there are learned positions "
                f"for {n_positions}. Cut the examples shorter, or set encoder.max_positions."
            )
        return self.table(rows.subwords.positions)  # type: ignore[no-any-return]


class SinusoidalPositions(nn.Module):
    """Fixed sines and cosines of positions (Vaswani et al. 2017, section 3.5), without a limit."""

    def __init__(self, *, width: int, length: int = 512) -> None:
        super().__init__()
        self.table: Tensor
        self.register_buffer("table", sinusoids(length, width), persistent=False)

    def forward(self, rows: LayerRows) -> Tensor:
        """Look up the positions of subwords, (T, D); extend the table for a longer sequence."""
        length, width = self.table.shape
        if rows.subwords.longest > length:
            self.table = sinusoids(max(2 * length, rows.subwords.longest), width).to(self.table)
        return self.table.index_select(0, rows.subwords.positions)


def sinusoids(length: int, width: int) -> Tensor:
    """Compute (length, width): sin(p / 10000^(2i / width)) in columns 2i, the cosine in 2i + 1."""
    frequencies = 10_000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)[:, :width].float()


class SubwordEmbeddings(nn.Module):
    """The sum of subword, position and segment vectors, then norm and dropout, as in BERT."""

    def __init__(
        self,
        *,
        n_subwords: int,
        width: int,
        positions: Literal["learned", "sinusoidal", "none"] = "learned",
        max_positions: int = 512,
        n_segments: int = 0,
        norm: bool = True,
        norm_eps: float = 1e-12,
        scale: bool = False,
        dropout: float = 0.1,
        entity_width: int = 0,
    ) -> None:
        """Create the tables; ``entity_width`` is that of the vectors in ``LayerRows.known``.

        These vectors are also projected and added before the norm (BERT+FUR+ENT). With an
        ``entity_width`` of 0 they are not read.
        """
        super().__init__()
        self.subwords = nn.Embedding(n_subwords, width)
        self.entities = nn.Linear(entity_width, width, bias=False) if entity_width else None
        self.factor = width**0.5 if scale else None
        self.positions: LearnedPositions | SinusoidalPositions | None = None
        if positions == "learned":
            self.positions = LearnedPositions(max_positions=max_positions, width=width)
        elif positions == "sinusoidal":
            self.positions = SinusoidalPositions(width=width, length=max_positions)
        self.segments = nn.Embedding(n_segments, width) if n_segments else None
        self.norm = nn.LayerNorm(width, eps=norm_eps) if norm else None
        self.dropout = Dropout(dropout)

    def forward(self, subwords: Tensor, rows: LayerRows, segments: Tensor | None = None) -> Tensor:
        """Embed subword ids (T,) -> (T, D); without ``segments`` all subwords are of segment 0."""
        x = self.subwords(subwords)
        if self.factor is not None:
            x = x * self.factor
        if self.positions is not None:
            x = x + self.positions(rows)
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else self.segments(segments))
        if self.entities is not None and rows.known is not None:
            x = x.index_add(0, rows.known.rows, self.entities(rows.known.vectors).to(x.dtype))
        if self.norm is not None:
            x = self.norm(x)
        return self.dropout(x)  # type: ignore[no-any-return]


class EntityEmbeddings(nn.Module):
    """LUKE's embedding of mentions: W E[id] + the mean of P over the subwords + a type."""

    def __init__(
        self,
        *,
        n_entities: int,
        entity_width: int,
        width: int,
        bias: bool = False,
        n_positions: int = 512,
        n_types: int = 1,
        norm_eps: float = 1e-12,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.entities = nn.Embedding(n_entities, entity_width)
        self.project = nn.Linear(entity_width, width, bias=bias) if entity_width != width else None
        self.positions = nn.Embedding(n_positions, width)
        self.types = nn.Embedding(n_types, width)
        self.norm = nn.LayerNorm(width, eps=norm_eps)
        self.dropout = Dropout(dropout)

    def forward(self, mentions: BatchMentions) -> Tensor:
        """Embed mentions: (E, D)."""
        x = self.entities(mentions.entities)
        if self.project is not None:
            x = self.project(x)
        places = functional.embedding_bag(
            mentions.positions, self.positions.weight, mentions.offsets, mode="mean"
        )
        return self.dropout(self.norm(x + places + self.types.weight[0]))  # type: ignore[no-any-return]


Pooling = Literal["first", "mean", "max"]


def pool_words(
    subwords: Tensor, word_subwords: Tensor, word_offsets: Tensor, *, pooling: Pooling = "first"
) -> Tensor:
    """Pool the subwords of each word, (T, D) -> (W, D): the first, or the mean or maximum of all.

    ``word_subwords`` (Q,) are the rows of the subwords of each word, one word after the other;
    ``word_offsets`` (W,) says where those of each word begin. Every word has at least one subword.
    """
    if pooling == "first":
        return subwords.index_select(0, word_subwords.index_select(0, word_offsets))
    ends = torch.cat([word_offsets[1:], word_offsets.new_tensor([len(word_subwords)])])
    rows = subwords.index_select(0, word_subwords)  # (Q, D)
    pooled: Tensor = torch.segment_reduce(rows, pooling, lengths=ends - word_offsets)
    return pooled
