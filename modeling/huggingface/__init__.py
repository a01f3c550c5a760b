"""Weights of BERT and LUKE from transformers' folders, and into them.

All that knows foreign names of settings, files and weights is in this package.
"""

from modeling.huggingface.exporting import export
from modeling.huggingface.importing import Pretrained, read_encoder_config, read_pretrained
from modeling.huggingface.transfer import Transfer, init_from

__all__ = [
    "Pretrained",
    "Transfer",
    "export",
    "init_from",
    "read_encoder_config",
    "read_pretrained",
]
