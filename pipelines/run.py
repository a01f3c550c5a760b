"""Plan → units → shards → datasets, once for all pipelines; the only place that meets Beam.

A pipeline is a module with

- ``ABOUT``, what ``--help`` says: a line, an empty line, examples;
- ``Options``, a ``CommonOptions``;
- ``plan(options) -> Plan``, which reads no more than names, sizes and hashes;
- ``write(unit, scratch) -> Iterator[Outcome | Rows]``, one outcome (``Written``, ``Filtered``,
  ``Rejected``) for each input record, and rows that belong to no single one;
- if its plan has stages, a function of the name of each, like ``write``, and, to merge what their
  units made, ``after_NAME(scratch) -> Iterator[Outcome | Counts]``, which runs alone;
- ``next_steps(options) -> list[str]``, what to look at, and what to type next;
- and, if it writes files beside its datasets, ``write_side_files(build)``.

Only descriptors of units go through Beam; a worker writes its shards itself.
"""

import gc
import io
import logging
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from corpora.errors import CorpusError, TooManyRejectsError, UsageError
from pipelines.carried import Carrier
from pipelines.local_workers import WorkerDiedError, Workers
from pipelines.options import CommonOptions, parse_options
from pipelines.progress import Progress, quiet
from pipelines.work import (
    FAILURE,
    Task,
    UnitFailedError,
    do_merge,
    do_unit,
    explain,
    to_json,
    version_of_code,
)


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
        return _fail(explain(error, where=output), status=1)
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
            build.tidy()  # a run that was killed right after publishing did not
        else:
            said = _build(pipeline, name, build, options=options)
            account, counters = build.accounting, build.counters
    said += _summary(plan, account, counters, seconds=time.monotonic() - start)
    return said + list(pipeline.next_steps(options))


def _check_inputs(plan: Any, output: Path) -> None:
    """Refuse to read what an earlier run wrote into the output."""
    from corpora.journal import published_files

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
    folder = build.folder.absolute()
    code = version_of_code() if options.has_runner else ""  # there, an installation of its own
    work = _tasks(name, units, build=build, code=code)
    n_tasks = sum(len(tasks) + bool(merge) for tasks, merge in work)
    n_before = _count_receipts(build.receipts)
    with (
        quiet(folder / "workers.log") as stream,
        _local_workers(options, work) as workers,
        Progress(n_tasks, lambda: _count_receipts(build.receipts) - n_before, stream),
    ):
        try:
            _work_in_beam(work, options, folder=folder, workers=workers)
        except Exception as error:  # Beam wraps what workers raise in one or the other
            if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            raise _unwrap(error, log=folder / "workers.log") from error


def _tasks(
    name: str, units: Sequence[Any], *, build: Any, code: str = ""
) -> list[tuple[list["Task"], "Task | None"]]:
    """What is to be done, stage by stage: the units, and then what merges them."""
    plan = build.plan
    folder = build.folder.absolute()
    make = partial(Task, name, plan.fingerprint, str(folder), code=code)
    carry = Carrier(folder / "carried")
    work: list[tuple[list[Task], Task | None]] = []
    for stage in plan.stages:
        pending = build.pending(stage)
        if pending:
            build.merge_receipt(stage).unlink(missing_ok=True)
        datasets = tuple(stage.datasets.items())
        tasks = [make(datasets, to_json(carry(unit)), stage=stage.name) for unit in pending]
        merged = build.merge_receipt(stage).exists() and build.scratch.tables.exists()
        has_merge = hasattr(import_module(name), f"after_{stage.name}")
        work.append((tasks, make((), "", stage=stage.name) if has_merge and not merged else None))
    datasets = tuple(plan.datasets.items())
    work.append(([make(datasets, to_json(carry(unit))) for unit in units], None))
    return work


@contextmanager
def _local_workers(
    options: CommonOptions, work: Sequence[tuple[list["Task"], "Task | None"]]
) -> Iterator[Workers | None]:
    """Start the workers of this machine, if it has any: before Beam, and before other threads.

    They begin at once with what waits for nothing, while Beam is loaded.
    """
    if options.has_runner or options.workers == 1:
        yield None
        return
    n_at_once = max(len(tasks) for tasks, _ in work)
    with Workers(min(options.workers, n_at_once), _do) as workers:
        workers.begin(work[0][0])
        yield workers


def _load_beam() -> None:
    """Load Beam, whose many objects stay: let no collection of garbage look at them.

    At the end of each stage Beam waits for a thread that measures times, and sleeps 200 ms between.
    """
    if "apache_beam" not in sys.modules:
        gc.disable()
        try:
            import_module("apache_beam")
            gc.freeze()
        finally:
            gc.enable()
    sampler: Any = import_module("apache_beam.runners.worker.statesampler").StateSampler
    sampler.__init__.__defaults__ = (_SAMPLING_MS,)


_SAMPLING_MS = 5


def _work_in_beam(
    work: Sequence[tuple[list["Task"], "Task | None"]],
    options: CommonOptions,
    *,
    folder: Path,
    workers: Workers | None,
) -> None:
    """Let Beam see to it that everything is done, each stage after the one before.

    Beam's workers take tasks one by one. Those of this machine get them from one element, in this
    process: they need not load Beam, and who is done early takes another.
    """
    _load_beam()
    import apache_beam as beam

    p = _make_pipeline(options, folder=folder / "carried")
    before = p | "Begin" >> beam.Create([0])
    for number, (tasks, merge) in enumerate(work):
        before = (
            p
            | f"Units {number}" >> beam.Create([tasks] if workers else [[task] for task in tasks])
            | f"Spread {number}" >> beam.Reshuffle()  # without it one worker gets them all
            | f"Work {number}" >> beam.FlatMap(_after, beam.pvalue.AsList(before), workers)
        )
        if merge:
            before = (
                p
                | f"Merge {number}" >> beam.Create([[merge]])
                | f"Merged {number}" >> beam.FlatMap(_after, beam.pvalue.AsList(before), workers)
            )
    result = p.run()
    try:
        result.wait_until_finish()  # whatever --no_wait_until_finish says: publishing comes next
    except KeyboardInterrupt:
        result.cancel()  # or else a cluster would go on
        raise


def _make_pipeline(options: CommonOptions, *, folder: Path) -> Any:
    """Make Beam's pipeline; what it makes for transforms in other languages is not needed.

    It is made in a folder that goes with the run: a kill would leave it in the system's.
    """
    import apache_beam as beam

    folder.mkdir(exist_ok=True)
    systems, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        p = beam.Pipeline(options=_beam_options(options))
    finally:
        tempfile.tempdir = systems
    Path(p.local_tempdir).rmdir()
    return p


def _after(tasks: Sequence["Task"], _: Sequence[int], workers: Workers | None) -> list[int]:
    """Do tasks; the side input makes them wait until what comes before is done."""
    if not workers:
        return [_do(task) for task in tasks]
    try:
        return workers.do_all(tasks)
    except WorkerDiedError as error:
        log = Path(tasks[0].folder) / "workers.log"
        message = f"{error}. See {log}; the same command goes on from here."
        raise UnitFailedError(FAILURE + message.encode().hex()) from error


def _do(task: "Task") -> int:
    return do_unit(task) if task.unit else do_merge(task)


def _count_receipts(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.json"))


def _beam_options(options: CommonOptions) -> Any:
    from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions

    settings = list(options.beam)
    if not options.has_runner:
        settings.append("--runner=FnApiRunner")
    made = PipelineOptions(settings)
    service = made.view_as(PortableOptions)
    if service.job_endpoint and not any(s.startswith("--job_server_timeout") for s in settings):
        _check_answers(service.job_endpoint)
        service.job_server_timeout = _A_YEAR
    return made


_A_YEAR = 365 * 24 * 3600  # Beam's own service reports on a job no longer than the time-out, 60 s


def _check_answers(endpoint: str) -> None:
    """Raise ``UsageError`` where no job service listens: with a long time-out Beam would wait."""
    host, _, port = endpoint.rpartition(":")
    if not host or not port.isdecimal() or ":" in host.strip("[]").replace("::", ""):
        return  # "embed", or an address that only gRPC understands
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        raise UsageError(
            f"--job_endpoint {endpoint}: no job service answers ({error}). Start it, or mend the "
            "address."
        ) from error


def _unwrap(error: Exception, *, log: Path) -> Exception:
    """Find the message of a unit in what Beam made of it."""
    if found := re.search(f"{FAILURE}([0-9a-f]+)", str(error)):
        return CorpusError(bytes.fromhex(found[1]).decode())
    if isinstance(error, CorpusError | OSError):
        return error
    details = getattr(error, "details", None)  # of an RpcError, whose text ends in a bracket
    text = str(details() if callable(details) else error)
    last = text.strip().splitlines()[-1:] or [type(error).__name__]
    return CorpusError(f"Beam: {last[0]}. See {log}; the same command goes on from here.")


def _check_rejects(build: Any, options: CommonOptions) -> None:
    account = build.accounting
    if account.n_rejected and not account.written:
        raise TooManyRejectsError(
            f"{account.n_rejected:,} of {account.read:,} records were rejected "
            f"({_reasons(account.rejected)}), and none was written; nothing was published. The "
            f"first: {build.rejected[0]['message']} Mend the input, or choose other options."
        )
    too_many = max(10, options.max_reject_rate * account.read)
    if account.n_rejected > too_many:
        example = build.rejected[0]
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
    shown = {name: count for name, count in counters.items() if "/" not in name}
    return lines + [f"  {name}: {count:,}" for name, count in shown.items()]
