"""Kinds of names (``person``, ``place`` …) that the labels of taggers and protocols mean."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from corpora.registers.entry import kind_of_label
from corpora.system.parsing import parse_toml


@cache
def _by_label() -> dict[str, str]:
    file = files("modeling") / "serve" / "kinds.toml"
    table = parse_toml(file.read_text("utf-8"), where=file)
    return {label: kind for kind, labels in table.items() for label in labels}


def kind_of(label: str | None) -> str | None:
    """Map a label to its kind, as ``PER``, ``pers``, ``persName`` … to ``person``; else None."""
    return kind_of_label(label) or _by_label().get((label or "").lower())


def label_among(label: str, known: Iterable[str]) -> str:
    """Find the label that means the same among those ``known`` to a client; else keep the label."""
    known = list(known)
    if label in known:
        return label
    kind = kind_of(label)
    return next((one for one in known if kind and kind_of(one) == kind), label)
