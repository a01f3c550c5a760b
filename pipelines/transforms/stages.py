"""Transforms between phases, which read and merge earlier rows and drop duplicates."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from corpora.datasets.shards import read_batches
from corpora.entities.counts import read_partition
from corpora.runs.duplicates import DuplicateRows, find_duplicates
from corpora.runs.plan import Unit
from corpora.runs.work_directory import WorkDirectory
from pipelines.graph import Run
from pipelines.outcomes import Counts, Rows

REMEDY = "a second document with this id. Give it its own, or leave a file out with --exclude."


def read_stage(unit: Unit, *, work: WorkDirectory, datasets: Mapping[str, str]) -> Iterator[Rows]:
    """Read the rows that an earlier phase wrote for the units with the same numbers.

    ``datasets``: names of the intermediate datasets, in this order, to the names of their schemas.
    """
    for dataset, schema in datasets.items():
        yield from Rows.each(dataset, read_batches(work.shard(dataset, unit.number), schema))


def read_rows_of_partition(
    unit: Unit, *, work: WorkDirectory, datasets: Sequence[str]
) -> Iterator[Rows]:
    """Read a partition, with the number of the unit, of the rows that all earlier units wrote.

    ``datasets``: names of the intermediate datasets, in this order; each batch is of one partition.
    """
    for dataset in datasets:
        for table in read_partition(work.shards(dataset), unit.number):
            yield from Rows.each(dataset, table.to_batches())


def reject_duplicates(_: Unit, __: object, run: Run) -> Iterator[Counts]:
    """Find documents of ``pages`` whose id an earlier one has, and reject them."""
    yield Counts(rejected=list(find_duplicates(run.work, "pages", remedy=REMEDY)))


def publish_first(unit: Unit, _: object, run: Run) -> Iterator[Rows | Counts]:
    """Publish the documents of ``pages``, without those whose id an earlier one has."""
    duplicates = DuplicateRows(run.work, unit.number)
    for rows in read_stage(unit, work=run.work, datasets={"pages": "pages"}):
        yield from published(duplicates.drop(rows.dataset, rows.batch))


def published(batch: pa.RecordBatch) -> Iterator[Rows | Counts]:
    """Count each row as a written record, and pass it on to the dataset of the output."""
    yield Rows("", batch)
    yield Counts(written=batch.num_rows)
