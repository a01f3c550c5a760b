"""Datasets that no plan describes: of programs and pipelines of the user."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from corpora.datasets.repeated_ids import find_repeated
from corpora.datasets.rows import Row, row_of
from corpora.datasets.schemas import SCHEMAS, Schema
from corpora.datasets.shards import Shard, ShardWriter
from corpora.document import Document, Sentence
from corpora.errors import CorpusError, UsageError
from corpora.runs.plan import fingerprint_of, library_versions
from corpora.runs.receipts import Accounting
from corpora.system.buckets import is_url
from corpora.system.writing import remove_leftovers, temporary_path, write_json, write_text

SHARD_CHARACTERS = 1 << 26
"""The number of characters after which another shard begins."""


def place(folder: Path | str) -> tuple[Path, Path]:
    """Return the absolute path of a new dataset, and the folder beside it in which it is written.

    Raises ``UsageError`` where ``folder`` is there already, or is in a bucket.
    """
    if is_url(folder):
        raise UsageError(
            f"{folder}: must be a folder of this machine. Name one, and publish what is in it by "
            "onoma store publish."
        )
    path = Path(folder).absolute()
    _check_new(path)
    return path, temporary_path(path)


def publish(unfinished: Path, folder: Path) -> None:
    """Give a dataset that is complete its name; remove what attempts that failed left beside it.

    An attempt that still works could not be published any more: ``folder`` is there now.
    """
    _check_new(folder)
    unfinished.rename(folder)
    remove_leftovers(folder.parent, folder.name, of_all=True)


def _check_new(folder: Path) -> None:
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder}: is there already. Choose another folder.")


def write_dataset(records: Iterable[Document | Sentence], folder: Path | str) -> int:
    """Write documents, or tagged sentences, as a dataset; return how many there are.

    The folder appears when all is written; after an error nothing is left. Raises ``UsageError``
    where ``folder`` exists or is in a bucket, for records of both kinds, and for anything else;
    ``CorpusError`` where two have the same id, or a value that cannot be written.
    """
    folder, unfinished = place(folder)
    unfinished.mkdir(parents=True)
    try:
        rows = _rows(records)
        first = next(rows, None)
        schema = SCHEMAS[first[0] if first else "documents"]
        shards = list(_write(chain([first] if first else [], rows), schema, unfinished))
        n_records = describe(unfinished, shards, schema, made_by="write_dataset", name=folder)
        publish(unfinished, folder)
    except FileNotFoundError:
        _check_new(folder)  # another program was faster, and removed what is unfinished
        raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return n_records


def _rows(records: Iterable[Document | Sentence]) -> Iterator[tuple[str, Row | Document]]:
    for number, record in enumerate(records):
        if not isinstance(record, Document | Sentence):
            raise UsageError(
                f"record {number}: is of type {type(record).__name__}, no Document and no Sentence."
            )
        yield row_of(record)


def _write(
    rows: Iterator[tuple[str, Row | Document]], schema: Schema, folder: Path
) -> Iterator[Shard]:
    number = 0
    while some := list(islice(rows, 1)):
        n_characters = 0
        with ShardWriter(folder / f"shard-{number:05}.arrow", schema) as writer:
            for kind, row in chain(some, rows):
                id = row.id if isinstance(row, Document) else row["id"]
                if kind != schema.name:
                    raise UsageError(f"{id!r}: documents and sentences make two datasets, not one.")
                writer.write(row)
                n_characters += (
                    len(row.text) if isinstance(row, Document) else sum(map(len, row["tokens"]))
                )
                if n_characters >= SHARD_CHARACTERS:
                    break
        assert writer.shard is not None  # noqa: S101 - it was closed without an exception
        yield writer.shard
        number += 1


def describe(
    folder: Path, shards: Sequence[Shard], schema: Schema, *, made_by: str, name: Path
) -> int:
    """Write ``dataset.json`` beside shards that are all there; return the number of rows.

    ``name`` is the folder in messages. Raises ``CorpusError`` where two rows have the same id.
    """
    if found := find_repeated([folder / shard.name for shard in shards], schema):
        raise CorpusError(f"{name}: the id {found[0]!r} is met twice. Give each its own.")
    n_rows = sum(shard.rows for shard in shards)
    plan = {"pipeline": made_by, "libraries": library_versions()}
    write_text(folder / "rejected.jsonl", [])
    write_json(
        folder / "dataset.json",
        {
            "schema": schema.name,
            "version": schema.version,
            "plan": {"fingerprint": fingerprint_of(plan), **plan},
            "shards": [shard.to_json() for shard in shards],
            "accounting": Accounting(read=n_rows, written=n_rows).to_json(),
            "counters": {},
        },
    )
    return n_rows
