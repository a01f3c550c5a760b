"""Label maps: coarse from fine, one spelling for another, for evaluation across sets.

A map is a TOML file with a table ``[labels]`` of old to new labels. An old label may be a pattern
with ``*`` and ``?``: a label that is listed itself counts first, then the first pattern that fits.
An empty new label makes tokens ``O``. ``other`` tells what becomes of labels that fit none:
``keep`` (the default), ``drop`` or ``error``.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np

from corpora.errors import UsageError
from corpora.ner.columns import Flags, Tags
from corpora.system.parsing import read_toml
from corpora.system.typed_tables import make
from corpora.tagging import IOB2_TAG


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    labels: Mapping[str, str]
    other: Literal["keep", "drop", "error"] = "keep"
    about: str = ""


class UnknownLabelError(UsageError):
    """A label that the map does not have, where ``other`` is ``error``."""


@dataclass(frozen=True, slots=True)
class LabelMap:
    """A map from old labels to new ones."""

    name: str
    labels: Mapping[str, str]
    other: str = "keep"

    def target(self, label: str) -> str:
        """Return the new label, empty for none; raises ``UnknownLabelError``."""
        if label in self.labels:
            return self.labels[label]
        for pattern, target in self.labels.items():
            if fnmatchcase(label, pattern):
                return target
        if self.other == "error":
            raise UnknownLabelError(
                f"--labels {self.name}: does not know the label {label!r}; it knows "
                f"{', '.join(self.labels)}. Add it to a copy of the map."
            )
        return label if self.other == "keep" else ""

    def apply(self, tags: Tags, opens: Flags, counters: Counter[str]) -> Tags:
        """Map IOB2 tags; ``opens`` flags the tokens that begin an entity, for the counters."""
        names: dict[str, int] = {"O": 0}
        codes = np.zeros(len(tags.names), np.int32)
        counts = np.bincount(tags.codes[opens], minlength=len(tags.names)).tolist()
        present = np.bincount(tags.codes, minlength=len(tags.names)).tolist()
        for code, (name, count) in enumerate(zip(tags.names, counts, strict=True)):
            if name == "O" or not present[code]:
                continue
            target = self.target(name[2:])
            codes[code] = names.setdefault(f"{name[:2]}{target}", len(names)) if target else 0
            if count and target != name[2:]:
                counters[f"labels/{name[2:]} to {target or 'O'}"] += count
                counters["labels.changed" if target else "labels.dropped"] += count
        return Tags(codes[tags.codes], tuple(names))


def shipped() -> dict[str, str]:
    """Return the names of the maps that ship with Onoma, and the purpose of each."""
    folder = files("corpora.ner") / "labels"
    maps = sorted(file.name for file in folder.iterdir() if file.name.endswith(".toml"))
    return {
        name.removesuffix(".toml"): str(
            tomllib.loads((folder / name).read_text("utf-8")).get("about", "")
        )
        for name in maps
    }


def label_map_path(name: str) -> Path:
    """Return the file of a map, by name if it ships with Onoma; raises ``UsageError``."""
    path = Path(name)
    if not name.endswith(".toml"):
        path = Path(str(files("corpora.ner") / "labels" / f"{name}.toml"))
    if not path.is_file():
        raise UsageError(
            f"--labels {name}: no such map. There are {', '.join(shipped())}; or name a .toml file."
        )
    return path


def load_label_map(path: Path) -> LabelMap:
    """Read a map; raises ``UsageError``."""
    where = f"--labels {path}"
    file = make(_File, read_toml(path, where=where), where=where)
    for old, new in file.labels.items():
        if new and not IOB2_TAG.fullmatch(f"B-{new}"):
            raise UsageError(f"{where}: {old} = {new!r}: expected a label without blanks.")
    return LabelMap(path.stem, file.labels, file.other)
