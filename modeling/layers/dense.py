"""Attention as in papers: all weights at once, of sequences padded to one length.

The layers compute the same in blocks, or in kernels that never write weights to memory. This module
is for inspecting weights, and for export to other runtimes: no control flow depends on the values
of tensors. It uses the parameters of given layers; there is no dropout.

Shapes: B sequences, N positions, H heads, K width of a head, D = H * K, τ clipping distance.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from modeling.layers.attention import (
    CharEntityAttention,
    EntityAwareAttention,
    RelativeSelfAttention,
    SelfAttention,
    WholeWordAttention,
    WindowAttention,
)


class Padded(NamedTuple):
    """The inputs of an attention that describe the positions of padded sequences."""

    attend: Tensor
    """(B, N) bool: True where there is a row."""
    words: Tensor | None = None
    """(B, N) int64: the index in its sequence of each subword's word; for whole-word attention."""
    are_entities: Tensor | None = None
    """(B, N) bool: whether each row is a mention; None: none is."""
    know: Tensor | None = None
    """(B, N) bool: whether each subword knows an entity; None: none does."""
    known: Tensor | None = None
    """(B, N, F): the vector of the entity that each subword knows; None: none knows one."""


class Dense(NamedTuple):
    """The output and the weights of an attention."""

    output: Tensor
    """(B, N, D); values are arbitrary where there is no row."""
    weights: dict[str, Tensor]
    """(B, H, N, N) each, from a row to a column, by name: ``rows``; or for whole-word attention
    ``words`` (the words are the first of the N positions) and ``window``."""


def attend_densely(layer: nn.Module, x: Tensor, rows: Padded) -> Dense:
    """Apply an attention of ``modeling.layers`` to (B, N, D); also return its weights.

    Raises ``ValueError`` for any other layer, and for whole-word attention without words.
    """
    match layer:
        case WholeWordAttention():
            return _whole_words(layer, x, rows)
        case WindowAttention() | RelativeSelfAttention():
            tables = None if layer.keys is None else (layer.keys, cast(Tensor, layer.values))
            window = layer.window if isinstance(layer, WindowAttention) else None
            mixed, weights = _with_offsets(layer, x, rows.attend, tables=tables, window=window)
            name = "rows" if window is None else "window"
        case EntityAwareAttention() if rows.are_entities is not None:
            mixed, weights = _entity_aware(layer, x, rows.attend, are_entities=rows.are_entities)
            name = "rows"
        case CharEntityAttention() if rows.known is not None and rows.know is not None:
            mixed, weights = _char_entity(layer, x, rows)
            name = "rows"
        case SelfAttention() | EntityAwareAttention() | CharEntityAttention():
            mixed, weights = _with_offsets(layer, x, rows.attend)
            name = "rows"
        case _:
            raise ValueError(f"{type(layer).__name__} is no attention that is known here.")
    return Dense(layer.output(mixed.transpose(1, 2).flatten(2)), {name: weights})


_Layer = (
    SelfAttention
    | EntityAwareAttention
    | CharEntityAttention
    | RelativeSelfAttention
    | WindowAttention
)


def _heads(x: Tensor, n_heads: int) -> Tensor:
    """Split rows into heads: (B, N, D) -> (B, H, N, K)."""
    return x.view(*x.shape[:2], n_heads, x.shape[2] // n_heads).transpose(1, 2)


def _softmax(scores: Tensor, attend: Tensor) -> Tensor:
    """Compute weights from scores (B, H, N, N); ``attend`` is (B, 1, 1, N), or (B, 1, N, N)."""
    return scores.masked_fill(~attend, torch.finfo(scores.dtype).min).softmax(3)


def _with_offsets(
    layer: _Layer,
    x: Tensor,
    attend: Tensor,
    *,
    tables: tuple[Tensor, Tensor] | None = None,
    window: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute mixed values (B, H, N, K) and weights (B, H, N, N).

    ``tables``: relative positions of keys and values; ``window``: rows attend only to rows at most
    so far away.
    """
    query, key, value = (
        _heads(project(x), layer.n_heads) for project in (layer.query, layer.key, layer.value)
    )
    query = query * query.shape[-1] ** -0.5
    scores = query @ key.mT
    places = torch.arange(x.shape[1], device=x.device)
    offsets = places[None] - places[:, None]  # (N, N): j - i in row i and column j
    seen = attend[:, None, None]
    if window is not None:
        seen = seen & (offsets.abs() <= window)
    if tables is None:
        weights = _softmax(scores, seen)
        return weights @ value, weights
    keys, values = tables
    clip = len(keys) // 2
    offsets = offsets.clamp(-clip, clip) + clip
    by_offset = query @ keys.T  # (B, H, N, 2τ + 1)
    scores = scores + by_offset.gather(3, offsets.expand(scores.shape))
    weights = _softmax(scores, seen)
    # Σ_j α_ij b_ij as a product for each i: (N, B * H, N) @ (N, N, K)
    of_offsets = weights.flatten(0, 1).transpose(0, 1) @ values[offsets]
    return weights @ value + of_offsets.transpose(0, 1).reshape(value.shape), weights


def _entity_aware(
    layer: EntityAwareAttention, x: Tensor, attend: Tensor, *, are_entities: Tensor
) -> tuple[Tensor, Tensor]:
    is_entity = are_entities[:, :, None]
    to_words = torch.where(is_entity, layer.entity_query_to_words(x), layer.query(x))
    to_entities = torch.where(is_entity, layer.entity_query(x), layer.query_to_entities(x))
    to_words, to_entities, key, value = (
        _heads(rows, layer.n_heads)
        for rows in (to_words, to_entities, layer.key(x), layer.value(x))
    )
    scores = torch.where(are_entities[:, None, None], to_entities @ key.mT, to_words @ key.mT)
    weights = _softmax(scores * key.shape[-1] ** -0.5, attend[:, None, None])
    return weights @ value, weights


def _char_entity(layer: CharEntityAttention, x: Tensor, rows: Padded) -> tuple[Tensor, Tensor]:
    know, known = cast(Tensor, rows.know)[:, :, None], cast(Tensor, rows.known)
    ratio = layer.scale
    own = ((layer.key, layer.entity_key), (layer.value, layer.entity_value))
    key, value = (
        torch.where(know, (1 - ratio) * of_subword(x) + ratio * of_entity(known), of_subword(x))
        for of_subword, of_entity in own
    )
    query, key, value = (_heads(part, layer.n_heads) for part in (layer.query(x), key, value))
    weights = _softmax(query @ key.mT * key.shape[-1] ** -0.5, rows.attend[:, None, None])
    return weights @ value, weights


def _whole_words(layer: WholeWordAttention, x: Tensor, rows: Padded) -> Dense:
    if rows.words is None:
        raise ValueError("Whole-word attention needs the words: which of them each subword is of.")
    n = x.shape[1]
    places = torch.arange(n, device=x.device)
    belongs = (rows.words[:, :, None] == places) & rows.attend[:, :, None]  # (B, N, N): to a word
    sizes = belongs.sum(1)  # (B, N)
    sums = belongs.to(x.dtype).mT @ x
    means = sums / sizes.clamp(min=1)[:, :, None].to(x.dtype)
    words = attend_densely(layer.words, means, Padded(sizes > 0))
    window = attend_densely(layer.window, x, rows)
    seen = words.output.gather(1, rows.words[:, :, None].expand(x.shape))
    weights = {"words": words.weights["rows"], **window.weights}
    return Dense(seen + window.output, weights)
