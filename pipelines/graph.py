"""The phases of a run, each a graph of transforms over units.

Most phases have one step: a function of a unit, the settings of the plan, and the ``Run``, whose
results are written (``Phase.of_units``). A graph of several steps is a function, too: it takes the
units (a ``PCollection``), settings and run, and gives what ``WriteShards`` gives. It loads Beam
itself, so that ``--help`` needs none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import rshift
from typing import TYPE_CHECKING, Any, Protocol

from corpora.runs.plan import InputFile, Plan, Unit

if TYPE_CHECKING:
    from corpora.runs.work_directory import WorkDirectory
    from pipelines.transforms.shards import WriteShards

Settings = Any  # Any: each graph takes the settings of its own pipeline


class PCollection(Protocol):
    """The type of Beam's ``PCollection`` (the elements between two transforms), without Beam."""

    def __or__(self, transform: object, /) -> "PCollection":
        """Apply a transform."""


Graph = Callable[[PCollection, Settings, "Run"], PCollection]
"""A function from ``PCollection[Unit]``, settings and run to ``PCollection[int]``: the numbers of
the units that are done.
"""
OfUnit = Callable[[Unit, Settings, "Run"], Iterable[object] | None]
"""A function from a unit, settings and run to the results of the unit, if it has any."""
HASHES = "hashes"
"""The name of a stage that no plan has: of units that take only the hashes of their inputs."""
Job = tuple[Graph, Sequence[Unit]]
"""A graph, and the units that it is run on."""


@dataclass(frozen=True)
class EachUnit:
    """The graph whose only step calls a function of each unit; its results are written."""

    function: OfUnit
    stage: str
    has_shards: bool = True
    """Whether the units write shards; else their results are counters, and tables."""

    def __call__(self, units: PCollection, settings: Settings, run: "Run") -> PCollection:
        """Apply the step."""
        from pipelines.transforms.elements import read_units

        of_units = replace(run, settings=None, forgotten=())
        step = read_units(self.results, settings=settings, run=of_units)
        labelled: object = rshift(self.function.__name__, step)  # as Beam writes it: label >> step
        return units | labelled | run.write_shards(self.stage, has_shards=self.has_shards)

    def results(self, unit: Unit, *, settings: Settings, run: "Run") -> Iterable[object]:
        """Return the results of a unit."""
        return self.function(unit, settings, run) or ()


@dataclass(frozen=True)
class Phase:
    """A phase of units that can be done in any order and place, before the next phase begins."""

    graph: Graph
    stage: str = ""
    """The stage of the plan whose units are done; empty: the units of the plan itself."""
    merge: OfUnit | None = None
    """A function of a single unit after all others, which writes tables and no shard, if any."""

    @classmethod
    def of_units(cls, function: OfUnit, stage: str = "", merge: OfUnit | None = None) -> "Phase":
        """Make a phase of one step."""
        return cls(EachUnit(function, stage), stage, merge)


@dataclass(frozen=True)
class Run:
    """The facts about a run that its transforms may use."""

    folder: str
    """The work directory, ``OUTPUT/.build/FINGERPRINT``, here or in a bucket."""
    fingerprint: str
    datasets: Mapping[str, Mapping[str, str]]
    """For each stage (empty: the plan itself), name of a dataset to the name of its schema."""
    n_units: Mapping[str, int]
    """The number of units of each stage (empty: of the plan itself)."""
    settings: object
    """The settings of the plan, which graphs take."""
    auxiliary: Mapping[str, InputFile]
    """Editions, tables, vocabularies by name, with the paths under which workers find them."""
    forgotten: Sequence[str] = ()
    """The hashes of what is left out."""
    code: str = ""
    """``version_of_code()`` where the run was planned; empty: workers do not compare it."""

    @classmethod
    def of(cls, plan: Plan, *, folder: str) -> "Run":
        """Describe the run of a plan in this work directory."""
        return cls(
            folder=folder,
            fingerprint=plan.fingerprint,
            datasets={stage.name: stage.datasets for stage in plan.stages} | {"": plan.datasets},
            n_units={stage.name: len(stage.units) for stage in plan.stages} | {"": len(plan.units)},
            settings=plan.settings,
            auxiliary=plan.auxiliary,
            forgotten=plan.parameters.get("forgotten", ()),
        )

    @property
    def work(self) -> "WorkDirectory":
        """The work directory."""
        from corpora.runs.work_directory import WorkDirectory

        return WorkDirectory(self.folder)

    def write_shards(self, stage: str = "", *, has_shards: bool = True) -> "WriteShards":
        """Make the last step of a phase; without shards, it writes only receipts."""
        from pipelines.transforms.shards import WriteShards

        datasets = self.datasets[stage] if has_shards else {}
        # A job of Beam has each step's own copy: what the step does not read is left out.
        forgotten = self.forgotten if has_shards and not stage else ()
        run = replace(self, settings=None, auxiliary={}, forgotten=forgotten)
        return WriteShards(run=run, datasets=datasets, stage=stage)
