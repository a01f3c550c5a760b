"""Between two phases: what units of the first wrote is read, merged, and cleared of duplicates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.datasets.shards import read_batches
from corpora.entities.counts import read_partition
from corpora.runs.duplicates import DuplicateRows, find_duplicates
from corpora.runs.plan import Unit
from pipelines.outcomes import Counts, Rows
from pipelines.transforms.elements import Merge, OfRun, PerUnit, ReadUnits


class ReadStage(OfRun, ReadUnits[Rows]):
    """Read the rows that an earlier phase wrote for the units of the same number.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows]]``
    """

    datasets: Mapping[str, str]
    """Name of an intermediate dataset to the name of its schema; read in this order."""

    def read(self, unit: Unit) -> Iterator[Rows]:
        """Read the shards of a unit."""
        work = self.work
        for dataset, schema in self.datasets.items():
            path = work.shard(dataset, unit.number)
            yield from Rows.each(dataset, read_batches(path, schema))


class ReadPartition(OfRun, ReadUnits[Rows]):
    """Read a part of what all units of an earlier phase wrote: that with the number of the unit.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[Rows]]``
    """

    datasets: Sequence[str]
    """Names of intermediate datasets whose batches hold one part each; read in this order."""

    def read(self, unit: Unit) -> Iterator[Rows]:
        """Read the batches of a part."""
        work = self.work
        for dataset in self.datasets:
            for table in read_partition(work.shards(dataset), unit.number):
                yield from Rows.each(dataset, table.to_batches())


@dataclass(frozen=True, slots=True)
class StageShards:
    """The shards of an intermediate dataset, of all units, in their order."""

    paths: Sequence[Path]


class ListShards(OfRun, ReadUnits[StageShards]):
    """Name the shards that all units of an earlier phase wrote, for a step that reads them itself.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[StageShards]]``
    """

    dataset: str

    def read(self, unit: Unit) -> Iterator[StageShards]:  # noqa: ARG002 - they are those of all
        """Name them."""
        yield StageShards(self.work.shards(self.dataset))


class FindDuplicates(OfRun, Merge[Counts]):
    """Find rows of the datasets of a stage whose id an earlier row has, and reject their records.

    ``PCollection[InUnit]`` -> ``PCollection[InUnit[Counts]]``
    """

    remedy: str = "a second page with this id. Is a file of the dump given twice?"
    """What messages say."""

    def merge(self) -> Iterator[Counts]:
        """Look at all shards."""
        yield Counts(rejected=list(find_duplicates(self.work, remedy=self.remedy)))


class DropDuplicates(OfRun, PerUnit[Rows, Rows]):
    """Leave out the rows that ``FindDuplicates`` found; rows of a unit come in their order.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows]]``
    """

    def start(self) -> None:
        """Read which they are."""
        self._duplicates = DuplicateRows(self.work, self.unit.number)

    def process(self, rows: Rows) -> Iterator[Rows]:
        """Leave them out."""
        yield Rows(rows.dataset, self._duplicates.drop(rows.dataset, rows.batch))


class PublishRows(PerUnit[Rows, Rows | Counts]):
    """Let each row count as a record that is written, into a dataset of another name.

    ``PCollection[InUnit[Rows]]`` -> ``PCollection[InUnit[Rows | Counts]]``
    """

    into: str

    def process(self, rows: Rows) -> Iterator[Rows | Counts]:
        """Count them, and hand them on."""
        yield Rows(self.into, rows.batch)
        yield Counts(written=rows.batch.num_rows)
