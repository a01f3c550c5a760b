"""The encoder of a text, and of the mentions in it.

Shapes: T pieces, E mentions, R = T + E rows, D width.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from corpora.entity_vocab import PAD
from modeling.batch import Batch, Mentions
from modeling.config import ConfigError, EncoderConfig
from modeling.layers.attention import EntityAwareAttention, SelfAttention
from modeling.layers.embeddings import EntityEmbeddings, PieceEmbeddings
from modeling.layers.encoder import Encoder, EncoderLayer, FeedForward
from modeling.layers.relative import RelativeSelfAttention
from modeling.layers.whole_word import WholeWordAttention
from modeling.models.initialization import initialize


class Encoded(NamedTuple):
    """What an encoder makes of a batch."""

    pieces: Tensor
    """(T, D)."""
    entities: Tensor | None
    """(E, D); None where the batch has no mentions."""


class TextEncoder(nn.Module):
    """Embeddings and layers; mentions are rows after the pieces."""

    def __init__(
        self,
        *,
        embeddings: PieceEmbeddings,
        entity_embeddings: EntityEmbeddings | None,
        encoder: Encoder,
    ) -> None:
        super().__init__()
        self.embeddings = embeddings
        self.entity_embeddings = entity_embeddings
        self.encoder = encoder

    def forward(self, batch: Batch) -> Encoded:
        """Encode a batch; ``ValueError`` if it has mentions and the encoder reads none."""
        pieces = self.embeddings(batch.pieces, batch.rows, batch.segments)
        if batch.mentions is None:
            return Encoded(self.encoder(pieces, batch.rows), None)
        mentions = self.embed_mentions(batch.mentions, longest=batch.rows.pieces.longest)
        x = self.encoder(torch.cat([pieces, mentions]), batch.rows)
        return Encoded(*x.split([len(pieces), len(mentions)]))

    def embed_mentions(self, mentions: Mentions, *, longest: int) -> Tensor:
        """Mentions in sequences of at most ``longest`` pieces -> (E, D), before the first layer.

        Raises ``ValueError`` if the encoder reads no mentions, or has no positions for them.
        """
        if self.entity_embeddings is None:
            raise ValueError(
                "The batch has mentions, but this encoder reads none. Leave them out of the batch, "
                "or set encoder.n_entities."
            )
        n_positions = self.entity_embeddings.positions.num_embeddings
        if longest > n_positions:
            raise ValueError(
                f"A sequence has {longest} pieces, but mentions have positions "
                f"for {n_positions}. Cut the examples shorter, or set encoder.max_positions."
            )
        return self.entity_embeddings(mentions)  # type: ignore[no-any-return]


def build_encoder(config: EncoderConfig) -> TextEncoder:
    """Compose an encoder, and initialise it; ``ConfigError`` for what does not go together."""
    _check(config)
    layers = [_build_layer(config) for _ in range(config.n_layers)]
    last_norm = nn.LayerNorm(config.width, eps=config.norm_eps) if config.norm == "pre" else None
    encoder = TextEncoder(
        embeddings=PieceEmbeddings(
            n_pieces=config.n_pieces,
            width=config.width,
            positions=config.positions,
            max_positions=config.max_positions,
            n_segments=config.n_segments,
            norm=config.embedding_norm,
            norm_eps=config.norm_eps,
            scale=config.scale_embeddings,
            dropout=config.embedding_dropout,
        ),
        entity_embeddings=_build_entity_embeddings(config) if config.n_entities else None,
        encoder=Encoder(layers, norm=last_norm),
    )
    initialize(encoder, config.init)
    if encoder.entity_embeddings is not None:
        nn.init.zeros_(encoder.entity_embeddings.entities.weight[PAD].detach())
    return encoder


def _check(config: EncoderConfig) -> None:
    if config.n_pieces < 1:
        raise ConfigError(
            "encoder.n_pieces is 0: set it to the size of the tokenizer that made the examples."
        )
    if config.width % config.n_heads:
        raise ConfigError(
            f"encoder.width={config.width} is no multiple of encoder.n_heads={config.n_heads}."
        )
    reads_mentions = config.attention in {"plain", "entity_aware"}
    if config.n_entities and not reads_mentions:
        raise ConfigError(
            f"encoder.attention={config.attention} reads no mentions, as they have no place in the "
            "sequence. Set encoder.n_entities=0, or encoder.attention=entity_aware (or plain)."
        )
    if config.attention == "entity_aware" and not config.n_entities:
        raise ConfigError(
            "encoder.attention=entity_aware needs mentions: make the examples with an entity "
            "vocabulary, or set encoder.attention=plain."
        )
    if config.attention_dropout and not reads_mentions:
        raise ConfigError(
            f"encoder.attention={config.attention} has no dropout on its weights; set "
            "encoder.attention_dropout=0."
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
        case "relative":
            return RelativeSelfAttention(width=width, n_heads=n_heads, clip=config.clip)
    clip = config.clip if config.attention == "whole_word_relative" else None
    return WholeWordAttention(width=width, n_heads=n_heads, window=config.window, clip=clip)


def _build_entity_embeddings(config: EncoderConfig) -> EntityEmbeddings:
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
