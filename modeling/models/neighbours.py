"""Initial weights with which the first layer attends to the subwords nearby.

From random weights, an encoder with absolute positions needs thousands of steps until it finds
where a subword stands. Until then it knows only how frequent subwords are.
"""

import math
from itertools import cycle
from typing import Final

import torch
from torch import nn

from modeling.config import ConfigError, EncoderConfig

_OFFSETS: Final = (-1, 1, -2, 2)
"""The offsets to which the heads of the first layer attend, in turn."""
_POSITION: Final = 0.03
"""The size of the numbers of a position, somewhat above those of a subword."""
_SHARPNESS: Final = 2.0
"""The factor of queries and of keys."""


@torch.no_grad()
def attend_to_neighbours(encoder: nn.Module, config: EncoderConfig) -> None:
    """Set the positions, and the queries and keys of the first layer, of a new encoder.

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
