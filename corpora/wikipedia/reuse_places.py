"""The rows of an earlier dataset, found by the hash of the XML that they were made from.

Where each row lies is a table beside the new run, made once by whoever needs it first and mapped by
all: 24 bytes a document, shared by the processes of a machine; 40 while it is made. ``places``
holds, in the order of the hashes, their first and last 8 bytes (uint64), the number of the row
(uint32), and the characters of its text (uint32); ``ids`` the ids of all rows, shard by shard. A
shard in which a row is found is kept with the run.
"""

import json
import shutil
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.build import sync_file
from corpora.errors import CorpusError
from corpora.schemas import SCHEMAS
from corpora.shards import Dataset, Shard, open_dataset, read_batches, temporary_path
from corpora.wikipedia.reuse_shards import DOCUMENTS, NOTES, KeptShards, open_shard

_PARTS = (("first", np.uint64), ("last", np.uint64), ("row", np.uint32), ("characters", np.uint32))
_IDS = pa.schema([SCHEMAS[NOTES].columns.field("id")])


class Place(NamedTuple):
    """Where the row of a page lies in an earlier dataset."""

    shard: int
    row: int
    """In the shard."""
    characters: int
    """Of its text."""
    hash: str
    """Of the page's XML."""


def earlier_of(setting: Mapping[str, str] | None, *, kept: Path) -> "Earlier | None":
    """The earlier dataset that a unit takes rows from: its own, for a process may have threads.

    ``kept`` is the folder for what the run keeps of it.
    """
    if setting is None:
        return None
    return Earlier(Path(setting["folder"]), setting["fingerprint"], kept)


class Earlier:
    """A dataset that was made by the same code with the same options from another dump.

    What cannot be read of it, or has other bytes than were written, is not used: it is named in
    ``damaged``, and its pages are not found.
    """

    def __init__(self, folder: Path, fingerprint: str, kept: Path) -> None:
        self.name = f"earlier-{fingerprint[:16]}"
        """Of the folder inside ``kept``."""
        self.damaged: set[str] = set()
        self._places: _Places | None = None
        self.kept = kept / self.name
        self._shards = KeptShards(self.kept)
        self._is_kept: dict[int, bool] = {}
        try:
            self._datasets = {name: _open(folder, name) for name in (DOCUMENTS, NOTES)}
            self._check(fingerprint)
            self._places = _Places(self._datasets[NOTES], self.kept / "table")
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
        """Where the row of the page lies whose XML has this hash; its shard is kept from now on."""
        found = self._places.find(hash) if self._places else None
        if found is None:
            return None
        row, characters = found
        number = bisect_right(self._starts, row) - 1
        if not self._keep(number):
            return None
        return Place(number, row - self._starts[number], characters, hash)

    def ids(self, places: Sequence[Place]) -> pa.StringArray:
        """The ids of rows that were found."""
        ids: Any = self._places.ids if self._places else None
        return pa.concat_arrays(
            ids.get_batch(shard).column(0).take(pa.array([place.row for place in some]))
            for shard, some in groupby(places, attrgetter("shard"))
        )

    def _keep(self, number: int) -> bool:
        """Keep a shard; returns whether it is what was written."""
        if number not in self._is_kept:
            try:
                self._shards.keep(number, self._datasets)
                self._is_kept[number] = True
            except CorpusError as error:
                self.damaged.add(str(error))
                self._is_kept[number] = False
        return self._is_kept[number]


def _open(folder: Path, name: str) -> Dataset:
    """Open a dataset whose description is not read again for each unit while it is the same."""
    try:
        status = (folder / name / "dataset.json").stat()
    except OSError:
        return open_dataset(folder / name, name)  # which says what is wrong
    return _opened(folder / name, name, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=4)
def _opened(path: Path, name: str, _: tuple[int, ...]) -> Dataset:
    return open_dataset(path, name)


class _Places:
    """Where each row lies, and its id: files of a folder, mapped."""

    def __init__(self, notes: Dataset, folder: Path) -> None:
        """Make the folder unless it is there; raises ``CorpusError`` where it is damaged."""
        if not folder.exists():
            _make_places(notes, folder)
        try:
            with pa.memory_map(str(folder / "places")) as source:
                data = source.read_buffer() if source.size() else pa.py_buffer(b"")
            self.ids = pa.ipc.open_file(pa.memory_map(str(folder / "ids")))
            """A batch for each shard."""
            self.damaged: list[str] = json.loads((folder / "damaged.json").read_text("utf-8"))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise CorpusError(f"{folder}: damaged ({error})") from error
        n = data.size // sum(type(0).nbytes for _, type in _PARTS)
        offset = 0
        parts: dict[str, npt.NDArray[Any]] = {}
        for name, type in _PARTS:
            parts[name] = np.frombuffer(data, type, n, offset)
            offset += parts[name].nbytes
        self._first, self._last = parts["first"], parts["last"]
        self._row, self._characters = parts["row"], parts["characters"]

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
    """Sort the hashes of all rows, and write where they lie.

    The folder comes in one step; several processes may make it, on several machines.
    """
    columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name, _ in _PARTS}
    damaged = []
    n_rows = 0
    made = temporary_path(folder)
    made.mkdir(parents=True)
    with pa.ipc.new_file(str(made / "ids"), _IDS) as ids:
        for shard in notes.shards:
            table = _IDS.empty_table()
            try:
                table = _read(notes, shard)
                _collect(table, n_rows, columns)
            except CorpusError:
                damaged.append(shard.name)
            of_shard = table.column("id").combine_chunks()
            ids.write_batch(pa.record_batch([of_shard], schema=_IDS))
            n_rows += shard.rows
    arrays = [np.concatenate([np.empty(0, type), *columns.pop(name)]) for name, type in _PARTS]
    order = np.argsort(arrays[0])
    with (made / "places").open("wb") as places:
        places.writelines(array[order].data for array in arrays)
    (made / "damaged.json").write_text(json.dumps(damaged), "utf-8")
    for file in made.iterdir():
        sync_file(file)
    try:
        made.rename(folder)
    except OSError:
        shutil.rmtree(made)
        if not folder.exists():  # no other process was faster
            raise


def _read(notes: Dataset, shard: Shard) -> pa.Table:
    """Read what is known of the pages of a shard; raises ``CorpusError`` where it is damaged."""
    file = notes.path / shard.name
    open_shard(file, NOTES, sha256=shard.sha256)
    columns = ("id", "xml", "characters")
    schema = pa.schema([notes.schema.columns.field(name) for name in columns])
    table = pa.Table.from_batches(read_batches(file, notes.schema, columns=columns), schema)
    if len(table) != shard.rows:
        raise CorpusError("other rows than dataset.json says")
    return table


def _collect(table: pa.Table, n_before: int, columns: Mapping[str, list[npt.NDArray[Any]]]) -> None:
    """Add the hashes and lengths of a shard."""
    digits = "".join(table.column("xml").to_pylist())
    hashes = np.frombuffer(bytes.fromhex(digits), np.uint64).reshape(-1, 2)
    columns["first"].append(hashes[:, 0])
    columns["last"].append(hashes[:, 1])
    columns["row"].append(np.arange(n_before, n_before + len(hashes), dtype=np.uint32))
    columns["characters"].append(table.column("characters").to_numpy().astype(np.uint32))
