"""The settings of small encoders: BERT's, and LUKE's."""

from dataclasses import replace

from modeling.config import EncoderConfig

BERT = EncoderConfig(
    n_subwords=60, width=16, n_layers=2, n_heads=2, inner_width=24, max_positions=32, n_segments=2
)
LUKE_ENCODER = replace(BERT, n_entities=20, entity_width=8, attention="entity_aware")
