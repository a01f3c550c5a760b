"""Where the rows of a unit go: a shard of each dataset, and at last a receipt."""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from corpora.datasets.forgetting import Forgetting
from corpora.datasets.rows import row_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document, Rejected
from corpora.runs.receipts import Accounting, Receipt, sorted_counts, write_receipt
from corpora.runs.work_directory import MERGED, WorkDirectory
from pipelines.outcomes import Counts, Filtered, Outcome, Passed, Rows, Written, Yield

if TYPE_CHECKING:
    from pipelines.transforms.shards import WriteShards

FORGOTTEN = "forgotten"
"""The reason of records that are filtered because they must be forgotten."""


class UnitWriter:
    """A writer of the outcomes of a unit: ``close`` completes the unit, ``abandon`` discards it.

    The unit with the number ``MERGED`` merges the other units of its stage. Its receipt has the
    hashes of all tables; so has the receipt of a unit that is the only one of its stage.
    """

    def __init__(self, step: "WriteShards", number: int) -> None:
        """Open a shard for each dataset of a step."""
        self._work, self._step, self._number = WorkDirectory(step.folder), step, number
        self._tally = _Tally(Forgetting.of(step.forgotten) if step.forgotten else None)
        self._stack = ExitStack()
        is_lasting = not step.stage
        try:
            self._work.make_room(step.datasets, step.stage)
            self._writers = {
                dataset: self._stack.enter_context(
                    ShardWriter(
                        self._work.place(dataset, number), SCHEMAS[schema], is_lasting=is_lasting
                    )
                )
                for dataset, schema in step.datasets.items()
            }
        except BaseException:
            self.abandon()
            raise

    def add(self, outcome: Yield) -> None:
        """Count an outcome, and write its rows."""
        self._tally.add(outcome, self._writers)

    def close(self) -> Accounting:
        """Finish the shards and write the receipt: the unit is done; return its accounting."""
        self._stack.close()
        tally, stage = self._tally, self._step.stage
        has_tables = stage and (self._step.is_alone or self._number == MERGED)
        receipt = Receipt(
            fingerprint=self._step.fingerprint,
            unit=self._number,
            shards={name: writer.shard for name, writer in self._writers.items() if writer.shard},
            accounting=tally.accounting(),
            counters=sorted_counts(tally.counters),
            rejected=tally.rows,
            notes=tally.notes,
            reused=sorted_counts(tally.reused),
            tables=self._work.hashes_of_tables() if has_tables else {},
        )
        self._work.send(stage, receipt.shards, receipt.tables)
        path = self._work.place_of_receipt(stage, self._number)
        write_receipt(path, receipt)
        self._work.send_receipt(path)
        return receipt.accounting

    def abandon(self) -> None:
        """Remove the unfinished shards."""
        error = InterruptedError("abandoned")
        self._stack.__exit__(type(error), error, None)


class _Tally:
    """The counts of the outcomes of a unit, whose rows it passes on to the shards."""

    def __init__(self, forgetting: Forgetting | None = None) -> None:
        self.forgetting = forgetting
        self.read = self.written = 0
        self.filtered: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.counters: Counter[str] = Counter()
        self.rows: list[dict[str, str]] = []
        self.notes: list[Mapping[str, str | int]] = []
        self.reused: Counter[str] = Counter()
        self.ids: set[tuple[str, str]] = set()

    def add(self, outcome: Yield, writers: Mapping[str, ShardWriter]) -> None:
        if isinstance(outcome, Passed):
            self.read += 1
            return
        if isinstance(outcome, Rows):
            writer = writers[outcome.dataset]
            writer.write_batch(self._remembered(outcome.batch, schema=writer.schema.name))
            return
        if isinstance(outcome, Counts):
            self.correct(outcome)
            return
        self.read += 1
        if isinstance(outcome, Written) and outcome.records:
            outcome = self._without_double(self._without_forgotten(outcome))
        match outcome:
            case Written():
                self._write(outcome, writers)
            case Filtered():
                self.filtered[outcome.reason] += 1
            case Rejected():
                self.reject(outcome)

    def accounting(self) -> Accounting:
        return Accounting(
            read=self.read,
            written=self.written,
            filtered=sorted_counts(self.filtered),
            rejected=sorted_counts(self.rejected),
        )

    def correct(self, counts: Counts) -> None:
        """Add counters, and outcomes of many records at once."""
        self.counters.update(counts.counters)
        self.read += counts.read
        self.written += counts.written
        self.filtered.update(counts.filtered)
        self.notes += counts.notes
        self.reused.update(counts.reused)
        for rejected in counts.rejected:
            self.reject(rejected)

    def reject(self, rejected: Rejected) -> None:
        self.rejected[rejected.reason] += 1
        self.rows.append(asdict(rejected))

    def _remembered(self, batch: pa.RecordBatch, *, schema: str) -> pa.RecordBatch:
        """Remove from rows what is to be forgotten; a removed document counts as filtered."""
        if self.forgetting is None:
            return batch
        kept = self.forgetting.clean(batch, schema)
        if schema == "documents" and (n := len(batch) - len(kept)):
            self.written -= n
            self.filtered[FORGOTTEN] += n
        return kept

    def _without_forgotten(self, outcome: Written) -> Written | Filtered:
        if self.forgetting is None:
            return outcome
        found = [self.forgetting.clean_record(record) for record in outcome.records]
        if records := [record for record in found if record is not None]:
            return replace(outcome, records=records)
        return Filtered(outcome.records[0].id, FORGOTTEN)

    def _without_double(self, outcome: Written | Filtered) -> Outcome:
        """Reject a record that has a row with the id of an earlier row."""
        if isinstance(outcome, Filtered):
            return outcome
        for record in outcome.records:
            key = (type(record).__name__, record.id)
            if key in self.ids:
                first = outcome.records[0]
                return Rejected(
                    source=first.source if isinstance(first, Document) else first.id,
                    position="",
                    reason="duplicate_id",
                    message=f"{record.id}: a second row with this id. Give each record its own.",
                )
            self.ids.add(key)
        return outcome

    def _write(self, outcome: Written, writers: Mapping[str, ShardWriter]) -> None:
        self.written += 1
        self.counters.update(outcome.counters)
        if not outcome.records:  # the rows were separate elements, ``Rows``
            return
        by_schema = {writer.schema.name: writer for writer in writers.values()}
        for record in outcome.records:
            schema, row = row_of(record)
            by_schema[schema].write(row)
