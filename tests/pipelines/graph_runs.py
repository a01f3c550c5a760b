"""The phases of a pipeline, run in this process on a plan that is held."""

from pipelines.engine import describe, jobs_of
from pipelines.in_memory import run_graph


def do_jobs(build, pipeline, options, *, reverse=False):
    """Do what is still to be done; the units of each phase in the other order if ``reverse``."""
    run = describe(build, code="")
    for graph, units in jobs_of(pipeline.PHASES, build):
        ordered = list(reversed(units)) if reverse else units
        run_graph(graph, ordered, options=options, run=run)
