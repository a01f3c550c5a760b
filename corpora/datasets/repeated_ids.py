"""The search for ids that more than one row of several shards, or datasets, has.

Ids are hashed, the hashes sorted, and ids compared only where two hashes are equal. Ids are strings
or, in some datasets, integers.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS, Schema
from corpora.datasets.shards import read_batches
from corpora.hashing.strings import long_hashes

Hashes = npt.NDArray[np.uint64]
_DOCUMENTS = SCHEMAS["documents"]
HELD = 1 << 25
"""The number of hashes above which they are compared in parts."""
_ROWS = 1 << 14  # rows hashed at once; most batches hold a few dozen documents


def find_repeated(shards: Sequence[Path], schema: Schema) -> tuple[str | int, Path] | None:
    """Find the first id that an earlier row has, and the shard where it stands again.

    Keeps hashes of ``HELD`` rows at most, on disk those of all.
    """
    suspects = equal_among(hashes_of_ids(shards, schema))
    seen: set[str | int] = set()
    for path in shards if len(suspects) else ():
        for ids in _ids(path, schema):
            for id in ids.filter(_are_among(ids, suspects)).to_pylist():
                if id in seen:
                    return id, path
                seen.add(id)
    return None


class Shared(NamedTuple):
    """The documents that two of several datasets hold."""

    first: int
    """The index of the dataset that comes first."""
    second: int
    n_documents: int
    id: str
    """The id of the first of the documents, in the order of the second dataset."""


def find_shared(datasets: Sequence[Sequence[Path]]) -> Shared | None:
    """Find the first two datasets, given by their shards, that hold the same documents.

    Documents are the same if their ids and their groups are. Reads no text. Keeps the ids that
    stand more than once.
    """
    suspects = equal_among(hashes_of_ids(chain.from_iterable(datasets), _DOCUMENTS))
    if not len(suspects):
        return None
    keys = [_suspect_keys(shards, suspects) for shards in datasets]
    for first, second in combinations(range(len(keys)), 2):
        both = keys[second].filter(pc.is_in(keys[second], value_set=keys[first]))
        if len(both):
            return Shared(first, second, len(both), both[0].as_py().partition("\0")[2])
    return None


def _suspect_keys(shards: Sequence[Path], suspects: Hashes) -> pa.ChunkedArray:
    """Return group and id, joined, of each document whose hash is one of the suspects."""
    found = []
    for path in shards:
        for batch in read_batches(path, _DOCUMENTS, columns=("id", "group")):
            kept = batch.filter(_are_among(batch.column("id"), suspects))
            if len(kept):
                columns = (kept.column("group"), kept.column("id"))
                found.append(pc.binary_join_element_wise(*columns, "\0"))
    return pa.chunked_array(found, pa.string())


def hashes_of_ids(shards: Iterable[Path], schema: Schema) -> Iterator[Hashes]:
    """Hash the id of each row of some shards, in order."""
    for ids in _put_together(ids for path in shards for ids in _ids(path, schema)):
        yield long_hashes(ids)


def are_among(path: Path, schema: Schema, suspects: Hashes) -> npt.NDArray[np.bool_]:
    """Tell for each row of a shard whether its id has one of some hashes."""
    parts = (np.isin(some, suspects) for some in hashes_of_ids([path], schema))
    return np.concatenate([np.empty(0, np.bool_), *parts])


def _put_together(batches: Iterable[pa.Array]) -> Iterator[pa.Array]:
    """Concatenate many small arrays into a few large ones."""
    held: list[pa.Array] = []
    n_rows = 0
    for batch in batches:
        held.append(batch)
        n_rows += len(batch)
        if n_rows >= _ROWS:
            yield pa.concat_arrays(held)
            held, n_rows = [], 0
    if held:
        yield pa.concat_arrays(held)


def equal_among(hashes: Iterable[Hashes]) -> Hashes:
    """Return the hashes that occur more than once, sorted; above ``HELD``, most are on disk."""
    held, n_held = [np.empty(0, np.uint64)], 0
    with TemporaryDirectory() as folder:
        for some in hashes:
            held.append(some)
            n_held += len(some)
            if n_held >= HELD:
                _put_aside(held, Path(folder))
                held, n_held = held[:1], 0
        if not (files := sorted(Path(folder).iterdir())):
            return _repeated(np.concatenate(held))
        _put_aside(held, Path(folder))
        return np.concatenate([_repeated(np.fromfile(file, np.uint64)) for file in files])


def _put_aside(hashes: Sequence[Hashes], folder: Path) -> None:
    """Add hashes to 256 files, by their first byte."""
    ordered = np.sort(np.concatenate(hashes))
    edges = np.searchsorted(ordered, np.arange(1, 256, dtype=np.uint64) << np.uint64(56))
    for number, some in enumerate(np.split(ordered, edges)):
        with (folder / f"{number:03}").open("ab") as file:
            some.tofile(file)


def _repeated(hashes: Hashes) -> Hashes:
    hashes.sort()
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def _are_among(ids: pa.Array, suspects: Hashes) -> pa.Array:
    """Tell for each id whether its hash is among the suspects (sorted, at least one)."""
    hashes = long_hashes(ids)
    places = np.searchsorted(suspects, hashes)
    return pa.array(suspects.take(places, mode="clip") == hashes)


def _ids(path: Path, schema: Schema) -> Iterator[pa.Array]:
    for batch in read_batches(path, schema, columns=("id",)):
        yield batch.column("id")
