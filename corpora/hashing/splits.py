"""Splits into train, dev and test, by ratios (hashes: ``sampling.py``) or by a file."""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import UsageError
from corpora.hashing.sampling import choose
from corpora.reports import counted
from corpora.system.cells import unguarded

if TYPE_CHECKING:
    import pyarrow as pa

SPLITS = ("train", "dev", "test")


def parse_ratios(text: str) -> dict[str, float]:
    """Parse ``80/10/10``; raises ``UsageError`` unless it is three weights, one above 0."""
    try:
        weights = [float(part) for part in text.split("/")]
    except ValueError:
        weights = []
    is_sane = all(isfinite(weight) and weight >= 0 for weight in weights)
    if len(weights) != len(SPLITS) or not is_sane or max(weights) <= 0:
        raise UsageError(f"--ratios {text}: expected three weights, train/dev/test, as 80/10/10.")
    return dict(zip(SPLITS, weights, strict=True))


def read_split_file(path: Path, names: Sequence[str]) -> Mapping[str, str]:
    """Read lines ``document TAB split`` for exactly these names; ``#`` begins a comment.

    Raises ``UsageError`` with the line, or with the names that are missing or unknown.
    """
    splits: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--split-file {path}: cannot be read ({error}).") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or (line.startswith("#") and "\t" not in line):
            continue
        cell, _, split = line.rpartition("\t")
        name = unguarded(cell)
        if split.strip() not in SPLITS:
            raise UsageError(
                f"{path}:{number}: expected 'document TAB split' with one of {', '.join(SPLITS)}."
            )
        if splits.setdefault(name, split.strip()) != split.strip():
            raise UsageError(f"{path}:{number}: {name} has two splits.")
    _check_names(path, set(splits), set(names))
    return splits


def with_splits(
    batch: "pa.RecordBatch", *, by: str, ratios: Mapping[str, float]
) -> "pa.RecordBatch":
    """Assign each row the split that the hash of its value in the column ``by`` chooses."""
    import pyarrow as pa

    names = batch.column(by).to_pylist()
    chosen = {name: choose(name, ratios) for name in dict.fromkeys(names)}
    splits = pa.array([chosen[name] for name in names], pa.string())
    number = batch.schema.get_field_index("split")
    return batch.set_column(number, batch.schema.field(number), splits)


def _check_names(path: Path, listed: set[str], names: set[str]) -> None:
    for wrong, what in ((names - listed, "lacks"), (listed - names, "names no input:")):
        if wrong:
            examples = ", ".join(sorted(wrong)[:3])
            raise UsageError(
                f"--split-file {path}: {what} {counted(len(wrong), 'document')}, among them "
                f"{examples}."
            )
