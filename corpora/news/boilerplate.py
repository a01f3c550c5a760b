"""Boilerplate: paragraphs that are on many pages of a site, as appeals, notices, advertisements.

Pages are distinguished by their titles, so that the text of an article with several URLs is no
boilerplate. Headings are never boilerplate: many articles may have one that says "Reactions".
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batch_of, read_batches
from corpora.news.blocks import key_of
from corpora.segmentation.scripts import n_letters

MIN_LETTERS = 20
Hashes = npt.NDArray[np.uint64]
_ENTRY = np.dtype([("paragraph", "<u8"), ("title", "<u8"), ("unit", "<i4")])
Entries = npt.NDArray[np.void]


def hash_of(*parts: str) -> int:
    """Hash parts of text to 64 bits, the same in every run."""
    joined = "\0".join(parts).encode("utf-8")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest())


def paragraph_hash(site: str, text: str, kind: str) -> int | None:
    """Return the hash of a paragraph of a site; None for a heading or a short paragraph."""
    key = key_of(text)
    return None if kind == "head" or n_letters(key) < MIN_LETTERS else hash_of(site, key)


def find_boilerplate(tables: Iterable[tuple[Hashes, Hashes]], *, min_pages: int) -> Hashes:
    """Find the paragraphs that stand on pages with at least ``min_pages`` different titles.

    Each of ``tables`` holds the hashes of paragraphs, and of the titles of their pages. Returns
    hashes in ascending order. Takes 16 bytes a paragraph, and as much again for sorting.
    """
    pairs = [np.unique(np.stack(table, axis=1), axis=0) for table in tables]
    if not pairs:
        return np.empty(0, np.uint64)
    distinct = np.unique(np.concatenate(pairs), axis=0)
    paragraphs, counts = np.unique(distinct[:, 0], return_counts=True)
    return np.asarray(paragraphs[counts >= min_pages], np.uint64)


def entries_of(path: Path, unit: int) -> Entries:
    """Return the paragraphs and titles in a shard of ``news_paragraphs``, with the unit."""
    parts = [np.empty(0, _ENTRY)]
    for batch in read_batches(path, SCHEMAS["news_paragraphs"]):
        part = np.zeros(batch.num_rows, _ENTRY)
        for name in ("paragraph", "title"):
            part[name] = batch.column(name).to_numpy()
        parts.append(part)
    entries = np.unique(np.concatenate(parts))
    entries["unit"] = unit
    return entries


def in_partitions(entries: Entries, *, by: str, n_partitions: int) -> Iterator[tuple[int, bytes]]:
    """Yield the entries of each partition of the hashes in a field, as bytes."""
    partitions = entries[by] % np.uint64(n_partitions)
    for partition in np.unique(partitions).tolist():
        yield partition, entries[partitions == partition].tobytes()


def count_partition(parts: Iterable[bytes], *, min_pages: int) -> tuple[int, bytes]:
    """Run ``find_boilerplate`` on a partition of the paragraphs.

    Returns the number of boilerplate paragraphs, and as bytes for ``batches_of`` the entries of
    those, each once in a unit.
    """
    entries = np.frombuffer(b"".join(parts), _ENTRY)
    table = (entries["paragraph"], entries["title"])
    found = find_boilerplate([table], min_pages=min_pages)
    own = entries[np.isin(entries["paragraph"], found)]
    own["title"] = 0
    return len(found), np.unique(own).tobytes()


def batches_of(parts: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """Put the boilerplate of each unit into a batch of ``news_boilerplate``, in order."""
    entries = np.sort(np.frombuffer(b"".join(parts), _ENTRY), order=["unit", "paragraph"])
    for own in np.split(entries, np.flatnonzero(np.diff(entries["unit"])) + 1):
        if len(own):
            columns = [pa.array(own["unit"], pa.int32()), pa.array(own["paragraph"], pa.uint64())]
            yield pa.record_batch(columns, SCHEMAS["news_boilerplate"].columns)


def read_boilerplate(path: Path, unit: int) -> frozenset[int]:
    """Read from a shard of ``news_boilerplate`` the hashes that stand in a unit."""
    batch = read_batch_of(path, SCHEMAS["news_boilerplate"], unit)
    return frozenset(batch.column("paragraph").to_pylist())
