"""What is asked of a run, and what identifies it."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from corpora.errors import CorpusError
from corpora.shards import sha256_of
from corpora.tokenizers import Tokenizer
from modeling.config import ConfigError, PretrainConfig
from modeling.huggingface import init_from
from modeling.models.pretraining import PretrainingModel
from modeling.training.run_folder import versions
from modeling.training.sources import Sources
from modeling.training.world import World

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is asked for."""

    config: PretrainConfig
    examples: tuple[Path, ...]
    output: Path
    recipe: str = ""
    init_from: Path | None = None
    is_forced: bool = False


def check_job(config: PretrainConfig, job: Job) -> None:
    """Raise ``ConfigError`` for settings that cannot be."""
    if config.training.frozen and job.init_from is None:
        raise ConfigError(
            f"training.frozen={config.training.frozen} keeps transferred weights as they are, but "
            "there are none: give --init-from, or --set training.frozen=0 optimizer.unlocked_lr="
            "null."
        )
    for name in (
        "max_steps",
        "batch_size",
        "micro_batch_size",
        "evaluate_every",
        "checkpoint_every",
        "log_every",
        "keep",
    ):
        if getattr(config.training, name) < 1:
            raise ConfigError(f"training.{name}: must be at least 1.")


def settings_of(
    job: Job, config: PretrainConfig, sources: Sources, *, world: World
) -> dict[str, Any]:
    """What identifies a run, with its versions; written to ``settings.json``."""
    base = None
    if job.init_from is not None:
        files = sorted(job.init_from.glob("*.safetensors")) + sorted(job.init_from.glob("*.bin"))
        base = {"name": job.init_from.name, "sha256": {f.name: sha256_of(f) for f in files}}
    return {
        "recipe": job.recipe,
        "config": config.to_json(),
        "examples": list(sources.identities),
        "example_folders": [str(path) for path in sources.paths],
        "init_from": base,
        "world_size": world.size,
        "versions": versions() | {"threads": str(torch.get_num_threads())},
    }


def take_weights(model: PretrainingModel, folder: Path, sources: Sources) -> list[str]:
    """Begin with the weights of a folder; names those that it has.

    Raises ``CorpusError`` where its tokenizer is not that of the examples.
    """
    try:
        tokenizer = Tokenizer.open(folder)
    except CorpusError as error:
        log.warning(
            "%s: that it has the pieces of the examples cannot be checked (%s)", folder, error
        )
    else:
        theirs, ours = (
            t.backend.get_vocab(with_added_tokens=True) for t in (tokenizer, sources.tokenizer)
        )
        if theirs != ours:
            raise CorpusError(
                f"{folder}: has another vocabulary of pieces than the examples. Make the examples "
                f"with documents_to_examples --tokenizer {folder}."
            )
    return list(init_from(model, folder).transferred)
