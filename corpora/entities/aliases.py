"""The forms of entities, with their priors and link probabilities.

*Prior*: of the counted mentions with this form, the fraction that mean this entity. *Link
probability*: of all places of the form, the fraction that are counted mentions. A place of a form
is a match of the matcher of all forms (leftmost-longest, between word boundaries, case as written),
or a counted mention that this matcher does not find.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches, read_shards
from corpora.entities.counts import Sums, by_partition, read_partition
from corpora.matching.composition import with_spaces
from corpora.matching.form_table import FormTable

_ENTITIES = SCHEMAS["entities"].columns
_ALIAS = _ENTITIES.field("aliases").type.value_type
_ORDER = [("id", "ascending"), ("count", "descending"), ("form", "ascending")]

Rows = npt.NDArray[np.int64]


def slice_size(n_rows: int, n_units: int) -> int:
    """Compute how many rows of the vocabulary each unit takes; the last units may get fewer."""
    return max(1, -(-n_rows // n_units))


def link_forms(
    table: pa.Table, vocab: pa.Table, *, size: int
) -> tuple[pa.Table, list[pa.RecordBatch]]:
    """Find the forms of a partition that are aliases, and build a row for each form and entity.

    ``size`` is the number of rows in a slice of the vocabulary. ``table`` has ``entity, form,
    langs, count``, added up; links to entities outside the vocabulary also count for how often a
    form is linked.
    """
    linked = Sums(("form",))
    linked.add(table)
    totals = linked.table()
    live = vocab.filter(pc.invert(vocab.column("retired"))).combine_chunks()
    rows = pc.index_in(table.column("entity"), live.column("entity").combine_chunks())
    ids = live.column("id").take(rows)
    table = table.append_column("id", ids).filter(pc.is_valid(ids))
    forms = table.column("form").unique()
    of_totals = pc.index_in(table.column("form"), totals.column("form").combine_chunks())
    table = table.append_column("linked", totals.column("count").take(of_totals))
    table = table.append_column("number", pc.index_in(table.column("form"), forms))
    parts = table.column("id").to_numpy() // size
    aliases = list(by_partition(table, parts.astype(np.int64), schema="entity_aliases"))
    return pa.table({"form": forms}), aliases


def read_forms(paths: Sequence[Path]) -> Iterator[list[str]]:
    """Yield all forms, in the order of their numbers; one list for each batch."""
    for batch in read_shards(paths, SCHEMAS["forms"]):
        yield batch.column("form").to_pylist()


def first_ids(paths: Sequence[Path]) -> list[int]:
    """Return the number of the first form of each shard, and last the number of all forms."""
    sizes = (sum(map(len, read_batches(path, SCHEMAS["forms"]))) for path in paths)
    return list(accumulate(sizes, initial=0))


def by_language(batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Yield each language of a batch with its documents."""
    column = batch.column("lang")
    for lang in column.unique().to_pylist():
        is_of = pc.is_null(column) if lang is None else pc.equal(column, lang)
        yield lang, batch.filter(is_of)


class OccurrenceCounter:
    """A counter of the occurrences of forms that are no counted mention; 8 bytes per form."""

    def __init__(self, n_forms: int, *, origins: Iterable[str]) -> None:
        self._unlinked = np.zeros(n_forms, np.int64)
        self._origins = pa.array(sorted(origins), pa.string())

    def add(self, batch: pa.RecordBatch, table: FormTable, *, lang: str | None) -> None:
        """Count occurrences in documents of one language; columns ``text, mentions``."""
        texts = batch.column("text").to_pylist()
        # All texts at once, joined by newlines, which no form has; forms have no other white space
        # than spaces.
        lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
        text = with_spaces("\n".join(texts))
        found_starts, found_ends, numbers = table.find(text, lang=lang)
        mentions = MentionColumn.of(batch)
        is_counted = pc.and_(
            pc.is_in(mentions.structs.field("origin"), self._origins),
            pc.is_valid(mentions.structs.field("entity")),
        )
        shifts = np.repeat(np.cumsum(lengths) - lengths, np.diff(mentions.ends))
        starts, ends = (
            mentions.numbers(name).astype(np.int64) + shifts for name in ("start", "end")
        )
        spans = _keys(starts, ends)[np.asarray(is_counted)]
        is_linked = np.isin(_keys(found_starts, found_ends), spans)
        # Counting comes last: if anything above raises, nothing is counted.
        np.add.at(self._unlinked, numbers[~is_linked], 1)

    def table(self) -> pa.Table:
        """Return ``number, unlinked`` of the forms that were found unlinked."""
        numbers = np.flatnonzero(self._unlinked)
        return pa.table({"number": numbers, "unlinked": self._unlinked[numbers]})


def _keys(starts: Rows, ends: Rows) -> Rows:
    """Encode each span as one number; offsets are below 2^31."""
    return starts << 31 | ends


def sum_occurrences(paths: Iterable[Path], n_forms: int) -> Rows:
    """Add up the counts of all units: how often each form occurs unlinked."""
    unlinked = np.zeros(n_forms, np.int64)
    for batch in read_shards(paths, SCHEMAS["form_occurrences"]):
        unlinked[np.asarray(batch.column("number"))] += np.asarray(batch.column("unlinked"))
    return unlinked


def read_occurrences(file: Path, firsts: Sequence[int]) -> list[Rows]:
    """Return, for each shard of forms, how often they occur unlinked; mapped, not read.

    ``firsts`` is what ``first_ids`` returns for these shards.
    """
    unlinked = np.load(file, mmap_mode="r")
    return np.split(unlinked, firsts[1:-1])


def vocab_rows(
    rows: pa.Table, aliases: Sequence[Path], *, part: int, unlinked: Sequence[Rows] | None
) -> Iterator[pa.RecordBatch]:
    """Finish a slice of the vocabulary, with rows sorted by id: add the aliases.

    ``unlinked`` has, for each shard of aliases, how often its forms occur unlinked; without it link
    probabilities are null.
    """
    tables = [SCHEMAS["entity_aliases"].columns.empty_table()]
    extra: list[Rows] = []
    for number, path in enumerate(aliases):
        for table in read_partition([path], part):
            tables.append(table)
            if unlinked is not None:
                extra.append(unlinked[number][np.asarray(table.column("number"))])
    table = pa.concat_tables(tables)
    if unlinked is not None:
        table = table.append_column("unlinked", pa.array(np.concatenate([[], *extra]), pa.int64()))
    table = table.sort_by(_ORDER)
    counts = np.searchsorted(np.asarray(table.column("id")), np.asarray(rows.column("id")))
    ends = pa.array(np.append(counts, len(table)), pa.int32())
    lists = pa.ListArray.from_arrays(ends, _alias_structs(table))
    at = _ENTITIES.get_field_index("aliases")
    rows = rows.add_column(at, _ENTITIES.field(at), lists.cast(_ENTITIES.field(at).type))
    yield from rows.cast(_ENTITIES).to_batches(max_chunksize=1 << 14)


def _alias_structs(table: pa.Table) -> pa.StructArray:
    ratio = partial(pc.divide, table.column("count").cast(pa.float64()))
    linked = table.column("linked").cast(pa.float64())
    probability: pa.ChunkedArray = pa.chunked_array([pa.nulls(len(table), pa.float64())])
    if "unlinked" in table.column_names:
        probability = pc.divide(linked, pc.add(linked, table.column("unlinked")))
    columns = [
        table.column("form"),
        table.column("count"),
        ratio(linked).cast(pa.float32(), safe=False),
        probability.cast(pa.float32(), safe=False),
        pc.split_pattern(
            pc.if_else(pc.equal(table.column("langs"), ""), None, table.column("langs")), " "
        ),
    ]
    return pa.StructArray.from_arrays(
        [column.combine_chunks() for column in columns], fields=list(_ALIAS)
    )
