"""Reading whole files as records."""

from collections.abc import Iterator
from dataclasses import dataclass

from corpora.document import Rejected
from corpora.runs.plan import Unit
from pipelines.transforms.elements import ReadUnits


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The content of a file that is not parsed yet."""

    source: str
    """The relative name of the file."""
    data: bytes
    position: str = ""


class ReadFiles(ReadUnits[SourceFile | Rejected]):
    """Read the files of each unit; one of more than ``max_bytes`` is rejected.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[SourceFile | Rejected]]``
    """

    max_bytes: int

    def read(self, unit: Unit) -> Iterator[SourceFile | Rejected]:
        """Read a unit; raises ``InputChangedError`` where a file is not what the plan saw."""
        for file in unit.inputs:
            if file.size <= self.max_bytes:
                yield SourceFile(file.name, file.read())
                continue
            yield Rejected(
                source=file.name,
                position="",
                reason="too_large",
                message=f"{file.name}: {file.size / 1e6:.0f} MB, over the bound of "
                f"{self.max_bytes / 1e6:g} MB. Divide it, or leave it out with --exclude.",
            )
