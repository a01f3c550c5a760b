"""Reading whole files as records."""

from collections.abc import Iterator
from dataclasses import dataclass

from corpora.document import Rejected
from corpora.runs.plan import Unit


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The content of a file that is not parsed yet."""

    source: str
    """The relative name of the file."""
    data: bytes
    position: str = ""


def read_files(unit: Unit, *, max_bytes: int) -> Iterator[SourceFile | Rejected]:
    """Read the files of a unit; one of more than ``max_bytes`` is rejected.

    Raises ``InputChangedError`` where a file is not what the plan saw.
    """
    for file in unit.inputs:
        if file.size <= max_bytes:
            yield SourceFile(file.name, file.read())
            continue
        yield Rejected(
            source=file.name,
            position="",
            reason="too_large",
            message=f"{file.name}: {file.size / 1e6:.0f} MB, over the bound of {max_bytes / 1e6:g} "
            "MB. Divide it, or leave it out with --exclude.",
        )
