"""The last step of a graph, which writes the shards and the receipt of each unit."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import apache_beam as beam
from apache_beam.metrics import Metrics

from corpora.errors import CorpusError
from corpora.runs.plan import Unit, version_of_code
from corpora.system.buckets import is_url
from pipelines.failures import UnitFailedError, explain
from pipelines.transforms.elements import EndOfUnit, Failed, InUnit, StepFunction
from pipelines.unit_writer import UnitWriter


@dataclass(kw_only=True, eq=False)
class WriteShards(beam.PTransform):
    """Write the rows of each unit to a shard of each dataset, and at its end a receipt.

    ``PCollection[InUnit[...]]`` -> ``PCollection[int]``, the numbers of the units that are done.
    Rows come as ``Written`` (records and their counters) or as ``Rows`` (a batch); ``Filtered`` and
    ``Rejected`` records are counted, and added to the receipt. Raises ``UnitFailedError`` for a
    unit that failed, and where a runner hands on a unit in more than one bundle.
    """

    folder: str
    """The work directory of the run, ``OUTPUT/.build/FINGERPRINT``, which all workers must see."""
    fingerprint: str
    datasets: Mapping[str, str]
    """Name of a dataset to the name of its schema."""
    stage: str = ""
    """The stage of the units; empty for the units whose shards are published."""
    is_alone: bool = False
    """Whether the stage has a single unit, which may write tables, too."""
    code: str = ""
    """``version_of_code()`` where the run was planned; empty: workers do not compare it."""
    forgotten: Sequence[str] = ()
    """Hashes of what must not be written; see ``corpora/datasets/forgetting.py``."""

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the transform."""
        return pcoll | beam.ParDo(_WriteShards(self)).with_output_types(int)

    def display_data(self) -> dict[str, str]:
        """Return what a runner's interface shows."""
        return {"folder": self.folder, "datasets": ", ".join(self.datasets), "stage": self.stage}

    def begin(self, unit: Unit) -> UnitWriter:
        """Open the shards of a unit."""
        _check_place(self.folder, self.code)
        return UnitWriter(self, unit.number)


class _WriteShards(StepFunction):
    def __init__(self, step: WriteShards) -> None:
        self._step = step

    def setup(self) -> None:
        self._open: dict[int, UnitWriter] = {}

    def process(self, element: InUnit) -> Iterator[int]:
        unit, value = element.unit, element.value
        try:
            writer = self._open.get(unit.number)
            if writer is None:
                writer = self._open[unit.number] = self._step.begin(unit)
            if isinstance(value, Failed):
                raise UnitFailedError(value.message)
            if not isinstance(value, EndOfUnit):
                writer.add(value)
                return
            del self._open[unit.number]
            accounting = writer.close()
        except UnitFailedError:
            raise
        except (CorpusError, OSError) as error:
            message = explain(error, where=f"{self._step.folder}, unit {unit.number}")
            raise UnitFailedError(message) from error
        for name in ("read", "written", "n_filtered", "n_rejected"):
            Metrics.counter("onoma", name).inc(getattr(accounting, name))
        yield unit.number

    def finish_bundle(self) -> None:
        if self._open:
            raise UnitFailedError(
                f"unit {min(self._open)}: the runner ended a bundle in the middle of it. Its steps "
                "must be fused: put no shuffle between them, or choose another runner."
            )

    def teardown(self) -> None:
        for writer in self._open.values():
            writer.abandon()


def _check_place(folder: str, code: str) -> None:
    """Raise ``CorpusError`` where this worker has other code, or does not see the folder."""
    if code and code != version_of_code():
        raise CorpusError(
            f"A worker on {socket.gethostname()} has another Onoma, Python or pyarrow than the "
            "run was planned with. Install the same there as here, or use one image for all."
        )
    if not is_url(folder) and not Path(folder).is_dir():
        raise CorpusError(
            f"{folder}: a worker on {socket.gethostname()} does not see this folder. Mount "
            "--output there under the same path."
        )
