"""The rows of an earlier dataset, found by the hash of the XML that they were made from.

Where each row lies is a file beside the new run, made once by whoever needs it first and mapped by
all: 24 bytes a document, shared by the processes of a machine; 40 while it is made. It holds, in
the order of the hashes, their first and last 8 bytes (uint64), the number of the row (uint32), and
the characters of its text (uint32). Shards are mapped, too; each is used only after its SHA-256
was found to be what ``dataset.json`` says: once for each unit that needs it, unless that takes
pages from many shards in turn, which no dump in the order of page ids does.
"""

import hashlib
import json
import os
import uuid
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.errors import CorpusError, DamagedDatasetError
from corpora.schemas import SCHEMAS
from corpora.shards import Dataset, Shard, open_dataset

ROWS = SCHEMAS["wiki_pages"].columns
DOCUMENTS, NOTES = "documents", "reuse"
_OPEN_SHARDS = 4
_OPEN_BATCHES = 2
_PARTS = (("first", np.uint64), ("last", np.uint64), ("row", np.uint32), ("characters", np.uint32))


class Place(NamedTuple):
    """Where the row of a page lies in an earlier dataset."""

    shard: int
    row: int
    """In the shard."""
    characters: int
    """Of its text."""


def earlier_of(setting: Mapping[str, str] | None, *, scratch: Path) -> "Earlier | None":
    """The earlier dataset that a unit takes rows from: its own, for a process may have threads."""
    if setting is None:
        return None
    return Earlier(Path(setting["folder"]), setting["fingerprint"], scratch)


class Earlier:
    """A dataset that was made by the same code with the same options from another dump.

    What cannot be read of it, or has other bytes than were written, is not used: it is named in
    ``damaged``, and its pages are not found.
    """

    def __init__(self, folder: Path, fingerprint: str, scratch: Path) -> None:
        self.damaged: set[str] = set()
        self._places: _Places | None = None
        self._shards: OrderedDict[int, _OpenShard | None] = OrderedDict()
        try:
            self._datasets = {
                name: open_dataset(folder / name, name) for name in (DOCUMENTS, NOTES)
            }
            self._check(fingerprint)
            self._places = _Places(self._datasets[NOTES], scratch / f"earlier-{fingerprint[:16]}")
        except CorpusError:
            self.damaged.add("dataset.json")
            return
        self.damaged |= {f"{NOTES}/{name}" for name in self._places.damaged}
        self._starts = list(accumulate((s.rows for s in self._datasets[NOTES].shards), initial=0))

    def _check(self, fingerprint: str) -> None:
        """Raise ``CorpusError`` where it is not the dataset that the run was planned with."""
        for dataset in self._datasets.values():
            if dataset.description["plan"].get("fingerprint") != fingerprint:
                raise CorpusError(f"{dataset.path}: is another now")

    def find(self, hash: str) -> Place | None:
        """Where the row of the page lies whose XML has this hash."""
        found = self._places.find(hash) if self._places else None
        if found is None:
            return None
        row, characters = found
        number = bisect_right(self._starts, row) - 1
        return Place(number, row - self._starts[number], characters) if self._open(number) else None

    def rows(self, number: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Rows of a shard in which ``find`` found some, batch by batch, as ``wiki_pages``."""
        shard = self._open(number)
        if shard is None:
            raise DamagedDatasetError(
                f"Shard {number} of the earlier run was taken away while it was in use. Run again, "
                "with another --reuse or without."
            )
        yield from shard.rows(start, stop)

    def _open(self, number: int) -> "_OpenShard | None":
        """Open a shard, and keep it open while it is in use; None for one that is damaged."""
        if number in self._shards:
            self._shards.move_to_end(number)
            return self._shards[number]
        shard = None
        try:
            shard = _OpenShard(
                {name: (d.path, d.shards[number]) for name, d in self._datasets.items()}
            )
        except CorpusError as error:
            self.damaged.add(str(error))
        self._shards[number] = shard
        kept = [n for n, opened in self._shards.items() if opened is not None]
        if len(kept) > _OPEN_SHARDS:
            del self._shards[kept[0]]
        return shard


class _OpenShard:
    """The documents of a shard, and what is known of their pages; mapped."""

    def __init__(self, files: Mapping[str, tuple[Path, Shard]]) -> None:
        """Raise ``CorpusError``, with its name, for a file that is not what was written."""
        readers = {name: _open(name, *file) for name, file in files.items()}
        self._documents = readers[DOCUMENTS]
        notes = readers[NOTES]
        self._notes = [notes.get_batch(n) for n in range(notes.num_record_batches)]
        self._starts = list(accumulate(map(len, self._notes), initial=0))
        self._batches: OrderedDict[int, pa.RecordBatch] = OrderedDict()

    def rows(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        while start < stop:
            number = bisect_right(self._starts, start) - 1
            first, end = self._starts[number], min(stop, self._starts[number + 1])
            yield self._batch(number).slice(start - first, end - start)
            start = end

    def _batch(self, number: int) -> pa.RecordBatch:
        if number not in self._batches:
            documents, notes = self._documents.get_batch(number), self._notes[number]
            columns = documents.columns + notes.columns[1:]  # both have the id
            self._batches[number] = pa.RecordBatch.from_arrays(columns, schema=ROWS)
            if len(self._batches) > _OPEN_BATCHES:
                self._batches.popitem(last=False)
        self._batches.move_to_end(number)
        return self._batches[number]


def _open(name: str, folder: Path, shard: Shard) -> Any:
    """Map a shard, hash it, and open what was hashed."""
    try:
        data = _mapped(folder / shard.name)
        if hashlib.sha256(data).hexdigest() != shard.sha256:
            raise CorpusError(f"{name}/{shard.name}")
        reader = pa.ipc.open_file(pa.BufferReader(data))
        if reader.schema != SCHEMAS[name].columns:
            raise CorpusError(f"{name}/{shard.name}")
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"{name}/{shard.name}") from error
    return reader


def _mapped(file: Path) -> pa.Buffer:
    with pa.memory_map(str(file)) as source:
        return source.read_buffer() if source.size() else pa.py_buffer(b"")


class _Places:
    """Where each row lies: a folder of two files, mapped; the second is written last."""

    def __init__(self, notes: Dataset, folder: Path) -> None:
        if not (folder / "places").exists():
            _make_places(notes, folder)
        data = _mapped(folder / "places")
        n = data.size // sum(type(0).nbytes for _, type in _PARTS)
        offset = 0
        parts: dict[str, npt.NDArray[Any]] = {}
        for name, type in _PARTS:
            parts[name] = np.frombuffer(data, type, n, offset)
            offset += parts[name].nbytes
        self._first, self._last = parts["first"], parts["last"]
        self._row, self._characters = parts["row"], parts["characters"]
        self.damaged: list[str] = json.loads((folder / "damaged.json").read_text("utf-8"))

    def find(self, hash: str) -> tuple[int, int] | None:
        """The number of a row among all, and the characters of its text."""
        first, last = np.frombuffer(bytes.fromhex(hash), np.uint64)
        place = int(self._first.searchsorted(first))
        while place < len(self._first) and self._first[place] == first:
            if self._last[place] == last:
                return int(self._row[place]), int(self._characters[place])
            place += 1
        return None


def _make_places(notes: Dataset, folder: Path) -> None:
    """Sort the hashes of all rows, and write where they lie."""
    columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name, _ in _PARTS}
    damaged = []
    n_rows = 0
    for shard in notes.shards:
        try:
            table = _open(NOTES, notes.path, shard).read_all()
            if len(table) != shard.rows:
                raise CorpusError("other rows than dataset.json says")
            _collect(table, n_rows, columns)
        except CorpusError:
            damaged.append(shard.name)
        n_rows += shard.rows
    arrays = [np.concatenate([np.empty(0, type), *columns.pop(name)]) for name, type in _PARTS]
    order = np.argsort(arrays[0])
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "damaged.json", [json.dumps(damaged).encode()])
    _write(folder / "places", (array[order].data for array in arrays))


def _collect(table: pa.Table, n_before: int, columns: Mapping[str, list[npt.NDArray[Any]]]) -> None:
    """Add the hashes and lengths of a shard."""
    digits = "".join(table.column("xml").to_pylist())
    hashes = np.frombuffer(bytes.fromhex(digits), np.uint64).reshape(-1, 2)
    columns["first"].append(hashes[:, 0])
    columns["last"].append(hashes[:, 1])
    columns["row"].append(np.arange(n_before, n_before + len(hashes), dtype=np.uint32))
    columns["characters"].append(table.column("characters").to_numpy().astype(np.uint32))


def _write(file: Path, parts: "Iterator[memoryview] | Sequence[bytes]") -> None:
    """Write a file in one step; several processes may write the same one, on several machines."""
    temporary = file.with_name(f".tmp-{uuid.uuid4().hex}-{file.name}")
    with temporary.open("wb") as written:
        written.writelines(parts)
        written.flush()
        os.fsync(written.fileno())
    temporary.rename(file)
