"""The rows of an earlier dataset, found by the hash of the XML that they were made from.

A table beside the new run holds the place of each row. The first process that needs it builds it,
and all map it: 24 bytes per document, shared by the processes of a machine (40 while it is built).
``places`` holds, sorted by hash, the first and last 8 bytes of each hash (uint64), the index of the
row (uint32), and the characters of its text (uint32). ``ids`` holds for all rows, shard by shard,
the id, the title if it is a disambiguation page, and with ``--expand-templates`` the names of the
templates that were looked up, and the hash of their definitions. A table with other bytes than were
written is built again. A shard in which a row is found is kept with the run.
"""

import errno
import shutil
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import Dataset, Shard, open_dataset, read_batches
from corpora.errors import CorpusError
from corpora.runs.on_bucket import is_shard
from corpora.runs.plan import fingerprint_of
from corpora.system.buckets import Bucket, is_url, transfer
from corpora.system.files import sha256_of
from corpora.system.parsing import read_json
from corpora.system.staging import stage
from corpora.system.writing import sync_file, temporary_path, write_json
from corpora.wikipedia.definitions import Definitions
from corpora.wikipedia.pages import WikiPage
from corpora.wikipedia.reuse_shards import (
    BLOCKS,
    DOCUMENTS,
    NOTES,
    KeptShards,
    open_shard,
    place_of,
)
from corpora.wikipedia.revisions import Revision, revisions_in, title_in
from corpora.wikipedia.segments import Segment

_PARTS = (("first", np.uint64), ("last", np.uint64), ("row", np.uint32), ("characters", np.uint32))
IDS, PLACES, ABOUT = "ids", "places", "about.json"
_FULL = {errno.EEXIST, errno.ENOTEMPTY}  # errors of a rename onto a folder that is not empty
_OF_ROWS = ("id", "meaning", "templates", "definitions")
_IDS = pa.schema([SCHEMAS[NOTES].columns.field(name) for name in _OF_ROWS])


class RowPlace(NamedTuple):
    """The place of a page's row in an earlier dataset."""

    shard: int
    row: int
    """The index of the row in its shard."""
    characters: int
    """The characters of the row's text."""
    hash: str
    """The hash of the page's XML."""
    id: str
    """The id of the row."""
    meaning: str | None
    """The title of the page if it is a disambiguation page."""
    version: Revision
    """The revision of the row."""
    n_older: int
    """The number of older revisions in the page's element."""
    title: str
    redirects: tuple[str, ...] = ()
    """The titles that redirect to a rendered page."""


class Earlier:
    """A dataset made by the same code with the same options from another dump.

    Files that cannot be read, or do not have the hash they were written with, are not used: they
    are named in ``damaged``, and their pages are not found.
    """

    def __init__(
        self,
        folder: Path | str,
        fingerprint: str,
        kept: Path,
        *,
        definitions: Definitions | None = None,
    ) -> None:
        """Open the dataset.

        A row that shows templates is found only if ``definitions`` agree with those it was made
        with.
        """
        self.name = name_of(fingerprint)
        """The name of the folder inside ``kept``."""
        self.damaged: set[str] = set()
        self._places: _Places | None = None
        self.kept, self._definitions = kept / self.name, definitions
        self._shards = KeptShards(self.kept)
        self._is_kept: dict[int, bool] = {}
        try:
            self._datasets = open_earlier(folder, fingerprint)
            self._places = _Places(self._datasets[NOTES], self.kept / "table")
        except CorpusError:
            self.damaged.add("dataset.json")
            return
        self.damaged |= {f"{NOTES}/{name}" for name in self._places.damaged}
        self._ids_of = self._places.ids_of  # called for found rows only
        self._starts = list(accumulate((s.rows for s in self._datasets[NOTES].shards), initial=0))

    def find(self, page: Segment | WikiPage) -> RowPlace | None:
        """Find the row of the page with this XML, or of this rendered page; keep its shard."""
        found = self._places.find(page.hash) if self._places else None
        if isinstance(page, WikiPage):
            revisions = [page.version]
        else:
            revisions = revisions_in(page.data) if found else []
        if found is None or not revisions:
            return None
        number, characters = found
        shard = bisect_right(self._starts, number) - 1
        row = number - self._starts[shard]
        id, meaning, asked, then = (column[row] for column in self._ids_of(shard))
        is_as_defined = self._definitions is None or self._definitions.hash_of(asked) == then
        if not (is_as_defined and self._keep(shard)):
            return None
        version, n_older = max(revisions), len(revisions) - 1
        title = page.title if isinstance(page, WikiPage) else title_in(page.data)
        return RowPlace(shard, row, characters, page.hash, id, meaning, version, n_older, title)

    def _keep(self, number: int) -> bool:
        """Keep a shard with the run; returns False if it is damaged."""
        if number not in self._is_kept:
            try:
                self._shards.keep(number, self._datasets)
                self._is_kept[number] = True
            except CorpusError as error:
                self.damaged.add(str(error))
                self._is_kept[number] = False
        return self._is_kept[number]


def name_of(fingerprint: str) -> str:
    """Return the name of the folder for what a run keeps of an earlier one."""
    return f"earlier-{fingerprint[:16]}"


def open_earlier(folder: Path | str, fingerprint: str) -> dict[str, Dataset]:
    """Open the datasets of an earlier run; of a run in a bucket, without their shards.

    ``blocks`` is among them if the run has it. Raises ``CorpusError`` if the folder does not hold
    the run that was planned with.
    """
    datasets = {name: _open(folder, name) for name in (DOCUMENTS, NOTES)}
    if datasets[DOCUMENTS].description["plan"].get("parameters", {}).get("blocks"):
        datasets[BLOCKS] = _open(folder, BLOCKS)
    for dataset in datasets.values():
        if dataset.description["plan"].get("fingerprint") != fingerprint:
            raise CorpusError(f"{dataset.path}: is another now")
    return datasets


def put_earlier(bucket: Bucket, folder: str, fingerprint: str) -> str:
    """Upload the datasets of an earlier run of this machine; return the address.

    A run that is in a bucket already stays there. Shards that an interrupted run has uploaded are
    not sent again: workers compare their hashes with those in ``dataset.json``.
    """
    if is_url(folder):
        return folder
    bucket /= name_of(fingerprint)
    there = {found.name: found.size for found in bucket.list() if is_shard(found.name)}
    paths = {
        f"{name}/{file}": dataset.path / file
        for name, dataset in open_earlier(folder, fingerprint).items()
        for file in [*(shard.name for shard in dataset.shards), "dataset.json"]
    }

    def put(name: str) -> None:
        if paths[name].exists() and there.get(name) != paths[name].stat().st_size:
            bucket.put(name, paths[name])

    transfer(put, paths)
    return bucket.url


def _open(folder: Path | str, name: str) -> Dataset:
    """Open a dataset; its description is cached across units while the file is unchanged."""
    if is_url(folder):
        file = stage(f"{folder}/{name}/dataset.json")
        return _opened(file.parent, name, _state(file))
    folder = Path(folder)
    try:
        state = _state(folder / name / "dataset.json")
    except OSError:
        return open_dataset(folder / name, name)  # raises the error that describes the fault
    return _opened(folder / name, name, state)


@lru_cache(maxsize=4)
def _opened(path: Path, name: str, _: tuple[int, ...]) -> Dataset:
    return open_dataset(path, name)


class _Places:
    """The place and the id of each row, in mapped files of a folder."""

    def __init__(self, notes: Dataset, folder: Path) -> None:
        """Map the table; it is built first if it is missing or damaged."""
        # checked first: a table that another process builds meanwhile is kept
        if not folder.exists():
            _make_places(notes, folder)
        elif not _is_whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
            _make_places(notes, folder)
        with pa.memory_map(str(folder / PLACES)) as source:
            data = source.read_buffer() if source.size() else pa.py_buffer(b"")
        ids = pa.ipc.open_file(pa.memory_map(str(folder / IDS)))
        self.ids_of = lru_cache(maxsize=4)(
            lambda shard: [column.to_pylist() for column in ids.get_batch(shard).columns]
        )
        """Returns the ids, titles, templates and hashes of definitions of the rows of a shard."""
        self.damaged: list[str] = read_json(folder / ABOUT)["damaged"]
        n = data.size // sum(type(0).nbytes for _, type in _PARTS)
        offset = 0
        parts: dict[str, npt.NDArray[np.generic]] = {}
        for name, type in _PARTS:
            parts[name] = np.frombuffer(data, type, n, offset)
            offset += parts[name].nbytes
        self._first, self._last = parts["first"], parts["last"]
        self._row, self._characters = parts["row"], parts["characters"]

    def find(self, hash: str) -> tuple[int, int] | None:
        """Find the index of a row among all rows, and the length of its text in characters."""
        first, last = np.frombuffer(bytes.fromhex(hash), np.uint64)
        place = int(self._first.searchsorted(first))
        while place < len(self._first) and self._first[place] == first:
            if self._last[place] == last:
                return int(self._row[place]), int(self._characters[place])
            place += 1
        return None


def _is_whole(folder: Path) -> bool:
    """Tell whether a table has the bytes that were written; each process hashes it once."""
    try:
        states = tuple(_state(folder / name) for name in (ABOUT, IDS, PLACES))
        return _has_its_hashes(folder, states)
    except OSError:
        return False


@lru_cache(maxsize=4)
def _has_its_hashes(folder: Path, _: tuple[tuple[int, ...], ...]) -> bool:
    try:
        about = read_json(folder / ABOUT)
        return bool(about == _about(folder, about["damaged"]))
    except (ValueError, KeyError, TypeError):
        return False


def _about(folder: Path, damaged: Sequence[str]) -> Mapping[str, object]:
    """Build the description of a table, with a hash of the description."""
    about = {"damaged": damaged, "files": {n: sha256_of(folder / n) for n in (IDS, PLACES)}}
    return about | {"sha256": fingerprint_of(about)}


def _state(file: Path) -> tuple[int, ...]:
    status = file.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _make_places(notes: Dataset, folder: Path) -> None:
    """Sort the hashes of all rows, and write where the rows lie.

    The folder appears in one step; several processes, on several machines, may build it at once.
    """
    made = temporary_path(folder)
    made.mkdir(parents=True)
    try:
        _write_places(notes, made)
        made.rename(folder)
    except BaseException as error:
        shutil.rmtree(made, ignore_errors=True)
        # else another process made it
        if not (isinstance(error, OSError) and error.errno in _FULL):
            raise


def _write_places(notes: Dataset, folder: Path) -> None:
    columns: dict[str, list[npt.NDArray[np.generic]]] = {name: [] for name, _ in _PARTS}
    damaged = []
    n_rows = 0
    with pa.ipc.new_file(str(folder / IDS), _IDS) as ids:
        for shard in notes.shards:
            table = _IDS.empty_table()
            try:
                table = _read(notes, shard)
                _collect(table, n_rows, columns)
            except CorpusError:
                damaged.append(shard.name)
            of_shard = [table.column(name).combine_chunks() for name in _IDS.names]
            ids.write_batch(pa.record_batch(of_shard, schema=_IDS))
            n_rows += shard.rows
    arrays = [np.concatenate([np.empty(0, type), *columns.pop(name)]) for name, type in _PARTS]
    order = np.argsort(arrays[0])
    with (folder / PLACES).open("wb") as places:
        places.writelines(array[order].data for array in arrays)
    for name in (IDS, PLACES):
        sync_file(folder / name)
    write_json(folder / ABOUT, _about(folder, damaged))


def _read(notes: Dataset, shard: Shard) -> pa.Table:
    """Read the notes on the pages of a shard; raises ``CorpusError`` where it is damaged."""
    file = place_of(notes, shard)
    open_shard(file, NOTES, sha256=shard.sha256)
    wanted = {*_OF_ROWS, "xml", "characters"}
    schema = pa.schema([field for field in notes.schema.columns if field.name in wanted])
    table = pa.Table.from_batches(read_batches(file, notes.schema, columns=schema.names), schema)
    if len(table) != shard.rows:
        raise CorpusError("other rows than dataset.json says")
    return table


def _collect(
    table: pa.Table, n_before: int, columns: Mapping[str, list[npt.NDArray[np.generic]]]
) -> None:
    """Append the hashes, indices and text lengths of a shard's rows to ``columns``."""
    digits = "".join(table.column("xml").to_pylist())
    hashes = np.frombuffer(bytes.fromhex(digits), np.uint64).reshape(-1, 2)
    columns["first"].append(hashes[:, 0])
    columns["last"].append(hashes[:, 1])
    columns["row"].append(np.arange(n_before, n_before + len(hashes), dtype=np.uint32))
    columns["characters"].append(table.column("characters").to_numpy().astype(np.uint32))
