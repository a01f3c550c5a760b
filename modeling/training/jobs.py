"""Requests for pre-training runs: checks, settings for the manifest, and initial weights."""

import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.compute as pc
import torch
from torch import Tensor

from corpora.errors import CorpusError
from corpora.reports import counted
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import OBJECTIVES, ConfigError, EncoderConfig, PretrainConfig
from modeling.data.batches import Batches
from modeling.data.masking import check_masking
from modeling.huggingface.hub import origin
from modeling.huggingface.transfer import init_from
from modeling.models.pretraining_model import PretrainingModel
from modeling.training.entity_names import start_from_names
from modeling.training.records import Manifest
from modeling.training.run_folder import identify, versions
from modeling.training.schedules import build_schedule
from modeling.training.sources import ENTITIES, Sources, read_entities
from modeling.training.world import World

log = logging.getLogger(__name__)

_TRIED: Final = 100
"""The number of steps in which every objective must have a target."""


@dataclass(frozen=True, kw_only=True)
class PretrainingJob:
    """A request for a pre-training run."""

    config: PretrainConfig
    examples: tuple[Path, ...]
    output: Path
    recipe: str = ""
    init_from: Path | None = None
    is_forced: bool = False


def check_job(config: PretrainConfig, job: PretrainingJob) -> None:
    """Raise ``ConfigError`` for settings that are impossible or contradict each other."""
    if config.training.frozen and job.init_from is None:
        raise ConfigError(
            f"training.frozen={config.training.frozen} keeps transferred weights as they are, but "
            "there are none: give --init-from, or --set training.frozen=0 optimizer.unlocked_lr="
            "null."
        )
    if config.training.entity_start == "names":
        _check_entity_start(config.encoder, job)
    if config.training.center and job.init_from is None:
        raise ConfigError(
            "training.center shifts the states of another model's encoder, but there is none: give "
            "--init-from, or --set training.center=false."
        )
    build_schedule(config)  # raises what is wrong with it
    check_masking(config.masking)
    _check_objectives(config)
    _check_pairs(config)
    _check_subword_entities(config)
    encoder, max_length = config.encoder, config.data.max_length
    is_limited = encoder.positions == "learned" or encoder.reads_mentions  # their positions are
    if is_limited and max_length > encoder.max_positions:
        raise ConfigError(
            f"data.max_length {max_length} is more than encoder.max_positions "
            f"{encoder.max_positions}: set the one lower or the other higher."
        )


def _check_objectives(config: PretrainConfig) -> None:
    """Raise ``ConfigError`` for weights and ratios with which nothing is learned."""
    weights = config.heads.weights
    for name, weight in weights.items():
        if not 0 <= weight < math.inf:
            raise ConfigError(f"heads.weights.{name}={weight}: must be 0 or more, and finite.")
    if not any(weights.values()):
        raise ConfigError(
            "heads.weights: no objective has a weight above 0, so that nothing would be learned: "
            "--set heads.weights.subwords=1."
        )
    for name, objective in OBJECTIVES.items():
        ratio = objective.ratio
        if ratio and weights.get(name) and getattr(config.masking, ratio) == 0:
            raise ConfigError(
                f"masking.{ratio}=0: no {name} are to be predicted, so that nothing would be "
                f"learned of them: --set masking.{ratio}=0.15, or heads.weights.{name}=0."
            )
    if config.masking.mention_words and "entities" not in weights:
        raise ConfigError(
            "masking.mention_words masks the subwords of masked mentions, but no mention is "
            "masked: --set heads.weights.entities=1, or masking.mention_words=false."
        )


def _check_entity_start(encoder: EncoderConfig, job: PretrainingJob) -> None:
    is_char_entity = encoder.n_entities > 0 and encoder.attention == "char_entity"
    if job.init_from is None or not (encoder.reads_mentions or is_char_entity):
        problem = "there is no such model" if job.init_from is None else "no entities are read"
        raise ConfigError(
            "training.entity_start=names takes the embeddings of names from another model for "
            f"entities, but {problem}: give --init-from and a recipe such as daluke or "
            "entity_bert, or --set training.entity_start=random."
        )


def _check_pairs(config: PretrainConfig) -> None:
    makes_pairs, reads_pairs = config.data.pairs != "none", "pairs" in config.heads.weights
    if makes_pairs and not reads_pairs:
        raise ConfigError(
            f"data.pairs={config.data.pairs} makes pairs that nothing is trained on: --set "
            "heads.weights.pairs=1, or data.pairs=none."
        )
    if reads_pairs and not makes_pairs:
        raise ConfigError(
            "heads.weights.pairs is for pairs, but none are made: --set data.pairs=nsp or sop, or "
            "heads.weights without pairs."
        )
    if config.data.swap_pairs and config.data.pairs != "nsp":
        raise ConfigError(
            f"data.swap_pairs is for data.pairs=nsp, not {config.data.pairs}: set the one or the "
            "other."
        )


def _check_subword_entities(config: PretrainConfig) -> None:
    weights = config.heads.weights
    if config.masking.hide_entity_when_masked and not (
        config.encoder.entities == "subwords" and "subwords" in weights
    ):
        raise ConfigError(
            "masking.hide_entity_when_masked hides the entities of masked subwords, but subwords "
            "know none, or none is masked: set encoder.entities=subwords and "
            "heads.weights.subwords=1, or masking.hide_entity_when_masked=false."
        )
    if config.heads.entity_scope != "vocabulary" and "subword_entities" not in weights:
        raise ConfigError(
            f"heads.entity_scope={config.heads.entity_scope} is for the entities of subwords, but "
            "they are not predicted: --set heads.weights.subword_entities=1, or heads.entity_scope="
            "vocabulary."
        )


def check_examples(config: PretrainConfig, sources: Sources, *, has_validation: bool) -> None:
    """Raise ``ConfigError`` for settings that need validation examples or mentions, without any."""
    if config.training.patience and not has_validation:
        raise ConfigError(
            f"training.patience={config.training.patience} waits for a better validation loss, but "
            "no example is for validation: make examples with onoma examples --validation, "
            "or --set training.patience=0."
        )
    if config.masking.unit == "entity" and not sources.has_mentions:
        raise ConfigError(
            f"masking.unit=entity masks whole mentions, but no example of {sources.paths[0]} has "
            "one: make the examples with onoma examples --entity-vocab, or --set "
            "masking.unit=word."
        )


def check_objectives(config: PretrainConfig, batches: Batches) -> None:
    """Raise ``ConfigError`` for an objective without a target in the first steps of an epoch."""
    names = [name for name, weight in config.heads.weights.items() if weight]
    n_steps = min(batches.steps_per_epoch, _TRIED)
    for name in sorted(batches.without_targets(names, steps=n_steps)):
        raise ConfigError(
            f"heads.weights.{name}: no example of the first {counted(n_steps, 'step')} has "
            f"{OBJECTIVES[name].target}, so that nothing would be learned of {name}. Otherwise "
            f"choose a recipe without {name}."
        )


def settings_of(
    job: PretrainingJob, config: PretrainConfig, sources: Sources, *, world: World
) -> Manifest:
    """Collect all that determines a run, with versions, for ``settings.json``."""
    return {
        "recipe": job.recipe,
        "config": config.to_json(),
        "examples": list(sources.identities),
        "example_folders": [str(path) for path in sources.paths],
        "init_from": {**identify(job.init_from), **origin(job.init_from)}
        if job.init_from
        else None,
        "world_size": world.size,
        "versions": versions() | {"threads": str(torch.get_num_threads())},
    }


def take_weights(model: PretrainingModel, folder: Path, sources: Sources) -> list[str]:
    """Copy the weights of a folder into the model; returns the names of the copied parameters.

    If the folder has other entities, those of the same name keep their weights; the rest start as
    ``training.entity_start`` says; if from their names, the weights of entities count as copied.
    Raises ``CorpusError`` if it has another vocabulary of subwords than the examples.
    """
    try:
        tokenizer = Tokenizer.open(folder)
    except CorpusError as error:
        log.warning(
            "%s: that it has the subwords of the examples cannot be checked (%s)", folder, error
        )
    else:
        theirs, ours = (
            t.backend.get_vocab(with_added_tokens=True) for t in (tokenizer, sources.tokenizer)
        )
        if theirs != ours:
            raise CorpusError(
                f"{folder}: has another vocabulary of subwords than the examples. Make the "
                f"examples with onoma examples --tokenizer {folder}."
            )
    rows = _entity_rows(folder / ENTITIES, sources) if model.config.encoder.n_entities else None
    transferred = list(init_from(model, folder, entity_rows=rows).transferred)
    if rows is not None and model.config.training.entity_start == "names":
        assert sources.entities_file is not None  # noqa: S101 - there are rows of entities
        names = read_entities(sources.entities_file).to_pylist()
        transferred += start_from_names(
            model.encoder, names, sources.tokenizer, new=rows < 0, transferred=transferred
        )
    return transferred


def _entity_rows(theirs: Path, sources: Sources) -> Tensor | None:
    """Map each entity of the examples to the row of its name in the file ``theirs``; −1: none.

    Returns int64, shape (entities of the examples,), or None if the rows are the same or the
    examples have no entities. If the file is missing, every row is −1.
    """
    if sources.entities_file is None:
        return None
    here = read_entities(sources.entities_file)
    if not theirs.is_file():
        return torch.full((len(here),), -1)
    there = read_entities(theirs)
    if there.equals(here):
        return None
    rows = pc.fill_null(pc.index_in(here, value_set=there), -1)
    return torch.tensor(rows.to_numpy(), dtype=torch.int64)
