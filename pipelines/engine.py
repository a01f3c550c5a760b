"""Run the phases of a pipeline: in this process, in several, or on a runner of Beam."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from corpora.runs.build import Build
from corpora.runs.plan import InputFile, Unit, make_units, version_of_code
from corpora.runs.receipts import read_receipt
from corpora.runs.work_directory import MERGED
from corpora.system.files import take_away
from pipelines.carried import Carrier
from pipelines.failures import failure_of
from pipelines.graph import HASHES, EachUnit, Job, Phase, Run
from pipelines.options import CommonOptions

Carry = Callable[..., object]
"""A function from the settings of a pipeline, and a bucket, to the settings for workers that see
only that bucket; it uploads what they need."""


def jobs_of(phases: Sequence[Phase], build: Build, *, is_elsewhere: bool = False) -> list[Job]:
    """List the jobs that are not done, in order: pending units of a phase, and its merge."""
    stages = {"": None, **{stage.name: stage for stage in build.plan.stages}}
    carry = Carrier(build.work, is_elsewhere=is_elsewhere)
    jobs: list[Job] = []
    for phase in phases:
        if phase.stage not in stages:  # options may make it unnecessary
            continue
        stage = stages[phase.stage]
        pending = build.pending(stage)
        if pending:
            marked = (build.plan.marked(unit, phase.stage) for unit in pending)
            jobs.append((phase.graph, list(map(carry, marked))))
        if stage is None or phase.merge is None:
            continue
        if pending:
            build.merge_receipt(stage).unlink(missing_ok=True)
        if not build.is_merged(stage):
            build.work.tables.mkdir(exist_ok=True)
            jobs.append((EachUnit(phase.merge, phase.stage, has_shards=False), [Unit(MERGED)]))
    return jobs


def describe(build: Build, *, code: str, carry: Carry | None = None) -> Run:
    """Collect what transforms may know of a run; with ``code``, they may run on other machines."""
    plan, bucket = build.plan, build.work.bucket
    carrier = Carrier(build.work, is_elsewhere=bool(code))
    auxiliary = {name: carrier.carried(file) for name, file in plan.auxiliary.items()}
    run = replace(Run.of(plan, folder=build.address), auxiliary=auxiliary, code=code)
    if carry is None or bucket is None or not code:
        return run
    return replace(run, settings=carry(run.settings, bucket / "carried"))


def hash_on_beam(
    files: Sequence[InputFile], build: Build, options: CommonOptions
) -> dict[InputFile, str]:
    """Hash files by the workers of a runner; raises as ``InputFile.hashed``."""
    from pipelines.on_beam import run_jobs

    units = [replace(u, hashes=tuple(f.name for f in u.inputs)) for u in make_units(files)]
    folder = build.receipts / HASHES
    folder.mkdir(exist_ok=True)
    try:
        job = EachUnit(_only_hash, HASHES, has_shards=False), units
        run_jobs([job], options, describe(build, code=version_of_code()))
        taken: dict[str, str] = {}
        for unit in units:
            if receipt := read_receipt(build.work.place_of_receipt(HASHES, unit.number)):
                taken |= receipt.inputs
    except Exception as error:
        raise failure_of(error) or error from error
    finally:
        take_away(folder)
    return {file: file.sha256 or taken[file.name] for file in files}


def _only_hash(*_: object) -> None:
    """Give no results: the hashes of the inputs of a unit stand in its receipt."""


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
