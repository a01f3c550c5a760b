"""The course of a run of any pipeline: plan → units → shards → datasets, and the summary.

A pipeline is a module with

- a docstring, which ``--help`` says: a line, an empty line, examples;
- ``Options``, a ``CommonOptions``;
- ``plan(options) -> Plan``, which reads no more than names, sizes, hashes and, of several
  datasets, ids, and makes the settings that graphs and side files take;
- ``phases() -> Sequence[Phase]``, its graphs of transforms (``graph.py``): one for each stage of
  the plan, and one for the units that make what is published;
- ``next_steps(options) -> list[str]``, what to look at, and what to type next;
- ``main(argv)``, which is ``main`` here with its name;
- if it writes files beside its datasets, ``write_side_files(build, settings)``;
- if it warns of what was counted, ``warnings(settings, counters)``, lines for the terminal;
- if it refuses to publish what was counted, ``check(settings, counters)``, which raises;
- and, if its settings name a folder, ``carry(settings, bucket)``, which uploads that for workers on
  other machines, and returns the settings with its address.

Graphs run in this process (``in_memory.py``), in several of this machine (``processes.py``), or on
a runner of Beam (``on_beam.py``); the bytes are the same.
"""

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from corpora.errors import CorpusError, TooManyRejectsError
from corpora.runs.plan import InputFile, Plan, version_of_code
from corpora.runs.record_errors import INTERNAL_ERROR
from corpora.system import imports
from corpora.system.arguments import ENDS, end, fail, paint, prepare_streams
from corpora.system.copies import with_addresses
from corpora.system.files import sha256_of
from corpora.system.imports import hide_pandas_from_pyarrow
from corpora.system.interrupts import terminable
from corpora.system.threads import N_THREADS, map_in_order
from pipelines.failures import WorkerDiedError, explain, failure_of
from pipelines.graph import Phase
from pipelines.options import CommonOptions, parse_options
from pipelines.progress import UnitProgress, quiet

if TYPE_CHECKING:
    from corpora.runs.build import Build
    from corpora.runs.on_bucket import BucketOutput
    from corpora.runs.receipts import Accounting
    from pipelines.engine import Carry

_FEW_REJECTS = 10
"""The rejects of a small input that end no run, unless they are more than half of it."""
_RESUMES = "The same command resumes from here."


@dataclass(frozen=True)
class Pipeline:
    """The attributes of a pipeline's module."""

    plan: Callable[[CommonOptions], Plan]
    phases: Callable[[], Sequence[Phase]]
    next_steps: Callable[[CommonOptions], Iterable[str]]
    write_side_files: Callable[["Build", object], None] | None = None
    warnings: Callable[[object, Mapping[str, int]], Iterable[str]] = lambda *_: ()
    check: Callable[[object, Mapping[str, int]], None] = lambda *_: None
    carry: "Carry | None" = None

    @classmethod
    def of(cls, module: ModuleType) -> "Pipeline":
        """Read them from the module."""
        names = {field.name for field in fields(cls)} & vars(module).keys()
        return cls(**{name: getattr(module, name) for name in names})


def main(name: str, command: str, argv: Sequence[str] | None = None) -> int:
    """Run the pipeline in the module ``name``, ``onoma COMMAND`` or ``COMMAND.py``.

    Returns the exit status.
    """
    prepare_streams()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    output = "the run"
    try:
        module = import_module(name)
        pipeline = Pipeline.of(module)
        options: CommonOptions = parse_options(
            module.Options, argv, name=command, about=module.__doc__
        )
        output = options.bucket or str(options.output)
        if argv is None or imports.own_process:
            hide_pandas_from_pyarrow()
        with terminable():
            lines = _run_anywhere(pipeline, options)
    except OSError as error:
        return fail(explain(error, where=output), status=1)
    except ENDS as error:
        return end(error, resumes=_RESUMES)
    _say(lines)
    return 0


def _say(lines: Sequence[str]) -> None:
    try:
        sys.stdout.write("".join(f"{_shown(line)}\n" for line in lines))
        sys.stdout.flush()
    except OSError:  # such as a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _shown(line: str) -> str:
    """Format a line: commands as the user types them, its warning in colour."""
    warning = "WARNING"
    if line.startswith(warning):
        line = paint(warning, "1;33", sys.stdout) + line.removeprefix(warning)
    return with_addresses(line)


def _run_anywhere(pipeline: Pipeline, options: CommonOptions) -> list[str]:
    """Run the pipeline, with the output here or in a bucket; return the lines to print."""
    if not options.bucket:
        return _run(pipeline, options)
    from corpora.runs.on_bucket import open_output

    with open_output(options.bucket) as remote:
        here = str(remote.mirror)
        try:
            lines = _run(pipeline, replace(options, output=remote.mirror), remote=remote)
        except CorpusError as error:
            raise type(error)(str(error).replace(here, options.bucket)) from error
    return [line.replace(here, options.bucket) for line in lines]


def _run(
    pipeline: Pipeline, options: CommonOptions, *, remote: "BucketOutput | None" = None
) -> list[str]:
    """Run the pipeline; return the lines to print."""
    from corpora.runs.build import hold

    start = time.monotonic()
    with hold(options.output, partial(_plan, pipeline, options), remote=remote) as build:
        if files := build.unconfirmed():
            build.confirm(_hashes_now(files, build, options))
        is_complete = build.is_published()
        if is_complete:
            said = [f"{options.output}: already complete; nothing to do."]
            account, counters = build.published_account()
            build.tidy()  # in case a run was killed right after publishing
        else:
            said = _build(pipeline, build, options=options)
            account, counters = build.accounting, build.counters
        log = build.folder / "workers.log"
    seconds = time.monotonic() - start
    if options.json:
        found = _as_data(build, account, counters, seconds=seconds)
        about = {"output": str(options.output), "was_complete": is_complete, **found}
        return [json.dumps(about, ensure_ascii=False)]
    said += _summary(build.plan, account, counters, seconds=seconds, output=options.output)
    said += [f"WARNING {text}" for text in pipeline.warnings(build.plan.settings, counters)]
    if INTERNAL_ERROR in account.rejected:
        said.append(f"WARNING {INTERNAL_ERROR}: an error of Onoma; please report it, with {log}")
    return said + list(pipeline.next_steps(options))


def _hashes_now(
    files: Sequence[InputFile], build: "Build", options: CommonOptions
) -> dict[InputFile, str]:
    """Hash inputs that earlier work is of: with ``--runner`` by all its workers."""
    if options.has_runner and not build.remote:
        from pipelines.engine import hash_on_beam

        return hash_on_beam(files, build, options)
    n_threads = max(N_THREADS, options.workers)
    hashes = map_in_order(lambda file: sha256_of(file.check()), files, n_threads=n_threads)
    return dict(zip(files, hashes, strict=True))


def _plan(pipeline: Pipeline, options: CommonOptions) -> Plan:
    plan = pipeline.plan(options)
    if options.bucket:  # others may write there at once, with other inputs of the same names
        plan = plan.hashed()
    if options.forgotten is None:
        return plan
    from corpora.datasets.forgetting import read_hashes

    # The plan has the hashes in the file, not a hash of the file, which has dates, too.
    hashes = {"forgotten": read_hashes(options.forgotten)}
    return replace(plan, parameters={**plan.parameters, **hashes})


def _build(pipeline: Pipeline, build: "Build", *, options: CommonOptions) -> list[str]:
    """Do the pending units, and publish; return the lines to print."""
    said = []
    pending = build.pending()
    n_units = len(build.plan.units)
    if len(pending) < n_units:
        said.append(f"{n_units - len(pending)} of {n_units} units were done already and are kept.")
    if pending:
        _work(pipeline, build, options=options)
    _check_rejects(build, options)
    pipeline.check(build.plan.settings, build.counters)
    build.check_ids()
    build.publish(pipeline.write_side_files)
    return said


def _work(pipeline: Pipeline, build: "Build", *, options: CommonOptions) -> None:
    from pipelines.engine import describe, do_jobs, jobs_of

    log = build.folder.absolute() / "workers.log"
    jobs = jobs_of(pipeline.phases(), build, is_elsewhere=options.has_runner)
    n_units = sum(len(units) for _, units in jobs)
    n_before = _count_receipts(build.receipts)
    # Workers on other machines have their own installation, which must have the same code.
    code = version_of_code() if options.has_runner else ""
    described = describe(build, code=code, carry=pipeline.carry)
    with (
        quiet(log) as stream,
        UnitProgress(n_units, lambda: _count_receipts(build.receipts) - n_before, stream),
    ):
        try:
            do_jobs(jobs, options, described, log=log)
        except Exception as error:
            raise _explain_failure(error, log=log) from error
    if build.remote:
        build.remote.bring_receipts(build)


def _count_receipts(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def _explain_failure(error: Exception, *, log: Path) -> Exception:
    """Return the message of the failed unit, or else write the traceback to the log.

    In that case the error ends with a hint at the log.
    """
    if clear := failure_of(error):
        return clear
    if isinstance(error, OSError):
        return error
    hint = f"See {log}; the same command resumes from here."
    if isinstance(error, WorkerDiedError):
        return CorpusError(f"{error}. {hint}")
    text = "".join(traceback.format_exception(error))
    with suppress(OSError), log.open("a", encoding="utf-8", errors="replace") as file:  # no room
        file.write(text)
    return CorpusError(f"{text.splitlines()[-1]}. {hint}")


def _check_rejects(build: "Build", options: CommonOptions) -> None:
    account = build.accounting
    if account.n_rejected > account.n_filtered and not account.written:
        found, remedy = ", and none was written", "choose other options"
    elif account.n_rejected > options.max_reject_rate * account.read and (
        account.n_rejected > _FEW_REJECTS or 2 * account.n_rejected > account.read
    ):
        found, remedy = "", "allow more with --max-reject-rate"
    else:
        return
    raise TooManyRejectsError(
        f"{account.n_rejected:,} of {account.read:,} records were rejected "
        f"({_reasons(account.rejected)}){found}; nothing was published. The first: "
        f"{build.rejected[0]['message']} Fix the input, or {remedy}."
    )


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.items())


def _as_data(
    build: "Build", account: "Accounting", counters: Mapping[str, int], *, seconds: float
) -> dict[str, object]:
    """Build the summary for programs: the numbers of the printed one, and all counters."""
    inputs = build.plan.inputs
    return {
        "fingerprint": build.published_fingerprint,
        "inputs": len(inputs),
        "bytes": sum(file.size for file in inputs),
        "seconds": round(seconds, 3),
        **account.to_json(),
        "counters": dict(counters),
    }


def _summary(
    plan: Plan, account: "Accounting", counters: Mapping[str, int], *, seconds: float, output: Path
) -> list[str]:
    size = sum(file.size for file in plan.inputs) / 1e6
    total = f"read {account.read:,} ({size:.1f} MB in {seconds:.1f} s) = written "
    total += f"{account.written:,} + filtered {account.n_filtered:,}"
    lines = [f"{total} + rejected {account.n_rejected:,}"]
    if account.filtered:
        lines.append(f"filtered: {_reasons(account.filtered)}")
    if account.rejected:
        path = output / next(iter(plan.datasets)) / "rejected.jsonl"
        lines.append(f"WARNING rejected: {_reasons(account.rejected)}; see {path}")
    if not account.written:
        no_record = "there is no record in the input. Is this the right file?"
        rest = "all that was not rejected" if account.n_rejected else "everything"
        why = f"{rest} was filtered." if account.read else no_record
        lines.append(f"WARNING nothing was written: {why}")
    shown = {name: count for name, count in counters.items() if "/" not in name}
    return lines + [f"  {name}: {count:,}" for name, count in shown.items()]
