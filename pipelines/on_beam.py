"""Graphs on any of Beam's runners (``--runner``): one job, each phase after the one before."""

import socket
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions

from corpora.errors import UsageError
from corpora.runs.work_directory import WorkDirectory
from pipelines.graph import Graph, Job, PCollection, Run
from pipelines.in_memory import make_pipeline
from pipelines.options import CommonOptions
from pipelines.transforms.units import ListUnits

_A_YEAR = 365 * 24 * 3600  # by default, Beam follows the state of a job for no more than 60 s


def run_jobs(jobs: Sequence[Job], options: CommonOptions, run: Run) -> None:
    """Run graphs, each after the one before."""
    _finish(make_job(jobs, options, run))


def make_job(jobs: Sequence[Job], options: CommonOptions, run: Run) -> beam.Pipeline:
    """Make one pipeline from graphs; units are passed as a file, whatever their number."""
    work = WorkDirectory(run.folder)
    folder = work.carried
    p = make_pipeline(beam_options(options.beam), folder=folder)
    before = p | "Begin" >> beam.Create([0])
    for number, (graph, units) in enumerate(jobs):
        listed = ListUnits(
            units=units, path=folder / f"units-{number}.jsonl", bucket=work.bucket, after=before
        )
        phase = _Apply(graph, run)
        before = p | f"Units {number}" >> listed | f"Phase {number}" >> phase
    return p


class _Apply(beam.PTransform):
    """A graph wrapped as one transform, so that several graphs may have steps of the same name."""

    def __init__(self, graph: Graph, run: Run) -> None:
        super().__init__()
        self._graph, self._run = graph, run

    def expand(self, pcoll: PCollection) -> PCollection:
        return self._graph(pcoll, self._run.settings, self._run)


def _finish(p: beam.Pipeline) -> None:
    """Run a pipeline to its end."""
    try:
        result = p.run()
        try:
            result.wait_until_finish()  # also with --no_wait_until_finish: publishing is next
        except KeyboardInterrupt:
            result.cancel()  # otherwise a cluster would go on
            raise
    except Exception as error:  # Beam wraps exceptions of workers in various types
        if isinstance(end := error.__cause__ or error.__context__, KeyboardInterrupt):
            raise type(end) from error
        details = getattr(error, "details", None)  # of an RpcError, whose text has more around them
        if callable(details):
            raise RuntimeError(details()) from error
        raise


def beam_options(settings: Sequence[str]) -> PipelineOptions:
    """Parse Beam's options; raises ``UsageError`` where the job service does not answer."""
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
        return  # "embed", or an address that only gRPC can parse
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError as error:
        raise UsageError(
            f"--job_endpoint {endpoint}: no job service answers ({error}). Start it, or fix the "
            "address."
        ) from error
