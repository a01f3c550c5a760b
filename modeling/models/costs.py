"""The costs of a model: parameters, and floating-point operations.

Only matrix products count; a multiplication and an addition are two operations. Padding is not
counted, nor is what an implementation computes again. Backward takes twice as many operations as
forward.

Shapes: B sequences; n subwords, m words and e mentions of one, r = n + e rows; D width.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from modeling.config import EncoderConfig, PretrainConfig
from modeling.data.batch import Batch, Targets
from modeling.models.pretraining_model import PretrainingModel

TRAINING: Final = 3
"""The operations of forward and backward together, as a multiple of forward."""
_SUBWORDS_OF_MENTION: Final = 2


def count_parameters(model: PretrainingModel) -> dict[str, int]:
    """Count parameters by part, and in ``total``; storage that parts share counts once."""
    encoder = model.encoder
    parts: dict[str, list[nn.Module]] = {
        "embeddings": [encoder.embeddings],
        "encoder": [encoder.encoder],
    }
    if encoder.entity_embeddings is not None:
        parts["entity_embeddings"] = [encoder.entity_embeddings]
    parts["heads"] = list(model.heads.values())
    seen: set[int] = set()
    counts = {name: _count_new(modules, seen) for name, modules in parts.items()}
    return {**counts, "total": sum(counts.values())}


def _count_new(modules: Iterable[nn.Module], seen: set[int]) -> int:
    total = 0
    for weights in (weights for module in modules for weights in module.parameters()):
        storage = weights.untyped_storage().data_ptr()
        total += weights.numel() if storage not in seen else 0
        seen.add(storage)
    return total


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of the sequences of a batch, in arrays (B,)."""

    subwords: NDArray[np.int64]
    words: NDArray[np.int64] | None = None
    """Needed for whole-word attention only."""
    mentions: NDArray[np.int64] | None = None
    known: NDArray[np.int64] | None = None
    """The number of subwords that know an entity; None: 0."""

    @classmethod
    def of(cls, batch: Batch) -> "Lengths":
        """Read the lengths of a batch, best before it moves to a GPU (later, this waits for it)."""
        rows = batch.rows
        return cls(
            subwords=rows.subwords.lengths.cpu().numpy(),
            words=None if rows.words is None else rows.words.layout.lengths.cpu().numpy(),
            mentions=None if rows.entities is None else rows.entities.lengths.cpu().numpy(),
            known=_known_sizes(batch),
        )


def _known_sizes(batch: Batch) -> NDArray[np.int64] | None:
    if batch.subword_entities is None:
        return None
    layout = batch.rows.subwords
    of = layout.sequences.index_select(0, batch.subword_entities.rows)
    return np.bincount(of.cpu().numpy(), minlength=layout.n_sequences)


def batch_flops(config: PretrainConfig, batch: Batch) -> int:
    """Count the operations of forward and backward for a batch with targets."""
    forward = encoder_flops(config.encoder, Lengths.of(batch))
    compared = {name: _n_compared(targets) for name, targets in batch.targets.items()}
    n_negatives = max((n for n in compared.values() if n is not None), default=0)
    return TRAINING * (forward + head_flops(config, batch.n_targets, n_negatives=n_negatives))


def _n_compared(targets: Targets) -> int | None:
    """Compute how many ids a label is compared with, on average; None: the whole vocabulary."""
    if targets.choices is not None:
        pairs = zip(targets.choices.sizes, targets.choices.n_targets, strict=True)
        mean = sum(size * n for size, n in pairs) / max(len(targets.labels), 1)
        return max(1, round(mean) - 1)
    return None if targets.negatives is None else targets.negatives.shape[-1]


def flops_per_subword(config: PretrainConfig, length: int, *, n_mentions: int = 0) -> float:
    """Count the operations of forward and backward, per subword of a sequence of this length.

    ``config.masking`` gives the number of targets; each subword counts as a word. Where subwords
    know entities, a mention counts as two subwords.
    """
    are_rows = config.encoder.entities == "mentions"
    n_known = 0 if are_rows else min(_SUBWORDS_OF_MENTION * n_mentions, length)
    sizes = Lengths(
        subwords=np.array([length]),
        words=np.array([length]),
        mentions=np.array([n_mentions if are_rows else 0]),
        known=np.array([n_known]),
    )
    targets = {
        "subwords": config.masking.ratio * length,
        "entities": config.masking.entity_ratio * n_mentions,
        "subword_entities": n_known,
        "pairs": 1.0,
    }
    n_targets = {name: targets[name] for name in config.heads.weights}
    heads = head_flops(config, n_targets, n_negatives=config.masking.n_negatives)
    return TRAINING * (encoder_flops(config.encoder, sizes) + heads) / length


def encoder_flops(config: EncoderConfig, lengths: Lengths) -> int:
    """Count the operations of forward of the encoder."""
    subwords, width = lengths.subwords, config.width
    mentions = np.zeros_like(subwords) if lengths.mentions is None else lengths.mentions
    rows = subwords + mentions
    known = np.zeros_like(subwords) if lengths.known is None else lengths.known
    of_known = 2 * known * config.entity_width * width
    kinds: dict[str, Callable[[], NDArray[np.signedinteger]]] = {
        "plain": lambda: _attention(rows, rows, width=width),
        "char_entity": lambda: _attention(rows, rows, width=width) + 2 * of_known,
        "relative": lambda: _attention(
            subwords, subwords, width=width, offsets=2 * config.clip + 1
        ),
        "entity_aware": lambda: (
            _attention(rows, rows, width=width) + np.where(mentions > 0, 2 * rows * width**2, 0)
        ),
        "whole_word": lambda: _whole_word(config, lengths, is_relative=False),
        "whole_word_relative": lambda: _whole_word(config, lengths, is_relative=True),
    }
    attention = kinds[config.attention]()
    feed_forward = 4 * rows * width * config.inner_width
    is_projected = config.n_entities and config.entity_width != width
    projection = 2 * mentions * config.entity_width * width if is_projected else 0
    if config.entities == "subwords" and config.attention != "char_entity":
        projection = of_known
    return int((config.n_layers * (attention + feed_forward) + projection).sum())


def _attention(
    rows: NDArray[np.int64], seen: NDArray[np.int64] | int, *, width: int, offsets: int = 0
) -> NDArray[np.signedinteger]:
    """Count four projections, and scores and sums over what each row sees and over the tables."""
    return 8 * rows * width**2 + 4 * rows * (seen + offsets) * width


def _whole_word(
    config: EncoderConfig, lengths: Lengths, *, is_relative: bool
) -> NDArray[np.signedinteger]:
    if lengths.words is None:
        raise ValueError("Whole-word attention needs the number of words: give Lengths.words.")
    width, side = config.width, 2 * config.window + 1
    offsets = 2 * config.clip + 1 if is_relative else 0
    words = _attention(lengths.words, lengths.words, width=width, offsets=offsets)
    window = _attention(lengths.subwords, side, width=width, offsets=side if is_relative else 0)
    return words + window


def head_flops(
    config: PretrainConfig, n_targets: Mapping[str, ArrayLike], *, n_negatives: int = 0
) -> int:
    """Count the operations of forward of the heads, for so many targets of each objective."""
    encoder, heads = config.encoder, config.heads
    width, entity_width = encoder.width, encoder.entity_width
    n_entities = 1 + n_negatives if n_negatives else encoder.n_entities
    each = {
        "subwords": width * (heads.transform * width + encoder.n_subwords),
        "entities": entity_width * (width + n_entities),
        "subword_entities": entity_width * (width + n_entities),
        "pairs": width * ((heads.pair_pooling == "cls") * width + 2),
    }
    return int(sum(2 * np.asarray(n) * each[name] for name, n in n_targets.items()))
