"""Which numbers the settings of a tagger can have."""

from typing import Final

from modeling.config import ConfigError
from modeling.tagging_config import FinetuneConfig

_LEAST: Final = {
    "training.epochs": 1,
    "training.samples": 0,
    "training.max_steps": 0,
    "training.batch_size": 1,
    "training.evaluate_batch_size": 1,
    "training.patience": 0,
    "training.train_size": 0,
    "data.max_length": 0,
    "data.overlap": 0,
    "data.max_context": 0,
    "gazetteer.folds": 2,
    "head.max_span_pieces": 1,
    "head.max_candidates": 0,
    "head.skip_below": 0,
    "head.boundary_weight": 0,
    "head.dropout": 0,
}
"""A 0 stands for no limit, or for all, where it may be one."""


def check_numbers(config: FinetuneConfig) -> None:
    """Raise ``ConfigError`` that names the first setting that is too small, or a dropout of all."""
    for name, least in _LEAST.items():
        part, _, field = name.partition(".")
        value = getattr(getattr(config, part), field)
        if not value >= least:
            raise ConfigError(f"{name}={value}: must be {least} or more.")
    if not config.head.dropout < 1:
        raise ConfigError(f"head.dropout={config.head.dropout}: must be less than 1.")
