"""Shards of an earlier dataset that rows are taken from, kept with the run that takes them.

A shard is kept as a hard link beside the run, or as a copy where links are impossible, so that the
earlier dataset may be deleted while the run is interrupted. Before a shard gets its name there, it
is hashed and its batches are read. The hash stands beside it, and each process compares it again
before it reads a row.
"""

import errno
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import Dataset, Shard, read_batch
from corpora.errors import CorpusError, DamagedDatasetError
from corpora.system.files import sha256_of
from corpora.system.parsing import parse_json
from corpora.system.staging import bring, url_of
from corpora.system.writing import link_or_copy, sync_folder, temporary_path, write_json
from corpora.wikipedia.block_rows import blocks_as_written

Datasets = Mapping[str, Dataset]
DOCUMENTS, NOTES, BLOCKS = "documents", "reuse", "blocks"
_OF_BLOCKS = SCHEMAS["wiki_pages"].columns.field("blocks")
ROWS = pa.schema([*SCHEMAS[DOCUMENTS].columns, *list(SCHEMAS[NOTES].columns)[1:], _OF_BLOCKS])
"""The columns of a document, of the notes on its page (which repeat only the id), and of its
blocks."""
_OPEN_SHARDS = 4
_OPEN_BATCHES = 2
_ALONE = pa.ipc.IpcReadOptions(use_threads=False)  # without threads: all shards are read so


def place_of(dataset: Dataset, shard: Shard) -> Path:
    """Return the path of a shard; it is downloaded if only the dataset's description is local.

    Raises ``CorpusError`` if it is missing from the bucket, or has other bytes than were written.
    """
    path, url = dataset.path / shard.name, url_of(dataset.path / "dataset.json")
    if path.exists() or not url:
        return path
    try:
        return bring(f"{url.rpartition('/')[0]}/{shard.name}", sha256=shard.sha256)
    except FileNotFoundError as error:
        raise CorpusError(f"{dataset.schema.name}/{shard.name}") from error


def open_shard(file: Path, name: str, *, sha256: str | None) -> pa.ipc.RecordBatchFileReader:
    """Map a shard of ``documents``, ``reuse`` or ``blocks``; raises ``CorpusError`` with its name.

    If ``sha256`` is given, the file is hashed first, and must match.
    """
    try:
        if sha256 is not None and sha256_of(file) != sha256:
            raise CorpusError(f"{name}/{file.name}")
        reader = pa.ipc.open_file(pa.memory_map(str(file)), options=_ALONE)
        if reader.schema != SCHEMAS[name].columns:
            raise CorpusError(f"{name}/{file.name}")
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"{name}/{file.name}") from error
    return reader


class KeptShards:
    """The shards that a run keeps of one earlier dataset, in a folder of the run."""

    def __init__(self, folder: Path, earlier: Callable[[], Datasets] | None = None) -> None:
        """Store the folder, which need not exist yet.

        ``earlier`` opens the earlier dataset, from which shards kept on another machine are
        fetched.
        """
        self.folder, self._earlier = folder, earlier
        self._shards: OrderedDict[int, _Shard] = OrderedDict()

    def keep(self, number: int, datasets: Datasets) -> None:
        """Keep a shard, the notes on its pages, and their blocks, unless they are kept already.

        Raises ``CorpusError`` with the name of a file that is not what was written.
        """
        note = self._note(number)
        names = {name: self._file(name, number) for name in datasets}
        if all(file.exists() for file in (note, *names.values())):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {
            name: _keep(datasets[name], datasets[name].shards[number], file)
            for name, file in names.items()
        }
        write_json(note, kept)
        sync_folder(self.folder)

    def rows(self, number: int, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield rows ``start`` to ``stop`` of a shard, with the notes on their pages, by batch."""
        yield from self._shard(number).rows(start, stop)

    def _shard(self, number: int) -> "_Shard":
        """Open a shard, or return it if it is still open; the least recently used is closed."""
        if number not in self._shards:  # no lru_cache: its reference cycle would keep the maps
            self._shards[number] = self._opened(number)
            if len(self._shards) > _OPEN_SHARDS:
                self._shards.popitem(last=False)
        self._shards.move_to_end(number)
        return self._shards[number]

    def _opened(self, number: int) -> "_Shard":
        try:
            if self._earlier and not self._note(number).exists():
                self.keep(number, self._earlier())
            kept = parse_json(self._note(number).read_text("utf-8"))
            return _Shard(
                {
                    name: open_shard(self._file(name, number), name, sha256=str(sha256))
                    for name, sha256 in kept.items()
                }
            )
        except (CorpusError, OSError, ValueError, KeyError, TypeError) as error:
            raise DamagedDatasetError(
                f"{self._file('*', number)}: not what this run has kept of the earlier one "
                f"({error}). Delete {self.folder.parents[1]}, and run the same command again."
            ) from error

    def _note(self, number: int) -> Path:
        return self.folder / f"{number:05d}.json"

    def _file(self, name: str, number: int) -> Path:
        return self.folder / f"{name}-{number:05d}.arrow"


class _Shard:
    """An open shard of documents, the notes on their pages, and their blocks; all mapped."""

    def __init__(self, readers: Mapping[str, pa.ipc.RecordBatchFileReader]) -> None:
        """Store a reader of each dataset; raises ``CorpusError`` if they hold different pages."""
        self._documents, notes = readers[DOCUMENTS], readers[NOTES]
        self._notes = [notes.get_batch(n) for n in range(notes.num_record_batches)]
        self._starts = list(accumulate(map(len, self._notes), initial=0))
        self._blocks = _Blocks(readers[BLOCKS], self._notes) if BLOCKS in readers else None
        self._read: OrderedDict[int, pa.RecordBatch] = OrderedDict()

    def rows(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield rows ``start`` to ``stop``, batch by batch."""
        for n, first, end in _parts(self._starts, start, stop):
            if n not in self._read:
                self._read[n] = self._batch(n)
                if len(self._read) > _OPEN_BATCHES:
                    self._read.popitem(last=False)
            self._read.move_to_end(n)
            yield self._read[n].slice(first, end - first)

    def _batch(self, number: int) -> pa.RecordBatch:
        """Read a batch: documents, the notes on their pages, and their blocks."""
        notes = self._notes[number]
        columns = self._documents.get_batch(number).columns + notes.columns[1:]
        blocks = pa.nulls(len(notes), _OF_BLOCKS.type)
        if self._blocks:
            first = self._starts[number]
            blocks = blocks_as_written(notes, self._blocks.of(first, first + len(notes)))
        return pa.RecordBatch.from_arrays([*columns, blocks], schema=ROWS)


class _Blocks:
    """The blocks of a shard's documents, in order; raises ``CorpusError`` for other documents."""

    def __init__(
        self, reader: pa.ipc.RecordBatchFileReader, notes: Sequence[pa.RecordBatch]
    ) -> None:
        self._reader = reader
        self._starts, lengths = [0], Counter[str]()
        for n in range(reader.num_record_batches):
            documents = reader.get_batch(n).column("document_id")
            self._starts.append(self._starts[-1] + len(documents))
            lengths.update(documents.to_pylist())
        ids = (id for batch in notes for id in batch.column("id").to_pylist())
        self._ends = list(accumulate((lengths[id] for id in ids), initial=0))
        """The blocks of document ``i`` are the rows from ``_ends[i]`` to ``_ends[i + 1]``."""
        if self._ends[-1] != self._starts[-1]:
            raise CorpusError(f"{BLOCKS}: of other documents than {NOTES}")

    def of(self, start: int, stop: int) -> pa.RecordBatch:
        """Return the blocks of adjacent documents, ``start`` to ``stop``."""
        parts = _parts(self._starts, self._ends[start], self._ends[stop])
        some = [self._reader.get_batch(n).slice(first, end - first) for n, first, end in parts]
        none = pa.RecordBatch.from_pylist([], schema=SCHEMAS[BLOCKS].columns)
        return pa.concat_batches([none, *some])


def _parts(starts: Sequence[int], start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Find the batches of rows ``start`` to ``stop``: yields batch, first row and end in it.

    ``starts`` holds the first row of each batch, and the end of the last.
    """
    while start < stop:
        n = bisect_right(starts, start) - 1
        first, end = starts[n], min(stop, starts[n + 1])
        yield n, start - first, end - first
        start = end


def _keep(dataset: Dataset, shard: Shard, target: Path) -> str:
    """Keep one file, if it is what was written; returns its hash."""
    name, temporary = dataset.schema.name, temporary_path(target)
    try:
        link_or_copy(place_of(dataset, shard), temporary)
        reader = open_shard(temporary, name, sha256=shard.sha256)
        for number in range(reader.num_record_batches):
            read_batch(reader, number)
    except (CorpusError, OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno not in {None, errno.ENOENT}:
            raise  # a fault of a disk, ours or that of the earlier run; Arrow's have no number
        raise CorpusError(f"{name}/{shard.name}") from error
    else:
        temporary.rename(target)  # does nothing if another process has just made the same link
    finally:
        temporary.unlink(missing_ok=True)
    return shard.sha256
