"""Comparison of the rows, counts and ratios of two versions of a dataset.

For each row of both versions, 8 bytes are held for each key, for the name, and for each group of
columns (see ``kinds.py``): 56 bytes for a document. Keys and names are read again for the rows that
are listed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.shards import Dataset, open_dataset, read_batches
from corpora.diff.kinds import (
    ComparedColumns,
    Measures,
    count_account,
    count_batch,
    kind_of,
    with_ratios,
)
from corpora.diff.limits import Limit, limits_of
from corpora.errors import DamagedDatasetError
from corpora.hashing.rows import NOTHING, Hashes, hash_columns

Rows = npt.NDArray[np.int64]
N_EXAMPLES = 20
"""The most rows that are described of each kind."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The values of a measure in the old and the new version."""

    name: str
    old: int | float
    new: int | float

    @property
    def ratio(self) -> float | None:
        """The relative change, negative if the measure fell; None if it was 0."""
        return (self.new - self.old) / self.old if self.old else None


@dataclass(frozen=True, slots=True)
class DatasetComparison:
    """The differences between two versions of a dataset."""

    name: str
    schema: str
    old: str
    new: str
    """The fingerprint of the plan of the new version, as ``old`` is of the old one."""
    counts: Mapping[str, int]
    """The numbers of rows that are ``added``, ``removed``, ``renamed``, ``changed``, ``same``; a
    row may be both renamed and changed."""
    changed_columns: Mapping[str, int]
    """Group of columns to the number of rows in both versions that differ in it."""
    examples: Mapping[str, Sequence[str]]
    """Descriptions of the first rows that are ``added``, ``removed``, ``renamed``, ``changed``."""
    drift: tuple[Drift, ...]
    exceeded: tuple[str, ...]
    """Descriptions of the measures that moved further than their limits allow."""


def compare(old: Path, new: Path, *, name: str, given: Sequence[Limit]) -> DatasetComparison:
    """Compare two versions of a dataset.

    Raises ``ShardSchemaError`` where their schemas differ, ``CorpusError`` where one is no dataset.
    """
    before = _Version.read(open_dataset(old))
    after = _Version.read(open_dataset(new, before.schema))
    matched = _Matched.of(before, after)
    drift = tuple(
        Drift(measure, before.measures.get(measure, 0), after.measures.get(measure, 0))
        for measure in sorted(before.measures.keys() | after.measures.keys())
    )
    values = {each.name: (each.old, each.new) for each in drift}
    limits = limits_of(before.schema, before.kind.limits, given)
    exceeded = [
        limit.exceeded(*values[limit.measure]) for limit in limits if limit.measure in values
    ]
    return DatasetComparison(
        name=name,
        schema=before.schema,
        old=before.fingerprint,
        new=after.fingerprint,
        counts=matched.counts,
        changed_columns={group: int(is_other.sum()) for group, is_other in matched.groups.items()},
        examples=matched.examples(N_EXAMPLES),
        drift=drift,
        exceeded=tuple(filter(None, exceeded)),
    )


@dataclass(frozen=True, slots=True)
class _Version:
    """One version of a dataset: hashes of its rows, and its measures."""

    dataset: Dataset
    kind: ComparedColumns
    columns: Mapping[str, Hashes]
    """Hashes by ``key NAME``, ``group NAME`` and ``name``, one for each row that is not retired."""
    measures: Measures

    @property
    def schema(self) -> str:
        return self.dataset.schema.name

    @property
    def n_rows(self) -> int:
        return len(self.columns["name"])

    @property
    def fingerprint(self) -> str:
        return str(self.dataset.description["plan"].get("fingerprint", ""))

    @classmethod
    def read(cls, dataset: Dataset) -> "_Version":
        """Read a dataset once; hash and count its rows."""
        kind = kind_of(dataset.schema)
        counts: Counter[str] = Counter({dataset.schema.name: 0})
        parts = {name: [np.empty(0, np.uint64)] for name in _parts(kind)}
        for batch in _batches(dataset):
            live = _live(batch, kind)
            if kind.retired:
                counts[kind.retired] += batch.num_rows - live.num_rows
            count_batch(live, kind, dataset.schema.name, into=counts)
            for name, columns in _parts(kind).items():
                parts[name].append(hash_columns(live, columns))
        measures = count_account(dataset.description) | counts
        held = {name: np.concatenate(hashes) for name, hashes in parts.items()}
        return cls(dataset, kind, held, with_ratios(measures, dataset.schema.name))

    def labels(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Read key and name of some rows again; return them by row."""
        needed = {*self.kind.keys, self.kind.name, self.kind.retired}
        columns = tuple(name for name in self.dataset.schema.columns.names if name in needed)
        wanted, position = set(rows), 0
        found: dict[int, tuple[str, str]] = {}
        for shard in self.dataset.shards:
            if len(found) == len(wanted):
                break
            path = self.dataset.path / shard.name
            for batch in read_batches(path, self.dataset.schema, columns=columns):
                live = _live(batch, self.kind)
                for row in wanted & set(range(position, position + live.num_rows)):
                    values = [live.column(n)[row - position].as_py() for n in self.kind.keys]
                    key = next((str(value) for value in values if value is not None), "")
                    named = live.column(self.kind.name or self.kind.keys[0])[row - position].as_py()
                    found[row] = key, "" if named is None else str(named)
                position += live.num_rows
        return found


def _batches(dataset: Dataset) -> Iterator[pa.RecordBatch]:
    """Read all rows; raises ``DamagedDatasetError`` where a shard lacks rows or has too many."""
    for shard in dataset.shards:
        path, n_rows = dataset.path / shard.name, 0
        for batch in read_batches(path, dataset.schema):
            n_rows += batch.num_rows
            yield batch
        if n_rows != shard.rows:
            raise DamagedDatasetError(
                f"{path}: {n_rows} rows, not the {shard.rows} of dataset.json. "
                "Run the pipeline again."
            )


def _parts(kind: ComparedColumns) -> dict[str, tuple[str, ...]]:
    """Map each hash that is kept of a row to the columns that it covers."""
    return {
        **{f"key {name}": (name,) for name in kind.keys},
        "name": (kind.name or kind.keys[0],),
        **{f"group {name}": columns for name, columns in kind.groups.items()},
    }


def _live(batch: pa.RecordBatch, kind: ComparedColumns) -> pa.RecordBatch:
    return batch.filter(pc.invert(batch.column(kind.retired))) if kind.retired else batch


@dataclass(frozen=True, slots=True)
class _Matched:
    """The pairs of rows that both versions have."""

    before: _Version
    after: _Version
    old: Rows
    new: Rows
    """Row numbers in the new version, ascending; ``old`` has the row numbers of their partners."""
    is_renamed: npt.NDArray[np.bool_]
    groups: Mapping[str, npt.NDArray[np.bool_]]
    """Group of columns to, for each pair, whether its rows differ in it."""

    @classmethod
    def of(cls, before: _Version, after: _Version) -> "_Matched":
        """Pair the rows that have the same key."""
        old, new = _pair(before, after)
        differ = {
            name: before.columns[name][old] != after.columns[name][new] for name in after.columns
        }
        groups = {
            name.removeprefix("group "): is_other
            for name, is_other in differ.items()
            if name.startswith("group ")
        }
        return cls(before, after, old, new, differ["name"], groups)

    @property
    def is_changed(self) -> npt.NDArray[np.bool_]:
        nothing = np.zeros(len(self.old), bool)
        return np.asarray(np.any([nothing, *self.groups.values()], axis=0))

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of rows that were added, removed, renamed, changed, or stayed the same."""
        is_changed = self.is_changed
        return {
            "added": self.after.n_rows - len(self.new),
            "removed": self.before.n_rows - len(self.old),
            "renamed": int(self.is_renamed.sum()),
            "changed": int(is_changed.sum()),
            "same": int((~self.is_renamed & ~is_changed).sum()),
        }

    def examples(self, n: int) -> dict[str, list[str]]:
        """Describe the first ``n`` rows that are added, removed, renamed and changed."""
        added = np.setdiff1d(np.arange(self.after.n_rows), self.new)[:n].tolist()
        removed = np.setdiff1d(np.arange(self.before.n_rows), self.old)[:n].tolist()
        renamed = np.flatnonzero(self.is_renamed)[:n].tolist()
        changed = np.flatnonzero(self.is_changed)[:n].tolist()
        old = self.before.labels([*removed, *self.old[renamed].tolist()])
        new = self.after.labels([*added, *self.new[[*renamed, *changed]].tolist()])
        return {
            "added": [_label(new[row]) for row in added],
            "removed": [_label(old[row]) for row in removed],
            "renamed": [
                f"{old[int(self.old[i])][1] or 'no name'} → {_label(new[int(self.new[i])])}"
                for i in renamed
            ],
            "changed": [
                f"{_label(new[int(self.new[i])])}: {', '.join(self._which(i))}" for i in changed
            ],
        }

    def _which(self, pair: int) -> list[str]:
        return [group for group, is_other in self.groups.items() if is_other[pair]]


def _label(row: tuple[str, str]) -> str:
    key, name = row
    return key if name in {"", key} else f"{name} ({key})"


def _pair(before: _Version, after: _Version) -> tuple[Rows, Rows]:
    """Pair the rows of both versions by the first key, the rest by the next key, and so on."""
    partner = np.full(after.n_rows, -1)
    for key in after.kind.keys:
        keys, others = (version.columns[f"key {key}"] for version in (before, after))
        old = np.setdiff1d(np.flatnonzero(keys != NOTHING), partner)
        new = np.flatnonzero((others != NOTHING) & (partner < 0))
        _, left, right = np.intersect1d(keys[old], others[new], return_indices=True)
        partner[new[right]] = old[left]
    new = np.flatnonzero(partner >= 0)
    return partner[new], new
