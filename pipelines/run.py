"""Plan → units → shards → datasets, once for all pipelines; the only place that meets Beam.

A pipeline is a module with

- ``ABOUT``, what ``--help`` says: a line, an empty line, examples;
- ``Options``, a ``CommonOptions``;
- ``plan(options) -> Plan``, which reads no more than names, sizes and hashes;
- ``write(unit) -> Iterator[Written | Filtered | Rejected]``, one outcome for each input record;
- ``next_steps(options) -> list[str]``, what to look at, and what to type next;
- and, if it writes files beside its datasets, ``write_side_files(build)``.

Only descriptors of units go through Beam; a worker writes its shards itself.
"""

import io
import json
import logging
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from corpora.document import Document, Rejected, Sentence
from corpora.errors import CorpusError, TooManyRejectsError, UsageError
from pipelines.options import CommonOptions, parse_options
from pipelines.progress import Progress, quiet

_FAILURE = "onoma-unit-failed:"


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


Outcome = Written | Filtered | Rejected


class UnitFailedError(CorpusError):
    """A unit could not be done; its message is in hexadecimal, to pass through Beam unharmed."""


def run(name: str, argv: Sequence[str] | None = None) -> int:
    """Run the pipeline of that module name; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    output = "the run"
    try:
        pipeline: Any = import_module(name)
        options = parse_options(pipeline.Options, argv, name=name, about=pipeline.ABOUT)
        output = str(options.output)
        lines = _run(pipeline, name, options)
    except UsageError as error:
        return _fail(str(error), status=2)
    except CorpusError as error:
        return _fail(str(error), status=1)
    except OSError as error:
        return _fail(_explain(error, where=output), status=1)
    except KeyboardInterrupt:
        return _fail("interrupted. The same command goes on from here.", status=130)
    _say(lines)
    return 0


def _fail(message: str, *, status: int) -> int:
    sys.stderr.write(f"error: {message}\n")
    return status


def _say(lines: Sequence[str]) -> None:
    try:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(pipeline: Any, name: str, options: CommonOptions) -> list[str]:
    """Do what is to be done; returns what is to be said."""
    from corpora.build import hold

    start = time.monotonic()
    plan = pipeline.plan(options)
    _check_inputs(plan, options.output)
    with hold(options.output, plan) as build:
        if build.is_published():
            said = [f"{options.output}: already complete; nothing to do."]
            account, counters = build.published_account()
        else:
            said = _build(pipeline, name, build, options=options)
            account, counters = build.accounting, build.counters
    said += _summary(plan, account, counters, seconds=time.monotonic() - start)
    return said + list(pipeline.next_steps(options))


def _check_inputs(plan: Any, output: Path) -> None:
    """Refuse to read what an earlier run wrote into the output."""
    from corpora.build import published_files

    ours = {os.path.realpath(output / name) for name in published_files(output)}
    for file in plan.inputs:
        if os.path.realpath(file.path) in ours:
            raise UsageError(
                f"{file.path}: is an output of an earlier run. Choose an --output outside the "
                "inputs, or a narrower --input."
            )


def _build(pipeline: Any, name: str, build: Any, *, options: CommonOptions) -> list[str]:
    """Do the units that are not done, and publish all."""
    said = []
    pending = build.pending()
    n_units = len(build.plan.units)
    if len(pending) < n_units:
        said.append(f"{n_units - len(pending)} of {n_units} units were done already and are kept.")
    if pending:
        _work(name, pending, build=build, options=options)
    _check_rejects(build, options)
    build.check_ids()
    build.publish(getattr(pipeline, "write_side_files", None))
    return said


def _work(name: str, units: Sequence[Any], *, build: Any, options: CommonOptions) -> None:
    plan, folder = build.plan, build.folder.absolute()
    datasets = tuple(plan.datasets.items())
    tasks = [Task(name, plan.fingerprint, str(folder), datasets, _to_json(unit)) for unit in units]
    n_before = _count_receipts(build.receipts)
    with (
        quiet(folder / "workers.log") as stream,
        Progress(len(units), lambda: _count_receipts(build.receipts) - n_before, stream),
    ):
        try:
            _work_in_beam(tasks, options)
        except Exception as error:  # Beam wraps what workers raise in one or the other
            if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            raise _unwrap(error, log=folder / "workers.log") from error


def _work_in_beam(tasks: Sequence["Task"], options: CommonOptions) -> None:
    import apache_beam as beam

    with beam.Pipeline(options=_beam_options(options)) as p:
        _ = (
            p
            | "Units" >> beam.Create(tasks)
            | "Spread" >> beam.Reshuffle()  # without it one worker gets them all
            | "Work" >> beam.Map(do_unit)
        )


def _count_receipts(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.json"))


def _beam_options(options: CommonOptions) -> Any:
    from apache_beam.options.pipeline_options import PipelineOptions

    settings = list(options.beam)
    if not any(setting.startswith("--runner") for setting in settings):
        settings.append("--runner=FnApiRunner")
        if options.workers > 1:
            settings.append(f"--direct_num_workers={options.workers}")
            settings.append("--direct_running_mode=multi_processing")
    return PipelineOptions(settings)


def _unwrap(error: Exception, *, log: Path) -> Exception:
    """Find the message of a unit in what Beam made of it."""
    if found := re.search(f"{_FAILURE}([0-9a-f]+)", str(error)):
        return CorpusError(bytes.fromhex(found[1]).decode())
    if isinstance(error, CorpusError | OSError):
        return error
    last = str(error).strip().splitlines()[-1:] or [type(error).__name__]
    return CorpusError(f"Beam: {last[0]}. See {log}; the same command goes on from here.")


@dataclass(frozen=True, slots=True)
class Task:
    """What travels through Beam for a unit."""

    pipeline: str
    fingerprint: str
    folder: str
    datasets: tuple[tuple[str, str], ...]
    unit: str


def _to_json(unit: Any) -> str:
    return json.dumps(asdict(unit))


def _from_json(text: str) -> Any:
    from corpora.plan import InputFile, Unit

    values = json.loads(text)
    return Unit(
        values["number"],
        tuple(InputFile(**file) for file in values["inputs"]),
        {name: InputFile(**file) for name, file in values["auxiliary"].items()},
        values["settings"],
    )


def do_unit(task: Task) -> int:
    """Do a unit: write its shards, and then its receipt; returns its number."""
    unit = _from_json(task.unit)
    try:
        _do(task, unit)
    except (CorpusError, OSError) as error:
        message = _explain(error, where=f"{task.folder}, unit {unit.number}")
        raise UnitFailedError(_FAILURE + message.encode().hex()) from error
    return int(unit.number)


def _explain(error: Exception, *, where: str) -> str:
    if not isinstance(error, OSError):
        return str(error)
    return (
        f"{error.filename or where}: {error.strerror or error}. "
        "Nothing was published; mend it and run the same command again."
    )


def _do(task: Task, unit: Any) -> None:
    from corpora.receipts import Accounting, Receipt, write_receipt
    from corpora.shards import SCHEMAS, ShardWriter

    pipeline: Any = import_module(task.pipeline)
    folder = Path(task.folder)
    with ExitStack() as stack:
        writers = {
            dataset: stack.enter_context(
                ShardWriter(folder / "shards" / dataset / unit.shard_name, SCHEMAS[schema])
            )
            for dataset, schema in task.datasets
        }
        tally = _Tally()
        for outcome in pipeline.write(unit):
            tally.add(outcome, writers)
    receipt = Receipt(
        fingerprint=task.fingerprint,
        unit=unit.number,
        shards={name: writer.shard for name, writer in writers.items() if writer.shard},
        accounting=Accounting(
            read=tally.read,
            written=tally.written,
            filtered=dict(sorted(tally.filtered.items())),
            rejected=dict(sorted(tally.rejected.items())),
        ),
        counters=dict(sorted(tally.counters.items())),
        rejected=tally.rows,
    )
    write_receipt(folder / "receipts" / f"{unit.number:05d}.json", receipt)


class _Tally:
    """Counts the outcomes of a unit, and hands their rows to the shards."""

    def __init__(self) -> None:
        self.read = self.written = 0
        self.filtered: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.counters: Counter[str] = Counter()
        self.rows: list[dict[str, str]] = []
        self.ids: set[tuple[str, str]] = set()

    def add(self, outcome: Outcome, writers: Mapping[str, Any]) -> None:
        self.read += 1
        if isinstance(outcome, Written):
            outcome = self._without_double(outcome)
        match outcome:
            case Written():
                self._write(outcome, writers)
            case Filtered():
                self.filtered[outcome.reason] += 1
            case Rejected():
                self.rejected[outcome.reason] += 1
                self.rows.append(asdict(outcome))

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

        by_schema = {writer.schema.name: writer for writer in writers.values()}
        self.written += 1
        self.counters.update(outcome.counters)
        for record in outcome.records:
            schema, row = row_of(record)
            by_schema[schema].write(row)


def _check_rejects(build: Any, options: CommonOptions) -> None:
    account = build.accounting
    too_many = max(10, options.max_reject_rate * account.read)
    if account.n_rejected > too_many:
        example = next(row for receipt in build.finished for row in receipt.rejected)
        raise TooManyRejectsError(
            f"{account.n_rejected:,} of {account.read:,} records were rejected "
            f"({_reasons(account.rejected)}); nothing was published. The first: "
            f"{example['message']} Mend the input, or allow more with --max-reject-rate."
        )


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.items())


def _summary(plan: Any, account: Any, counters: Mapping[str, int], *, seconds: float) -> list[str]:
    size = sum(file.size for file in plan.inputs) / 1e6
    total = f"read {account.read:,} ({size:.1f} MB in {seconds:.1f} s) = written "
    total += f"{account.written:,} + filtered {account.n_filtered:,}"
    lines = [f"{total} + rejected {account.n_rejected:,}"]
    if account.filtered:
        lines.append(f"filtered: {_reasons(account.filtered)}")
    if account.rejected:
        lines.append(f"WARNING rejected: {_reasons(account.rejected)}; see rejected.jsonl")
    return lines + [f"  {name}: {count:,}" for name, count in counters.items()]
