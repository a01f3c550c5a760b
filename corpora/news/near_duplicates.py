"""Duplicates of articles: exact, near, and contained in a longer article.

Articles are compared in order of time:

- An article with the same words as an earlier one is its exact duplicate.
- An article is a near duplicate of an earlier kept one if the Jaccard similarity of their shingles
  is at least the threshold.
- It is one, too, of the last kept article of the same URL, if the two share at least half of the
  shingles of the shorter one.
- Any other article is contained if at least 0.9 of its shingles are in a longer article of its
  site.

So the articles alone decide what is kept, not the files that they are in. Candidates for near
duplicates share one of the 25 bands of 5 hashes of their signatures, by which a pair at Jaccard 0.8
is missed once in 20,000 times; those for containment share the longest paragraph of the shorter
article. Each candidate is then compared shingle by shingle.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.datasets.rows import Row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batch_of
from corpora.hashing.shingles import (
    fingerprint,
    jaccard,
    shingles_of,
    signature,
    signature_matrix,
    words_of,
)
from corpora.news.blocks import key_of
from corpora.news.boilerplate import hash_of
from corpora.news.page_metadata import host_of, moment, without_session
from corpora.segmentation.scripts import n_letters

_ROWS = 5
_BANDS = 25
_MARGIN = 0.2
"""A candidate is compared if its Jaccard estimated by 128 hashes is at most this much below the
threshold: more than five standard deviations (0.035 at most near 0.8)."""
_SAME_ADDRESS = 0.5
"""The least ratio of the shingles of the shorter of two articles of one URL that both must have for
them to be near duplicates."""
_CONTAINED = 0.9
"""The least ratio of an article's shingles that are in a longer one for it to be contained."""
_MIN_PARAGRAPH = 60
"""The least letters of a paragraph by which articles that may contain another are found."""
_MAX_HOLDERS = 20
"""The most articles, first in order of time, that are tried as containing an article."""
_HELD = 4096
"""The number of articles whose shingles are kept in memory."""


EXACT, NEAR, CONTAINED, REVISIT = "exact", "near", "contained", "revisit"


@dataclass(frozen=True, slots=True)
class ComparedArticle:
    """The data of an article that are compared with those of others."""

    order: tuple[bool, str, str, str, str]
    """The sort key: whether the article is of this run (those of earlier datasets come first), the
    moments when it was published and fetched, URL, fingerprint, id."""
    exact: bytes
    signature: bytes
    paragraphs: bytes = b""
    """Hashes of its long paragraphs, each with the site, the longest first; 8 bytes each."""

    @property
    def is_new(self) -> bool:
        """Whether the article is of this run; only such articles can be duplicates."""
        return self.order[0]

    @property
    def url(self) -> str:
        """The URL of the article; empty if it is not known."""
        return self.order[2]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """An article that is left out because another says the same."""

    index: int
    duplicate_of: int
    """The index of the article that is kept."""
    similarity: float
    """The Jaccard similarity (1 for ``EXACT``); for ``CONTAINED``, the ratio of the article's
    shingles that are in the other one."""
    kind: str
    """``EXACT``, ``NEAR`` or ``CONTAINED``."""


def find_duplicates(
    items: Sequence[ComparedArticle], text_of: Callable[[int], str], *, threshold: float
) -> list[Duplicate]:
    """Find the duplicates; ``text_of`` returns the text of an item by its index.

    A ``threshold`` above 1 finds exact duplicates only. Keeps about 1.5 KB an article in memory.
    """
    first: dict[bytes, int] = {}
    exact, left = [], []
    for index in sorted(range(len(items)), key=lambda index: items[index].order):
        same = first.setdefault(items[index].exact, index)
        if same != index and items[index].is_new:
            exact.append(Duplicate(index, same, 1.0, EXACT))
        else:
            left.append(index)
    if threshold > 1:
        return exact

    @lru_cache(_HELD)
    def shingles(index: int) -> set[str]:
        return shingles_of(words_of(text_of(index)))

    near = _near(items, left, shingles, threshold=threshold)
    same_as = {found.index: found.duplicate_of for found in near}
    contained = _contained(items, [index for index in left if index not in same_as], shingles)
    same_as |= {found.index: found.duplicate_of for found in contained}

    def kept(index: int) -> int:
        return kept(same_as[index]) if index in same_as else index

    every = [*exact, *near, *contained]
    return [replace(found, duplicate_of=kept(found.duplicate_of)) for found in every]


def _near(
    items: Sequence[ComparedArticle],
    order: Sequence[int],
    shingles: Callable[[int], set[str]],
    *,
    threshold: float,
) -> list[Duplicate]:
    """Find near duplicates among ``order``, indices of items in order of time.

    Each article is compared with the earlier kept ones that share a band with it, then with the
    last kept one of the same URL.
    """

    def is_version(index: int, other: int) -> bool:
        one, two = shingles(index), shingles(other)
        return len(one & two) >= _SAME_ADDRESS * min(len(one), len(two)) > 0

    signatures = signature_matrix([items[index].signature for index in order])
    buckets: dict[int, list[int]] = defaultdict(list)  # rows of ``signatures``
    by_url: dict[str, int] = {}
    """The index of the last kept article of each URL."""
    found = []
    for row, keys in enumerate(_shared_bands(signatures)):
        index, item = order[row], items[order[row]]
        candidates = (
            sorted({other for key in keys for other in buckets[key]}) if item.is_new else []
        )
        alike = (signatures[candidates] == signatures[row]).mean(axis=1) >= threshold - _MARGIN
        likely = [order[row] for row, is_alike in zip(candidates, alike, strict=True) if is_alike]
        others = (
            other for other in likely if jaccard(shingles(index), shingles(other)) >= threshold
        )
        same = next(others, None)
        if same is None and item.url in by_url and item.url and item.is_new:
            same = by_url[item.url] if is_version(index, by_url[item.url]) else None
        if same is not None:
            found.append(Duplicate(index, same, jaccard(shingles(index), shingles(same)), NEAR))
            continue
        by_url[item.url] = index
        for key in keys:
            buckets[key].append(row)
    return found


def _contained(
    items: Sequence[ComparedArticle], order: Sequence[int], shingles: Callable[[int], set[str]]
) -> list[Duplicate]:
    """Find articles that stand in longer ones, which must hold their longest paragraph."""
    hashes = [np.frombuffer(items[index].paragraphs, "<u8") for index in order]
    owners = np.repeat(np.asarray(order, np.int64), [len(of_one) for of_one in hashes])
    every = np.concatenate([np.empty(0, np.uint64), *hashes])
    by_hash = np.argsort(every, kind="stable")
    ordered, owners = every[by_hash], owners[by_hash]
    pairs = []
    for index, of_one in zip(order, hashes, strict=True):
        if not items[index].is_new or not len(of_one):
            continue
        start = int(np.searchsorted(ordered, of_one[0]))
        first = slice(start, start + _MAX_HOLDERS)
        for other in owners[first][ordered[first] == of_one[0]].tolist():
            inside, outside = shingles(index), shingles(other)
            ratio = len(inside & outside) / len(inside) if len(inside) < len(outside) else 0.0
            if ratio >= _CONTAINED:
                pairs.append((-len(inside), index, other, ratio))
    found: dict[int, Duplicate] = {}
    for _, index, other, ratio in sorted(pairs, key=lambda pair: pair[0]):  # the longest first
        kept = found[other].duplicate_of if other in found else other
        found.setdefault(index, Duplicate(index, kept, ratio, CONTAINED))
    return list(found.values())


def band_keys(signatures: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """Hash the bands of signatures; return shape (n, ``_BANDS``)."""
    keys = np.zeros((len(signatures), _BANDS), np.uint64)
    for band in range(_BANDS):
        key = np.full(len(signatures), band + 1, np.uint64)
        for column in range(band * _ROWS, (band + 1) * _ROWS):
            key ^= signatures[:, column]
            key *= np.uint64(0x9E3779B97F4A7C15)  # the golden ratio: spreads the bits (Knuth)
            key ^= key >> np.uint64(29)
        keys[:, band] = key
    return keys


def _shared_bands(signatures: npt.NDArray[np.uint32]) -> list[list[int]]:
    """Return for each row the hashes of its bands that another row has too."""
    keys = band_keys(signatures)
    ordered = np.sort(keys, axis=None)
    shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return [row[mask].tolist() for row, mask in zip(keys, np.isin(keys, shared), strict=True)]


_SIGNATURES = SCHEMAS["news_signatures"].columns
SIGNED = ("id", "url", "timestamp", "text", "metadata")
"""The columns of ``documents`` that ``signatures_of`` reads."""


def signature_row(row: Row, text: str) -> Row:
    """Make the ``news_signatures`` row of an article from its row of ``documents``."""
    metadata = {pair["key"]: pair["value"] for pair in row["metadata"] or ()}
    fetched = metadata.get("fetched")
    words = words_of(text)
    return {
        "id": row["id"],
        "url": without_session(row["url"] or ""),
        "moment": f"{moment_of(row['timestamp'], fetched)} {moment_of(fetched)}",
        "digest": metadata.get("digest", ""),
        "exact": fingerprint(words),
        "signature": signature(shingles_of(words)),
        "paragraphs": _paragraph_hashes(row["url"], text),
    }


def _paragraph_hashes(url: str | None, text: str) -> bytes:
    """Return the bytes of ``ComparedArticle.paragraphs``; empty where the site is not known."""
    site = (host_of(url) or "").removeprefix("www.")
    keys = sorted(filter(_is_long, map(key_of, text.split("\n"))), key=lambda k: (-len(k), k))
    return b"".join(hash_of(site, key).to_bytes(8, "little") for key in keys) if site else b""


def _is_long(key: str) -> bool:
    return n_letters(key) >= _MIN_PARAGRAPH


def signatures_of(documents: pa.RecordBatch) -> pa.RecordBatch:
    """Compute the signatures of rows of ``documents``, from the columns ``SIGNED``."""
    rows = documents.select(list(SIGNED)).to_pylist()
    signed = [signature_row(row, row["text"]) for row in rows]
    return pa.RecordBatch.from_pylist(signed, schema=_SIGNATURES)


def unsigned(documents: pa.RecordBatch) -> pa.RecordBatch:
    """Make empty rows of ``news_signatures`` as placeholders for documents without a signature."""
    return pa.RecordBatch.from_pylist([{}] * documents.num_rows, schema=_SIGNATURES)


def moment_of(*dates: str | None) -> str:
    """Convert the first valid date with ``moment``; none valid gives the latest moment."""
    for date in dates:
        try:
            if date:
                return moment(date)
        except (ValueError, OverflowError):  # years 1 and 9999
            continue
    return moment(None)


def decide(rows: Sequence[Row], *, threshold: float) -> list[Row]:
    """Find the duplicates in a group: rows of ``news_duplicates``.

    ``rows`` are those of articles (``news_signatures``, with ``unit``, -1 for an earlier dataset,
    ``row`` and ``text``) and of ``news_revisits``, with ``unit``.
    """
    articles = [row for row in rows if "exact" in row]
    items = [
        ComparedArticle(
            (row["unit"] >= 0, row["moment"], row["url"], row["exact"].hex(), row["id"]),
            row["exact"],
            row["signature"],
            row["paragraphs"],
        )
        for row in articles
    ]
    duplicates = [
        _duplicate(articles[found.index], articles[found.duplicate_of])
        | {"kind": found.kind, "similarity": found.similarity}
        for found in find_duplicates(items, lambda i: articles[i]["text"], threshold=threshold)
    ]
    in_order = [articles[i] for i in sorted(range(len(items)), key=lambda i: items[i].order)]
    revisits = [row for row in rows if "exact" not in row]
    return [*duplicates, *_find_revisits(revisits, in_order, duplicates)]


def _duplicate(row: Row, kept: Row | None) -> Row:
    """Return the columns of ``news_duplicates`` that name an article and the kept one."""
    of = kept or {"id": None, "url": None}
    own = {name: row[name] for name in ("unit", "row", "id", "url")}
    return own | {"duplicate_of": of["id"], "duplicate_of_url": of["url"]}


def _find_revisits(
    revisits: Iterable[Row], articles: Sequence[Row], duplicates: Sequence[Row]
) -> Iterator[Row]:
    """Find the article that each revisit record repeats: by digest, or without one, by URL.

    ``articles`` are in order of time. A revisit whose article is missing gives a row too.
    """
    gone = {
        row["id"]: {"id": row["duplicate_of"], "url": row["duplicate_of_url"]} for row in duplicates
    }
    by_digest = {row["digest"]: row for row in reversed(articles) if row["digest"]}
    by_url = {row["url"]: row for row in reversed(articles) if row["url"]}
    for revisit in revisits:
        digest, url = revisit["digest"], without_session(revisit["refers_to"])
        found = by_digest.get(digest) if digest else by_url.get(url)
        row = _duplicate(revisit | {"row": -1}, gone.get(found["id"], found) if found else None)
        yield row | {"kind": REVISIT, "similarity": 1.0}


def note_of(duplicate: Row) -> dict[str, str]:
    """Make the values of a line in the list of duplicates."""
    names = ("id", "url", "kind", "duplicate_of", "duplicate_of_url")
    said = {name: duplicate[name] or "" for name in names}
    return said | {"similarity": f"{duplicate['similarity']:.4f}"}


def duplicates_of(path: Path, unit: int) -> list[Row]:
    """Read the rows of ``news_duplicates`` for a unit, sorted by row and id."""
    rows: list[Row] = read_batch_of(path, SCHEMAS["news_duplicates"], unit).to_pylist()
    return sorted(rows, key=itemgetter("row", "id"))
