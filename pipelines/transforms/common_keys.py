"""Transforms that find what articles have in common, by shuffles: boilerplate and duplicates.

Unlike other graphs, these have one unit and spread the shards: what has a common key meets.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Generic, TypeVar

import apache_beam as beam
import pyarrow as pa

from corpora.datasets.rows import Row
from corpora.datasets.schemas import SCHEMAS
from corpora.errors import CorpusError
from corpora.news import boilerplate
from corpora.news.boilerplate import in_partitions
from corpora.news.duplicate_groups import (
    ROUNDS,
    Source,
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
from pipelines.transforms.elements import EndOfUnit, InUnit, OfRun, Step, StepFunction

BOILERPLATE, DUPLICATES = "boilerplate", "duplicates"
SHARDS_PER_PARTITION = 64
"""The number of shards for each partition of the keys."""
Keyed = tuple[int, object]
_ANYTHING = beam.typehints.Any  # Beam knows no type for the values of several steps in one group
_KEYED = beam.typehints.KV[int, _ANYTHING]
A = TypeVar("A")
Write = Callable[[list[A]], Iterator[Rows | Counts]]


class FindBoilerplate(OfRun, Step):
    """Find the paragraphs that occur on many pages of a site.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows | Counts]]``; rows of ``boilerplate``.
    """

    min_pages: int = 5
    """The least number of pages, with different titles, of a boilerplate paragraph; 0: none is."""

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the steps."""
        found = (
            pcoll
            | "List" >> _do(_ListSources(self.folder))
            | "Spread" >> beam.Reshuffle()
            | "Paragraphs" >> _do(_ReadParagraphs(self.folder, self.min_pages))
            | "Meet" >> beam.GroupByKey()
            | "Count" >> _do(_CountPages(self.min_pages))
        )
        return _gathered(pcoll, found, _write_boilerplate)


class FindDuplicateArticles(OfRun, Step):
    """Find exact and near duplicates of earlier articles, and the articles that revisits refer to.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows | Counts]]``; rows of ``duplicates``. The
    inputs of the only unit are the shards of earlier datasets, so that an article that is already
    there is a duplicate.
    """

    threshold: float = 0.8
    """The least Jaccard similarity of near duplicates; above 1: only exact duplicates are found."""

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the steps."""
        sources = pcoll | "List" >> _do(_ListSources(self.folder)) | "Spread" >> beam.Reshuffle()
        links = (
            sources
            | "Keys" >> _do(_ReadKeys(self.folder, self.threshold))
            | "Meet" >> beam.GroupByKey()
            | "Link" >> _do(_Link(self.threshold))
        )
        for number in range(ROUNDS):
            known = links | f"Known {number}" >> beam.GroupByKey()
            links = known | f"Tell {number}" >> _do(_Tell())
        known = links | "Groups" >> beam.GroupByKey()
        open_links = known | "Open" >> beam.FlatMap(_unsettled).with_input_types(_ANYTHING)
        roots = (
            pcoll.pipeline
            | "Begin" >> beam.Create([0])
            | "Join" >> beam.Map(_join, beam.pvalue.AsIter(open_links))
        )
        place = beam.FlatMap(_place, beam.pvalue.AsSingleton(roots))
        members = known | "Places" >> place.with_input_types(
            _ANYTHING, _ANYTHING
        ).with_output_types(_KEYED)
        duplicates = (
            ((sources | "Number" >> _do(_Number())), members)
            | "With sources" >> beam.Flatten()
            | "In shards" >> beam.GroupByKey()
            | "Read" >> _do(_ReadMembers(self.folder))
            | "In groups" >> beam.GroupByKey()
            | "Decide" >> _do(_Decide(self.threshold))
        )
        return _gathered(pcoll, duplicates, _write_duplicates)


def _gathered(
    units: beam.PCollection, found: beam.PCollection, write: Write[A]
) -> beam.PCollection:
    """Write all that was found as the result of the only unit."""
    return (
        ((units | "Unit" >> _do(_KeyUnit())), found)
        | "With unit" >> beam.Flatten()
        | "Gather" >> beam.GroupByKey()
        | "Write"
        >> beam.ParDo(_Gather(write)).with_input_types(_ANYTHING).with_output_types(InUnit)
    )


def _do(function: beam.DoFn) -> beam.PTransform:
    """Apply a function whose results have an integer as the key, but for ``Source``."""
    kind = Source if isinstance(function, _ListSources) else _KEYED
    return beam.ParDo(function).with_input_types(_ANYTHING).with_output_types(kind)


class _OnShards(StepFunction, Generic[A]):
    """A function that reads shards; an error of it is that of the unit."""

    def __init__(self, folder: str, threshold: float = 0.0) -> None:
        self._folder, self._threshold = folder, threshold

    def process(self, element: A) -> Iterator[object]:
        try:
            yield from self.read(element, WorkDirectory(self._folder))
        except (CorpusError, OSError) as error:
            raise UnitFailedError(explain(error, where=self._folder)) from error

    def read(self, element: A, work: WorkDirectory) -> Iterator[object]:
        raise NotImplementedError


class _ListSources(_OnShards[Unit]):
    def read(self, unit: Unit, work: WorkDirectory) -> Iterator[Source]:
        yield from sources_of(work.count("pages"), [str(file.check()) for file in unit.inputs])


def _n_partitions(work: WorkDirectory) -> int:
    return 1 + work.count("pages") // SHARDS_PER_PARTITION


class _ReadParagraphs(_OnShards[Source]):
    def read(self, source: Source, work: WorkDirectory) -> Iterator[tuple[int, bytes]]:
        if source.dataset == "articles" and self._threshold:
            path = work.shard("paragraphs", source.index)
            entries = boilerplate.entries_of(path, source.index)
            yield from in_partitions(entries, by="paragraph", n_partitions=_n_partitions(work))


class _CountPages(StepFunction):
    def __init__(self, min_pages: int) -> None:
        self._min_pages = min_pages

    def process(self, partition: tuple[int, Iterable[bytes]]) -> Iterator[Keyed]:
        yield 0, boilerplate.count_partition(partition[1], min_pages=self._min_pages)


def _write_boilerplate(found: list[tuple[int, bytes]]) -> Iterator[Rows | Counts]:
    yield from Rows.each(BOILERPLATE, boilerplate.batches_of(entries for _, entries in found))
    yield Counts({"boilerplate.paragraphs": sum(n for n, _ in found)})


class _ReadKeys(_OnShards[Source]):
    def read(self, source: Source, work: WorkDirectory) -> Iterator[tuple[int, bytes]]:
        entries = entries_of(source, work, threshold=self._threshold)
        yield from in_partitions(entries, by="key", n_partitions=_n_partitions(work))


class _Link(StepFunction):
    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def process(self, partition: tuple[int, Iterable[bytes]]) -> Iterator[tuple[int, int]]:
        yield from links_of(partition[1], threshold=self._threshold)


class _Tell(StepFunction):
    def process(self, known: tuple[int, Iterable[int]]) -> Iterator[tuple[int, int]]:
        yield from spread(*known)


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


class _Number(StepFunction):
    def process(self, source: Source) -> Iterator[Keyed]:
        yield source.number, source


class _ReadMembers(_OnShards[tuple[int, Iterable[Source | tuple[int, int]]]]):
    def read(
        self, element: tuple[int, Iterable[Source | tuple[int, int]]], work: WorkDirectory
    ) -> Iterator[Keyed]:
        values = list(element[1])
        [source] = [value for value in values if isinstance(value, Source)]
        groups = dict(value for value in values if not isinstance(value, Source))
        yield from read_members(source, groups, work) if groups else ()


class _Decide(StepFunction):
    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def process(self, group: tuple[int, Iterable[Row]]) -> Iterator[Keyed]:
        rows = sorted(group[1], key=itemgetter("ref"))
        yield 0, decide(rows, threshold=self._threshold)


class _KeyUnit(StepFunction):
    def process(self, unit: Unit) -> Iterator[Keyed]:
        yield 0, unit


class _Gather(StepFunction, Generic[A]):
    """The last step, which has all results of the unit."""

    def __init__(self, write: Write[A]) -> None:
        self._write = write

    def process(self, element: tuple[int, Iterable[A | Unit]]) -> Iterator[InUnit]:
        values = list(element[1])
        [unit] = [value for value in values if isinstance(value, Unit)]
        for value in self._write([value for value in values if not isinstance(value, Unit)]):
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
