"""Predictions and gold under other labels, to score a tagger on a set that names them otherwise.

The maps are those of datasets (``corpora/ner/labels.py``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corpora.document import Sentence
from corpora.ner.labels import LabelMap
from modeling.data.predictions import Tagged


@dataclass(frozen=True, slots=True)
class Relabelled:
    """Sentences with mapped labels, gold and predicted."""

    tagged: list[Tagged]
    changes: Mapping[str, Counter[str]]
    """Counts of changes (``date to O``): of ``gold`` tags, of ``predicted`` spans."""


def relabel(tagged: Sequence[Tagged], labels: LabelMap) -> Relabelled:
    """Map gold and predicted labels; what becomes of no label is left out on both sides.

    ``words`` are dropped: the probability of a label that others are merged into is not known.
    Raises ``UnknownLabelError`` where the map is to know all labels and does not.
    """
    changes = {"gold": Counter[str](), "predicted": Counter[str]()}
    return Relabelled([_relabel(one, labels, changes) for one in tagged], changes)


def relabel_sentence(sentence: Sentence, labels: LabelMap) -> Sentence:
    """The same for the tags of a training sentence."""
    return replace(sentence, tags=_map_tags(sentence.tags, labels, Counter()))


def _relabel(one: Tagged, labels: LabelMap, changes: Mapping[str, Counter[str]]) -> Tagged:
    spans = []
    for span in one.spans:
        target = labels.target(span.label)
        if target != span.label:
            changes["predicted"][f"{span.label} to {target or 'O'}"] += 1
        if target:
            spans.append(replace(span, label=target))
    tags = _map_tags(one.sentence.tags, labels, changes["gold"])
    return Tagged(
        sentence=replace(one.sentence, tags=tags),
        spans=tuple(spans),
        tags=_map_tags(one.tags, labels, Counter()),
    )


def _map_tags(tags: Sequence[str], labels: LabelMap, changes: Counter[str]) -> tuple[str, ...]:
    """Map tags one by one, as those of datasets are.

    An I- after a tag of another label, which IOB2 forbids, continues it if both become one.
    """
    mapped: list[str] = []
    for tag in tags:
        target = "" if tag == "O" else labels.target(tag[2:])
        if tag != "O" and target != tag[2:]:
            changes[f"{tag[2:]} to {target or 'O'}"] += 1
        mapped.append(f"{tag[:2]}{target}" if target else "O")
    return tuple(mapped)
