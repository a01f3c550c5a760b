"""Tasks on any of Beam's runners (``--runner``): its workers take them one by one.

Only descriptors of units go through Beam; a worker writes its shards itself. ``run.py`` comes here
when a runner is asked for; on one machine nothing needs Beam.
"""

import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions

from corpora.errors import UsageError
from pipelines.work import StageOfWork, Task, do_task

_A_YEAR = 365 * 24 * 3600  # Beam's own service reports on a job no longer than the time-out, 60 s


def work_on_beam(work: Sequence[StageOfWork], settings: Sequence[str], *, folder: Path) -> None:
    """Do everything, each stage after the one before; ``settings`` are Beam's options.

    Beam makes what it needs in ``folder``.
    """
    p = _make_pipeline(settings, folder=folder)
    before = p | "Begin" >> beam.Create([0])
    for number, (tasks, merge) in enumerate(work):
        before = (
            p
            | f"Units {number}" >> beam.Create(tasks)
            | f"Spread {number}" >> beam.Reshuffle()  # without it one worker gets them all
            | f"Work {number}" >> beam.Map(_after, beam.pvalue.AsList(before))
        )
        if merge:
            before = (
                p
                | f"Merge {number}" >> beam.Create([merge])
                | f"Merged {number}" >> beam.Map(_after, beam.pvalue.AsList(before))
            )
    try:
        result = p.run()
        try:
            result.wait_until_finish()  # whatever --no_wait_until_finish says: publishing is next
        except KeyboardInterrupt:
            result.cancel()  # or else a cluster would go on
            raise
    except Exception as error:  # Beam wraps what workers raise in one or the other
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        details = getattr(error, "details", None)  # of an RpcError, whose text ends in a bracket
        if callable(details):
            raise RuntimeError(details()) from error
        raise


def _make_pipeline(settings: Sequence[str], *, folder: Path) -> Any:
    """Make Beam's pipeline; what it makes for transforms in other languages is not needed.

    It is made in a folder that goes with the run: a kill would leave it in the system's.
    """
    folder.mkdir(exist_ok=True)
    systems, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        p = beam.Pipeline(options=beam_options(settings))
    finally:
        tempfile.tempdir = systems
    Path(p.local_tempdir).rmdir()
    return p


def _after(task: Task, _: Sequence[int]) -> int:
    """Do a task; the side input makes it wait until what comes before is done."""
    return do_task(task)


def beam_options(settings: Sequence[str]) -> Any:
    """Read Beam's options; raises ``UsageError`` where the job service does not answer."""
    made = PipelineOptions(list(settings))
    service = made.view_as(PortableOptions)
    if service.job_endpoint and not any(s.startswith("--job_server_timeout") for s in settings):
        _check_answers(service.job_endpoint)
        service.job_server_timeout = _A_YEAR
    return made


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
