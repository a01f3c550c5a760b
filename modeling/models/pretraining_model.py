"""The model of pre-training: an encoder with a head for each objective.

Shapes: T subwords, E mentions, B sequences, M targets of an objective, D width.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import torch
from torch import Tensor, nn

from modeling.config import OBJECTIVES, ConfigError, HeadsConfig, PretrainConfig
from modeling.data.batch import Batch
from modeling.heads.cross_entropy import LabelRanks
from modeling.heads.pretraining_heads import (
    EntityHead,
    PairHead,
    SubwordEntityHead,
    Transform,
    VocabularyHead,
)
from modeling.layers.compilation import leave_out_uncompiled
from modeling.models.text_encoder import Encoded, TextEncoder, build_encoder, evaluating, initialize
from modeling.models.weights import load_model, save_weights

CONFIG_FILE: Final = "config.json"


class PretrainingModel(nn.Module):
    """An encoder with a head for each objective; losses are sums over targets."""

    def __init__(
        self, encoder: TextEncoder, heads: Mapping[str, nn.Module], *, config: PretrainConfig
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict(heads)
        self.config = config

    @classmethod
    def from_config(cls, config: PretrainConfig) -> Self:
        """Build and initialise a model; ``ConfigError`` for settings that do not go together."""
        encoder = build_encoder(config.encoder)
        return cls(encoder, build_heads(config, encoder), config=config)

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Compute the summed loss, () float32, of each objective that the batch has targets of."""
        encoded = self.encoder(batch)
        return {
            name: self._head(name).loss(self._read(name, batch, encoded), targets)
            for name, targets in batch.targets.items()
        }

    def compile(self, *args: object, **kwargs: object) -> None:
        """Compile as ``nn.Module`` does, except for functions that are marked ``uncompiled``."""
        leave_out_uncompiled()
        super().compile(*args, **kwargs)

    @torch.no_grad()
    def scores(self, batch: Batch) -> dict[str, LabelRanks]:
        """Compute loss and ranks by objective, without dropout and without sampled negatives.

        They are over the whole vocabulary, or over the targets' scopes.
        """
        with evaluating(self):
            encoded = self.encoder(batch)
            return {
                name: self._head(name).score(self._read(name, batch, encoded), targets)
                for name, targets in batch.targets.items()
            }

    def _head(self, objective: str) -> VocabularyHead | PairHead:
        if objective not in self.heads:
            raise ValueError(
                f"The batch has targets of {objective!r}, but this model predicts "
                f"{', '.join(self.heads)}. Set heads.weights.{objective}, or make batches without."
            )
        return self.heads[objective]  # type: ignore[return-value]

    def _read(self, objective: str, batch: Batch, encoded: Encoded) -> Tensor:
        """Select the states (M, D) that a head predicts from."""
        head, rows = self._head(objective), OBJECTIVES[objective].rows
        states = encoded.entities if rows == "mentions" else encoded.subwords
        if isinstance(head, PairHead):
            states = head.pool(encoded.subwords, batch.rows.subwords)
        if states is None:
            raise ValueError("The batch has targets among mentions, but no mentions.")
        return states.index_select(0, batch.targets[objective].rows)

    def save(self, folder: Path) -> None:
        """Write ``config.json`` and ``model.safetensors`` into a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.config.save(folder / CONFIG_FILE)
        save_weights(self.state_dict(), folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what ``save`` wrote; ``WeightsError`` if the weights are not this model's."""
        config = PretrainConfig.load(folder / CONFIG_FILE)
        return load_model(lambda: cls.from_config(config), config.encoder, folder)


def build_heads(config: PretrainConfig, encoder: TextEncoder) -> dict[str, nn.Module]:
    """Build a head, with initial weights, for each objective in ``heads.weights``."""
    if unknown := [name for name in config.heads.weights if name not in OBJECTIVES]:
        raise ConfigError(
            f"heads.weights.{unknown[0]}: no such objective; there are {', '.join(OBJECTIVES)}."
        )
    heads = {name: _build_head(name, config, encoder) for name in config.heads.weights}
    for head in heads.values():
        initialize(head, config.encoder.init)
    return heads


def _build_head(name: str, config: PretrainConfig, encoder: TextEncoder) -> nn.Module:
    settings: HeadsConfig = config.heads
    width = config.encoder.width
    if name == "pairs":
        return PairHead(width=width, pooling=settings.pair_pooling)
    if name == "subwords":
        return VocabularyHead(
            table=encoder.embeddings.subwords,
            transform=_build_transform(config, width) if settings.transform else None,
            tied=settings.tied,
        )
    needed = OBJECTIVES[name].rows
    if encoder.entity_embeddings is None or config.encoder.entities != needed:
        raise ConfigError(
            f"heads.weights.{name} needs entities of {needed}: make the examples with an entity "
            f"vocabulary and set encoder.entities={needed}, or leave that objective out."
        )
    head = SubwordEntityHead if needed == "subwords" else EntityHead
    return head(
        table=encoder.entity_embeddings.entities,
        transform=_build_transform(config, config.encoder.entity_width),
    )


def _build_transform(config: PretrainConfig, out_width: int) -> Transform:
    encoder = config.encoder
    return Transform(
        width=encoder.width,
        out_width=out_width,
        activation=encoder.activation,
        norm_eps=encoder.norm_eps,
    )
