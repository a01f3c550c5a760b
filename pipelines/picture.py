"""The graphs of a pipeline as a picture: Mermaid, which GitHub and many editors draw."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import apache_beam as beam

from corpora.runs.plan import Plan, Unit
from pipelines.graph import Graph, Phase, Run, needed
from pipelines.in_memory import InMemoryOptions, make_pipeline
from pipelines.options import CommonOptions


def to_mermaid(phases: Sequence[Phase], *, plan: Plan, options: CommonOptions) -> str:
    """Draw the phases of a plan, one below the other, each with its steps from left to right."""
    run = Run.of(plan, folder=str(options.output))
    lines = ["flowchart TB"]
    before = ""
    for number, (name, graph) in enumerate(_graphs(needed(phases, plan))):
        steps = [f"s{number}x{n}[{step}]" for n, step in enumerate(_steps(graph, run))]
        lines.append(f'  subgraph p{number}["{name}"]')
        lines.append("    direction LR")
        lines.append(f"    {' --> '.join(steps)}")
        lines.append("  end")
        if before:
            lines.append(f"  {before} ==> p{number}")
        before = f"p{number}"
    return "\n".join(lines)


def _graphs(phases: Sequence[Phase]) -> Iterator[tuple[str, Graph]]:
    for phase in phases:
        name = phase.graph.__name__.replace("_", " ")
        yield f"{name}: each unit by itself", phase.graph
        if phase.merge:
            yield f"{phase.merge.__name__.replace('_', ' ')}: once, after all units", phase.merge


def _steps(graph: Graph, run: Run) -> list[str]:
    """Return the names of the steps of a graph, in order."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        p = make_pipeline(InMemoryOptions(), folder=Path(folder))
    units = p | "units" >> beam.Create([Unit(0)], reshuffle=False)
    graph(units, run.settings, run)
    [root] = p.transforms_stack
    return [str(part.full_label) for part in root.parts]
