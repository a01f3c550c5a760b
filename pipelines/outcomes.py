"""What becomes of input records: written, filtered or rejected; and rows, and counts.

Each input record has one outcome, so that the three add up to what was read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corpora.document import Document, Rejected, Sentence


@dataclass(frozen=True, slots=True)
class Written:
    """An input record that became rows."""

    records: Sequence[Document | Sentence]
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filtered:
    """An input record that is left out on purpose."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters, and changes to the accounting: a record that turns out to be a double."""

    counters: Mapping[str, int] = field(default_factory=dict)
    read: int = 0
    """Input records that became ``Rows``, many at once; they stand in ``written``, too."""
    written: int = 0
    rejected: Sequence[Rejected] = ()
    """They were read and written before; ``written`` takes them off."""
    notes: Sequence[Mapping[str, str | int]] = ()
    """For the receipt of the unit, which side files are written from; few, for they stay."""
    reused: Mapping[str, int] = field(default_factory=dict)
    """What was taken over from earlier data, which makes no difference: told in ``run.json``."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch of rows for a dataset; counts as no record."""

    dataset: str
    batch: Any
    """A ``pyarrow.RecordBatch`` of the dataset's columns."""


Outcome = Written | Filtered | Rejected
Yield = Outcome | Counts | Rows
