"""Transforms between phases, which read and merge earlier rows and drop duplicates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.datasets.shards import read_batches
from corpora.entities.counts import read_partition
from corpora.runs.duplicates import DuplicateRows, find_duplicates
from corpora.runs.plan import Unit
from corpora.runs.work_directory import WorkDirectory
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.elements import OfRun, PerUnit, ReadUnits


class ReadStage(OfRun, ReadUnits[Rows]):
    """Read the rows that an earlier phase wrote for the units with the same numbers.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows]]``
    """

    datasets: Mapping[str, str]
    """Names of the intermediate datasets to read, in this order, to the names of their schemas."""

    def read(self, unit: Unit) -> Iterator[Rows]:
        """Read the shards of a unit."""
        work = self.work
        for dataset, schema in self.datasets.items():
            path = work.shard(dataset, unit.number)
            yield from Rows.each(dataset, read_batches(path, schema))


class ReadPartition(OfRun, ReadUnits[Rows]):
    """Read a partition of the rows that all units of an earlier phase wrote.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows]]``; the partition has the number of the
    unit.
    """

    datasets: Sequence[str]
    """Names of the intermediate datasets to read, in this order; each batch is of one partition."""

    def read(self, unit: Unit) -> Iterator[Rows]:
        """Read the batches of the partition."""
        work = self.work
        for dataset in self.datasets:
            for table in read_partition(work.shards(dataset), unit.number):
                yield from Rows.each(dataset, table.to_batches())


@dataclass(frozen=True, slots=True)
class StageShards:
    """The shards of an intermediate dataset, in the order of the units that wrote them."""

    paths: Sequence[Path]


class ListShards(OfRun, ReadUnits[StageShards]):
    """List the shards that all units of an earlier phase wrote, for a step that reads them itself.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[StageShards]]``
    """

    dataset: str

    def read(self, unit: Unit) -> Iterator[StageShards]:  # noqa: ARG002 - they are those of all
        """List the shards."""
        yield StageShards(self.work.shards(self.dataset))


def reject_duplicates(work: WorkDirectory, *, dataset: str, remedy: str) -> Iterator[Counts]:
    """Find documents whose id an earlier one has, and reject them.

    ``dataset``: the name of the intermediate dataset of documents, and of its schema. ``remedy``:
    the end of the messages of rejections.
    """
    yield Counts(rejected=list(find_duplicates(work, dataset, remedy=remedy)))


class DropDuplicates(OfRun, PerUnit[Rows, Rows]):
    """Drop the rows that a merge noted as duplicates; rows of a unit come in their order.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows]]``
    """

    def start(self) -> None:
        """Open the list of duplicates."""
        self._duplicates = DuplicateRows(self.work, self.unit.number)

    def process(self, rows: Rows) -> Iterator[Rows]:
        """Drop the duplicates."""
        yield Rows(rows.dataset, self._duplicates.drop(rows.dataset, rows.batch))


class PublishRows(PerUnit[Rows, Rows | Counts]):
    """Count each row as a written record, and pass it on to a dataset of another name.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows | Counts]]``
    """

    into: str

    def process(self, rows: Rows) -> Iterator[Rows | Counts]:
        """Count the rows, and pass them on."""
        yield Rows(self.into, rows.batch)
        yield Counts(written=rows.batch.num_rows)
