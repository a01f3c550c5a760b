"""The words of a lexicon, as a dictionary to be matched."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.schemas import SCHEMAS
from corpora.shards import read_batches

SPACE = "lexicon"
"""Before the words of no group, to make entities of them."""
_COLUMNS = ("form", "group", "rank", "flags")


def is_word(batch: pa.RecordBatch) -> pa.Array:
    """Which candidates are words: those with a rank that are not ``low``."""
    flags = batch.column("flags")
    is_low = pc.equal(flags.flatten(), "low")
    found = np.asarray(pc.is_valid(batch.column("rank"))).copy()
    found[np.asarray(pc.list_parent_indices(flags).filter(is_low))] = False
    return pa.array(found)


def read_words(shards: Iterable[Path]) -> pa.Table:
    """``form, group``: the words, group by group, the best first."""
    tables = [pa.table({name: pa.array([], pa.string()) for name in _COLUMNS[:2]})]
    for path in shards:
        for batch in read_batches(path, SCHEMAS["lexicon"], columns=_COLUMNS):
            words = batch.filter(is_word(batch)).select(_COLUMNS[:2])
            tables.append(pa.Table.from_batches([words]).cast(tables[0].schema))
    return pa.concat_tables(tables).combine_chunks()


def chosen_words(words: pa.Table, *, is_grouped: bool) -> pa.Table:
    """The rows of ``chosen_forms``: entities are ``GROUP:FORM``, or ``lexicon:FORM`` once each."""
    forms, groups = (words.column(name).combine_chunks() for name in ("form", "group"))
    if is_grouped:
        entities = pc.binary_join_element_wise(groups, forms, ":")
    else:
        forms = pc.unique(forms)
        entities = pc.binary_join_element_wise(SPACE, forms, ":")
    schema = SCHEMAS["chosen_forms"].columns
    return pa.table([forms, entities, pa.nulls(len(forms), pa.float32())], schema=schema)


def group_ends(words: pa.Table) -> Iterator[tuple[str, int]]:
    """Each group, and where its words end."""
    groups = words.column("group").combine_chunks()
    encoded = pc.run_end_encode(groups)
    yield from zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True)
