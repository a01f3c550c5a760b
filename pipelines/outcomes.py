"""The outcomes of input records: written, filtered or rejected; and rows, and counts.

Each input record has one outcome, so that the three add up to what was read. ``run.py`` compares
rejects with ``--max-reject-rate``, and prints the sums.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corpora.document import Document, Rejected, Sentence

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of an input record that became rows."""

    records: Sequence[Document | Sentence]
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filtered:
    """The outcome of an input record that was left out on purpose."""

    reason: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters, and numbers of records for the accounting, of many records at once."""

    counters: Mapping[str, int] = field(default_factory=dict)
    read: int = 0
    """The number of records that were read and are not elements with outcomes of their own, or
    whose outcome a later phase decides."""
    written: int = 0
    """The number of records that became rows; read in an earlier phase, or counted in ``read``."""
    filtered: Mapping[str, int] = field(default_factory=dict)
    """Reason to the number of records left out on purpose; read like those of ``written``."""
    rejected: Sequence[Rejected] = ()
    """Records that could not be used; read like those of ``written``."""
    notes: Sequence[Mapping[str, str | int]] = ()
    """Rows for side files, kept in the receipt of the unit; few, because they stay in memory."""
    reused: Mapping[str, int] = field(default_factory=dict)
    """Counts of what was taken over from earlier data; only ``run.json`` has them."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch of rows for a dataset; it adds nothing to the accounting."""

    dataset: str
    batch: "pa.RecordBatch"
    """A ``pyarrow.RecordBatch`` with the columns of the dataset."""

    @classmethod
    def each(cls, dataset: str, batches: Iterable["pa.RecordBatch"]) -> Iterator["Rows"]:
        """Wrap each batch as rows of a dataset."""
        return (cls(dataset, batch) for batch in batches)


Outcome = Written | Filtered | Rejected
Yield = Outcome | Counts | Rows
