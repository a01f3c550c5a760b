"""Maps of gold and predicted labels, to score a tagger on a dataset with other names of labels.

The label maps are those of datasets (``corpora/ner/labels.py``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpora.document import Sentence
from corpora.ner.labels import LabelMap
from modeling.data.predictions import Tagged

Changes = Mapping[str, Counter[str]]
"""Counts of each change (``date to O``), of ``gold`` tags and of ``predicted`` spans."""


def relabel(tagged: Sequence[Tagged], labels: LabelMap) -> tuple[list[Tagged], Changes]:
    """Map gold and predicted labels; spans whose label maps to none are left out on both sides.

    ``words`` are dropped: the probability of a label that others are merged into is not known.
    Raises ``UnknownLabelError`` if the map is required to have all labels and lacks one.
    """
    changes = {"gold": Counter[str](), "predicted": Counter[str]()}
    return [_relabel(one, labels, changes) for one in tagged], changes


def relabel_sentence(sentence: Sentence, labels: LabelMap) -> Sentence:
    """Map the labels in the gold tags of a training sentence, as ``relabel`` does."""
    return _with_labels(sentence, labels, Counter())


def _relabel(one: Tagged, labels: LabelMap, changes: Changes) -> Tagged:
    spans = []
    for span in one.spans:
        target = labels.target(span.label)
        if target != span.label:
            changes["predicted"][f"{span.label} to {target or 'O'}"] += 1
        if target:
            spans.append(replace(span, label=target))
    return Tagged(
        sentence=_with_labels(one.sentence, labels, changes["gold"]),
        spans=tuple(spans),
        tags=_map_tags(one.tags, labels, Counter()),
    )


def _with_labels(sentence: Sentence, labels: LabelMap, changes: Counter[str]) -> Sentence:
    inner = sentence.inner_tags
    return replace(
        sentence,
        tags=_map_tags(sentence.tags, labels, changes),
        inner_tags=None if inner is None else _map_tags(inner, labels, changes),
    )


def _map_tags(tags: Sequence[str], labels: LabelMap, changes: Counter[str]) -> tuple[str, ...]:
    """Map the labels of tags one by one, as for datasets, and count the changes.

    An orphan I- after a tag of another label continues that span if both labels map to the same.
    """
    mapped: list[str] = []
    for tag in tags:
        target = "" if tag == "O" else labels.target(tag[2:])
        if tag != "O" and target != tag[2:]:
            changes[f"{tag[2:]} to {target or 'O'}"] += 1
        mapped.append(f"{tag[:2]}{target}" if target else "O")
    return tuple(mapped)
