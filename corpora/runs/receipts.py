"""Receipts of finished units: shards and their hashes, counters, and the outcomes of records."""

import json
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import cast

from corpora.datasets.shards import AccountingRecord, Shard
from corpora.runs.plan import fingerprint_of
from corpora.system.parsing import parse_json, typed
from corpora.system.writing import write_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """The numbers of input records by outcome; ``read`` should be the sum of the others."""

    read: int = 0
    written: int = 0
    filtered: Mapping[str, int] = field(default_factory=dict)
    """Reason to the number of records that were left out on purpose."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Reason to the number of records that could not be used."""

    @property
    def adds_up(self) -> bool:
        """Whether every record that was read has an outcome."""
        return self.read == self.written + self.n_filtered + self.n_rejected

    @property
    def n_filtered(self) -> int:
        """The number of filtered records, for all reasons."""
        return sum(self.filtered.values())

    @property
    def n_rejected(self) -> int:
        """The number of rejected records, for all reasons."""
        return sum(self.rejected.values())

    def to_json(self) -> AccountingRecord:
        """Return the entry in ``dataset.json``."""
        return cast("AccountingRecord", asdict(self))

    def __add__(self, other: "Accounting") -> "Accounting":
        """Add two accounts."""
        return Accounting(
            read=self.read + other.read,
            written=self.written + other.written,
            filtered=sorted_counts(Counter(self.filtered) + Counter(other.filtered)),
            rejected=sorted_counts(Counter(self.rejected) + Counter(other.rejected)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The record that a finished unit writes."""

    fingerprint: str
    unit: int
    shards: Mapping[str, Shard]
    """Name of a dataset to the shard of the unit."""
    accounting: Accounting
    counters: Mapping[str, int]
    rejected: Sequence[Mapping[str, str]]
    """Rows for ``rejected.jsonl``."""
    notes: Sequence[Mapping[str, str | int]] = ()
    """Rows for a side file of the pipeline; a unit makes a bounded number of them."""
    reused: Mapping[str, int] = field(default_factory=dict)
    """Counts of what was taken over from earlier data; they change no byte of the datasets."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """Path in the folder of tables to SHA-256, for all tables that are there when the unit is done;
    empty for a unit that may not write tables."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name to SHA-256 of the inputs whose hashes the unit has taken."""


class Totals:
    """The sums over the receipts of a run, so that receipts, which may be large, are not kept."""

    def __init__(self) -> None:
        self.accounting = Accounting()
        self.counters: Counter[str] = Counter()
        self.reused: Counter[str] = Counter()
        self.rejected: list[Mapping[str, str]] = []
        self.shards: list[Mapping[str, Shard]] = []
        """Name of a dataset to shard, for each unit of the plan itself (not of its stages)."""
        self.notes: list[Mapping[str, str | int]] = []
        """The notes of the units of the plan itself (not of its stages)."""
        self.inputs: dict[str, str] = {}
        """Name to SHA-256 of the inputs whose hashes units have taken."""

    def add(self, receipt: Receipt, *, is_last: bool = False) -> None:
        """Add the receipt of a unit; ``is_last`` for the units that write the published data."""
        self.accounting += receipt.accounting
        self.counters.update(receipt.counters)
        self.reused.update(receipt.reused)
        self.rejected += receipt.rejected
        self.inputs |= receipt.inputs
        if is_last:
            self.shards.append(receipt.shards)
            self.notes += receipt.notes


def sorted_counts(counter: Mapping[str, int]) -> dict[str, int]:
    """Sort counts by name, so that every run writes them alike."""
    return {name: counter[name] for name in sorted(counter)}


def write_receipt(path: Path, receipt: Receipt) -> None:
    """Write a receipt with its hash in one atomic step.

    Counters with a ``/`` are packed into a string ``named``: a unit of Wikipedia has thousands.
    """
    named = {name: n for name, n in receipt.counters.items() if "/" in name}
    values = _fields(receipt) | {
        "counters": {name: n for name, n in receipt.counters.items() if "/" not in name},
        "named": _packed(named) if named else "",
        "shards": {dataset: _fields(shard) for dataset, shard in receipt.shards.items()},
        "accounting": _fields(receipt.accounting),
    }
    text = json.dumps(values | {"sha256": fingerprint_of(values)}, ensure_ascii=False)
    write_text(path, [text, "\n"])  # without indents: a third of the time, and receipts are many


def _packed(counters: Mapping[str, int]) -> str:
    text = json.dumps(counters, ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode())).decode()


def _unpacked(named: str) -> dict[str, int]:
    text = zlib.decompress(b64decode(named)).decode()
    return dict(parse_json(text))


def _fields(record: Receipt | Shard | Accounting) -> dict[str, object]:
    """Return the fields of a record without copying: ``asdict`` would copy every counter."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def read_receipt(path: Path) -> Receipt | None:
    """Read a receipt; None where it is missing or damaged."""
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
        if values.pop("sha256") != fingerprint_of(values):
            return None
        if named := values.pop("named"):
            values["counters"] |= _unpacked(named)
        return typed(Receipt, values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zlib.error):
        return None
