"""Datasets as the input of a pipeline: the folders that patterns mean, and their shards."""

import os
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from corpora.datasets.shards import open_dataset
from corpora.errors import DamagedDatasetError, UsageError
from corpora.runs.plan import InputFile, describe_file, describe_files, find_inputs


def find_shards(
    patterns: Sequence[str], schema: str, *, exclude: Sequence[str] = ()
) -> list[InputFile]:
    """Find the shards of datasets, in the order of their names.

    A pattern means a dataset, or a folder with one inside that is called like the schema. Raises
    ``UsageError`` where it means nothing, ``CorpusError`` where it is no dataset of that schema or
    a shard has other bytes than were written.
    """
    hashes: dict[str, str] = {}
    for folder in _folders(patterns, inside=schema):
        for shard in open_dataset(folder, schema).shards:
            hashes[str(folder / shard.name)] = shard.sha256
    found = find_inputs(tuple(hashes), exclude=exclude)
    files = describe_files(found)
    for file in files:
        if file.sha256 != hashes[file.path]:
            raise DamagedDatasetError(
                f"{file.path}: damaged (other bytes than were written). Run the pipeline that made "
                "it again: it makes what is damaged anew."
            )
    return files


def describe_shards(folder: Path, schema: str, *, prefix: str) -> dict[str, InputFile]:
    """Describe the shards of a dataset as auxiliary files, whose names begin with ``prefix``."""
    names = [shard.name for shard in open_dataset(folder, schema).shards]
    return {prefix + name: describe_file(prefix + name, folder / name) for name in names}


def _folders(patterns: Sequence[str], *, inside: str) -> list[Path]:
    folders: dict[Path, None] = {}
    for pattern in patterns:
        if not pattern:
            raise UsageError("--input: a pattern is empty. Is a variable not set?")
        path = os.path.abspath(os.path.expanduser(pattern))  # noqa: PTH100, PTH111 - no ".." stays
        matches = [path] if Path(path).exists() else sorted(glob(path))  # noqa: PTH207
        if not matches:
            raise UsageError(f"--input {pattern}: matches nothing. Check the path and the quotes.")
        for match in map(Path, matches):
            is_inside = (match / inside / "dataset.json").exists()
            folders[match / inside if is_inside else match] = None
    return list(folders)
