"""Transforms between phases, which read and merge earlier rows and drop duplicates."""

from collections.abc import Iterator

import pyarrow as pa

from corpora.datasets.shards import read_batches
from corpora.runs.duplicates import DuplicateRows, find_duplicates
from corpora.runs.plan import Unit
from pipelines.graph import Run
from pipelines.outcomes import Counts, Rows

REMEDY = "a second document with this id. Give it its own, or leave a file out with --exclude."


def read_stage(unit: Unit, run: Run, dataset: str) -> Iterator[pa.RecordBatch]:
    """Read the rows that an earlier phase wrote for the unit with the same number."""
    [schema] = (stage[dataset] for stage in run.datasets.values() if dataset in stage)
    return read_batches(run.work.shard(dataset, unit.number), schema)


def reject_duplicates(_: Unit, __: object, run: Run) -> Iterator[Counts]:
    """Find documents of ``pages`` whose id an earlier one has, and reject them."""
    yield Counts(rejected=list(find_duplicates(run.work, "pages", remedy=REMEDY)))


def publish_first(unit: Unit, _: object, run: Run) -> Iterator[Rows | Counts]:
    """Publish the documents of ``pages``, without those whose id an earlier one has."""
    duplicates = DuplicateRows(run.work, unit.number)
    for batch in read_stage(unit, run, "pages"):
        yield from published(duplicates.drop("pages", batch))


def published(batch: pa.RecordBatch) -> Iterator[Rows | Counts]:
    """Count each row as a written record, and pass it on to the dataset of the output."""
    yield Rows("", batch)
    yield Counts(written=batch.num_rows)
