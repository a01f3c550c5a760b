"""The gazetteer of a tagger, and what it says of the sentences that the tagger learns from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.datasets.shards import sha256_of
from corpora.document import Sentence
from modeling.config import ConfigError
from modeling.data.cross_fitting import learn_gazetteer, with_best_level
from modeling.data.gazetteer import Gazetteer
from modeling.data.name_lookup import LookedUp
from modeling.data.tagset import TagSet
from modeling.tagging_config import FinetuneConfig, GazetteerConfig


@dataclass(frozen=True, slots=True)
class Lookup:
    """A gazetteer, and the features of the training sentences."""

    gazetteer: Gazetteer
    of_train: LookedUp
    """Cross-fitted, where the names are those of the training sentences themselves."""


def looked_up(config: FinetuneConfig) -> list[dict[str, str]]:
    """What identifies the files and datasets that the settings look names or entities up in."""
    paths = {"gazetteer": config.gazetteer.path, "entities": config.data.entities}
    if config.gazetteer.source not in {"file", "entities"}:
        del paths["gazetteer"]
    found = []
    for name, path in paths.items():
        file = Path(path) / "dataset.json" if Path(path).is_dir() else Path(path)
        if path and file.is_file():
            found.append({name: sha256_of(file)})
    return found


def look_up_names(
    config: GazetteerConfig, train: Sequence[Sentence], tagset: TagSet
) -> Lookup | None:
    """Make or read the gazetteer that the settings name; None where there is none."""
    if config.source == "none":
        return None
    if config.source == "train":
        return Lookup(*learn_gazetteer(train, tagset, folds=config.folds))
    if not config.path:
        raise ConfigError(f"gazetteer.source={config.source} needs gazetteer.path.")
    read = Gazetteer.from_file if config.source == "file" else Gazetteer.from_entities
    gazetteer = with_best_level(read(config.path), train, tagset)
    return Lookup(gazetteer, gazetteer.look_up([sentence.tokens for sentence in train]))
