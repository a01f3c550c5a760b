"""Transforms that find what articles have in common, by shuffles: boilerplate and duplicates.

Unlike other graphs, these have one unit and spread the shards: what has a common key meets.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

import apache_beam as beam
import pyarrow as pa

from corpora.datasets.rows import Row
from corpora.datasets.schemas import SCHEMAS
from corpora.errors import CorpusError
from corpora.news import boilerplate
from corpora.news.boilerplate import in_partitions
from corpora.news.duplicate_groups import (
    ROUNDS,
    ArticleShard,
    entries_of,
    is_settled,
    join,
    links_of,
    place_of,
    read_members,
    sources_of,
    spread,
)
from corpora.news.near_duplicates import REVISIT, decide
from corpora.runs.plan import Unit
from corpora.runs.work_directory import WorkDirectory
from pipelines.failures import UnitFailedError, explain
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.elements import EndOfUnit, InUnit
from pipelines.transforms.news import BOILERPLATE, DUPLICATES

SHARDS_PER_PARTITION = 64
"""The number of shards for each partition of the keys."""
Keyed = tuple[int, object]
_ANYTHING = beam.typehints.Any  # Beam knows no type for the values of several steps in one group
_KEYED = beam.typehints.KV[int, _ANYTHING]
A = TypeVar("A")
Write = Callable[[list[A]], Iterator[Rows | Counts]]


def find_boilerplate(
    units: beam.PCollection, *, work: WorkDirectory, min_pages: int
) -> beam.PCollection:
    """Find the paragraphs that occur on many pages of a site.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows | Counts]]``; rows of ``boilerplate``.
    ``min_pages``: the least number of pages, with different titles, of one; 0: none is.
    """
    found = (
        _sources(units, work)
        | "Paragraphs" >> _on_shards(work, partial(_read_paragraphs, min_pages=min_pages))
        | "Meet" >> beam.GroupByKey()
        | "Count" >> _do(partial(_count_pages, min_pages=min_pages))
    )
    return _gathered(units, found, _write_boilerplate)


def find_duplicates(
    units: beam.PCollection, *, work: WorkDirectory, threshold: float
) -> beam.PCollection:
    """Find exact and near duplicates of earlier articles, and the articles that revisits refer to.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows | Counts]]``; rows of ``duplicates``. The
    inputs of the only unit are the shards of earlier datasets, so that an article that is already
    there is a duplicate. ``threshold``: the least Jaccard similarity of near duplicates; above 1:
    only exact duplicates are found.
    """
    sources = _sources(units, work)
    links = (
        sources
        | "Keys" >> _on_shards(work, partial(_read_keys, threshold=threshold))
        | "Meet" >> beam.GroupByKey()
        | "Link" >> _do(partial(_link, threshold=threshold))
    )
    for number in range(ROUNDS):
        known = links | f"Known {number}" >> beam.GroupByKey()
        links = known | f"Tell {number}" >> _do(_spread)
    known = links | "Groups" >> beam.GroupByKey()
    open_links = known | "Open" >> beam.FlatMap(_unsettled).with_input_types(_ANYTHING)
    roots = (
        units.pipeline
        | "Nothing known" >> beam.Create([0])
        | "Join" >> beam.Map(_join, beam.pvalue.AsIter(open_links))
    )
    place = beam.FlatMap(_place, beam.pvalue.AsSingleton(roots))
    members = known | "Places" >> place.with_input_types(_ANYTHING, _ANYTHING).with_output_types(
        _KEYED
    )
    duplicates = (
        ((sources | "Number" >> _do(_number)), members)
        | "With sources" >> beam.Flatten()
        | "In shards" >> beam.GroupByKey()
        | "Read" >> _on_shards(work, _read_members)
        | "In groups" >> beam.GroupByKey()
        | "Decide" >> _do(partial(_decide, threshold=threshold))
    )
    return _gathered(units, duplicates, _write_duplicates)


def _sources(units: beam.PCollection, work: WorkDirectory) -> beam.PCollection:
    """List the shards of articles, and distribute them."""
    listed = _on_shards(work, _list_sources).with_output_types(ArticleShard)
    return units | "List" >> listed | "Spread" >> beam.Reshuffle()


def _gathered(
    units: beam.PCollection, found: beam.PCollection, write: Write[A]
) -> beam.PCollection:
    """Write all that was found as the result of the only unit."""
    return (
        ((units | "Unit" >> _do(_key_unit)), found)
        | "With unit" >> beam.Flatten()
        | "Gather" >> beam.GroupByKey()
        | "Write"
        >> beam.FlatMap(partial(_gather, write=write))
        .with_input_types(_ANYTHING)
        .with_output_types(InUnit)
    )


def _do(function: Callable[..., Iterable[object]]) -> beam.PTransform:
    """Apply a function whose results have an integer as the key."""
    return beam.FlatMap(function).with_input_types(_ANYTHING).with_output_types(_KEYED)


def _on_shards(work: WorkDirectory, function: Callable[..., Iterable[object]]) -> beam.PTransform:
    """Apply a function of an element and the work directory; its results have a key."""
    return _do(partial(_guard, function=function, work=work))


def _guard(
    element: object, *, function: Callable[..., Iterable[object]], work: WorkDirectory
) -> Iterator[object]:
    """Call a function that reads shards; an error of it is that of the unit."""
    try:
        yield from function(element, work)
    except (CorpusError, OSError) as error:
        raise UnitFailedError(explain(error, where=work.address)) from error


def _list_sources(unit: Unit, work: WorkDirectory) -> Iterator[ArticleShard]:
    return sources_of(work.count("pages"), [str(file.check()) for file in unit.inputs])


def _n_partitions(work: WorkDirectory) -> int:
    return 1 + work.count("pages") // SHARDS_PER_PARTITION


def _read_paragraphs(
    source: ArticleShard, work: WorkDirectory, *, min_pages: int
) -> Iterator[tuple[int, bytes]]:
    if source.dataset == "articles" and min_pages:
        entries = boilerplate.entries_of(work.shard("paragraphs", source.index), source.index)
        yield from in_partitions(entries, by="paragraph", n_partitions=_n_partitions(work))


def _count_pages(partition: tuple[int, Iterable[bytes]], *, min_pages: int) -> Iterator[Keyed]:
    yield 0, boilerplate.count_partition(partition[1], min_pages=min_pages)


def _write_boilerplate(found: list[tuple[int, bytes]]) -> Iterator[Rows | Counts]:
    yield from Rows.each(BOILERPLATE, boilerplate.batches_of(entries for _, entries in found))
    yield Counts({"boilerplate.paragraphs": sum(n for n, _ in found)})


def _read_keys(
    source: ArticleShard, work: WorkDirectory, *, threshold: float
) -> Iterator[tuple[int, bytes]]:
    entries = entries_of(source, work, threshold=threshold)
    yield from in_partitions(entries, by="key", n_partitions=_n_partitions(work))


def _link(partition: tuple[int, Iterable[bytes]], *, threshold: float) -> Iterator[tuple[int, int]]:
    return links_of(partition[1], threshold=threshold)


def _spread(known: tuple[int, Iterable[int]]) -> Iterator[tuple[int, int]]:
    return spread(*known)


def _unsettled(known: tuple[int, Iterable[int]]) -> Iterator[tuple[int, ...]]:
    ref, others = known[0], tuple(known[1])
    if not is_settled(ref, others):
        yield ref, *others


def _join(_: int, unsettled: Iterable[tuple[int, ...]]) -> dict[int, int]:
    return join(unsettled)


def _place(known: tuple[int, Iterable[int]], roots: Mapping[int, int]) -> Iterator[Keyed]:
    ref, others = known
    number, row = place_of(ref)
    least = min([ref, *others])
    yield number, (row, roots.get(least, least))


def _number(source: ArticleShard) -> Iterator[Keyed]:
    yield source.number, source


def _read_members(
    element: tuple[int, Iterable[ArticleShard | tuple[int, int]]], work: WorkDirectory
) -> Iterator[Keyed]:
    values = list(element[1])
    [source] = [value for value in values if isinstance(value, ArticleShard)]
    groups = dict(value for value in values if not isinstance(value, ArticleShard))
    yield from read_members(source, groups, work) if groups else ()


def _decide(group: tuple[int, Iterable[Row]], *, threshold: float) -> Iterator[Keyed]:
    yield 0, decide(sorted(group[1], key=itemgetter("ref")), threshold=threshold)


def _key_unit(unit: Unit) -> Iterator[Keyed]:
    yield 0, unit


def _gather(
    element: tuple[int, Iterable[A | Unit]], *, write: Write[A]
) -> Iterator[InUnit[object]]:
    """Write all results, which one worker has now, as those of the unit."""
    values = list(element[1])
    [unit] = [value for value in values if isinstance(value, Unit)]
    for value in write([value for value in values if not isinstance(value, Unit)]):
        yield InUnit(unit, value)
    yield InUnit(unit, EndOfUnit())


def _write_duplicates(groups: list[list[Row]]) -> Iterator[Rows | Counts]:
    """Make the rows; what one unit looks for is one batch."""
    rows = sorted((row for group in groups for row in group), key=itemgetter("unit", "row", "id"))
    for _, of_unit in groupby(rows, key=itemgetter("unit")):
        columns = SCHEMAS["news_duplicates"].columns
        yield Rows(DUPLICATES, pa.RecordBatch.from_pylist(list(of_unit), schema=columns))
    kinds = Counter((row["kind"], row["duplicate_of"] is not None) for row in rows)
    n_found, n_others = (kinds.pop((REVISIT, is_found), 0) for is_found in (True, False))
    counters = {"revisits.of_an_article": n_found, "revisits.others": n_others}
    yield Counts(counters, filtered={f"{kind}_duplicate": n for (kind, _), n in kinds.items()})
