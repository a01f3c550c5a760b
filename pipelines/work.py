"""What a worker does: a unit of work, or the merge of a stage; and what comes out of it.

Whoever hands tasks over, and wherever the worker is: it does each by itself.
"""

import errno
import gc
import json
import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from corpora.document import Document, Rejected, Sentence
from corpora.errors import CorpusError

FAILURE = "onoma-unit-failed:"


@dataclass(frozen=True, slots=True)
class Written:
    """An input record that became rows."""

    records: Sequence[Document | Sentence]
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filtered:
    """An input record that is left out on purpose."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters, and changes to the accounting: a record that turns out to be a double."""

    counters: Mapping[str, int] = field(default_factory=dict)
    read: int = 0
    """Input records that became ``Rows``, many at once; they stand in ``written``, too."""
    written: int = 0
    rejected: Sequence[Rejected] = ()
    """They were read and written before; ``written`` takes them off."""
    notes: Sequence[Mapping[str, str | int]] = ()
    """For the receipt of the unit, which side files are written from; few, for they stay."""
    reused: Mapping[str, int] = field(default_factory=dict)
    """What was taken over from earlier data, which makes no difference: told in ``run.json``."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch of rows for a dataset; counts as no record."""

    dataset: str
    batch: Any
    """A ``pyarrow.RecordBatch`` of the dataset's columns."""


Outcome = Written | Filtered | Rejected
Yield = Outcome | Counts | Rows


class UnitFailedError(CorpusError):
    """A unit could not be done; its message is in hexadecimal, to pass through Beam unharmed."""


@dataclass(frozen=True, slots=True)
class Task:
    """What travels to a worker for a unit."""

    pipeline: str
    fingerprint: str
    folder: str
    datasets: tuple[tuple[str, str], ...]
    unit: str
    """Empty: merge what the units of the stage made."""
    stage: str = ""
    """Empty for the units that make what is published."""
    code: str = ""
    """``version_of_code()`` where the run was planned; empty: not compared."""


StageOfWork = tuple[Sequence[Task], Task | None]
"""What is to be done at once, and what comes after all of it."""


def to_json(unit: Any) -> str:
    """Write a unit down, to travel; ``_from_json`` reads it."""
    return json.dumps(asdict(unit))


def _from_json(text: str) -> Any:
    from corpora.plan import InputFile, Unit

    values = json.loads(text)
    return Unit(
        values["number"],
        tuple(InputFile(**file) for file in values["inputs"]),
        {name: InputFile(**file) for name, file in values["auxiliary"].items()},
        values["settings"],
        values["part"],
    )


@cache
def version_of_code() -> str:
    """Hash what decides the bytes that this process writes: our code, and the libraries."""
    from corpora.plan import code_hash, fingerprint_of, library_versions

    return fingerprint_of({"code": code_hash(), "libraries": library_versions()})


def _check_place(task: Task) -> None:
    """Raise ``CorpusError`` where a worker on another machine cannot do what was planned."""
    if task.code and task.code != version_of_code():
        raise CorpusError(
            f"A worker on {socket.gethostname()} has another Onoma, Python or pyarrow than the "
            "run was planned with. Install the same there as here, or use one image for all."
        )
    if not Path(task.folder).is_dir():
        raise CorpusError(
            f"{task.folder}: a worker on {socket.gethostname()} does not see this folder. Mount "
            "--output there under the same path."
        )


def do_task(task: Task) -> int:
    """Do a unit, or a merge; raises ``UnitFailedError``."""
    return do_unit(task) if task.unit else do_merge(task)


def do_merge(task: Task) -> int:
    """Merge what the units of a stage made: write its tables, and then its receipt."""
    from corpora.build import Scratch

    scratch = Scratch(Path(task.folder))
    tally = _Tally()
    try:
        _check_place(task)
        scratch.tables.mkdir(exist_ok=True)
        for outcome in getattr(import_module(task.pipeline), f"after_{task.stage}")(scratch):
            tally.add(outcome, {})
    except (CorpusError, OSError) as error:
        message = explain(error, where=task.folder)
        raise UnitFailedError(FAILURE + message.encode().hex()) from error
    _write_receipt(task, tally, shards={}, name="merged", number=-1)
    return -1


def do_unit(task: Task) -> int:
    """Do a unit: write its shards, and then its receipt; returns its number."""
    unit = _from_json(task.unit)
    gc.disable()  # a unit makes millions of small objects, and hardly a cycle
    try:
        _check_place(task)
        _do(task, unit)
    except (CorpusError, OSError) as error:
        message = explain(error, where=f"{task.folder}, unit {unit.number}")
        raise UnitFailedError(FAILURE + message.encode().hex()) from error
    finally:
        gc.enable()
    return int(unit.number)


def explain(error: Exception, *, where: str) -> str:
    """Say what went wrong, and what to do."""
    if not isinstance(error, OSError):
        return str(error)
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}  # of a copy: there, and not here
    return (
        f"{(is_full and error.filename2) or error.filename or where}: {error.strerror or error}. "
        "Nothing was published; mend it and run the same command again."
    )


def _do(task: Task, unit: Any) -> None:
    from corpora.build import Scratch
    from corpora.schemas import SCHEMAS
    from corpora.shards import ShardWriter

    scratch = Scratch(Path(task.folder))
    work = getattr(import_module(task.pipeline), task.stage or "write")
    with ExitStack() as stack:
        writers = {
            dataset: stack.enter_context(
                ShardWriter(
                    scratch.shard(dataset, unit.number), SCHEMAS[schema], is_lasting=not task.stage
                )
            )
            for dataset, schema in task.datasets
        }
        tally = _Tally()
        for outcome in work(unit, scratch):
            tally.add(outcome, writers)
    shards = {name: writer.shard for name, writer in writers.items()}
    _write_receipt(task, tally, shards=shards, name=f"{unit.number:05d}", number=unit.number)


def _write_receipt(
    task: Task, tally: "_Tally", *, shards: Mapping[str, Any], name: str, number: int
) -> None:
    from corpora.receipts import Accounting, Receipt, sorted_counts, write_receipt

    receipt = Receipt(
        fingerprint=task.fingerprint,
        unit=number,
        shards=shards,
        accounting=Accounting(
            read=tally.read,
            written=tally.written,
            filtered=sorted_counts(tally.filtered),
            rejected=sorted_counts(tally.rejected),
        ),
        counters=sorted_counts(tally.counters),
        rejected=tally.rows,
        notes=tally.notes,
        reused=sorted_counts(tally.reused),
    )
    write_receipt(Path(task.folder) / "receipts" / task.stage / f"{name}.json", receipt)


class _Tally:
    """Counts the outcomes of a unit, and hands their rows to the shards."""

    def __init__(self) -> None:
        self.read = self.written = 0
        self.filtered: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.counters: Counter[str] = Counter()
        self.rows: list[dict[str, str]] = []
        self.notes: list[Mapping[str, str | int]] = []
        self.reused: Counter[str] = Counter()
        self.ids: set[tuple[str, str]] = set()

    def add(self, outcome: Yield, writers: Mapping[str, Any]) -> None:
        if isinstance(outcome, Rows):
            writers[outcome.dataset].write_batch(outcome.batch)
            return
        if isinstance(outcome, Counts):
            self.correct(outcome)
            return
        self.read += 1
        if isinstance(outcome, Written) and outcome.records:
            outcome = self._without_double(outcome)
        match outcome:
            case Written():
                self._write(outcome, writers)
            case Filtered():
                self.filtered[outcome.reason] += 1
            case Rejected():
                self.reject(outcome)

    def correct(self, counts: Counts) -> None:
        """Add counters, and take back what was written but must not be."""
        self.counters.update(counts.counters)
        self.read += counts.read
        self.written += counts.written
        self.notes += counts.notes
        self.reused.update(counts.reused)
        for rejected in counts.rejected:
            self.reject(rejected)

    def reject(self, rejected: Rejected) -> None:
        self.rejected[rejected.reason] += 1
        self.rows.append(asdict(rejected))

    def _without_double(self, outcome: Written) -> Written | Rejected:
        """Reject a record one of whose rows has an id that another row has."""
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

    def _write(self, outcome: Written, writers: Mapping[str, Any]) -> None:
        from corpora.rows import row_of

        self.written += 1
        self.counters.update(outcome.counters)
        if not outcome.records:  # they came as Rows
            return
        by_schema = {writer.schema.name: writer for writer in writers.values()}
        for record in outcome.records:
            schema, row = row_of(record)
            by_schema[schema].write(row)
