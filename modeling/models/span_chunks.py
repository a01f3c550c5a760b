"""States of candidate spans, read jointly, as LUKE does: pieces and spans all look at all.

A window with more than 128 candidates is encoded several times, each time with an equal share of
them, in their order (C.4); what a state is depends on these shares. This is the plain way that
``span_reading`` is measured against.

Shapes: B windows, T pieces of all, P candidates, C chunks, D width.
"""

from typing import Final, cast

import numpy as np
import torch
from torch import Tensor

from modeling.data.batch import Batch, Layout, Rows
from modeling.data.sentence_batch import SpanBatch
from modeling.models.encoder import TextEncoder
from modeling.models.span_reading import Indices, Places, SpanStates, ranges

CHUNK: Final = 128
"""Most spans that are read at once with a window."""


def read_jointly(encoder: TextEncoder, inputs: Batch, spans: SpanBatch) -> SpanStates:
    """Read all candidates; states (P, D) are in their order.

    Raises ``ValueError`` if the encoder reads no entities.
    """
    device = spans.windows.device
    every = torch.arange(len(spans.windows), device=device)
    places = Places.of(spans, inputs.rows.pieces, every)
    if not len(every):
        nothing = encoder.embeddings.pieces.weight[:0]
        return SpanStates(nothing, nothing, nothing)
    of_span, windows = _chunks(places.windows)
    order = np.argsort(of_span, kind="stable")
    batch, begins = _chunked(inputs, windows, (of_span[order], places.take(order)))
    encoded = encoder(batch)
    firsts, lasts = (
        torch.from_numpy(begins[of_span] + positions).to(device)
        for positions in (places.firsts, places.lasts)
    )
    back = torch.from_numpy(np.argsort(order)).to(device)
    return SpanStates(
        first=encoded.pieces.index_select(0, firsts),
        last=encoded.pieces.index_select(0, lasts),
        entity=cast(Tensor, encoded.entities).index_select(0, back),
    )


def _chunks(windows: Indices) -> tuple[Indices, Indices]:
    """The chunk of each span (P,), and the window of each chunk (C,), ascending."""
    order = np.argsort(windows, kind="stable")
    counts = np.bincount(windows)
    in_window = np.empty_like(windows)
    in_window[order] = ranges(np.zeros_like(counts), counts)
    n_chunks = -(-counts // CHUNK)
    sizes = -(-counts // np.maximum(n_chunks, 1))
    number = in_window // sizes[windows]
    n_chunks = -(-counts // np.maximum(sizes, 1))  # of 129: 65 and 64; never an empty one
    before = np.cumsum(n_chunks) - n_chunks
    return before[windows] + number, np.repeat(np.arange(len(counts)), n_chunks)


def _chunked(
    inputs: Batch, windows: Indices, of_spans: tuple[Indices, Places]
) -> tuple[Batch, Indices]:
    """The batch of all chunks, and the row (C,) at which the pieces of each begin.

    ``of_spans``: the chunk of each span, ascending, and where the spans stand.
    """
    chunks, places = of_spans
    device = inputs.pieces.device
    layout = inputs.rows.pieces
    counts = np.bincount(layout.sequences.cpu().numpy(), minlength=layout.n_sequences)
    lengths, starts = counts[windows], (np.cumsum(counts) - counts)[windows]
    rows = torch.from_numpy(ranges(starts, lengths)).to(device)
    pieces = Layout.of(lengths)
    entities = Layout.of(np.bincount(chunks, minlength=len(windows)))
    together = Layout.placed(
        np.concatenate([pieces.sequences, chunks]),
        np.concatenate([pieces.positions, lengths[chunks] + entities.positions.numpy()]),
        longest=int((lengths + np.bincount(chunks, minlength=len(windows))).max()),
        n=len(windows),
    )
    batch = Batch(
        ids=tuple(inputs.ids[window] for window in windows.tolist()),
        pieces=inputs.pieces.index_select(0, rows),
        rows=Rows(pieces, together, entities=entities).to(device),
        segments=None if inputs.segments is None else inputs.segments.index_select(0, rows),
        mentions=places.mentions().to(device),
    )
    return batch, np.cumsum(lengths) - lengths
