"""States of candidate spans, each read alone: it looks at the text, and nothing looks at it.

As in LUKE, a span that is read is an entity [MASK] at the span's positions, and goes through all
layers of the encoder. In LUKE pieces and entities all look at all (``span_chunks``), so that the
pieces are encoded anew for every 128 spans. Here pieces look at pieces only, once; then each span
looks, in each layer, at the pieces, whose keys and values are remembered, and at itself. What its
state is depends on the text, not on which other spans are read, or in which order.

Shapes: B windows, T pieces of all, P candidates, E of them that are read, D width.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpora.entities.vocabulary import MASK
from modeling.data.batch import Batch, Layout, Mentions
from modeling.data.sentence_batch import SpanBatch
from modeling.layers.attention import EntityAwareAttention, Memory, SelfAttention
from modeling.layers.encoder import EncoderLayer
from modeling.models.encoder import TextEncoder

Indices = NDArray[np.int64]
_Attention = SelfAttention | EntityAwareAttention
_AT_ONCE: Final = 2048  # spans alone, without gradients: more are no faster, and take memory


class SpanStates(NamedTuple):
    """What a head may know of E spans."""

    first: Tensor
    """(E, D): the first piece."""
    last: Tensor
    """(E, D): the last piece."""
    entity: Tensor
    """(E, D): the entity."""


class Remembered(NamedTuple):
    """Windows that were encoded, and what the spans in them look at."""

    pieces: Tensor
    """(T, D)."""
    memories: tuple[Memory, ...]
    """Of each layer."""


def remember(encoder: TextEncoder, inputs: Batch) -> Remembered:
    """Encode pieces, which see no span; ``ValueError`` if the encoder's attention reads none."""
    memories: list[Memory] = []
    x = encoder.embeddings(inputs.pieces, inputs.rows, inputs.segments)
    for layer, attention in _layers(encoder):
        look = partial(_remember, attention, layout=inputs.rows.pieces, memories=memories)
        x = layer.around(look, x)
    return Remembered(_normed(encoder, x), tuple(memories))


def _remember(
    attention: _Attention, x: Tensor, *, layout: Layout, memories: list[Memory]
) -> Tensor:
    mixed, memory = attention.remember(x, layout)
    memories.append(memory)
    return mixed


def _layers(encoder: TextEncoder) -> Iterator[tuple[EncoderLayer, _Attention]]:
    for layer in encoder.encoder.layers:
        if not isinstance(layer, EncoderLayer) or not isinstance(layer.attention, _Attention):
            raise ValueError(
                f"{type(layer.attention).__name__} reads no spans. Take a head that reads words "
                "alone (head.span_features=words), or plain or entity-aware attention."
            )
        yield layer, layer.attention


def _normed(encoder: TextEncoder, x: Tensor) -> Tensor:
    return x if encoder.encoder.norm is None else encoder.encoder.norm(x)


def read_alone(
    encoder: TextEncoder, remembered: Remembered, spans: SpanBatch, *, chosen: Tensor, inputs: Batch
) -> SpanStates:
    """Read chosen candidates (E,), int64, each by itself; states are in their order.

    Without gradients no more than some thousand are read at once. Raises ``ValueError`` if the
    encoder reads no entities.
    """
    places = Places.of(spans, inputs.rows.pieces, chosen)
    order = np.argsort(places.windows, kind="stable")
    size = max(1, len(order)) if torch.is_grad_enabled() else _AT_ONCE
    states = [
        _read_part(encoder, remembered, places.take(order[begin : begin + size]))
        for begin in range(0, len(order), size)
    ]
    pieces = remembered.pieces
    entity = torch.cat(states) if states else pieces.new_zeros((0, pieces.shape[1]))
    first, last = (pieces.index_select(0, rows[chosen]) for rows in edges(spans))
    back = torch.from_numpy(np.argsort(order)).to(pieces.device)
    return SpanStates(first, last, entity.index_select(0, back))


def edges(spans: SpanBatch) -> tuple[Tensor, Tensor]:
    """Rows (P,) of the first and of the last piece of each."""
    return spans.first_pieces, spans.last_pieces


def _read_part(encoder: TextEncoder, remembered: Remembered, places: "Places") -> Tensor:
    """(E, D): some spans, in the order of their windows."""
    device = remembered.pieces.device
    begin, end = int(places.windows[0]), int(places.windows[-1]) + 1
    readers = Layout.of(np.bincount(places.windows - begin, minlength=end - begin)).to(device)
    x = encoder.embed_mentions(places.mentions().to(device), longest=places.longest)
    windows = slice(begin, end)
    for (layer, attention), memory in zip(_layers(encoder), remembered.memories, strict=True):
        read = partial(attention.read, memory=memory.cut(windows), readers=readers)
        x = layer.around(read, x)
    return _normed(encoder, x)


class Places(NamedTuple):
    """Where E spans stand: window, and positions of the first and the last piece in it."""

    windows: Indices
    firsts: Indices
    lasts: Indices
    longest: int
    """Pieces of the longest window of the batch."""

    @classmethod
    def of(cls, spans: SpanBatch, pieces: Layout, chosen: Tensor) -> "Places":
        """Look up chosen candidates (E,)."""
        first, last = (pieces.positions[rows[chosen]] for rows in edges(spans))
        both = torch.stack([spans.windows[chosen], first, last])
        windows, firsts, lasts = both.cpu().numpy()
        return cls(windows, firsts, lasts, pieces.longest)

    def take(self, order: Indices) -> "Places":
        """Some of them, in this order."""
        windows, firsts, lasts = (array[order] for array in self[:3])
        return Places(windows, firsts, lasts, self.longest)

    def mentions(self) -> Mentions:
        """As the encoder's entity embedding takes them."""
        sizes = self.lasts - self.firsts + 1
        return Mentions(
            entities=torch.full((len(sizes),), MASK),
            positions=torch.from_numpy(ranges(self.firsts, sizes)),
            offsets=torch.from_numpy(np.cumsum(sizes) - sizes),
        )


def ranges(starts: Indices, sizes: Indices) -> Indices:
    """Count on from each start, as often as its size says; one range after the other."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())
