"""The words of a lexicon, as a dictionary of forms to match in texts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.matching.form_dictionary import BLOCKS

SPACE = "lexicon"
"""The prefix of the entity of a word that belongs to no group: ``lexicon:FORM``."""
_COLUMNS = ("form", "group", "rank", "flags")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordFilter:
    """The conditions by which words of a lexicon are chosen; by default, all words are."""

    without: tuple[str, ...] = ()
    """Flags that exclude a word."""
    max_rank: int | None = None
    """The highest rank in each lexicon; None: no limit."""

    def chooses(self, batch: pa.RecordBatch) -> pa.Array:
        """Tell which candidates are words that pass the filter."""
        found = is_word(batch, without=self.without)
        if self.max_rank is not None:
            is_best = pc.less_equal(batch.column("rank"), self.max_rank)
            found = pc.and_(found, pc.fill_null(is_best, fill_value=False))
        return found


ALL = WordFilter()
TAGGER = WordFilter(without=("compound", "function", "phrase"), max_rank=1000)
"""The words for taggers and matching: names rather than phrases with names in them."""


def is_word(batch: pa.RecordBatch, *, without: Iterable[str] = ()) -> pa.Array:
    """Tell which candidates are words: ranked, not ``low``, and with no flag of ``without``."""
    flags = batch.column("flags")
    is_out = pc.is_in(flags.flatten(), pa.array(["low", *without]))
    found = np.asarray(pc.is_valid(batch.column("rank"))).copy()
    found[np.asarray(pc.list_parent_indices(flags).filter(is_out))] = False
    return pa.array(found)


def read_words(
    shards: Iterable[Path], words: WordFilter = ALL, *, with_known: bool = False
) -> pa.Table:
    """Read ``form, group, blocks`` of the words that pass, group by group, the best first.

    ``with_known``: and of the known words that do not, which block.
    """
    names = (*_COLUMNS[:2], "blocks")
    schema = pa.schema([*((name, pa.string()) for name in names[:2]), (names[2], pa.bool_())])
    tables = [schema.empty_table()]
    for batch in read_shards(shards, SCHEMAS["lexicon"], columns=_COLUMNS):
        is_chosen = words.chooses(batch)
        with_blocks = batch.select(_COLUMNS[:2]).append_column("blocks", pc.invert(is_chosen))
        is_kept = pc.or_(is_chosen, _has(batch, "known")) if with_known else is_chosen
        kept = with_blocks.filter(is_kept)
        tables.append(pa.Table.from_batches([kept]).cast(schema))
    return pa.concat_tables(tables).combine_chunks()


def _has(batch: pa.RecordBatch, flag: str) -> pa.Array:
    """Tell which candidates have a flag."""
    flags = batch.column("flags")
    found = np.zeros(len(batch), np.bool_)
    found[np.asarray(pc.list_parent_indices(flags).filter(pc.equal(flags.flatten(), flag)))] = True
    return pa.array(found)


def chosen_words(words: pa.Table, *, is_grouped: bool) -> pa.Table:
    """Make rows of ``chosen_forms``: entities are ``GROUP:FORM``, or ``lexicon:FORM`` once each.

    Words that only block have none of these. A form counts as a word if it is one in any lexicon.
    """
    if not is_grouped:
        words = words.group_by("form", use_threads=False).aggregate([("blocks", "min")])
        words = words.rename_columns(["form", "blocks"])
    forms, blocks = (words.column(name).combine_chunks() for name in ("form", "blocks"))
    prefix = words.column("group").combine_chunks() if is_grouped else SPACE
    entities = pc.binary_join_element_wise(prefix, forms, ":")
    entities = pc.if_else(blocks, BLOCKS, entities)
    schema = SCHEMAS["chosen_forms"].columns
    return pa.table([forms, entities, pa.nulls(len(forms), pa.float32())], schema=schema)


def group_ends(words: pa.Table) -> Iterator[tuple[str, int]]:
    """Yield each group, and the index where its words end."""
    groups = words.column("group").combine_chunks()
    encoded = pc.run_end_encode(groups)
    yield from zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True)
