"""The encoder of texts and their mentions, and the initialization of weights.

Shapes: T subwords, E mentions, R = T + E rows, D width.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from typing import Final, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from corpora.entities.vocabulary import PAD
from modeling.config import ConfigError, EncoderConfig
from modeling.data.batch import Batch, BatchMentions, LayerRows
from modeling.layers.attention import (
    CharEntityAttention,
    EntityAwareAttention,
    EntityTable,
    RelativeSelfAttention,
    SelfAttention,
    WholeWordAttention,
)
from modeling.layers.embeddings import EntityEmbeddings, SubwordEmbeddings
from modeling.layers.transformer import EncoderLayer, FeedForward, LayerStack

_OFFSETS: Final = (-1, 1, -2, 2)
"""The offsets to which the heads of the first layer attend, in turn."""
_POSITION: Final = 0.03
"""The size of the numbers of a position, somewhat above those of a subword."""
_SHARPNESS: Final = 2.0
"""The factor of queries and of keys."""


@torch.no_grad()
def attend_to_neighbours(encoder: nn.Module, config: EncoderConfig) -> None:
    """Set the positions, and the queries and keys of the first layer, of a new encoder.

    From random weights, an encoder with absolute positions needs thousands of steps until it finds
    where a subword stands. Until then it knows only how frequent subwords are.

    Positions are cosines and sines of random frequencies w. The query of a head at position i is
    the key of position i + o, o being the offset of the head: cos w(i + o) = cos wi cos wo − sin wi
    sin wo, and sin w(i + o) = sin wi cos wo + cos wi sin wo. Random numbers come from torch's
    generator. Raises ``ConfigError`` if the encoder has no learned positions, or no such heads.
    """
    if config.positions != "learned" or config.reads_words or config.attention == "relative":
        raise ConfigError(
            "encoder.init=neighbours is for learned positions and attention that is plain, "
            "entity_aware or char_entity: --set encoder.init=normal."
        )
    width = config.width // config.n_heads
    n = width // 2
    frequencies = math.pi * torch.rand(n)
    cosines, sines = torch.arange(n), torch.arange(n, 2 * n)
    positions = encoder.get_parameter("embeddings.positions.table.weight").zero_()
    angles = torch.arange(len(positions))[:, None] * frequencies
    positions[:, : 2 * n] = _POSITION * torch.cat([angles.cos(), angles.sin()], dim=1)
    first = "encoder.layers.0.attention"
    heads = (
        encoder.get_parameter(f"{first}.{name}.weight").zero_().view(config.n_heads, width, -1)
        for name in ("query", "key")
    )
    for offset, query, key in zip(cycle(_OFFSETS), *heads, strict=False):
        turn = frequencies * offset
        key[cosines, cosines] = key[sines, sines] = _SHARPNESS
        query[cosines, cosines] = query[sines, sines] = _SHARPNESS * turn.cos()
        query[cosines, sines] = -_SHARPNESS * turn.sin()
        query[sines, cosines] = _SHARPNESS * turn.sin()


_DEVIATION: Final = 0.02  # as BERT
_LIMIT: Final = 0.05  # as embeddings in Keras
_DRAWING: Final = frozenset(
    {
        Tensor.normal_,
        Tensor.uniform_,
        nn.init.normal_,
        nn.init.uniform_,
        nn.init.kaiming_uniform_,
        nn.init.xavier_uniform_,
    }
)


class Undrawn(TorchFunctionMode):
    """A context in which new weights are not initialized: they are whatever memory holds.

    It is for models whose weights are then all read from a file, as drawing takes longer than that.
    """

    def __torch_function__(  # noqa: PLR0917 - torch's interface
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Call a function, unless it draws weights; ``empty`` replaces ``randn``."""
        named = kwargs or {}
        if func in _DRAWING:
            return args[0] if args else named["tensor"]
        if func is torch.randn:
            func = torch.empty
        return func(*args, **named)


@torch.no_grad()
def initialize(model: nn.Module, init: Literal["normal", "neighbours", "keras"]) -> None:
    """Set every weight of the model; random numbers come from torch's generator.

    ``normal`` and ``neighbours``, as BERT: N(0, 0.02). ``keras``, as NEISS: linear maps
    Glorot-uniform, tables U(−0.05, 0.05). All biases are 0, and the scales of norms are 1.
    """
    for module in model.modules():
        for name, weights in module.named_parameters(recurse=False):
            if weights.ndim < 2:
                is_scale = isinstance(module, nn.LayerNorm) and name == "weight"
                weights.fill_(1.0 if is_scale else 0.0)
            elif init != "keras":
                nn.init.normal_(weights, std=_DEVIATION)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(weights)
            else:  # embeddings, and the tables of relative positions
                nn.init.uniform_(weights, -_LIMIT, _LIMIT)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put the model into evaluation mode (no dropout) inside; restore its mode afterwards."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


class Encoded(NamedTuple):
    """The output of an encoder for a batch."""

    subwords: Tensor
    """(T, D) the states of subwords."""
    entities: Tensor | None
    """(E, D) the states of mentions; None: the batch has no mentions."""


class TextEncoder(nn.Module):
    """An encoder of embeddings and layers; entities are rows, or subwords know them, or neither."""

    def __init__(
        self,
        *,
        embeddings: SubwordEmbeddings,
        entity_embeddings: EntityEmbeddings | EntityTable | None,
        encoder: LayerStack,
    ) -> None:
        super().__init__()
        self.embeddings = embeddings
        self.entity_embeddings = entity_embeddings
        self.encoder = encoder

    def forward(self, batch: Batch) -> Encoded:
        """Encode a batch; ``ValueError`` if it has entities that the encoder does not read."""
        rows = self._rows(batch)
        subwords = self.embeddings(batch.subwords, rows, batch.segments)
        if batch.mentions is None:
            return Encoded(self.encoder(subwords, rows), None)
        mentions = self.embed_mentions(batch.mentions, longest=rows.subwords.longest)
        x = self.encoder(torch.cat([subwords, mentions]), rows)
        return Encoded(*x.split([len(subwords), len(mentions)]))

    def _rows(self, batch: Batch) -> LayerRows:
        """Return the rows of a batch, with the vectors of entities that subwords know.

        Raises ``ValueError`` if subwords have entities, but those of this encoder know none.
        """
        if batch.subword_entities is None:
            return batch.rows
        if not isinstance(self.entity_embeddings, EntityTable):
            raise ValueError(
                "The batch has subwords with entities, but the subwords of this encoder know none. "
                "Leave them out of the batch, or set encoder.entities=subwords."
            )
        return replace(batch.rows, known=self.entity_embeddings(batch.subword_entities))

    def embed_mentions(self, mentions: BatchMentions, *, longest: int) -> Tensor:
        """Embed mentions, (E, D), for the first layer; sequences have at most ``longest`` subwords.

        Raises ``ValueError`` if the encoder reads no mentions, or has no positions for them.
        """
        if not isinstance(self.entity_embeddings, EntityEmbeddings):
            raise ValueError(
                "The batch has mentions, but this encoder reads none. Leave them out of the batch, "
                "or set encoder.n_entities (and encoder.entities=mentions)."
            )
        n_positions = self.entity_embeddings.positions.num_embeddings
        if longest > n_positions:
            raise ValueError(
                f"A sequence has {longest} subwords, but mentions have positions "
                f"for {n_positions}. Cut the examples shorter, or set encoder.max_positions."
            )
        return self.entity_embeddings(mentions)  # type: ignore[no-any-return]


def build_encoder(config: EncoderConfig) -> TextEncoder:
    """Build and initialise an encoder; ``ConfigError`` for settings that do not go together."""
    _check(config)
    if config.foreign:
        from modeling.models.foreign import ForeignEncoder  # noqa: PLC0415 - a child of TextEncoder

        return ForeignEncoder(config)
    layers = [_build_layer(config) for _ in range(config.n_layers)]
    last_norm = nn.LayerNorm(config.width, eps=config.norm_eps) if config.norm == "pre" else None
    encoder = TextEncoder(
        embeddings=SubwordEmbeddings(
            n_subwords=config.n_subwords,
            width=config.width,
            positions=config.positions,
            max_positions=config.max_positions,
            n_segments=config.n_segments,
            norm=config.embedding_norm,
            norm_eps=config.norm_eps,
            scale=config.scale_embeddings,
            dropout=config.embedding_dropout,
            entity_width=config.entity_width if _adds_entities(config) else 0,
        ),
        entity_embeddings=_build_entity_embeddings(config) if config.n_entities else None,
        encoder=LayerStack(layers, norm=last_norm),
    )
    initialize(encoder, config.init)
    if config.init == "neighbours":
        attend_to_neighbours(encoder, config)
    if encoder.entity_embeddings is not None:
        nn.init.zeros_(encoder.entity_embeddings.entities.weight[PAD].detach())
    return encoder


def _adds_entities(config: EncoderConfig) -> bool:
    """Tell whether entities are added to the embeddings of subwords."""
    return config.entities == "subwords" and config.attention != "char_entity"


def _check(config: EncoderConfig) -> None:
    if config.n_subwords < 1:
        raise ConfigError(
            "encoder.n_subwords is 0: set it to the size of the tokenizer that made the examples."
        )
    if config.width % config.n_heads:
        raise ConfigError(
            f"encoder.width={config.width} is no multiple of encoder.n_heads={config.n_heads}."
        )
    if config.foreign and config.n_entities:
        raise ConfigError(
            f"encoder.n_entities={config.n_entities}: an encoder that transformers runs reads no "
            "entities. Take a BERT, RoBERTa, ELECTRA or LUKE, or leave the entities out."
        )
    _check_subwords_with_entities(config)
    reads_mentions = config.attention in {"plain", "entity_aware"}
    if config.reads_mentions and not reads_mentions:
        raise ConfigError(
            f"encoder.attention={config.attention} reads no mentions, as they have no place in the "
            "sequence. Set encoder.n_entities=0, or encoder.attention=entity_aware (or plain)."
        )
    if config.attention == "entity_aware" and not config.n_entities:
        raise ConfigError(
            "encoder.attention=entity_aware needs mentions: make the examples with an entity "
            "vocabulary, or set encoder.attention=plain."
        )
    if config.attention_dropout and not (reads_mentions or config.attention == "char_entity"):
        raise ConfigError(
            f"encoder.attention={config.attention} has no dropout on its weights; set "
            "encoder.attention_dropout=0."
        )


def _check_subwords_with_entities(config: EncoderConfig) -> None:
    attention = config.attention
    if (attention == "char_entity") > (config.entities == "subwords"):
        raise ConfigError(
            "encoder.attention=char_entity needs subwords that know entities: set "
            "encoder.entities=subwords."
        )
    if config.entities == "subwords" and attention == "entity_aware":
        raise ConfigError(
            "encoder.attention=entity_aware needs mentions, and with encoder.entities=subwords "
            "there are none: set encoder.attention=char_entity, or encoder.entities=mentions."
        )
    if config.entities == "subwords" and not config.n_entities:
        raise ConfigError(
            "encoder.entities=subwords needs entities: make the examples with an entity "
            "vocabulary, or set encoder.entities=mentions encoder.attention=plain."
        )


def _build_layer(config: EncoderConfig) -> EncoderLayer:
    return EncoderLayer(
        attention=_build_attention(config),
        feed_forward=FeedForward(
            width=config.width, inner_width=config.inner_width, activation=config.activation
        ),
        width=config.width,
        norm=config.norm,
        norm_eps=config.norm_eps,
        dropout=config.dropout,
    )


def _build_attention(config: EncoderConfig) -> nn.Module:
    width, n_heads, dropout = config.width, config.n_heads, config.attention_dropout
    match config.attention:
        case "plain":
            return SelfAttention(width=width, n_heads=n_heads, dropout=dropout)
        case "entity_aware":
            return EntityAwareAttention(width=width, n_heads=n_heads, dropout=dropout)
        case "char_entity":
            return CharEntityAttention(
                width=width,
                n_heads=n_heads,
                entity_width=config.entity_width,
                scale=config.entity_scale,
                dropout=dropout,
            )
        case "relative":
            return RelativeSelfAttention(width=width, n_heads=n_heads, clip=config.clip)
    clip = config.clip if config.attention == "whole_word_relative" else None
    return WholeWordAttention(width=width, n_heads=n_heads, window=config.window, clip=clip)


def _build_entity_embeddings(config: EncoderConfig) -> EntityEmbeddings | EntityTable:
    if config.entities == "subwords":
        return EntityTable(n_entities=config.n_entities, entity_width=config.entity_width)
    return EntityEmbeddings(
        n_entities=config.n_entities,
        entity_width=config.entity_width,
        width=config.width,
        bias=config.entity_bias,
        n_positions=config.max_positions,
        n_types=max(1, config.n_segments),
        norm_eps=config.norm_eps,
        dropout=config.embedding_dropout,
    )
