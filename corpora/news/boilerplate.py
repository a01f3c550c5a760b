"""Boilerplate: paragraphs that are on many pages of a site, as appeals, notices, advertisements.

Pages are distinguished by their titles, so that the text of an article with several URLs is no
boilerplate. Headings are never boilerplate: many articles may have one that says "Reactions".
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
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


def count_shards(paths: Sequence[Path], *, min_pages: int) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Run ``find_boilerplate`` on shards of ``news_paragraphs``; ``min_pages`` 0 finds nothing.

    Returns the number of boilerplate paragraphs, and a batch of ``news_boilerplate`` for each shard
    that has some. The number of a shard is that of its unit.
    """
    tables = (
        (batch.column("paragraph").to_numpy(), batch.column("title").to_numpy())
        for path in paths
        for batch in read_batches(path, SCHEMAS["news_paragraphs"])
    )
    found = find_boilerplate(tables if min_pages else (), min_pages=min_pages)
    return len(found), _in_units(paths if len(found) else (), found)


def _in_units(paths: Sequence[Path], found: Hashes) -> Iterator[pa.RecordBatch]:
    """Yield which of the hashes that were ``found``, in ascending order, are in each shard."""
    for unit, path in enumerate(paths):
        batches = read_batches(path, SCHEMAS["news_paragraphs"], columns=("paragraph",))
        every = (batch.column("paragraph").to_numpy() for batch in batches)
        own = np.unique(np.concatenate([np.empty(0, np.uint64), *every]))
        places = np.minimum(np.searchsorted(found, own), len(found) - 1)
        if n := len(own := own[found[places] == own]):
            columns = [pa.array([unit] * n, pa.int32()), pa.array(own, pa.uint64())]
            yield pa.record_batch(columns, SCHEMAS["news_boilerplate"].columns)


def read_boilerplate(path: Path, unit: int) -> frozenset[int]:
    """Read from a shard of ``news_boilerplate`` the hashes that stand in a unit."""
    batch = read_batch_of(path, SCHEMAS["news_boilerplate"], unit)
    return frozenset(batch.column("paragraph").to_pylist())
