"""Token classifiers of transformers, as taggers of ours.

A classifier gives each word the class of its first subword. Its classes are tags (IOB2: ``B-PER``,
``I-PER``), or labels that do not tell where a name begins (``I-PER`` alone, or ``PER``), so that
adjacent words with one label are one name. A softmax head decodes the former as transformers does,
except that its tags are always valid. A CRF decodes the latter: ``B-`` and ``I-`` have the scores
of the label, and ``B-`` never follows the same label.

Shapes: C tags, K classes, D width.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from modeling.config import ConfigError
from modeling.data.tagger_inputs import window_settings
from modeling.data.tagset import TagSet
from modeling.huggingface import names, settings
from modeling.huggingface.importing import read_pretrained, read_tensors
from modeling.huggingface.transfer import encoder_for, encoder_weights
from modeling.models.tagging_model import TaggingModel
from modeling.models.weights import WeightsError, load_strictly
from modeling.tagging_config import HeadConfig, SentencesConfig, TaggerConfig

_TAG: Final = re.compile(r"([A-Z])[-_](.+)", re.DOTALL)
_NAMELESS: Final = re.compile(r"LABEL_\d+")
_NEVER: Final = -100.0
"""The score of a tag, or of a transition, that never occurs: e^-100 is nothing beside any other."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a classifier, as labels and tags."""

    labels: tuple[str, ...]
    rows: Mapping[str, int]
    """The class that scores each tag; a tag that is missing never occurs."""
    begins_are_marked: bool
    """Whether B- tells where a name begins."""

    @classmethod
    def of(cls, classes: Sequence[str], *, where: object) -> "Classes":
        """Read the names of classes in the order of their ids; ``ConfigError`` for other schemes.

        Prefixes stand before ``-`` or ``_``. Labels are in alphabetical order.
        """
        advice = "Train a tagger on its encoder: onoma finetune --model."
        rows = {name: row for row, name in enumerate(classes)}
        if len(rows) < len(classes) or "O" not in rows or len(rows) < 2:
            raise ConfigError(
                f"{where}: id2label has not one class O and other names once each ({_some(rows)}). "
                f"Correct it in config.json. {advice}"
            )
        if any(_NAMELESS.fullmatch(name) for name in rows):
            raise ConfigError(
                f"{where}: its classes have no names ({_some(rows)}). Write them as id2label into "
                "config.json, in the order of training, such as O, B-PER, I-PER."
            )
        row_of_o = rows.pop("O")
        found = {name: _TAG.fullmatch(name) for name in rows}
        prefixes = {match[1] if match else "" for match in found.values()}
        if not prefixes & {"B", "I"}:
            tags = {f"{letter}-{name}": row for name, row in rows.items() for letter in "BI"}
            return cls(tuple(sorted(rows)), {"O": row_of_o, **tags}, begins_are_marked=False)
        if other := sorted(prefixes - {"B", "I"}):
            prefixed = ", ".join(f"{letter}-" if letter else "no prefix" for letter in other)
            raise ConfigError(
                f"{where}: of its classes ({_some(rows)}) some have {prefixed} beside B- and I-; "
                f"what can be read is IOB2, only I-, or no prefixes. {advice}"
            )
        parts = {(match[1], match[2]): rows[name] for name, match in found.items() if match}
        return cls._of_tags(parts, row_of_o, where=where, advice=advice)

    @classmethod
    def _of_tags(
        cls, parts: Mapping[tuple[str, str], int], row_of_o: int, *, where: object, advice: str
    ) -> "Classes":
        """Make classes of the rows by prefix (B or I) and label."""
        labels = tuple(sorted({label for _, label in parts}))
        are_marked = any(prefix == "B" for prefix, _ in parts)
        lacking = [label for label in labels if are_marked and ("B", label) not in parts]
        if lacking:
            raise ConfigError(
                f"{where}: has B- of other labels, but no B-{lacking[0]}: are its tags IOB1, where "
                f"B- only separates names? What can be read is IOB2. {advice}"
            )
        tags = {f"{prefix}-{label}": row for (prefix, label), row in parts.items()}
        if not are_marked:
            tags |= {f"B-{label}": parts["I", label] for label in labels}
        return cls(labels, {"O": row_of_o, **tags}, begins_are_marked=are_marked)


def is_classifier(values: settings.Settings) -> bool:
    """Tell whether a ``config.json`` is of a token classifier of transformers."""
    architectures = values.get("architectures")
    return isinstance(architectures, list) and any(
        str(name).endswith("ForTokenClassification") for name in architectures
    )


def read_classifier(folder: Path) -> TaggingModel:
    """Read a folder that ``AutoModelForTokenClassification`` loads, as a tagger.

    Raises ``ConfigError`` for tags that are neither IOB2 nor without beginnings, and
    ``WeightsError`` for a model that is no such classifier, or has more than a linear map on its
    encoder.
    """
    values = settings.read_json(folder)
    if not is_classifier(values):
        raise WeightsError(
            f"{folder}: no token classifier of transformers (config.json: architectures is "
            f"{values.get('architectures')!r}). Name a folder of one."
        )
    given, tensors = read_pretrained(folder), read_tensors(folder)
    known = ("classifier.weight", "classifier.bias", *names.POOLER)
    if other := [n for n in given.unused if n not in known and not names.BUFFERS.search(n)]:
        raise WeightsError(
            f"{folder}: has more than a linear map on its encoder ({other[0]}), which is not read. "
            "Train a tagger on its encoder: onoma finetune --model."
        )
    encoder = encoder_for(given.config.encoder, reads_entities=False)
    named = _names_of(values, folder)
    classes = Classes.of(named, where=folder)
    shapes = {known[0]: (len(named), encoder.width), known[1]: (len(named),)}
    for name, shape in shapes.items():
        if (there := tensors[name].shape if name in tensors else None) != shape:
            raise WeightsError(
                f"{folder}: {name} has the shape {there and tuple(there)}, by config.json (id2label"
                f", hidden_size) {shape}. Correct config.json, or get the model again."
            )
    head = HeadConfig(kind="softmax" if classes.begins_are_marked else "crf")
    config = TaggerConfig(
        labels=classes.labels,
        encoder=encoder,
        head=head,
        data=window_settings(SentencesConfig(), head, encoder),
    )
    model = TaggingModel.from_config(config)
    load_strictly(model.encoder, encoder_weights(given.weights, encoder), where=folder)
    model.head.load_state_dict(_head_weights(classes, *(tensors[name] for name in shapes)))
    return model


def _names_of(values: settings.Settings, folder: Path) -> list[str]:
    """Read ``id2label``, the names of classes, in the order of their ids."""
    named = values.get("id2label")
    if not isinstance(named, dict) or {*map(str, range(len(named)))} != {*named}:
        raise ConfigError(
            f"{folder}: config.json has no id2label that names the classes 0, 1, 2 … Write it "
            "there, in the order of training."
        )
    return [str(named[str(id)]) for id in range(len(named))]


def _head_weights(classes: Classes, weight: Tensor, bias: Tensor) -> dict[str, Tensor]:
    """Return the weights of a head: rows of the classifier (K, D) for each of C tags."""
    tags = TagSet(classes.labels).tags
    made = {
        "linear.weight": weight.new_zeros(len(tags), weight.shape[1]),
        "linear.bias": bias.new_full((len(tags),), _NEVER),
    }
    for place, tag in enumerate(tags):
        if (row := classes.rows.get(tag)) is not None:
            made["linear.weight"][place], made["linear.bias"][place] = weight[row], bias[row]
    if not classes.begins_are_marked:
        between = torch.zeros(len(tags), len(tags))
        for begin in range(1, len(tags), 2):
            between[begin : begin + 2, begin] = _NEVER
        made |= {"transitions.between": between, "transitions.starts": torch.zeros(len(tags))}
    return made


def _some(rows: Mapping[str, int]) -> str:
    """List the first names of classes."""
    return ", ".join([*list(rows)[:6], *(["…"] if len(rows) > 6 else [])])
