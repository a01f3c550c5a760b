"""The phases of a pipeline, run in this process on a plan that is held."""

import apache_beam as beam

from pipelines import in_memory
from pipelines.engine import describe, jobs_of


def do_jobs(build, pipeline, *, reverse=False, run_graph=None):
    """Do what is still to be done; the units of each phase in the other order if ``reverse``."""
    run_graph = run_graph or in_memory.run_graph
    run = describe(build, code="")
    for graph, units in jobs_of(pipeline.PHASES, build):
        ordered = list(reversed(units)) if reverse else units
        run_graph(graph, ordered, run=run)


def run_plainly(graph, units, *, run):
    """Call the steps of a graph one after the other, without a runner; starts in no time.

    For tests that run a pipeline dozens of times; others prove that a runner makes the same bytes.
    """
    for _ in graph(_Plain(units), run.settings, run).values:
        pass


class _Plain:
    """Values, in the place of a ``PCollection``; steps are ``ParDo`` or made of such."""

    def __init__(self, values):
        self.values = values

    def __or__(self, step):
        return (
            _Plain(_do(step.fn, self.values)) if isinstance(step, beam.ParDo) else step.expand(self)
        )


def _do(fn, values):
    fn.setup()
    try:
        for value in values:
            yield from fn.process(value)
        fn.finish_bundle()
    finally:
        fn.teardown()
