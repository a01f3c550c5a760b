"""The split of a file by its name: ``eng.testa``, ``ler_dev.conll``, ``train.bmes``."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from corpora.errors import UsageError
from corpora.hashing.splits import SPLITS

_WORDS = {
    "train": "train", "training": "train", "trn": "train",
    "dev": "dev", "devel": "dev", "development": "dev", "valid": "dev", "validation": "dev",
    "val": "dev", "testa": "dev",
    "test": "test", "testing": "test", "testb": "test", "tst": "test",
}  # fmt: skip
_WORD = re.compile(r"[a-z]+")
_JOINED = [
    re.compile(each) for each in (r"[A-Z][a-z]+", r"[a-z]+(?=[A-Z])", r"(?<=[A-Z]{2})[a-z]+")
]
"""Match words that only capitals divide: ``nerTrain``, ``testSet``, ``GWtest``."""


def split_of_name(name: str) -> str | None:
    """Return the split in a file's name or folder; None if there is none, or more than one."""
    for part in reversed(name.split("/")):
        joined = [word for pattern in _JOINED for word in pattern.findall(part)]
        for words in (_WORD.findall(part.lower()), joined):
            splits = {_WORDS[word.lower()] for word in words if word.lower() in _WORDS}
            if splits:
                return splits.pop() if len(splits) == 1 else None
    return None


def choose_splits(names: Sequence[str], said: Sequence[str]) -> dict[str, str]:
    """Return the split of each file: by ``FILE=SPLIT``, else by its name, else train.

    ``FILE`` may be a pattern. If only some names contain a split, the others must be named:
    ``UsageError``.
    """
    chosen = named_splits(names, said)
    by_name = {name: split_of_name(name) for name in names if name not in chosen}
    unknown = [name for name, split in by_name.items() if split is None]
    if unknown and len(unknown) < len(by_name):
        raise UsageError(
            f"{unknown[0]}: its name says no split, or two, while others do. Say "
            f"--split-of {unknown[0]}=train, or leave it out with --exclude."
        )
    return chosen | {name: split or "train" for name, split in by_name.items()}


def named_splits(names: Sequence[str], said: Sequence[str]) -> dict[str, str]:
    """Return the split of each file that a ``FILE=SPLIT`` names.

    Raises ``UsageError`` for one that matches no file.
    """
    chosen: dict[str, str] = {}
    for item in said:
        pattern, _, split = item.rpartition("=")
        if split not in SPLITS or not pattern:
            raise UsageError(f"--split-of {item}: expected FILE=SPLIT with {', '.join(SPLITS)}.")
        matching = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            example = min(names, default="")
            raise UsageError(f"--split-of {item}: matches no input; names are as in {example}.")
        for name in matching:
            if chosen.setdefault(name, split) != split:
                raise UsageError(f"--split-of: {name} has two splits, {chosen[name]} and {split}.")
    return chosen
