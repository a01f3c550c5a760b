"""The names of the entities of a vocabulary: of one wiki, or of several for the same thing."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def names_of(entities: pa.RecordBatch) -> Iterator[tuple[pa.Int32Array, pa.StringArray]]:
    """Yield the names by which entities are found, each with its row.

    First what the entities are called, then their further names; columns ``entity`` and ``names``.
    """
    yield pa.array(np.arange(len(entities), dtype=np.int32)), entities.column("entity")
    names = entities.column("names")
    yield pc.list_parent_indices(names).cast(pa.int32()), pc.list_flatten(names)


def entities_in(space: str, entities: pa.RecordBatch) -> pa.StringArray:
    """Return the entities by their names in a space, such as a wiki, if they have any there."""
    [_, (rows, names)] = names_of(entities)
    is_of_space = pc.starts_with(names, f"{space}:")
    rows, names = rows.filter(is_of_space), names.filter(is_of_space)
    every = pa.array(np.arange(len(entities), dtype=np.int32))
    return pc.coalesce(names.take(pc.index_in(every, rows)), entities.column("entity"))
