"""Groups of articles that may be duplicates of one another, so that no process holds all articles.

An article has keys: its words, its address, the digest of its page, its bands and its long
paragraphs (``near_duplicates.py``). Two articles that are compared have a common key. So the groups
that are connected by keys can be compared each by itself, and together give what a comparison of
all articles gives. A revisit record has the key of the article that it repeats.

1. The entries (key, article) of all shards meet in partitions of the keys, which link the articles
   with a common key (``links_of``). For a band, the signatures must be alike, too, by the last
   bytes of ``N_SKETCHED`` hashes (one pair in ten million at Jaccard 0.8 is not); in a band of more
   than ``MAX_COMPARED`` articles, all are linked.
2. Articles get the least article that they are linked with, in ``ROUNDS`` rounds that each
   multiply the distance (``spread``, Hash-to-Min of Rastogi et al., 2013, arXiv:1203.5387). What
   longer chains of links from partition to partition leave open, one worker joins
   (``is_settled``, ``join``).
3. The shards with members of groups are read, and each group is compared (``decide``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.datasets.rows import Row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.hashing.shingles import signature_matrix
from corpora.news.boilerplate import Entries, hash_of
from corpora.news.near_duplicates import band_keys
from corpora.news.page_metadata import without_session
from corpora.runs.work_directory import WorkDirectory

ROUNDS = 3
MAX_COMPARED = 1_000
N_SKETCHED = 32
_MARGIN = 0.4
"""The ratio of equal bytes may be this much below the threshold: 5.6 standard deviations."""
_ENTRY = np.dtype([("key", "<u8"), ("ref", "<u8"), ("kind", "u1"), ("sketch", "u1", (N_SKETCHED,))])
"""A key of an article, the place of the article, and the last bytes of hashes of its signature."""
_OTHER, _BAND, _PARAGRAPH, _LONGEST, _REVISIT = range(5)
"""Kinds of keys. Paragraphs link articles only if one is the longest of an article."""


@dataclass(frozen=True, slots=True)
class ArticleShard:
    """The articles, or the revisits, that are in one shard."""

    number: int
    """The number by which places (``ref``) name it: shard and row in one integer."""
    dataset: str
    """``articles``, ``previous`` (articles of an earlier dataset) or ``revisits``."""
    index: int
    """The number of the unit that wrote the shard."""
    path: str = ""
    """The shard of the earlier dataset, which has the texts."""

    def signatures(self, work: WorkDirectory) -> Iterator[pa.RecordBatch]:
        """Read the signatures of the articles, or the revisits."""
        dataset = "signatures" if self.dataset == "articles" else self.dataset
        schema = "news_revisits" if self.dataset == "revisits" else "news_signatures"
        return read_batches(work.shard(dataset, self.index), SCHEMAS[schema])

    def texts(self, work: WorkDirectory) -> Iterator[pa.RecordBatch]:
        """Read the texts of the articles; nothing for revisits."""
        if self.dataset == "revisits":
            return iter(())
        path = Path(self.path) if self.path else work.shard("articles", self.index)
        schema = SCHEMAS["documents" if self.path else "pages"]
        return read_batches(path, schema, columns=("text",))


def sources_of(n_units: int, previous: Iterable[str]) -> Iterator[ArticleShard]:
    """List the shards of a run, and those of earlier datasets, given by their paths."""
    paths = list(previous)
    for index in range(n_units):
        yield ArticleShard(index, "articles", index)
        yield ArticleShard(n_units + len(paths) + index, "revisits", index)
    for index, path in enumerate(paths):
        yield ArticleShard(n_units + index, "previous", index, path)


def entries_of(source: ArticleShard, work: WorkDirectory, *, threshold: float) -> Entries:
    """Return the entries of a shard."""
    parts, n_before = [np.empty(0, _ENTRY)], 0
    for batch in source.signatures(work):
        rows = dict(enumerate(batch.to_pylist(), n_before))
        n_before += batch.num_rows
        if source.dataset == "revisits":
            keys = [(number, _key_of_revisit(row), _REVISIT) for number, row in rows.items()]
            parts.append(_entries(source, keys))
        else:  # a document without a signature has no words
            parts.append(_article_entries(source, rows, threshold=threshold))
    return np.concatenate(parts)


def _key_of_revisit(row: Row) -> int:
    """Return the key of the article that a revisit repeats."""
    digest, url = row["digest"], without_session(row["refers_to"])
    return hash_of("digest", digest) if digest else hash_of("url", url)


def _article_entries(source: ArticleShard, rows: Mapping[int, Row], *, threshold: float) -> Entries:
    signed = {number: row for number, row in rows.items() if row["exact"]}
    keys: list[tuple[int, int, int]] = []
    for number, row in signed.items():
        keys.append((number, int.from_bytes(row["exact"][:8]), _OTHER))
        named = (hash_of(name, row[name]) for name in ("digest", "url") if row[name])
        keys += ((number, key, _OTHER) for key in named)
        if threshold <= 1:
            hashes = np.frombuffer(row["paragraphs"], "<u8").tolist()
            kinds = (_PARAGRAPH if rank else _LONGEST for rank in range(len(hashes)))
            keys += ((number, hash, kind) for hash, kind in zip(hashes, kinds, strict=True))
    if not signed or threshold > 1:
        return _entries(source, keys)
    signatures = signature_matrix([row["signature"] for row in signed.values()])
    bands = band_keys(signatures)
    banded = np.zeros(bands.size, _ENTRY)
    banded["key"] = bands.ravel()
    banded["ref"] = np.repeat([_ref(source, number) for number in signed], bands.shape[1])
    banded["kind"] = _BAND
    sketches = signatures[:, :N_SKETCHED].astype(np.uint8)
    banded["sketch"] = np.repeat(sketches, bands.shape[1], axis=0)
    return np.concatenate([_entries(source, keys), banded])


def _entries(source: ArticleShard, keys: list[tuple[int, int, int]]) -> Entries:
    """Make entries of (row, key, kind)."""
    entries = np.zeros(len(keys), _ENTRY)
    entries["ref"] = [_ref(source, number) for number, _, _ in keys]
    entries["key"] = np.array([key for _, key, _ in keys], np.uint64)
    entries["kind"] = [kind for _, _, kind in keys]
    return entries


def _ref(source: ArticleShard, row: int) -> int:
    return source.number << 32 | row


def place_of(ref: int) -> tuple[int, int]:
    """Return the number of the source and the row of an article."""
    return ref >> 32, ref & 0xFFFFFFFF


def links_of(parts: Iterable[bytes], *, threshold: float) -> Iterator[tuple[int, int]]:
    """Link the articles of a partition that have common keys: each with the least of its group."""
    entries = np.frombuffer(b"".join(parts), _ENTRY)
    entries = entries[np.lexsort((entries["ref"], entries["key"]))]
    _, starts, counts = np.unique(entries["key"], return_index=True, return_counts=True)
    forest = _Forest()
    for start, n in zip(starts[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True):
        _link(entries[start : start + n], forest, threshold=threshold)
    for ref in entries["ref"][entries["kind"] == _REVISIT].tolist():
        forest.join(ref, ref)  # also one without an article has a row
    yield from forest.links()


def _link(group: Entries, forest: "_Forest", *, threshold: float) -> None:
    """Link articles with an equal key."""
    refs, kinds = group["ref"].tolist(), group["kind"]
    if (kinds == _BAND).all() and len(refs) <= MAX_COMPARED:
        sketches = group["sketch"]
        for index, ref in enumerate(refs[:-1]):
            alike = (sketches[index + 1 :] == sketches[index]).mean(axis=1) >= threshold - _MARGIN
            for other in (index + 1 + np.flatnonzero(alike)).tolist():
                forest.join(ref, refs[other])
    elif not (kinds == _PARAGRAPH).all():
        for other in refs[1:]:
            forest.join(refs[0], other)


class _Forest:
    """Disjoint sets of articles, each with its least article as the root."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def root(self, ref: int) -> int:
        """Find the least article of a set."""
        above = self._above.setdefault(ref, ref)
        while above != (higher := self._above[above]):
            self._above[ref] = ref = above = higher
        return above

    def join(self, one: int, other: int) -> None:
        """Join the sets of two articles."""
        low, high = sorted((self.root(one), self.root(other)))
        self._above[high] = low

    def links(self) -> Iterator[tuple[int, int]]:
        """Yield each article with the least one of its set."""
        for ref in self._above:
            yield ref, self.root(ref)


def spread(ref: int, others: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the links of the next round: of the least known article with all others, both ways."""
    known = {ref, *others}
    least = min(known)
    for other in known:
        yield least, other
        yield other, least


def is_settled(ref: int, others: Iterable[int]) -> bool:
    """Tell whether an article is the least that it knows, or knows only that and itself.

    If all are settled, each group is known to its least article. Else the groups of the least
    articles must be joined by what the others know: each link between two groups is one of theirs.
    """
    known = {ref, *others}
    return ref == min(known) or len(known) <= 2


def join(unsettled: Iterable[Sequence[int]]) -> dict[int, int]:
    """Map articles to the least of their group, by what the articles that are not settled know."""
    forest = _Forest()
    for first, *others in unsettled:
        for other in others:
            forest.join(first, other)
    return dict(forest.links())


def read_members(
    source: ArticleShard, groups: Mapping[int, int], work: WorkDirectory
) -> Iterator[tuple[int, Row]]:
    """Read the rows of a shard that are in groups; yield the group and the row for ``decide``.

    ``groups`` maps the numbers of the rows to their groups.
    """
    unit = -1 if source.dataset == "previous" else source.index
    signed = _selected(source.signatures(work), groups)
    texts = {number: row["text"] for number, row in _selected(source.texts(work), groups)}
    for number, row in signed:
        place = {"ref": _ref(source, number), "unit": unit, "row": number}
        yield groups[number], row | place | {"text": texts.get(number)}


def _selected(
    batches: Iterable[pa.RecordBatch], numbers: Mapping[int, int]
) -> Iterator[tuple[int, Row]]:
    n_before = 0
    for batch in batches:
        wanted = [n for n in range(n_before, n_before + batch.num_rows) if n in numbers]
        rows = batch.take(pa.array([n - n_before for n in wanted], pa.int64())).to_pylist()
        yield from zip(wanted, rows, strict=True)
        n_before += batch.num_rows
