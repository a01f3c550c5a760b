"""Whole-word attention (NEISS paper, section 5): words look at words, and pieces around them.

Shapes: T pieces, W words, D width, H heads.
"""

import torch
from torch import Tensor, nn

from modeling.data.batch import Rows, Words
from modeling.layers.attention import SelfAttention
from modeling.layers.groups import checked_heads, from_heads, to_heads
from modeling.layers.relative import RelativeSelfAttention, relative_table
from modeling.layers.window_scores import window_attention


class WindowAttention(nn.Module):
    """Each piece looks at the pieces at most ``window`` away, itself among them.

    The softmax is over these only (B-N10). With ``clip`` it has relative positions, from tables
    as ``RelativeSelfAttention`` has; None: no positions.
    """

    offsets: Tensor

    def __init__(self, *, width: int, n_heads: int, window: int, clip: int | None) -> None:
        super().__init__()
        self.n_heads = checked_heads(width, n_heads)
        self.window = window
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.keys: nn.Parameter | None = None
        self.values: nn.Parameter | None = None
        if clip is not None:
            self.keys, self.values = (relative_table(clip, width // n_heads) for _ in range(2))
            rows = torch.arange(-window, window + 1).clamp(-clip, clip) + clip
            self.register_buffer("offsets", rows, persistent=False)

    def forward(self, x: Tensor, rows: Rows) -> Tensor:
        """(T, D) -> (T, D)."""
        layout = rows.pieces
        query, key, value = (
            to_heads(project(x), layout, self.n_heads)
            for project in (self.query, self.key, self.value)
        )
        tables = None
        if self.keys is not None and self.values is not None:
            tables = (self.keys[self.offsets], self.values[self.offsets])  # (2ω + 1, K)
        mixed = window_attention(
            query * query.shape[-1] ** -0.5,
            key,
            value,
            window=self.window,
            tables=tables,
            attend=layout.attend,
        )
        return self.output(from_heads(mixed, layout))  # type: ignore[no-any-return]


class WholeWordAttention(nn.Module):
    """All words look at all words, and each piece at the pieces around it; the two are added.

    A word is the mean of its pieces, and each piece gets what its word gets. ``clip``: both have
    relative positions, of words and of pieces; None: neither has.
    """

    def __init__(self, *, width: int, n_heads: int, window: int, clip: int | None) -> None:
        super().__init__()
        self.words: SelfAttention | RelativeSelfAttention
        if clip is None:
            self.words = SelfAttention(width=width, n_heads=n_heads)
        else:
            self.words = RelativeSelfAttention(width=width, n_heads=n_heads, clip=clip)
        self.window = WindowAttention(width=width, n_heads=n_heads, window=window, clip=clip)

    def forward(self, x: Tensor, rows: Rows) -> Tensor:
        """(T, D) -> (T, D); ``ValueError`` if the rows do not say which words there are."""
        words = rows.words
        if words is None:
            raise ValueError("Whole-word attention needs Rows.words: make the batch with words.")
        seen = self.words(word_means(x, words), Rows(pieces=words.layout, together=words.layout))
        return seen.index_select(0, words.of_piece) + self.window(x, rows)  # type: ignore[no-any-return]


def word_means(x: Tensor, words: Words) -> Tensor:
    """(T, D) -> (W, D): the mean of the pieces of each word."""
    sums = x.new_zeros(len(words.n_pieces), x.shape[1]).index_add(0, words.of_piece, x)
    return sums / words.n_pieces[:, None]
