"""The batches of a run, for training and validation, and counts in the training examples."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from modeling.config import OBJECTIVES, ConfigError, PretrainConfig
from modeling.data.batch import Batch
from modeling.data.batches import Batches, ValidationBatches, draws_negatives, proposal_of
from modeling.data.entities import Scopes
from modeling.data.examples import ExampleSet
from modeling.data.texts import SubwordIds
from modeling.models.costs import flops_per_subword
from modeling.training.baselines import FormEntities, Neighbours, look_up, unigram
from modeling.training.metrics import Line
from modeling.training.sources import Sources
from modeling.training.validation import Validation
from modeling.training.world import World

log = logging.getLogger(__name__)

_THIN = 400
"""With fewer validation targets, a ratio is not sure to 5 points."""
COUNTED = 20_000
"""The number of training examples, evenly spaced, that baselines count."""


class Feed:
    """The batches of one process, for training and for validation."""

    def __init__(self, config: PretrainConfig, sources: Sources, world: World) -> None:
        self.config, self.sources, self.world = config, sources, world
        self._sets = [ExampleSet(path, "train") for path in sources.paths]
        of_all = [ExampleSet(path, "validation") for path in sources.paths]
        self._validation_sets = [examples for examples in of_all if len(examples)]
        self._subwords = SubwordIds.of(sources.tokenizer)
        self.proposal = self._proposal()
        scope = config.heads.entity_scope
        self._scopes = None
        if scope != "vocabulary" and "subword_entities" in config.heads.weights:
            self._scopes = Scopes.read(sources.paths, scope)
        self.batches = Batches(
            config,
            self._sets,
            self._subwords,
            proposal=self.proposal,
            scopes=self._scopes,
            rank=world.rank,
            world=world.size,
        )
        self.validation = self._evaluation(world)
        """The validation batches of this process."""
        if not self.has_validation:
            log.warning(
                "No validation examples: nothing is evaluated. Make examples of two or more "
                "documents, with --validation above 0."
            )

    @property
    def has_validation(self) -> bool:
        """Whether there are validation examples."""
        return bool(self._validation_sets)

    def steps(self, made: int) -> Iterator[list[Batch]]:
        """Iterate over the micro-batches of each step that is left after ``made`` steps."""
        is_cuda = self.world.device.type == "cuda"
        return self.batches.steps(made, self.config.training.max_steps, pin=is_cuda)

    def _validation_of_all(self) -> Iterable[Batch]:
        """Return the validation batches of all processes."""
        return self._evaluation(World())

    def check_pairs(self) -> None:
        """Warn if all validation pairs have the same label, so that all are easy to predict."""
        if self.config.data.pairs == "none":
            return
        of_pairs = [b.targets.get("pairs") for b in self._validation_of_all()]
        labels = {label for each in of_pairs if each is not None for label in each.labels.tolist()}
        if len(labels) < 2:
            what = f"all have the label {labels.pop()}" if labels else "are none"
            log.warning(
                "The validation pairs %s: their accuracy says nothing. Keep more documents of "
                "two sentences or more for it: onoma examples --validation.",
                what,
            )

    def check_validation(self, n_targets: Mapping[str, int]) -> None:
        """Warn of objectives with so few validation targets that their scores say little."""
        thin = {name: n for name, n in n_targets.items() if 0 < n < _THIN}
        if thin:
            log.warning(
                "Validation is thin: %s, so a ratio of right ones is sure to ± %.0f points only. "
                "Keep more documents for it: onoma examples --validation.",
                ", ".join(f"{n} targets of {name}" for name, n in thin.items()),
                100 * 1.96 * math.sqrt(0.25 / min(thin.values())),
            )

    def _evaluation(self, world: World) -> Iterable[Batch]:
        if not self._validation_sets:
            return ()
        return ValidationBatches(
            self.config,
            self._validation_sets,
            self._subwords,
            scopes=self._scopes,
            rank=world.rank,
            world=world.size,
        )

    def _proposal(self) -> NDArray[np.float64] | None:
        """Compute the (entities,) probabilities of negatives; None if no softmax is sampled.

        Raises ``ConfigError`` if the training examples mention no entity.
        """
        if not draws_negatives(self.config):
            return None
        counts = self.sources.entity_counts
        if not counts.any():
            raise ConfigError(
                "masking.n_negatives: the training examples mention no entity to draw. Set it to "
                "0, or make the examples with another entity vocabulary."
            )
        return proposal_of(counts)

    def entity_weights(self) -> Tensor | None:
        """Compute the (entities,) weights of masked entities in the loss; None: all are 1."""
        heads = self.config.heads
        if heads.entity_weights == "even" or "entities" not in heads.weights:
            return None
        counts = self.sources.entity_counts
        mean = counts.sum() / max(np.count_nonzero(counts), 1)
        return torch.from_numpy(np.where(counts > 0, mean / np.maximum(counts, 1), 0.0)).float()

    def costs(self) -> Line:
        """Return the number of training examples, their mean length and mean number of mentions.

        Also returns the FLOPs per subword of an example of this length and number of mentions.
        """
        lengths = np.concatenate([examples.lengths for examples in self._sets])
        length = min(round(float(lengths.mean())) + 2, self.config.data.max_length)
        mentions = 0.0
        if self.config.encoder.n_entities:
            mentions = float(self.sources.entity_counts.sum()) / len(lengths)
        flops = flops_per_subword(self.config, length, n_mentions=round(mentions))
        return {
            "examples": len(lengths),
            "mean_length": length,
            "mean_mentions": mentions,
            "flops_per_subword": flops,
        }

    def baselines(self) -> Iterator[tuple[str, Validation]]:
        """Score the baselines on the validation examples; yields the kind and scores of each."""
        sample = [
            examples[number]
            for examples in self._sets
            for number in _evenly(len(examples), COUNTED // len(self._sets))
        ]
        subwords = np.concatenate([example.subwords for example in sample])
        counts = {"subwords": np.bincount(subwords, minlength=len(self._subwords))}
        for name, objective in OBJECTIVES.items():
            if objective.is_of_entities and name in self.config.heads.weights:
                counts[name] = self.sources.entity_counts
        yield "unigram", unigram(self._validation_of_all(), counts)
        tables: dict[str, Neighbours | FormEntities] = {
            "subwords": Neighbours.of(sample, self._subwords)
        }
        if "entities" in counts:
            tables["entities"] = FormEntities.of(sample, self.sources.n_entities)
        yield "lookup", look_up(self._validation_of_all(), counts, tables)


def _evenly(n: int, most: int) -> list[int]:
    """Choose at most ``most`` evenly spaced integers from 0 … n − 1."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)).tolist() if n else []
