"""Duplicate records, in one file or in several: all but one are dropped between two stages."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.repeated_ids import are_among, equal_among, hashes_of_ids
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.document import Rejected
from corpora.runs.work_directory import WorkDirectory
from corpora.system.parsing import read_json
from corpora.system.writing import write_json


def find_duplicates(work: WorkDirectory, dataset: str, *, remedy: str) -> Iterator[Rejected]:
    """Note the documents whose id an earlier one has; yield a rejection for each of them.

    ``dataset`` is the name of an intermediate dataset, and of its schema. ``remedy`` ends the
    message of the rejection.
    """
    paths = work.shards(dataset)
    suspects = equal_among(hashes_of_ids(paths, SCHEMAS[dataset]))
    duplicates: dict[int, list[int]] = defaultdict(list)
    seen: set[str] = set()
    for number, path in enumerate(paths if len(suspects) else ()):
        rows = np.flatnonzero(are_among(path, SCHEMAS[dataset], suspects)).tolist()
        names = list(_names(path, dataset)) if rows else []
        for row in rows:
            id, source = names[row]
            if id not in seen:
                seen.add(id)
                continue
            duplicates[number].append(row)
            yield duplicate(source, id, remedy=remedy)
    note_dropped(work, dataset, duplicates)


def duplicate(source: str, id: str, *, remedy: str) -> Rejected:
    """Build the rejection of a duplicate."""
    message = f"{source}: {id}: {remedy}"
    return Rejected(source=source, position=id, reason="duplicate_id", message=message)


def _names(path: Path, schema: str) -> Iterator[tuple[str, str]]:
    for batch in read_batches(path, schema, columns=("id", "source")):
        yield from zip(
            batch.column("id").to_pylist(), batch.column("source").to_pylist(), strict=True
        )


def note_dropped(work: WorkDirectory, dataset: str, rows: Mapping[int, Sequence[int]]) -> None:
    """Note the rows of each unit's shard that ``DuplicateRows`` drops."""
    write_json(_file(work, dataset), rows)


class DuplicateRows:
    """The rows of a unit that are dropped, as ``note_dropped`` noted them."""

    def __init__(self, work: WorkDirectory, number: int) -> None:
        self._work, self._number = work, number
        self._noted: dict[str, list[int]] = {}
        self._n_seen: Counter[str] = Counter()

    def drop(self, dataset: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Drop the noted rows from a batch; the batches of a dataset must come in order."""
        if dataset not in self._noted:
            noted = read_json(_file(self._work, dataset))
            self._noted[dataset] = noted.get(str(self._number), [])
        start = self._n_seen[dataset]
        self._n_seen[dataset] += batch.num_rows
        if not self._noted[dataset]:
            return batch
        rows = pa.array(np.arange(start, start + batch.num_rows))
        return batch.filter(
            pc.invert(pc.is_in(rows, value_set=pa.array(self._noted[dataset], rows.type)))
        )


def _file(work: WorkDirectory, dataset: str) -> Path:
    return work.tables / f"duplicates-{dataset}.json"
