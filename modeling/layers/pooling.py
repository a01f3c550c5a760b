"""From pieces to words.

Shapes: T pieces, W words, Q pieces of all words, D width.
"""

from typing import Literal

import torch
from torch import Tensor

Pooling = Literal["first", "mean", "max"]


def pool_words(
    pieces: Tensor, word_pieces: Tensor, word_offsets: Tensor, *, pooling: Pooling = "first"
) -> Tensor:
    """(T, D) -> (W, D): of each word its first piece, or the mean or the maximum of all.

    ``word_pieces`` (Q,) are the rows of each word, one word after the other, ``word_offsets`` (W,)
    where those of each word begin; every word has a piece.
    """
    if pooling == "first":
        return pieces.index_select(0, word_pieces.index_select(0, word_offsets))
    ends = torch.cat([word_offsets[1:], word_offsets.new_tensor([len(word_pieces)])])
    rows = pieces.index_select(0, word_pieces)  # (Q, D)
    pooled: Tensor = torch.segment_reduce(rows, pooling, lengths=ends - word_offsets)
    return pooled
