"""Transforms between phases, which read and merge earlier rows and drop duplicates."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from corpora.datasets.shards import read_batches
from corpora.entities.counts import read_partition
from corpora.runs.duplicates import DuplicateRows, find_duplicates
from corpora.runs.plan import Unit
from corpora.runs.work_directory import WorkDirectory
from pipelines.outcomes import Counts, Rows


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


def reject_duplicates(work: WorkDirectory, *, dataset: str, remedy: str) -> Iterator[Counts]:
    """Find documents whose id an earlier one has, and reject them.

    ``dataset``: the name of the intermediate dataset of documents, and of its schema. ``remedy``:
    the end of the messages of rejections.
    """
    yield Counts(rejected=list(find_duplicates(work, dataset, remedy=remedy)))


def publish_first(
    unit: Unit, *, work: WorkDirectory, datasets: Mapping[str, str]
) -> Iterator[Rows | Counts]:
    """Publish rows of an earlier phase, without those that a merge noted as duplicates."""
    duplicates = DuplicateRows(work, unit.number)
    for rows in read_stage(unit, work=work, datasets=datasets):
        yield from published(duplicates.drop(rows.dataset, rows.batch))


def published(batch: pa.RecordBatch) -> Iterator[Rows | Counts]:
    """Count each row as a written record, and pass it on to the dataset of the output."""
    yield Rows("", batch)
    yield Counts(written=batch.num_rows)
