"""Datasets on disk: writing shards and reading datasets; ``schemas.py`` defines their columns.

A dataset is a folder with ``shard-00000.arrow …`` (Arrow IPC file format), ``rejected.jsonl`` and
``dataset.json``, which is written last; a folder without ``dataset.json`` is not a dataset.
``onoma verify DIR`` and ``show DIR`` are in ``corpora/store/inspection.py``.
"""

import hashlib
import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from typing import IO, Annotated, Any, NotRequired, Self, TypedDict, cast

import msgspec
import pyarrow as pa

from corpora.datasets.document_batches import batch_of, documents_of
from corpora.datasets.filling import filled, lacks_only_nullable
from corpora.datasets.rows import FROM_ROW, Row
from corpora.datasets.schemas import SCHEMAS, Schema
from corpora.document import Document, Sentence
from corpora.errors import CorpusError, DamagedDatasetError, ShardSchemaError, UsageError
from corpora.system.buckets import is_url
from corpora.system.files import is_one_plain_name
from corpora.system.parsing import JsonObject, ParseError, parse_json, typed
from corpora.system.writing import temporary_path

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A count that fits into Arrow's numbers."""
Counts = dict[str, Count]
ROWS_PER_BATCH = 1024
CHARACTERS_PER_BATCH = 1 << 20
"""The number of characters of texts at which a batch is written, whatever makes the rows."""


class ShardRecord(TypedDict):
    """The form of a ``Shard`` in ``dataset.json``."""

    name: str
    rows: int
    bytes: int
    sha256: str


class AccountingRecord(TypedDict):
    """The form of an ``Accounting`` in ``dataset.json``."""

    read: int
    written: int
    filtered: Mapping[str, int]
    rejected: Mapping[str, int]


class Description(TypedDict):
    """The content of ``dataset.json``, which is written last when a dataset is published."""

    schema: str
    version: int
    plan: JsonObject
    shards: list[ShardRecord]
    accounting: AccountingRecord
    counters: NotRequired[dict[str, int]]
    forgotten: NotRequired[JsonObject]


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a dataset, as ``dataset.json`` lists it."""

    name: str
    rows: Count
    bytes: Count
    sha256: str

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a name outside the folder."""
        if not is_one_plain_name(self.name):
            raise ValueError(f"{self.name!r} is no plain name of a file in its folder")

    def to_json(self) -> ShardRecord:
        """Return the entry of the shard in ``dataset.json``."""
        return cast("ShardRecord", asdict(self))


class _HashingFile:
    """A file that computes the SHA-256 and counts the bytes of what is written to it."""

    def __init__(self, path: Path, *, is_lasting: bool) -> None:
        self.file: IO[bytes] = path.open("xb")
        self.is_lasting = is_lasting
        self.sha256 = hashlib.sha256()
        self.bytes = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.bytes += memoryview(data).nbytes
        return self.file.write(data)

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.file.flush()
            if self.is_lasting:
                os.fsync(self.file.fileno())
            self.file.close()


class ShardWriter:
    """A writer of one shard: temporary name, fsync, rename; the hash is computed while writing.

    Use it with ``with``; an exception inside leaves no shard behind. ``shard`` is None until the
    shard is finished. Without ``is_lasting`` there is no fsync: after a power cut the shard may be
    lost or damaged, so its readers must check the hash.
    """

    def __init__(self, path: Path, schema: Schema, *, is_lasting: bool = True) -> None:
        self.path, self.schema, self.is_lasting = path, schema, is_lasting
        self.shard: Shard | None = None
        self._temporary = temporary_path(path)
        self._rows: list[Row | Document] = []
        self._n_rows = self._n_characters = 0

    def __enter__(self) -> Self:
        """Open the temporary file."""
        options = pa.ipc.IpcWriteOptions(
            compression=self.schema.compression,
            use_threads=False,  # buffers are small: threads would take a fifth more time
        )
        self._file = _HashingFile(self._temporary, is_lasting=self.is_lasting)
        self._sink = pa.PythonFile(self._file, mode="w")
        self._writer = pa.ipc.new_file(self._sink, self.schema.columns, options=options)
        return self

    def write(self, row: Row | Document) -> None:
        """Add a row, or a document where all rows are; it reaches the disk with its batch."""
        self._rows.append(row)
        text = row.text if isinstance(row, Document) else row.get("text") or ""
        self._n_characters += len(text)
        if len(self._rows) >= ROWS_PER_BATCH or self._n_characters >= CHARACTERS_PER_BATCH:
            self._flush()

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add a batch of rows, after the rows that were added before."""
        self._flush()
        if batch.num_rows:
            self._writer.write_batch(batch)
            self._n_rows += batch.num_rows

    def _flush(self) -> None:
        if self._rows:
            batch = _batch_of(self._rows, self.schema)
            self._rows, self._n_characters = [], 0
            self.write_batch(batch)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Finish the shard; after an exception remove the temporary file instead."""
        if kind is not None:
            self._abandon()
            return
        try:
            self._flush()
            self._writer.close()
            self._file.close()
            self._temporary.rename(self.path)
        except BaseException:
            self._abandon()
            raise
        sha256 = self._file.sha256.hexdigest()
        self.shard = Shard(self.path.name, self._n_rows, self._file.bytes, sha256)

    def _abandon(self) -> None:
        self._temporary.unlink(missing_ok=True)
        with suppress(OSError):  # closing writes what is buffered, perhaps to a full disk
            self._file.file.close()


def _batch_of(rows: Sequence[Row | Document], schema: Schema) -> pa.RecordBatch:
    """Convert rows to a batch; raise ``CorpusError`` for values that a column cannot hold."""
    try:
        if isinstance(rows[0], Document):
            return batch_of(cast("Sequence[Document]", rows))
        return pa.RecordBatch.from_pylist(rows, schema=schema.columns)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        if len(rows) > 1:  # find the row
            for row in rows:
                _batch_of([row], schema)
        id = rows[0].id if isinstance(rows[0], Document) else rows[0].get("id")
        raise CorpusError(f"{id!r:.300}: cannot be written as {schema.name}: {error}") from error


@dataclass(frozen=True, slots=True)
class Dataset:
    """A complete dataset, as ``open_dataset`` returns it."""

    path: Path
    schema: Schema = field(hash=False)
    shards: tuple[Shard, ...]
    description: Description = field(hash=False)
    """The content of ``dataset.json``."""

    def __repr__(self) -> str:
        """Return one line, for notebooks."""
        return f"Dataset({str(self.path)!r}, {self.schema.name}, {self.n_rows:,} rows)"

    @property
    def n_rows(self) -> int:
        """The number of rows in all shards."""
        return sum(shard.rows for shard in self.shards)

    def batches(self, columns: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read the shards, or only some columns, in order, memory-mapped, batch by batch."""
        paths = [self.path / shard.name for shard in self.shards]
        return read_shards(paths, self.schema, columns=columns)

    def rows(self) -> Iterator[Row]:
        """Read the rows in order."""
        for batch in self.batches():
            yield from batch.to_pylist()

    def records(self) -> Iterator[Document | Sentence]:
        """Read the rows in order as documents or sentences; each batch is checked.

        Raises ``ShardSchemaError`` for datasets of other records, which can be read by ``rows``
        only.
        """
        if self.schema.name not in FROM_ROW:
            raise ShardSchemaError(f"{self.path}: {self.schema.name} are rows; read rows().")
        if self.schema.name == "documents":
            return chain.from_iterable(map(documents_of, self.batches()))
        return map(FROM_ROW[self.schema.name], self.rows())

    @property
    def version(self) -> int:
        """The version that was written; later columns are filled in."""
        return int(self.description["version"])

    def __len__(self) -> int:
        """Return the number of rows of all shards."""
        return self.n_rows

    def __iter__(self) -> Iterator[Any]:  # Any: the type depends on the schema
        """Iterate over documents or sentences, or over rows for other schemas, in order."""
        return iter(self.records() if self.schema.name in FROM_ROW else self.rows())

    def __contains__(self, id: object) -> bool:
        """Tell whether a record has this id; what is no string is compared with each record."""
        if not isinstance(id, str):
            return any(record == id for record in self)
        return any(id in batch.column("id").to_pylist() for batch in self.batches(("id",)))

    def __getitem__(self, id: object) -> Any:  # Any: as above
        """Find a record by its id, in the form that iteration yields; reads ids until it is found.

        Raises ``KeyError`` where there is none, and ``TypeError`` for a number or a slice.
        """
        if not isinstance(id, str):
            raise TypeError(
                f"{id!r:.60} is no id. A record is found by its id, a string; the first ones are "
                "itertools.islice(dataset, 3), all are list(dataset)."
            )
        for shard in self.shards:
            path = self.path / shard.name
            batches = read_batches(path, self.schema, columns=("id",))
            for number, batch in enumerate(batches):
                found = batch.column("id").to_pylist()
                if id not in found:
                    continue
                whole = next(islice(read_batches(path, self.schema), number, None))
                [row] = whole.slice(found.index(id), 1).to_pylist()
                make = FROM_ROW.get(self.schema.name)
                return make(row) if make else row
        raise KeyError(id)


def read_batches(
    path: Path, schema: Schema | str, *, columns: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Read one shard, memory-mapped, or only some ``columns`` of it; each batch is validated.

    ``schema`` may be a name. Columns that an earlier version lacks are null, or empty lists. Raises
    ``CorpusError`` where the file is no shard of this schema, or is damaged inside.
    """
    schema = SCHEMAS[schema] if isinstance(schema, str) else schema
    with _opened(path, schema, columns) as shard:
        for number in range(shard.n_batches):
            yield shard.batch(number)


def read_batch_of(path: Path, schema: Schema, number: int) -> pa.RecordBatch:
    """Read the rows of a shard whose first column holds ``number``; raises as ``read_batches``.

    All rows of a number must be one batch, and the batches in ascending order: of the others, the
    first columns of a few are read. No row has the number: the batch is empty.
    """
    first = schema.columns.names[:1]
    with _opened(path, schema, ()) as shard, _opened(path, schema, first) as numbers:

        def number_at(place: int) -> int:
            return int(numbers.batch(place).column(0)[0].as_py())

        place = bisect_left(range(shard.n_batches), number, key=number_at)
        if place < shard.n_batches and number_at(place) == number:
            return shard.batch(place)
    return pa.RecordBatch.from_pylist([], schema=schema.columns)


@dataclass(frozen=True, slots=True)
class _Opened:
    """An open shard, which is read batch by batch."""

    reader: pa.RecordBatchFileReader
    columns: pa.Schema
    """The columns of the batches."""

    @property
    def n_batches(self) -> int:
        return int(self.reader.num_record_batches)

    def batch(self, number: int) -> pa.RecordBatch:
        """Read and validate a batch, and fill in what an earlier version lacks."""
        return filled(read_batch(self.reader, number), self.columns)


@contextmanager
def _opened(path: Path, schema: Schema, columns: Sequence[str]) -> Iterator[_Opened]:
    """Open a shard, or only some ``columns`` of it, and turn errors of reading into ours."""
    names = columns or schema.columns.names
    wanted = pa.schema([schema.columns.field(name) for name in names])
    try:
        with pa.memory_map(str(path)) as source:
            written = pa.ipc.open_file(source).schema
            check_columns(written, schema, path=path)
            fields = [i for i, name in enumerate(written.names) if name in names]
            options = pa.ipc.IpcReadOptions(included_fields=fields or [0], use_threads=False)
            with pa.ipc.open_file(source, options=options) as reader:
                yield _Opened(reader, wanted)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DamagedDatasetError(f"{path}: not readable as an Arrow file ({error}).") from error


def check_columns(written: pa.Schema, schema: Schema, *, path: Path) -> None:
    """Raise ``ShardSchemaError`` unless a file has the columns of its schema, or of an earlier one.

    It is an earlier one if all that it lacks are nullable columns and fields.
    """
    if not (written == schema.columns or lacks_only_nullable(written, schema.columns)):
        raise ShardSchemaError(
            f"{path}: its columns are not those of {schema.name} version {schema.version}. "
            f"Run again: {schema.made_by}."
        )


def read_shards(
    paths: Iterable[Path], schema: Schema, *, columns: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Read shards one after the other, as ``read_batches`` does each."""
    for path in paths:
        yield from read_batches(path, schema, columns=columns)


def read_batch(reader: pa.RecordBatchFileReader, number: int) -> pa.RecordBatch:
    """Read and validate a batch of a file from any source; raises ``pa.ArrowInvalid``.

    A file with the right hash may still be wrong inside: offsets beyond the end of the values, text
    that is no UTF-8, nulls in columns without nulls. Using such a batch crashes the process.
    """
    batch = reader.get_batch(number)
    batch.validate(full=True)
    for of, column in zip(batch.schema, batch.columns, strict=True):
        if column.null_count and not of.nullable:
            raise pa.ArrowInvalid(f"a null in the column {of.name}")
    return batch


def read_documents(path: Path) -> Iterator[Document]:
    """Read the documents of a ``documents`` shard."""
    for batch in read_batches(path, "documents"):
        yield from documents_of(batch)


def read_tagged(path: Path, *, split: str | None = None, tags: str = "tags") -> Iterator[Sentence]:
    """Read tokens and tags of a ``ner`` shard: the sentences of a split, or of all splits.

    ``tags`` is their column; sentences without ``inner_tags`` are left out if it is that.
    """
    import pyarrow.compute as pc

    names = ("id", "document_id", "split", "tokens", tags)
    known: dict[str, str] = {}
    for batch in read_batches(path, "ner", columns=names):
        batch = batch.filter(pc.is_valid(batch.column(tags)))  # noqa: PLW2901
        if split is not None:
            batch = batch.filter(pc.equal(batch.column("split"), split))  # noqa: PLW2901
        ids = batch.column("id").to_pylist()
        texts = (_strings(batch.column(name), known) for name in names[1:3])
        lists = (_tuples(batch.column(name), known) for name in names[3:])
        for id, document_id, of, tokens, own in zip(ids, *texts, *lists, strict=True):
            yield Sentence(id=id, document_id=document_id, split=of, tokens=tokens, tags=own)


def _tuples(column: pa.ListArray, known: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """Convert lists of strings to tuples; equal strings are one object."""
    import pyarrow.compute as pc

    values = _strings(column.flatten(), known)
    ends = accumulate(pc.list_value_length(column).to_pylist(), initial=0)
    return (tuple(values[start:end]) for start, end in pairwise(ends))


def _strings(column: pa.StringArray, known: dict[str, str]) -> list[str]:
    """Convert a column to strings; equal ones are one object, that in ``known`` if it is there."""
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary.to_numpy(zero_copy_only=False)
    distinct[:] = [known.setdefault(value, value) for value in distinct.tolist()]
    values: list[str] = distinct[encoded.indices.to_numpy()].tolist()
    return values


def open_dataset(path: Path | str, schema: str | None = None) -> Dataset:
    """Open a dataset; raises ``CorpusError`` where there is none, or one of another version.

    A dataset in a bucket is copied to this machine first.
    """
    if is_url(path):
        from corpora.system.staging import stage

        path = stage(str(path))
    path = Path(path)
    description = read_description(path)
    name = description["schema"]
    if schema is not None and name != schema:
        remedy = f" Name a dataset of {SCHEMAS[schema].made_by}." if schema in SCHEMAS else ""
        raise ShardSchemaError(f"{path}: holds {name!r}, not {schema!r}.{remedy}")
    known = SCHEMAS.get(str(name))
    if known is None or not known.opens(description["version"]):
        raise ShardSchemaError(f"{path}: {_other_version(description, known)}")
    shards = tuple(typed(list[Shard], description["shards"]))
    return Dataset(path, known, shards, description)


def _other_version(description: Description, known: Schema | None) -> str:
    """Describe a dataset that this code cannot open, and what to run."""
    name, version = description["schema"], description["version"]
    if known is None:
        return f"{name} version {version}, but this code has no such schema. Update Onoma."
    is_later = isinstance(version, int) and version > known.version
    again = "Update Onoma" if is_later else f"Run again: {known.made_by}"
    return f"{name} version {version}, but this code has version {known.version}. {again}."


def _no_dataset(path: Path) -> CorpusError:
    refuse_versions(path)
    if inside := ", ".join(folder.name for folder in datasets_in(path)):
        return UsageError(f"{path}: holds datasets, but is none. Name one: {inside}.")
    if path.is_file():
        what = f"{path}: no dataset, but a file. Name the folder that holds dataset.json."
        return UsageError(what)
    if not path.exists():
        what = f"{path}: no dataset (dataset.json is missing): there is no such folder."
        return CorpusError(what)
    if not (path / ".build").is_dir():  # the work of a run
        return CorpusError(
            f"{path}: no dataset (dataset.json is missing). Make one of texts with onoma text, of "
            "other sources with the commands that onoma --help lists first."
        )
    return CorpusError(
        f"{path}: no dataset (dataset.json is missing). "
        "Run the pipeline again: it resumes where it stopped."
    )


def refuse_versions(folder: Path, *, option: str = "") -> None:
    """Raise ``UsageError`` for a folder in which a store keeps versions of datasets."""
    if (folder / "current").is_file():
        raise UsageError(
            f"{option}{folder}: holds versions of a store. Name one of them: onoma store current "
            f"{folder} prints the current one."
        )


def datasets_in(folder: Path) -> list[Path]:
    """List the datasets of a folder: itself, or else those inside it, by name; empty if none is."""
    files = [folder / "dataset.json"]
    if not files[0].exists():
        files = sorted(folder.glob("*/dataset.json"))
    return [file.parent for file in files]


def read_description(path: Path) -> Description:
    """Read ``dataset.json``; raises ``CorpusError`` where it is missing or damaged.

    It is a ``UsageError`` if the path is a folder of datasets, or a file.

    Every part has the form in which runs write it, if it is there at all; what stands in ``plan``
    besides names is not checked.
    """
    file = path / "dataset.json"
    try:
        description: Description = parse_json(file.read_text(encoding="utf-8"))
        missing = {"schema", "version", "plan", "shards", "accounting"} - description.keys()
    except (FileNotFoundError, NotADirectoryError):
        raise _no_dataset(path) from None
    except (ValueError, AttributeError) as error:
        raise CorpusError(f"{file}: damaged ({error}). Run the pipeline again.") from error
    if missing:
        raise CorpusError(f"{file}: lacks {', '.join(sorted(missing))}. Run the pipeline again.")
    for name, kind in _PARTS.items():
        try:
            typed(kind, description.get(name, {}))
        except ParseError as error:
            raise DamagedDatasetError(
                f"{file}: damaged {name} ({error}). Run the pipeline again."
            ) from error
    return description


class _Plan(TypedDict, total=False):
    fingerprint: str
    schemas: dict[str, object]


class _Account(TypedDict, total=False):
    read: Count
    written: Count
    filtered: Counts
    rejected: Counts


class _Forgotten(TypedDict, total=False):
    rows: Counts
    before: list[str]


_PARTS: Mapping[str, type] = {
    "plan": _Plan,
    "shards": list[Shard],
    "accounting": _Account,
    "counters": Counts,
    "forgotten": _Forgotten,
}
"""Part of a description to what is checked of it."""
