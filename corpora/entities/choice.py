"""Choose the entities of a vocabulary from their counts, and give them ids.

With an earlier vocabulary, entities keep their ids: a page is recognised by its page id, then by
its name. New entities get ids past the end; entities that are no longer chosen stay as retired
rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.entities.pages import OF_PAGES
from corpora.entities.vocabulary import SPECIAL, split_entities
from corpora.errors import CorpusError

SIZES = (1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000)
MIN_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100)  # DaLUKE has 50
_COLUMNS = SCHEMAS["entities"].columns
_TOTALS = SCHEMAS["entity_totals"]
_ORDER = [("count", "descending"), ("title", "ascending"), ("entity", "ascending")]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class EntityLimits:
    """The limits by which the entities of a vocabulary are chosen."""

    min_count: int
    max_size: int
    """The most entities, without special and retired rows."""
    existing: str
    """Which entities may be chosen: ``pages``, only pages of the input; ``any``; ``auto``, only
    pages in the spaces that have any."""
    min_languages: int = 1
    """The fewest languages in which an entity has a name."""


class VocabularyChange(NamedTuple):
    """A difference between a refreshed vocabulary and the one before."""

    kind: str
    """``added``, ``renamed``, ``returned`` or ``removed``."""
    id: int | None
    previous_id: int | None
    entity: str | None
    previous_entity: str | None


def choose(totals: Sequence[Path], rules: EntityLimits) -> tuple[pa.Table, dict[str, int]]:
    """Choose the entities that the rules keep, most frequent first, ties by title.

    Also returns counters, with the table of coverage. Reads the counts first, and names only of
    entities that can be kept: 8 bytes for each entity counted, and a row for each one kept.
    """
    spaces = _spaces_with_pages(totals) if rules.existing == "auto" else None
    counts = np.concatenate(
        [np.empty(0, np.int64), *(_counts(batch, rules, spaces) for batch in _batches(totals))]
    )
    counters = _coverage(counts, totals, rules)
    counts = counts[counts >= rules.min_count]
    cutoff = rules.min_count
    if len(counts) > rules.max_size:
        cutoff = int(np.partition(counts, -rules.max_size)[-rules.max_size])
    kept = [
        batch.filter(pa.array(_counts(batch, rules, spaces) >= cutoff))
        for batch in _batches(totals, names=True)
    ]
    table = pa.Table.from_batches(kept, schema=_TOTALS.columns)
    table = table.append_column("title", split_entities(_first_names(table))[1])
    return table.sort_by(_ORDER).slice(0, rules.max_size), counters


def _first_names(table: pa.Table) -> pa.Array:
    """Return the first name of each entity: its own, or that of a page with its item."""
    names, entities = (table.column(name).combine_chunks() for name in ("names", "entity"))
    return pc.coalesce(pc.list_element(names, 0), entities)


def _batches(totals: Sequence[Path], *, names: bool = False) -> Iterator[pa.RecordBatch]:
    columns = () if names else ("entity", "page_id", "names", "languages", "count")
    return read_shards(totals, _TOTALS, columns=columns)


def _spaces_with_pages(totals: Sequence[Path]) -> pa.Array:
    """List the spaces in which some entity is a page of the input.

    All pages of these spaces are known.
    """
    found: set[str] = set()
    for batch in _batches(totals):
        pages = batch.filter(pc.is_valid(batch.column("page_id")))
        for names in (pages.column("entity"), pc.list_flatten(pages.column("names"))):
            found.update(split_entities(names)[0].unique().to_pylist())
    return pa.array(sorted(found), pa.string())


def _counts(batch: pa.RecordBatch, rules: EntityLimits, spaces: pa.Array | None) -> Rows:
    """Return the counts of a batch, 0 for entities of too few languages, or without their page."""
    counts = np.array(batch.column("count"))
    counts[np.asarray(batch.column("languages")) < rules.min_languages] = 0
    if rules.existing != "any":
        is_missing = pc.is_null(batch.column("page_id"))
        if spaces is not None:
            of_batch = split_entities(batch.column("entity"))[0]
            is_missing = pc.and_(is_missing, pc.is_in(of_batch, spaces))
        counts[np.asarray(is_missing)] = 0
    return counts


def _coverage(counts: Rows, totals: Sequence[Path], rules: EntityLimits) -> dict[str, int]:
    """Count what each size and minimum count keeps; raises ``CorpusError`` if there is nothing."""
    n_mentions = n_of_few = 0
    for batch in _batches(totals):
        is_of_few = pc.less(batch.column("languages"), rules.min_languages)
        n_mentions += pc.sum(batch.column("count")).as_py() or 0
        n_of_few += pc.sum(batch.column("count").filter(is_of_few)).as_py() or 0
    if not n_mentions:
        raise CorpusError(
            "No mention with an entity has one of the --origins that count. Say which: --origins "
            "link annotation title_match …"
        )
    counts = -np.sort(-counts[counts > 0])
    sums = np.concatenate([[0], np.cumsum(counts)])
    counters = {
        "entities.counted": len(counts),
        "mentions.of_no_page": n_mentions - n_of_few - int(sums[-1]),
    }
    if n_of_few:
        counters["mentions.of_few_languages"] = n_of_few
    kept = {f"size/{size}": min(size, len(counts)) for size in SIZES}
    kept["size/all"] = len(counts)
    for least in MIN_COUNTS:
        kept[f"min_count/{least}"] = int(np.count_nonzero(counts >= least))
    for rule, n_entities in kept.items():
        counters[f"coverage/{rule}/entities"] = n_entities
        counters[f"coverage/{rule}/mentions"] = int(sums[n_entities])
    return counters


def assign_ids(chosen: pa.Table, previous: pa.Table | None) -> pa.Table:
    """Assign ids; returns rows of ``entities`` in the order of their ids, without aliases."""
    special = _rows(pa.table({"entity": SPECIAL, "title": SPECIAL}), np.arange(len(SPECIAL)))
    if previous is None:
        ids = np.arange(len(SPECIAL), len(SPECIAL) + len(chosen))
        return pa.concat_tables([special, _rows(chosen, ids)])
    found = match(chosen, previous)
    ids = np.where(found < 0, 0, np.array(previous.column("id"), np.int64)[found])
    n_before = len(previous)
    ids[found < 0] = np.arange(n_before, n_before + np.count_nonzero(found < 0))
    fallen = np.setdiff1d(np.arange(len(SPECIAL), n_before), found)
    retired = previous.select(["entity", "title", "page_id"]).take(pa.array(fallen))
    parts = [special, _rows(chosen, ids), _rows(retired, fallen, retired=True)]
    return pa.concat_tables(parts).sort_by("id")


def _rows(table: pa.Table, ids: Rows, *, retired: bool = False) -> pa.Table:
    """Build rows of the dataset; columns that are unknown, or not known yet, are null or empty."""
    n = len(table)
    empty = pa.array([[]] * n, _COLUMNS.field("counts").type)
    missing = {
        "id": pa.array(ids, pa.int32()),
        "page_id": pa.nulls(n, pa.string()),
        "names": pa.nulls(n, _COLUMNS.field("names").type),
        "count": pa.array(np.zeros(n, np.int64)),
        "counts": empty,
        "aliases": pa.nulls(n, _COLUMNS.field("aliases").type),
        "retired": pa.array(np.full(n, retired)),
        **{name: pa.nulls(n, _COLUMNS.field(name).type) for name in OF_PAGES},
    }
    columns = {
        name: table.column(name) if name in table.column_names else missing[name]
        for name in _COLUMNS.names
    }
    return pa.table(columns).cast(_COLUMNS)


def match(chosen: pa.Table, previous: pa.Table) -> Rows:
    """Find for each chosen entity its row in an earlier vocabulary, or -1; each row is used once.

    Matches by the id of the page first, so that a renamed page is recognized, then by name.
    """
    found = _look_up("page_id", chosen, previous)
    by_name = _look_up("entity", chosen, previous)
    is_free = (found < 0) & (by_name >= len(SPECIAL)) & ~np.isin(by_name, found)
    return np.where(is_free, by_name, found)


def _look_up(column: str, chosen: pa.Table, previous: pa.Table) -> Rows:
    """Find for each chosen entity the row with the same value in a column, or -1.

    Rows that are not retired come first.
    """
    order = np.argsort(np.asarray(previous.column("retired")), kind="stable")
    keys = previous.column(column).combine_chunks().take(pa.array(order))
    wanted = chosen.column(column).combine_chunks()
    places = pc.index_in(wanted, value_set=keys, skip_nulls=True)
    found: Rows = np.append(order, -1)[np.asarray(places.fill_null(-1))]
    _, firsts = np.unique(found, return_index=True)
    # two dumps of a wiki may hold a page twice
    found[np.setdiff1d(np.arange(len(found)), firsts)] = -1
    return found


def changes(vocab: pa.Table, previous: pa.Table) -> Iterator[VocabularyChange]:
    """List the differences from an earlier vocabulary; both are in the order of ids."""
    live = vocab.filter(pc.invert(vocab.column("retired"))).slice(len(SPECIAL))
    found = match(live, previous)
    ids, names = live.column("id").to_pylist(), live.column("entity").to_pylist()
    old_names = previous.column("entity").to_pylist()
    was_retired = previous.column("retired").to_pylist()
    for id, name, row in zip(ids, names, found.tolist(), strict=True):
        if row < 0:
            yield VocabularyChange("added", id, None, name, None)
            continue
        if name != old_names[row]:
            yield VocabularyChange("renamed", id, row, name, old_names[row])
        if was_retired[row]:
            yield VocabularyChange("returned", id, row, name, old_names[row])
    for row in np.setdiff1d(np.arange(len(SPECIAL), len(previous)), found).tolist():
        if not was_retired[row]:
            yield VocabularyChange("removed", row, row, None, old_names[row])


def count_changes(listed: Iterator[VocabularyChange]) -> Mapping[str, int]:
    """Count the changes of each kind, for the counters of a run."""
    counted = dict.fromkeys(("added", "renamed", "returned", "removed"), 0)
    for change in listed:
        counted[change.kind] += 1
    return {f"changes.{kind}": n for kind, n in counted.items()}
