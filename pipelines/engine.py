"""Run the phases of a pipeline: in this process, in several, or on a runner of Beam."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from corpora.runs.build import Build
from corpora.runs.plan import Unit
from pipelines.carried import Carrier
from pipelines.graph import Graph, Phase, Run, needed
from pipelines.options import CommonOptions
from pipelines.unit_writer import MERGED

Job = tuple[Graph, Sequence[Unit]]


def jobs_of(phases: Sequence[Phase], build: Build, *, is_elsewhere: bool = False) -> list[Job]:
    """List what is still to be done, in order: units of a phase, and what merges them."""
    stages = {stage.name: stage for stage in build.plan.stages}
    carry = Carrier(build.work, is_elsewhere=is_elsewhere)
    jobs: list[Job] = []
    for phase in needed(phases, build.plan):
        stage = stages.get(phase.stage)
        pending = build.pending(stage)
        if pending:
            jobs.append((phase.graph, [carry(unit) for unit in pending]))
        if stage is None or phase.merge is None:
            continue
        if pending:
            build.merge_receipt(stage).unlink(missing_ok=True)
        if not build.is_merged(stage):
            build.work.tables.mkdir(exist_ok=True)
            jobs.append((phase.merge, [Unit(MERGED)]))
    return jobs


def describe(build: Build, *, code: str) -> Run:
    """Say what transforms may know of a run."""
    plan = build.plan
    carry = Carrier(build.work, is_elsewhere=bool(code))
    auxiliary = {name: carry.carried(file) for name, file in plan.auxiliary.items()}
    return Run.of(plan, folder=build.address, auxiliary=auxiliary, code=code)


@contextmanager
def runner_of(
    options: CommonOptions, jobs: Sequence[Job], *, log: Path
) -> Iterator[Callable[[Run], None]]:
    """Give what does the jobs; processes that it takes are gone afterwards."""
    n_workers = min(options.workers, max((len(units) for _, units in jobs), default=0))
    with ExitStack() as stack:
        if options.has_runner:
            from pipelines.on_beam import run_jobs

            yield partial(run_jobs, jobs, options)
            return
        if n_workers > 1:
            from pipelines.processes import Workers

            run_graph = stack.enter_context(Workers(n_workers, log=log)).run_graph
        else:
            from pipelines.in_memory import run_graph

        def do(run: Run) -> None:
            for graph, units in jobs:
                run_graph(graph, units, options=options, run=run)

        yield do
