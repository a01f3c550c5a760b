"""Continued training of taggers: from the encoder, and from the rows of the head for known labels.

The rows and columns of a head's weights have names: tags, classes, features of a gazetteer. Rows
and columns whose names the old tagger has, too, begin with its values; new ones are initialized as
in any other training.

Shapes: D width, G features of a gazetteer, K scores of a head.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from corpora.ner.labels import LabelMap
from modeling.config import ConfigError
from modeling.data.gazetteer import THRESHOLDS, Gazetteer
from modeling.data.tagger_inputs import GAZETTEER
from modeling.data.tagset import TagSet
from modeling.finetune.trials import Trial
from modeling.models.tagging_model import TaggingModel
from modeling.models.weights import load_weights
from modeling.taggers.folders import Base, read_settings
from modeling.tagging_config import HEADS, WEIGHTS_FILE, FinetuneConfig, HeadKind, TaggerConfig

_HEAD = "head."
_Names = Sequence[Hashable]


@dataclass(frozen=True)
class Begun:
    """A tagger whose training is continued."""

    base: Base
    config: TaggerConfig
    targets: Mapping[str, str]
    """The new name of each label of the tagger; empty: the label is forgotten."""

    @classmethod
    def open(cls, path: Path, labels: LabelMap | None = None) -> "Begun":
        """Open a run of ``onoma finetune``, a tagger, or an archive of one.

        Raises ``CorpusError`` where there is none, and ``ConfigError`` for a tagger whose words
        know entities: which entities these are was fixed by its training.
        """
        base = Base.of_tagger(path)
        config = read_settings(base.folder)
        if config.data.entities:
            raise ConfigError(
                f"{path}: its words know entities (data.entities), with which no training goes "
                "on. Begin with its encoder: --model, in the workbench --encoder."
            )
        targets = {each: labels.target(each) if labels else each for each in config.labels}
        renamed = {old: new for old, new in targets.items() if old != new}
        if renamed:
            base = replace(base, identity={**base.identity, "labels": renamed})
        return cls(base, config, targets)

    def settings(self, config: FinetuneConfig) -> FinetuneConfig:
        """Return the settings of a recipe, with head, data and gazetteer as in the tagger."""
        of = self.config
        return replace(config, head=of.head, data=of.data, gazetteer=of.gazetteer)

    def check(self, trials: Iterable[Trial]) -> None:
        """Raise ``ConfigError`` for trials whose head has another kind or other span features."""
        for trial in trials:
            (kind, features), (new_kind, new_features) = (
                (head.kind, head.span_features_of(self.base.config))
                for head in (self.config.head, trial.config.head)
            )
            for name, there, here in (
                ("kind", kind, new_kind),
                ("span_features", features, new_features),
            ):
                if there != here:
                    raise ConfigError(
                        f"head.{name}={here}: the tagger has {there}, and keeps it. Leave the "
                        "setting out, or begin with an encoder: --model."
                    )

    @property
    def labels(self) -> set[str]:
        """The new names of the labels that the tagger finds."""
        return {target for target in self.targets.values() if target}

    def take_head(self, model: TaggingModel, classes: Sequence[str] | None) -> None:
        """Copy the weights of the tagger's head into the head of ``model``, by name.

        ``classes`` are those of the new gazetteer; None: there is none.
        """
        weights, folder = load_weights(self.base.folder / WEIGHTS_FILE), self.base.folder
        has_names = (folder / GAZETTEER).is_dir()
        theirs = Gazetteer.load(folder / GAZETTEER).classes if has_names else None
        state = model.head.state_dict()
        kind, old_labels = self.config.head.kind, self._named(self.config.labels)
        old = _Axes(kind, old_labels, self._named(theirs or ()), has_names=theirs is not None)
        new = _Axes(kind, model.config.labels, classes or (), has_names=classes is not None)
        for name, tensor in state.items():
            there = weights.get(f"{_HEAD}{name}")
            if there is not None and there.dim() == tensor.dim():
                state[name] = _taken(
                    tensor, there, zip(new.of(name, tensor), old.of(name, there), strict=True)
                )
        model.head.load_state_dict(state)

    def _named(self, labels: Sequence[str]) -> list[str]:
        """Return the new names of labels; a forgotten label gets a name that no label has.

        If several labels map to one name, only one gets it: the label that has this name already,
        or else the first. The others are forgotten.
        """
        named = [self.targets.get(label, label) for label in labels]
        for at, (label, target) in enumerate(zip(labels, named, strict=True)):
            is_second = target in named[:at] or (label != target and target in labels)
            if not target or is_second:
                named[at] = f"\0{label}"  # a name that no label has
        return named


class _Axes:
    """The names of the rows and columns of a head's weights."""

    def __init__(
        self, kind: HeadKind, labels: Sequence[str], classes: Sequence[str], *, has_names: bool
    ) -> None:
        tags = TagSet(tuple(labels)).tags
        scores = HEADS[kind].scores
        rows = {"classes": ("O", *labels, "starts", "ends"), "spans": ("O", *labels), "tags": tags}
        self._rows: _Names = rows[scores]
        levels = range(1 + len(THRESHOLDS))
        said = [(level, tag) for level in levels for tag in TagSet(tuple(classes)).tags[1:]]
        features: _Names = [*said, "none"] if has_names else []
        borders = ("first", "last") if scores == "spans" else ("word",)
        self._features = [(border, feature) for border in borders for feature in features]

    def of(self, name: str, tensor: Tensor) -> list[_Names]:
        """Return the names along each dimension of a parameter."""
        if tensor.dim() < 2 and ".products." not in name:
            return [self._rows] * tensor.dim()
        if name.endswith("transitions.between"):
            return [self._rows, self._rows]
        if ".products." in name:
            labelled = {"classes.weight": 0, "lengths.weight": 1}
            axis = next((n for ending, n in labelled.items() if name.endswith(ending)), None)
            return [self._rows if at == axis else [*range(n)] for at, n in enumerate(tensor.shape)]
        features = [] if name.endswith(("begin.weight", "end.weight")) else self._features
        n_states = tensor.shape[1] - len(features)
        return [self._rows, [*range(n_states), *features]]


def _taken(new: Tensor, old: Tensor, axes: Iterable[tuple[_Names, _Names]]) -> Tensor:
    """Copy the new parameter, with the values of the old one where all names are the same.

    ``axes`` holds the new and the old names of each dimension; a scalar is taken from the old one.
    """
    if not new.dim():
        return old.to(new)
    here, there = [], []
    for names, others in axes:
        places = {name: at for at, name in enumerate(others)}
        both = [(at, places[name]) for at, name in enumerate(names) if name in places]
        here.append(torch.tensor([at for at, _ in both], dtype=torch.int64))
        there.append(torch.tensor([at for _, at in both], dtype=torch.int64))
    made = new.clone()
    made[torch.meshgrid(*here, indexing="ij")] = old[torch.meshgrid(*there, indexing="ij")].to(new)
    return made
