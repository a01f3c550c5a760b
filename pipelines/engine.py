"""Run the phases of a pipeline: in this process, in several, or on a runner of Beam."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from corpora.runs.build import Build
from corpora.runs.plan import Unit
from corpora.runs.work_directory import MERGED
from pipelines.carried import Carrier
from pipelines.graph import Job, Phase, Run, needed
from pipelines.options import CommonOptions

Carry = Callable[..., object]
"""A function from the settings of a pipeline, and a bucket, to the settings for workers that see
only that bucket; it uploads what they need."""


def jobs_of(phases: Sequence[Phase], build: Build, *, is_elsewhere: bool = False) -> list[Job]:
    """List the jobs that are not done, in order: pending units of a phase, and its merge."""
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


def describe(build: Build, *, code: str, carry: Carry | None = None) -> Run:
    """Collect what transforms may know of a run; with ``code``, they may run on other machines."""
    plan, bucket = build.plan, build.work.bucket
    carrier = Carrier(build.work, is_elsewhere=bool(code))
    auxiliary = {name: carrier.carried(file) for name, file in plan.auxiliary.items()}
    run = Run.of(plan, folder=build.address, auxiliary=auxiliary, code=code)
    if carry is None or bucket is None or not code:
        return run
    return replace(run, settings=carry(run.settings, bucket / "carried"))


def do_jobs(jobs: Sequence[Job], options: CommonOptions, run: Run, *, log: Path) -> None:
    """Run jobs in order; worker processes end with it, and write errors to ``log``."""
    n_workers = min(options.workers, max((len(units) for _, units in jobs), default=0))
    if options.has_runner:
        from pipelines.on_beam import run_jobs

        run_jobs(jobs, options, run)
        return
    run_graph: Callable[..., None]
    if n_workers > 1:
        from pipelines.processes import run_graph as run_in_processes

        run_graph = partial(run_in_processes, n_workers=n_workers, log=log)
    else:
        from pipelines.in_memory import run_graph
    for graph, units in jobs:
        run_graph(graph, units, run=run)
