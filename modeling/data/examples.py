"""Memory-mapped examples: a split of an ``examples`` dataset.

Rows are read from the mapped file without a copy; only the place and the length of each row are
kept in memory, 8 bytes. Opening a dataset reads ``dataset.json``, the sizes of the files and the
split of each row. That finds a shard that is truncated or missing; ``onoma verify`` finds
other damage. Rows that a process never asks for are not read, except where they share a memory page
with others.
"""

import ctypes
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpora.datasets.filling import filled
from corpora.datasets.schemas import Schema
from corpora.datasets.shards import Dataset, Shard, check_columns, open_dataset
from corpora.errors import CorpusError, DamagedDatasetError
from modeling.data.rng import hash64

Split = Literal["train", "validation"]
Int32s = NDArray[np.int32]

_LISTS: Final = (
    "input_ids",
    "word_starts",
    "sentence_starts",
    "entity_ids",
    "entity_starts",
    "entity_ends",
)
ADVICE: Final = (
    "Were the examples made with this tokenizer and entity vocabulary? If so, run "
    "onoma verify on them, and onoma examples again."
)
_AGAIN: Final = "Run onoma examples again."


class Example(NamedTuple):
    """A row: its subwords without special ones, and positions among them; views of the file."""

    id: str
    document_id: str
    subwords: Int32s
    word_starts: Int32s
    sentence_starts: Int32s
    entities: Int32s
    entity_starts: Int32s
    entity_ends: Int32s

    @property
    def hash(self) -> int:
        """The 64-bit hash of the id."""
        return hash64(self.id)


class _Chunk(NamedTuple):
    """A record batch; ``lists`` has the offsets of the rows and the values of each list column."""

    ids: pa.StringArray
    document_ids: pa.StringArray
    lists: tuple[tuple[Int32s, Int32s], ...]


class ExampleSet:
    """The examples of one split, by index; opening copies no rows, unpickling opens files again.

    Raises ``CorpusError``, with the name of the file, if there is no dataset of examples, or if a
    shard is missing, truncated, or has other columns or rows than ``dataset.json`` says.
    """

    def __init__(self, path: Path | str, split: Split) -> None:
        self.path, self.split = Path(path), split
        self.dataset: Dataset = open_dataset(self.path, "examples")
        self._chunks: list[_Chunk] = []
        starts, rows, lengths = [0], [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
        for shard in self.dataset.shards:
            for batch in _read(self.path / shard.name, shard, self.dataset):
                chunk = _chunk_of(batch, self.path / shard.name)
                of_split = np.flatnonzero(
                    np.asarray(pc.equal(batch.column("split"), split)).astype(np.bool_)
                )
                rows.append((starts[-1] + of_split).astype(np.int64))
                lengths.append(np.diff(chunk.lists[0][0])[of_split])
                starts.append(starts[-1] + batch.num_rows)
                self._chunks.append(chunk)
        self._starts = np.array(starts)
        self._rows = np.concatenate(rows).astype(_smallest(starts[-1]))
        self.lengths: Int32s = np.concatenate(lengths).astype(np.int32)
        """The number of subwords of each example, without special ones."""

    def __reduce__(self) -> tuple[type["ExampleSet"], tuple[Path, str]]:
        return ExampleSet, (self.path, self.split)

    def __len__(self) -> int:
        """Return the number of examples in the split."""
        return len(self._rows)

    def __iter__(self) -> Iterator[Example]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Example:
        chunk, row = self._find(number)
        lists = (values[offsets[row] : offsets[row + 1]] for offsets, values in chunk.lists)
        id, document_id = self._text(chunk.ids, row), self._text(chunk.document_ids, row)
        return Example(id, document_id, *lists)

    def document_id(self, number: int) -> str:
        """Read the document id of an example, without the rest of it."""
        chunk, row = self._find(number)
        return self._text(chunk.document_ids, row)

    def hashes(self) -> NDArray[np.uint64]:
        """Compute the hash of each example's id; reads all ids, so not for training sets."""
        chunks = (self._find(number) for number in range(len(self)))
        hashes = (hash64(self._text(chunk.ids, row)) for chunk, row in chunks)
        return np.fromiter(hashes, np.uint64, len(self))

    def _text(self, column: pa.StringArray, row: int) -> str:
        try:
            return str(column[row].as_py())
        except UnicodeDecodeError as error:
            raise DamagedDatasetError(f"{self.path}: an id is no UTF-8. {_AGAIN}") from error

    def _find(self, number: int) -> tuple[_Chunk, int]:
        row = int(self._rows[number])
        chunk = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self._chunks[chunk], row - int(self._starts[chunk])


def _smallest(n: int) -> type[np.int32] | type[np.int64]:
    return np.int32 if n < 1 << 31 else np.int64


def _read(path: Path, shard: Shard, dataset: Dataset) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a shard whose size and rows are as listed.

    Raises ``DamagedDatasetError`` where they are not.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DamagedDatasetError(f"{path}: not readable ({error}). {_AGAIN}") from error
    if size != shard.bytes:
        raise DamagedDatasetError(
            f"{path}: {size} bytes, but dataset.json says {shard.bytes}. {_AGAIN}"
        )
    n_rows = 0
    for batch in _batches(path, dataset.schema):
        n_rows += batch.num_rows
        yield batch
    if n_rows != shard.rows:
        raise DamagedDatasetError(
            f"{path}: {n_rows} rows, but dataset.json says {shard.rows}. {_AGAIN}"
        )


def _batches(path: Path, schema: Schema) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of a shard, memory-mapped; no byte is read ahead."""
    try:
        with pa.ipc.open_file(pa.BufferReader(_map(path))) as reader:
            check_columns(reader.schema, schema, path=path)
            for number in range(reader.num_record_batches):
                yield filled(reader.get_batch(number), schema.columns)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: not readable as an Arrow file ({error}).") from error


def _map(path: Path) -> pa.Buffer:
    """Map a file into memory, for reads in random order.

    Arrow's own ``memory_map`` asks the system for all that it is pointed at, so that each node of a
    training run would read every shard when it opens them. For rows in random order, what the
    system reads ahead by itself is mostly of no use to this node.
    """
    with pa.memory_map(str(path)) as source:
        first = source.read_buffer(1)  # a reference to it keeps the whole map alive
        size = source.size()
    region = (ctypes.c_void_p(first.address), ctypes.c_size_t(size))
    ctypes.CDLL(None).madvise(*region, mmap.MADV_RANDOM)  # the system may ignore this advice
    return pa.foreign_buffer(first.address, size, base=first)


def _chunk_of(batch: pa.RecordBatch, path: Path) -> _Chunk:
    try:
        batch.validate()
        batch.column("split").validate(full=True)
        for name in ("id", "document_id"):
            _check_offsets(batch.column(name))
        lists = tuple(_views(batch.column(name)) for name in _LISTS)
    except pa.ArrowInvalid as error:  # also raised for a null among numbers
        raise CorpusError(f"{path}: wrong inside ({error}). {_AGAIN}") from error
    return _Chunk(batch.column("id"), batch.column("document_id"), lists)


def _views(column: pa.ListArray) -> tuple[Int32s, Int32s]:
    offsets, values = (
        part.to_numpy(zero_copy_only=True) for part in (column.offsets, column.values)
    )
    _check(offsets, len(values))
    return offsets, values


def _check_offsets(column: pa.StringArray) -> None:
    """Raise ``ArrowInvalid`` for a null, or offsets beyond the buffer; texts are not read."""
    if not len(column):
        return
    _, starts, data = column.buffers()
    offsets = np.frombuffer(starts, np.int32)[column.offset :][: len(column) + 1]
    if column.null_count:
        raise pa.ArrowInvalid("a null among the ids")
    _check(offsets, data.size if data else 0)


def _check(offsets: Int32s, size: int) -> None:
    if len(offsets) and (offsets[0] < 0 or offsets[-1] > size or (np.diff(offsets) < 0).any()):
        raise pa.ArrowInvalid("offsets beyond the values")
