"""The last step of a graph, which writes the shards and the receipt of each unit."""

import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import apache_beam as beam
import pyarrow as pa
from apache_beam.metrics import Metrics

from corpora.datasets.forgetting import Forgetting
from corpora.datasets.rows import row_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document, Rejected
from corpora.errors import CorpusError
from corpora.runs.plan import Unit, version_of_code
from corpora.runs.receipts import Accounting, Receipt, sorted_counts, write_receipt
from corpora.runs.work_directory import MERGED
from corpora.system.buckets import is_url
from pipelines.failures import UnitFailedError, explain
from pipelines.outcomes import Counts, Filtered, Outcome, Rows, Written, Yield
from pipelines.transforms.elements import EndOfUnit, Failed, InUnit, StepFunction

if TYPE_CHECKING:
    from pipelines.graph import Run

FORGOTTEN = "forgotten"
"""The reason of records that are filtered because they must be forgotten."""


@dataclass(kw_only=True, eq=False)
class WriteShards(beam.PTransform):
    """Write the rows of each unit to a shard of each dataset, and at its end a receipt.

    ``PCollection[InUnit[...]]`` -> ``PCollection[int]``, the numbers of the units that are done.
    Rows come as ``Written`` (records and their counters) or as ``Rows`` (a batch); ``Filtered`` and
    ``Rejected`` records are counted, and added to the receipt. Raises ``UnitFailedError`` for a
    unit that failed, and where a runner hands on a unit in more than one bundle.
    """

    run: "Run"
    """The run; all workers must see its work directory."""
    datasets: Mapping[str, str]
    """Name of a dataset to the name of its schema."""
    stage: str = ""
    """The stage of the units; empty for the units whose shards are published."""

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the transform."""
        return pcoll | beam.ParDo(_WriteShards(self)).with_input_types(InUnit).with_output_types(
            int
        )

    def display_data(self) -> dict[str, str]:
        """Return what a runner's interface shows."""
        return {
            "folder": self.run.folder,
            "datasets": ", ".join(self.datasets),
            "stage": self.stage,
        }

    def begin(self, unit: Unit) -> "UnitWriter":
        """Open the shards of a unit."""
        _check_place(self.run.folder, self.run.code)
        return UnitWriter(self, unit)


class UnitWriter:
    """A writer of the outcomes of a unit: ``close`` completes the unit, ``abandon`` discards it.

    The unit with the number ``MERGED`` merges the other units of its stage. Its receipt has the
    hashes of all tables; so has the receipt of a unit that is the only one of its stage.
    """

    def __init__(self, step: WriteShards, unit: Unit) -> None:
        """Open a shard for each dataset of a step."""
        self._work, self._step, self._unit = step.run.work, step, unit
        forgotten = () if step.stage else step.run.forgotten
        self._forgetting = Forgetting.of(forgotten) if forgotten else None
        self._n_read = self._n_written = 0
        self._filtered, self._rejected = Counter[str](), list[Rejected]()
        self._counters, self._reused = Counter[str](), Counter[str]()
        self._notes: list[Mapping[str, str | int]] = []
        self._ids: set[tuple[str, str]] = set()
        self._stack = ExitStack()
        is_lasting = not step.stage
        try:
            self._work.make_room(step.datasets, step.stage)
            self._writers = {
                dataset: self._stack.enter_context(
                    ShardWriter(
                        self._work.place(dataset, unit.number),
                        SCHEMAS[schema],
                        is_lasting=is_lasting,
                    )
                )
                for dataset, schema in step.datasets.items()
            }
        except BaseException:
            self.abandon()
            raise
        self._by_schema = {writer.schema.name: writer for writer in self._writers.values()}

    def add(self, outcome: Yield) -> None:
        """Count an outcome, and write its rows."""
        if isinstance(outcome, Rows):
            writer = self._writers[outcome.dataset]
            writer.write_batch(self._remembered(outcome.batch, schema=writer.schema.name))
            return
        if isinstance(outcome, Counts):
            self._count(outcome)
            return
        self._n_read += 1
        if isinstance(outcome, Written) and outcome.records:
            outcome = self._without_double(self._without_forgotten(outcome))
        match outcome:
            case Written():
                self._n_written += 1
                self._counters.update(outcome.counters)
                for record in outcome.records:  # none if the rows are ``Rows`` of their own
                    schema, row = row_of(record)
                    self._by_schema[schema].write(row)
            case Filtered():
                self._filtered[outcome.reason] += 1
            case Rejected():
                self._rejected.append(outcome)

    def close(self) -> Accounting:
        """Finish the shards and write the receipt: the unit is done; return its accounting."""
        self._stack.close()
        run, stage = self._step.run, self._step.stage
        is_alone = run.n_units.get(stage) == 1
        has_tables = stage and (is_alone or self._unit.number == MERGED)
        receipt = Receipt(
            fingerprint=run.fingerprint,
            unit=self._unit.number,
            shards={name: writer.shard for name, writer in self._writers.items() if writer.shard},
            accounting=Accounting(
                read=self._n_read,
                written=self._n_written,
                filtered=sorted_counts(self._filtered),
                rejected=sorted_counts(Counter(one.reason for one in self._rejected)),
            ),
            counters=sorted_counts(self._counters),
            rejected=[asdict(one) for one in self._rejected],
            notes=self._notes,
            reused=sorted_counts(self._reused),
            tables=self._work.hashes_of_tables() if has_tables else {},
            inputs={f.name: f.sha256 for f in self._unit.inputs if f.name in self._unit.hashes},
        )
        self._work.send(stage, receipt.shards, receipt.tables)
        path = self._work.place_of_receipt(stage, self._unit.number)
        write_receipt(path, receipt)
        self._work.send_receipt(path)
        return receipt.accounting

    def abandon(self) -> None:
        """Remove the unfinished shards."""
        error = InterruptedError("abandoned")
        self._stack.__exit__(type(error), error, None)

    def _count(self, counts: Counts) -> None:
        """Add counters, and outcomes of many records at once."""
        self._counters.update(counts.counters)
        self._n_read += counts.read
        self._n_written += counts.written
        self._filtered.update(counts.filtered)
        self._rejected += counts.rejected
        self._notes += counts.notes
        self._reused.update(counts.reused)

    def _remembered(self, batch: pa.RecordBatch, *, schema: str) -> pa.RecordBatch:
        """Remove from rows what is to be forgotten; a removed document counts as filtered."""
        if self._forgetting is None:
            return batch
        kept = self._forgetting.clean(batch, schema)
        if schema == "documents" and (n := len(batch) - len(kept)):
            self._n_written -= n
            self._filtered[FORGOTTEN] += n
        return kept

    def _without_forgotten(self, outcome: Written) -> Written | Filtered:
        if self._forgetting is None:
            return outcome
        found = [self._forgetting.clean_record(record) for record in outcome.records]
        if records := [record for record in found if record is not None]:
            return replace(outcome, records=records)
        return Filtered(FORGOTTEN)

    def _without_double(self, outcome: Written | Filtered) -> Outcome:
        """Reject a record that has a row with the id of an earlier row."""
        if isinstance(outcome, Filtered):
            return outcome
        for record in outcome.records:
            key = (type(record).__name__, record.id)
            if key in self._ids:
                first = outcome.records[0]
                return Rejected(
                    source=first.source if isinstance(first, Document) else first.id,
                    position="",
                    reason="duplicate_id",
                    message=f"{record.id}: a second row with this id. Give each record its own.",
                )
            self._ids.add(key)
        return outcome


class _WriteShards(StepFunction):
    def __init__(self, step: WriteShards) -> None:
        self._step = step

    def setup(self) -> None:
        self._open: dict[int, UnitWriter] = {}

    def process(self, element: InUnit[Yield | EndOfUnit | Failed]) -> Iterator[int]:
        unit, value = element.unit, element.value
        try:
            writer = self._open.get(unit.number)
            if writer is None:
                writer = self._open[unit.number] = self._step.begin(unit)
            if isinstance(value, Failed):
                raise UnitFailedError(value.message)
            if not isinstance(value, EndOfUnit):
                writer.add(value)
                return
            del self._open[unit.number]
            accounting = writer.close()
        except UnitFailedError:
            raise
        except (CorpusError, OSError) as error:
            message = explain(error, where=f"{self._step.run.folder}, unit {unit.number}")
            raise UnitFailedError(message) from error
        for name in ("read", "written", "n_filtered", "n_rejected"):
            Metrics.counter("onoma", name).inc(getattr(accounting, name))
        yield unit.number

    def finish_bundle(self) -> None:
        if self._open:
            raise UnitFailedError(
                f"unit {min(self._open)}: the runner ended a bundle in the middle of it. Its steps "
                "must be fused: put no shuffle between them, or choose another runner."
            )

    def teardown(self) -> None:
        for writer in self._open.values():
            writer.abandon()


def _check_place(folder: str, code: str) -> None:
    """Raise ``CorpusError`` where this worker has other code, or does not see the folder."""
    if code and code != version_of_code():
        raise CorpusError(
            f"A worker on {socket.gethostname()} has another Onoma, Python or pyarrow than the "
            "run was planned with. Install the same there as here, or use one image for all."
        )
    if not is_url(folder) and not Path(folder).is_dir():
        raise CorpusError(
            f"{folder}: a worker on {socket.gethostname()} does not see this folder. Mount "
            "--output there under the same path."
        )
