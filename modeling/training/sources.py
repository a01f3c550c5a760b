"""Folders of examples for training, with their tokenizer and entities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches
from corpora.errors import CorpusError
from corpora.system.files import sha256_of
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import OF_ENTITIES, ConfigError, PretrainConfig

_MADE_WITH = {
    "tokenizer_sha256": "tokenizer",
    "entity_vocab_sha256": "entity vocabulary",
    "n_entities": "entity vocabulary",
}
"""Parameters in ``dataset.json`` that must be the same in all datasets, with names for messages."""
ENTITIES = "entities.arrow"
"""The file of entities in a model's folder."""
_OF_EXAMPLES = "_entities.ipc"
"""The file of entities in a folder of examples: a name that no reader takes for a shard."""


@dataclass(frozen=True)
class Sources:
    """Example datasets that were made with one tokenizer and one entity vocabulary."""

    paths: tuple[Path, ...]
    tokenizer: Tokenizer
    n_entities: int
    """The number of rows of the entity vocabulary; 0: the examples have no entities."""
    identities: tuple[dict[str, object], ...]
    """Hashes and sizes of each dataset, which must be the same when a run is resumed."""

    @cached_property
    def entity_counts(self) -> NDArray[np.int64]:
        """The (n_entities,) numbers of mentions of each entity in the training examples."""
        total = np.zeros(self.n_entities, np.int64)
        for path in self.paths:
            for batch in read_batches(path / _OF_EXAMPLES, SCHEMAS["example_entities"]):
                total[batch.column("id").to_numpy()] += batch.column("mentions").to_numpy()
        return total

    @cached_property
    def has_mentions(self) -> bool:
        """Whether any example has a mention."""
        columns = (
            batch.column("entity_starts")
            for path in self.paths
            for batch in open_dataset(path, "examples").batches(("entity_starts",))
        )
        return any(len(column.flatten()) for column in columns)

    @property
    def entities_file(self) -> Path | None:
        """The file with the entities, to be copied beside a model; None without entities."""
        return self.paths[0] / _OF_EXAMPLES if self.n_entities else None


def open_sources(paths: Sequence[Path]) -> Sources:
    """Open folders of examples; ``CorpusError`` if they do not belong together."""
    identities: list[dict[str, object]] = []
    for path in paths:
        parameters = open_dataset(path, "examples").description["plan"]["parameters"]
        dataset = {"dataset_sha256": sha256_of(path / "dataset.json")}
        identities.append(dataset | {name: parameters.get(name) for name in _MADE_WITH})
    for name, what in _MADE_WITH.items():
        for path, identity in zip(paths, identities, strict=True):
            if identity[name] != identities[0][name]:
                raise CorpusError(
                    f"{path}: was made with another {what} than {paths[0]}. Make both with the "
                    "same: onoma examples --tokenizer, --entity-vocab."
                )
    tokenizer = Tokenizer.open(paths[0])
    if tokenizer.sha256 != identities[0]["tokenizer_sha256"]:
        raise CorpusError(
            f"{paths[0]}: the tokenizer.json beside the examples is not the one they were made "
            "with. Run onoma examples again."
        )
    _check_validation(paths)
    found = identities[0]["n_entities"]
    n_entities = found if isinstance(found, int) else 0
    return Sources(tuple(paths), tokenizer, n_entities, tuple(identities))


def read_entities(file: Path) -> pa.StringArray:
    """Read the names of entities, in the order of their ids."""
    batches = list(read_batches(file, SCHEMAS["example_entities"], columns=("id", "entity")))
    table = pa.Table.from_batches(batches).sort_by("id")
    return table.column("entity").combine_chunks()


def read_names(folder: Path) -> tuple[str, ...]:
    """Read the names of the entities beside a model, by id; empty if there is no file of them."""
    file = folder / ENTITIES
    return tuple(read_entities(file).to_pylist()) if file.is_file() else ()


def _check_validation(paths: Sequence[Path]) -> None:
    """Raise ``CorpusError`` where one dataset holds out a document that another trains on."""
    if len(paths) < 2:
        return
    validation = [_document_ids(path, "validation") for path in paths]
    for trained_on in paths:
        ids = _document_ids(trained_on, "train")
        for path, theirs in zip(paths, validation, strict=True):
            both = ids.filter(pc.is_in(ids, value_set=theirs))
            if len(both):
                raise CorpusError(
                    f"{path}: {len(both)} of its validation documents ({both[0]}) are training "
                    f"documents of {trained_on}, so that what is evaluated would be known by "
                    "heart. Make both with the same onoma examples --validation and --seed, "
                    "or one dataset of the documents of both."
                )


def _document_ids(path: Path, split: str) -> pa.StringArray:
    """Read the ids of the documents of a split, each once."""
    batches = open_dataset(path, "examples").batches(("document_id", "split"))
    parts = [b.column("document_id").filter(pc.equal(b.column("split"), split)) for b in batches]
    return pc.unique(pa.chunked_array([pc.unique(part) for part in parts], pa.string()))


def complete(config: PretrainConfig, sources: Sources) -> PretrainConfig:
    """Fill in the sizes of the vocabularies; ``ConfigError`` if the settings do not fit them."""
    encoder = config.encoder
    reads_entities = (
        bool(OF_ENTITIES & config.heads.weights.keys())
        or encoder.entities == "subwords"
        or encoder.n_entities > 0
    )
    if reads_entities and not sources.n_entities:
        raise ConfigError(
            f"The settings read entities, but {sources.paths[0]} has none. Make the examples with "
            "onoma examples --entity-vocab, or choose a recipe without entities."
        )
    n_subwords = sources.tokenizer.size
    n_entities = sources.n_entities if reads_entities else 0
    for name, size in (("n_subwords", n_subwords), ("n_entities", n_entities)):
        if getattr(encoder, name) not in {0, size}:
            raise ConfigError(
                f"encoder.{name} is {getattr(encoder, name)}, but the examples have {size}. Leave "
                "it 0."
            )
    encoder = replace(encoder, n_subwords=n_subwords, n_entities=n_entities)
    return replace(config, encoder=encoder)
