"""What becomes of input records: written, filtered or rejected; and rows, and counts.

Each input record has one outcome, so that the three add up to what was read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corpora.document import Document, Rejected, Sentence

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Written:
    """An input record that became rows."""

    records: Sequence[Document | Sentence]
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filtered:
    """An input record that was left out on purpose."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Passed:
    """An input record that was read; a later phase decides its outcome."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters, and records of the accounting, many at once."""

    counters: Mapping[str, int] = field(default_factory=dict)
    read: int = 0
    """Input records that are read, and have no outcome of their own."""
    written: int = 0
    """Records that became rows, read in an earlier phase or counted in ``read``."""
    filtered: Mapping[str, int] = field(default_factory=dict)
    """Reason to number of records, read in an earlier phase, that are left out on purpose."""
    rejected: Sequence[Rejected] = ()
    """Records that were read in an earlier phase, or are counted in ``read``."""
    notes: Sequence[Mapping[str, str | int]] = ()
    """For the receipt of the unit, which side files are written from; few, for they stay."""
    reused: Mapping[str, int] = field(default_factory=dict)
    """What was taken over from earlier data, which makes no difference: it is in ``run.json``."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch of rows for a dataset; counts as no record."""

    dataset: str
    batch: "pa.RecordBatch"
    """A ``pyarrow.RecordBatch`` of the dataset's columns."""

    @classmethod
    def each(cls, dataset: str, batches: Iterable["pa.RecordBatch"]) -> Iterator["Rows"]:
        """Wrap each batch as rows of a dataset."""
        return (cls(dataset, batch) for batch in batches)


Outcome = Written | Filtered | Rejected
Yield = Outcome | Passed | Counts | Rows
