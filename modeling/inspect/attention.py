"""Attention maps of the heads of an encoder, for one text (Jia et al. 2020, figure 6).

Shapes: H heads, n rows that attend to each other.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from corpora.entities.vocabulary import MASK, SPECIAL
from corpora.errors import UsageError
from modeling.data.batch import Batch, LayerRows
from modeling.layers.dense import Padded, attend_densely
from modeling.models.text_encoder import TextEncoder
from modeling.taggers.encoder import Encoder, Place

MAX_ROWS: Final = 512
"""The most rows of a map; larger maps are of no use to a reader."""


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """The attention weights of one layer."""

    layer: int
    """The index of the layer, from 1."""
    what: str
    """What attends: ``rows``: subwords, then mentions; ``words``; ``window``: nearby subwords."""
    names: tuple[str, ...]
    """(n,) the names of the rows."""
    weights: Tensor
    """(H, n, n) float32: the weight of a column (third axis) for a row; each row sums to 1."""


def attention_maps(
    encoder: Encoder, text: str, mentions: Sequence[Place] = (), *, lang: str | None = None
) -> list[AttentionMap]:
    """Compute the attention maps of all layers for a text.

    ``mentions`` are read with the text as in ``Encoder.entities``. Raises ``UsageError`` for a text
    of more than one window or of more than ``MAX_ROWS`` subwords, and ``ValueError`` for a kind of
    attention whose weights cannot be computed.
    """
    batch = encoder.windows(text, mentions, lang=lang)
    layout = batch.rows.subwords
    if layout.n_sequences > 1 or layout.longest > MAX_ROWS:
        raise UsageError(
            f"--attention: the text has {len(batch.subwords):,} subwords, more than one window of "
            f"the encoder, or than the {MAX_ROWS} that can be shown. Take a sentence of it."
        )
    names = _names(encoder, batch)
    maps = []
    device = next(encoder.model.parameters()).device
    with torch.inference_mode(), _recorded(encoder.model) as recorded:
        encoder.model(batch.to(device))
        for number, (attention, x, rows) in enumerate(recorded, 1):
            dense = attend_densely(attention, rows.together.pad(x), padded(rows))
            for what, weights in dense.weights.items():
                shown = names[what]
                kept = weights[0, :, : len(shown), : len(shown)].float().cpu()
                maps.append(AttentionMap(number, what, shown, kept))
    return maps


def padded(rows: LayerRows) -> Padded:
    """Convert the rows of a layer to the form that dense attention reads."""
    layout = rows.together
    attend = layout.stands
    n_subwords, n_rows = len(rows.subwords.index), len(layout.index)
    words = are_entities = None
    if rows.words is not None:
        words = rows.subwords.pad(
            rows.words.layout.positions.index_select(0, rows.words.of_subword)
        )
    if n_rows > n_subwords:
        are_entities = layout.pad(torch.arange(n_rows, device=attend.device) >= n_subwords)
    know = known = None
    if rows.known is not None:
        flags = torch.zeros(n_subwords, dtype=torch.bool, device=attend.device)
        know = rows.subwords.pad(flags.index_fill(0, rows.known.rows, value=True))
        vectors = rows.known.vectors
        table = vectors.new_zeros(n_subwords, vectors.shape[1])
        known = rows.subwords.pad(table.index_copy(0, rows.known.rows, vectors))
    return Padded(attend, words, are_entities, know, known)


@contextmanager
def _recorded(model: TextEncoder) -> Iterator[list[tuple[nn.Module, Tensor, LayerRows]]]:
    """Record the inputs of each attention inside the block: the layer, x and rows."""
    found: list[tuple[nn.Module, Tensor, LayerRows]] = []

    def record(layer: nn.Module, inputs: tuple[Tensor, LayerRows]) -> None:
        found.append((layer, *inputs))

    hooks = [
        layer.attention.register_forward_pre_hook(record)  # type: ignore[union-attr]
        for layer in model.encoder.layers
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _names(encoder: Encoder, batch: Batch) -> dict[str, tuple[str, ...]]:
    """Return the names of the rows of each kind of map: subwords and mentions, subwords, words."""
    backend = encoder.tokenizer.backend
    subwords = [str(backend.id_to_token(id)) for id in batch.subwords.tolist()]
    ids = [] if batch.mentions is None else batch.mentions.entities.tolist()
    mentions = [SPECIAL[MASK] if id == MASK else encoder.entity(id) for id in ids]
    found = {"rows": (*subwords, *mentions), "window": tuple(subwords)}
    if batch.rows.words is not None:
        words: dict[int, list[str]] = {}
        for subword, word in zip(subwords, batch.rows.words.of_subword.tolist(), strict=True):
            words.setdefault(word, []).append(subword.removeprefix("##"))
        found["words"] = tuple("".join(parts) for parts in words.values())
    return found
