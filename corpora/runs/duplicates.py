"""Duplicate records, in one file or in several: all but the first are rejected."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.repeated_ids import equal_among, hashes_of_ids
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.document import Rejected
from corpora.runs.work_directory import WorkDirectory
from corpora.system.parsing import read_json
from corpora.system.writing import write_json


def find_duplicates(
    work: WorkDirectory, datasets: Mapping[str, str], *, remedy: str
) -> Iterator[Rejected]:
    """Note the rows whose id an earlier row has; yield a rejection for each record among them.

    ``datasets`` has the names of intermediate datasets, to the names of their schemas; the rows of
    those that have a column ``source`` are records. ``remedy`` ends the message of the rejection.
    Keeps 8 bytes a row, and 8 more while the hashes are sorted.
    """
    for dataset, schema in datasets.items():
        is_of_records = "source" in SCHEMAS[schema].columns.names
        paths = work.shards(dataset)
        hashes = [hashes_of_ids([path], SCHEMAS[schema]) for path in paths]
        suspects = equal_among(np.concatenate([np.empty(0, np.uint64), *hashes]))
        duplicates: dict[int, list[int]] = defaultdict(list)
        seen: set[str] = set()
        for number, path in enumerate(paths):
            rows = np.flatnonzero(np.isin(hashes[number], suspects)).tolist()
            names = list(_names(path, schema, "source" if is_of_records else "id")) if rows else []
            for row in rows:
                id, source = names[row]
                if id not in seen:
                    seen.add(id)
                    continue
                duplicates[number].append(row)
                if is_of_records:
                    message = f"{source}: {id}: {remedy}"
                    yield Rejected(
                        source=source, position=id, reason="duplicate_id", message=message
                    )
        write_json(_file(work, dataset), duplicates)


def _names(path: Path, schema: str, source: str) -> Iterator[tuple[str, str]]:
    for batch in read_batches(path, schema, columns=tuple({"id", source})):
        yield from zip(
            batch.column("id").to_pylist(), batch.column(source).to_pylist(), strict=True
        )


class DuplicateRows:
    """The duplicate rows of a unit, as ``find_duplicates`` noted them."""

    def __init__(self, work: WorkDirectory, number: int) -> None:
        self._work, self._number = work, number
        self._noted: dict[str, list[int]] = {}
        self._n_seen: Counter[str] = Counter()

    def drop(self, dataset: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Drop the duplicate rows from a batch; the batches of a dataset must come in order."""
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
