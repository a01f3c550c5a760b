"""The search for ids that more than one row of several shards has.

Ids are hashed, the hashes sorted, and ids compared only where two hashes are equal. Ids are strings
or, in some datasets, integers.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.datasets.schemas import Schema
from corpora.datasets.shards import read_batches
from corpora.hashing.strings import long_hashes

Hashes = npt.NDArray[np.uint64]
_ROWS = 1 << 14  # rows hashed at once; most batches hold a few dozen documents


def find_repeated(shards: Sequence[Path], schema: Schema) -> tuple[str | int, Path] | None:
    """Find the first id that an earlier row has, and the shard where it stands again.

    Keeps 16 bytes a row: its hash once among the hashes of its group of rows, once among all.
    """
    suspects = equal_among(hashes_of_ids(shards, schema))
    seen: set[str | int] = set()
    for path in shards if len(suspects) else ():
        for ids in _ids(path, schema):
            for id in ids.filter(pa.array(np.isin(long_hashes(ids), suspects))).to_pylist():
                if id in seen:
                    return id, path
                seen.add(id)
    return None


def hashes_of_ids(shards: Iterable[Path], schema: Schema) -> Hashes:
    """Hash the id of each row of some shards, in order."""
    batches = (ids for path in shards for ids in _ids(path, schema))
    return np.concatenate([np.empty(0, np.uint64), *map(long_hashes, _put_together(batches))])


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


def equal_among(hashes: Hashes) -> Hashes:
    """Sort hashes in place; return the hashes that occur more than once, each once."""
    hashes.sort()
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def _ids(path: Path, schema: Schema) -> Iterator[pa.Array]:
    for batch in read_batches(path, schema, columns=("id",)):
        yield batch.column("id")
