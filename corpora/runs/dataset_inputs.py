"""Datasets as inputs of a pipeline: from patterns to folders, and from these to shards."""

import os
from collections.abc import Iterable, Iterator, Sequence
from glob import glob
from pathlib import Path

from corpora.datasets.repeated_ids import find_shared
from corpora.datasets.shards import open_dataset
from corpora.errors import UsageError
from corpora.runs.plan import InputFile, describe_file, list_file, name_relative, without
from corpora.system.buckets import is_url
from corpora.system.staging import find, stage, url_of
from corpora.system.threads import map_in_order


def find_shards(
    patterns: Sequence[str], schema: str, *, option: str = "--input"
) -> list[InputFile]:
    """Find the shards of datasets, sorted by name.

    A pattern matches a dataset, or a folder with a dataset inside that is named like the schema.
    ``option`` is what messages put before a pattern; empty if its place on the command line says
    what it is. The hashes are those that the datasets say: who reads a shard checks them
    (``InputFile.hashed``). Raises ``UsageError`` where a pattern matches nothing, ``CorpusError``
    where a match is no dataset of that schema.
    """
    hashes: dict[Path, str] = {}
    addresses: dict[str, Path] = {}
    for folder in _folders(patterns, inside=schema, option=option):
        for shard in open_dataset(folder, schema).shards:
            path = folder / shard.name
            hashes[path] = shard.sha256
            addresses[url_of(path) or str(path)] = path
    bases = [address.rpartition("/")[0] for address in addresses]
    found = dict(sorted(without(name_relative(addresses, bases), ()).items()))
    return [list_file(name, path, sha256=hashes[path]) for name, path in found.items()]


def check_hashes(files: Iterable[InputFile]) -> list[InputFile]:
    """Read shards for their hashes, several at once, where no pipeline does that.

    Raises ``DamagedDatasetError`` for one with other bytes than its dataset says.
    """
    return list(map_in_order(InputFile.hashed, files))


def find_documents(
    patterns: Sequence[str], *, limit: int | None = None, option: str = "--input"
) -> list[InputFile]:
    """Find the shards of datasets of documents, the first ``limit``, as ``find_shards`` does.

    Raises ``UsageError`` where two of the datasets hold the same document.
    """
    files = find_shards(patterns, "documents", option=option)[:limit]
    datasets: dict[Path, list[InputFile]] = {}
    for file in files:
        datasets.setdefault(Path(file.path).parent, []).append(file)
    check_shared([*datasets.values()], option=option)
    return files


def check_shared(datasets: Sequence[Sequence[InputFile]], *, option: str) -> None:
    """Raise ``UsageError`` where two datasets of documents, given by shards, hold the same one."""
    if len(datasets) < 2:
        return
    found = find_shared([[file.check() for file in files] for files in datasets])
    if found is None:
        return
    both = (datasets[number][0].address.rpartition("/")[0] for number in found[:2])
    n = found.n_documents
    raise UsageError(
        f"{' '.join((option, *both)).lstrip()}: "
        f"{'a document is' if n == 1 else f'{n:,} documents are'} in both ({found.id!r}"
        f"{'' if n == 1 else ' …'}) and would count twice. Name only one of the two. If these are "
        "different documents, make one of the datasets again with other ids or another group."
    )


def describe_shards(folder: Path, schema: str, *, prefix: str) -> dict[str, InputFile]:
    """Describe the shards of a dataset as auxiliary files, whose names begin with ``prefix``."""
    names = [shard.name for shard in open_dataset(folder, schema).shards]
    return {prefix + name: describe_file(prefix + name, folder / name) for name in names}


def _folders(patterns: Sequence[str], *, inside: str, option: str) -> list[Path]:
    folders: dict[Path, None] = {}
    for pattern in patterns:
        if not pattern:
            raise UsageError(f"{option or 'input'}: a pattern is empty. Is a variable not set?")
        shown = f"{option} {pattern}".lstrip()
        if is_url(pattern):
            folders |= dict.fromkeys(_staged(pattern, inside=inside, shown=shown))
            continue
        path = os.path.abspath(os.path.expanduser(pattern))  # noqa: PTH100, PTH111 - no ".." stays
        matches = [path] if Path(path).exists() else sorted(glob(path))  # noqa: PTH207
        if not matches:
            raise UsageError(f"{shown}: matches nothing. Check the path and the quotes.")
        for match in map(Path, matches):
            is_inside = (match / inside / "dataset.json").exists()
            folders[match / inside if is_inside else match] = None
    return list(folders)


def _staged(pattern: str, *, inside: str, shown: str) -> Iterator[Path]:
    """Copy the datasets that a pattern in a bucket matches to this machine."""
    found, _ = find(f"{pattern.rstrip('/')}/**/dataset.json")
    folders = [url.removesuffix("/dataset.json") for url in found]
    depth = len(pattern.rstrip("/").split("/"))
    for url in sorted(folders):
        parts = url.split("/")
        if len(parts) == depth or parts[depth:] == [inside]:
            yield stage(url)
    if not folders:
        raise UsageError(f"{shown}: matches no dataset. Check the address and the quotes.")
