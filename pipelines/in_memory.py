"""A graph on Beam's in-memory runner, in this process."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from corpora.runs.plan import Unit
from corpora.runs.work_directory import WorkDirectory
from corpora.system.imports import hidden
from pipelines.graph import Graph, Run

# Beam loads these if they are installed, which doubles its time.
with hidden("apache_beam.io.gcp.bigquery", "boto3", "bson", "pandas"):
    import apache_beam as beam
    import apache_beam.runners.portability.fn_api_runner.fn_runner  # once for all processes
    from apache_beam.options.pipeline_options import PipelineOptions

Kind = TypeVar("Kind", bound=PipelineOptions)

_units: Iterable[Unit] = ()


class InMemoryOptions(PipelineOptions):
    """Pipeline options that are parsed only once for each kind of options.

    Beam asks for views of its options some hundred times in a graph, and would parse them each
    time, which takes a fifth of the processor time of a small run.
    """

    def __init__(self) -> None:
        super().__init__(["--runner=FnApiRunner"])
        self.__dict__["_views"] = {}

    def view_as(self, cls: type[Kind]) -> Kind:
        """Return these options as a kind of options; all kinds share their values."""
        views: dict[type[Kind], Kind] = self.__dict__["_views"]
        if cls not in views:
            views[cls] = super().view_as(cls)
        return views[cls]


def run_graph(graph: Graph, units: Iterable[Unit], *, run: Run) -> None:
    """Run a graph on units, one after the other; each is taken when the one before is done.

    Raises what a transform raised, or what Beam made of it.
    """
    global _units  # noqa: PLW0603 - the runner copies functions, and calls them in this process
    p = make_pipeline(InMemoryOptions(), folder=WorkDirectory(run.folder).carried)
    taken = p | "Begin" >> beam.Impulse() | "Units" >> beam.FlatMap(_take).with_output_types(Unit)
    graph(taken, run.settings, run)
    _units = units
    try:
        p.run().wait_until_finish()
    except Exception as error:
        if isinstance(end := error.__cause__ or error.__context__, KeyboardInterrupt):
            raise type(end) from error
        raise
    finally:
        _units = ()


def _take(_: bytes) -> Iterator[Unit]:
    yield from _units


def make_pipeline(options: PipelineOptions, *, folder: Path) -> beam.Pipeline:
    """Make a Beam pipeline; its folder for transforms in other languages is removed.

    That folder is made inside ``folder``, which goes with the run: after a kill it would stay in
    the system's folder for temporary files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    systems, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        p = beam.Pipeline(options=options)
    finally:
        tempfile.tempdir = systems
    Path(p.local_tempdir).rmdir()
    return p
