"""Count what mentions refer to and by which words: per shard, then merged per partition.

A partition holds the rows whose key (an entity, a form) has the same hash modulo the number of
partitions. Each batch of an intermediate shard belongs to one partition, so that a unit of the next
stage reads its partition of all shards and nothing else: it holds the distinct keys of one
partition in memory.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn
from corpora.datasets.redirect_table import RedirectTable
from corpora.datasets.schemas import SCHEMAS
from corpora.entities.equivalents import names_of_entities
from corpora.entities.pages import OF_PAGES, columns_of_pages
from corpora.hashing.strings import hashes

BATCH_ROWS = 1 << 16
FOLD_ROWS = 1 << 20
"""The number of rows that are collected before they are summed."""
_RESERVED = r"^(?:[^:]*:)?\[(?:PAD|UNK|MASK2?|RETIRED \d+)\]$"
_NO_PAGES = SCHEMAS["entity_pages"].columns.empty_table().drop_columns("part")
_NO_EQUIVALENTS = SCHEMAS["entity_equivalents"].columns.empty_table()
_OF_FORMS = ["entity", "form", "count", "langs"]

Parts = npt.NDArray[np.int64]


class MentionCounter:
    """A counter of a shard's mentions by entity, form and origin, which also lists its pages.

    Mentions of the ``origins`` count with their form: the surface text with each run of white space
    as one space. Mentions of other origins are counted by entity alone. If some entities have
    equivalents, mentions count by the language of their document, too.
    """

    def __init__(self, origins: Iterable[str], *, equivalents: RedirectTable | None = None) -> None:
        self._origins = pa.array(sorted(origins), pa.string())
        self._equivalents = equivalents
        self._counts = Sums(("entity", "form", "origin", "lang"))
        self._pages: list[pa.Table] = []
        self.counters: Counter[str] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the documents of a batch; columns as ``count_entities`` reads them."""
        mentions = MentionColumn.of(batch)
        is_known = pc.is_valid(mentions.structs.field("entity"))
        origin = mentions.structs.field("origin").filter(is_known)
        is_counted = pc.is_in(origin, self._origins)
        forms = np.full(len(origin), "", dtype=object)
        where = np.flatnonzero(is_known)[np.asarray(is_counted)]
        forms[np.asarray(is_counted)] = _surfaces(batch.column("text"), mentions, where)
        table = pa.table(
            {
                "entity": self._merged(mentions.structs.field("entity").filter(is_known)),
                "form": _normalised(pa.array(forms, pa.string())),
                "origin": origin,
                "lang": self._languages(batch, mentions).filter(is_known),
            }
        )
        pages = self._pages_of(batch)  # before counting: it may raise
        self._counts.add(table.append_column("count", pa.array(np.ones(len(table), np.int64))))
        self._pages.append(pages)
        self.counters["mentions.counted"] += len(where)
        self.counters["mentions.of_other_origins"] += len(origin) - len(where)
        self.counters["mentions.without_entity"] += len(is_known) - len(origin)

    def counts(self) -> pa.Table:
        """Return the table ``entity, form, origin, lang, count``."""
        return self._counts.table()

    def pages(self) -> pa.Table:
        """Return the table ``entity, page_id, rank`` with the columns of pages.

        Rank 1 is the page of an equivalent.
        """
        return pa.concat_tables([_NO_PAGES, *self._pages])

    def _pages_of(self, batch: pa.RecordBatch) -> pa.Table:
        own = pc.binary_join_element_wise(batch.column("group"), batch.column("title"), ":")
        entity = self._merged(own)
        rank = pc.not_equal(own, entity).cast(pa.int8())
        columns = [entity, batch.column("id"), rank, *columns_of_pages(batch)]
        return pa.table(columns, schema=_NO_PAGES.schema).filter(pc.is_valid(own))

    def _languages(self, batch: pa.RecordBatch, mentions: MentionColumn) -> pa.Array:
        """Return the language of each mention; empty strings where no entity has equivalents."""
        langs = batch.column("lang").fill_null("")
        if not self._equivalents:
            langs = pa.array([""] * len(langs), pa.string())
        return langs.take(pa.array(np.repeat(np.arange(len(langs)), np.diff(mentions.ends))))

    def _merged(self, entities: pa.StringArray) -> pa.StringArray:
        """Replace entities that have an equivalent by the first one of its line."""
        return self._equivalents.resolve(entities) if self._equivalents else entities


def _surfaces(texts: pa.StringArray, mentions: MentionColumn, where: Parts) -> list[str]:
    """Return the surface texts of some mentions."""
    of = np.repeat(np.arange(len(texts)), np.diff(mentions.ends))[where]
    strings = texts.to_pylist()
    starts, ends = (mentions.numbers(name)[where].tolist() for name in ("start", "end"))
    return [
        strings[document][start:end]
        for document, start, end in zip(of.tolist(), starts, ends, strict=True)
    ]


def _normalised(forms: pa.StringArray) -> pa.StringArray:
    """Replace each run of white space by one space, and strip the ends."""
    encoded = forms.dictionary_encode()
    distinct = [" ".join(form.split()) for form in encoded.dictionary.to_pylist()]
    return pa.array(distinct, pa.string()).take(encoded.indices)


class Sums:
    """Sums of ``count`` by keys, in no particular order."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)
        self._held: list[pa.Table] = []
        self._n_rows = self._n_summed = 0

    def add(self, table: pa.Table) -> None:
        """Add rows with the keys and ``count``."""
        names = [*self._keys, "count"]
        # Only the names of fields are kept: nullability differs between tables, and
        # `aggregate` loses it; tables with different fields cannot be concatenated.
        self._held.append(pa.table(table.select(names).columns, names=names))
        self._n_rows += len(table)
        if self._n_rows > max(FOLD_ROWS, 2 * self._n_summed):
            self.table()

    def table(self) -> pa.Table:
        """Return the keys and their sums."""
        names = [*self._keys, "count"]
        if not self._held:
            columns = [*(pa.array([], pa.string()) for _ in self._keys), pa.array([], pa.int64())]
            return pa.table(columns, names=names)
        grouped = pa.concat_tables(self._held).group_by(self._keys, use_threads=False)
        summed = grouped.aggregate([("count", "sum")]).rename_columns(names)
        summed.validate()  # beyond 2 GiB of distinct keys the result is wrong without an error
        self._held, self._n_rows, self._n_summed = [summed], len(summed), len(summed)
        return summed


def partitions_of(keys: pa.ChunkedArray, n_partitions: int) -> Parts:
    """Compute the partition of each key, by hash."""
    strings = keys.cast(pa.large_string()).combine_chunks()
    return (hashes(strings) % np.uint64(n_partitions)).astype(np.int64)


def by_partition(table: pa.Table, parts: Parts, *, schema: str) -> Iterator[pa.RecordBatch]:
    """Split a table into batches of one partition each; within one, rows keep their order."""
    order = np.argsort(parts, kind="stable")
    table = table.take(pa.array(order)).append_column(
        "part", pa.array(parts[order].astype(np.int32))
    )
    edges = np.flatnonzero(np.diff(parts[order], prepend=-1, append=-1))
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield from batches_of(table.slice(start, end - start), schema)


def batches_of(table: pa.Table, schema: str) -> Iterator[pa.RecordBatch]:
    """Split a table into batches of an intermediate dataset."""
    columns = SCHEMAS[schema].columns
    yield from table.select(columns.names).cast(columns).to_batches(max_chunksize=BATCH_ROWS)


def read_partition(paths: Iterable[Path], part: int) -> Iterator[pa.Table]:
    """Read the batches of a partition in all these shards, in order.

    Each batch of a shard is of one partition, and these ascend, as ``by_partition`` makes them.
    """
    first = pa.ipc.IpcReadOptions(included_fields=[0])
    for path in paths:
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source, options=first) as parts:

            def part_of(number: int, parts: pa.RecordBatchFileReader = parts) -> int:
                return int(parts.get_batch(number).column(0)[0].as_py())

            n_batches = parts.num_record_batches
            number = bisect_left(range(n_batches), part, key=part_of)
            if number == n_batches or part_of(number) != part:
                continue
            with pa.ipc.open_file(source) as reader:
                while number < n_batches and part_of(number) == part:
                    yield pa.Table.from_batches([reader.get_batch(number)])
                    number += 1


class PartitionTotals:
    """The entities of one partition; ``counts`` are added up over all shards."""

    def __init__(
        self,
        counts: pa.Table,
        pages: Iterable[pa.Table],
        equivalents: Iterable[pa.Table] = (),
        *,
        origins: Iterable[str],
    ) -> None:
        is_reserved = pc.match_substring_regex(counts.column("entity"), _RESERVED)
        self._pages = _first_pages(list(pages))
        self._names = names_of_entities([_NO_EQUIVALENTS, *equivalents])
        self._rows = counts.filter(pc.invert(is_reserved))
        self._origins = pa.array(sorted(origins), pa.string())
        self.counters = {
            "mentions.of_reserved_names": pc.sum(counts.filter(is_reserved).column("count")).as_py()
            or 0
        }

    def totals(self) -> pa.Table:
        """Build a row for each entity: its page, its count, and the count of each origin."""
        by_origin = Sums(("entity", "origin"))
        by_origin.add(self._rows)
        table = by_origin.table().sort_by([("entity", "ascending"), ("origin", "ascending")])
        begins = _begins(table.column("entity"))
        is_counted = pc.is_in(table.column("origin"), self._origins)
        counted = np.asarray(pc.if_else(is_counted, table.column("count"), 0))
        counts = np.add.reduceat(counted, begins) if len(begins) else counted
        pairs = pa.StructArray.from_arrays(
            [table.column(name).combine_chunks() for name in ("origin", "count")], ["key", "value"]
        )
        ends = pa.array(np.append(begins, len(table)), pa.int32())
        entities = table.column("entity").combine_chunks().take(pa.array(begins))
        rows = pc.index_in(entities, self._pages.column("entity").combine_chunks())
        named = pc.index_in(entities, self._names.column("entity").combine_chunks())
        return pa.table(
            {
                "entity": entities,
                "page_id": self._pages.column("page_id").take(rows),
                "names": self._names.column("names").take(named),
                "languages": pc.fill_null(self._names.column("languages").take(named), 1),
                "count": counts,
                "counts": pa.ListArray.from_arrays(ends, pairs),
                **{name: self._pages.column(name).take(rows) for name in OF_PAGES},
            }
        )

    def forms(self) -> pa.Table:
        """Build a row for each entity and form.

        ``langs`` are the languages of a form, joined by spaces, the most frequent first.
        """
        is_counted = pc.is_in(self._rows.column("origin"), self._origins)
        sums = Sums(("entity", "form", "lang"))
        sums.add(self._rows.filter(is_counted))
        table = sums.table()
        return _with_languages(table.filter(pc.not_equal(table.column("form"), "")))


def _with_languages(table: pa.Table) -> pa.Table:
    """Sum the rows of each entity and form, and join their languages."""
    order = [("entity", "ascending"), ("form", "ascending")]
    table = table.sort_by([*order, ("count", "descending"), ("lang", "ascending")])
    columns = [table.column(name).combine_chunks() for name in ("entity", "form", "lang")]
    if not len(table):
        return pa.table([*columns[:2], table.column("count"), columns[2]], names=_OF_FORMS)
    is_new = np.ones(len(table), np.bool_)
    is_new[1:] = np.logical_or(*(_differs(column) for column in columns[:2]))
    begins = np.flatnonzero(is_new)
    lists = pa.ListArray.from_arrays(
        pa.array(np.append(begins, len(table)), pa.int32()), columns[2]
    )
    counts = np.add.reduceat(np.asarray(table.column("count")), begins)
    firsts = [column.take(pa.array(begins)) for column in columns[:2]]
    return pa.table([*firsts, counts, pc.binary_join(lists, " ")], names=_OF_FORMS)


def _differs(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Tell which elements differ from the one before, from the second on."""
    return np.asarray(pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)))


def _begins(keys: pa.ChunkedArray) -> Parts:
    """Find the first row of each key; rows are sorted by key."""
    column = keys.combine_chunks()
    if not len(column):
        return np.empty(0, np.int64)
    return np.append(0, np.flatnonzero(_differs(column)) + 1)


def _first_pages(pages: Sequence[pa.Table]) -> pa.Table:
    """Choose one page for each entity: its own before those of equivalents, then by id."""
    table = pa.concat_tables([_NO_PAGES, *(page.drop_columns("part") for page in pages)])
    order = [("entity", "ascending"), ("rank", "ascending"), ("page_id", "ascending")]
    table = table.sort_by(order)
    return table.take(pa.array(_begins(table.column("entity")))).select(
        ["entity", "page_id", *OF_PAGES]
    )
